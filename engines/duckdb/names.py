"""What building and answering agree on: the names of the database and its folders, and a text in SQL."""

NAME = "traces.duckdb"
# Where the files lie that a database reads, below the warehouse: those of base tables, and those of views.
STORED_VIEWS = "stored"
FOLDERS = ("parquet", STORED_VIEWS)


def quoted(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"

"""What building and answering agree on: the database's file name, and how a text stands in SQL."""

NAME = "traces.duckdb"


def quoted(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"

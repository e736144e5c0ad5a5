"""Names of the database and its folders, and SQL literals."""

from tracehouse.ingest.store.layout import TABLES_FOLDER, VIEWS_FOLDER

NAME = "traces.duckdb"
# The folders of the files that a database reads.
FOLDERS = (TABLES_FOLDER, VIEWS_FOLDER)


def quoted(text: str) -> str:
    """Return a text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"

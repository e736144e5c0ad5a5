"""Names of the database and its folders, and SQL literals."""

from tracehouse.core.text import quoted
from tracehouse.ingest.store.layout import TABLES_FOLDER, VIEWS_FOLDER

__all__ = ["FOLDERS", "NAME", "quoted"]

NAME = "traces.duckdb"
# The folders of the files that a database reads.
FOLDERS = (TABLES_FOLDER, VIEWS_FOLDER)

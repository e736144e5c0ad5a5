"""Names of the database and its folders."""

from tracehouse.ingest.store.layout import TABLES_FOLDER, VIEWS_FOLDER

NAME = "traces.duckdb"
# The folders of the files that a database reads.
FOLDERS = (TABLES_FOLDER, VIEWS_FOLDER)

"""DuckDB: builds the database file, and answers from it."""

"""Query engines: DuckDB and Apache Spark."""

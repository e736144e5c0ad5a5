"""Apache Spark as an engine: the same warehouse, views and named queries."""

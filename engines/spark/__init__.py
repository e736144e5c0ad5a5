"""Apache Spark: opens the same warehouse, with the same views and named queries."""

"""Parquet → database file: base tables, views, queries and the catalog."""

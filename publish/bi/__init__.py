"""Publish a warehouse for BI tools: as a database file, to PostgreSQL, as Superset dashboards."""

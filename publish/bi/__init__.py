"""Publish a warehouse for BI tools: as a database file, and to PostgreSQL."""

"""What BI tools get: a database file, a PostgreSQL database, and dashboards for Superset."""

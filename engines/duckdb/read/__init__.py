"""Answer queries from the database file: read-only, sandboxed, within limits."""

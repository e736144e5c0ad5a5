"""Read raw files into typed Arrow tables: one module per raw format."""

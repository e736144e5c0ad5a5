"""Convert raw files to Parquet: one module per trace, and shared modules to find, read and store files."""

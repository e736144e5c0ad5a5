"""Convert raw files to Parquet: typing, validation, sorting and unpivoting."""

"""Store Parquet files: manifest, journal, checksums and superseded files."""

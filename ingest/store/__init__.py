"""Store a warehouse's Parquet files: manifest, journal, checksums and clean-up."""

"""Store a warehouse's Parquet files: records, manifest, checksums and clean-up."""

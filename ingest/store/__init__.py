"""Store Parquet files with a manifest, a journal, checksums and clean-up."""

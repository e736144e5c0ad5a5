"""Other ways to the same Parquet, each a process of its own, that `traces ingest` is measured beside."""

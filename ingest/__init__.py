"""Raw dump → Parquet: one module per trace, and the machinery that they share."""

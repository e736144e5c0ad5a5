"""Parquet → database: versioned SQL views, the catalog's ledgers, and the builder that runs them."""

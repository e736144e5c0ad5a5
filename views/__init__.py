"""Parquet → database: versioned SQL views, the catalog's ledgers, and code that reads and checks them."""

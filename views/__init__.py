"""Parquet → database: versioned SQL views, the catalog's ledgers, and what reads and checks them."""

"""Quantities computed with pandas from the raw files, one module per schema, independently of the SQL.

VIEWS of a module maps a view to its function and its key columns; without a key, rows are compared by
position. QUERIES maps a call of a query to its function, the arguments and the key.
QUERIES_AT_DEPTH are calls with 200,000 rows or more.
"""

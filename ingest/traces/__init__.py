"""Declarations of the traces, one module each: description, source, tables and columns."""

"""The traces, one module each: description, source, tables and columns."""

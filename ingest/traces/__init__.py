"""The traces, one module each: what it is, where it is from, its tables and their columns."""

"""Find the raw files of a dump, open them, and read their rows."""

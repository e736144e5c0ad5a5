"""Find raw files and open them, however they are packed."""

"""Find raw files, match them to tables and open them, packed or not."""

"""Synthetic raw dumps in the publishers' formats, for trying things without the real files."""

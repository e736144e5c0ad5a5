"""Synthetic raw dumps: one generator per trace, each in its publisher's exact format."""

"""Helpers that every layer uses: errors, names, signals and progress."""

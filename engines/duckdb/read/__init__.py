"""Database file → answers: read-only, confined, within limits."""

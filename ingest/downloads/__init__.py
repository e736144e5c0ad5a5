"""Download publishers' raw files: where they are, what to fetch, and resumable transfers."""

"""Download publishers' raw files: plans of what to fetch, and resumable transfers."""

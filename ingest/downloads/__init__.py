"""Download publishers' raw files: their URLs, plans of what to fetch, and resumable transfers."""

"""Downloads publishers' raw files: what there is, where it lies, and how it comes whole."""

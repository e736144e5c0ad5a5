"""Read and check what `views/` and `sql/` contain: headers, lineage, caveats, figures, versions."""

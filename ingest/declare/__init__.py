"""What a trace declares: tables, columns, types, caveats, clocks, metrics, files to fetch, samples."""

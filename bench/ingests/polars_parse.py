"""The floor of telemetry: Polars parses every cell of a wide CSV, and throws them away.

python -m tracehouse.bench.ingests.polars_parse CSV
"""

import sys

import polars as pl

from tracehouse.bench.ingests.wide import polars_schema


def main() -> None:
    """Parse the file, by streaming, on all processors."""
    rows = pl.scan_csv(sys.argv[1], schema=polars_schema(sys.argv[1]))
    # A count of each column's NULLs is what takes least once all have been parsed.
    rows.select(pl.all().null_count()).collect(engine="streaming")


if __name__ == "__main__":
    main()

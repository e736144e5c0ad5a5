"""What somebody who knows Polars does: unpivot a wide CSV into Parquet, by streaming.

    python -m tracehouse.bench.ingests.polars_unpivot CSV OUT

Cells are not ordered by device, times stay text, nothing is checked.
"""

import sys

import polars as pl

from tracehouse.bench.ingests.wide import polars_schema


def main() -> None:
    """Convert the file."""
    csv, out = sys.argv[1:]
    rows = pl.scan_csv(csv, schema=polars_schema(csv)).unpivot(index="Time", variable_name="device")
    rows.sink_parquet(f"{out}/long.parquet", compression="zstd", compression_level=1)


if __name__ == "__main__":
    main()

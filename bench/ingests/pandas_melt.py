"""What people do today: read a wide CSV with pandas, melt it, and write it as Parquet.

    python -m tracehouse.bench.ingests.pandas_melt CSV OUT

So many lines at a time that they fit into memory; times stay text, nothing is checked.
"""

import sys

import pandas as pd

LINES_AT_ONCE = 2000


def main() -> None:
    """Convert the file."""
    csv, out = sys.argv[1:]
    for number, lines in enumerate(pd.read_csv(csv, chunksize=LINES_AT_ONCE)):
        rows = lines.melt("Time", var_name="device")
        rows.to_parquet(f"{out}/{number}.parquet", compression="zstd")


if __name__ == "__main__":
    main()

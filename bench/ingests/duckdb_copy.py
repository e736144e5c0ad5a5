"""The other floor: DuckDB alone, on CSVs that somebody has extracted already, one table after another.

    python -m tracehouse.bench.ingests.duckdb_copy TRACE CSVS OUT unsorted|sorted

The types and the order are those of the warehouse, and so is the compression.
"""

import re
import sys
from pathlib import Path

import duckdb

from tracehouse.ingest.declarations import Table, all_traces

PARQUET_OPTIONS = "format parquet, compression zstd, compression_level 1, parquet_version v2"


def main() -> None:
    """Convert each table's CSV."""
    trace, csvs, out, order = sys.argv[1:]
    for table in all_traces()[trace].tables:
        (csv,) = (path for path in Path(csvs).iterdir() if re.fullmatch(table.file_name, path.name))
        with duckdb.connect() as connection:
            connection.execute("set preserve_insertion_order = false")
            connection.execute(copy(table, csv, Path(out), is_sorted=order == "sorted"))


def copy(table: Table, csv: Path, out: Path, is_sorted: bool) -> str:
    """The statement that converts a CSV without header."""
    columns = ", ".join(f"'{column.name}': '{column.stored_type}'" for column in table.columns)
    order = ", ".join(table.order_by)
    return f"""
        copy (
            from read_csv('{csv}', header = false, auto_detect = false, columns = {{{columns}}})
            {f"order by {order}" if is_sorted else ""}
        ) to '{out / table.name}.parquet' ({PARQUET_OPTIONS})
    """


if __name__ == "__main__":
    main()

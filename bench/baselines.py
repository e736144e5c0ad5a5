"""Convert raw files with other tools, or with only a part of Tracehouse, as baselines for ingest benchmarks.

    python -m tracehouse.bench.baselines NAME ARGUMENT...

Each public function is one baseline; its parameters are the arguments. The libraries are imported in the
functions, so that a process loads only what it uses.
"""

import io
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import polars as pl

READ_BYTES = 1 << 20
# The number of lines of a wide CSV that pandas can melt in memory.
MELTED_LINES = 2000


def inflate(raw: str) -> None:
    """Decompress all archives in a folder with isal, one after the other, and discard the bytes."""
    from isal import igzip

    for paths in archives(Path(raw)).values():
        with _open_archive(paths) as compressed, igzip.IGzipFile(fileobj=compressed) as inflated:
            while inflated.read(READ_BYTES):
                pass


def duckdb_copy(trace: str, csvs: str, out: str, order: str) -> None:
    """Convert extracted CSVs with DuckDB's COPY, one table after the other, with the types of the warehouse.

    `order` is `as in file` for DuckDB's defaults and zstd, `unsorted` for the warehouse's options without an
    order, or `sorted` for these options in its order.
    """
    import duckdb

    from tracehouse.ingest.declarations import all_traces
    from tracehouse.ingest.store.files import PARQUET_OPTIONS

    for table in all_traces()[trace].tables:
        (csv,) = (path for path in Path(csvs).iterdir() if re.fullmatch(table.file_name, path.name))
        columns = ", ".join(f"'{column.name}': '{column.stored_type}'" for column in table.columns)
        sort = f"order by {', '.join(table.order_by)}" if order == "sorted" else ""
        keeps_order = order == "as in file"
        options = "format parquet, compression zstd" if keeps_order else PARQUET_OPTIONS
        with duckdb.connect() as connection:
            connection.execute(f"set preserve_insertion_order = {keeps_order}")
            connection.execute(
                f"copy (from read_csv('{csv}', header = false, auto_detect = false, columns = {{{columns}}}) "
                f"{sort}) to '{Path(out) / table.name}.parquet' ({options})"
            )


def pandas_parquet(raw: str, out: str) -> None:
    """Convert every CSV in the archives of a folder with pandas: guessed types, no sort, no checks."""
    import pandas as pd

    for stem, paths in archives(Path(raw)).items():
        header = paths[0].with_name(f"{stem}.header")
        names = header.read_text().strip().split(",") if header.exists() else None
        for _, csv in csv_members(paths):
            pd.read_csv(csv, names=names).to_parquet(Path(out) / f"{stem}.parquet", compression="zstd")


def pandas_melt(csv: str, out: str) -> None:
    """Unpivot a wide CSV with pandas into Parquet, block by block; times remain strings."""
    import pandas as pd

    for number, lines in enumerate(pd.read_csv(csv, chunksize=MELTED_LINES)):
        rows = lines.melt("Time", var_name="device")
        rows.to_parquet(f"{out}/{number}.parquet", compression="zstd")


def polars_parse(csv: str) -> None:
    """Parse all cells of a wide CSV with Polars' streaming engine, and discard them."""
    import polars as pl

    # Counting the NULLs of each column is the cheapest operation that reads all cells.
    pl.scan_csv(csv, schema=_schema(csv)).select(pl.all().null_count()).collect(engine="streaming")


def polars_unpivot(csv: str, out: str) -> None:
    """Unpivot a wide CSV with Polars' streaming engine into unsorted Parquet; times remain strings."""
    import polars as pl

    rows = pl.scan_csv(csv, schema=_schema(csv)).unpivot(index="Time", variable_name="device")
    rows.sink_parquet(f"{out}/long.parquet", compression="zstd", compression_level=1)


def tables(trace: str, raw: str, warehouse: str) -> None:
    """Convert a trace's tables as `traces ingest` does, without building the database."""
    from tracehouse.ingest import pipeline
    from tracehouse.ingest.store import lock

    with lock.acquire(Path(warehouse)):
        pipeline.convert([Path(raw)], Path(warehouse), [trace], lambda *_: None)


FUNCTIONS = (inflate, duckdb_copy, pandas_parquet, pandas_melt, polars_parse, polars_unpivot, tables)
BASELINES = {function.__name__: function for function in FUNCTIONS}


def archives(folder: Path) -> dict[str, list[Path]]:
    """Return the paths of the parts of each archive, by the name of the archive without `.tar.gz`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.tar.gz*")):
        found.setdefault(path.name.split(".tar.gz")[0], []).append(path)
    return found


def csv_members(paths: list[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the content of each CSV in an archive, without macOS's `._` files."""
    with tarfile.open(fileobj=_open_archive(paths), mode="r|gz") as tar:
        for member in tar:
            name, content = Path(member.name).name, tar.extractfile(member)
            if content and name.endswith(".csv") and not name.startswith("._"):
                yield name, content


def _open_archive(paths: list[Path]) -> BinaryIO:
    """Open an archive for reading; join the parts of a split archive in memory."""
    if len(paths) == 1:
        return paths[0].open("rb", READ_BYTES)
    return io.BytesIO(b"".join(path.read_bytes() for path in paths))


def _schema(csv: str) -> "pl.Schema":
    """Return Polars' types for a wide CSV: strings for times, and for cells the type of the first line."""
    import polars as pl

    with Path(csv).open() as file:
        names = file.readline().rstrip("\n").split(",")
        cells = file.readline()
    kind = pl.Float64 if "." in cells.partition(",")[2] else pl.Int64
    return pl.Schema(dict.fromkeys(names, kind) | {"Time": pl.String})


if __name__ == "__main__":
    BASELINES[sys.argv[1]](*sys.argv[2:])

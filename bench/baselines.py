"""Convert raw files with other tools, as baselines for ingest benchmarks.

    python -m tracehouse.bench.baselines NAME ARGUMENT...

Each public function is one baseline; its parameters are the arguments. The libraries are imported in the
functions, so that a process loads only what it uses.
"""

import io
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from tracehouse.ingest.declare.trace import Column

READ_BYTES = 1 << 20


def inflate(raw: str) -> None:
    """Decompress all archives in a folder with isal, one after the other, and discard the bytes."""
    from isal import igzip

    for paths in _archives(raw).values():
        with _open_archive(paths) as compressed, igzip.IGzipFile(fileobj=compressed) as inflated:
            while inflated.read(READ_BYTES):
                pass


def extract(raw: str, folder: str) -> None:
    """Extract the CSVs of all archives below a folder into another folder."""
    Path(folder).mkdir(parents=True)
    for paths in _archives(raw).values():
        for name, content in _csv_members(paths):
            with (Path(folder) / name).open("wb") as file:
                shutil.copyfileobj(content, file, READ_BYTES)


def duckdb_copy(trace: str, csvs: str, out: str) -> None:
    """Convert extracted CSVs with DuckDB's COPY: the types of the warehouse, zstd, and otherwise defaults."""
    import duckdb

    for name, csv, columns in _tables(trace, csvs):
        listed = ", ".join(f"'{column.name}': '{column.type}'" for column in columns)
        with duckdb.connect() as connection:
            connection.execute(
                f"copy (from read_csv('{csv}', header = false, auto_detect = false, "
                f"columns = {{{listed}}})) "
                f"to '{Path(out) / name}.parquet' (format parquet, compression zstd)"
            )


def polars_sink(trace: str, csvs: str, out: str) -> None:
    """Convert extracted CSVs with Polars' streaming engine: the types of the warehouse, zstd, no sort."""
    import polars as pl

    types = {"VARCHAR": pl.String, "BIGINT": pl.Int64, "DOUBLE": pl.Float64}
    for name, csv, columns in _tables(trace, csvs):
        schema = pl.Schema({column.name: types[column.type] for column in columns})
        rows = pl.scan_csv(csv, has_header=False, schema=schema)
        rows.sink_parquet(f"{out}/{name}.parquet", compression="zstd")


def pandas_read(csvs: str) -> None:
    """Read all extracted CSVs with pandas into memory, with guessed types, and write nothing."""
    import pandas as pd

    # All tables stay in memory until the end.
    tables = [pd.read_csv(path, header=None) for path in Path(csvs).glob("*.csv")]
    assert tables


def polars_unpivot(csv: str, out: str) -> None:
    """Unpivot a wide CSV of integers with Polars' streaming engine into unsorted Parquet."""
    import polars as pl

    with Path(csv).open(encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
    schema = pl.Schema(dict.fromkeys(names, pl.Int64) | {"Time": pl.String})
    rows = pl.scan_csv(csv, schema=schema).unpivot(index="Time", variable_name="device")
    rows.sink_parquet(f"{out}/long.parquet", compression="zstd", compression_level=1)


def _tables(trace: str, csvs: str) -> Iterator[tuple[str, Path, Sequence["Column"]]]:
    """Yield the name of each table of a trace, its extracted CSV, and its columns."""
    from tracehouse.ingest.declare.trace import all_traces

    for table in all_traces()[trace].tables:
        (csv,) = (path for path in Path(csvs).iterdir() if re.fullmatch(table.file_name, path.name))
        yield table.name, csv, table.columns


def _archives(folder: str) -> dict[str, list[Path]]:
    """Return the paths of the parts of each archive, by the name of the archive without `.tar.gz`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).rglob("*.tar.gz*")):
        found.setdefault(path.name.split(".tar.gz")[0], []).append(path)
    return found


def _csv_members(paths: list[Path]) -> Iterator[tuple[str, IO[bytes]]]:
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


BASELINES = {
    function.__name__: function
    for function in (inflate, extract, duckdb_copy, pandas_read, polars_sink, polars_unpivot)
}

if __name__ == "__main__":
    BASELINES[sys.argv[1]](*sys.argv[2:])

"""Write the rows of a test as raw files in the publishers' formats, and build databases from them."""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb
from few_files import ingest_raw, tar_gz

from tracehouse.engines.duckdb.write import database
from tracehouse.engines.duckdb.write.build import build_file
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.store.snapshot import Snapshot

Row = Mapping[str, object]
# The columns that only the job file of Kalos has.
OF_KALOS = ("mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time")


def header(trace: str, table: str, *without: str) -> str:
    """Return the header of a publisher's file, without some columns."""
    columns = all_traces()[trace].table(table).columns
    return ",".join(column.name_in_file for column in columns if column.name not in without)


def csv_text(columns: Sequence[str], rows: Iterable[Row], header: bool) -> bytes:
    lines = [",".join(columns)] if header else []
    lines += [",".join("" if row[name] is None else str(row[name]) for name in columns) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tar_gz(members))


def write_pai(folder: Path, tables: Mapping[str, Iterable[Row]]) -> None:
    """Write each of PAI's tables as an archive with a CSV without header, and a header file."""
    for stem, rows in tables.items():
        columns = pai_header(stem)
        write_archive(folder / f"{stem}.tar.gz", {f"{stem}.csv": csv_text(columns.split(","), rows, False)})
        (folder / f"{stem}.header").write_text(columns, encoding="utf-8")


def pai_header(stem: str) -> str:
    """Return the header of an archive of PAI, such as `pai_job_table`."""
    return header("pai", stem.removeprefix("pai_").removesuffix("_table"))


def ingested(raw: Path, warehouse: Path) -> duckdb.DuckDBPyConnection:
    """Ingest raw files, and return a connection to a database without materialized views."""
    outcome = ingest_raw(raw, warehouse)
    assert not outcome.problems and not outcome.unrecognised, outcome.problems or outcome.unrecognised
    path = warehouse / database.DATABASE
    build_file(path, Snapshot(warehouse.absolute(), outcome.conversions), embed_tables=False)
    return duckdb.connect(str(path), read_only=True)


def without_data(warehouse: Path, embed_tables: bool = False) -> Path:
    """Build a database without data. With `embed_tables`, it has tables, so that a test can insert rows."""
    return Path(shutil.copyfile(_empty(embed_tables), warehouse / database.DATABASE))


@cache
def _empty(embed_tables: bool) -> Path:
    """Return the database of `without_data`, which no test changes."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    build_file(folder / database.DATABASE, Snapshot(folder), embed_tables)
    return folder / database.DATABASE


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple]:
    return connection.execute(sql).fetchall()

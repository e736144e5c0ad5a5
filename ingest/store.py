"""The Parquet store on disk: files named by their content, a manifest, and a journal of unpublished work.

    <warehouse>/datapackage.json           the published version (Frictionless Data Package, v2)
    <warehouse>/parquet/<trace>/<table>/   the files, never changed once they have their name
    <warehouse>/.ingest/                   lock, half-written files, journal of finished conversions

A conversion is finished when its files have their names and the journal says so; it is published when
datapackage.json lists it. Between the two a killed ingest loses nothing but the conversion it was at.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
from filelock import FileLock, Timeout

from tracehouse.ingest.declare import Column, Table, Trace, all_traces
from tracehouse.ingest.errors import UserError

PACKAGE_NAME = "datapackage.json"
REJECTED = "_rejected"
REJECTED_COLUMNS = (
    Column("table_name", "VARCHAR", "Base table that the row was meant for, with its schema"),
    Column("file", "VARCHAR", "Raw file that holds the row, below its raw folder"),
    Column("member", "VARCHAR", "CSV inside the raw file"),
    Column("line", "BIGINT", "Line on which the row starts in the CSV, from 1"),
    Column("reason", "VARCHAR", "Why the row does not fit its table", provenance="derived"),
    Column("raw_text", "VARCHAR", "The row as it stands in the file"),
)

_WORK = ".ingest"
# Arrow's own, and what DuckDB says of a full disk, which depends on what it was writing.
_CANNOT_WRITE = (
    OSError,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.FatalException,
    duckdb.OutOfMemoryException,
)
_CONTENT_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
_FRICTIONLESS_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "TIMESTAMPTZ": "datetime",
}


@dataclass(frozen=True)
class Source:
    """One CSV that was read: where it came from, and what became of its rows.

    A row of a wide CSV is a line; `rows_stored` counts the cells, which are the rows of its table.

    `file` lies below its raw folder; `member` is the CSV in it. `sha256` and `bytes` are the file's.
    `checksum` is `published` where the publisher's checksum agrees, `differs` where it does not, and
    `none published` where there is none.
    """

    file: str
    member: str
    sha256: str
    bytes: int
    parts: int
    rows_read: int
    rows_kept: int
    rows_rejected: int
    rows_stored: int
    checksum: str
    synthetic: bool


@dataclass(frozen=True)
class StoredFile:
    """One Parquet file of the store. `path` is relative to the warehouse."""

    path: str
    bytes: int
    sha256: str
    rows: int


@dataclass(frozen=True)
class HalfFile:
    """A Parquet file that is complete, but not in the store yet."""

    path: Path
    sha256: str
    rows: int


@dataclass(frozen=True)
class Conversion:
    """What one run over a table's raw files (or those of one partition) gave.

    `input_names` and `input_sha256` list, side by side, every raw file that was looked at, duplicates of
    a source included: the same of both, and the same `fingerprint` of the declaration, make the same files.
    """

    trace: str
    table: str
    partition: str
    fingerprint: str
    input_sha256: tuple[str, ...]
    sources: tuple[Source, ...]
    files: tuple[StoredFile, ...]
    rejected: tuple[StoredFile, ...] = ()
    input_names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What this conversion replaces."""
        return (self.trace, self.table, self.partition)

    @property
    def table_name(self) -> str:
        """The base table, with its schema."""
        return f"{self.trace}.{self.table}"


@contextmanager
def lock(warehouse: Path) -> Iterator[None]:
    """Hold the warehouse for one writer. Raises UserError where another has it."""
    work = warehouse / _WORK
    try:
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock", timeout=0):
            yield
    except Timeout:
        raise UserError(
            f"{warehouse}: another ingest or build is writing here. Wait until it has finished"
        ) from None


@contextmanager
def room_to_write(warehouse: Path, what: str) -> Iterator[None]:
    """Turn what is raised where nothing can be written into a UserError that says what to do."""
    try:
        yield
    except _CANNOT_WRITE as refusal:
        reason = str(refusal).splitlines()[0]
        raise UserError(
            f"{warehouse}: cannot write {what} ({reason}). Make room, and run the same command again: "
            "it goes on where it was"
        ) from refusal


def clean(warehouse: Path) -> None:
    """Remove half-written files, and Parquet files that neither the manifest nor the journal lists.

    Only files that are named by their content: in a folder that is no warehouse, nothing is.
    """
    shutil.rmtree(warehouse / _WORK / "half", ignore_errors=True)
    listed = {
        stored.path
        for conversion in (*published(warehouse), *finished(warehouse))
        for stored in (*conversion.files, *conversion.rejected)
    }
    for path in (warehouse / "parquet").rglob("*.parquet"):
        ours = _CONTENT_NAME.fullmatch(path.name)
        if ours and path.relative_to(warehouse).as_posix() not in listed:
            path.unlink()


def half_written(warehouse: Path) -> Path:
    """A folder for files that are not finished; whatever is in it is lost with a kill."""
    folder = warehouse / _WORK / "half"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sealed(path: Path, rows: int) -> HalfFile:
    """A complete Parquet file, safe on disk and with its checksum, that `adopt` may take."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
        os.fsync(file.fileno())
    return HalfFile(path, digest.hexdigest(), rows)


def adopt(warehouse: Path, folder: str, half: HalfFile) -> StoredFile:
    """Give a sealed file its name in `parquet/<folder>/`, and return its record."""
    name = f"parquet/{folder}/{half.sha256[:16]}.parquet"
    target = warehouse / name
    target.parent.mkdir(parents=True, exist_ok=True)
    size = half.path.stat().st_size
    half.path.replace(target)
    return StoredFile(name, size, half.sha256, half.rows)


def record_finished(warehouse: Path, conversion: Conversion) -> None:
    """Write a conversion into the journal: from here on, a kill does not lose it."""
    name = ".".join(part.replace("/", ".") for part in conversion.key if part) + ".json"
    _write_whole(warehouse / _WORK / "finished" / name, json.dumps(asdict(conversion)))


def finished(warehouse: Path) -> list[Conversion]:
    """The conversions that are finished but not published."""
    journal = sorted((warehouse / _WORK / "finished").glob("*.json"))
    return [conversion for path in journal for conversion in _read(path, lambda entry: [entry])]


def published(warehouse: Path) -> list[Conversion]:
    """The conversions of the published version, as datapackage.json has them."""
    path = warehouse / PACKAGE_NAME
    if not path.exists():
        return []
    return _read(path, lambda package: package["conversions"])


def _read(path: Path, entries: Callable[[Any], list[dict[str, Any]]]) -> list[Conversion]:
    """The conversions that a file holds. Raises UserError where it is damaged, or of another version."""
    try:
        return [_conversion(entry) for entry in entries(json.loads(path.read_text()))]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: this version of Tracehouse cannot read it ({error!r}). "
            "Move it away, and ingest the raw files again"
        ) from error


def publish(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Make `conversions` the published version, close the journal, and drop what was left half-written."""
    package = data_package(sorted(conversions, key=lambda conversion: conversion.key))
    _write_whole(warehouse / PACKAGE_NAME, json.dumps(package, indent=1) + "\n")
    for name in ("finished", "half"):
        shutil.rmtree(warehouse / _WORK / name, ignore_errors=True)


def data_package(conversions: Sequence[Conversion]) -> dict[str, Any]:
    """The Frictionless Data Package of a warehouse: every output file, every input file."""
    traces = all_traces()
    used = [traces[name] for name in sorted({c.trace for c in conversions}) if name in traces]
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "tracehouse",
        "title": "Public GPU-cluster traces as Parquet",
        "contributors": [{"title": trace.publisher, "path": trace.homepage} for trace in used],
        "licenses": [{"title": f"{trace.title}: {trace.licence}"} for trace in used],
        "resources": [resource for c in conversions for resource in _resources(c, traces)],
        "sources": [
            {
                "title": f"{c.trace}.{c.table}",
                "path": source.file,
                "bytes": source.bytes,
                "hash": f"sha256:{source.sha256}",
            }
            for c in conversions
            for source in c.sources
        ],
        "conversions": [asdict(c) for c in conversions],
    }


def _resources(conversion: Conversion, traces: dict[str, Trace]) -> Iterator[dict[str, Any]]:
    table = _declared(conversion, traces)
    name = ".".join(part.replace("/", ".").replace("=", "-") for part in conversion.key if part)
    in_path = table.partition_by if table else ()
    columns = [column for column in table.stored_columns if column.name not in in_path] if table else []
    for number, stored in enumerate(conversion.files):
        suffix = f".{number}" if len(conversion.files) > 1 else ""
        yield _resource(f"{name}{suffix}", stored, columns, table.comment if table else "")
    for stored in conversion.rejected:
        yield _resource(f"{name}.rejected", stored, REJECTED_COLUMNS, "Rows that do not fit their table")


def _declared(conversion: Conversion, traces: dict[str, Trace]) -> Table | None:
    trace = traces.get(conversion.trace)
    tables = trace.tables if trace else ()
    return next((table for table in tables if table.name == conversion.table), None)


def _resource(name: str, stored: StoredFile, columns: Sequence[Column], description: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "path": stored.path,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "bytes": stored.bytes,
        "hash": f"sha256:{stored.sha256}",
        "rows": stored.rows,
        "schema": {
            "fields": [
                {
                    "name": column.name,
                    "type": _FRICTIONLESS_TYPES[column.type],
                    "description": column.comment,
                }
                for column in columns
            ]
        },
    }


def _conversion(entry: dict[str, Any]) -> Conversion:
    lists = {
        "input_sha256": tuple(entry["input_sha256"]),
        "input_names": tuple(entry.get("input_names", ())),
        "sources": tuple(
            # Before there were wide files, a row was stored as one.
            Source(**({"rows_stored": source["rows_kept"]} | source))
            for source in entry["sources"]
        ),
        "files": tuple(StoredFile(**stored) for stored in entry["files"]),
        "rejected": tuple(StoredFile(**stored) for stored in entry["rejected"]),
    }
    return Conversion(**(entry | lists))


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that no reader, and no power cut, sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".half")
    with half.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)

"""The manifest, `datapackage.json`: all that a warehouse consists of, as a Frictionless Data Package (v2).

It lists every Parquet file with its size, checksum and schema, every raw file with its checksum, and the
files that a later version has superseded, which stay for a while for those who still read them.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracehouse.core.errors import UserError
from tracehouse.ingest.column_types import TYPES
from tracehouse.ingest.declarations import Column, Table, Trace, all_traces

NAME = "datapackage.json"
REJECTED_COLUMNS = (
    Column("table_name", "VARCHAR", "Base table that the row was meant for, with its schema"),
    Column("file", "VARCHAR", "Raw file that holds the row, below its raw folder"),
    Column("member", "VARCHAR", "CSV inside the raw file"),
    Column("line", "BIGINT", "Line on which the row starts in the CSV, from 1"),
    Column("reason", "VARCHAR", "Why the row does not fit its table", provenance="derived"),
    Column("raw_text", "VARCHAR", "The row as it stands in the file"),
)

_STORED_PATH = re.compile(r"parquet/(?:[^/]+/)+[0-9a-f]{16}\.parquet")

Key = tuple[str, str, str, str]
"""Trace, table, partition and source: what one conversion gives, and what a newer one of it replaces."""


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
class PassedOver:
    """A CSV that was not read, being equal to one of the same name that was read from another raw file.

    `other_sha256` is the checksum of that raw file: when it changes, the two have to be compared again.
    """

    member: str
    other_sha256: str


@dataclass(frozen=True, order=True)
class Beside:
    """A piece of a wide table, whose lines another piece left out: its name, and its checksum then."""

    source: str
    sha256: str


@dataclass(frozen=True)
class Conversion:
    """What one raw file gave to one table, or to one partition of it.

    `source` is the raw file's name without what says how it is packed: another file of that name is another
    version of it. `sources` are its CSVs; `beside` are the other pieces of a wide table, whose lines were
    left out of this one. The same `sha256` of the raw file, and the same `fingerprint` of the table's
    declaration, give the same `files`.
    """

    trace: str
    table: str
    partition: str
    source: str
    fingerprint: str
    sha256: str
    sources: tuple[Source, ...]
    files: tuple[StoredFile, ...]
    rejected: tuple[StoredFile, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    beside: tuple[Beside, ...] = ()

    @property
    def key(self) -> Key:
        """What this conversion replaces."""
        return (self.trace, self.table, self.partition, self.source)

    @property
    def table_name(self) -> str:
        """The base table, with its schema."""
        return f"{self.trace}.{self.table}"

    @property
    def all_files(self) -> tuple[StoredFile, ...]:
        """Its Parquet files, those of rejected rows included."""
        return (*self.files, *self.rejected)

    @property
    def rows(self) -> int:
        """The rows that it gives to its table."""
        return sum(stored.rows for stored in self.files)

    @property
    def shown_source(self) -> str:
        """Its raw file as it was last found, for notes."""
        return self.sources[0].file if self.sources else self.source


@dataclass(frozen=True)
class Superseded:
    """A Parquet file that `version` of the warehouse was the last to use, until `since` (ISO 8601, UTC)."""

    path: str
    bytes: int
    version: int
    since: str

    @property
    def age_days(self) -> float:
        """How many days ago it was superseded."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds() / 86400


@dataclass(frozen=True)
class Manifest:
    """One published version of a warehouse; version 0 means that none was published yet."""

    version: int = 0
    conversions: tuple[Conversion, ...] = ()
    superseded: tuple[Superseded, ...] = ()

    def next(self, conversions: Iterable[Conversion]) -> "Manifest":
        """The version after this one, which consists of `conversions`."""
        ordered = tuple(sorted(conversions, key=lambda conversion: conversion.key))
        current = {stored.path for c in ordered for stored in c.all_files}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        old = {s.path: s for s in self.superseded}
        for conversion in self.conversions:
            for stored in conversion.all_files:
                old[stored.path] = Superseded(stored.path, stored.bytes, self.version, now)
        left = tuple(file for path, file in sorted(old.items()) if path not in current)
        return Manifest(self.version + 1, ordered, left)


def read(warehouse: Path) -> Manifest:
    """The published version of a warehouse. Raises UserError where it cannot be read."""
    path = warehouse / NAME
    try:
        return parsed(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        return Manifest()
    except OSError as refusal:
        raise UserError(f"{path}: it cannot be read ({refusal.strerror})") from refusal
    except UnicodeDecodeError as error:
        raise _damaged(path, error) from error


def parsed(text: str, place: Path | str) -> Manifest:
    """A version, from the text of a manifest. Raises UserError where it is none."""
    try:
        package = json.loads(text)
        return Manifest(
            int(package["version"]),
            tuple(conversion_of(entry) for entry in package["conversions"]),
            tuple(_superseded(entry) for entry in package["superseded"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(place, error) from error


def _damaged(place: Path | str, error: Exception) -> UserError:
    return UserError(
        f"{place}: it is damaged, or of another version of Tracehouse ({error!r}). "
        "`traces build --recover` makes a new one from the records of what each raw file gave"
    )


def write(warehouse: Path, manifest: Manifest) -> None:
    """Publish a version atomically."""
    package = data_package(manifest)
    write_whole(warehouse / NAME, json.dumps(package, indent=1) + "\n")


def conversion_of(entry: dict[str, Any]) -> Conversion:
    """Rebuild a conversion from its `asdict`. Raises KeyError, TypeError or ValueError on anything else."""
    lists = {
        "sources": tuple(Source(**source) for source in entry["sources"]),
        "files": tuple(_stored(stored) for stored in entry["files"]),
        "rejected": tuple(_stored(stored) for stored in entry["rejected"]),
        "passed_over": tuple(PassedOver(**passed) for passed in entry["passed_over"]),
        "beside": tuple(Beside(**beside) for beside in entry["beside"]),
    }
    return Conversion(**(entry | lists))


def _stored(entry: dict[str, Any]) -> StoredFile:
    stored = StoredFile(**entry)
    _check_path(stored.path)
    return stored


def _superseded(entry: dict[str, Any]) -> Superseded:
    old = Superseded(**entry)
    _check_path(old.path)
    datetime.fromisoformat(old.since)
    return old


def _check_path(path: str) -> None:
    """Raise ValueError where a path is not one of the store's, as a vacuum may delete what is listed."""
    if not _STORED_PATH.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"{path!r} is no file of the store")


def data_package(manifest: Manifest) -> dict[str, Any]:
    """The Frictionless Data Package of a warehouse: every output file, every input file."""
    conversions = manifest.conversions
    traces = all_traces()
    used = [traces[name] for name in sorted({c.trace for c in conversions}) if name in traces]
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "tracehouse",
        "title": "Public GPU-cluster traces as Parquet",
        "version": str(manifest.version),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
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
        "superseded": [asdict(s) for s in manifest.superseded],
    }


def _resources(conversion: Conversion, traces: dict[str, Trace]) -> Iterator[dict[str, Any]]:
    table = _declared(conversion, traces)
    parts = (part.replace("/", ".").replace("=", "-") for part in conversion.key if part)
    name = ".".join(parts)
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
                    "type": TYPES[column.type].frictionless,
                    "description": column.comment,
                }
                for column in columns
            ]
        },
    }


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: neither a reader nor a kill leaves half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".half")
    with half.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)

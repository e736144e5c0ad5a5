"""Read and write the manifest `datapackage.json`, a Frictionless Data Package (v2).

It lists every Parquet file of the base tables with its size, checksum and schema, every raw file with its
checksum, and superseded files, which are kept for some days for readers of older versions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracehouse.core.errors import UserError
from tracehouse.ingest.column_types import TYPES
from tracehouse.ingest.declarations import Column, Table, Trace, all_traces
from tracehouse.ingest.store.files import StagedFile, write_atomically
from tracehouse.ingest.store.layout import TABLES_FOLDER

NAME = "datapackage.json"
REJECTED_COLUMNS = (
    Column("table_name", "VARCHAR", "Base table that the row was meant for, with its schema"),
    Column("file", "VARCHAR", "Raw file that holds the row, below its raw folder"),
    Column("member", "VARCHAR", "CSV inside the raw file"),
    Column("line", "BIGINT", "Line on which the row starts in the CSV, from 1"),
    Column("reason", "VARCHAR", "Why the row does not fit its table", provenance="derived"),
    Column("raw_text", "VARCHAR", "The row's text in the file, cut after 1,000 characters"),
)

_STORED_PATH = re.compile(TABLES_FOLDER + r"/(?:[^/]+/)+[0-9a-f]{16}\.parquet")

# Fields whose names in the file differ. The names in the file are part of the format and cannot change.
_JSON_NAMES = {"skipped_copies": "passed_over", "other_pieces": "beside"}

Key = tuple[str, str, str, str]
"""Trace, table, partition and source of a conversion. A new conversion replaces the one of the same key."""


@dataclass(frozen=True)
class Source:
    """The origin and the row counts of one converted CSV.

    `file` is the raw file's path below its raw folder, and `member` the name of the CSV in it. `sha256` and
    `bytes` are those of the raw file. The rows of a wide CSV are its lines; only `rows_stored` counts cells,
    which are the rows of the table. `checksum` is `published` if the publisher's checksum agrees, `differs`
    if it does not, and `none published` if the publisher prints no checksum.
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
    """A Parquet file of a base table. `path` is relative to the warehouse."""

    path: str
    bytes: int
    sha256: str
    rows: int


@dataclass(frozen=True)
class SkippedCopy:
    """A CSV that was skipped because another raw file contains the same CSV.

    `other_sha256` is the checksum of the other raw file. If it changes, the two CSVs must be compared again.
    """

    member: str
    other_sha256: str


@dataclass(frozen=True, order=True)
class PieceVersion:
    """A raw file of a wide table whose lines another conversion omits, with the file's checksum then."""

    source: str
    sha256: str


@dataclass(frozen=True)
class Conversion:
    """The rows of one raw file in one table, or in one partition of a table.

    `source` is the raw file's name without the suffixes of its packing. A file of the same name counts as
    another version of the raw file. `sources` are the converted CSVs. A wide table may be split into several
    raw files; `other_pieces` are those whose lines this conversion omits. The same `sha256` of the raw file
    and the same `fingerprint` of the table's declaration give the same `files`.
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
    skipped_copies: tuple[SkippedCopy, ...] = ()
    other_pieces: tuple[PieceVersion, ...] = ()

    @property
    def key(self) -> Key:
        """The key. A new conversion replaces the one with the same key."""
        return (self.trace, self.table, self.partition, self.source)

    @property
    def table_name(self) -> str:
        """The name of the base table with its schema."""
        return f"{self.trace}.{self.table}"

    @property
    def all_files(self) -> tuple[StoredFile, ...]:
        """The Parquet files of the conversion, including those of rejected rows."""
        return (*self.files, *self.rejected)

    @property
    def rows(self) -> int:
        """The number of rows that the conversion adds to the table."""
        return sum(stored.rows for stored in self.files)

    @property
    def shown_source(self) -> str:
        """The path of the raw file when it was last found, for messages."""
        return self.sources[0].file if self.sources else self.source


@dataclass(frozen=True)
class Superseded:
    """A Parquet file that no version after `version` reads, as recorded at `since` (ISO 8601, UTC)."""

    path: str
    bytes: int
    version: int
    since: str

    @property
    def age_days(self) -> float:
        """The number of days since the file was superseded."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds() / 86400


@dataclass(frozen=True)
class Manifest:
    """One published version of a warehouse. Version 0 means that no version was published yet."""

    version: int = 0
    conversions: tuple[Conversion, ...] = ()
    superseded: tuple[Superseded, ...] = ()

    def next(self, conversions: Iterable[Conversion]) -> "Manifest":
        """Return the next version, which consists of `conversions`."""
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
    """Read the manifest of a warehouse. Returns version 0 if there is none.

    Raises UserError if the manifest is unreadable or damaged.
    """
    path = warehouse / NAME
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise UserError(f"{path}: cannot read the manifest ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _damage_error(path, error) from error


def read_conversions(warehouse: Path) -> list[Conversion]:
    """Return the conversions of the published version."""
    return list(read(warehouse).conversions)


def parse(text: str, origin: Path | str) -> Manifest:
    """Parse the text of a manifest. Raises UserError if it is invalid; the message names `origin`."""
    try:
        package = json.loads(text)
        return Manifest(
            int(package["version"]),
            tuple(parse_conversion(entry) for entry in package["conversions"]),
            tuple(_parse_superseded(entry) for entry in package["superseded"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damage_error(origin, error) from error


def _damage_error(origin: Path | str, error: Exception) -> UserError:
    return UserError(
        f"{origin}: the manifest is damaged, or another version of Tracehouse wrote it ({error!r}). "
        "`traces build --recover` makes a new one from the records of all conversions"
    )


def write(warehouse: Path, manifest: Manifest) -> None:
    """Publish a version atomically."""
    write_atomically(warehouse / NAME, json.dumps(data_package(manifest), indent=1) + "\n")


def describe_file(folder: str, staged_file: StagedFile) -> StoredFile:
    """Return the manifest's entry for a staged file of a base table, which is named by its content."""
    path = f"{TABLES_FOLDER}/{folder}/{staged_file.sha256[:16]}.parquet"
    return StoredFile(path, staged_file.path.stat().st_size, staged_file.sha256, staged_file.rows)


def to_entry(conversion: Conversion) -> dict[str, Any]:
    """Return a conversion as a JSON object, from which `parse_conversion` rebuilds it."""
    return {_JSON_NAMES.get(name, name): value for name, value in asdict(conversion).items()}


def parse_conversion(entry: dict[str, Any]) -> Conversion:
    """Rebuild a conversion from a JSON object. Raises KeyError, TypeError or ValueError if it is invalid."""
    lists = {
        "sources": tuple(Source(**source) for source in entry["sources"]),
        "files": tuple(_parse_file(stored) for stored in entry["files"]),
        "rejected": tuple(_parse_file(stored) for stored in entry["rejected"]),
        "skipped_copies": tuple(SkippedCopy(**skipped) for skipped in entry["passed_over"]),
        "other_pieces": tuple(PieceVersion(**piece) for piece in entry["beside"]),
    }
    others = {name: value for name, value in entry.items() if name not in _JSON_NAMES.values()}
    return Conversion(**(others | lists))


def _parse_file(entry: dict[str, Any]) -> StoredFile:
    stored = StoredFile(**entry)
    _check_path(stored.path)
    return stored


def _parse_superseded(entry: dict[str, Any]) -> Superseded:
    old = Superseded(**entry)
    _check_path(old.path)
    datetime.fromisoformat(old.since)
    return old


def _check_path(path: str) -> None:
    """Raise ValueError if a path does not belong to a base table. A vacuum may delete the listed files."""
    if not _STORED_PATH.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"{path!r} is not a file of a base table")


def data_package(manifest: Manifest) -> dict[str, Any]:
    """Return the Frictionless Data Package of a warehouse. It lists all Parquet files and raw files."""
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
        "conversions": [to_entry(c) for c in conversions],
        "superseded": [asdict(s) for s in manifest.superseded],
    }


def _resources(conversion: Conversion, traces: dict[str, Trace]) -> Iterator[dict[str, Any]]:
    table = _find_table(conversion, traces)
    parts = (part.replace("/", ".").replace("=", "-") for part in conversion.key if part)
    name = ".".join(parts)
    in_path = table.partition_by if table else ()
    columns = [column for column in table.stored_columns if column.name not in in_path] if table else []
    for number, stored in enumerate(conversion.files):
        suffix = f".{number}" if len(conversion.files) > 1 else ""
        yield _resource(f"{name}{suffix}", stored, columns, table.comment if table else "")
    for stored in conversion.rejected:
        yield _resource(f"{name}.rejected", stored, REJECTED_COLUMNS, "Rows that do not fit their table")


def _find_table(conversion: Conversion, traces: dict[str, Trace]) -> Table | None:
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
                {"name": column.name, "type": TYPES[column.type].frictionless, "description": column.comment}
                for column in columns
            ]
        },
    }

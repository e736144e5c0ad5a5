"""Record conversions, and publish the versions of a warehouse.

    <warehouse>/records/<hash>.json    one conversion, named by the hash of its content and never changed
    <warehouse>/datapackage.json       the published version, a Frictionless Data Package (v2)

The records are the truth. `datapackage.json` names the records of the published version and the superseded
Parquet files. For other programs, it also lists all files with their sizes, checksums and schemas. A record
that it does not name is *finished*: an ingest that was interrupted has not published it yet.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from tracehouse.core.errors import UserError
from tracehouse.core.permissions import explain_denied
from tracehouse.ingest.declare.column_types import TYPES
from tracehouse.ingest.declare.trace import Column, Table, Trace, all_traces
from tracehouse.ingest.dump.open import sha256_of
from tracehouse.ingest.store import files
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import (
    RECORDS_FOLDER,
    TABLES_FOLDER,
    VIEWS_FOLDER,
    WORK_FOLDER,
    invalidate_views,
)

NAME = "datapackage.json"
REJECTED_COLUMNS = (
    Column("table_name", "VARCHAR", "Base table that the row was meant for, with its schema"),
    Column("file", "VARCHAR", "Raw file that holds the row, below its raw folder"),
    Column("member", "VARCHAR", "CSV inside the raw file"),
    Column("line", "BIGINT", "Line on which the row starts in the CSV, from 1"),
    Column("reason", "VARCHAR", "Why the row does not fit its table", provenance="derived"),
    Column("raw_text", "VARCHAR", "The row's text in the file, cut after 1,000 characters"),
)

_STORED_PATH = re.compile(rf"(?:{TABLES_FOLDER}|{VIEWS_FOLDER})/(?:[^/]+/)+[0-9a-f]{{16}}\.parquet")
_MOST_BIGINT = 2**63 - 1
_RECORD_NAME = re.compile(r"[0-9a-f]{16}\.json")
_ADVICE = "Restore it from a backup, or ingest the raw files into a new warehouse"

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

    def __post_init__(self) -> None:
        # The catalog stores these numbers as BIGINT. An absurd one must fail with its own file only.
        if wrong := [n for n in vars(self).values() if isinstance(n, int) and not 0 <= n <= _MOST_BIGINT]:
            raise ValueError(f"{self.file}: {wrong[0]:,} is not a possible number of rows or bytes")


@dataclass(frozen=True)
class StoredFile:
    """A Parquet file of a base table. `path` is relative to the warehouse."""

    path: str
    bytes: int
    sha256: str
    rows: int

    @property
    def partition(self) -> str:
        """The partition of its rows, such as ``day=3``; empty if the table has none."""
        return "/".join(self.path.split("/")[3:-1])


@dataclass(frozen=True)
class Conversion:
    """The rows of one raw file in one table, or in one partition of a table.

    `source` is the raw file's name without the suffixes of its packing. A file of the same name counts as
    another version of the raw file. `sources` are the converted CSVs. The same `sha256` of the raw file and
    the same `fingerprint` of the table's declaration give the same `files`.
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
    def data_files(self) -> dict[str, str]:
        """The names of data files that have rows, and the checksums of their raw files: name → raw file."""
        read = [source for source in self.sources if source.rows_read]
        return {name: source.file for source in read for name in (source.member, source.sha256)}

    @property
    def shown_source(self) -> str:
        """The path of the raw file when it was last found, for messages."""
        return self.sources[0].file if self.sources else self.source


_LISTS = {"sources": Source, "files": StoredFile, "rejected": StoredFile}


@dataclass(frozen=True)
class Superseded:
    """A Parquet file that no version after `version` reads, as recorded at `since` (ISO 8601, UTC)."""

    path: str
    bytes: int
    version: int
    since: str

    @property
    def is_view(self) -> bool:
        """Whether it is the file of a materialized view, and not of a base table."""
        return self.path.startswith(f"{VIEWS_FOLDER}/")

    @property
    def age_days(self) -> float:
        """The number of days since the file was superseded; 0 if the clock was set back since."""
        age = datetime.now(UTC) - datetime.fromisoformat(self.since)
        return max(0.0, age.total_seconds() / 86400)


@dataclass(frozen=True)
class Manifest:
    """One published version of a warehouse. Version 0 means that no version was published yet."""

    version: int = 0
    conversions: tuple[Conversion, ...] = ()
    superseded: tuple[Superseded, ...] = ()

    @property
    def known_files(self) -> set[str]:
        """The paths of the Parquet files of this version and of superseded ones."""
        return list_files(self.conversions) | {old.path for old in self.superseded}

    def next(self, conversions: Iterable[Conversion]) -> "Manifest":
        """Return the next version, which consists of `conversions`."""
        ordered = tuple(sorted(conversions, key=lambda conversion: conversion.key))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        old = {s.path: s for s in self.superseded}
        for conversion in self.conversions:
            for stored in conversion.all_files:
                old[stored.path] = Superseded(stored.path, stored.bytes, self.version, now)
        current = list_files(ordered)
        left = tuple(file for path, file in sorted(old.items()) if path not in current)
        return Manifest(self.version + 1, ordered, left)


def list_files(conversions: Iterable[Conversion]) -> set[str]:
    """Return the paths of the Parquet files of some conversions."""
    return {stored.path for conversion in conversions for stored in conversion.all_files}


def read(warehouse: Path) -> Manifest:
    """Read the published version of a warehouse. Returns version 0 if there is none.

    Raises UserError if the manifest or a record that it names is missing or damaged.
    """
    path = warehouse / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if records := _list_records(warehouse):
            raise UserError(
                f"{path}: the manifest is missing, but there are records of {len(records):,} conversions. "
                f"{_ADVICE}"
            ) from None
        return Manifest()
    except (OSError, UnicodeDecodeError) as error:
        raise _explain_unreadable(path, "the manifest", error) from error
    return parse(text, path, lambda name: _read_text(warehouse / RECORDS_FOLDER / name))


def read_conversions(warehouse: Path) -> list[Conversion]:
    """Return the conversions of the published version."""
    return list(read(warehouse).conversions)


def parse_record_names(text: str, origin: Path | str) -> list[str]:
    """Return the names of the records that a manifest names. Raises UserError if the text is invalid."""
    with _explain_damage(origin):
        return _list_record_names(json.loads(text))


def _list_record_names(package: Any) -> list[str]:
    names = package["records"]
    if not all(_RECORD_NAME.fullmatch(name) for name in names):
        raise ValueError("a name of a record is invalid")
    return list(names)


def parse(text: str, origin: Path | str, read_record: Callable[[str], str]) -> Manifest:
    """Parse the text of a manifest. `read_record` returns the text of a record by its name.

    Raises UserError if one of them is invalid; the message names `origin`.
    """
    with _explain_damage(origin):
        package = json.loads(text)
        superseded = tuple(Superseded(**entry) for entry in package["superseded"])
        for old in superseded:
            _check_path(old.path)
            if not (isinstance(old.bytes, int) and isinstance(old.version, int)):
                raise ValueError(f"the size or version of {old.path} is not a number")
            if datetime.fromisoformat(old.since).tzinfo is None:
                raise ValueError(f"{old.since!r} has no time zone")
        names = _list_record_names(package)
        conversions = tuple(_parse_record(name, read_record(name)) for name in names)
        return Manifest(int(package["version"]), conversions, superseded)


@contextmanager
def _explain_damage(origin: Path | str) -> Iterator[None]:
    """Turn the exceptions of invalid JSON into a UserError about `origin`."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{origin}: the manifest is damaged, or another version of Tracehouse wrote it ({error!r}). "
            f"{_ADVICE}"
        ) from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _explain_unreadable(path, "the record of a conversion", error) from error


def _explain_unreadable(path: Path, what: str, error: Exception) -> UserError:
    return UserError(explain_denied(path) or f"{path}: cannot read {what} ({error}). {_ADVICE}")


def _parse_record(name: str, text: str) -> Conversion:
    """Parse a record. Raises ValueError if its text is not the one that its name is the hash of."""
    if name_of(text) != name:
        raise ValueError(f"the record {name} is damaged")
    entry = json.loads(text)
    lists = {name: tuple(kind(**one) for one in entry[name]) for name, kind in _LISTS.items()}
    conversion = Conversion(**(entry | lists))
    for stored in conversion.all_files:
        _check_path(stored.path)
    return conversion


def _check_path(path: str) -> None:
    """Raise ValueError if a path is not that of a table's or view's file. A vacuum may delete it."""
    if not _STORED_PATH.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"{path!r} is not a file of a table or view")


def record_text(conversion: Conversion) -> str:
    """Return the content of a conversion's record."""
    # A tenth of the time that `asdict` takes. A warehouse may have ten thousands of records.
    return json.dumps(conversion, default=vars)


def record_name(conversion: Conversion) -> str:
    """Return the name of a conversion's record."""
    return name_of(record_text(conversion))


def name_of(text: str) -> str:
    """Return the name of the record with this content: its hash."""
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def describe_file(folder: str, staged_file: StagedFile) -> StoredFile:
    """Return the entry for a staged file of a base table, which is named by its content."""
    path = f"{TABLES_FOLDER}/{folder}/{staged_file.sha256[:16]}.parquet"
    return StoredFile(path, staged_file.path.stat().st_size, staged_file.sha256, staged_file.rows)


class Journal:
    """The published and unpublished conversions of a warehouse, read once for all files of an ingest.

    Threads share a journal. Processes that convert other tables or partitions have journals of their own.
    `published` is the version that the ingest began with, `finished` the complete conversions of an
    interrupted ingest, by key.
    """

    def __init__(self, warehouse: Path) -> None:
        self.published = read(warehouse)
        unpublished = [one for one in _read_unpublished(warehouse, self.published).values() if one]
        self.finished = {one.key: one for one in unpublished if is_complete(warehouse, one)}
        self._warehouse = warehouse
        self._known_files = self.published.known_files
        self._has_manifest = bool(self.published.version)
        self._keys = {one.key for one in unpublished}

    def add(self, conversion: Conversion, staged_files: Sequence[StagedFile]) -> None:
        """Write the record of a finished conversion, and rename its staged files to their final names.

        `staged_files` are the conversion's files and then its files of rejected rows, in order. The record is
        written first, so that no unlisted file remains if the process is killed.
        """
        warehouse = self._warehouse
        # Other threads and processes may produce a file of equal content, and thus of the same name, at this
        # time.
        with FileLock(warehouse / WORK_FOLDER / "finalize.lock"):
            self.discard(conversion.key)
            if not self._has_manifest:
                # From now on, a missing manifest is an error.
                write(warehouse, read(warehouse))
                self._has_manifest = True
            _write_record(warehouse, conversion)
            self._keys.add(conversion.key)
            if self._replaces_damage(conversion):
                invalidate_views(warehouse)
            for stored, staged_file in zip(conversion.all_files, staged_files, strict=True):
                files.move_into_place(staged_file, warehouse / stored.path)

    def discard(self, key: Key) -> None:
        """Remove the unpublished conversion of a key, and its files that no other conversion lists."""
        if key in self._keys:
            discard(self._warehouse, [key])
            self._keys.remove(key)

    def _replaces_damage(self, conversion: Conversion) -> bool:
        """Return whether the manifest already lists a file of a conversion that is now missing or damaged."""
        return any(
            files.size_of(self._warehouse / stored.path) != stored.bytes
            or sha256_of((self._warehouse / stored.path,)) != stored.sha256
            for stored in conversion.all_files
            if stored.path in self._known_files
        )


def _write_record(warehouse: Path, conversion: Conversion) -> None:
    path = warehouse / RECORDS_FOLDER / record_name(conversion)
    if not path.exists():
        files.write_atomically(path, record_text(conversion))


def is_complete(warehouse: Path, conversion: Conversion) -> bool:
    """Return whether all files of a conversion exist and have the right size."""
    return all(files.size_of(warehouse / stored.path) == stored.bytes for stored in conversion.all_files)


def read_finished(warehouse: Path) -> list[Conversion]:
    """Return the complete conversions that are finished but not published."""
    unpublished = _read_unpublished(warehouse, read(warehouse)).values()
    return [one for one in unpublished if one and is_complete(warehouse, one)]


def _read_unpublished(warehouse: Path, published: Manifest) -> dict[Path, Conversion | None]:
    """Return the records that the published version does not name, by path. A damaged one is None."""
    listed = {record_name(conversion) for conversion in published.conversions}
    found: dict[Path, Conversion | None] = {}
    for path in _list_records(warehouse):
        if path.name not in listed:
            try:
                found[path] = _parse_record(path.name, path.read_text(encoding="utf-8"))
            except (ValueError, LookupError, TypeError, AttributeError, FileNotFoundError):
                found[path] = None
    return found


def _list_records(warehouse: Path) -> list[Path]:
    folder = warehouse / RECORDS_FOLDER
    return sorted(path for path in folder.glob("*.json") if _RECORD_NAME.fullmatch(path.name))


def publish(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Publish a version that consists of these conversions, and remove the records that it replaces.

    Finished conversions of another ingest, which this version does not contain, stay.
    """
    before = read(warehouse)
    after = before.next(conversions)
    for conversion in after.conversions:
        _write_record(warehouse, conversion)
    published = before
    if after.conversions != before.conversions or not before.version:
        write(warehouse, after)
        published = after
    keys = {conversion.key for conversion in (*before.conversions, *after.conversions)}
    _remove(warehouse, published, lambda one: one is not None and one.key in keys)


def discard(warehouse: Path, keys: Iterable[Key]) -> None:
    """Remove the unpublished conversions of some keys, and their files that no other conversion lists."""
    removed = set(keys)
    _remove(warehouse, read(warehouse), lambda one: one is not None and one.key in removed)


def discard_incomplete(warehouse: Path) -> None:
    """Remove unpublished records that a kill left: incomplete, damaged, or already superseded."""
    published = read(warehouse)
    known = published.known_files
    _remove(
        warehouse,
        published,
        lambda one: not (one and is_complete(warehouse, one) and list_files([one]) - known),
    )


def _remove(warehouse: Path, published: Manifest, is_due: Callable[[Conversion | None], bool]) -> None:
    """Remove unpublished records, and their files that no other record and no superseded version lists."""
    unpublished = _read_unpublished(warehouse, published)
    due = {path: one for path, one in unpublished.items() if is_due(one)}
    if not due:
        return
    others = [one for path, one in unpublished.items() if one and path not in due]
    needed = published.known_files | list_files(others)
    for path, conversion in due.items():
        for stored in conversion.all_files if conversion else ():
            if stored.path not in needed:
                (warehouse / stored.path).unlink(missing_ok=True)
        # This comes last. If the process is killed before, the record still lists the files to remove.
        path.unlink(missing_ok=True)


def write(warehouse: Path, manifest: Manifest) -> None:
    """Publish a version atomically."""
    files.write_atomically(warehouse / NAME, json.dumps(_data_package(manifest), indent=1) + "\n")


def _data_package(manifest: Manifest) -> dict[str, Any]:
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
        "records": [record_name(c) for c in conversions],
        "superseded": [asdict(s) for s in manifest.superseded],
    }


def _resources(conversion: Conversion, traces: Mapping[str, Trace]) -> Iterator[dict[str, Any]]:
    trace = traces.get(conversion.trace)
    tables: Mapping[str, Table] = {table.name: table for table in trace.tables} if trace else {}
    table = tables.get(conversion.table)
    parts = (part.replace("/", ".").replace("=", "-") for part in conversion.key if part)
    name = ".".join(parts)
    columns = table.stored_columns if table else ()
    for number, stored in enumerate(conversion.files):
        suffix = f".{number}" if len(conversion.files) > 1 else ""
        yield _resource(f"{name}{suffix}", stored, columns, table.comment if table else "")
    for stored in conversion.rejected:
        yield _resource(f"{name}.rejected", stored, REJECTED_COLUMNS, "Rows that do not fit their table")


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

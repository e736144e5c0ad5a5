"""The Parquet store on disk: files named by their content, and a journal of unpublished work.

    <warehouse>/datapackage.json           the published version (see `manifest`)
    <warehouse>/parquet/<trace>/<table>/   the files, never changed once they have their name
    <warehouse>/records/                   what each conversion gave, to make a lost manifest from
    <warehouse>/.ingest/                   lock, half-written files, journal of finished conversions, and
                                           what the database was made from

A conversion is finished when the journal lists it and its files have their names; it is published when
datapackage.json lists it. Between the two a killed ingest loses nothing but the conversion it was at.
Nothing is removed here but what a manifest has superseded, and what never was part of one.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from tracehouse.core.errors import UserError
from tracehouse.ingest.store import manifest
from tracehouse.ingest.store.manifest import Conversion, Key, StoredFile, Superseded
from tracehouse.ingest.store.warehouse_path import checked

REJECTED = "_rejected"
# Superseded files are kept for readers of older versions until both limits have passed.
KEEP_SUPERSEDED_DAYS = 7.0
KEEP_SUPERSEDED_VERSIONS = 3

_WORK = ".ingest"
_PARQUET = "parquet"
# Not among the Parquet files: readers of a folder of Parquet read every file in it.
_RECORDS = "records"
# What Arrow and DuckDB raise when a disk is full; in DuckDB it depends on what it was writing.
_CANNOT_WRITE = (
    OSError,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.FatalException,
    duckdb.OutOfMemoryException,
)
_CONTENT_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
_RECORD_NAME = re.compile(r"[0-9a-f]{16}\.json")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_THE_WAY = (errno.EISDIR, errno.EEXIST, errno.ENOTDIR, errno.ENOTEMPTY)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class StagedFile:
    """A Parquet file that is complete, but not in the store yet."""

    path: Path
    sha256: str
    rows: int


@contextmanager
def lock(warehouse: Path) -> Iterator[None]:
    """Hold the warehouse for one writer. Raises UserError where another has it, or nothing can be written."""
    work = checked(warehouse) / _WORK
    held = FileLock(work / "lock", timeout=0)
    try:
        staging(warehouse)
        held.acquire()
    except Timeout:
        raise UserError(
            f"{warehouse}: another ingest or build is writing here. Wait until it has finished"
        ) from None
    except (FileExistsError, NotADirectoryError) as refusal:
        folder = Path(refusal.filename)
        in_the_way = next((path for path in (folder, *folder.parents) if path.is_file()), folder)
        raise UserError(
            f"{in_the_way}: this is a file, where a folder has to be. Move it away, or name another "
            "warehouse with --warehouse"
        ) from None
    except OSError as refusal:
        raise UserError(f"{warehouse}: the warehouse cannot be written to. {_advice(refusal)}") from refusal
    try:
        yield
    finally:
        held.release()


@contextmanager
def write_errors_explained(warehouse: Path, what: str) -> Iterator[None]:
    """Turn the errors of a failed write, as on a full disk, into a UserError that says what to do."""
    try:
        yield
    except _CANNOT_WRITE as refusal:
        reason = str(refusal).splitlines()[0]
        raise UserError(f"{warehouse}: cannot write {what} ({reason}). {_advice(refusal)}") from refusal


def _advice(refusal: Exception) -> str:
    """What to do where something could not be written; DuckDB and Arrow tell the reason as text only."""
    found = refusal.errno if isinstance(refusal, OSError) else None
    text = str(refusal)
    if found in _NO_ROOM or any(os.strerror(code) in text for code in _NO_ROOM):
        return "Make room, and run the same command again: it goes on where it was"
    if found in _NOT_ALLOWED or any(os.strerror(code) in text for code in _NOT_ALLOWED):
        return (
            "Give yourself the right to write there, or name another warehouse with --warehouse; "
            "to ask questions, the right to read is enough"
        )
    if found in _IN_THE_WAY:
        return "Something else is in the way there: move it away, and run the same command again"
    return "Run the same command again: it goes on where it was"


def clean(warehouse: Path) -> None:
    """Remove what a killed ingest left half-done, and superseded files whose time has passed.

    Raises UserError where the manifest is lost or damaged: then nothing is removed.
    """
    check_manifest_is_there(warehouse)
    drop_staging(warehouse)
    _drop_torn(warehouse)
    vacuum(warehouse, KEEP_SUPERSEDED_DAYS, KEEP_SUPERSEDED_VERSIONS)


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> list[Superseded]:
    """Remove files superseded `older_than_days` ago or earlier, and return them sorted by path.

    Files of the `keep_versions` versions before the current one stay.
    """
    published = manifest.read(warehouse)
    oldest_to_keep = published.version - keep_versions
    needed = {stored.path for one in finished(warehouse) for stored in one.all_files}
    due = {
        old
        for old in published.superseded
        if old.age_days >= older_than_days and old.version < oldest_to_keep and old.path not in needed
    }
    # The manifest last: after a kill in between, it still lists the files to remove.
    for old in due:
        (warehouse / old.path).unlink(missing_ok=True)
    if due:
        left = tuple(old for old in published.superseded if old not in due)
        manifest.write(warehouse, replace(published, superseded=left))
    return sorted(due, key=lambda old: old.path)


def unlisted(warehouse: Path) -> list[str]:
    """The store's Parquet files that neither the manifest nor the journal lists: relative paths, sorted."""
    published = manifest.read(warehouse)
    known = {old.path for old in published.superseded}
    for conversion in (*published.conversions, *filter(None, _journalled(warehouse).values())):
        known |= {stored.path for stored in conversion.all_files}
    found = (path.relative_to(warehouse).as_posix() for path in _parquet_files(warehouse))
    return sorted(path for path in found if path not in known)


def check_manifest_is_there(warehouse: Path) -> None:
    """Raise UserError where the manifest is missing although records show that there was one."""
    lost = [] if (warehouse / manifest.NAME).exists() else _record_files(warehouse)
    if lost:
        raise UserError(
            f"{warehouse / manifest.NAME}: it is gone, but there are records of {len(lost):,} raw files that "
            "it listed. `traces build --recover` makes a new one from them"
        )


def _parquet_files(warehouse: Path) -> Iterator[Path]:
    return (p for p in (warehouse / _PARQUET).rglob("*.parquet") if _CONTENT_NAME.fullmatch(p.name))


def staging(warehouse: Path) -> Path:
    """The folder for unfinished files, created if missing; whatever is in it is lost with a kill."""
    # Absolute: Arrow takes a relative path that begins with `s3:` for a URL.
    folder = warehouse.absolute() / _WORK / "staging"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def mark_of_database(warehouse: Path) -> Path:
    """The file that says what the database of a warehouse was made from."""
    return warehouse / _WORK / "database.json"


def drop_staging(warehouse: Path) -> None:
    """Remove the staging folder and all that is in it."""
    shutil.rmtree(warehouse / _WORK / "staging", ignore_errors=True)


def staged(path: Path, rows: int) -> StagedFile:
    """Flush a complete Parquet file to disk and hash it, so that `finalize` may take it into the store."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return StagedFile(path, sha256, rows)


def named(folder: str, staged_file: StagedFile) -> StoredFile:
    """The manifest's entry for a staged file, as it will be once finalized in `parquet/<folder>/`."""
    name = f"{_PARQUET}/{folder}/{staged_file.sha256[:16]}.parquet"
    return StoredFile(name, staged_file.path.stat().st_size, staged_file.sha256, staged_file.rows)


def finalize(warehouse: Path, conversion: Conversion, staged_files: Sequence[StagedFile]) -> None:
    """Take a conversion's staged files into the store, and enter it in the journal.

    `staged_files` are its files and its rejected ones, in order. The journal is written first, so that a kill
    leaves no unlisted file; once the last file is in place, a kill does not lose the conversion.
    """
    # Tables converted at the same time, by other processes maybe, may give files of the same content.
    with FileLock(warehouse / _WORK / "finalize.lock"):
        drop_unpublished(warehouse, conversion.key)
        manifest.write_whole(_journal(warehouse, conversion.key), json.dumps(asdict(conversion)))
        for stored, staged_file in zip(conversion.all_files, staged_files, strict=True):
            target = warehouse / stored.path
            target.parent.mkdir(parents=True, exist_ok=True)
            staged_file.path.replace(target)


def finished(warehouse: Path) -> list[Conversion]:
    """The conversions that are finished but not published."""
    return [one for one in _journalled(warehouse).values() if one and is_whole(warehouse, one)]


def is_whole(warehouse: Path, conversion: Conversion) -> bool:
    """Whether all files of a conversion are there, in full size."""
    return not any(size_of(warehouse, stored) != stored.bytes for stored in conversion.all_files)


def size_of(warehouse: Path, stored: StoredFile) -> int | None:
    """The size of a stored file as it is now, or None where it is gone."""
    try:
        return (warehouse / stored.path).stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def published(warehouse: Path) -> list[Conversion]:
    """The conversions of the published version."""
    return list(manifest.read(warehouse).conversions)


def publish(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Make `conversions` the published version, and take them out of the journal."""
    before = manifest.read(warehouse)
    after = before.next(conversions)
    if after.conversions != before.conversions or not before.version:
        manifest.write(warehouse, after)
    _write_records(warehouse, after.conversions)
    # Finished conversions of another ingest, which this one does not publish, stay for one that does.
    done = {_journal(warehouse, conversion.key) for conversion in after.conversions}
    for path, entry in _journalled(warehouse).items():
        if path in done and entry in after.conversions:
            path.unlink()
    with suppress(OSError):
        (warehouse / _WORK / "finished").rmdir()


def records(warehouse: Path) -> dict[Path, Conversion | None]:
    """The records of conversions; None where one is damaged."""
    return {path: _read(path) for path in _record_files(warehouse)}


def _record_files(warehouse: Path) -> list[Path]:
    found = (warehouse / _RECORDS).glob("*.json")
    return sorted(path for path in found if _RECORD_NAME.fullmatch(path.name))


def _write_records(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    current = {_record(warehouse, c.key): json.dumps(asdict(c)) for c in conversions}
    for path in _record_files(warehouse):
        if path not in current:
            path.unlink()
    for path, text in current.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            manifest.write_whole(path, text)


def _record(warehouse: Path, key: Key) -> Path:
    return warehouse / _RECORDS / f"{short_name(key)}.json"


def _journal(warehouse: Path, key: Key) -> Path:
    return warehouse / _WORK / "finished" / f"{short_name(key)}.json"


def short_name(key: Key) -> str:
    """A name for the files of a conversion, whatever its raw file is called."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _journalled(warehouse: Path) -> dict[Path, Conversion | None]:
    """The journal's entries; None where one is damaged."""
    return {path: _read(path) for path in sorted((warehouse / _WORK / "finished").glob("*.json"))}


def _read(path: Path) -> Conversion | None:
    try:
        return manifest.conversion_of(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _drop_torn(warehouse: Path) -> None:
    """Remove the journal's entries of conversions that a kill, or damage, left incomplete."""
    for path, entry in _journalled(warehouse).items():
        if entry is None:
            path.unlink()
        elif not is_whole(warehouse, entry):
            drop_unpublished(warehouse, entry.key)


def drop_unpublished(warehouse: Path, key: Key) -> None:
    """Remove a conversion from the journal, and those of its files that nothing else lists."""
    journal = _journal(warehouse, key)
    before = _read(journal)
    if before:
        published = manifest.read(warehouse)
        needed = {old.path for old in published.superseded}
        others = (other for path, other in _journalled(warehouse).items() if other and path != journal)
        for other in (*published.conversions, *others):
            needed |= {stored.path for stored in other.all_files}
        for stored in before.all_files:
            if stored.path not in needed:
                (warehouse / stored.path).unlink(missing_ok=True)
    # Last: after a kill in between, it still lists the files to remove.
    journal.unlink(missing_ok=True)

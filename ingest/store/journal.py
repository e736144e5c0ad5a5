"""Record finished conversions until they are published, and published conversions to recover a manifest.

A conversion is finished when the journal lists it and its files have their final names. It is published when
datapackage.json lists it. If the process is killed, only the running conversions are lost.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from tracehouse.core.errors import UserError
from tracehouse.ingest.discovery.raw_stream import sha256_of
from tracehouse.ingest.store import files, manifest, view_store
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import RECORDS_FOLDER, WORK_FOLDER
from tracehouse.ingest.store.manifest import Conversion, Key

_RECORD_NAMES = "[0-9a-f]" * 16 + ".json"


def add(warehouse: Path, conversion: Conversion, staged_files: Sequence[StagedFile]) -> None:
    """Enter a conversion in the journal, and rename its staged files to their final names.

    `staged_files` are the conversion's files and then its files of rejected rows, in order. The journal is
    written first, so that no unlisted file remains if the process is killed.
    """
    # Other threads and processes may produce a file of equal content, and thus of the same name, at this
    # time.
    with FileLock(warehouse / WORK_FOLDER / "finalize.lock"):
        discard(warehouse, conversion.key)
        files.write_atomically(
            _journal_entry(warehouse, conversion.key), json.dumps(manifest.to_entry(conversion))
        )
        if _replaces_damage(warehouse, conversion):
            view_store.distrust(warehouse)
        for stored, staged_file in zip(conversion.all_files, staged_files, strict=True):
            files.move_into_place(staged_file, warehouse / stored.path)


def _replaces_damage(warehouse: Path, conversion: Conversion) -> bool:
    """Return whether the manifest already lists a file of a conversion that is now missing or damaged."""
    before = manifest.read(warehouse)
    listed = {stored.path for one in before.conversions for stored in one.all_files}
    listed |= {old.path for old in before.superseded}
    return any(
        files.size_of(warehouse / stored.path) != stored.bytes
        or sha256_of((warehouse / stored.path,)) != stored.sha256
        for stored in conversion.all_files
        if stored.path in listed
    )


def read_finished(warehouse: Path) -> list[Conversion]:
    """Return the conversions that are finished but not published."""
    return [one for one in read_journal(warehouse).values() if one and is_complete(warehouse, one)]


def is_complete(warehouse: Path, conversion: Conversion) -> bool:
    """Return whether all files of a conversion exist and have the right size."""
    return all(files.size_of(warehouse / stored.path) == stored.bytes for stored in conversion.all_files)


def publish(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Publish a version that consists of these conversions, and remove them from the journal."""
    before = manifest.read(warehouse)
    after = before.next(conversions)
    if after.conversions != before.conversions or not before.version:
        manifest.write(warehouse, after)
    _write_records(warehouse, after.conversions)
    # Finished conversions of another ingest, which this one does not publish, stay in the journal.
    published = {_journal_entry(warehouse, conversion.key) for conversion in after.conversions}
    for path, entry in read_journal(warehouse).items():
        if path in published and entry in after.conversions:
            path.unlink()
    with suppress(OSError):
        _journal_folder(warehouse).rmdir()


def discard(warehouse: Path, key: Key) -> None:
    """Remove a conversion from the journal. Also delete its files that no other conversion lists."""
    path = _journal_entry(warehouse, key)
    discarded = _read_conversion(path)
    if discarded:
        published = manifest.read(warehouse)
        needed = {old.path for old in published.superseded}
        others = (other for name, other in read_journal(warehouse).items() if other and name != path)
        for other in (*published.conversions, *others):
            needed |= {stored.path for stored in other.all_files}
        for stored in discarded.all_files:
            if stored.path not in needed:
                (warehouse / stored.path).unlink(missing_ok=True)
    # This comes last. If the process is killed before, the journal still lists the files to remove.
    path.unlink(missing_ok=True)


def discard_incomplete(warehouse: Path) -> None:
    """Remove entries of the journal that are damaged or whose files are incomplete, as after a kill."""
    for path, entry in read_journal(warehouse).items():
        if entry is None:
            path.unlink()
        elif not is_complete(warehouse, entry):
            discard(warehouse, entry.key)


def read_journal(warehouse: Path) -> dict[Path, Conversion | None]:
    """Return the journal's entries by path. A damaged entry is None."""
    return {path: _read_conversion(path) for path in sorted(_journal_folder(warehouse).glob("*.json"))}


def read_records(warehouse: Path) -> dict[Path, Conversion | None]:
    """Return the records of published conversions by path. A damaged record is None."""
    return {path: _read_conversion(path) for path in _list_records(warehouse)}


def check_manifest_exists(warehouse: Path) -> None:
    """Raise UserError if the manifest is missing although records show that it existed."""
    records = [] if (warehouse / manifest.NAME).exists() else _list_records(warehouse)
    if records:
        raise UserError(
            f"{warehouse / manifest.NAME}: the manifest is missing, but {len(records):,} conversions are on "
            "record. `traces build --recover` makes a new one from them"
        )


def short_name(key: Key) -> str:
    """Return a hash of the key as a file name, because names of raw files may be invalid or too long."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _journal_folder(warehouse: Path) -> Path:
    return warehouse / WORK_FOLDER / "finished"


def _journal_entry(warehouse: Path, key: Key) -> Path:
    return _journal_folder(warehouse) / f"{short_name(key)}.json"


def _list_records(warehouse: Path) -> list[Path]:
    return sorted((warehouse / RECORDS_FOLDER).glob(_RECORD_NAMES))


def _write_records(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    folder = warehouse / RECORDS_FOLDER
    current = {folder / f"{short_name(c.key)}.json": json.dumps(manifest.to_entry(c)) for c in conversions}
    for path in _list_records(warehouse):
        if path not in current:
            path.unlink()
    for path, text in current.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            files.write_atomically(path, text)


def _read_conversion(path: Path) -> Conversion | None:
    try:
        return manifest.parse_conversion(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

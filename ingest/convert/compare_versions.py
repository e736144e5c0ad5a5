"""Compare a raw file with the version that the warehouse contains."""

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.dump.archive import checksum
from tracehouse.ingest.dump.find import MatchedFile
from tracehouse.ingest.dump.raw_files import RawFile
from tracehouse.ingest.dump.raw_stream import is_settled, stamp_of, translate_errors
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import WORK_FOLDER
from tracehouse.ingest.store.records import Conversion

# Several tables of one raw file may be converted at the same time.
_WRITING = threading.Lock()
# A new version with less than half of the last version's rows is more likely a broken download than a new
# release.
_LEAST_SHARE_OF_ROWS_BEFORE = 0.5
# A new version with so many times the rows may contain every row twice.
_NOTED_GROWTH = 2


def read_checksum(warehouse: Path, raw: RawFile, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file or partition, from the warehouse's cache if no file has changed.

    A cached checksum is valid as long as the size, the time of the last change and the inode of each file
    stay the same. Raises RawFileError if the content cannot be read.
    """
    if raw.checksum:
        return raw.checksum
    # The files may change while they are read.
    with translate_errors(raw.paths):
        stamp = stamp_of(raw.paths)
    paths = "\n".join(str(path.absolute()) for path in raw.paths).encode(errors="surrogateescape")
    entry = warehouse / WORK_FOLDER / "checksums" / f"{hashlib.sha256(paths).hexdigest()[:16]}.json"
    try:
        known = json.loads(entry.read_text(encoding="utf-8"))
        if known["stamp"] == stamp:
            on_bytes(raw.bytes)
            return str(known["sha256"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    sha256 = checksum(raw, on_bytes)
    if is_settled(stamp):
        with _WRITING:
            write_atomically(entry, json.dumps({"stamp": stamp, "sha256": sha256}))
    return sha256


def compare_with_previous(
    matched: MatchedFile, previous: Conversion | None, conversion: Conversion, may_shrink: bool
) -> list[str]:
    """Return notes on data files that the new version lacks, or that have fewer or twice as many rows.

    Unless the file `may_shrink`, raises RawFileError if all data files of the last version are missing, or
    more than half of its rows.
    """
    path, file, table_name = matched.raw.paths[0], matched.raw.relative_name, matched.table_name
    now = {source.member: source.rows_read for source in conversion.sources}
    before = {source.member: source.rows_read for source in (previous.sources if previous else ())}
    if before and now.keys().isdisjoint(before) and not may_shrink:
        raise RawFileError(
            path,
            f"it contains none of the files that the last version contained for {table_name}",
            "Rename it; if it is a newer version of that file, ingest it with --replace",
        )
    if not may_shrink and sum(now.values()) < _LEAST_SHARE_OF_ROWS_BEFORE * sum(before.values()):
        raise RawFileError(
            path,
            f"it has {sum(now.values()):,} rows for {table_name}; the version in the warehouse has "
            f"{sum(before.values()):,}",
            "Download the file again. If the new one is the same, it is complete: ingest it with --replace",
        )
    notes = []
    for member, rows in before.items():
        if member not in now:
            notes.append(f"{file} no longer contains {member}: {table_name} loses its {rows:,} rows")
        elif now[member] < rows or now[member] >= _NOTED_GROWTH * rows > 0:
            notes.append(f"{file}: {member} has {now[member]:,} rows for {table_name}; it had {rows:,}")
    return notes

"""Cache the checksums of raw files, so that an ingest reads only files that changed.

A checksum is valid as long as the size, the time of the last change and the inode of each file stay the same.
Without the cache, files are read again.
"""

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import WORK_FOLDER

# A file that changed just now may change again without getting another time of change.
_SETTLED_S = 2.0
# Several tables of one raw file may be converted at the same time.
_WRITING = threading.Lock()

Stamp = list[list[int]]
"""The size, time of change and inode of each file."""


def stamp(paths: Sequence[Path]) -> Stamp:
    """Return the current stamp of files. The caller must call this before it reads their content."""
    return [[s.st_size, s.st_mtime_ns, s.st_ino] for s in (path.stat() for path in paths)]


def recall(warehouse: Path, paths: Sequence[Path], now: Stamp) -> str:
    """Return the cached checksum of files if their stamp is still `now`, otherwise an empty string."""
    try:
        known = json.loads(_entry(warehouse, paths).read_text(encoding="utf-8"))
        return str(known["sha256"]) if known["stamp"] == now else ""
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def remember(warehouse: Path, paths: Sequence[Path], before: Stamp, sha256: str) -> None:
    """Store the checksum of files with this stamp, unless they changed less than two seconds ago."""
    if all(time.time() - changed_ns / 1e9 > _SETTLED_S for _, changed_ns, _ in before):
        with _WRITING:
            write_atomically(_entry(warehouse, paths), json.dumps({"stamp": before, "sha256": sha256}))


def _entry(warehouse: Path, paths: Sequence[Path]) -> Path:
    name = hashlib.sha256("\n".join(str(path.absolute()) for path in paths).encode(errors="surrogateescape"))
    return warehouse / WORK_FOLDER / "checksums" / f"{name.hexdigest()[:16]}.json"

"""Cache the checksums of raw files, so that an ingest reads only files that changed.

A checksum is valid as long as the size, the time of the last change and the inode of each file stay the same.
Without the cache, files are read again.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tracehouse.ingest.raw_stream import translate_errors
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import WORK_FOLDER

# A file that changed just now may change again without getting another time of change.
_SETTLED_S = 2.0
# Several tables of one raw file may be converted at the same time.
_WRITING = threading.Lock()


def checksum_of(warehouse: Path, paths: Sequence[Path], compute: Callable[[], str]) -> tuple[str, bool]:
    """Return the cached checksum of files, or compute it; and whether it was cached.

    Raises RawFileError if a file does not exist.
    """
    # The files may change while `compute` reads them.
    with translate_errors(paths):
        stamp = [[s.st_size, s.st_mtime_ns, s.st_ino] for s in (path.stat() for path in paths)]
    name = hashlib.sha256("\n".join(str(path.absolute()) for path in paths).encode(errors="surrogateescape"))
    entry = warehouse / WORK_FOLDER / "checksums" / f"{name.hexdigest()[:16]}.json"
    try:
        known = json.loads(entry.read_text(encoding="utf-8"))
        if known["stamp"] == stamp:
            return str(known["sha256"]), True
    except (OSError, ValueError, LookupError, TypeError):
        pass
    sha256 = compute()
    if all(time.time() - changed_ns / 1e9 > _SETTLED_S for _, changed_ns, _ in stamp):
        with _WRITING:
            write_atomically(entry, json.dumps({"stamp": stamp, "sha256": sha256}))
    return sha256, False

"""The input of a conversion: a raw file, the table that it feeds, and its last conversion."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.archive import checksum
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.raw_stream import translate_errors
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import WORK_FOLDER
from tracehouse.ingest.store.records import Conversion, Key
from tracehouse.ingest.synthetic_marker import is_marked

# A file that changed just now may change again without getting another time of change.
_SETTLED_S = 2.0
# Several tables of one raw file may be converted at the same time.
_WRITING = threading.Lock()

AlreadyStored = Mapping[str, str]
"""The data files that other raw files contributed to a table or partition: name → raw file."""


@dataclass(frozen=True)
class RawInput:
    """A raw file to convert into a table of a warehouse. `before` is its last conversion, if any.

    Unless `may_shrink` is true, a version with less than half of the last version's rows is refused.
    """

    matched: MatchedFile
    warehouse: Path
    before: Conversion | None
    may_shrink: bool
    on_bytes: Callable[[int], None]

    @property
    def raw(self) -> RawFile:
        """The raw file."""
        return self.matched.raw

    @property
    def key(self) -> Key:
        """The key of the raw file's conversion."""
        return self.matched.key

    @property
    def table(self) -> Table:
        """The declaration of the base table."""
        return self.matched.table

    @property
    def table_name(self) -> str:
        """The name of the base table with its schema."""
        return f"{self.matched.trace.name}.{self.table.name}"

    @property
    def is_synthetic(self) -> bool:
        """Whether the raw file is marked as synthetic."""
        return is_marked(self.raw.paths[0], self.raw.root)

    def checksum(self, on_bytes: Callable[[int], None] = lambda _: None) -> str:
        """Return the SHA-256 of the raw file or partition, from the cache if no file has changed.

        A cached checksum is valid as long as the size, the time of the last change and the inode of each file
        stay the same. Raises RawFileError if the content cannot be read.
        """
        raw, table = self.raw, self.table
        if raw.has_directory:
            return checksum(raw, table)
        # The files may change while they are read.
        with translate_errors(raw.paths):
            stamp = [[s.st_size, s.st_mtime_ns, s.st_ino] for s in (path.stat() for path in raw.paths)]
        paths = "\n".join(str(path.absolute()) for path in raw.paths).encode(errors="surrogateescape")
        name = f"{hashlib.sha256(paths).hexdigest()[:16]}.json"
        entry = self.warehouse / WORK_FOLDER / "checksums" / name
        try:
            known = json.loads(entry.read_text(encoding="utf-8"))
            if known["stamp"] == stamp:
                on_bytes(raw.bytes)
                return str(known["sha256"])
        except (OSError, ValueError, LookupError, TypeError):
            pass
        sha256 = checksum(raw, table, on_bytes)
        if all(time.time() - changed_ns / 1e9 > _SETTLED_S for _, changed_ns, _ in stamp):
            with _WRITING:
                write_atomically(entry, json.dumps({"stamp": stamp, "sha256": sha256}))
        return sha256

    def compare_checksum(self, sha256: str) -> str:
        """Return the value of `records.Source.checksum` for this checksum of the raw file."""
        published = self.table.published_sha256.get(self.raw.name)
        if not published:
            return "none published"
        return "published" if published == sha256 else "differs"


def describe_conflict(matched: MatchedFile, name: str, other: str) -> RawFileError:
    """Return the error about a data file that the table already has from another raw file."""
    return RawFileError(
        matched.raw.paths[0],
        f"{matched.trace.name}.{matched.table.name} already has {name} from {other}",
        f"Keep one of the two below the raw folders. To keep this one, run `traces forget {other}` first",
    )

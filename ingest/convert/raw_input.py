"""The input of a conversion: a raw file, the table that it feeds, and its last conversion."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.archive import checksum
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.store import checksum_cache
from tracehouse.ingest.store.records import Conversion, Key
from tracehouse.ingest.synthetic import is_marked

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
        """Return the SHA-256 of the raw file or partition. The content is read only if it changed.

        Raises RawFileError if the content cannot be read.
        """
        raw, table = self.raw, self.table
        if raw.has_directory:
            return checksum(raw, table)
        found, is_cached = checksum_cache.checksum_of(
            self.warehouse, raw.paths, lambda: checksum(raw, table, on_bytes)
        )
        if is_cached:
            on_bytes(raw.bytes)
        return found

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
        "Move one of the two out of the raw folders, or remove the other from the warehouse: traces forget"
        f" {other}",
    )

"""The input of a conversion: a raw file, and the data files that are already in its table."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.store.records import Conversion, Key


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


@dataclass(frozen=True)
class MemberSource:
    """The raw file that a data file in a table came from: its name, its checksum, and the file, if found."""

    file: str
    sha256: str
    raw: RawFile | None


@dataclass
class AlreadyStored:
    """The data files in a table or partition by name, and the line indexes of a wide table."""

    members: dict[str, MemberSource] = field(default_factory=dict)
    indexes: set[Hashable] = field(default_factory=set)

    def add(self, conversion: Conversion, raw: RawFile | None = None) -> None:
        """Add the data files of a conversion. `raw` is the raw file if it was found and is readable."""
        for source in conversion.sources:
            self.members[source.member] = MemberSource(source.file, conversion.sha256, raw)

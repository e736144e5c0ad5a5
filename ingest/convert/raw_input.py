"""The input of a conversion: a raw file, and the data files that are already in its table.

Several raw files may contain a data file of the same name. An equal copy is skipped, a different one is an
error.
"""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.archive import Member, checksum, data_members
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.raw_stream import READ_BYTES, open_raw
from tracehouse.ingest.store.records import Conversion, Key

_MOVE = "Move one of the two out of the raw folders"


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


@dataclass(frozen=True)
class MemberSource:
    """The raw file that a data file in a table came from: its name, its checksum, and the file, if found."""

    file: str
    sha256: str
    raw: RawFile | None

    def check_equal(self, member: Member, raw_input: RawInput) -> None:
        """Raise RawFileError unless a data file equals the one that is in the table."""
        if self.raw is None:
            raise RawFileError(
                raw_input.raw.paths[0],
                f"{raw_input.table_name} already contains {member.name} from {self.file}, "
                "which is not in the raw folders, so the two cannot be compared",
                f"Remove the other from the warehouse first: traces forget {self.file}",
            )
        if _sha256(member.stream) != _member_checksums(self.raw, raw_input.table).get(member.name):
            raise _difference(raw_input.matched, self.raw, member.name)


@dataclass
class AlreadyStored:
    """The data files in a table or partition by name, and the line indexes of a wide table."""

    members: dict[str, MemberSource] = field(default_factory=dict)
    indexes: set[Hashable] = field(default_factory=set)

    def add(self, conversion: Conversion, raw: RawFile | None = None) -> None:
        """Add the data files of a conversion. `raw` is the raw file if it was found and is readable."""
        for source in conversion.sources:
            self.members[source.member] = MemberSource(source.file, conversion.sha256, raw)


def compare_raw_files(matched: MatchedFile, other: MatchedFile) -> list[str]:
    """Compare the raw files of two matched files with the same key.

    Returns notes that the first one is skipped. Raises RawFileError if the two differ.
    """
    raw = matched.raw
    if raw.partition:
        if checksum(raw, matched.table) != checksum(other.raw, other.table):
            what = f"it and {other.raw.relative_name} of {escape_name(other.raw.paths[0])}"
            raise RawFileError(raw.relative_name, f"{what} are the same partition, but differ", _MOVE)
        return [describe_skipped(raw, raw.partition, other.raw.relative_name)]
    checksums = _member_checksums(raw, matched.table)
    others = _member_checksums(other.raw, matched.table)
    for name in sorted(checksums.keys() & others.keys()):
        if checksums[name] != others[name]:
            raise _difference(matched, other.raw, name)
    if checksums.keys() != others.keys():
        raise RawFileError(
            raw.paths[0],
            f"it and {escape_name(other.raw.paths[0])} have the same name, but contain different files",
            "Rename one of the two, or move it out of the raw folders",
        )
    return [describe_skipped(raw, name, other.raw.relative_name) for name in checksums]


def describe_skipped(raw: RawFile, member_name: str, other: str) -> str:
    """Return the note that a copy was skipped."""
    return f"skipped {raw.relative_name}: {member_name} was already read from {other}"


def _difference(matched: MatchedFile, other: RawFile, member_name: str) -> RawFileError:
    return RawFileError(
        matched.raw.paths[0],
        f"it and {escape_name(other.paths[0])} both contain {member_name} of"
        f" {matched.trace.name}.{matched.table.name}, and the two differ",
        _MOVE,
    )


def _member_checksums(raw: RawFile, table: Table) -> dict[str, str]:
    """Return the SHA-256 of each data file in a raw file by name."""
    with open_raw(raw.paths) as stream:
        return {m.name: _sha256(m.stream) for m in data_members(stream, raw, table.has_name)}


def _sha256(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(READ_BYTES):
        digest.update(block)
    return digest.hexdigest()

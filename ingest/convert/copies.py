"""Compare copies of a data file: an equal copy is skipped, a different one is an error."""

import hashlib
from typing import BinaryIO

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.archive import Member, checksum, data_members
from tracehouse.ingest.convert.raw_input import MemberSource, RawInput
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.raw_stream import READ_BYTES, open_raw


def compare_raw_files(matched: MatchedFile, other: MatchedFile) -> list[str]:
    """Compare the raw files of two matched files with the same key.

    Returns notes that the first one is skipped. Raises RawFileError if the two differ.
    """
    if matched.raw.partition:
        return [_compare_partitions(matched, other)]
    checksums = _member_checksums(matched.raw, matched.table)
    others = _member_checksums(other.raw, matched.table)
    for name in sorted(checksums.keys() & others.keys()):
        if checksums[name] != others[name]:
            raise _difference(matched, other.raw, name)
    if checksums.keys() != others.keys():
        raise RawFileError(
            matched.raw.paths[0],
            f"it and {escape_name(other.raw.paths[0])} have the same name, but contain different files",
            "Rename one of the two, or move it out of the raw folders",
        )
    return [describe_skipped(matched.raw, name, other.raw.relative_name) for name in checksums]


def compare_members(member: Member, raw_input: RawInput, held: MemberSource) -> None:
    """Raise RawFileError unless a data file equals `held`, the file of the same name in the table."""
    raw, other = raw_input.matched.raw, held.raw
    if other is None:
        raise RawFileError(
            raw.paths[0],
            f"{raw_input.table_name} already contains {member.name} from {held.file}, "
            "which is not in the raw folders, so the two cannot be compared",
            f"Remove the other from the warehouse first: traces forget {held.file}",
        )
    checksum = _sha256(member.stream)
    if checksum != _member_checksums(other, raw_input.table, only=member.name).get(member.name):
        raise _difference(raw_input.matched, other, member.name)


def differing_partitions(raw_input: RawInput, held: MemberSource) -> RawFileError:
    """Return the error about a partition that the table already has from another raw file."""
    return RawFileError(
        raw_input.matched.raw.relative_name,
        f"{raw_input.table_name} already has {raw_input.matched.raw.partition} from {held.file}, and the two"
        " differ or cannot be compared",
        f"Move one of the two away, or remove the other from the warehouse: traces forget {held.file}",
    )


def describe_skipped(raw: RawFile, member_name: str, other: str) -> str:
    """Return the note that a copy was skipped."""
    return f"skipped {raw.relative_name}: {member_name} was already read from {other}"


def _compare_partitions(matched: MatchedFile, other: MatchedFile) -> str:
    if checksum(matched.raw, matched.table) != checksum(other.raw, other.table):
        raise RawFileError(
            matched.raw.relative_name,
            f"it and {other.raw.relative_name} of {escape_name(other.raw.paths[0])} are the same partition,"
            " but differ",
            "Move one of the two out of the raw folders",
        )
    return describe_skipped(matched.raw, matched.raw.partition, other.raw.relative_name)


def _difference(matched: MatchedFile, other: RawFile, member_name: str) -> RawFileError:
    return RawFileError(
        matched.raw.paths[0],
        f"it and {escape_name(other.paths[0])} both contain {member_name} of"
        f" {matched.trace.name}.{matched.table.name}, and the two differ",
        "Move one of the two out of the raw folders",
    )


def _member_checksums(raw: RawFile, table: Table, only: str = "") -> dict[str, str]:
    """Return the SHA-256 of each data file in a raw file by name, or of the file called `only` alone."""
    with open_raw(raw.paths) as stream:
        members = data_members(stream, raw, table.has_name)
        found = {}
        for member in members:
            if only in ("", member.name):
                found[member.name] = _sha256(member.stream)
                if only:
                    break
        return found


def _sha256(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(READ_BYTES):
        digest.update(block)
    return digest.hexdigest()

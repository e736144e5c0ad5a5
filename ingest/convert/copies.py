"""Compare copies of a data file: an equal copy is skipped, a different one is an error."""

import hashlib
from typing import BinaryIO

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.convert.raw_input import MemberSource, RawInput
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.discovery.archives import READ_BYTES, Member
from tracehouse.ingest.discovery.claims import Claim
from tracehouse.ingest.discovery.partitions import checksum
from tracehouse.ingest.discovery.raw_files import RawFile, differing_parts
from tracehouse.ingest.discovery.raw_stream import explained, open_raw, sha256_of
from tracehouse.ingest.discovery.unpack import data_members


def compare_raw_files(claim: Claim, other: Claim) -> list[str]:
    """Compare the raw files of two claims with the same key.

    Returns notes that the first one is skipped. Raises RawFileError if the two differ.
    """
    if claim.raw.partition:
        return [_compare_partitions(claim, other)]
    if claim.raw.whole_path == other.raw.whole_path:
        return [_compare_parts(claim.raw, other.raw)]
    checksums = _member_checksums(claim.raw, claim.table)
    others = _member_checksums(other.raw, claim.table)
    for name in sorted(checksums.keys() & others.keys()):
        if checksums[name] != others[name]:
            raise _difference(claim, other.raw, name)
    if checksums.keys() != others.keys():
        raise RawFileError(
            claim.raw.paths[0],
            f"it and {escape_name(other.raw.paths[0])} have the same name, but contain different files",
            "Rename one of the two, or move it out of the raw folders",
        )
    return [describe_skipped(claim.raw, name, other.raw.relative_name) for name in checksums]


def compare_members(member: Member, raw_input: RawInput, held: MemberSource) -> None:
    """Raise RawFileError unless a data file equals `held`, the file of the same name in the table."""
    raw, other = raw_input.claim.raw, held.raw
    if other is None:
        raise RawFileError(
            raw.paths[0],
            f"{raw_input.table_name} already contains {member.name} from {held.file}, "
            "which is not in the raw folders, so the two cannot be compared",
            f"Remove the other from the warehouse first: traces forget {held.file}",
        )
    checksum = _sha256(member.stream)
    if checksum != _member_checksums(other, raw_input.table, only=member.name).get(member.name):
        raise _difference(raw_input.claim, other, member.name)


def differing_partitions(raw_input: RawInput, held: MemberSource) -> RawFileError:
    """Return the error about a partition that the table already has from another raw file."""
    return RawFileError(
        raw_input.claim.raw.relative_name,
        f"{raw_input.table_name} already has {raw_input.claim.raw.partition} from {held.file}, and the two"
        " differ or cannot be compared",
        f"Move one of the two away, or remove the other from the warehouse: traces forget {held.file}",
    )


def describe_skipped(raw: RawFile, member_name: str, other: str) -> str:
    """Return the note that a copy was skipped."""
    return f"skipped {raw.relative_name}: {member_name} was already read from {other}"


def _compare_partitions(claim: Claim, other: Claim) -> str:
    if checksum(claim.raw, claim.table) != checksum(other.raw, other.table):
        raise RawFileError(
            claim.raw.relative_name,
            f"it and {other.raw.relative_name} of {escape_name(other.raw.paths[0])} are the same partition,"
            " but differ",
            "Move one of the two out of the raw folders",
        )
    return describe_skipped(claim.raw, claim.raw.partition, other.raw.relative_name)


def _compare_parts(parts: RawFile, whole: RawFile) -> str:
    if sha256_of(parts.paths) != sha256_of(whole.paths):
        raise differing_parts(parts, whole)
    first, name = escape_name(parts.paths[0].name), escape_name(whole.paths[0].name)
    return f"skipped the parts of {parts.relative_name} from {first}: together they equal {name}"


def _difference(claim: Claim, other: RawFile, member_name: str) -> RawFileError:
    return RawFileError(
        claim.raw.paths[0],
        f"it and {escape_name(other.paths[0])} both contain {member_name} of"
        f" {claim.trace.name}.{claim.table.name}, and the two differ",
        "Move one of the two out of the raw folders",
    )


def _member_checksums(raw: RawFile, table: Table, only: str = "") -> dict[str, str]:
    """Return the SHA-256 of each data file in a raw file by name, or of the file called `only` alone."""
    with open_raw(raw.paths) as stream, explained(raw.paths):
        members = data_members(stream, raw.form, raw.file_name, raw.folder, is_data=table.has_name)
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

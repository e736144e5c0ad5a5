"""One raw file's conversion from end to end: its CSVs in, sorted Parquet and a full account of rows out."""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import shown_name
from tracehouse.ingest.convert.sorted_parquet import write_runs
from tracehouse.ingest.convert.unpivot import write_cells
from tracehouse.ingest.declarations import Table, Wide
from tracehouse.ingest.discovery.archives import READ_BYTES, Member
from tracehouse.ingest.discovery.raw_files import Claim, RawFile, differing_parts
from tracehouse.ingest.discovery.synthetic import is_marked
from tracehouse.ingest.discovery.unpack import data_members, explained, open_raw, sha256_of
from tracehouse.ingest.readers import Batch, Content, Reject, reader_of
from tracehouse.ingest.readers.formats.wide_csv import index_values
from tracehouse.ingest.readers.lines import read_header, shown
from tracehouse.ingest.readers.values import arrow_type
from tracehouse.ingest.store import journal, lock, manifest
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import REJECTED_FOLDER, staging_folder
from tracehouse.ingest.store.manifest import (
    REJECTED_COLUMNS,
    Conversion,
    Key,
    OtherPiece,
    SkippedCopy,
    Source,
)

_REJECTED_ORDER = ("table_name", "file", "line")
# A version with a smaller share of the last one's rows is more likely a broken download than a new release.
_LEAST_SHARE_OF_ROWS_BEFORE = 0.5


@dataclass(frozen=True)
class RawInput:
    """A raw file to convert into a table of a warehouse; `before` is its last conversion, if any.

    Where `may_shrink` is false, a version with far fewer rows than the one before is refused.
    """

    claim: Claim
    warehouse: Path
    before: Conversion | None
    may_shrink: bool
    on_bytes: Callable[[int], None]

    @property
    def key(self) -> Key:
        """What the conversion replaces."""
        return self.claim.key

    @property
    def table(self) -> Table:
        """The base table's declaration."""
        return self.claim.table

    @property
    def table_name(self) -> str:
        """The base table, with its schema."""
        return f"{self.claim.trace.name}.{self.table.name}"


@dataclass(frozen=True)
class Held:
    """A CSV that its table holds: its raw file's name and checksum, and the raw file itself, if found."""

    file: str
    sha256: str
    raw: RawFile | None


@dataclass
class Holdings:
    """The CSVs of a table or partition by name, and the indexes of a wide table's lines."""

    members: dict[str, Held] = field(default_factory=dict)
    indexes: set[Hashable] = field(default_factory=set)

    def add(self, conversion: Conversion, raw: RawFile | None = None) -> None:
        """Add the CSVs of a conversion; `raw` is its raw file, if that was found and can be read."""
        for source in conversion.sources:
            self.members[source.member] = Held(source.file, conversion.sha256, raw)


@dataclass
class _Counts:
    kept: int = 0
    rejected: int = 0
    stored: int = 0


@dataclass(frozen=True)
class _Part:
    """A CSV that is being read: its raw file, what its names say, and its rows so far."""

    raw: RawFile
    member: Member
    keys: dict[str, str]
    counts: _Counts

    @property
    def place(self) -> str:
        """Where it is, for errors."""
        path = self.raw.paths[0]
        return f"{path}: {self.member.name}" if self.raw.is_archive else str(path)


@dataclass
class _Account:
    """What has been read so far of one raw file."""

    holdings: Holdings
    indexes: set[Hashable]
    counts: dict[str, _Counts] = field(default_factory=dict)
    passed_over: list[SkippedCopy] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rejected: list[pa.Table] = field(default_factory=list)
    sha256: str = ""
    bytes: int = 0


def is_up_to_date(raw_input: RawInput, holdings: Holdings, beside: Sequence[OtherPiece]) -> bool:
    """Whether the last conversion is intact, and converting the raw file again would give the same.

    `beside` are the pieces of a wide table that it must have been read beside.
    """
    before, raw = raw_input.before, raw_input.claim.raw
    return (
        before is not None
        and before.fingerprint == raw_input.table.fingerprint()
        and before.beside == tuple(beside)
        and journal.is_complete(raw_input.warehouse, before)
        and all(source.synthetic == _is_synthetic(raw) for source in before.sources)
        and not any(source.member in holdings.members for source in before.sources)
        and all(_is_still_held(passed, holdings) for passed in before.passed_over)
        and _has_same_bytes(raw_input, before)
    )


def _is_still_held(passed: SkippedCopy, holdings: Holdings) -> bool:
    held = holdings.members.get(passed.member)
    return held is not None and held.sha256 == passed.other_sha256


def _has_same_bytes(raw_input: RawInput, before: Conversion) -> bool:
    raw = raw_input.claim.raw
    same = sha256_of(raw.paths, raw_input.on_bytes) == before.sha256
    if not same:
        # The conversion reads these bytes again, and reports them again.
        raw_input.on_bytes(-raw.bytes)
    return same


def moved(conversion: Conversion, claim: Claim) -> Conversion:
    """A conversion whose raw file, the same as before, was found elsewhere, or in other parts."""
    raw = claim.raw
    checksum = _checksum(claim, conversion.sha256)
    sources = (
        replace(source, file=raw.relative_name, parts=len(raw.paths), checksum=checksum)
        for source in conversion.sources
    )
    return replace(conversion, sources=tuple(sources))


def read_indexes(conversion: Conversion, warehouse: Path, wide: Wide) -> set[Hashable]:
    """The indexes of the lines in the Parquet files of a wide table's conversion."""
    indexes: set[Hashable] = set()
    for stored in conversion.files:
        with pq.ParquetFile(warehouse / stored.path) as file:
            for batch in file.iter_batches(columns=[wide.index]):
                indexes.update(index_values(batch.column(0).unique()))
    return indexes


def check_copy(claim: Claim, other: Claim) -> list[str]:
    """Notes that a raw file is passed over, since `other`, of the same name, holds the same.

    Raises RawFileError where it does not.
    """
    if claim.raw.whole_path == other.raw.whole_path:
        return [_check_parts(claim.raw, other.raw)]
    ours, theirs = _csvs(claim.raw, claim.table), _csvs(other.raw, claim.table)
    differing = [name for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]
    if differing:
        raise _differ(claim, other.raw, differing[0])
    if ours.keys() != theirs.keys():
        raise RawFileError(
            claim.raw.paths[0],
            f"it and {shown_name(other.raw.paths[0])} are of one name, and do not hold the same CSVs",
            "Give one of the two another name, or move it out of the raw folders",
        )
    return [_said_of_copy(claim.raw, name, other.raw.relative_name) for name in ours]


def _check_parts(parts: RawFile, whole: RawFile) -> str:
    """A note that a file in parts is passed over. Raises RawFileError where the whole file differs."""
    if sha256_of(parts.paths) != sha256_of(whole.paths):
        raise differing_parts(parts, whole)
    first, name = shown_name(parts.paths[0].name), shown_name(whole.paths[0].name)
    return f"{parts.relative_name}: passed over, {first} and its like are the same as {name}"


def _differ(claim: Claim, other: RawFile, member_name: str) -> RawFileError:
    return RawFileError(
        claim.raw.paths[0],
        f"it and {shown_name(other.paths[0])} both hold {member_name} of"
        f" {claim.trace.name}.{claim.table.name}, and they differ",
        "Move one of the two out of the raw folders",
    )


def _said_of_copy(raw: RawFile, member_name: str, other: str) -> str:
    return f"{raw.relative_name}: passed over, {member_name} was read from {other}"


def _csvs(raw: RawFile, table: Table) -> dict[str, str]:
    """The checksum of each CSV in a raw file, by its name, and of the table's files without an ending."""
    with open_raw(raw.paths) as stream, explained(raw.paths):
        members = data_members(stream, raw.form, raw.file_name, raw.folder, is_data=table.has_name)
        return {member.name: _sha256(member.stream) for member in members}


def convert(
    raw_input: RawInput, holdings: Holdings, beside: tuple[OtherPiece, ...]
) -> tuple[Conversion, list[str]]:
    """Read a raw file, write its Parquet, and enter it in the journal and in `holdings`.

    `beside` are the pieces of a wide table whose indexes are in `holdings`.
    Returns the conversion and notes for the user. Raises RawFileError where a file cannot be read: then
    nothing is stored; and UserError where the warehouse cannot be written to.
    """
    with lock.explain_write_errors(raw_input.warehouse, raw_input.table_name):
        return _convert(raw_input, holdings, beside)


def _convert(
    raw_input: RawInput, holdings: Holdings, beside: tuple[OtherPiece, ...]
) -> tuple[Conversion, list[str]]:
    account = _Account(holdings, set(holdings.indexes))
    trace, table, partition, source = raw_input.key
    # Another process may be at the same raw file: one that was given up for lost.
    staging, name = (
        staging_folder(raw_input.warehouse),
        f"{journal.short_name(raw_input.key)}-{uuid4().hex[:8]}",
    )
    rows = _read_rows(raw_input, account)
    if raw_input.table.wide:
        written = write_cells(rows, raw_input.table, staging, name)
    else:
        written = write_runs(rows, raw_input.table.order_by, staging, name)
    rejected: list[StagedFile] = []
    if account.rejected:
        rejected = write_runs(account.rejected, _REJECTED_ORDER, staging, f"{name}.{REJECTED_FOLDER}")
    folder = "/".join(filter(None, (trace, table, partition)))
    conversion = Conversion(
        trace,
        table,
        partition,
        source,
        fingerprint=raw_input.table.fingerprint(),
        sha256=account.sha256,
        sources=tuple(_source(raw_input, member, rows, account) for member, rows in account.counts.items()),
        files=tuple(manifest.describe_file(folder, file) for file in written),
        rejected=tuple(manifest.describe_file(f"{trace}/{REJECTED_FOLDER}", file) for file in rejected),
        passed_over=tuple(account.passed_over),
        beside=beside,
    )
    _check_account(conversion)
    account.notes += _what_left(raw_input, conversion)
    # Last, so that no file enters the store before the whole raw file has been read.
    journal.add(raw_input.warehouse, conversion, [*written, *rejected])
    holdings.add(conversion, raw_input.claim.raw)
    holdings.indexes = account.indexes
    return conversion, account.notes


def _check_account(conversion: Conversion) -> None:
    for files, expected in (
        (conversion.files, sum(source.rows_stored for source in conversion.sources)),
        (conversion.rejected, sum(source.rows_rejected for source in conversion.sources)),
    ):
        stored = sum(file.rows for file in files)
        if stored != expected:
            raise AssertionError(f"{conversion.key}: {expected} rows were read, {stored} were written")


def _what_left(raw_input: RawInput, conversion: Conversion) -> list[str]:
    """Notes on the CSVs of the last version that are missing from this one, or have fewer rows in it.

    Raises RawFileError where no such CSV, or less than half of the rows, is left, unless the file may shrink.
    """
    file = raw_input.claim.raw.relative_name
    # Rows read, not rows kept: a line that another piece has as well is rejected, but not missing.
    now = {source.member: source.rows_read for source in conversion.sources}
    elsewhere = {passed.member for passed in conversion.passed_over}
    before = {
        source.member: source.rows_read
        for source in (raw_input.before.sources if raw_input.before else ())
        if source.member not in elsewhere
    }
    if before and now.keys().isdisjoint(before) and not raw_input.may_shrink:
        raise RawFileError(
            raw_input.claim.raw.paths[0],
            f"it holds none of the CSVs that the raw file of its name in {raw_input.table_name} held",
            "Give it another name; if it is a newer version of that file, ingest it with --replace",
        )
    if not raw_input.may_shrink and sum(now.values()) < _LEAST_SHARE_OF_ROWS_BEFORE * sum(before.values()):
        raise RawFileError(
            raw_input.claim.raw.paths[0],
            f"it has {sum(now.values()):,} rows for {raw_input.table_name}; "
            f"the version that is in the warehouse has {sum(before.values()):,}",
            "Fetch it again; if it is right as it is, ingest it with --replace",
        )
    notes = []
    for member, rows in before.items():
        if member not in now:
            notes.append(
                f"{file}: {member} is no longer in it: its {rows:,} rows leave {raw_input.table_name}"
            )
        elif now[member] < rows:
            notes.append(
                f"{file}: {member} has {now[member]:,} rows for {raw_input.table_name}; it had {rows:,}"
            )
    if not any(now.values()) and not elsewhere:
        notes.append(f"{file}: it holds no rows")
    return notes


def _is_synthetic(raw: RawFile) -> bool:
    return is_marked(raw.paths[0], raw.root)


def _read_rows(raw_input: RawInput, account: _Account) -> Iterator[pa.Table]:
    """The rows of a raw file in batches; `account` is complete only after the last of them."""
    raw = raw_input.claim.raw
    _check_header_file(raw_input.claim)

    def note_passed_over(what: str) -> None:
        account.notes.append(f"{raw.relative_name}: {what}, and was passed over")

    with open_raw(raw.paths, raw_input.on_bytes) as stream, explained(raw.paths):
        is_data = raw_input.table.has_name
        for member in data_members(stream, raw.form, raw.file_name, raw.folder, note_passed_over, is_data):
            keys = raw_input.table.key_values(member.name, member.folder)
            if member.name in raw_input.claim.elsewhere:
                continue
            if keys is None:
                account.notes.append(f"{raw.relative_name}: {member.name} is not of {raw_input.table_name}")
            elif member.name in account.counts:
                raise RawFileError(
                    raw.paths[0],
                    f"the archive holds {member.name} twice",
                    "Fetch it again from its publisher",
                )
            elif held := account.holdings.members.get(member.name):
                _check_equal(member, raw_input, held)
                account.passed_over.append(SkippedCopy(member.name, held.sha256))
                account.notes.append(_said_of_copy(raw, member.name, held.file))
            else:
                account.counts[member.name] = _Counts()
                part = _Part(raw, member, keys, account.counts[member.name])
                yield from _read_part(part, raw_input, account)
        account.sha256 = stream.sha256_of_rest()
        account.bytes = stream.bytes_read
    if not account.counts and not account.passed_over:
        raise RawFileError(
            raw.paths[0],
            f"the archive holds no CSV of {raw_input.table_name}",
            "Fetch it again from its publisher",
        )
    published = raw_input.table.published_sha256.get(raw.name, account.sha256)
    if account.sha256 != published and not _is_synthetic(raw):
        account.notes.append(
            f"{raw.relative_name}: the sha256 is {account.sha256}, its publisher's is {published}"
        )


def _check_equal(member: Member, raw_input: RawInput, held: Held) -> None:
    """Raise RawFileError unless a CSV has the same content as the one of its name that the table holds."""
    raw, other = raw_input.claim.raw, held.raw
    if other is None:
        raise RawFileError(
            raw.paths[0],
            f"{raw_input.table_name} holds {member.name} already, from {held.file}, "
            "which is not here to compare",
            f"Take that out of the warehouse first: traces forget {held.file}",
        )
    ours = _sha256(member.stream)
    with open_raw(other.paths) as stream, explained(other.paths):
        members = data_members(
            stream, other.form, other.file_name, other.folder, is_data=raw_input.table.has_name
        )
        theirs = next((_sha256(found.stream) for found in members if found.name == member.name), None)
    if ours != theirs:
        raise _differ(raw_input.claim, other, member.name)


def _sha256(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(READ_BYTES):
        digest.update(block)
    return digest.hexdigest()


def _check_header_file(claim: Claim) -> None:
    if claim.table.has_header or claim.header_file is None:
        return
    declared = ",".join(column.name for column in claim.table.columns)
    with open_raw((claim.header_file,)) as stream, explained((claim.header_file,)):
        found = read_header(cast(BinaryIO, stream), str(claim.header_file))
    if ",".join(found) != declared:
        raise RawFileError(
            claim.header_file,
            f"it names the columns {shown(found)}; expected {declared}",
            "Fetch the header file again, or remove it: the columns are known without it",
        )


def _read_part(part: _Part, raw_input: RawInput, account: _Account) -> Iterator[pa.Table]:
    table = raw_input.table
    content = Content(part.member.stream, table, part.place, account.indexes)
    for batch in reader_of(table, part.member.name).read(content):
        _count(part, batch, raw_input, account)
        yield batch.rows if table.wide else _with_keys(batch.rows, part.keys, table)


def _count(part: _Part, batch: Batch, raw_input: RawInput, account: _Account) -> None:
    kept = batch.rows.num_rows
    part.counts.kept += kept
    part.counts.stored += kept * (batch.rows.num_columns - 1) if raw_input.table.wide else kept
    part.counts.rejected += len(batch.rejects)
    if batch.rejects:
        account.rejected.append(_reject_rows(batch.rejects, part.raw, part.member.name, raw_input))


def _with_keys(rows: pa.Table, keys: dict[str, str], table: Table) -> pa.Table:
    for place, column in enumerate(table.keys):
        value = pa.scalar(keys[column.name]).cast(arrow_type(column))
        rows = rows.add_column(place, column.name, pa.repeat(value, rows.num_rows))
    return rows


def _reject_rows(rejects: Sequence[Reject], raw: RawFile, member_name: str, raw_input: RawInput) -> pa.Table:
    rows = [
        (
            raw_input.table_name,
            raw.relative_name,
            member_name,
            reject.line,
            reject.reason,
            reject.raw_text,
        )
        for reject in rejects
    ]
    arrays = [
        pa.array(values, arrow_type(column))
        for values, column in zip(zip(*rows, strict=True), REJECTED_COLUMNS, strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in REJECTED_COLUMNS])


def _source(raw_input: RawInput, member_name: str, rows: _Counts, account: _Account) -> Source:
    raw = raw_input.claim.raw
    return Source(
        file=raw.relative_name,
        member=member_name,
        sha256=account.sha256,
        bytes=account.bytes,
        parts=len(raw.paths),
        rows_read=rows.kept + rows.rejected,
        rows_kept=rows.kept,
        rows_rejected=rows.rejected,
        rows_stored=rows.stored,
        checksum=_checksum(raw_input.claim, account.sha256),
        synthetic=_is_synthetic(raw),
    )


def _checksum(claim: Claim, sha256: str) -> str:
    published = claim.table.published_sha256.get(claim.raw.name)
    if not published:
        return "none published"
    return "published" if published == sha256 else "differs"

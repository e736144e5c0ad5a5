"""Convert a raw file: read its data files, write sorted Parquet files, and account for every row."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, cast
from uuid import uuid4

import pyarrow as pa

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.copies import compare_members, describe_skipped
from tracehouse.ingest.convert.previous import compare_checksum, compare_with_previous, is_synthetic
from tracehouse.ingest.convert.raw_input import Holdings, RawInput
from tracehouse.ingest.convert.sorted_parquet import write_runs
from tracehouse.ingest.convert.unpivot import write_cells
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.discovery.archives import Member
from tracehouse.ingest.discovery.claims import Claim
from tracehouse.ingest.discovery.raw_files import RawFile
from tracehouse.ingest.discovery.raw_stream import explained, open_raw
from tracehouse.ingest.discovery.unpack import data_members
from tracehouse.ingest.readers import Batch, Content, Reject, reader_of
from tracehouse.ingest.readers.lines import read_header, shown
from tracehouse.ingest.readers.values import arrow_type
from tracehouse.ingest.store import journal, lock, manifest
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import REJECTED_FOLDER, staging_folder
from tracehouse.ingest.store.manifest import (
    REJECTED_COLUMNS,
    Conversion,
    OtherPiece,
    SkippedCopy,
    Source,
)

_REJECTED_ORDER = ("table_name", "file", "line")


@dataclass
class _Counts:
    kept: int = 0
    rejected: int = 0
    stored: int = 0


@dataclass(frozen=True)
class _Part:
    """A data file that is being read: its raw file, its values of the table's keys, and its rows so far."""

    raw: RawFile
    member: Member
    keys: dict[str, str]
    counts: _Counts

    @property
    def shown_path(self) -> str:
        """Its path for errors."""
        path = self.raw.paths[0]
        return f"{path}: {self.member.name}" if self.raw.is_archive else str(path)


@dataclass
class _Account:
    """What was read of a raw file so far."""

    holdings: Holdings
    indexes: set[Hashable]
    counts: dict[str, _Counts] = field(default_factory=dict)
    passed_over: list[SkippedCopy] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rejected: list[pa.Table] = field(default_factory=list)
    sha256: str = ""
    bytes: int = 0


def convert(
    raw_input: RawInput, holdings: Holdings, other_pieces: tuple[OtherPiece, ...]
) -> tuple[Conversion, list[str]]:
    """Read a raw file, write its Parquet files, and add it to the journal and to `holdings`.

    `other_pieces` are the pieces of a wide table whose indexes are in `holdings`. Returns the conversion and
    notes for the user. Raises RawFileError if the file cannot be read, in which case nothing is stored, and
    UserError if the warehouse cannot be written to.
    """
    with lock.explain_write_errors(raw_input.warehouse, raw_input.table_name):
        return _convert(raw_input, holdings, other_pieces)


def _convert(
    raw_input: RawInput, holdings: Holdings, other_pieces: tuple[OtherPiece, ...]
) -> tuple[Conversion, list[str]]:
    account = _Account(holdings, set(holdings.indexes))
    trace, table, partition, source = raw_input.key
    staging = staging_folder(raw_input.warehouse)
    # The name is unique, because a process that lost its lock may still be converting the same raw file.
    name = f"{journal.short_name(raw_input.key)}-{uuid4().hex[:8]}"
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
        skipped_copies=tuple(account.passed_over),
        other_pieces=other_pieces,
    )
    _check_account(conversion)
    account.notes += compare_with_previous(raw_input, conversion)
    # Last, so that no file enters the store before the raw file was read to its end.
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


def _read_rows(raw_input: RawInput, account: _Account) -> Iterator[pa.Table]:
    """The rows of a raw file in batches; `account` is complete only after the last of them."""
    raw = raw_input.claim.raw
    _check_header_file(raw_input.claim)

    def note_skipped(what: str) -> None:
        account.notes.append(f"{raw.relative_name}: skipped {what}")

    with open_raw(raw.paths, raw_input.on_bytes) as stream, explained(raw.paths):
        is_data = raw_input.table.has_name
        for member in data_members(stream, raw.form, raw.file_name, raw.folder, note_skipped, is_data):
            keys = raw_input.table.key_values(member.name, member.folder)
            if member.name in raw_input.claim.elsewhere:
                continue
            if keys is None:
                account.notes.append(
                    f"{raw.relative_name}: skipped {member.name}, not a file of {raw_input.table_name}"
                )
            elif member.name in account.counts:
                raise RawFileError(
                    raw.paths[0],
                    f"the archive contains {member.name} twice",
                    "Fetch it again from its publisher",
                )
            elif held := account.holdings.members.get(member.name):
                compare_members(member, raw_input, held)
                account.passed_over.append(SkippedCopy(member.name, held.sha256))
                account.notes.append(describe_skipped(raw, member.name, held.file))
            else:
                account.counts[member.name] = _Counts()
                part = _Part(raw, member, keys, account.counts[member.name])
                yield from _read_part(part, raw_input, account)
        account.sha256 = stream.sha256_of_rest()
        account.bytes = stream.bytes_read
    if not account.counts and not account.passed_over:
        raise RawFileError(
            raw.paths[0],
            f"the archive contains no file of {raw_input.table_name}",
            "Fetch it again from its publisher",
        )
    published = raw_input.table.published_sha256.get(raw.name, account.sha256)
    if account.sha256 != published and not is_synthetic(raw):
        account.notes.append(
            f"{raw.relative_name}: its SHA-256 is {account.sha256}; the publisher's is {published}"
        )


def _check_header_file(claim: Claim) -> None:
    if claim.table.has_header or claim.header_file is None:
        return
    declared = ",".join(column.name_in_file for column in claim.table.columns)
    with open_raw((claim.header_file,)) as stream, explained((claim.header_file,)):
        found = read_header(cast(BinaryIO, stream), str(claim.header_file))
    if ",".join(found) != declared:
        raise RawFileError(
            claim.header_file,
            f"it names the columns {shown(found)}; expected {declared}",
            "Fetch the header file again, or remove it: it is optional",
        )


def _read_part(part: _Part, raw_input: RawInput, account: _Account) -> Iterator[pa.Table]:
    table = raw_input.table
    content = Content(part.member.stream, table, part.shown_path, account.indexes)
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
        checksum=compare_checksum(raw_input.claim, account.sha256),
        synthetic=is_synthetic(raw),
    )

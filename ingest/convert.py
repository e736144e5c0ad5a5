"""One table's conversion from end to end: its raw files in, sorted Parquet and a full account of rows out."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import duckdb
import pyarrow as pa

from tracehouse.ingest import store
from tracehouse.ingest.archives import READ_BYTES, Member
from tracehouse.ingest.cells import write_cells
from tracehouse.ingest.declare import Table, Trace
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.find import Claim, RawFile, differing_parts
from tracehouse.ingest.names import shown_name
from tracehouse.ingest.records import read_header, shown
from tracehouse.ingest.runs import write_runs
from tracehouse.ingest.store import REJECTED, REJECTED_COLUMNS, Conversion, HalfFile, Source, StoredFile
from tracehouse.ingest.synthetic import is_marked
from tracehouse.ingest.typed_csv import ARROW_TYPES, Reject, read_csv
from tracehouse.ingest.unpack import csv_members, explained, open_raw, sha256_of
from tracehouse.ingest.wide_csv import Lines, read_wide

Batched = TypeVar("Batched")

_REJECTED_ORDER = ("table_name", "file", "line")


@dataclass(frozen=True)
class Job:
    """A conversion to be done: one table, or one partition of it, and the raw files that hold it."""

    trace: Trace
    table: Table
    partition: str
    claims: tuple[Claim, ...]
    warehouse: Path
    on_bytes: Callable[[int], None]

    @property
    def key(self) -> tuple[str, str, str]:
        """What the conversion replaces."""
        return (self.trace.name, self.table.name, self.partition)

    @property
    def table_name(self) -> str:
        """The base table, with its schema."""
        return f"{self.trace.name}.{self.table.name}"


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
    """What has been read so far, for one job."""

    sources: list[Source] = field(default_factory=list)
    inputs: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rejected: list[pa.Table] = field(default_factory=list)
    taken: dict[str, RawFile] = field(default_factory=dict)
    whole: dict[Path, tuple[RawFile, str]] = field(default_factory=dict)
    seen_times: set[int] = field(default_factory=set)


def still_good(job: Job, previous: Conversion) -> bool:
    """Whether `previous` is what the job would give: same declaration, same raw files, Parquet in place."""
    files = (*previous.files, *previous.rejected)
    synthetic = any(source.synthetic for source in previous.sources)
    return (
        previous.fingerprint == job.table.fingerprint()
        and list(previous.input_names) == sorted(claim.raw.name for claim in job.claims)
        and all((job.warehouse / stored.path).exists() for stored in files)
        and any(_is_synthetic(claim.raw) for claim in job.claims) == synthetic
        and _has_same_bytes(job, previous)
    )


def _has_same_bytes(job: Job, previous: Conversion) -> bool:
    inputs = [(claim.raw.name, sha256_of(claim.raw.paths, job.on_bytes)) for claim in job.claims]
    same = sorted(inputs) == list(zip(previous.input_names, previous.input_sha256, strict=False))
    if not same:
        # They will be read again, and reported again.
        job.on_bytes(-sum(claim.raw.bytes for claim in job.claims))
    return same


def convert(job: Job, connection: duckdb.DuckDBPyConnection) -> tuple[Conversion, list[str]]:
    """Read the job's raw files, write its Parquet, and enter it in the journal.

    `connection` sorts and writes; several conversions may share it. Returns the conversion and notes for
    the user. Raises RawFileError where a file cannot be read: then nothing is stored; and UserError where
    the warehouse cannot be written to.
    """
    with store.room_to_write(job.warehouse, job.table_name):
        return _convert(job, connection)


def _convert(job: Job, connection: duckdb.DuckDBPyConnection) -> tuple[Conversion, list[str]]:
    account = _Account()
    folder, half = "/".join(filter(None, job.key)), store.half_written(job.warehouse)
    name = folder.replace("/", ".")
    if job.table.wide:
        written = write_cells(_batches(job, account, _lines_of_member), job.table, half, name)
    else:
        rows = _batches(job, account, _rows_of_member)
        written = write_runs(rows, job.table.order_by, connection, half, name)
    # Nothing gets its name in the store before all has been read.
    files = _adopted(written, job, folder)
    rejected: tuple[StoredFile, ...] = ()
    if account.rejected:
        folder = f"{job.trace.name}/{REJECTED}"
        written = write_runs(account.rejected, _REJECTED_ORDER, connection, half, f"{name}.{REJECTED}")
        rejected = _adopted(written, job, folder)
    conversion = Conversion(
        *job.key,
        fingerprint=job.table.fingerprint(),
        input_sha256=tuple(sha256 for _, sha256 in sorted(account.inputs)),
        sources=tuple(account.sources),
        files=files,
        rejected=rejected,
        input_names=tuple(name for name, _ in sorted(account.inputs)),
    )
    _check_account(conversion)
    store.record_finished(job.warehouse, conversion)
    return conversion, account.notes


def _adopted(written: Iterable[HalfFile], job: Job, folder: str) -> tuple[StoredFile, ...]:
    return tuple(store.adopt(job.warehouse, folder, half) for half in written)


def _check_account(conversion: Conversion) -> None:
    for files, expected in (
        (conversion.files, sum(source.rows_stored for source in conversion.sources)),
        (conversion.rejected, sum(source.rows_rejected for source in conversion.sources)),
    ):
        stored = sum(file.rows for file in files)
        if stored != expected:
            raise AssertionError(f"{conversion.key}: {expected} rows were read, {stored} were written")


def _archives_first(claim: Claim) -> tuple[bool, str]:
    return (not claim.raw.is_archive, claim.raw.relative_name)


def _is_synthetic(raw: RawFile) -> bool:
    return is_marked(raw.paths[0], raw.root)


def _batches(
    job: Job, account: _Account, of_member: Callable[[_Part, Job, _Account], Iterator[Batched]]
) -> Iterator[Batched]:
    """What all raw files of a job hold; the account is complete when it has been read."""
    for claim in sorted(job.claims, key=_archives_first):
        yield from _batches_of_file(claim, job, account, of_member)


def _batches_of_file(
    claim: Claim,
    job: Job,
    account: _Account,
    of_member: Callable[[_Part, Job, _Account], Iterator[Batched]],
) -> Iterator[Batched]:
    raw = claim.raw
    _check_header_file(claim)
    if raw.whole_path in account.whole:
        _pass_over_copy(raw, *account.whole[raw.whole_path], job, account)
        return
    counts: dict[str, _Counts] = {}
    passed_over: list[str] = []

    def note_special(name: str) -> None:
        account.notes.append(f"{raw.relative_name}: {name} in it is a link or no file, and was passed over")

    with open_raw(raw.paths, job.on_bytes) as stream, explained(raw.paths):
        for member in csv_members(stream, raw.form, raw.csv_name, raw.folder, note_special):
            keys = job.table.key_values(member.name, member.folder)
            other = account.taken.get(member.name)
            if keys is None:
                account.notes.append(f"{raw.relative_name}: {member.name} is not of {job.table_name}")
            elif other is None:
                account.taken[member.name] = raw
                counts[member.name] = _Counts()
                yield from of_member(_Part(raw, member, keys, counts[member.name]), job, account)
            else:
                _check_equal(member, raw, other, job)
                passed_over.append(member.name)
                account.notes.append(
                    f"{raw.relative_name}: passed over, {member.name} was read from {other.relative_name}"
                )
        sha256 = stream.sha256_of_rest()
    if not counts and not passed_over:
        raise RawFileError(
            raw.paths[0],
            f"the archive holds no CSV of {job.table_name}",
            "Fetch it again from its publisher",
        )
    account.inputs.append((raw.name, sha256))
    account.whole[raw.whole_path] = (raw, sha256)
    account.sources += [
        _source(raw, name, rows, sha256, stream.bytes_read, job, account) for name, rows in counts.items()
    ]


def _pass_over_copy(raw: RawFile, other: RawFile, sha256: str, job: Job, account: _Account) -> None:
    """Raises RawFileError unless a file in parts is the same as another of that name beside it."""
    if sha256_of(raw.paths, job.on_bytes) != sha256:
        raise differing_parts(raw, other)
    account.inputs.append((raw.name, sha256))
    first, copy = shown_name(other.paths[0].name), shown_name(raw.paths[0].name)
    account.notes.append(f"{raw.relative_name}: passed over, {copy} and its like are the same as {first}")


def _check_equal(member: Member, raw: RawFile, other: RawFile, job: Job) -> None:
    """Raises RawFileError unless a CSV that was read from `other` already is the same in `raw`."""
    if other is raw:
        raise RawFileError(
            raw.paths[0],
            f"the archive holds {member.name} twice",
            "Fetch it again from its publisher",
        )
    ours = _sha256(member.stream)
    with open_raw(other.paths) as stream, explained(other.paths):
        members = csv_members(stream, other.form, other.csv_name, other.folder)
        theirs = next((_sha256(found.stream) for found in members if found.name == member.name), None)
    if ours != theirs:
        raise RawFileError(
            raw.paths[0],
            f"it and {shown_name(other.paths[0])} both hold {member.name} of {job.table_name},"
            " and they differ",
            "Move one of the two out of the raw folders",
        )


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


def _rows_of_member(part: _Part, job: Job, account: _Account) -> Iterator[pa.Table]:
    for batch in read_csv(part.member.stream, job.table, part.place):
        _count(part, batch.rows.num_rows, batch.rows.num_rows, batch.rejects, job, account)
        yield _with_keys(batch.rows, part.keys, job.table)


def _lines_of_member(part: _Part, job: Job, account: _Account) -> Iterator[Lines]:
    for lines in read_wide(part.member.stream, job.table, part.place, account.seen_times):
        count = len(lines.times)
        _count(part, count, count * len(lines.devices), lines.rejects, job, account)
        yield lines


def _count(
    part: _Part, kept: int, stored: int, rejects: Sequence[Reject], job: Job, account: _Account
) -> None:
    part.counts.kept += kept
    part.counts.stored += stored
    part.counts.rejected += len(rejects)
    if rejects:
        account.rejected.append(_reject_rows(rejects, part.raw, part.member.name, job))


def _with_keys(rows: pa.Table, keys: dict[str, str], table: Table) -> pa.Table:
    for place, column in enumerate(table.keys):
        value = pa.scalar(keys[column.name]).cast(ARROW_TYPES[column.type])
        rows = rows.add_column(place, column.name, pa.repeat(value, rows.num_rows))
    return rows


def _reject_rows(rejects: Sequence[Reject], raw: RawFile, member_name: str, job: Job) -> pa.Table:
    rows = [
        (
            job.table_name,
            raw.relative_name,
            member_name,
            reject.line,
            reject.reason,
            reject.raw_text,
        )
        for reject in rejects
    ]
    arrays = [
        pa.array(values, ARROW_TYPES[column.type])
        for values, column in zip(zip(*rows, strict=True), REJECTED_COLUMNS, strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in REJECTED_COLUMNS])


def _source(
    raw: RawFile,
    member_name: str,
    rows: _Counts,
    sha256: str,
    bytes_read: int,
    job: Job,
    account: _Account,
) -> Source:
    published = job.table.published_sha256.get(raw.name)
    checksum = "none published"
    if published:
        checksum = "published" if published == sha256 else "differs"
    synthetic = _is_synthetic(raw)
    if checksum == "differs" and not synthetic:
        account.notes.append(f"{raw.relative_name}: the sha256 is {sha256}, its publisher's is {published}")
    return Source(
        file=raw.relative_name,
        member=member_name,
        sha256=sha256,
        bytes=bytes_read,
        parts=len(raw.paths),
        rows_read=rows.kept + rows.rejected,
        rows_kept=rows.kept,
        rows_rejected=rows.rejected,
        rows_stored=rows.stored,
        checksum=checksum,
        synthetic=synthetic,
    )

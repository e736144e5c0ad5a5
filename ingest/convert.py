"""One table's conversion from end to end: its raw files in, sorted Parquet and a full account of rows out."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import duckdb
import pyarrow as pa

from tracehouse.ingest import store
from tracehouse.ingest.declare import Table, Trace
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.find import Claim, RawFile
from tracehouse.ingest.records import read_header, shown
from tracehouse.ingest.runs import write_runs
from tracehouse.ingest.store import REJECTED, REJECTED_COLUMNS, Conversion, Source, StoredFile
from tracehouse.ingest.synthetic import is_marked
from tracehouse.ingest.typed_csv import ARROW_TYPES, Reject, read_csv
from tracehouse.ingest.unpack import READ_BYTES, Member, csv_members, explained, open_raw, sha256_of

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


@dataclass
class _Account:
    """What has been read so far, for one job."""

    sources: list[Source] = field(default_factory=list)
    inputs: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rejected: list[pa.Table] = field(default_factory=list)
    taken: dict[str, RawFile] = field(default_factory=dict)


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
    files = _stored(_rows(job, account), job.table.order_by, job, "/".join(filter(None, job.key)), connection)
    rejected: tuple[StoredFile, ...] = ()
    if account.rejected:
        folder = f"{job.trace.name}/{REJECTED}"
        rejected = _stored(account.rejected, _REJECTED_ORDER, job, folder, connection)
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


def _stored(
    batches: Iterable[pa.Table],
    order_by: Sequence[str],
    job: Job,
    folder: str,
    connection: duckdb.DuckDBPyConnection,
) -> tuple[StoredFile, ...]:
    """Write batches to the store; nothing gets its name there before all have been read."""
    half = store.half_written(job.warehouse)
    name = ".".join((*filter(None, job.key), folder)).replace("/", ".")
    written = write_runs(batches, order_by, connection, half, name)
    return tuple(store.adopt(job.warehouse, folder, run) for run in written)


def _check_account(conversion: Conversion) -> None:
    for files, expected in (
        (conversion.files, sum(source.rows_kept for source in conversion.sources)),
        (conversion.rejected, sum(source.rows_rejected for source in conversion.sources)),
    ):
        stored = sum(file.rows for file in files)
        if stored != expected:
            raise AssertionError(f"{conversion.key}: {expected} rows were read, {stored} were written")


def _archives_first(claim: Claim) -> tuple[bool, str]:
    return (claim.raw.form != "tar.gz", claim.raw.relative_name)


def _is_synthetic(raw: RawFile) -> bool:
    return is_marked(raw.paths[0], raw.root)


def _rows(job: Job, account: _Account) -> Iterator[pa.Table]:
    """The rows of all raw files of a job, in batches; the account is complete when they have been read."""
    for claim in sorted(job.claims, key=_archives_first):
        yield from _rows_of_file(claim, job, account)


def _rows_of_file(claim: Claim, job: Job, account: _Account) -> Iterator[pa.Table]:
    raw = claim.raw
    _check_header_file(claim)
    counts: dict[str, _Counts] = {}
    passed_over: list[str] = []
    with open_raw(raw.paths, job.on_bytes) as stream, explained(raw.paths):
        for member in csv_members(stream, raw.form, raw.csv_name):
            keys = job.table.key_values(member.name)
            other = account.taken.get(member.name)
            if keys is None:
                account.notes.append(f"{raw.relative_name}: {member.name} is not of {job.table_name}")
            elif other is None:
                account.taken[member.name] = raw
                counts[member.name] = _Counts()
                yield from _rows_of_member(member, keys, raw, job, account, counts[member.name])
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
    account.sources += [_source(raw, name, rows, sha256, job, account) for name, rows in counts.items()]


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
        members = csv_members(stream, other.form, other.csv_name)
        theirs = next(_sha256(found.stream) for found in members if found.name == member.name)
    if ours != theirs:
        raise RawFileError(
            raw.paths[0],
            f"it and {other.paths[0]} both hold {member.name} of {job.table_name}, and they differ",
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


def _rows_of_member(
    member: Member, keys: dict[str, str], raw: RawFile, job: Job, account: _Account, counts: _Counts
) -> Iterator[pa.Table]:
    place = str(raw.paths[0]) if raw.form != "tar.gz" else f"{raw.paths[0]}: {member.name}"
    for batch in read_csv(member.stream, job.table, place):
        counts.kept += batch.rows.num_rows
        if batch.rejects:
            account.rejected.append(_reject_rows(batch.rejects, raw, member.name, job))
            counts.rejected += len(batch.rejects)
        yield _with_keys(batch.rows, keys, job.table)


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
    raw: RawFile, member_name: str, rows: _Counts, sha256: str, job: Job, account: _Account
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
        bytes=raw.bytes,
        parts=len(raw.paths),
        rows_read=rows.kept + rows.rejected,
        rows_kept=rows.kept,
        rows_rejected=rows.rejected,
        checksum=checksum,
        synthetic=synthetic,
    )

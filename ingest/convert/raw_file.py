"""Convert a raw file: read its data files, write sorted Parquet files, and count all rows."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO, cast
from uuid import uuid4

import pyarrow as pa

from tracehouse.core.errors import FETCH_AGAIN, RawFileError, StoppedError, UserError
from tracehouse.core.text import join_names
from tracehouse.ingest.archive import data_files, data_members, seekable
from tracehouse.ingest.convert.compare_versions import (
    checksum_of,
    compare_checksum,
    compare_with_previous,
    is_synthetic,
)
from tracehouse.ingest.convert.copies import compare_members, describe_skipped, differing_partitions
from tracehouse.ingest.convert.parquet_out import RunWriter, write_partition, write_runs
from tracehouse.ingest.convert.raw_input import AlreadyStored, RawInput
from tracehouse.ingest.convert.repeats import describe_repeats
from tracehouse.ingest.convert.unpivot import write_cells
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_stream import open_raw, unexpected_error
from tracehouse.ingest.readers import Batch, ReaderInput, Reject, reader_of
from tracehouse.ingest.readers.csv import read_names
from tracehouse.ingest.readers.lines import shown
from tracehouse.ingest.readers.values import arrow_type
from tracehouse.ingest.store import lock, records
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import REJECTED_FOLDER, staging_folder
from tracehouse.ingest.store.records import REJECTED_COLUMNS, Conversion, OverlappingFile, SkippedCopy, Source

_REJECTED_ORDER = ("table_name", "file", "line")


@dataclass
class _Counts:
    kept: int = 0
    rejected: int = 0
    stored: int = 0


@dataclass(frozen=True)
class _OpenFile:
    """A data file that is being read.

    `name` is its name in the raw file, `shown_path` its path for errors, and `keys` are the values of the
    table's keys in its path. `counts` is updated with each batch.
    """

    name: str
    shown_path: str
    stream: BinaryIO
    keys: dict[str, str]
    counts: _Counts


class _UnreadableDataFileError(Exception):
    """A data file of a partition cannot be read. Carries its position in the partition and the error."""

    def __init__(self, position: int, problem: RawFileError):
        super().__init__()
        self.position = position
        self.problem = problem


@dataclass
class _ReadState:
    """What has been read from a raw file so far. `counts` are by the name of the data file."""

    stored: AlreadyStored
    indexes: set[Hashable]
    rejected: RunWriter
    counts: dict[str, _Counts] = field(default_factory=dict)
    skipped_copies: list[SkippedCopy] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sha256: str = ""
    bytes: int = 0


def convert(
    raw_input: RawInput, stored: AlreadyStored, overlapping_files: tuple[OverlappingFile, ...]
) -> tuple[Conversion, list[str], list[RawFileError]]:
    """Read a raw file, write its Parquet files, write its record, and add it to `stored`.

    `overlapping_files` are the files of a wide table whose line indexes are in `stored`. Returns the
    conversion, notes for the user, and the errors of data files of a partition that cannot be read; the
    conversion then has the rows of the partition's other data files. Raises RawFileError if the raw file
    cannot be read, in which case nothing is stored, and UserError if the warehouse is not writable.
    """
    unreadable: dict[int, RawFileError] = {}
    while True:
        left = raw_input.matched.raw.without(unreadable) if unreadable else raw_input.matched.raw
        problems = list(unreadable.values())
        reduced = replace(raw_input, matched=replace(raw_input.matched, raw=left))
        try:
            with lock.explain_write_errors(raw_input.warehouse, raw_input.table_name):
                conversion, notes = _convert(reduced, stored, overlapping_files, problems)
                return conversion, notes, problems
        except _UnreadableDataFileError as failure:
            # Rows of the unreadable file are already among the sorted rows. Read the other files again.
            positions = [n for n in range(len(raw_input.matched.raw.members)) if n not in unreadable]
            if len(positions) <= 1:
                raise _name_others(failure.problem, list(unreadable.values())) from failure
            unreadable[positions[failure.position]] = failure.problem
        except (UserError, StoppedError):
            raise
        except Exception as error:
            raise unexpected_error(raw_input.matched.raw.paths[0], error) from error


def _name_others(problem: RawFileError, others: Sequence[RawFileError]) -> RawFileError:
    """Return the error about a partition without any readable data file: it names all of them."""
    if not others:
        return problem
    names = join_names([other.file for other in others], len(others))
    what = f"{problem.what}. The other files of its partition cannot be read either: {names}"
    return RawFileError(problem.file, what, problem.do, problem.line)


def _convert(
    raw_input: RawInput,
    stored: AlreadyStored,
    overlapping_files: tuple[OverlappingFile, ...],
    unreadable: Sequence[RawFileError],
) -> tuple[Conversion, list[str]]:
    trace, table, partition, source = raw_input.key
    staging = staging_folder(raw_input.warehouse)
    # The name is unique because a process that lost its lock may still be converting the same raw file.
    name = uuid4().hex[:16]
    rejects = RunWriter(_REJECTED_ORDER, staging, f"{name}.{REJECTED_FOLDER}")
    state = _ReadState(stored, set(stored.indexes), rejects)
    written: dict[str, list[StagedFile]] = {}
    if raw_input.matched.raw.partition:
        rows = _read_partition(raw_input, state)
        file = raw_input.matched.raw.relative_name
        written[partition] = write_partition(rows, raw_input.table.order_by, staging, name, file)
    elif raw_input.table.wide:
        cells = (lines for _, lines in _read_rows(raw_input, state))
        keys = dict(pair.split("=", 1) for pair in partition.split("/") if pair)
        written[partition] = write_cells(cells, raw_input.table, staging, name, keys)
    else:
        for number, (part, batches) in enumerate(groupby(_read_rows(raw_input, state), itemgetter(0))):
            of_part = (batch for _, batch in batches)
            runs = write_runs(of_part, raw_input.table.order_by, staging, f"{name}.{number}")
            written.setdefault(part, []).extend(runs)
    rejected = rejects.finish()
    written = dict(sorted(written.items()))
    staged_files = [file for files in written.values() for file in files]
    conversion = Conversion(
        trace,
        table,
        partition,
        source,
        fingerprint=raw_input.table.fingerprint(),
        sha256=state.sha256,
        sources=tuple(
            _describe_source(raw_input, member, rows, state) for member, rows in state.counts.items()
        ),
        files=tuple(
            records.describe_file("/".join(filter(None, (trace, table, part))), file)
            for part, files in written.items()
            for file in files
        ),
        rejected=tuple(records.describe_file(f"{trace}/{REJECTED_FOLDER}", file) for file in rejected),
        skipped_copies=tuple(state.skipped_copies),
        overlapping_files=overlapping_files,
    )
    _check_row_counts(conversion)
    state.notes += compare_with_previous(raw_input, conversion, unreadable)
    state.notes += describe_repeats(raw_input, staged_files)
    # This comes last: no file may enter the store before the raw file was read to its end.
    records.add(raw_input.warehouse, conversion, [*staged_files, *rejected])
    stored.add(conversion, raw_input.matched.raw)
    stored.indexes = state.indexes
    return conversion, state.notes


def _check_row_counts(conversion: Conversion) -> None:
    """Raise AssertionError unless every row that was read is in a Parquet file."""
    for files, expected in (
        (conversion.files, sum(source.rows_stored for source in conversion.sources)),
        (conversion.rejected, sum(source.rows_rejected for source in conversion.sources)),
    ):
        stored = sum(file.rows for file in files)
        if stored != expected:
            raise AssertionError(f"{conversion.key}: {expected} rows were read, {stored} were written")


def _read_rows(raw_input: RawInput, state: _ReadState) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of a raw file in batches, each with its partition.

    `state` is complete only after the last batch.
    """
    raw = raw_input.matched.raw

    def note_skipped(what: str) -> None:
        state.notes.append(f"{raw.relative_name}: skipped {what}")

    with open_raw(raw.paths, raw_input.on_bytes) as stream:
        is_data = raw_input.table.has_name
        for member in data_members(stream, raw, is_data, note_skipped):
            keys = raw_input.table.key_values(member.name, member.folder)
            if keys is None:
                if not any(table.has_name(member.name) for table in raw_input.matched.other_tables):
                    note_skipped(f"{member.name}, which is not a file of {raw_input.table_name}")
            elif member.name in state.counts:
                raise RawFileError(raw.paths[0], f"the archive contains {member.name} twice", FETCH_AGAIN)
            elif held := state.stored.members.get(member.name):
                compare_members(member, raw_input, held)
                state.skipped_copies.append(SkippedCopy(member.name, held.sha256))
                state.notes.append(describe_skipped(raw, member.name, held.file))
            else:
                state.counts[member.name] = _Counts()
                shown_path = f"{raw.paths[0]}: {member.name}" if raw.is_archive else str(raw.paths[0])
                counts = state.counts[member.name]
                open_file = _OpenFile(member.name, shown_path, member.stream, keys, counts)
                partition = raw_input.table.partition_of(keys)
                for rows in _read_file(open_file, raw_input, state):
                    yield partition, rows
        state.sha256 = stream.sha256_of_rest()
        state.bytes = stream.bytes_read
    if not state.counts and not state.skipped_copies:
        what = f"the archive contains no file of {raw_input.table_name}"
        raise RawFileError(raw.paths[0], what, FETCH_AGAIN)

    published = raw_input.table.published_sha256.get(raw.name, state.sha256)
    if state.sha256 != published and not is_synthetic(raw):
        state.notes.append(
            f"{raw.relative_name}: its SHA-256 is {state.sha256}; the publisher's is {published}"
        )


def check_header_file(matched: MatchedFile) -> None:
    """Raise RawFileError if the separate header of a raw file does not name the columns of its table."""
    if matched.table.has_header or matched.header_file is None:
        return
    declared = ",".join(column.name_in_file for column in matched.table.columns)
    with open_raw((matched.header_file,)) as stream:
        found = read_names(cast(BinaryIO, stream), str(matched.header_file))
    if ",".join(found) != declared:
        raise RawFileError(
            matched.header_file,
            f"it names the columns {shown(found)}; expected {declared}",
            "Fetch the header file again, or remove it: it is optional",
        )


def _read_partition(raw_input: RawInput, state: _ReadState) -> Iterator[pa.Table]:
    """Yield the rows of a partition in batches. `state` counts all its data files as one source."""
    raw, table = raw_input.matched.raw, raw_input.table
    state.sha256, state.bytes = checksum_of(raw_input), raw.bytes
    if held := state.stored.members.get(raw.partition):
        if held.sha256 != state.sha256:
            raise differing_partitions(raw_input, held)
        state.skipped_copies.append(SkippedCopy(raw.partition, held.sha256))
        state.notes.append(describe_skipped(raw, raw.partition, held.file))
        return
    counts = state.counts[raw.partition] = _Counts()
    with data_files(raw) as files:
        for position, file in enumerate(files):
            keys = table.key_values(file.path.name, file.path.parent.as_posix()) or {}
            try:
                with file.opened() as stream:
                    open_file = _OpenFile(file.path.as_posix(), file.shown_path, stream, keys, counts)
                    yield from _read_file(open_file, raw_input, state)
            except RawFileError as problem:
                raise _UnreadableDataFileError(position, problem) from problem
            raw_input.on_bytes(raw.bytes // len(files))


def _read_file(open_file: _OpenFile, raw_input: RawInput, state: _ReadState) -> Iterator[pa.Table]:
    table = raw_input.table
    reader = reader_of(table, open_file.name)
    values = (pair.split("=", 1) for pair in raw_input.matched.raw.partition.split("/") if pair)
    with seekable(open_file.stream) if reader.read_keys else nullcontext(open_file.stream) as stream:
        source = ReaderInput(
            stream, table, open_file.shown_path, state.indexes, keys=open_file.keys, partition=dict(values)
        )
        for batch in reader.read(source):
            _count(open_file, batch, raw_input, state)
            yield batch.rows if table.wide else _add_keys(batch.rows, open_file.keys, table)


def _count(open_file: _OpenFile, batch: Batch, raw_input: RawInput, state: _ReadState) -> None:
    kept = batch.rows.num_rows
    open_file.counts.kept += kept
    open_file.counts.stored += kept * (batch.rows.num_columns - 1) if raw_input.table.wide else kept
    open_file.counts.rejected += len(batch.rejects)
    if batch.rejects:
        state.rejected.add(_reject_rows(batch.rejects, open_file.name, raw_input))


def _add_keys(rows: pa.Table, keys: dict[str, str], table: Table) -> pa.Table:
    for column in table.keys:
        if column.name in keys:
            value = pa.scalar(keys[column.name]).cast(arrow_type(column))
            rows = rows.append_column(column.name, pa.repeat(value, rows.num_rows))
    return rows.select([column.name for column in table.stored_columns])


def _reject_rows(rejects: Sequence[Reject], member_name: str, raw_input: RawInput) -> pa.Table:
    values: list[list[Any]] = [
        [raw_input.table_name] * len(rejects),
        [raw_input.matched.raw.relative_name] * len(rejects),
        [member_name] * len(rejects),
        [reject.line for reject in rejects],
        [reject.reason for reject in rejects],
        [reject.raw_text for reject in rejects],
    ]
    return pa.table(values, pa.schema([(column.name, arrow_type(column)) for column in REJECTED_COLUMNS]))


def _describe_source(raw_input: RawInput, member_name: str, rows: _Counts, state: _ReadState) -> Source:
    raw = raw_input.matched.raw
    return Source(
        file=raw.relative_name,
        member=member_name,
        sha256=state.sha256,
        bytes=state.bytes,
        parts=len(raw.paths),
        rows_read=rows.kept + rows.rejected,
        rows_kept=rows.kept,
        rows_rejected=rows.rejected,
        rows_stored=rows.stored,
        checksum=compare_checksum(raw_input.matched, state.sha256),
        synthetic=is_synthetic(raw),
    )

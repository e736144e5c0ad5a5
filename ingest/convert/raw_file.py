"""Convert a raw file: read its data files, write Parquet files, and count all rows."""

import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pyarrow as pa

from tracehouse.core.errors import FETCH_AGAIN, FETCH_OR_MOVE, RawFileError, StoppedError, UserError
from tracehouse.ingest.convert.parquet_out import RunWriter, write_partition, write_runs
from tracehouse.ingest.convert.unpivot import write_cells
from tracehouse.ingest.declare.trace import Table
from tracehouse.ingest.dump.identify import Group, MatchedFile
from tracehouse.ingest.dump.open import (
    Member,
    checksum,
    combine_checksums,
    is_settled,
    open_dump,
    stamp_of,
    unexpected_error,
)
from tracehouse.ingest.dump.raw_files import TREE, RawFile
from tracehouse.ingest.dump.readers import ReaderInput
from tracehouse.ingest.dump.readers.formats import reader_of
from tracehouse.ingest.dump.readers.values import arrow_type
from tracehouse.ingest.store import lock, records
from tracehouse.ingest.store.files import StagedFile, write_atomically
from tracehouse.ingest.store.layout import REJECTED_FOLDER, WORK_FOLDER, staging_folder
from tracehouse.ingest.store.records import REJECTED_COLUMNS, Conversion, Journal, Key, Source

_CHECKSUM = re.compile("[0-9a-f]{64}")
_REJECTED_ORDER = ("table_name", "file", "line")
_REJECTED_SCHEMA = pa.schema([(column.name, arrow_type(column)) for column in REJECTED_COLUMNS])

# Several tables of one raw file may be converted at the same time.
_WRITING = threading.Lock()
# A new version with less than half of the last version's rows is more likely a broken download than a new
# release.
_LEAST_SHARE_OF_ROWS_BEFORE = 0.5
# A new version with so many times the rows may contain every row twice.
_NOTED_GROWTH = 2


@dataclass(frozen=True)
class Task:
    """The raw files of one table or partition, and its published conversions in `before`.

    With `replacing`, the ingest removes the rows of raw files that were not found, and a version with fewer
    rows is not refused. `memory_bytes` is DuckDB's limit to sort a partition.
    """

    group: Group
    matched_files: tuple[MatchedFile, ...]
    before: Mapping[Key, Conversion]
    warehouse: Path
    replacing: bool
    on_bytes: Callable[[int], None]
    memory_bytes: int


def read_checksum(warehouse: Path, raw: RawFile, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file or partition, from the warehouse's cache if no file has changed.

    A cached checksum is valid as long as the size, the time of the last change and the inode of each file
    stay the same. Raises RawFileError if the content cannot be read.
    """
    if raw.checksum:
        return raw.checksum
    # The files may change while they are read.
    stamp = stamp_of(raw.paths)
    paths = "\n".join(str(path.absolute()) for path in raw.paths).encode(errors="surrogateescape")
    entry = warehouse / WORK_FOLDER / "checksums" / f"{hashlib.sha256(paths).hexdigest()[:16]}.json"
    try:
        known = json.loads(entry.read_text(encoding="utf-8"))
        if known["stamp"] == stamp:
            on_bytes(raw.bytes)
            return str(known["sha256"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    sha256 = checksum(raw, on_bytes)
    if is_settled(stamp):
        with _WRITING:
            write_atomically(entry, json.dumps({"stamp": stamp, "sha256": sha256}))
    return sha256


def describe_conflict(matched: MatchedFile, name: str, other: str) -> RawFileError:
    """Return the error about a data file, or its checksum, that the table already has from another file."""
    what = "the same content" if _CHECKSUM.fullmatch(name) else name
    return RawFileError(
        matched.raw.paths[0],
        f"{matched.table_name} already has {what} from {other}",
        f"Keep one of the two below the raw folders. To keep this one, run `traces forget {other}` first",
    )


def convert(
    task: Task, matched: MatchedFile, stored: Mapping[str, str], journal: Journal
) -> tuple[Conversion, list[str]]:
    """Read a raw file, write its Parquet files, and add the conversion to the journal.

    `stored` are the data files that other raw files contributed to the table or partition, as in
    `Conversion.data_files`.
    Returns the conversion and notes for the user. Raises RawFileError if the raw file cannot be read or
    contains one of these data files, in which case nothing is stored, and UserError if the warehouse is not
    writable.
    """
    try:
        with lock.explain_write_errors(task.warehouse, matched.table_name):
            return _convert(task, matched, stored, journal)
    except (UserError, StoppedError):
        raise
    except Exception as error:
        raise unexpected_error(matched.raw.paths[0], error) from error


def _convert(
    task: Task, matched: MatchedFile, stored: Mapping[str, str], journal: Journal
) -> tuple[Conversion, list[str]]:
    trace, table, partition, source = matched.key
    staging = staging_folder(task.warehouse)
    # The name is unique because a process that lost its lock may still be converting the same raw file.
    name = uuid4().hex[:16]
    with RunWriter(_REJECTED_ORDER, staging, f"{name}.{REJECTED_FOLDER}") as rejects:
        reading = _Reading(task, matched, stored, rejects)
        written = dict(sorted(_write(reading, partition, staging / name).items()))
        rejected = rejects.finish()
    staged_files = [file for files in written.values() for file in files]
    conversion = Conversion(
        trace,
        table,
        partition,
        source,
        fingerprint=matched.table.fingerprint(),
        sha256=reading.sha256,
        sources=tuple(reading.sources),
        files=tuple(
            records.describe_file("/".join(filter(None, (trace, table, part))), file)
            for part, files in written.items()
            for file in files
        ),
        rejected=tuple(records.describe_file(f"{trace}/{REJECTED_FOLDER}", file) for file in rejected),
    )
    _check_row_counts(conversion)
    notes = _compare_with_previous(matched, task.before.get(matched.key), conversion, task.replacing)
    # This comes last: no file may enter the store before the raw file was read to its end.
    journal.add(conversion, [*staged_files, *rejected])
    return conversion, reading.notes + notes


def _write(reading: "_Reading", partition: str, path: Path) -> dict[str, list[StagedFile]]:
    """Read a raw file and write its rows. Returns the Parquet files, whose paths begin with `path`."""
    table, raw, batches = reading.table, reading.raw, reading.read(partition)
    if table.wide:
        lines = (lines for _, lines in batches)
        return {partition: write_cells(lines, table, path.parent, path.name, _parse_partition(partition))}
    if raw.partition:
        rows = (rows for _, rows in batches)
        files = write_partition(
            *(rows, table.order_by, path.parent, path.name, raw.relative_name, reading.memory_bytes)
        )
        return {partition: files}
    written: dict[str, list[StagedFile]] = defaultdict(list)
    for number, (part, of_part) in enumerate(groupby(batches, itemgetter(0))):
        rows = (rows for _, rows in of_part)
        written[part] += write_runs(rows, table.order_by, path.parent, f"{path.name}.{number}")
    return written


def _parse_partition(partition: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in partition.split("/") if pair)


def _check_row_counts(conversion: Conversion) -> None:
    """Raise AssertionError unless every row that was read is in a Parquet file."""
    for files, expected in (
        (conversion.files, sum(source.rows_stored for source in conversion.sources)),
        (conversion.rejected, sum(source.rows_rejected for source in conversion.sources)),
    ):
        stored = sum(file.rows for file in files)
        if stored != expected:
            raise AssertionError(f"{conversion.key}: {expected} rows were read, {stored} were written")


def _compare_with_previous(
    matched: MatchedFile, previous: Conversion | None, conversion: Conversion, may_shrink: bool
) -> list[str]:
    """Return notes on data files that the new version lacks, or that have fewer or twice as many rows.

    Unless the file `may_shrink`, raises RawFileError if all data files of the last version are missing, or
    more than half of its rows.
    """
    path, file, table_name = matched.raw.paths[0], matched.raw.relative_name, matched.table_name
    now = {source.member: source.rows_read for source in conversion.sources}
    before = {source.member: source.rows_read for source in (previous.sources if previous else ())}
    if before and now.keys().isdisjoint(before) and not may_shrink:
        raise RawFileError(
            path,
            f"it contains none of the files that the last version contained for {table_name}",
            "Rename it; if it is a newer version of that file, ingest it with --replace",
        )
    if not may_shrink and sum(now.values()) < _LEAST_SHARE_OF_ROWS_BEFORE * sum(before.values()):
        raise RawFileError(
            path,
            f"it has {sum(now.values()):,} rows for {table_name}; the version in the warehouse has "
            f"{sum(before.values()):,}",
            "Download the file again. If the new one is the same, it is complete: ingest it with --replace",
        )
    notes = []
    for member, rows in before.items():
        if member not in now:
            notes.append(f"{file} no longer contains {member}: {table_name} loses its {rows:,} rows")
        elif now[member] < rows or now[member] >= _NOTED_GROWTH * rows > 0:
            notes.append(f"{file}: {member} has {now[member]:,} rows for {table_name}; it had {rows:,}")
    return notes


class _Reading:
    """Reads the data files of a raw file, and counts their rows. It is complete only after the last batch."""

    def __init__(
        self, task: Task, matched: MatchedFile, stored: Mapping[str, str], rejects: RunWriter
    ) -> None:
        self.raw, self.table = matched.raw, matched.table
        self.memory_bytes = task.memory_bytes
        self.notes: list[str] = []
        self.sources: list[Source] = []
        self.sha256 = ""
        self._task, self._matched, self._stored, self._rejects = task, matched, stored, rejects
        self._indexes: set[Hashable] = set()
        # The data files, by their keys and name, and by their keys and content.
        self._read: dict[Hashable, PurePosixPath] = {}

    def read(self, partition: str) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows in batches, each with its partition."""
        raw, table = self.raw, self.table
        if not raw.partition:
            yield from self._read_members(raw)
            self.sha256 = self.sources[0].sha256
        elif table.wide:
            for file in raw.list_files():
                yield from self._read_members(file)
            self.sha256 = combine_checksums(raw.members, [source.sha256 for source in self.sources])
        else:
            yield from self._read_partition(partition)

    def _read_members(self, raw: RawFile) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of a plain or compressed file, or of the data files in an archive."""
        table, table_name = self.table, self._matched.table_name
        counts: dict[str, Counter[str]] = {}
        with open_dump(raw, self._task.on_bytes) as dump:
            for member in dump.members(table.has_name, self._note_skipped):
                keys = table.key_values(member.name, member.folder)
                if keys is None:
                    if not any(other.has_name(member.name) for other in self._matched.other_tables):
                        self._note_skipped(f"{member.name}, which is not a file of {table_name}")
                    continue
                if member.name in counts:
                    raise RawFileError(raw.paths[0], f"the archive contains {member.name} twice", FETCH_AGAIN)
                if other := self._stored.get(member.name):
                    raise describe_conflict(self._matched, member.name, other)
                counts[member.name] = Counter()
                for rows in self._read_rows(raw, member, member.name, keys, counts[member.name]):
                    yield table.partition_of(keys), rows
            sha256 = dump.stream.sha256_of_rest()
        if other := self._stored.get(sha256):
            raise describe_conflict(self._matched, sha256, other)
        if not counts:
            raise RawFileError(raw.paths[0], f"the archive contains no file of {table_name}", FETCH_AGAIN)
        for name, count in counts.items():
            self._add_source(raw, name, sha256, dump.stream.bytes_read, count)
        if self._matched.compare_checksum(sha256) == "differs" and not self._matched.is_synthetic:
            published = table.published_sha256[raw.name]
            self.notes.append(f"{raw.relative_name}: its SHA-256 is {sha256}; the publisher's is {published}")

    def _read_partition(self, partition: str) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of a partition of hours, which count as one source."""
        raw, count = self.raw, Counter[str]()
        self.sha256 = read_checksum(self._task.warehouse, raw)
        with open_dump(raw) as dump:
            for member in dump.members():
                keys = self.table.key_values(member.name, member.folder) or {}
                for rows in self._read_rows(raw, member, str(member.path), keys, count):
                    yield partition, rows
                self._task.on_bytes(raw.bytes // max(1, len(raw.members)))
        self._add_source(raw, partition, self.sha256, raw.bytes, count)

    def _add_source(self, raw: RawFile, name: str, sha256: str, size: int, count: Counter[str]) -> None:
        self.sources.append(
            Source(
                file=raw.relative_name,
                member=name,
                sha256=sha256,
                bytes=size,
                parts=len(raw.paths),
                rows_read=count["kept"] + count["rejected"],
                rows_kept=count["kept"],
                rows_rejected=count["rejected"],
                rows_stored=count["stored"],
                checksum=self._matched.compare_checksum(sha256),
                synthetic=self._matched.is_synthetic,
            )
        )

    def _note_skipped(self, what: str) -> None:
        self.notes.append(f"{self.raw.relative_name}: skipped {what}")

    def _note_unended(self, raw: RawFile) -> None:
        """Note that the last line, which has no newline, was kept. The last value of a cut file is wrong."""
        missing = 0 if raw.is_archive or self._matched.is_synthetic else self._matched.missing_bytes(raw)
        if missing or self.table.ends_in_newline:
            shorter = f"; it is {missing:,} bytes shorter than the publisher's" if missing else ""
            what = f"kept the last line, which has no newline: check that the file was not cut{shorter}"
            self.notes.append(f"{raw.relative_name}: {what}")

    def _read_rows(
        self, raw: RawFile, member: Member, name: str, keys: Mapping[str, str], count: Counter[str]
    ) -> Iterator[pa.Table]:
        """Yield the rows of a data file in batches, with the keys in its path, and count them.

        `name` is the data file's name in the raw file, for rejects. Raises RawFileError if a key in its path
        is outside the limits of its column, or if another data file with the same keys has the same name or
        content.
        """
        table, reader = self.table, reader_of(self.table, member.name)
        if fault := table.key_fault(keys):
            raise RawFileError(member.place, fault, FETCH_OR_MOVE)
        identity = tuple(table.normal_keys(keys).items())
        self._refuse_copy((identity, member.name), member, "name and partition")
        rows_before = count["kept"] + count["rejected"]
        partition = _parse_partition(raw.partition)
        others = tuple(t for t in self._matched.other_tables if t.has_name(member.name))
        source = ReaderInput(
            *(member.stream, table, member.place, self._indexes),
            keys=keys,
            partition=partition,
            tables_of_file=others,
        )
        for batch in reader.read(source):
            if batch.is_unended and batch.rows.num_rows:
                self._note_unended(raw)
            rows, kept = batch.rows, batch.rows.num_rows
            if table.row_number:
                numbers = pa.array(range(count["kept"] + 1, count["kept"] + kept + 1), pa.int64())
                rows = rows.append_column(table.row_number, numbers)
            cells = kept * (rows.num_columns - 1)
            count.update(kept=kept, rejected=len(batch.rejects), stored=cells if table.wide else kept)
            if batch.rejects:
                place = (self._matched.table_name, raw.relative_name, name)
                rejects = [(*place, one.line, one.reason, one.raw_text) for one in batch.rejects]
                columns = [list(values) for values in zip(*rejects, strict=True)]
                self._rejects.add(pa.table(columns, _REJECTED_SCHEMA))
            yield rows if table.wide else _add_keys(rows, keys, table)
        if count["kept"] + count["rejected"] == rows_before:
            of_archive = f": {name}" if raw.partition or raw.is_archive else ""
            self.notes.append(f"{raw.relative_name}{of_archive} has no rows")
        elif member.content:
            self._refuse_copy((identity, member.content), member, "content")

    def _refuse_copy(self, identity: Hashable, member: Member, what: str) -> None:
        """Raise RawFileError if another data file has this identity. Otherwise remember it."""
        # Two members of a zip may have the same path: a/./b and a/b.
        if other := self._read.get(identity):
            do = "Move one of the two out of the raw folder" if self.raw.form == TREE else FETCH_AGAIN
            fault = f"it has the same {what} as {other}: its rows may count twice"
            raise RawFileError(member.place, fault, do)
        self._read[identity] = member.path


def _add_keys(rows: pa.Table, keys: Mapping[str, str], table: Table) -> pa.Table:
    for column in table.keys:
        if column.name in keys:
            value = pa.scalar(keys[column.name]).cast(arrow_type(column))
            rows = rows.append_column(column.name, pa.repeat(value, rows.num_rows))
    return rows.select([column.name for column in table.stored_columns])

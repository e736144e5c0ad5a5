"""Identify the tables of the raw files that were found, and open the files whose names do not suffice.

If several tables have files of one name, the header decides. The partitions of a table that is converted by
partition are listed in a zip's directory, or in the columns of a file. A file of no table is listed as
unrecognised, with a note if it resembles the file of a table, unless a trace skips it on purpose.
"""

import re
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import PurePosixPath

from tracehouse.core.errors import FETCH_AGAIN, RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declare.metadata import SkippedFile
from tracehouse.ingest.declare.trace import Table, Trace
from tracehouse.ingest.dump.archive import content_of
from tracehouse.ingest.dump.find import Candidate, Found, partition_in_path, wrong_key
from tracehouse.ingest.dump.open import (
    Dump,
    Stamp,
    combine_checksums,
    is_marked,
    is_settled,
    open_dump,
    stamp_of,
)
from tracehouse.ingest.dump.raw_files import TREE, RawFile, form_of, path_below, unpacked_name
from tracehouse.ingest.dump.readers import csv
from tracehouse.ingest.dump.readers.formats import reader_of
from tracehouse.ingest.dump.readers.lines import explain_header
from tracehouse.ingest.store.noted_files import Notes
from tracehouse.ingest.store.records import Key

Group = tuple[str, str, str]
"""Trace, table and partition, to which several raw files may contribute."""

# The similarity, from 0 to 1, from which a name is likely a misspelt one.
_CLOSE = 0.8


@dataclass(frozen=True)
class MatchedFile:
    """A raw file, or a partition in it, and the table that its rows belong to.

    `is_synthetic` says whether it is marked as synthetic. `other_tables` are the other tables that have data
    files in the same archive.
    """

    trace: Trace
    table: Table
    raw: RawFile
    is_synthetic: bool
    other_tables: tuple[Table, ...] = ()

    @cached_property
    def group(self) -> Group:
        """The table and the partition, if any, that the rows belong to."""
        partition = self.raw.partition
        # The files of an archive belong to several partitions, and may lie next to it as well.
        if not partition and not self.table.archive_stem:
            keys = self.table.key_values(self.raw.file_name, self.raw.folder) or {}
            partition = self.table.partition_of(keys)
        return self.trace.name, self.table.name, partition

    @cached_property
    def key(self) -> Key:
        """The key of the raw file's conversion. A partition that is read as a whole has one conversion."""
        source = self.table.name if self.table.is_read_by_partition else self.raw.source_name
        return (*self.group, source)

    @property
    def table_name(self) -> str:
        """The name of the base table with its schema."""
        return f"{self.trace.name}.{self.table.name}"

    def missing_bytes(self, raw: RawFile) -> int:
        """How much shorter one of the raw files is than the publisher's; 0 if that is unknown."""
        sizes = [file.bytes for file in self.trace.files if PurePosixPath(file.path).name == raw.name]
        return max(0, next(filter(None, sizes), 0) - raw.bytes)

    def compare_checksum(self, sha256: str) -> str:
        """Return the value of `records.Source.checksum` for this checksum of the raw file."""
        published = self.table.published_sha256.get(self.raw.name)
        if not published:
            return "none published"
        return "published" if published == sha256 else "differs"


@dataclass(frozen=True)
class Identified:
    """The raw files with their tables.

    `unrecognised` names the files that match no table, except documents such as a README. `problems` are
    errors of unreadable folders and files. `notes` name archives that match no table, files that a trace
    skips on purpose, and skipped parts. `noted` are the notes on files that match no table, for the next
    ingest.
    """

    matched: tuple[MatchedFile, ...]
    unrecognised: tuple[str, ...]
    problems: tuple[RawFileError, ...]
    notes: tuple[str, ...]
    noted: Notes


def identify(found: Found, traces: Iterable[Trace], all_traces: Iterable[Trace], noted: Notes) -> Identified:
    """Identify the tables of `traces` that the found files belong to.

    `all_traces` may explain the other files. `noted` are the notes of an earlier ingest: a file that has not
    changed since is not opened again.
    """
    wanted = {trace.name for trace in traces}
    known = list(all_traces)
    candidates = [(trace, table) for trace in known for table in trace.tables]
    published_names = {PurePosixPath(file.path).name for trace in known for file in trace.files}
    matched: list[MatchedFile] = []
    unrecognised = [*found.unknown]
    problems, notes = [*found.problems], [*found.notes]
    noted_now: dict[str, tuple[Stamp, str]] = {}
    for raw, named in found.named:
        try:
            tables = _match(raw, named, wanted, matched, unrecognised, problems) if named else ()
        except RawFileError as problem:
            problems.append(problem)
            continue
        if tables:
            continue
        unrecognised += [path_below(raw.root, path) for path in raw.paths]
        if find_skipped(raw.relative_name, known):
            continue
        if note := _note_once(raw, candidates, published_names, noted, noted_now):
            notes.append(f"{raw.relative_name}: {note}")
        if raw.is_archive and raw.form != TREE:
            notes.append(f"{raw.relative_name}: no trace has an archive of this name: unpack it")
    unrecognised = _explain_skipped(unrecognised, wanted, known, notes)
    return Identified(tuple(matched), tuple(unrecognised), tuple(problems), tuple(notes), noted_now)


def _match(
    raw: RawFile,
    named: Sequence[Candidate],
    wanted: Collection[str],
    matched: list[MatchedFile],
    unrecognised: list[str],
    problems: list[RawFileError],
) -> Sequence[Candidate]:
    """Open a raw file, and return the tables that it belongs to; none if it has other columns.

    Appends the files of wanted traces to `matched`. See `_split_zip` for the other lists.
    """
    with open_dump(raw) as dump:
        tables = _choose_by_header(dump, named)
        is_synthetic = is_marked(raw.paths[0], raw.root)
        for trace, table in tables:
            if trace.name in wanted:
                others = tuple(other for _, other in tables if other is not table)
                parts = _split(dump, table, unrecognised, problems)
                matched += [MatchedFile(trace, table, part, is_synthetic, others) for part in parts]
    return tables


def _choose_by_header(dump: Dump, named: Sequence[Candidate]) -> Sequence[Candidate]:
    """Choose among tables that a raw file's name fits by the columns in it or in its first data file.

    The members of an archive are matched by their names, and a JSON list has rows of several tables: all of
    them are returned. Raises RawFileError if no table fits the header of a file.
    """
    raw = dump.raw
    if len(named) < 2 or (raw.is_archive and raw.form != TREE):
        return named
    name = unpacked_name(PurePosixPath(raw.members[0]).name) if raw.members else raw.file_name
    # Any reader of the extension will do: formats that share an extension store the names in the same way.
    readers = [reader_of(table, name) for _, table in named]
    reader = next((reader for reader in readers if reader.read_names), None)
    if reader is None or reader.read_names is None:
        return named
    # Keep a reference to the iterator: Python closes the file when it deletes the iterator.
    members = dump.members()
    first = next(members)
    header = reader.read_names(first.stream, first.place)
    fitting = [
        candidate
        for candidate, each in zip(named, readers, strict=True)
        if each.names_fit and each.names_fit(candidate[1], header)
    ]
    if not fitting and raw.form != TREE:
        # The shortest explanation is that of the closest header.
        explained = (explain_header(header, *table.names_in_file, "the header") for _, table in named)
        what, do = min(explained, key=lambda one: len(one[0]))
        raise RawFileError(raw.paths[0], what, do, line=1)
    return fitting[:1]


def _split(dump: Dump, table: Table, unrecognised: list[str], problems: list[RawFileError]) -> list[RawFile]:
    """Split a raw file of a table that `converts_partitions` into one raw file per partition.

    Raises RawFileError if the file is damaged, or packed so that its partitions cannot be read one by one.
    """
    raw = dump.raw
    if not table.converts_partitions or raw.partition:
        return [raw]
    if raw.form == "zip" and len(raw.paths) == 1:
        return _split_zip(dump, table, unrecognised, problems)
    reader = reader_of(table, raw.file_name)
    if raw.form != "parquet" or reader.read_keys is None or len(raw.paths) > 1:
        raise RawFileError(
            raw.paths[0],
            "its partitions cannot be read one by one as it is packed",
            "Unpack it into the raw folder, with the folders that are in it",
        )
    [found] = [reader.read_keys(file.stream, table, file.place) for file in dump.members()]
    if not found:
        raise RawFileError(raw.paths[0], "the file has no rows", FETCH_AGAIN)
    if fault := next(filter(None, map(table.key_fault, found)), ""):
        raise RawFileError(raw.paths[0], f"a row has no partition: {fault}", FETCH_AGAIN)
    partitions = sorted(map(table.partition_of, found))
    return [replace(raw, partition=one, bytes=raw.bytes // len(partitions)) for one in partitions]


def _split_zip(
    dump: Dump, table: Table, unrecognised: list[str], problems: list[RawFileError]
) -> list[RawFile]:
    """Split a zip into one raw file per partition.

    Appends the data files that have no partition to `unrecognised`, and an error to `problems` for each that
    has an invalid one.
    """
    raw = dump.raw
    infos = sorted(dump.list_zip(), key=lambda info: info.filename)
    found: Mapping[str, list[zipfile.ZipInfo]] = defaultdict(list)
    faults: list[RawFileError] = []
    for info, before in zip(infos, [None, *infos], strict=False):
        path = info.filename
        if before and before.filename == path:
            what = f"the archive contains {escape_name(path)} twice"
            raise RawFileError(raw.paths[0], what, FETCH_AGAIN)
        partition, fault = partition_in_path(table, path)
        if partition:
            found[partition].append(info)
        elif fault:
            faults.append(wrong_key(f"{raw.paths[0]}: {path}", fault))
        elif form_of(path) and not PurePosixPath(path).name.startswith("._"):
            unrecognised.append(f"{raw.relative_name}: {escape_name(path)}")
    if not found and not faults:
        raise RawFileError(raw.paths[0], f"the archive contains no file of {table.name}", FETCH_AGAIN)
    problems += faults
    return [_partition_of_zip(raw, partition, infos) for partition, infos in found.items()]


def _partition_of_zip(raw: RawFile, partition: str, infos: Sequence[zipfile.ZipInfo]) -> RawFile:
    members = tuple(info.filename for info in infos)
    checksum = combine_checksums(members, [content_of(info) for info in infos])
    size = sum(info.compress_size for info in infos)
    return replace(raw, partition=partition, members=members, bytes=size, checksum=checksum)


# Files of no table.


def find_skipped(name: str, traces: Iterable[Trace]) -> tuple[Trace, SkippedFile] | None:
    """Return the trace that leaves a raw file out on purpose, and its reason; None if no trace does."""
    file_name = unpacked_name(PurePosixPath(name).name)
    for trace in traces:
        for skipped in trace.skipped_files:
            if re.fullmatch(skipped.file_name, file_name):
                return trace, skipped
    return None


def _explain_skipped(
    unrecognised: Iterable[str], wanted: set[str], known: Sequence[Trace], notes: list[str]
) -> list[str]:
    """Return the names of files that no trace skips on purpose, sorted.

    Appends a note to `notes` for each file that a wanted trace skips.
    """
    names = []
    for name in sorted(unrecognised):
        found = find_skipped(name, known)
        if not found:
            names.append(name)
        elif found[0].name in wanted:
            notes.append(f"{name}: left out, because {found[1].reason}")
    return names


def _note_once(
    raw: RawFile,
    candidates: Sequence[Candidate],
    published_names: Collection[str],
    noted: Notes,
    noted_now: dict[str, tuple[Stamp, str]],
) -> str:
    """Return the note on a raw file: that of an earlier ingest, if the file has not changed since.

    Adds the note to `noted_now`.
    """
    path = str(raw.paths[0].absolute())
    try:
        stamp = stamp_of(raw.paths)
    except RawFileError:
        # A broken link.
        return _describe_similar(raw, candidates, published_names)
    before, note = noted.get(path, (None, ""))
    if before != stamp:
        note = _describe_similar(raw, candidates, published_names)
    if is_settled(stamp):
        noted_now[path] = (stamp, note)
    return note


def _describe_similar(raw: RawFile, candidates: Sequence[Candidate], published_names: Collection[str]) -> str:
    """Say which of these tables' files a file of no table resembles; empty if it resembles none.

    `published_names` are the names of all files that the publishers list.
    """
    header: list[str] | None = None
    for trace, table in candidates:
        known, folders = f"{trace.name}.{table.name}", " or ".join(table.folder_names)
        where = f" in a folder called {folders}" if folders else ""
        if where and table.has_name(raw.file_name):
            return f"has the name of a file of {known}. Put it{where}"
        if raw.form.startswith("csv") and not table.wide and not table.json_list:
            # One read serves all tables.
            header = _read_header(raw) if header is None else header
            if header and csv.names_fit(table, header):
                pattern = re.sub(r"\?P<\w+>", "", table.file_name).replace(r"\.", ".")
                called = f"whose files are called {pattern}{where}"
                return f"has the columns of {known}, {called}: rename it"
    for close in get_close_matches(raw.name, published_names, 1, _CLOSE):
        # The header is that of no table.
        if not (header and any(table.has_header and table.has_name(close) for _, table in candidates)):
            return f"not a file of a known trace. Did you mean {close}?"
    return ""


def _read_header(raw: RawFile) -> list[str]:
    """Return the names in the first line of a CSV; none if it cannot be read."""
    try:
        with open_dump(raw) as dump:
            return csv.read_names(next(dump.members()).stream, raw.name)
    except RawFileError:
        return []

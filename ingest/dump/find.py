"""Find raw files below the raw folders, and match them to tables.

The publishers' names decide: of a file and its folder, or of an archive. If several tables have files of one
name, the header decides. Files that match no table are listed as unrecognised, except hidden files and
documents such as a README. Partitions are found in paths such as

    asi_opensource_pod_hourly/day=3/hour=07/part-000.parquet

which is a data file of the partition day=3. A zip of these folders is read like the tree.
"""

import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from tracehouse.core.errors import FETCH_AGAIN, RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declare.trace import Table, Trace
from tracehouse.ingest.dump.archive import (
    combine_checksums,
    content_of,
    data_members,
    open_zip,
    partition_members,
)
from tracehouse.ingest.dump.raw_files import (
    TREE,
    RawFile,
    form_of,
    is_bare,
    part_of,
    path_below,
    unpacked_name,
    whole_name,
    whole_path,
)
from tracehouse.ingest.dump.raw_stream import (
    Stamp,
    check_raw,
    open_raw,
    open_regular,
    translate_errors,
)
from tracehouse.ingest.dump.readers.formats import reader_of
from tracehouse.ingest.dump.readers.lines import explain_header
from tracehouse.ingest.dump.similar import describe_similar, find_skipped, note_once
from tracehouse.ingest.dump.synthetic_marker import MARKER_NAME, is_marked
from tracehouse.ingest.dump.zip_layout import check_layout
from tracehouse.ingest.store.noted_files import Notes
from tracehouse.ingest.store.records import Key

Group = tuple[str, str, str]
"""Trace, table and partition, to which several raw files may contribute."""

Candidate = tuple[Trace, Table]
"""A table to which a raw file may belong."""

# Names of files in clones and downloads that contain no data, by the start of the name or the extension.
_NO_DATA = re.compile(
    r"(readme|licen[cs]e|copying|notice|citation|changelog|sha\d*sums|md5sums).*"
    r"|desktop\.ini|thumbs\.db"
    r"|.*\.(header|md|rst|pdf|bib|tex|py|ipynb|sh|png|jpe?g|gif|svg|sha\d*|md5)",
    re.IGNORECASE,
)
# A warehouse may be inside a raw folder, or be a raw folder itself. Its work folder identifies it.
_WAREHOUSE_WORK = ".ingest"
_NO_NOTES: Notes = MappingProxyType({})
_HIDDEN = re.compile(r"\..*", re.DOTALL)
_IN_WAREHOUSE = re.compile(r"\..*|parquet|records|datapackage\.json.*|traces\.duckdb.*", re.DOTALL)


@dataclass(frozen=True)
class MatchedFile:
    """A raw file, or a partition in it, and the table that its rows belong to.

    `other_tables` are the other tables that have data files in the same archive.
    """

    trace: Trace
    table: Table
    raw: RawFile
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

    @cached_property
    def is_synthetic(self) -> bool:
        """Whether the raw file is marked as synthetic."""
        return is_marked(self.raw.paths[0], self.raw.root)

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
class Found:
    """The result of a search of the raw folders.

    `unrecognised` names the files that match no table, except documents such as a README. `problems` are
    errors of unreadable folders and files. `notes` name archives that match no table, files that a trace
    skips on purpose, and parts that are skipped because the whole file is next to them. `noted` are the notes
    on files that match no table, for the next search.
    """

    matched: tuple[MatchedFile, ...]
    unrecognised: tuple[str, ...]
    problems: tuple[RawFileError, ...]
    notes: tuple[str, ...]
    noted: Notes


@dataclass(frozen=True)
class _Entry:
    """A file in a raw folder. A broken link counts as a file of 0 bytes."""

    root: Path
    path: Path
    bytes: int

    @property
    def name_below(self) -> str:
        return path_below(self.root, self.path)


def find(
    raw_folders: Sequence[Path],
    traces: Iterable[Trace],
    all_traces: Iterable[Trace],
    noted: Notes = _NO_NOTES,
) -> Found:
    """Search `raw_folders` for the files of `traces`, and ignore files of other traces in `all_traces`.

    `noted` are the notes of an earlier search.
    """
    wanted = {trace.name for trace in traces}
    known = list(all_traces)
    candidates = [(trace, table) for trace in known for table in trace.tables]
    published_names = {PurePosixPath(file.path).name for trace in known for file in trace.files}
    matched: list[MatchedFile] = []
    problems: list[RawFileError] = []
    notes: list[str] = []
    noted_now: dict[str, tuple[Stamp, str]] = {}
    raw_files, entries = _find_trees(_walk(raw_folders, problems), candidates, wanted, problems)
    groups, unrecognised = _group_parts(entries, candidates)
    for group in groups:
        try:
            raw_files.append(_join_parts(group, notes))
        except RawFileError as problem:
            problems.append(problem)
    for raw in raw_files:
        named = _find_named(raw, candidates)
        if named and wanted.isdisjoint(trace.name for trace, _ in named):
            continue
        try:
            with translate_errors(raw.paths):
                tables = _choose_by_header(raw, named)
                if not tables:
                    unrecognised += [path_below(raw.root, path) for path in raw.paths]
                    if find_skipped(raw.relative_name, known):
                        continue
                    describe = partial(describe_similar, raw, candidates, published_names)
                    if note := note_once(raw, describe, noted, noted_now):
                        notes.append(f"{raw.relative_name}: {note}")
                    if raw.is_archive and raw.form != TREE:
                        notes.append(f"{raw.relative_name}: no trace has an archive of this name: unpack it")
                if raw.form != TREE and any(trace.name in wanted for trace, _ in tables):
                    check_raw(raw.paths)
                for trace, table in tables:
                    if trace.name in wanted:
                        others = tuple(other for _, other in tables if other is not table)
                        for part in _split(raw, table, unrecognised, problems):
                            matched.append(MatchedFile(trace, table, part, others))
        except RawFileError as problem:
            problems.append(problem)
    unrecognised = _explain_skipped(unrecognised, wanted, known, notes)
    return Found(tuple(matched), tuple(unrecognised), tuple(problems), tuple(notes), noted_now)


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


def _walk(raw_folders: Sequence[Path], problems: list[RawFileError]) -> Iterator[_Entry]:
    """Yield each file below the folders once, in order, without hidden files and those of a warehouse.

    Appends an error to `problems` for each folder that cannot be read.
    """
    visited: set[str] = set()

    def report(refusal: OSError) -> None:
        what = f"the folder cannot be read ({refusal.strerror})"
        problems.append(RawFileError(refusal.filename, what, "Make it readable, or move it away"))

    for root in raw_folders:
        for folder, subfolders, names in os.walk(root, onerror=report, followlinks=True):
            real = os.path.realpath(folder)
            hidden = _IN_WAREHOUSE if _WAREHOUSE_WORK in subfolders else _HIDDEN
            subfolders[:] = sorted(n for n in subfolders if real not in visited and not hidden.fullmatch(n))
            for name in () if real in visited else sorted(n for n in names if not hidden.fullmatch(n)):
                path = Path(folder, name)
                try:
                    size = path.stat().st_size
                except OSError:
                    # A broken link. Opening it later reports the error.
                    size = 0
                yield _Entry(root, path, size)
            visited.add(real)


def _find_trees(
    entries: Iterable[_Entry],
    candidates: Sequence[Candidate],
    wanted: Collection[str],
    problems: list[RawFileError],
) -> tuple[list[RawFile], list[_Entry]]:
    """Combine the files in trees of folders to one raw file per partition, and return the other entries.

    Appends an error to `problems` for each file of a wanted trace whose path names an invalid partition.
    """
    partitioned = [(trace, table) for trace, table in candidates if table.is_read_by_partition]
    trees: dict[tuple[Path, str], list[_Entry]] = defaultdict(list)
    others = []
    for entry in entries:
        path = entry.path.absolute()
        name = unpacked_name(escape_name(path.name))
        # Most files have the name of none of these tables. Their paths need not be taken apart.
        for trace, table in (one for one in partitioned if one[1].has_name(name)):
            partition, fault = _partition_in_path(table, path.as_posix())
            if partition:
                trees[path.parents[table.folder_depth], partition].append(entry)
                break
            if fault:
                problems += [_wrong_key(entry.path, fault)] if trace.name in wanted else []
                break
        else:
            others.append(entry)
    found = []
    for (base, partition), files in trees.items():
        paths = tuple(entry.path for entry in files)
        members = tuple(path.absolute().relative_to(base).as_posix() for path in paths)
        size = sum(entry.bytes for entry in files)
        found.append(RawFile(paths, TREE, files[0].root, size, partition, members))
    return found, others


def _partition_in_path(table: Table, path: str) -> tuple[str, str]:
    """Return the partition in a data file's path, or what is wrong with the keys in it.

    Both are empty if the path names no partition or is not of this table.
    """
    folder, _, name = escape_name(path).rpartition("/")
    keys = table.key_values(unpacked_name(name), folder) or {}
    partition = table.partition_of(keys)
    return partition, "" if partition else table.key_fault(keys)


def _wrong_key(place: Path | str, fault: str) -> RawFileError:
    return RawFileError(place, fault, "Correct the name of its folder, or move it out of the raw folder")


def _group_parts(
    entries: Iterable[_Entry], candidates: Sequence[Candidate]
) -> tuple[list[list[_Entry]], list[str]]:
    """Group the data files with their parts, sorted by name: the whole file is first.

    Also returns the names of files that are neither data files nor documents.
    """
    groups: dict[Path, list[_Entry]] = defaultdict(list)
    unknown = []
    for entry in entries:
        name = entry.path.name
        if form_of(whole_name(name)) or (is_bare(name) and any(t.has_name(name) for _, t in candidates)):
            groups[whole_path(entry.path)].append(entry)
        elif name != MARKER_NAME and not _NO_DATA.fullmatch(name):
            unknown.append(entry.name_below)
    return [sorted(group, key=lambda entry: entry.path.name) for group in groups.values()], unknown


def _join_parts(entries: Sequence[_Entry], notes: list[str]) -> RawFile:
    """Return the raw file that consists of a whole file, or of parts.

    If both exist, the whole file is read. Raises RawFileError if the parts have another size.
    """
    first = entries[0]
    used, parts = ([first], entries[1:]) if part_of(first.path.name) is None else (entries, [])
    if parts:
        size = sum(part.bytes for part in parts)
        if size != first.bytes:
            raise RawFileError(
                parts[0].path,
                f"the {len(parts)} parts differ from {escape_name(first.path)} "
                f"({size:,} and {first.bytes:,} bytes)",
                "Move the parts, or the whole file, out of the raw folders",
            )
        notes.append(f"skipped the {len(parts)} parts of {first.name_below}: the whole file is next to them")
    form = form_of(whole_name(first.path.name)) or "csv"
    return RawFile(tuple(entry.path for entry in used), form, first.root, sum(entry.bytes for entry in used))


def _find_named(raw: RawFile, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Find the tables that a raw file's name fits. For a tree of any other name, see its paths."""
    if not raw.is_archive:
        return [(trace, t) for trace, t in candidates if t.key_values(raw.file_name, raw.folder) is not None]
    named = [
        (trace, table)
        for trace, table in candidates
        if table.archive_stem and re.fullmatch(table.archive_stem, raw.stem)
    ]
    if raw.form == TREE and not named:
        path = raw.paths[0].absolute().as_posix()
        return [
            (trace, table)
            for trace, table in candidates
            if table.is_read_by_partition and any(_partition_in_path(table, path))
        ]
    return named


def _choose_by_header(raw: RawFile, named: Sequence[Candidate]) -> Sequence[Candidate]:
    """Choose among tables that a raw file's name fits by the columns in it or in its first data file.

    The members of an archive are matched by their names, and a JSON list has rows of several tables: all of
    them are returned. Raises RawFileError if no table fits the header of a file.
    """
    if len(named) < 2 or (raw.is_archive and raw.form != TREE):
        return named
    name = unpacked_name(PurePosixPath(raw.members[0]).name) if raw.members else raw.file_name
    # Any reader of the extension will do: formats that share an extension store the names in the same way.
    readers = [reader_of(table, name) for _, table in named]
    reader = next((reader for reader in readers if reader.read_names), None)
    if reader is None or reader.read_names is None:
        return named
    # Keep a reference to the iterator: Python closes the file when it deletes the iterator.
    if raw.form == TREE:
        members = partition_members(raw)
        first = next(members)
        header = reader.read_names(first.stream, first.place)
    else:
        with open_raw(raw.paths) as raw_stream:
            members = data_members(raw_stream, raw, lambda _: False)
            header = reader.read_names(next(members).stream, str(raw.paths[0]))
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


def _split(
    raw: RawFile, table: Table, unrecognised: list[str], problems: list[RawFileError]
) -> list[RawFile]:
    """Split a raw file of a table that `converts_partitions` into one raw file per partition.

    Appends the data files in a zip that have no partition to `unrecognised`, and an error to `problems` for
    each that has an invalid one. Raises RawFileError if the file is damaged, or packed so that its partitions
    cannot be read one by one.
    """
    if not table.converts_partitions or raw.partition:
        return [raw]
    if raw.form == "zip" and len(raw.paths) == 1:
        return _split_zip(raw, table, unrecognised, problems)
    reader = None if raw.is_archive else reader_of(table, raw.file_name)
    if reader is None or reader.read_keys is None or len(raw.paths) > 1:
        raise RawFileError(
            raw.paths[0],
            "its partitions cannot be read one by one as it is packed",
            "Unpack it into the raw folder, with the folders that are in it",
        )
    [found] = [reader.read_keys(file.stream, table, file.place) for file in partition_members(raw)]
    if not found:
        raise RawFileError(raw.paths[0], "the file has no rows", FETCH_AGAIN)
    if fault := next(filter(None, map(table.key_fault, found)), ""):
        raise RawFileError(raw.paths[0], f"a row has no partition: {fault}", FETCH_AGAIN)
    partitions = sorted(map(table.partition_of, found))
    return [replace(raw, partition=one, bytes=raw.bytes // len(partitions)) for one in partitions]


def _split_zip(
    raw: RawFile, table: Table, unrecognised: list[str], problems: list[RawFileError]
) -> list[RawFile]:
    with open_regular(raw.paths[0]) as file, open_zip(file) as archive:
        check_layout(file, archive)
        infos = sorted(archive.infolist(), key=lambda info: info.filename)
    found: Mapping[str, list[zipfile.ZipInfo]] = defaultdict(list)
    faults: list[RawFileError] = []
    for info, before in zip(infos, [None, *infos], strict=False):
        path = info.filename
        if before and before.filename == path:
            what = f"the archive contains {escape_name(path)} twice"
            raise RawFileError(raw.paths[0], what, FETCH_AGAIN)
        partition, fault = _partition_in_path(table, path)
        if partition:
            found[partition].append(info)
        elif fault:
            faults.append(_wrong_key(f"{raw.paths[0]}: {path}", fault))
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

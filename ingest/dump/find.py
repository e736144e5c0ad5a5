"""Find raw files below the raw folders, and the tables whose names they have. No file is opened.

The publishers' names decide: of a file and its folder, or of an archive. Hidden files, and documents such as
a README, are ignored. Partitions are found in paths such as

    asi_opensource_pod_hourly/day=3/hour=07/part-000.parquet

which is a data file of the partition day=3. A zip of these folders is read like the tree.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declare.trace import Table, Trace
from tracehouse.ingest.dump.raw_files import (
    MARKER_NAME,
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
_HIDDEN = re.compile(r"\..*", re.DOTALL)
_IN_WAREHOUSE = re.compile(r"\..*|parquet|records|datapackage\.json.*|traces\.duckdb.*", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """The result of a search of the raw folders.

    `named` are the data files and archives, each with the tables whose names it has: mostly one, none if the
    name is unknown. `unknown` names the other files, except documents such as a README. `problems` are errors
    of unreadable folders and of paths. `notes` name parts that are skipped because the whole file is next to
    them.
    """

    named: tuple[tuple[RawFile, Sequence[Candidate]], ...]
    unknown: tuple[str, ...]
    problems: tuple[RawFileError, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Entry:
    """A file in a raw folder. A broken link counts as a file of 0 bytes."""

    root: Path
    path: Path
    bytes: int

    @property
    def name_below(self) -> str:
        return path_below(self.root, self.path)


def find(raw_folders: Sequence[Path], traces: Iterable[Trace], all_traces: Iterable[Trace]) -> Found:
    """Search `raw_folders` for the files of `traces`, and ignore files of other traces in `all_traces`."""
    wanted = {trace.name for trace in traces}
    candidates = [(trace, table) for trace in all_traces for table in trace.tables]
    problems: list[RawFileError] = []
    notes: list[str] = []
    raw_files, entries = _find_trees(_walk(raw_folders, problems), candidates, wanted, problems)
    groups, unknown = _group_parts(entries, candidates)
    for group in groups:
        try:
            raw_files.append(_join_parts(group, notes))
        except RawFileError as problem:
            problems.append(problem)
    named = [(raw, _find_named(raw, candidates)) for raw in raw_files]
    chosen = [one for one in named if not one[1] or any(trace.name in wanted for trace, _ in one[1])]
    return Found(tuple(chosen), tuple(unknown), tuple(problems), tuple(notes))


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
            partition, fault = partition_in_path(table, path.as_posix())
            if partition:
                trees[path.parents[table.folder_depth], partition].append(entry)
                break
            if fault:
                problems += [wrong_key(entry.path, fault)] if trace.name in wanted else []
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


def partition_in_path(table: Table, path: str) -> tuple[str, str]:
    """Return the partition in a data file's path, or what is wrong with the keys in it.

    Both are empty if the path names no partition or is not of this table.
    """
    folder, _, name = escape_name(path).rpartition("/")
    keys = table.key_values(unpacked_name(name), folder) or {}
    partition = table.partition_of(keys)
    return partition, "" if partition else table.key_fault(keys)


def wrong_key(place: Path | str, fault: str) -> RawFileError:
    """Return the error about a path that names an invalid partition."""
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
            if table.is_read_by_partition and any(partition_in_path(table, path))
        ]
    return named

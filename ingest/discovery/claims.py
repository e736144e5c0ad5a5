"""Match raw files to tables.

The publishers' file names identify the table. If a name matches several tables, or none, the names and
headers of the files inside decide. Files that match no table are listed as unrecognised, except hidden files
and documents such as a README.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.ingest.declarations import Table, Trace
from tracehouse.ingest.discovery.archives import Member
from tracehouse.ingest.discovery.packing import TREE, form_of, is_bare, whole_name
from tracehouse.ingest.discovery.partitions import data_files, find_trees, list_unknown, split
from tracehouse.ingest.discovery.raw_files import (
    Entry,
    RawFile,
    check_same_size,
    group_raw_files,
    path_below,
    walk_folders,
)
from tracehouse.ingest.discovery.raw_stream import explained, open_raw
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.discovery.unpack import data_members, seekable
from tracehouse.ingest.readers import reader_of
from tracehouse.ingest.readers.lines import shown
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


@dataclass(frozen=True)
class Claim:
    """A raw file and the table that its rows belong to.

    `elsewhere` are the names of the CSVs in the raw file that only other tables claim.
    """

    trace: Trace
    table: Table
    raw: RawFile
    header_file: Path | None
    elsewhere: frozenset[str] = frozenset()

    @cached_property
    def group(self) -> Group:
        """The table and the partition, if any, that the rows belong to."""
        keys = self.table.key_values(self.raw.file_name, self.raw.folder) or {}
        partition = self.raw.partition or self.table.partition_of(keys)
        return self.trace.name, self.table.name, partition

    @cached_property
    def key(self) -> Key:
        """The key of the raw file's conversion."""
        return (*self.group, self.raw.source_name)


@dataclass(frozen=True)
class Found:
    """The result of a search of the raw folders.

    `unrecognised` names the files that match no table, and `documents` the READMEs, licences and the like,
    which are not opened. `problems` are errors of unreadable folders and files.
    """

    claims: tuple[Claim, ...]
    unrecognised: tuple[str, ...]
    documents: tuple[str, ...]
    problems: tuple[RawFileError, ...]


@dataclass(frozen=True)
class _Owner:
    """A table with rows in a raw file. `member_names` are its CSVs in an archive of several tables."""

    trace: Trace
    table: Table
    member_names: frozenset[str] = frozenset()


def find(raw_folders: Sequence[Path], traces: Iterable[Trace], all_traces: Iterable[Trace]) -> Found:
    """Search `raw_folders` for the files of `traces`, and ignore files of other traces in `all_traces`."""
    wanted = {trace.name for trace in traces}
    candidates = [(trace, table) for trace in all_traces for table in trace.tables]
    claims: list[Claim] = []
    problems: list[RawFileError] = []
    trees, entries = find_trees(list(walk_folders(raw_folders, problems)), [table for _, table in candidates])
    bare = {name for entry in entries if _is_bare_data(name := entry.path.name, candidates)}
    unrecognised = [
        path_below(entry.root, entry.path)
        for entry in entries
        if _is_unknown(entry.path.name) and entry.path.name not in bare
    ]
    documents = sorted(
        path_below(entry.root, entry.path) for entry in entries if _is_document(entry.path.name)
    )
    for copies in chain(([tree] for tree in trees), group_raw_files(entries, bare)):
        raw = copies[0]
        named = [(trace, table) for trace, table in candidates if _named_for(raw, table)]
        if named and wanted.isdisjoint(trace.name for trace, _ in named):
            continue
        try:
            with explained(raw.paths):
                owners = _owners(raw, named, candidates)
                if not owners:
                    unrecognised += [path_below(raw.root, path) for copy in copies for path in copy.paths]
                elif any(owner.trace.name in wanted for owner in owners):
                    check_same_size(copies)
                    unrecognised += list_unknown(raw, [owner.table for owner in owners])
                    claims += [
                        claim
                        for copy in copies
                        for claim in _claims(copy, owners, entries)
                        if claim.trace.name in wanted
                    ]
        except RawFileError as problem:
            problems.append(problem)
    problems += _explain_capitals(unrecognised, [table for _, table in candidates])
    return Found(tuple(claims), tuple(sorted(unrecognised)), tuple(documents), tuple(problems))


def _is_unknown(name: str) -> bool:
    """Return whether a file of this name is neither a data file nor a document."""
    return form_of(whole_name(name)) is None and name != MARKER_NAME and not _NO_DATA.fullmatch(name)


def _explain_capitals(unrecognised: Iterable[str], tables: Sequence[Table]) -> Iterator[RawFileError]:
    """Yield an error on each file that would be recognised if its name were not in capitals."""
    for path in unrecognised:
        name = path.rpartition("/")[2]
        if name != name.lower() and any(table.has_name(name.lower()) for table in tables):
            yield RawFileError(path, "its name is in capitals", f"Rename it to {name.lower()}")


def _is_bare_data(name: str, candidates: Sequence[Candidate]) -> bool:
    """Return whether a name has no extension and a table has files of this name."""
    return is_bare(name) and any(table.has_name(name) for _, table in candidates)


def _is_document(name: str) -> bool:
    """Return whether a file of this name is a document. Header files do not count, because they are read."""
    return bool(_NO_DATA.fullmatch(name)) and not name.endswith(".header")


def _header_file(raw: RawFile, entries: Sequence[Entry]) -> Path | None:
    """Return the `.header` file of a raw file, preferably the one in its folder, or None."""
    name = f"{raw.stem}.header"
    named = [entry.path for entry in entries if entry.path.name == name]
    in_folder = [path for path in named if path.parent == raw.paths[0].parent]
    return next(iter(in_folder + named), None)


def _claims(raw: RawFile, owners: Sequence[_Owner], entries: Sequence[Entry]) -> list[Claim]:
    if raw.form != TREE:
        open_raw(raw.paths)
    header_file = _header_file(raw, entries)
    return [
        Claim(
            owner.trace,
            owner.table,
            part,
            header_file,
            # A CSV that several tables share belongs to each of them.
            frozenset(name for other in owners if other is not owner for name in other.member_names)
            - owner.member_names,
        )
        for owner in owners
        for part in (split(raw, owner.table) if owner.table.converts_partitions else [raw])
    ]


def _owners(raw: RawFile, named: Sequence[Candidate], candidates: Sequence[Candidate]) -> list[_Owner]:
    """Find the tables of a raw file by its name, its header or the CSVs in it."""
    if len(named) == 1:
        return [_Owner(*named[0])]
    if raw.form == TREE:
        return _owners_of_tree(raw, named or candidates)
    if raw.is_archive:
        # If the name of an archive is known, it gets an owner even if no table fits its CSVs. Converting it
        # then reports the error.
        return _owners_in_archive(raw, named or candidates) or [_Owner(*first) for first in named[:1]]
    if all(reader_of(table, raw.file_name).read_names is None for _, table in named):
        return [_Owner(*each) for each in named]
    return [_owner_by_header(raw, named)]


def _named_for(raw: RawFile, table: Table) -> bool:
    if raw.is_archive:
        return bool(table.archive_stem and re.fullmatch(table.archive_stem, raw.stem))
    return table.key_values(raw.file_name, raw.folder) is not None


def _owners_of_tree(raw: RawFile, candidates: Sequence[Candidate]) -> list[_Owner]:
    """Find the tables of a tree by its first readable file that fits a table."""
    with data_files(raw) as files:
        for file in files:
            try:
                with file.opened() as stream:
                    member = Member(file.path.name, file.path.parent.as_posix(), stream)
                    if owners := _owners_of_member(member, candidates):
                        return [_Owner(*each) for each in owners]
            except RawFileError:
                continue
    return []


def _owner_by_header(raw: RawFile, named: Sequence[Candidate]) -> _Owner:
    with open_raw(raw.paths) as stream, explained(raw.paths):
        # Keep a reference to the iterator: Python closes the file when it deletes the iterator.
        members = data_members(stream, raw.form, raw.file_name, raw.folder)
        member = next(members)
        header = _read_names(member, str(raw.paths[0]), named)
    for trace, table in named:
        if reader_of(table, member.name).names_fit(table, header):
            return _Owner(trace, table)
    expected = " or ".join(",".join(c.name_in_file for c in table.columns) for _, table in named)
    what = f"the header is {shown(header)}; expected {expected}"
    raise RawFileError(raw.paths[0], what, FETCH_OR_MOVE, line=1)


def _owners_in_archive(raw: RawFile, candidates: Sequence[Candidate]) -> list[_Owner]:
    """Find the tables of the CSVs in an archive by the CSVs' names and headers."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    try:
        with open_raw(raw.paths) as stream, explained(raw.paths):
            members = data_members(
                stream,
                raw.form,
                raw.file_name,
                raw.folder,
                is_data=lambda name: any(table.has_name(name) for _, table in candidates),
            )
            seen: set[str] = set()
            for member in members:
                # Folders of partitions may contain thousands of files. The first one identifies the table.
                path = f"{member.folder}/{member.name}"
                tree = "/".join(part for part in path.split("/") if "=" not in part)
                if tree in seen:
                    continue
                owners_of_member = _owners_of_member(member, candidates)
                for trace, table in owners_of_member:
                    names[trace.name, table.name].add(member.name)
                if any(table.converts_partitions for _, table in owners_of_member):
                    seen.add(tree)
    except RawFileError:
        # The damage is reported later, when the archive is converted for one of the tables found so far.
        pass
    owners = [
        _Owner(trace, table, frozenset(names[trace.name, table.name]))
        for trace, table in candidates
        if (trace.name, table.name) in names
    ]
    for owner in owners:
        _check_is_one_partition(raw, owner.trace, owner.table)
    return owners


def _owners_of_member(member: Member, candidates: Sequence[Candidate]) -> list[Candidate]:
    named = [
        (trace, table)
        for trace, table in candidates
        if table.key_values(member.name, member.folder) is not None
    ]
    without_names = [
        (trace, table) for trace, table in named if reader_of(table, member.name).read_names is None
    ]
    if without_names or not named:
        return without_names
    try:
        names = _read_names(member, member.name, named)
    except RawFileError:
        return []
    fitting = [
        (trace, table)
        for trace, table in named
        if not table.has_header or reader_of(table, member.name).names_fit(table, names)
    ]
    return fitting[:1]


def _read_names(member: Member, file: str, named: Sequence[Candidate]) -> list[str]:
    """Read the columns' names in a data file.

    Any reader of the extension will do: formats that share an extension store the names in the same way.
    """
    readers = (reader_of(table, member.name) for _, table in named)
    reader, read_names = next((each, each.read_names) for each in readers if each.read_names)
    with seekable(member.stream) if reader.read_keys else nullcontext(member.stream) as stream:
        return read_names(stream, file)


def _check_is_one_partition(archive: RawFile, trace: Trace, table: Table) -> None:
    if table.partition_by and not table.converts_partitions:
        raise RawFileError(
            archive.paths[0],
            f"it is an archive of {trace.name}.{table.name}, whose files are read one by one",
            "Unpack it into the raw folder, with the folders that are in it",
        )

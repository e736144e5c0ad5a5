"""Find raw files in the raw folders, and match them to tables.

The publishers' file names identify the table. If a name matches several tables, or none, the names and
headers of the files inside decide. Files that match no table are listed as unrecognised, except hidden files
and documents such as a README.
"""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declarations import Table, Trace
from tracehouse.ingest.discovery.archives import Member
from tracehouse.ingest.discovery.packing import (
    Form,
    form_of,
    is_archive,
    is_bare,
    part_of,
    stem_of,
    whole_name,
)
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.discovery.unpack import data_members, explained, open_raw
from tracehouse.ingest.readers import reader_of
from tracehouse.ingest.readers.lines import shown
from tracehouse.ingest.store.manifest import Key

Group = tuple[str, str, str]
"""Trace, table and partition, to which several raw files may contribute."""

# Other files in clones and downloads, by the start of the name or the extension.
_NO_DATA = re.compile(
    r"(readme|licen[cs]e|copying|notice|citation|changelog|sha\d*sums|md5sums).*"
    r"|desktop\.ini|thumbs\.db"
    r"|.*\.(header|md|rst|pdf|bib|tex|py|ipynb|sh|png|jpe?g|gif|svg|sha\d*|md5)",
    re.IGNORECASE,
)
# A warehouse may lie below a raw folder, or be one: it is recognised by its work folder.
_WAREHOUSE_WORK = ".ingest"
_IN_WAREHOUSE = re.compile(r"parquet|records|datapackage\.json.*|traces\.duckdb.*")


@dataclass(frozen=True)
class RawFile:
    """One raw file: its paths (several where it was split, in order), and the folder it was found under.

    `bytes` is its size when it was found, all parts together. Names are fit to be shown and stored.
    """

    paths: tuple[Path, ...]
    form: Form
    root: Path
    bytes: int

    @property
    def whole_path(self) -> Path:
        """Where it lies; of a file in parts, where it would lie when they are joined."""
        return self.paths[0].with_name(whole_name(self.paths[0].name))

    @property
    def name(self) -> str:
        """The file's name; for a split archive, without the part's suffix."""
        return escape_name(self.whole_path.name)

    @property
    def stem(self) -> str:
        """The name without the ending that says how the file is packed."""
        return stem_of(self.name)

    @property
    def source_name(self) -> str:
        """The file's name without what says how it is packed, by which a newer version is recognised."""
        return self.stem if self.is_archive else self.file_name

    @property
    def file_name(self) -> str:
        """The name of a plain or compressed file when it is not compressed."""
        return self.stem if is_bare(self.name) else f"{self.stem}.{self.form.partition('.')[0]}"

    @property
    def is_archive(self) -> bool:
        """Whether the CSVs in it have names of their own."""
        return is_archive(self.form)

    @property
    def folder(self) -> str:
        """The name of the folder that the file lies in."""
        return escape_name(self.paths[0].absolute().parent.name)

    @property
    def relative_name(self) -> str:
        """Where the file lies below its raw folder, with forward slashes."""
        return _below(self.root, self.whole_path)


@dataclass(frozen=True)
class Claim:
    """A raw file and the table whose rows it holds.

    `elsewhere` are the CSVs in it that are of other tables, which claim them.
    """

    trace: Trace
    table: Table
    raw: RawFile
    header_file: Path | None
    elsewhere: frozenset[str] = frozenset()

    @property
    def group(self) -> Group:
        """The table, or partition of one, that its rows go to."""
        keys = self.table.key_values(self.raw.file_name, self.raw.folder) or {}
        partition = "/".join(f"{key}={keys[key]}" for key in self.table.partition_by)
        return self.trace.name, self.table.name, partition

    @property
    def key(self) -> Key:
        """The key of the conversion that it gives."""
        return (*self.group, self.raw.source_name)


@dataclass(frozen=True)
class Found:
    """All that lies below the raw folders.

    `unrecognised` are the names of files that hold no table of any trace, below their raw folders, and
    `documents` those of READMEs, licences and the like, which are not opened.
    `problems` are the folders and files that cannot be read, and so cannot be claimed for a table.
    """

    claims: tuple[Claim, ...]
    unrecognised: tuple[str, ...]
    documents: tuple[str, ...]
    problems: tuple[RawFileError, ...]


@dataclass(frozen=True)
class _Entry:
    """A directory entry that is no folder. A broken link counts as a file of no bytes."""

    root: Path
    path: Path
    bytes: int


@dataclass(frozen=True)
class _Owner:
    """A table that a raw file holds rows of; `member_names` are its CSVs in an archive of several tables."""

    trace: Trace
    table: Table
    member_names: frozenset[str] = frozenset()


def find(raw_folders: Sequence[Path], traces: Iterable[Trace], all_traces: Iterable[Trace]) -> Found:
    """Look through `raw_folders` for the files of `traces`.

    Files of the other traces in `all_traces` are left alone; files of no trace are `unrecognised`.
    """
    wanted = {trace.name for trace in traces}
    candidates = [(trace, table) for trace in all_traces for table in trace.tables]
    claims: list[Claim] = []
    problems: list[RawFileError] = []
    entries = list(_walk(raw_folders, problems))
    bare = {name for entry in entries if _is_bare_data(name := entry.path.name, candidates)}
    unrecognised = [
        _below(entry.root, entry.path)
        for entry in entries
        if _is_unknown(entry.path.name) and entry.path.name not in bare
    ]
    documents = sorted(_below(entry.root, entry.path) for entry in entries if _is_document(entry.path.name))
    for copies in _raw_files(entries, bare):
        raw = copies[0]
        named = [(trace, table) for trace, table in candidates if _named_for(raw, table)]
        if named and wanted.isdisjoint(trace.name for trace, _ in named):
            continue
        try:
            owners = _owners(raw, named, candidates)
            if not owners:
                unrecognised += [_below(raw.root, path) for copy in copies for path in copy.paths]
            elif any(owner.trace.name in wanted for owner in owners):
                _check_same_size(copies)
                claims += [
                    claim
                    for copy in copies
                    for claim in _claims(copy, owners, entries)
                    if claim.trace.name in wanted
                ]
        except RawFileError as problem:
            problems.append(problem)
    return Found(tuple(claims), tuple(sorted(unrecognised)), tuple(documents), tuple(problems))


def _walk(raw_folders: Sequence[Path], problems: list[RawFileError]) -> Iterator[_Entry]:
    """Every file below the folders, once, in a fixed order, except hidden ones."""
    seen: set[str] = set()
    for root in raw_folders:
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            real = os.path.realpath(folder)
            if real in seen:
                continue
            seen.add(real)
            subfolders = []
            for path in _paths_in(folder, problems):
                status = _status(path)
                if status and stat.S_ISDIR(status.st_mode):
                    subfolders.append(path)
                else:
                    yield _Entry(root, path, status.st_size if status else 0)
            waiting += reversed(subfolders)


def _paths_in(folder: Path, problems: list[RawFileError]) -> list[Path]:
    """The paths in a folder, except hidden ones and those that an ingest wrote."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as refusal:
        what = f"the folder cannot be read ({refusal.strerror})"
        problems.append(RawFileError(folder, what, "Make it readable, or move it away"))
        return []
    is_warehouse = any(path.name == _WAREHOUSE_WORK for path in paths)
    return [
        path
        for path in paths
        if not path.name.startswith(".") and not (is_warehouse and _IN_WAREHOUSE.fullmatch(path.name))
    ]


def _status(path: Path) -> os.stat_result | None:
    """The status of what a path leads to, or None for a broken link: opening it later reports the error."""
    try:
        return path.stat()
    except OSError:
        return None


def _below(root: Path, path: Path) -> str:
    """Where a file lies below its raw folder, with forward slashes."""
    return escape_name(path.relative_to(root).as_posix())


def _is_unknown(name: str) -> bool:
    """Whether a file of this name is neither data, as far as the name says, nor a document."""
    return form_of(whole_name(name)) is None and name != MARKER_NAME and not _NO_DATA.fullmatch(name)


def _is_bare_data(name: str, candidates: Sequence[tuple[Trace, Table]]) -> bool:
    """Whether a file's name has no ending, and is that of a table's files."""
    return is_bare(name) and any(table.has_name(name) for _, table in candidates)


def _is_document(name: str) -> bool:
    """Whether a file of this name is a document. Header files are not, because they are read."""
    return bool(_NO_DATA.fullmatch(name)) and not name.endswith(".header")


def _header_file(raw: RawFile, entries: Sequence[_Entry]) -> Path | None:
    """The `.header` file of a raw file: the one in its folder, otherwise the first of that name anywhere."""
    name = f"{raw.stem}.header"
    named = [entry.path for entry in entries if entry.path.name == name]
    in_folder = [path for path in named if path.parent == raw.paths[0].parent]
    return next(iter(in_folder + named), None)


def _raw_files(entries: Sequence[_Entry], bare: Collection[str]) -> Iterator[list[RawFile]]:
    """All files that are data by their names, each a list: the whole file, if any, then its sets of parts.

    `bare` are the names without an ending that are those of data.
    """
    files: dict[Path, dict[str, list[_Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        name = entry.path.name
        if form_of(whole_name(name)) or name in bare:
            part = part_of(name)
            files[entry.path.with_name(whole_name(name))][part.style if part else ""].append(entry)
    for whole, styles in files.items():
        form: Form = form_of(whole.name) or "csv"
        yield [_raw_file(styles[style], form) for style in sorted(styles)]


def _raw_file(entries: Sequence[_Entry], form: Form) -> RawFile:
    def number(entry: _Entry) -> int:
        part = part_of(entry.path.name)
        return part.number if part else 0

    paths = tuple(entry.path for entry in sorted(entries, key=number))
    return RawFile(paths, form, entries[0].root, sum(entry.bytes for entry in entries))


def _check_same_size(copies: Sequence[RawFile]) -> None:
    """Raises RawFileError where a file and its parts, side by side, cannot be the same."""
    first = copies[0]
    for other in copies[1:]:
        if other.bytes != first.bytes:
            raise differing_parts(other, first)


def differing_parts(raw: RawFile, other: RawFile) -> RawFileError:
    """The error about parts that differ from the whole file in the same folder."""
    more = len(raw.paths) - 1
    it_differs = f"it and {more} more part{'s' * (more > 1)} differ" if more else "this part differs"
    return RawFileError(
        raw.paths[0],
        f"{it_differs} from {escape_name(other.paths[0])} ({raw.bytes:,} and {other.bytes:,} bytes)",
        "Move the parts, or the whole file, out of the raw folders",
    )


def _claims(raw: RawFile, owners: Sequence[_Owner], entries: Sequence[_Entry]) -> list[Claim]:
    open_raw(raw.paths)
    header_file = _header_file(raw, entries)
    return [
        Claim(
            owner.trace,
            owner.table,
            raw,
            header_file,
            # What several tables are made of is each one's own.
            frozenset(name for other in owners if other is not owner for name in other.member_names)
            - owner.member_names,
        )
        for owner in owners
    ]


def _owners(
    raw: RawFile, named: Sequence[tuple[Trace, Table]], candidates: Sequence[tuple[Trace, Table]]
) -> list[_Owner]:
    """The tables that a raw file belongs to, by its name, by its header, or by the CSVs that it holds."""
    if len(named) == 1:
        return [_Owner(*named[0])]
    if raw.is_archive:
        # An archive known by its name gets an owner in any case: reading it reports what is wrong with it.
        return _owners_in_archive(raw, named or candidates) or [_Owner(*first) for first in named[:1]]
    if all(reader_of(table, raw.file_name).read_names is None for _, table in named):
        return [_Owner(*each) for each in named]
    return [_owner_by_header(raw, named)]


def _named_for(raw: RawFile, table: Table) -> bool:
    if raw.is_archive:
        return bool(table.archive_stem and re.fullmatch(table.archive_stem, raw.stem))
    return table.key_values(raw.file_name, raw.folder) is not None


def _owner_by_header(raw: RawFile, named: Sequence[tuple[Trace, Table]]) -> _Owner:
    with open_raw(raw.paths) as stream, explained(raw.paths):
        member = next(data_members(stream, raw.form, raw.file_name, raw.folder))
        header = _read_names(member, str(raw.paths[0]), named)
    for trace, table in named:
        if reader_of(table, member.name).names_fit(table, header):
            return _Owner(trace, table)
    expected = " or ".join(",".join(c.name_in_file for c in table.columns) for _, table in named)
    raise RawFileError(
        raw.paths[0],
        f"the header is {shown(header)}; expected {expected}",
        "Fetch the file again from its publisher, or move it out of the raw folder",
        line=1,
    )


def _owners_in_archive(raw: RawFile, candidates: Sequence[tuple[Trace, Table]]) -> list[_Owner]:
    """The tables that an archive holds CSVs of, by the names and headers inside; empty if it holds none."""
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
            for member in members:
                for trace, table in _owners_of_member(member, candidates):
                    names[trace.name, table.name].add(member.name)
    except RawFileError:
        # Reading it for one of the tables found so far reports the damage.
        pass
    owners = [
        _Owner(trace, table, frozenset(names[trace.name, table.name]))
        for trace, table in candidates
        if (trace.name, table.name) in names
    ]
    for owner in owners:
        _check_is_one_partition(raw, owner.trace, owner.table)
    return owners


def _owners_of_member(member: Member, candidates: Sequence[tuple[Trace, Table]]) -> list[tuple[Trace, Table]]:
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


def _read_names(member: Member, file: str, named: Sequence[tuple[Trace, Table]]) -> list[str]:
    """The columns' names in a data file. Formats that share an extension have them in the same place."""
    readers = (reader_of(table, member.name) for _, table in named)
    read_names = next(reader.read_names for reader in readers if reader.read_names)
    return read_names(member.stream, file)


def _check_is_one_partition(raw: RawFile, trace: Trace, table: Table) -> None:
    if raw.is_archive and table.partition_by:
        raise RawFileError(
            raw.paths[0],
            f"it is an archive of {trace.name}.{table.name}, whose files are read one by one",
            "Unpack it into the raw folder, with the folders that are in it",
        )

"""Finds raw files: walks the raw folders and says which file belongs to which table.

Names decide first, as the publishers chose them; where a name fits two tables, or none, the first CSV's
name and header inside decide. What nothing claims is listed, never passed over in silence.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracehouse.ingest.declare import Table, Trace
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.manifest import Key
from tracehouse.ingest.records import read_header, shown
from tracehouse.ingest.typed_csv import header_fits
from tracehouse.ingest.unpack import csv_members, explained, open_raw

Form = Literal["csv", "csv.gz", "csv.xz", "tar.gz"]

Group = tuple[str, str, str]
"""Trace, table and partition: what several raw files may give together."""

_PART = re.compile(r"(?P<name>.+)\.part(?P<part>[a-z]{2})")
_FORMS: tuple[tuple[str, Form], ...] = (
    (".tar.gz", "tar.gz"),
    (".tgz", "tar.gz"),
    (".csv.gz", "csv.gz"),
    (".csv.xz", "csv.xz"),
    (".csv", "csv"),
)
_PACKINGS = (".tar.gz", ".tgz", ".gz", ".xz", "")


@dataclass(frozen=True)
class RawFile:
    """One raw file: its paths (several where it was split, in order), and the folder it was found under."""

    paths: tuple[Path, ...]
    form: Form
    root: Path

    @property
    def name(self) -> str:
        """The file's name; for a split archive, without the part's suffix."""
        part = _PART.fullmatch(self.paths[0].name)
        return part["name"] if part else self.paths[0].name

    @property
    def source_name(self) -> str:
        """The file's name without what says how it is packed: that which another version of it has too."""
        return next(self.name.removesuffix(end) for end in _PACKINGS if self.name.endswith(end))

    @property
    def is_archive(self) -> bool:
        """Whether it may hold several CSVs."""
        return self.form == "tar.gz"

    @property
    def csv_name(self) -> str:
        """The name of the CSV in a plain or compressed file."""
        return self.name.removesuffix(".gz").removesuffix(".xz")

    @property
    def folder(self) -> str:
        """The name of the folder that the file lies in."""
        return self.paths[0].absolute().parent.name

    @property
    def relative_name(self) -> str:
        """Where the file lies below its raw folder, with forward slashes."""
        return (self.paths[0].relative_to(self.root).parent / self.name).as_posix()

    @property
    def bytes(self) -> int:
        """The size of the file, or of all its parts together."""
        return sum(path.stat().st_size for path in self.paths)


@dataclass(frozen=True)
class Claim:
    """A raw file and the table whose rows it holds."""

    trace: Trace
    table: Table
    raw: RawFile
    header_file: Path | None

    @property
    def group(self) -> Group:
        """The table, or partition of one, that its rows go to."""
        return _group(self.trace, self.table, self.raw)

    @property
    def key(self) -> Key:
        """The conversion that it gives."""
        return (*self.group, self.raw.source_name)


@dataclass(frozen=True)
class Found:
    """All that lies below the raw folders.

    `unsure` are the groups that a file with a problem belongs to or may belong to, whose claims are not all
    of their files; without a partition, all of a table.
    """

    claims: tuple[Claim, ...]
    unrecognised: tuple[RawFile, ...]
    problems: tuple[RawFileError, ...]
    unsure: frozenset[Group | tuple[str, str]]

    def is_unsure(self, group: Group) -> bool:
        """Whether the claims may not be all files of a group."""
        return group in self.unsure or group[:2] in self.unsure


def find(raw_folders: Sequence[Path], traces: Iterable[Trace], all_traces: Iterable[Trace]) -> Found:
    """Look through `raw_folders` for the files of `traces`.

    Files of the other traces in `all_traces` are left alone; files of no trace are `unrecognised`.
    """
    wanted = {trace.name for trace in traces}
    candidates = [(trace, table) for trace in all_traces for table in trace.tables]
    claims: list[Claim] = []
    unrecognised: list[RawFile] = []
    problems: list[RawFileError] = []
    unsure: set[Group | tuple[str, str]] = set()
    files = list(_walk(raw_folders, problems))
    if problems:
        # Whatever table may have a file in a folder that cannot be read.
        unsure |= {(trace.name, table.name) for trace, table in candidates}
    for raw in _raw_files(files):
        owners = [(trace, table) for trace, table in candidates if _named_for(raw, table)]
        if owners and wanted.isdisjoint(trace.name for trace, _ in owners):
            continue
        try:
            owner = _owner(raw, owners, candidates)
            if owner is None:
                unrecognised.append(raw)
            elif owner[0].name in wanted:
                open_raw(raw.paths)
                claims.append(Claim(*owner, raw, _header_file(raw, files)))
        except RawFileError as problem:
            problems.append(problem)
            unsure |= {_group(trace, table, raw) for trace, table in owners}
    return Found(tuple(claims), tuple(unrecognised), tuple(problems), frozenset(unsure))


def _walk(raw_folders: Sequence[Path], problems: list[RawFileError]) -> Iterator[tuple[Path, Path]]:
    """Every file below the folders, once, in a fixed order, with the folder it was found under."""

    def note(refusal: OSError) -> None:
        what = f"the folder cannot be read ({refusal.strerror})"
        problems.append(RawFileError(refusal.filename, what, "Make it readable, or move it away"))

    seen: set[str] = set()
    for root in raw_folders:
        for folder, subfolders, names in os.walk(root, followlinks=True, onerror=note):
            real = os.path.realpath(folder)
            if real in seen:
                subfolders.clear()
                continue
            seen.add(real)
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            yield from ((root, Path(folder, name)) for name in sorted(names) if name[0] != ".")


def _header_file(raw: RawFile, files: Sequence[tuple[Path, Path]]) -> Path | None:
    """The `.header` file of a raw file: the one beside it, or else the first of that name anywhere."""
    name = raw.name.split(".", 1)[0] + ".header"
    named = [path for _, path in files if path.name == name]
    beside = [path for path in named if path.parent == raw.paths[0].parent]
    return next(iter(beside + named), None)


def _raw_files(files: Sequence[tuple[Path, Path]]) -> Iterator[RawFile]:
    """Joins the parts of split archives, and drops what is no data file at all."""
    parts: dict[tuple[Path, Path], list[Path]] = defaultdict(list)
    for root, path in files:
        part = _PART.fullmatch(path.name)
        whole = path.with_name(part["name"]) if part else path
        parts[root, whole].append(path)
    for (root, whole), paths in parts.items():
        form = next((form for ending, form in _FORMS if whole.name.endswith(ending)), None)
        if form is None or whole.name.startswith("._"):
            continue
        if whole in paths:
            yield RawFile((whole,), form, root)
        else:
            yield RawFile(tuple(sorted(paths)), form, root)


def _owner(
    raw: RawFile, by_name: Sequence[tuple[Trace, Table]], candidates: Sequence[tuple[Trace, Table]]
) -> tuple[Trace, Table] | None:
    """The table that a raw file belongs to, or None."""
    if len(by_name) == 1:
        return by_name[0]
    if not by_name and raw.form != "tar.gz":
        return None
    return _owner_by_content(raw, by_name or candidates, must_fit=bool(by_name))


def _named_for(raw: RawFile, table: Table) -> bool:
    if raw.form == "tar.gz":
        return bool(table.archive_name and re.fullmatch(table.archive_name, raw.name))
    return table.key_values(raw.csv_name, raw.folder) is not None


def _group(trace: Trace, table: Table, raw: RawFile) -> Group:
    keys = table.key_values(raw.csv_name, raw.folder) or {}
    return trace.name, table.name, "/".join(f"{key}={keys[key]}" for key in table.partition_by)


def _owner_by_content(
    raw: RawFile, candidates: Sequence[tuple[Trace, Table]], must_fit: bool
) -> tuple[Trace, Table] | None:
    """Reads as far as the first CSV's first line. An archive of unknown name and content is nobody's."""
    try:
        with open_raw(raw.paths) as stream, explained(raw.paths):
            members = csv_members(stream, raw.form, raw.csv_name, raw.folder)
            member = next(members, None)
            header = read_header(member.stream, str(raw.paths[0])) if member else []
    except RawFileError:
        if must_fit:
            raise
        return None
    if member is None:
        return None
    for trace, table in candidates:
        named = table.key_values(member.name, member.folder) is not None
        if named and (not table.has_header or header_fits(table, header)):
            _check_is_one_partition(raw, trace, table)
            return trace, table
    if must_fit:
        expected = " or ".join(",".join(c.name for c in table.columns) for _, table in candidates)
        raise RawFileError(
            raw.paths[0],
            f"the header is {shown(header)}; expected {expected}",
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=1,
        )
    return None


def _check_is_one_partition(raw: RawFile, trace: Trace, table: Table) -> None:
    if raw.form == "tar.gz" and table.partition_by:
        raise RawFileError(
            raw.paths[0],
            f"it is an archive of {trace.name}.{table.name}, whose files are read one by one",
            "Unpack it into the raw folder, with the folders that are in it",
        )

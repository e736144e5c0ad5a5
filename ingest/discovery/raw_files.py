"""Find the files below the raw folders, and combine the parts of split files."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.discovery.packing import (
    TREE,
    Form,
    form_of,
    is_archive,
    is_bare,
    part_of,
    stem_of,
    whole_name,
)

# A warehouse may be inside a raw folder, or be a raw folder itself. Its work folder identifies it.
_WAREHOUSE_WORK = ".ingest"
_IN_WAREHOUSE = re.compile(r"parquet|records|datapackage\.json.*|traces\.duckdb.*")


@dataclass(frozen=True)
class Entry:
    """A file in a raw folder. A broken link counts as a file of 0 bytes."""

    root: Path
    path: Path
    bytes: int


@dataclass(frozen=True)
class RawFile:
    """A raw file: its path, or the paths of its parts in order, and its raw folder `root`.

    `bytes` is the total size when the file was found. Names are escaped for messages and storage.
    With a `partition` (see `partitions`), the object stands for the rows of this partition only, in a file,
    an archive or a tree of folders. `members` are the paths of its data files in the archive or tree.
    """

    paths: tuple[Path, ...]
    form: Form
    root: Path
    bytes: int
    partition: str = ""
    members: tuple[str, ...] = ()

    @cached_property
    def whole_path(self) -> Path:
        """The path of the file, of the joined file if it is split, or of the top folder of a tree."""
        if self.form == TREE:
            # The raw folder may be given as a relative path inside the tree.
            return self.paths[0].absolute().parents[self.members[0].count("/")]
        return self.paths[0].with_name(whole_name(self.paths[0].name))

    @cached_property
    def name(self) -> str:
        """The file's name; for a split archive, without the part's suffix."""
        return escape_name(self.whole_path.name)

    @cached_property
    def stem(self) -> str:
        """The name without the extensions of its format and packing."""
        return stem_of(self.name)

    @cached_property
    def source_name(self) -> str:
        """The name without the packing. Newer versions of the file have the same name."""
        return self.stem if self.is_archive else self.file_name

    @cached_property
    def file_name(self) -> str:
        """The name of a plain or compressed file after decompression."""
        return self.stem if is_bare(self.name) else f"{self.stem}.{self.form.partition('.')[0]}"

    @cached_property
    def is_archive(self) -> bool:
        """Whether the raw file contains data files with their own names."""
        return is_archive(self.form)

    @cached_property
    def folder(self) -> str:
        """The path of the file's folder."""
        return escape_name(self.paths[0].absolute().parent.as_posix())

    @cached_property
    def relative_name(self) -> str:
        """The path below the raw folder, with forward slashes, and the partition."""
        root, path = self.root.absolute(), self.whole_path.absolute()
        # The raw folder may be inside the tree.
        below = path_below(root, path) if path.is_relative_to(root) else self.name
        return PurePosixPath(below, self.partition).as_posix() if self.partition else below


def walk_folders(raw_folders: Sequence[Path], problems: list[RawFileError]) -> Iterator[Entry]:
    """Yield each file below the folders once, in a fixed order, without hidden files.

    Appends an error to `problems` for each folder that cannot be read.
    """
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
                    yield Entry(root, path, status.st_size if status else 0)
            waiting += reversed(subfolders)


def _paths_in(folder: Path, problems: list[RawFileError]) -> list[Path]:
    """Return the paths in a folder, except hidden files and files that an ingest wrote."""
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
    """Return the status of a path's target, or None for a broken link. Opening it later reports the error."""
    try:
        return path.stat()
    except OSError:
        return None


def path_below(root: Path, path: Path) -> str:
    """Return a file's path below its raw folder, with forward slashes."""
    return escape_name(path.relative_to(root).as_posix())


def group_raw_files(entries: Sequence[Entry], bare: Collection[str]) -> Iterator[list[RawFile]]:
    """Yield a list of copies for each data file: the whole file, if any, then its sets of parts.

    `bare` are the names of data files without an extension.
    """
    files: dict[Path, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        name = entry.path.name
        if form_of(whole_name(name)) or name in bare:
            part = part_of(name)
            files[entry.path.with_name(whole_name(name))][part.style if part else ""].append(entry)
    for whole, styles in files.items():
        form: Form = form_of(whole.name) or "csv"
        yield [_raw_file(styles[style], form) for style in sorted(styles)]


def _raw_file(entries: Sequence[Entry], form: Form) -> RawFile:
    def number(entry: Entry) -> int:
        part = part_of(entry.path.name)
        return part.number if part else 0

    paths = tuple(entry.path for entry in sorted(entries, key=number))
    return RawFile(paths, form, entries[0].root, sum(entry.bytes for entry in entries))


def check_same_size(copies: Sequence[RawFile]) -> None:
    """Raise RawFileError if a file and its parts in the same folder differ in size."""
    first = copies[0]
    for other in copies[1:]:
        if other.bytes != first.bytes:
            raise differing_parts(other, first)


def differing_parts(raw: RawFile, other: RawFile) -> RawFileError:
    """Return the error about parts that differ from the whole file in the same folder."""
    more = len(raw.paths) - 1
    it_differs = f"it and {more} more part{'s' * (more > 1)} differ" if more else "this part differs"
    return RawFileError(
        raw.paths[0],
        f"{it_differs} from {escape_name(other.paths[0])} ({raw.bytes:,} and {other.bytes:,} bytes)",
        "Move the parts, or the whole file, out of the raw folders",
    )

"""Find the partitions in raw files: in trees of folders, in zips, and in files with the keys as columns.

    asi_opensource_pod_hourly/day=3/hour=07/part-000.parquet

is a data file of the partition day=3 of the tree asi_opensource_pod_hourly. A zip of these folders is read
like the tree. Its directory lists the members, which are read without extracting them.
"""

import hashlib
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from isal import isal_zlib

from tracehouse.core.errors import FETCH_AGAIN, RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.discovery.archives import READ_BYTES, open_in_zip, open_zip
from tracehouse.ingest.discovery.packing import TREE, form_of
from tracehouse.ingest.discovery.raw_files import Entry, RawFile
from tracehouse.ingest.discovery.raw_stream import check_first_bytes, explained, sha256_of
from tracehouse.ingest.discovery.unpack import seekable
from tracehouse.ingest.readers import reader_of


@dataclass(frozen=True)
class DataFile:
    """A data file of a partition: its path in the tree or archive, its path for errors, and its content."""

    path: PurePosixPath
    shown_path: str
    open: Callable[[], BinaryIO]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the data file for a reader that seeks. Raises RawFileError if its packing is damaged."""
        with explained((Path(self.shown_path),)), self.open() as stream, seekable(stream) as content:
            check_first_bytes(Path(self.shown_path), content.read(1024), 0)
            content.seek(0)
            yield content


def find_trees(entries: Sequence[Entry], tables: Iterable[Table]) -> tuple[list[RawFile], list[Entry]]:
    """Combine the files in trees of folders to one raw file per partition.

    Returns these raw files and the remaining entries.
    """
    partitioned = [table for table in tables if table.converts_partitions]
    trees: dict[tuple[Path, str], list[Entry]] = defaultdict(list)
    others = []
    for entry in entries:
        path = entry.path.absolute()
        for table in partitioned:
            partition = _partition_in_path(table, path.as_posix())
            if partition:
                trees[path.parents[table.folder_depth], partition].append(entry)
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


def _partition_in_path(table: Table, path: str) -> str:
    """Return the partition in a data file's path; empty if the path names none or is not of this table."""
    folder, _, name = escape_name(path).rpartition("/")
    return table.partition_of(table.key_values(name, folder) or {})


def split(raw: RawFile, table: Table) -> list[RawFile]:
    """Split a raw file of a table that `converts_partitions` into one raw file per partition.

    Raises RawFileError if the file is damaged, or packed so that its partitions cannot be read one by one.
    """
    if raw.partition:
        return [raw]
    if raw.form == "zip" and len(raw.paths) == 1:
        return _split_zip(raw, table)
    reader = None if raw.is_archive else reader_of(table, raw.file_name)
    if reader is None or reader.read_keys is None or len(raw.paths) > 1:
        raise RawFileError(
            raw.paths[0],
            "its partitions cannot be read one by one as it is packed",
            "Unpack it into the raw folder, with the folders that are in it",
        )
    with _only_file(raw).opened() as stream:
        found = reader.read_keys(stream, table, str(raw.paths[0]))
    if not found:
        raise RawFileError(raw.paths[0], "the file has no rows", FETCH_AGAIN)
    partitions = sorted(map(table.partition_of, found))
    return [replace(raw, partition=one, bytes=raw.bytes // len(partitions)) for one in partitions]


def _split_zip(raw: RawFile, table: Table) -> list[RawFile]:
    found: dict[str, list[zipfile.ZipInfo]] = defaultdict(list)
    for path, info in directory(raw.paths[0]).items():
        found[_partition_in_path(table, path)].append(info)
    _check_names(raw.paths[0], found.pop("", []))
    if not found:
        raise RawFileError(raw.paths[0], f"the archive contains no file of {table.name}", FETCH_AGAIN)
    return [
        replace(
            raw,
            partition=partition,
            members=tuple(sorted(info.filename for info in members)),
            bytes=sum(info.compress_size for info in members),
        )
        for partition, members in found.items()
    ]


def list_unknown(raw: RawFile, tables: Sequence[Table]) -> list[str]:
    """Return the names of data files in a zip of partitions that belong to none of the tables."""
    if raw.form != "zip" or len(raw.paths) > 1 or not any(table.converts_partitions for table in tables):
        return []
    return [
        f"{raw.relative_name}: {escape_name(path)}"
        for path in directory(raw.paths[0])
        if form_of(path) and not PurePosixPath(path).name.startswith("._")
        if not any(_may_have_rows(table, path) for table in tables)
    ]


def _may_have_rows(table: Table, path: str) -> bool:
    if table.converts_partitions:
        return bool(_partition_in_path(table, path))
    folder, _, name = path.rpartition("/")
    return table.key_values(name, folder) is not None


def _check_names(path: Path, others: Sequence[zipfile.ZipInfo]) -> None:
    """Raise RawFileError if the name of a member differs in the directory and in its local header.

    The member may be a data file under a wrong name.
    """
    with explained((path,)), path.open("rb") as file, open_zip(file) as archive:
        for info in others:
            open_in_zip(archive, info).close()


def directory(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the directory of a zip: its entries by path.

    Raises RawFileError if the directory is damaged or lists a file twice.
    """
    with explained((path,)):
        status = path.stat()
        return _directory(path, status.st_size, status.st_mtime_ns)


# Cached because a directory has thousands of entries and is read for each partition. The size and the time of
# change are part of the cache's key.
@lru_cache(maxsize=4)
def _directory(path: Path, _: int, __: int) -> dict[str, zipfile.ZipInfo]:
    with path.open("rb") as file, open_zip(file) as archive:
        infos = archive.infolist()
    found = {info.filename: info for info in infos}
    for info in infos:
        if found[info.filename] is not info:
            what = f"the archive contains {escape_name(info.filename)} twice"
            raise RawFileError(path, what, FETCH_AGAIN)

    return found


def checksum(raw: RawFile, table: Table, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file or a partition.

    For a partition in a tree or a zip, it is the hash of a list of its data files with their sizes and
    CRC-32s. A tree and a zip with the same files have the same checksum. For a zip, only the directory is
    read. For a partition in a file that has the keys as columns, it is the SHA-256 of the file.
    """
    if not raw.members:
        return sha256_of(raw.paths, on_bytes)
    if raw.form == TREE:
        listed = [
            (path, *_size_and_crc(file, on_bytes)) for path, file in zip(raw.members, raw.paths, strict=True)
        ]
    else:
        infos = directory(raw.paths[0])
        listed = [(path, infos[path].file_size, infos[path].CRC) for path in raw.members]
    lines = []
    for path, size, crc in listed:
        parts = PurePosixPath(path).parts[-table.folder_depth - 1 :]
        lines.append(f"{'/'.join(parts)} {size} {crc:08x}\n")
    return hashlib.sha256("".join(sorted(lines)).encode(errors="surrogateescape")).hexdigest()


def has_directory(raw: RawFile) -> bool:
    """Return whether `checksum` reads only the directory of a zip and not the content."""
    return bool(raw.members) and raw.form != TREE


def _size_and_crc(path: Path, on_bytes: Callable[[int], None]) -> tuple[int, int]:
    size = crc = 0
    with explained((path,)), path.open("rb") as file:
        while block := file.read(READ_BYTES):
            crc = isal_zlib.crc32(block, crc)
            size += len(block)
            on_bytes(len(block))
    return size, crc


def without(raw: RawFile, positions: Iterable[int]) -> RawFile:
    """Return a partition without the data files at some positions."""
    left = [number for number in range(len(raw.members)) if number not in set(positions)]
    paths = tuple(raw.paths[number] for number in left) if raw.form == TREE else raw.paths
    return replace(raw, paths=paths, members=tuple(raw.members[number] for number in left))


@contextmanager
def data_files(raw: RawFile) -> Iterator[list[DataFile]]:
    """Yield the list of data files of a partition. They can be opened inside the block, one at a time."""
    if raw.form == TREE:
        yield [
            DataFile(PurePosixPath(escape_name(member)), str(path), partial(_open, path))
            for member, path in zip(raw.members, raw.paths, strict=True)
        ]
    elif not raw.members:
        yield [_only_file(raw)]
    else:
        path = raw.paths[0]
        infos = directory(path)
        with explained((path,)):
            file = path.open("rb", READ_BYTES)
            archive = open_zip(file)
        with file, archive:
            yield [
                DataFile(
                    PurePosixPath(escape_name(member)),
                    f"{path}: {escape_name(member)}",
                    partial(open_in_zip, archive, infos[member]),
                )
                for member in raw.members
            ]


def _only_file(raw: RawFile) -> DataFile:
    return DataFile(PurePosixPath(raw.folder, raw.file_name), str(raw.paths[0]), partial(_open, raw.paths[0]))


def _open(path: Path) -> BinaryIO:
    return path.open("rb")

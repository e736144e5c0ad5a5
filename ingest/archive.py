"""Read the data files in raw files as streams, without extracting archives to disk.

    for member in data_members(stream, raw):        a plain or compressed file, or a tar
    with data_files(raw) as files:                  one partition: in a tree of folders, a zip or a file

The publishers' tars are compressed with gzip, and ASI's zips contain folders of partitions or single files.
An archive without an end mark, or with a directory that does not match its files, counts as damaged, because
files may be missing from it.
"""

import errno
import hashlib
import io
import lzma
import shutil
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from isal import igzip, isal_zlib

from tracehouse.core.errors import FETCH_AGAIN, RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.raw_files import (
    TREE,
    RawFile,
    compression_of,
    data_file_name,
    form_of,
    is_bare,
    whole_name,
)
from tracehouse.ingest.raw_stream import (
    READ_BYTES,
    RawStream,
    UnreadableArchiveError,
    check_first_bytes,
    check_raw,
    sha256_of,
    translate_errors,
)

# Published archives have thousands of files at most.
MOST_MEMBERS = 20_000

# An extended header contains a long name, or attributes from the system that wrote the archive.
_LONGEST_TAR_HEADER_BYTES = 1 << 20
_TAR_END = bytes(tarfile.BLOCKSIZE)
_ZIP_END_MARK = b"PK\5\6"
_ZIP_END_BYTES = 22 + (1 << 16)
_ZIP_ENCRYPTED = 0x1
# The number of files in the end record of a zip if the real number does not fit into 16 bits.
_ZIP_MANY_ENTRIES = 0xFFFF
# The header of an xz file can demand up to 4 GiB of memory. `xz -9` takes 65 MiB.
_MOST_XZ_BYTES = 256 << 20
# Larger streams are copied to the disk.
_MOST_BYTES_IN_MEMORY = 64 << 20


@dataclass(frozen=True)
class Member:
    """A data file inside a raw file: its name, the path of its folder, and its bytes."""

    name: str
    folder: str
    stream: BinaryIO


def data_members(
    stream: RawStream,
    raw: RawFile,
    is_data: Callable[[str], bool],
    on_skipped: Callable[[str], None] = lambda _: None,
) -> Iterator[Member]:
    """Yield the data files in an open raw file, in order. The caller reads each one before the next.

    `is_data` decides whether a member without an extension is read. `on_skipped` is called with the name of
    each member that looks like a data file but is not read, such as a link, and the reason.
    """
    if raw.form == "zip":
        with raw.paths[0].open("rb") as file, open_zip(file) as archive:
            yield from _zip_members(archive, is_data)
        return
    if len(raw.paths) == 1 and raw.form == "parquet":
        # The reader seeks in a handle of its own. `stream` hashes the bytes afterwards.
        with raw.paths[0].open("rb") as file:
            yield Member(raw.file_name, raw.folder, file)
        return
    unpacked = cast(BinaryIO, io.BufferedReader(stream, READ_BYTES))
    match compression_of(raw.form):
        case "gz":
            unpacked = cast(BinaryIO, igzip.IGzipFile(fileobj=unpacked))
        case "xz":
            unpacked = cast(BinaryIO, io.BufferedReader(_Xz(unpacked), READ_BYTES))
    if raw.form.startswith("tar"):
        yield from _tar_members(unpacked, on_skipped, is_data)
    else:
        yield Member(raw.file_name, raw.folder, unpacked)


class _Xz(io.RawIOBase):
    """The decompressed bytes of one xz stream. Python's own class ignores bytes after it."""

    def __init__(self, packed: BinaryIO):
        self._packed = packed
        self._decompressor = lzma.LZMADecompressor(memlimit=_MOST_XZ_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._decompressor.eof:
            packed = self._packed.read(READ_BYTES) if self._decompressor.needs_input else b""
            if not packed and self._decompressor.needs_input:
                raise EOFError("it ends inside a compressed stream")
            unpacked = self._decompressor.decompress(packed, len(buffer))
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)
        if self._decompressor.unused_data or self._packed.read(1):
            raise lzma.LZMAError("more data after the end of the compressed stream")
        return 0


class _ForwardStream:
    """A stream in which tarfile can seek forwards only."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._position = 0
        self.last_read = b""

    def read(self, size: int) -> bytes:
        """Read a header for tarfile, which trusts the size that the header states.

        Raises ReadError if the size is absurd.
        """
        if not 0 <= size <= _LONGEST_TAR_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes is not valid")
        return self.take(size)

    def take(self, size: int) -> bytes:
        self.last_read = self._stream.read(size)
        self._position += len(self.last_read)
        return self.last_read

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise tarfile.ReadError("two members overlap")
        while self._position < position and self.take(min(READ_BYTES, position - self._position)):
            pass
        return self._position


class _Span(io.RawIOBase):
    """The next `size` bytes of a stream."""

    def __init__(self, stream: _ForwardStream, size: int):
        self._stream = stream
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.take(min(len(buffer), self._left))
        if not data and self._left:
            raise EOFError("the archive ends inside a member")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _tar_members(
    unpacked: BinaryIO, on_skipped: Callable[[str], None], is_data: Callable[[str], bool]
) -> Iterator[Member]:
    """Yield the data files in a tar, in order. For the arguments see `data_members`."""
    # tarfile's own stream mode copies every byte twice. Here tarfile reads only the headers.
    stream = _ForwardStream(unpacked)
    with _parsing(tarfile.ReadError):
        tar = tarfile.TarFile(fileobj=cast(BinaryIO, stream))
    count = 0
    while (info := _next_header(tar)) is not None:
        count += 1
        _check_count(count)
        path = PurePosixPath(info.name)
        name = _data_name(path, is_data)
        if name is None:
            if form_of(whole_name(path.name)) and not path.name.startswith("._"):
                on_skipped(f"{escape_name(path.name)}, which is compressed inside the archive")
        elif info.issparse():
            raise UnreadableArchiveError(f"{name} is stored as a sparse file")
        elif info.isfile():
            stream.seek(info.offset_data)
            span = io.BufferedReader(_Span(stream, info.size), READ_BYTES)
            yield Member(name, escape_name(path.parent.as_posix()), cast(BinaryIO, span))
        elif not info.isdir():
            on_skipped(f"{name}, which is {'a link' if info.islnk() or info.issym() else 'not a file'}")
    # tarfile treats a damaged or missing header as the end of the archive and silently drops later members.
    if stream.last_read != _TAR_END:
        ends_early = len(stream.last_read) < len(_TAR_END)
        raise tarfile.ReadError(
            "the archive ends without its end mark" if ends_early else "a header is damaged"
        )
    # The gzip checksum follows the end of the tar: reading on verifies it.
    while block := stream.take(READ_BYTES):
        if block.strip(b"\0"):
            raise tarfile.ReadError("more data after the end of the archive")


def _next_header(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    with _parsing(tarfile.ReadError):
        info = tar.next()
    # tarfile keeps the headers of all members, which would fill the memory.
    tar.members.clear()  # type: ignore[attr-defined]
    if info is not None and info.size < 0:
        raise tarfile.ReadError(f"a header is damaged: {escape_name(info.name)} has {info.size:,} bytes")
    return info


def _check_count(members: int) -> None:
    if members > MOST_MEMBERS:
        raise UnreadableArchiveError(f"it contains more than {MOST_MEMBERS:,} files and folders")


def _data_name(path: PurePosixPath, is_data: Callable[[str], bool]) -> str | None:
    """Return the name of a data file in an archive, None for any other file."""
    name = escape_name(path.name)
    if name.startswith("._"):
        return None
    return name if is_bare(name) and is_data(name) else data_file_name(name)


@contextmanager
def _parsing(damage: type[Exception], name: str = "a header") -> Iterator[None]:
    """Turn any exception that the standard library raises on a malformed header into `damage`."""
    try:
        yield
    except NotImplementedError as refusal:
        raise UnreadableArchiveError(f"{name} in it uses an unsupported feature: {refusal}") from refusal
    except (ValueError, LookupError, ArithmeticError, RecursionError, struct.error) as error:
        raise damage(f"a header is damaged: {error}") from error
    except OSError as error:
        # A seek to an impossible offset raises EINVAL. All other errors come from the disk.
        if error.errno != errno.EINVAL:
            raise
        raise damage(f"a header is damaged: {error}") from error


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip and read its directory.

    Raises BadZipFile if the directory is damaged or does not list all files, and UnreadableArchiveError if it
    lists too many.
    """
    with _parsing(zipfile.BadZipFile):
        archive = zipfile.ZipFile(file)
    count = len(archive.infolist())
    _check_count(count)
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _ZIP_END_BYTES))
    end = file.read()
    found = end.rfind(_ZIP_END_MARK)
    if int.from_bytes(end[found + 10 : found + 12], "little") not in (count, _ZIP_MANY_ENTRIES):
        raise zipfile.BadZipFile("its directory does not list all files")
    return archive


def _zip_members(archive: zipfile.ZipFile, is_data: Callable[[str], bool]) -> Iterator[Member]:
    """Yield the data files in a zip, in the order of its directory."""
    for info in archive.infolist():
        path = PurePosixPath(info.filename)
        name = None if info.is_dir() else _data_name(path, is_data)
        if name is not None:
            with open_in_zip(archive, info) as unpacked:
                yield Member(name, escape_name(path.parent.as_posix()), unpacked)


def open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    """Open a member of a zip. Raises UnreadableArchiveError or BadZipFile if the member cannot be read."""
    name = escape_name(info.filename)
    if info.flag_bits & _ZIP_ENCRYPTED:
        raise UnreadableArchiveError(f"{name} in it is encrypted")
    with _parsing(zipfile.BadZipFile, name):
        return cast(BinaryIO, archive.open(info))


def directory(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the directory of a zip: its entries by path.

    Raises RawFileError if the directory is damaged or lists a file twice.
    """
    with translate_errors((path,)):
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


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the stream itself if it is a file or in memory, otherwise a copy in memory or on the disk.

    A member of a zip is always copied: seeking in it is slow, and reading it to its end verifies its CRC-32.
    """
    if stream.seekable() and not isinstance(stream, zipfile.ZipExtFile):
        yield stream
    else:
        with tempfile.SpooledTemporaryFile(_MOST_BYTES_IN_MEMORY) as copy:
            shutil.copyfileobj(stream, copy, READ_BYTES)
            copy.seek(0)
            yield cast(BinaryIO, copy)


@dataclass(frozen=True)
class DataFile:
    """A data file of a partition: its path in the tree or archive, its path for errors, and its content."""

    path: PurePosixPath
    shown_path: str
    open: Callable[[], BinaryIO]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the data file for a reader that seeks. Raises RawFileError if its packing is damaged."""
        with translate_errors((Path(self.shown_path),)), self.open() as stream, seekable(stream) as content:
            check_first_bytes(Path(self.shown_path), content.read(1024), 0)
            content.seek(0)
            yield content


@contextmanager
def data_files(raw: RawFile) -> Iterator[list[DataFile]]:
    """Yield the list of data files of a partition. They can be opened inside the block, one at a time."""
    if raw.form == TREE:
        yield [
            DataFile(PurePosixPath(escape_name(member)), str(path), partial(_open, path))
            for member, path in zip(raw.members, raw.paths, strict=True)
        ]
    elif not raw.members:
        path = raw.paths[0]
        yield [DataFile(PurePosixPath(raw.folder, raw.file_name), str(path), partial(_open, path))]
    else:
        path = raw.paths[0]
        infos = directory(path)
        with translate_errors((path,)):
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


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def checksum(raw: RawFile, table: Table, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file or a partition.

    For a partition in a tree or a zip, it is the hash of a list of its data files with their sizes and
    CRC-32s. A tree and a zip with the same files have the same checksum. For a zip, only the directory is
    read. For a partition in a file that has the keys as columns, it is the SHA-256 of the file.
    """
    if not raw.members:
        return sha256_of(raw.paths, on_bytes)
    if table.wide:
        check_raw(raw.paths)
        return combine_checksums(raw, table, [sha256_of((path,), on_bytes) for path in raw.paths])
    if raw.form == TREE:
        listed = [_size_and_crc(path, on_bytes) for path in raw.paths]
    else:
        infos = directory(raw.paths[0])
        listed = [(infos[path].file_size, infos[path].CRC) for path in raw.members]
    return combine_checksums(raw, table, [f"{size} {crc:08x}" for size, crc in listed])


def combine_checksums(raw: RawFile, table: Table, checksums: Sequence[str]) -> str:
    """Return the hash of the list of a partition's data files with their checksums."""
    lines = []
    for path, checksum in zip(raw.members, checksums, strict=True):
        parts = PurePosixPath(path).parts[-table.folder_depth - 1 :]
        lines.append(f"{'/'.join(parts)} {checksum}\n")
    return hashlib.sha256("".join(sorted(lines)).encode(errors="surrogateescape")).hexdigest()


def _size_and_crc(path: Path, on_bytes: Callable[[int], None]) -> tuple[int, int]:
    size = crc = 0
    with translate_errors((path,)), path.open("rb") as file:
        while block := file.read(READ_BYTES):
            crc = isal_zlib.crc32(block, crc)
            size += len(block)
            on_bytes(len(block))
    return size, crc

"""Read the data files in tar and zip archives as streams, without extracting them to disk.

An archive without an end mark, or with a directory that does not match its files, counts as damaged, because
files may be missing from it.
"""

import errno
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from tracehouse.core.text import escape_name
from tracehouse.ingest.discovery.packing import form_of, is_bare, plain_name, whole_name

READ_BYTES = 1 << 20
# Published archives have thousands of files at most.
MOST_MEMBERS = 20_000

# Extended headers contain long names, and attributes from the system that wrote the archive.
_LONGEST_TAR_HEADERS_BYTES = 16 << 20
# Python's objects for the entries of a directory take many times its bytes.
_LONGEST_ZIP_DIRECTORY_BYTES = 16 << 20
_TAR_END = bytes(tarfile.BLOCKSIZE)
_ZIP_END_MARK = b"PK\5\6"
_ZIP_END_BYTES = 22 + (1 << 16)
_ZIP_ENCRYPTED = 0x1
# The number of files in the end record of a zip if the real number does not fit into 16 bits.
_ZIP_MANY_ENTRIES = 0xFFFF


IsData = Callable[[str], bool]
"""Returns whether a file of this name, which has no extension, is a data file."""


@dataclass(frozen=True)
class Member:
    """A data file inside a raw file: its name, the path of its folder, and its bytes."""

    name: str
    folder: str
    stream: BinaryIO


class UnreadableArchiveError(Exception):
    """An archive that is complete, but packed in a way that Tracehouse cannot read."""


class _ForwardStream:
    """A stream in which tarfile can seek forwards only."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._position = 0
        self._header_bytes = 0
        self.last_read = b""

    def read(self, size: int) -> bytes:
        """Read a header for tarfile. Raises ReadError if the headers of a member are absurdly long.

        tarfile trusts the size that a header states, and keeps all extended headers of a member in memory.
        """
        self._header_bytes += size
        if size < 0 or self._header_bytes > _LONGEST_TAR_HEADERS_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes is not valid")
        return self.take(size)

    def begin_member(self) -> None:
        """Reset the count of header bytes for the next member."""
        self._header_bytes = 0

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


def tar_members(unpacked: BinaryIO, on_skipped: Callable[[str], None], is_data: IsData) -> Iterator[Member]:
    """Yield the data files in a tar, in order.

    `on_skipped` is called with the name of each member that looks like a data file but is not read, such as a
    link, and the reason. `is_data` decides whether a member without an extension is read.
    """
    # tarfile's own stream mode copies every byte twice. Here tarfile reads only the headers.
    stream = _ForwardStream(unpacked)
    with _parsing(tarfile.ReadError):
        tar = tarfile.TarFile(fileobj=cast(BinaryIO, stream))
    count = 0
    while (info := _next_header(tar, stream)) is not None:
        count += 1
        _check_count(count)
        name, folder = _names(info.name, is_data)
        if name is None:
            _report_packed(info.name, on_skipped)
        elif info.issparse():
            raise UnreadableArchiveError(f"{name} is stored as a sparse file")
        elif info.isfile():
            stream.seek(info.offset_data)
            span = _Span(stream, info.size)
            yield Member(name, folder, cast(BinaryIO, io.BufferedReader(span, READ_BYTES)))
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


def _next_header(tar: tarfile.TarFile, stream: _ForwardStream) -> tarfile.TarInfo | None:
    stream.begin_member()
    with _parsing(tarfile.ReadError):
        info = tar.next()
    # tarfile keeps the headers of all members, which would fill the memory. It needs the headers of the whole
    # archive for each member, so only their size is limited.
    tar.members.clear()  # type: ignore[attr-defined]
    if sum(map(len, tar.pax_headers.values())) > _LONGEST_TAR_HEADERS_BYTES:
        raise tarfile.ReadError("its headers are too long")
    if info is not None and info.size < 0:
        raise tarfile.ReadError(f"a header is damaged: {escape_name(info.name)} has {info.size:,} bytes")
    return info


def _check_count(members: int) -> None:
    if members > MOST_MEMBERS:
        raise UnreadableArchiveError(f"it contains more than {MOST_MEMBERS:,} files and folders")


def zip_members(file: BinaryIO, on_skipped: Callable[[str], None], is_data: IsData) -> Iterator[Member]:
    """Yield the data files in a zip, in the order of its directory. For the arguments see `tar_members`."""
    archive = open_zip(file)
    for info in archive.infolist():
        # Other files are opened too, because zipfile compares the name in the directory with the name in the
        # local header only when it opens a member.
        unpacked = open_in_zip(archive, info)
        name, folder = _names(info.filename, is_data)
        if name is None:
            _report_packed(info.filename, on_skipped)
        elif not info.is_dir():
            yield Member(name, folder, unpacked)
        unpacked.close()


class _LimitedReads:
    """A file that refuses reads larger than the longest allowed directory of a zip."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_ZIP_DIRECTORY_BYTES:
            raise UnreadableArchiveError(f"its directory takes {size >> 20:,} MiB")
        return self._file.read(size)


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip and read its directory.

    Raises BadZipFile if the directory is damaged or does not list all files, and UnreadableArchiveError if it
    lists too many.
    """
    with _parsing(zipfile.BadZipFile):
        archive = zipfile.ZipFile(cast(BinaryIO, _LimitedReads(file)))
    _check_count(len(archive.infolist()))
    if _entries_at_end(file) not in (len(archive.infolist()), _ZIP_MANY_ENTRIES):
        raise zipfile.BadZipFile("its directory does not list all files")
    return archive


def open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    """Open a member of a zip. Raises UnreadableArchiveError or BadZipFile if the member cannot be read."""
    name = escape_name(info.filename)
    if info.flag_bits & _ZIP_ENCRYPTED:
        raise UnreadableArchiveError(f"{name} in it is encrypted")
    with _parsing(zipfile.BadZipFile, name):
        return cast(BinaryIO, archive.open(info))


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


def _entries_at_end(file: BinaryIO) -> int:
    """Return the number of files that the end record of a zip states."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _ZIP_END_BYTES))
    end = file.read()
    found = end.rfind(_ZIP_END_MARK)
    return int.from_bytes(end[found + 10 : found + 12], "little")


def _names(path: str, is_data: IsData) -> tuple[str | None, str]:
    """Return the name of a data file, None for any other file, and the path of its folder."""
    member_path = PurePosixPath(path)
    name = escape_name(member_path.name)
    plain = name if is_bare(name) and is_data(name) else plain_name(name)
    if plain is None or name.startswith("._"):
        return None, ""
    return plain, escape_name(member_path.parent.as_posix())


def _report_packed(path: str, on_skipped: Callable[[str], None]) -> None:
    name = PurePosixPath(path).name
    if form_of(whole_name(name)) and not name.startswith("._"):
        on_skipped(f"{escape_name(name)}, which is an archive or compressed inside the archive")

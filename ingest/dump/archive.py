"""Read archives and compressed streams, without extracting them to disk.

The publishers' tars are compressed with gzip, and ASI's zips contain folders of partitions or single files.
An archive without an end mark, or with a directory that does not describe all of its bytes, counts as
damaged, because files may be missing from it. A zip is read by the directory at its end: bytes that it does
not list, such as another zip in front of it, would be skipped without a message, and a size that it invents
would be believed.
"""

import errno
import io
import lzma
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from isal import igzip

from tracehouse.core.text import escape_name
from tracehouse.ingest.dump.raw_files import data_file_name, form_of, is_bare, whole_name

READ_BYTES = 1 << 20
# Published archives have thousands of files at most.
MOST_MEMBERS = 20_000

# An extended header contains a long name, or attributes from the system that wrote the archive.
_LONGEST_TAR_HEADER_BYTES = 1 << 20
_TAR_END = bytes(tarfile.BLOCKSIZE)
_ZIP_ENCRYPTED = 0x1
# The header of an xz file can demand up to 4 GiB of memory. `xz -9` takes 65 MiB.
_MOST_XZ_BYTES = 256 << 20

# In front of each file of a zip: its mark, its flags, and the lengths of the name and of the extra fields.
_HEADER = struct.Struct("<4s2xH18xHH")
_HEADER_MARK = b"PK\3\4"
_END_MARK = b"PK\5\6"
_END_BYTES = 22
_LONGEST_COMMENT_BYTES = 0xFFFF
# The number of files in the end record if the real number does not fit into 16 bits.
_MANY_FILES = 0xFFFF
# A writer that did not know the sizes in advance repeats them after the file's data, in one of four forms.
_SIZES_FOLLOW = 0x8
_DESCRIPTOR_BYTES = (12, 16, 20, 24)
# The largest sizes, relative to the packed size. A block of a few bytes may unpack to 258.
_MOST_GROWTH = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}


class UnreadableArchiveError(Exception):
    """An archive that is complete, but packed in a way that Tracehouse cannot read."""


def decompress(stream: BinaryIO, compression: str) -> BinaryIO:
    """Return the decompressed bytes of a stream. `compression` is gz, xz, or empty if it has none."""
    match compression:
        case "gz":
            return cast(BinaryIO, igzip.IGzipFile(fileobj=stream))
        case "xz":
            return cast(BinaryIO, io.BufferedReader(_Xz(stream), READ_BYTES))
    return stream


def content_of(info: zipfile.ZipInfo) -> str:
    """Return a text that identifies the content of a member of a zip."""
    return f"{info.file_size} {info.CRC:08x}"


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
    """A stream in which tarfile can seek forwards only.

    tarfile trusts the sizes that headers state: while it reads one, no read may exceed `most` bytes.
    """

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._position = 0
        # Opening the archive reads its first header.
        self.most = _LONGEST_TAR_HEADER_BYTES
        self.last_read = b""

    def read(self, size: int) -> bytes:
        """Read the next bytes. Raises ReadError if the size is absurd."""
        if not 0 <= size <= self.most:
            raise tarfile.ReadError(f"a header of {size:,} bytes is not valid")
        self.last_read = self._stream.read(size)
        self._position += len(self.last_read)
        return self.last_read

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise tarfile.ReadError("two members overlap")
        while self._position < position and self.read(min(READ_BYTES, position - self._position)):
            pass
        return self._position


def tar_members(
    unpacked: BinaryIO, on_skipped: Callable[[str], None], is_data: Callable[[str], bool]
) -> Iterator[tuple[PurePosixPath, BinaryIO]]:
    """Yield the paths and bytes of the data files in a tar. For the arguments see `Dump.members`."""
    # tarfile's own stream mode copies every byte twice. Here tarfile reads only the headers.
    stream = _ForwardStream(unpacked)
    with _parsing(tarfile.ReadError):
        tar = tarfile.TarFile(fileobj=cast(BinaryIO, stream))
    count = 0
    while (info := _next_header(tar, stream)) is not None:
        count += 1
        _check_count(count)
        path = PurePosixPath(info.name)
        name = data_name(path, is_data)
        if name is None:
            report_packed(path, on_skipped)
        elif info.issparse():
            raise UnreadableArchiveError(f"{name} is stored as a sparse file")
        elif info.isfile():
            yield path.with_name(name), cast(BinaryIO, tar.extractfile(info))
        elif not info.isdir():
            on_skipped(f"{name}, which is {'a link' if info.islnk() or info.issym() else 'not a file'}")
    # tarfile treats a damaged or missing header as the end of the archive and silently drops later members.
    if stream.last_read != _TAR_END:
        ends_early = len(stream.last_read) < len(_TAR_END)
        raise tarfile.ReadError(
            "the archive ends without its end mark" if ends_early else "a header is damaged"
        )
    # The gzip checksum follows the end of the tar: reading on verifies it.
    while block := stream.read(READ_BYTES):
        if block.strip(b"\0"):
            raise tarfile.ReadError("more data after the end of the archive")


def _next_header(tar: tarfile.TarFile, stream: _ForwardStream) -> tarfile.TarInfo | None:
    stream.most = _LONGEST_TAR_HEADER_BYTES
    with _parsing(tarfile.ReadError):
        info = tar.next()
    stream.most = sys.maxsize
    # tarfile keeps the headers of all members, which would fill the memory.
    tar.members.clear()  # type: ignore[attr-defined]
    if info is not None and info.size < 0:
        raise tarfile.ReadError(f"a header is damaged: {escape_name(info.name)} has {info.size:,} bytes")
    return info


def _check_count(members: int) -> None:
    if members > MOST_MEMBERS:
        raise UnreadableArchiveError(f"it contains more than {MOST_MEMBERS:,} files and folders")


def data_name(path: PurePosixPath, is_data: Callable[[str], bool]) -> str | None:
    """Return the name of a data file in an archive, None for any other file. See `Dump.members`."""
    name = escape_name(path.name)
    if name.startswith("._"):
        return None
    return name if is_bare(name) and is_data(name) else data_file_name(name)


def report_packed(path: PurePosixPath, on_skipped: Callable[[str], None]) -> None:
    """Report a member that is compressed on its own, and therefore not read. See `Dump.members`."""
    if form_of(whole_name(path.name)) and not path.name.startswith("._"):
        on_skipped(f"{escape_name(path.name)}, which is compressed inside the archive")


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
    _check_end(file, count)
    return archive


def open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    """Open a member of a zip. Raises UnreadableArchiveError or BadZipFile if the member cannot be read."""
    name = escape_name(info.filename)
    if info.flag_bits & _ZIP_ENCRYPTED:
        raise UnreadableArchiveError(f"{name} in it is encrypted")
    with _parsing(zipfile.BadZipFile, name):
        return cast(BinaryIO, archive.open(info))


def _check_end(file: BinaryIO, files: int) -> None:
    """Raise BadZipFile unless a zip ends with its end record, which states this number of files."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT_BYTES))
    tail = file.read()
    end = tail[tail.rfind(_END_MARK) :]
    if int.from_bytes(end[10:12], "little") not in (files, _MANY_FILES):
        raise zipfile.BadZipFile("its directory does not list all files")
    if more := len(end) - _END_BYTES - int.from_bytes(end[20:22], "little"):
        raise zipfile.BadZipFile(f"{abs(more):,} bytes {'follow' if more > 0 else 'are missing at'} its end")


def check_layout(file: BinaryIO, archive: zipfile.ZipFile) -> None:
    """Raise BadZipFile unless the files follow each other from the first byte to the directory.

    Gaps, overlaps and sizes that exceed the archive are refused.
    """
    at, name = 0, "its start"
    may_follow: tuple[int, ...] = (0,)
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        _check_gap(info.header_offset - at, name, may_follow)
        name = escape_name(info.filename)
        if info.is_dir() and info.file_size:
            raise zipfile.BadZipFile(f"{name} is a folder with {info.file_size:,} bytes")
        check_sizes(info)
        data, flags = _read_header(file, info.header_offset, name)
        at = data + info.compress_size
        may_follow = (0, *_DESCRIPTOR_BYTES) if (flags | info.flag_bits) & _SIZES_FOLLOW else (0,)
    _check_gap(archive.start_dir - at, name, may_follow)


def check_sizes(info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile if a file cannot unpack to the size that the directory states."""
    most = _MOST_GROWTH.get(info.compress_type)
    if most and info.file_size > most * info.compress_size:
        raise zipfile.BadZipFile(
            f"{escape_name(info.filename[:80])} has {info.compress_size:,} bytes in it, which cannot unpack "
            f"to {info.file_size:,}"
        )


def _check_gap(gap: int, name: str, may_follow: tuple[int, ...]) -> None:
    if gap < 0:
        raise zipfile.BadZipFile(f"what follows {name} overlaps with it: a size or an offset is wrong")
    if gap not in may_follow:
        raise zipfile.BadZipFile(f"{gap:,} bytes after {name} belong to no file that its directory lists")


def _read_header(file: BinaryIO, offset: int, name: str) -> tuple[int, int]:
    """Return where the data of a file begin, and the flags in its header."""
    file.seek(offset)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_HEADER_MARK):
        raise zipfile.BadZipFile(f"{name} does not begin where the directory says")
    _, flags, name_bytes, extra_bytes = _HEADER.unpack(header)
    return offset + _HEADER.size + name_bytes + extra_bytes, flags

"""Read the data files in raw files as streams, without extracting archives to disk.

    for member in data_members(stream, raw):        a plain or compressed file, or an archive
    for member in partition_members(raw):           one partition: in a tree of folders, a zip or a file

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
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from isal import igzip

from tracehouse.core.errors import RawFileError
from tracehouse.core.temporary import temporary_folder
from tracehouse.core.text import escape_name
from tracehouse.ingest.dump.raw_files import (
    TREE,
    RawFile,
    compression_of,
    data_file_name,
    form_of,
    is_bare,
    whole_name,
)
from tracehouse.ingest.dump.raw_stream import (
    READ_BYTES,
    RawStream,
    UnreadableArchiveError,
    check_first_bytes,
    open_regular,
    sha256_of,
    translate_errors,
)
from tracehouse.ingest.dump.zip_layout import check_end, check_layout

# Published archives have thousands of files at most.
MOST_MEMBERS = 20_000

# An extended header contains a long name, or attributes from the system that wrote the archive.
_LONGEST_TAR_HEADER_BYTES = 1 << 20
_TAR_END = bytes(tarfile.BLOCKSIZE)
_ZIP_ENCRYPTED = 0x1
# The header of an xz file can demand up to 4 GiB of memory. `xz -9` takes 65 MiB.
_MOST_XZ_BYTES = 256 << 20
# Larger streams are copied to the disk.
_MOST_BYTES_IN_MEMORY = 64 << 20


@dataclass(frozen=True)
class Member:
    """A data file in a raw file: its path in the archive or tree, its place in messages, and its bytes.

    Data files of a raw file with the same `content` have the same bytes. It is empty if that is unknown.
    """

    path: PurePosixPath
    place: str
    stream: BinaryIO
    content: str = ""

    @property
    def name(self) -> str:
        """The name of the data file."""
        return self.path.name

    @property
    def folder(self) -> str:
        """The path of its folder."""
        return self.path.parent.as_posix()


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
    path = raw.paths[0]
    if raw.form == "zip":
        with open_regular(path) as file, open_zip(file) as archive:
            check_layout(file, archive)
            for info in archive.infolist():
                if info.is_dir():
                    continue
                member = PurePosixPath(info.filename)
                name = _data_name(member, is_data)
                if name is None:
                    _report_packed(member, on_skipped)
                else:
                    with open_in_zip(archive, info) as stored:
                        place = f"{path}: {name}"
                        yield Member(_escape(member.with_name(name)), place, stored, content_of(info))
        return
    whole = PurePosixPath(raw.folder, raw.file_name)
    if len(raw.paths) == 1 and raw.form == "parquet":
        # The reader seeks in a handle of its own. `stream` hashes the bytes afterwards.
        with open_regular(path) as file:
            yield Member(whole, str(path), file)
        return
    unpacked = cast(BinaryIO, io.BufferedReader(stream, READ_BYTES))
    match compression_of(raw.form):
        case "gz":
            unpacked = cast(BinaryIO, igzip.IGzipFile(fileobj=unpacked))
        case "xz":
            unpacked = cast(BinaryIO, io.BufferedReader(_Xz(unpacked), READ_BYTES))
    if raw.form.startswith("tar"):
        for member, content in _tar_members(unpacked, on_skipped, is_data):
            yield Member(_escape(member), f"{path}: {escape_name(member.name)}", content)
    else:
        yield Member(whole, str(path), unpacked)


def partition_members(raw: RawFile) -> Iterator[Member]:
    """Yield the data files of a partition: in a tree of folders, a zip, or a file that has the keys.

    Raises RawFileError if the packing of one is damaged.
    """
    path = raw.paths[0]
    if raw.form == "zip":
        with translate_errors((path,)), open_regular(path, READ_BYTES) as file, open_zip(file) as archive:
            for name in raw.members:
                info = archive.getinfo(name)
                with open_in_zip(archive, info) as stored:
                    place = f"{path}: {escape_name(name)}"
                    yield _check_member(Member(_escape(name), place, stored, content_of(info)))
        return
    contents = _contents_of(raw.paths)
    names = raw.members or (f"{raw.folder}/{raw.file_name}",)
    for path, name, content in zip(raw.paths, names, contents, strict=True):
        with translate_errors((path,)), open_regular(path) as file:
            yield _check_member(Member(_escape(name), str(path), file, content))


def content_of(info: zipfile.ZipInfo) -> str:
    """Return a text that identifies the content of a member of a zip."""
    return f"{info.file_size} {info.CRC:08x}"


def _contents_of(paths: Sequence[Path]) -> list[str]:
    """Return a text that identifies the content of each file. It reads only files of the same size."""
    with translate_errors(paths):
        sizes = [path.stat().st_size for path in paths]
    files = Counter(sizes)
    return [
        f"{size} {sha256_of((path,))}" if files[size] > 1 else str(size)
        for path, size in zip(paths, sizes, strict=True)
    ]


def _escape(path: str | PurePosixPath) -> PurePosixPath:
    return PurePosixPath(escape_name(str(path)))


def _check_member(member: Member) -> Member:
    """Return a member with the usual extension of its format.

    Raises RawFileError if it is compressed on its own, or if its first bytes do not match its name.
    """
    place = Path(member.place)
    name = data_file_name(member.name)
    if name is None:
        raise RawFileError(place, "it is compressed, and files of partitions are not", "Unpack it")
    with translate_errors((place,)):
        check_first_bytes(place, cast(io.BufferedReader, member.stream).peek(1024)[:1024], 0)
    return replace(member, path=member.path.with_name(name))


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


def _tar_members(
    unpacked: BinaryIO, on_skipped: Callable[[str], None], is_data: Callable[[str], bool]
) -> Iterator[tuple[PurePosixPath, BinaryIO]]:
    """Yield the paths and bytes of the data files in a tar. For the arguments see `data_members`."""
    # tarfile's own stream mode copies every byte twice. Here tarfile reads only the headers.
    stream = _ForwardStream(unpacked)
    with _parsing(tarfile.ReadError):
        tar = tarfile.TarFile(fileobj=cast(BinaryIO, stream))
    count = 0
    while (info := _next_header(tar, stream)) is not None:
        count += 1
        _check_count(count)
        path = PurePosixPath(info.name)
        name = _data_name(path, is_data)
        if name is None:
            _report_packed(path, on_skipped)
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


def _data_name(path: PurePosixPath, is_data: Callable[[str], bool]) -> str | None:
    """Return the name of a data file in an archive, None for any other file."""
    name = escape_name(path.name)
    if name.startswith("._"):
        return None
    return name if is_bare(name) and is_data(name) else data_file_name(name)


def _report_packed(path: PurePosixPath, on_skipped: Callable[[str], None]) -> None:
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
    check_end(file, count)
    return archive


def open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    """Open a member of a zip. Raises UnreadableArchiveError or BadZipFile if the member cannot be read."""
    name = escape_name(info.filename)
    if info.flag_bits & _ZIP_ENCRYPTED:
        raise UnreadableArchiveError(f"{name} in it is encrypted")
    with _parsing(zipfile.BadZipFile, name):
        return cast(BinaryIO, archive.open(info))


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the stream itself if it is a file or in memory, otherwise a copy in memory or on the disk.

    A member of a zip is always copied: seeking in it is slow, and reading it to its end verifies its CRC-32.
    """
    if stream.seekable() and not isinstance(stream, zipfile.ZipExtFile):
        yield stream
    else:
        with tempfile.SpooledTemporaryFile(_MOST_BYTES_IN_MEMORY, dir=str(temporary_folder())) as copy:
            shutil.copyfileobj(stream, copy, READ_BYTES)
            copy.seek(0)
            yield cast(BinaryIO, copy)


def checksum(raw: RawFile, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file. For a partition in a tree, it is that of its files' checksums."""
    if raw.form != TREE:
        return raw.checksum or sha256_of(raw.paths, on_bytes)
    return combine_checksums(raw.members, [sha256_of((path,), on_bytes) for path in raw.paths])


def combine_checksums(members: Sequence[str], checksums: Sequence[str]) -> str:
    """Return the hash of the list of a partition's data files with their checksums."""
    lines = sorted(f"{path} {checksum}\n" for path, checksum in zip(members, checksums, strict=True))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()

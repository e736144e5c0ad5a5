"""Open raw files, however their publishers pack them. No other module opens one.

    with open_dump(raw) as dump:
        for member in dump.members():       the data files: of a file, an archive, or a partition
            read(member.stream)             before the next member is opened
        dump.stream.sha256_of_rest()        the bytes are hashed while they are read

Errors are translated here, once. They say what a file is instead of data, such as a Git LFS pointer, a web
page or a truncated archive.
"""

import gzip
import hashlib
import io
import lzma
import os
import re
import shlex
import stat
import tarfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq
from isal import isal_zlib

from tracehouse.core.errors import FETCH_AGAIN, RawFileError, StoppedError, UserError
from tracehouse.core.text import escape_name
from tracehouse.ingest.dump.archive import (
    READ_BYTES,
    UnreadableArchiveError,
    check_layout,
    content_of,
    data_name,
    decompress,
    open_in_zip,
    open_zip,
    report_packed,
    tar_members,
)
from tracehouse.ingest.dump.raw_files import (
    GZIP_MARK,
    MARKER_NAME,
    PARQUET_MARK,
    TREE,
    RawFile,
    compression_of,
    data_file_name,
    form_of,
    part_name,
    part_of,
    whole_name,
)

_LFS_FIRST_LINE = b"version https://git-lfs"
# A later part of a split archive may begin with any byte, also with "<". A web page needs a longer match.
_WEB_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|html|head|body|\?xml|error)", re.I)
_MAGIC = {"gz": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00"}
# The part of a gzip header in front of a name.
_GZIP_HEADER_BYTES = 10
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# The second signature begins a zip without files.
_ZIP_MAGIC = (b"PK\3\4", b"PK\5\6")
Stamp = list[list[int]]
"""The size, the time of the last change and the inode of each part of a raw file."""
_FIRST_BYTES = 1024
# A file that changed just now may change again without getting another time of change.
_SETTLED_S = 2.0
_DAMAGE: Any = (
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    isal_zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def open_regular(path: Path, buffer_bytes: int = -1) -> BinaryIO:
    """Open a file below a raw folder. `buffer_bytes` is as in `open`.

    Every other function opens raw files with this one. Raises RawFileError unless it is a regular file, and
    OSError if it cannot be opened.
    """
    return cast(BinaryIO, open(path, "rb", buffer_bytes, opener=_open_descriptor))


def _open_descriptor(path: str, flags: int) -> int:
    # Opening a device may change it.
    _check_regular(path, Path(path).stat())
    # The path may name another file by now. Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    try:
        _check_regular(path, os.fstat(descriptor))
    except RawFileError:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = "it is a named pipe, a device or a folder, not a file"
        raise RawFileError(path, what, "Move it out of the raw folder")


class RawStream(io.RawIOBase):
    """The concatenated bytes of a raw file's parts, hashed while they are read.

    Raises RawFileError if a part has changed since the stream was created.
    """

    def __init__(self, paths: Sequence[Path], on_bytes: Callable[[int], None]):
        self.paths = tuple(paths)
        self.bytes_read = 0
        self._waiting = list(paths)
        self._before = {path: path.stat() for path in paths}
        self._part: io.FileIO | None = None
        self._part_left = 0
        self._on_bytes = on_bytes
        self._sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while self._part or self._waiting:
            if self._part is None:
                path = self._waiting.pop(0)
                self._part = cast(io.FileIO, open_regular(path, 0))
                self._part_left = self._before[path].st_size
            # Some files of /proc that count as regular return None instead of waiting.
            count = self._part.readinto(buffer) or 0
            self._part_left -= count
            # Without this check, reading a file that grows as fast as it is read would never end.
            if self._part_left < 0:
                raise _changed(self._part)
            if count:
                self._sha256.update(memoryview(buffer)[:count])
                self.bytes_read += count
                self._on_bytes(count)
                return count
            now, before = os.fstat(self._part.fileno()), self._before[_path(self._part)]
            if _version(now) != _version(before):
                raise _changed(self._part)
            self._part.close()
            self._part = None
        return 0

    def close(self) -> None:
        """Do nothing: a reader that wraps this stream may close it before `sha256_of_rest` reads the rest."""

    def __exit__(self, *_: object) -> None:
        if self._part:
            self._part.close()
        super().close()

    def sha256_of_rest(self) -> str:
        """Read the rest of the stream, and return the SHA-256 of the whole file."""
        while self.read(READ_BYTES):
            pass
        return self._sha256.hexdigest()


def _changed(part: io.FileIO) -> RawFileError:
    return RawFileError(
        _path(part),
        "it changed while it was read",
        "Wait until whatever writes it has finished, and run the same command again",
    )


def _path(part: io.FileIO) -> Path:
    return Path(os.fsdecode(part.name))


def _version(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


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


@dataclass(frozen=True)
class Dump:
    """An open raw file, from `open_dump`.

    `stream` has its bytes; it is empty for a tree of folders. `place` has the paths that an error is about:
    those of the raw file, or that of the member that is read.
    """

    raw: RawFile
    stream: RawStream
    place: list[Path]

    def members(
        self,
        is_data: Callable[[str], bool] = lambda _: False,
        on_skipped: Callable[[str], None] = lambda _: None,
    ) -> Iterator[Member]:
        """Yield the data files, in order. The caller reads each one before the next.

        `is_data` decides whether a member without an extension is read. `on_skipped` is called with the name
        of each member that looks like a data file but is not read, such as a link, and the reason.
        """
        raw, path = self.raw, self.raw.paths[0]
        if raw.partition and raw.form == "zip":
            yield from self._members_of_partition()
        elif raw.partition:
            yield from self._files_of_partition()
        elif raw.form == "zip":
            yield from self._members_of_zip(is_data, on_skipped)
        elif raw.form == "parquet" and len(raw.paths) == 1:
            # The reader seeks in a handle of its own. `stream` hashes the bytes afterwards.
            with open_regular(path) as file:
                yield Member(PurePosixPath(raw.folder, raw.file_name), str(path), file)
        else:
            buffered = cast(BinaryIO, io.BufferedReader(self.stream, READ_BYTES))
            unpacked = decompress(buffered, compression_of(raw.form))
            if not raw.form.startswith("tar"):
                yield Member(PurePosixPath(raw.folder, raw.file_name), str(path), unpacked)
                return
            for member, content in tar_members(unpacked, on_skipped, is_data):
                yield Member(_escape(member), f"{path}: {escape_name(member.name)}", content)

    def list_zip(self) -> list[zipfile.ZipInfo]:
        """Return the directory of a zip."""
        with open_regular(self.raw.paths[0]) as file, open_zip(file) as archive:
            check_layout(file, archive)
            return archive.infolist()

    def _members_of_zip(
        self, is_data: Callable[[str], bool], on_skipped: Callable[[str], None]
    ) -> Iterator[Member]:
        path = self.raw.paths[0]
        with open_regular(path) as file, open_zip(file) as archive:
            check_layout(file, archive)
            for info in archive.infolist():
                member = PurePosixPath(info.filename)
                if info.is_dir():
                    continue
                if name := data_name(member, is_data):
                    with open_in_zip(archive, info) as stored:
                        place = f"{path}: {name}"
                        yield Member(_escape(member.with_name(name)), place, stored, content_of(info))
                else:
                    report_packed(member, on_skipped)

    def _members_of_partition(self) -> Iterator[Member]:
        """Yield the members of a partition in a zip, whose directory `list_zip` has checked."""
        path = self.raw.paths[0]
        with open_regular(path, READ_BYTES) as file, open_zip(file) as archive:
            for name in self.raw.members:
                info = archive.getinfo(name)
                with open_in_zip(archive, info) as stored:
                    place = f"{path}: {escape_name(name)}"
                    yield from self._check(Member(_escape(name), place, stored, content_of(info)))

    def _files_of_partition(self) -> Iterator[Member]:
        """Yield the files of a partition in a tree of folders, or the file that has the keys as columns."""
        raw = self.raw
        names = raw.members or (f"{raw.folder}/{raw.file_name}",)
        for path, name, content in zip(raw.paths, names, _contents_of(raw.paths), strict=True):
            self.place[:] = [path]
            with open_regular(path) as file:
                yield from self._check(Member(_escape(name), str(path), file, content))

    def _check(self, member: Member) -> Iterator[Member]:
        """Yield a member of a partition with the usual extension of its format. Errors are about it.

        Raises RawFileError if it is compressed on its own, or if its first bytes do not match its name.
        """
        before = self.place[:]
        self.place[:] = [Path(member.place)]
        name = data_file_name(member.name)
        if name is None:
            raise RawFileError(member.place, "it is compressed, and files of partitions are not", "Unpack it")
        first = cast(io.BufferedReader, member.stream).peek(_FIRST_BYTES)[:_FIRST_BYTES]
        check_first_bytes(self.place[0], first, 0)
        yield replace(member, path=member.path.with_name(name))
        self.place[:] = before


@contextmanager
def open_dump(raw: RawFile, on_bytes: Callable[[int], None] = lambda _: None) -> Iterator[Dump]:
    """Open a raw file, and translate all errors in the block, also unexpected ones, into a RawFileError.

    `on_bytes` is called with the number of bytes that are read. Raises RawFileError if a part is missing or
    the first bytes are not those of a data file.
    """
    place = list(raw.paths)
    with _translate_errors(place):
        if raw.form != TREE:
            check_raw(raw.paths)
        with RawStream(() if raw.form == TREE else raw.paths, on_bytes) as stream:
            yield Dump(raw, stream, place)


def _contents_of(paths: Sequence[Path]) -> list[str]:
    """Return a text that identifies the content of each file. It reads only files of the same size."""
    sizes = [path.stat().st_size for path in paths]
    files = Counter(sizes)
    return [
        f"{size} {sha256_of((path,))}" if files[size] > 1 else str(size)
        for path, size in zip(paths, sizes, strict=True)
    ]


def _escape(path: str | PurePosixPath) -> PurePosixPath:
    return PurePosixPath(escape_name(str(path)))


def is_marked(path: Path, below: Path) -> bool:
    """Return whether the raw file at `path`, in the raw folder `below`, is synthetic."""
    path, below = path.absolute(), below.absolute()
    # If the file is outside the raw folder, only its own folder counts.
    top = below if path.is_relative_to(below) else path.parent
    folders = [folder for folder in path.parents if folder.is_relative_to(top)]
    if any((folder / MARKER_NAME).is_file() for folder in folders):
        return True
    try:
        with open_regular(path) as file:
            if path.suffix == ".parquet":
                return PARQUET_MARK.encode() in (pq.read_metadata(file).metadata or {})
            header = file.read(_GZIP_HEADER_BYTES + len(GZIP_MARK) + 1)
    # Arrow raises UnicodeDecodeError if the name of a column is damaged.
    except (RawFileError, OSError, pa.ArrowException, UnicodeDecodeError):
        return False
    return header.startswith(_MAGIC["gz"]) and header[_GZIP_HEADER_BYTES:] == GZIP_MARK + b"\0"


def stamp_of(paths: Sequence[Path]) -> Stamp:
    """Return what changes whenever the content of a raw file does. Raises RawFileError if it is not there."""
    with _translate_errors(paths):
        return [[s.st_size, s.st_mtime_ns, s.st_ino] for s in (path.stat() for path in paths)]


def is_settled(stamp: Stamp) -> bool:
    """Return whether the last change was so long ago that another one gives another stamp."""
    return all(time.time() - changed_ns / 1e9 > _SETTLED_S for _, changed_ns, _ in stamp)


def check_raw(paths: Sequence[Path]) -> None:
    """Raise RawFileError if a part is missing or the first bytes are not those of a data file."""
    _check_parts(paths)
    for number, path in enumerate(paths):
        with _translate_errors((path,)), open_regular(path) as file:
            check_first_bytes(path, file.read(_FIRST_BYTES), number)


def sha256_of(paths: Sequence[Path], on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file with its parts joined. Raises RawFileError if it cannot be read."""
    with _translate_errors(paths), RawStream(paths, on_bytes) as raw:
        return raw.sha256_of_rest()


@contextmanager
def _translate_errors(paths: Sequence[Path]) -> Iterator[None]:
    """Turn exceptions of decompressors and of the disk, and unexpected ones, into a RawFileError."""
    try:
        yield
    except UnreadableArchiveError as refusal:
        raise RawFileError(
            paths[0],
            f"it cannot be read as it is packed ({refusal})",
            "Unpack it into the raw folder, and move it away",
        ) from refusal
    except _DAMAGE as damage:
        raise _damaged(paths, damage) from damage
    except OSError as refusal:
        if refusal.errno is None:
            # An OSError without an error number comes from a decompressor, not from the system.
            raise _damaged(paths, refusal) from refusal
        raise RawFileError(
            refusal.filename or paths[0],
            f"it cannot be read ({refusal.strerror or refusal})",
            "Make it readable, or move it out of the raw folder",
        ) from refusal
    except (UserError, StoppedError):
        raise
    except Exception as error:
        raise unexpected_error(paths[0], error) from error


def checksum(raw: RawFile, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file. For a partition in a tree, it is that of its files' checksums."""
    if raw.form != TREE:
        return sha256_of(raw.paths, on_bytes)
    return combine_checksums(raw.members, [sha256_of((path,), on_bytes) for path in raw.paths])


def combine_checksums(members: Sequence[str], checksums: Sequence[str]) -> str:
    """Return the hash of the list of a partition's data files with their checksums."""
    lines = sorted(f"{path} {checksum}\n" for path, checksum in zip(members, checksums, strict=True))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def unexpected_error(path: Path, error: Exception) -> RawFileError:
    """Return the error about an unexpected exception, so that it stops one file and not the whole ingest."""
    return RawFileError(
        path,
        f"reading it failed unexpectedly ({type(error).__name__}: {escape_name(str(error)[:200])})",
        "Move it out of the raw folder, and report this message to the developers of Tracehouse",
    )


def _damaged(paths: Sequence[Path], damage: Exception) -> RawFileError:
    what = escape_name(str(damage))
    if len(paths) > 1:
        last = paths[-1]
        return RawFileError(
            last,
            f"the archive made of {len(paths)} parts is cut short or damaged ({what})",
            f"Fetch the parts after {escape_name(last.name)}, or this one again, and check their sizes",
        )
    advice = "Fetch it again: the download did not finish"
    return RawFileError(paths[0], f"the file is cut short or damaged ({what})", advice)


def _check_parts(paths: Sequence[Path]) -> None:
    """Raise RawFileError if a part is missing before or between others."""
    for number, path in enumerate(paths):
        part = part_of(path.name)
        if part and part[1] != number:
            missing = path.with_name(part_name(part[0], number))
            raise RawFileError(
                missing,
                "this part of the archive is missing",
                f"Fetch {escape_name(missing.name)} into the folder of its sibling {escape_name(path.name)}",
            )


def check_first_bytes(path: Path, first: bytes, part_number: int) -> None:
    """Raise RawFileError if a file's first bytes do not match its name. Parts count from 0."""
    if not first:
        raise RawFileError(path, "the file is empty", FETCH_AGAIN)
    if first.startswith(_LFS_FIRST_LINE):
        where, what = shlex.quote(str(path.parent)), shlex.quote(path.name)
        raise RawFileError(
            path,
            "this is a Git LFS pointer, not the data",
            f"Fetch the real file: git -C {escape_name(where)} lfs pull --include {escape_name(what)}",
        )
    if _WEB_PAGE.match(first):
        raise RawFileError(
            path,
            "this is a web page (an error message, most likely), not the data",
            "Open it in a browser to see why, then fetch the file again",
        )
    if first.startswith(_UTF_16):
        what = "this is text in UTF-16, not in UTF-8"
        raise RawFileError(path, what, "Convert it: iconv -f UTF-16 -t UTF-8")
    form = form_of(whole_name(path.name))
    if part_number or form is None:
        return
    found = next((name for name, magic in _MAGIC.items() if first.startswith(magic)), "")
    if found and form != "zip" and not compression_of(form):
        raise RawFileError(
            path,
            f"this is a {found} file; its name says that it is not compressed",
            f"Rename it to {escape_name(path.name)}.{found}",
        )
    if not first.startswith(_ZIP_MAGIC if form == "zip" else _MAGIC.get(compression_of(form), b"")):
        what = "the content is not what the name says: not a gzip, xz or zip file"
        raise RawFileError(path, what, FETCH_AGAIN)

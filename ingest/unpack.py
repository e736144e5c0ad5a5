"""Opens raw files: plain, gzip, xz, tar.gz, and tar.gz cut into parts, as streams of CSV bytes.

Nothing is extracted to disk. The bytes on disk are hashed as they go by, so that a checksum costs no second
pass. What is no data file (a Git LFS pointer, a web page, a truncated archive) is named for what it is.
"""

import gzip
import hashlib
import io
import lzma
import re
import shlex
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from isal import igzip, isal_zlib

from tracehouse.ingest.errors import RawFileError

READ_BYTES = 1 << 20

_PART_SUFFIX = re.compile(r"\.part[a-z]{2}$")
_LFS_FIRST_LINE = b"version https://git-lfs"
# Longer than a bare "<", which one in 256 parts of a split archive begins with.
_WEB_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|html|head|body|\?xml|error)", re.I)
_MAGIC = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00"}
_DAMAGE: Any = (
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    isal_zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
)


@dataclass(frozen=True)
class Member:
    """A CSV inside a raw file: its own name, that of the folder it lies in, and its bytes."""

    name: str
    folder: str
    stream: BinaryIO


class RawStream(io.RawIOBase):
    """The bytes of a raw file's parts, one after another, hashed as they are read."""

    def __init__(self, paths: Sequence[Path], on_bytes: Callable[[int], None]):
        self._paths = list(paths)
        self._part: io.FileIO | None = None
        self._on_bytes = on_bytes
        self._sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while self._part or self._paths:
            if self._part is None:
                self._part = io.FileIO(self._paths.pop(0))
            count = self._part.readinto(buffer)
            if count:
                self._sha256.update(memoryview(buffer)[:count])
                self._on_bytes(count)
                return count
            self._part.close()
            self._part = None
        return 0

    def close(self) -> None:
        """Does nothing: a reader on top closes this stream when it goes away, perhaps before its end."""

    def __exit__(self, *_: object) -> None:
        if self._part:
            self._part.close()
        super().close()

    def sha256_of_rest(self) -> str:
        """Read what is left, and return the checksum of the whole file."""
        while self.read(READ_BYTES):
            pass
        return self._sha256.hexdigest()


class _Forward:
    """A stream that can be told where to go, as long as it is ahead."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._position = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise io.UnsupportedOperation("this stream only goes forward")
        while self._position < position and self.read(min(READ_BYTES, position - self._position)):
            pass
        return self._position


class _Span(io.RawIOBase):
    """The next `size` bytes of a stream."""

    def __init__(self, stream: _Forward, size: int):
        self._stream = stream
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(min(len(buffer), self._left))
        if not data and self._left:
            raise EOFError("the archive ends inside a member")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def open_raw(paths: Sequence[Path], on_bytes: Callable[[int], None] = lambda _: None) -> RawStream:
    """Open a raw file. Raises RawFileError where its first bytes show that it is no data file."""
    _check_parts(paths)
    for number, path in enumerate(paths):
        with explained((path,)), path.open("rb") as file:
            _check_first_bytes(path, file.read(1024), number)
    return RawStream(paths, on_bytes)


def csv_members(raw: RawStream, form: str, csv_name: str, folder: str) -> Iterator[Member]:
    """The CSVs in an open raw file, in order; each must be read before the next is asked for.

    `csv_name` and `folder` are those of the CSV, where the raw file is no archive.
    """
    buffered = io.BufferedReader(raw, READ_BYTES)
    if form == "csv":
        yield Member(csv_name, folder, cast(BinaryIO, buffered))
    elif form == "csv.gz":
        yield Member(csv_name, folder, cast(BinaryIO, igzip.IGzipFile(fileobj=buffered)))
    elif form == "csv.xz":
        yield Member(csv_name, folder, cast(BinaryIO, lzma.LZMAFile(buffered)))
    else:
        yield from _tar_members(cast(BinaryIO, igzip.IGzipFile(fileobj=buffered)))


@contextmanager
def explained(paths: Sequence[Path]) -> Iterator[None]:
    """Turn what a decompressor or the disk says of a file into an error about it."""
    try:
        yield
    except _DAMAGE as damage:
        if len(paths) > 1:
            last = paths[-1]
            raise RawFileError(
                last,
                f"the archive made of {len(paths)} parts is cut short or damaged ({damage})",
                f"Fetch the parts after {last.name}, or this one again, and check their sizes",
            ) from damage
        raise RawFileError(
            paths[0],
            f"the file is cut short or damaged ({damage})",
            "Fetch it again: the download did not finish",
        ) from damage
    except OSError as refusal:
        raise RawFileError(
            refusal.filename or paths[0],
            f"it cannot be read ({refusal.strerror or refusal})",
            "Make it readable, or move it out of the raw folder",
        ) from refusal


def sha256_of(paths: Sequence[Path], on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """The checksum of a raw file, its parts joined."""
    with RawStream(paths, on_bytes) as raw:
        return raw.sha256_of_rest()


def _tar_members(inflated: BinaryIO) -> Iterator[Member]:
    # tarfile's own stream mode copies every byte twice; here only the headers pass through it.
    stream = _Forward(inflated)
    tar = tarfile.TarFile(fileobj=cast(BinaryIO, stream))
    while (info := tar.next()) is not None:
        path = PurePosixPath(info.name)
        name = path.name
        if info.isfile() and name.endswith(".csv") and not name.startswith("._"):
            stream.seek(info.offset_data)
            span = _Span(stream, info.size)
            yield Member(name, path.parent.name, cast(BinaryIO, io.BufferedReader(span, READ_BYTES)))
    # The gzip checksum stands after the tar's end: reading on is what verifies it. tarfile takes a damaged
    # header for the end, and so would lose the members behind it.
    while block := stream.read(READ_BYTES):
        if block.strip(b"\0"):
            raise tarfile.ReadError("more data after the end of the archive")


def _check_parts(paths: Sequence[Path]) -> None:
    if not _PART_SUFFIX.search(paths[0].name):
        return
    for number, path in enumerate(paths):
        expected = "part" + chr(ord("a") + number // 26) + chr(ord("a") + number % 26)
        if path.suffix != f".{expected}":
            missing = path.with_suffix(f".{expected}")
            raise RawFileError(
                missing,
                "this part of the archive is missing",
                f"Fetch {missing.name} into the folder of its sibling {path.name}",
            )


def _check_first_bytes(path: Path, first: bytes, part_number: int) -> None:
    if not first:
        raise RawFileError(path, "the file is empty", "Fetch it again from its publisher")
    if first.startswith(_LFS_FIRST_LINE):
        where, what = shlex.quote(str(path.parent)), shlex.quote(path.name)
        raise RawFileError(
            path,
            "this is a Git LFS pointer, not the data",
            f"Fetch the real file: git -C {where} lfs pull --include {what}",
        )
    if _WEB_PAGE.match(first):
        raise RawFileError(
            path,
            "this is a web page (an error message, most likely), not the data",
            "Open it in a browser to see why, then fetch the file again",
        )
    magic = _MAGIC.get(Path(_PART_SUFFIX.sub("", path.name)).suffix, b"")
    if part_number == 0 and not first.startswith(magic):
        raise RawFileError(
            path,
            "the content is not what the name says: not a gzip or xz file",
            "Fetch it again from its publisher",
        )

"""Raw files as the publishers ship them: plain CSV, CSV in xz, gzip'ed tars, and tars cut into parts.

Every file appears under its own name only when it is whole. Every gzip says in its header that it is
synthetic, and has no time in it, so that the same content gives the same bytes.
"""

import io
import lzma
import string
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl
from isal import isal_zlib

from tracehouse.ingest.discovery.synthetic import GZIP_COMMENT

OnBytes = Callable[[int], None]

COPY_BYTES = 1 << 20
_FCOMMENT = 0x10
_UNKNOWN_SYSTEM = 0xFF
_PART_LETTERS = string.ascii_lowercase


class GzipWriter(io.RawIOBase):
    """A gzip being written to `sink`, with the comment that marks it as synthetic."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        # The standard library's and isal's own gzip files cannot carry a comment: hence raw deflate.
        self._deflate = isal_zlib.compressobj(level=2, wbits=-isal_zlib.MAX_WBITS)
        self._crc = 0
        self._size = 0
        no_time, no_hint = bytes(4), 0
        sink.write(bytes((0x1F, 0x8B, isal_zlib.DEFLATED, _FCOMMENT)))
        sink.write(no_time + bytes((no_hint, _UNKNOWN_SYSTEM)))
        sink.write(GZIP_COMMENT + b"\0")

    def writable(self) -> bool:
        """Whether the stream can be written to: always."""
        return True

    def write(self, data: Any) -> int:
        """Compress `data` and say how many bytes of it there were."""
        self._crc = isal_zlib.crc32(data, self._crc)
        count = len(data)
        self._size += count
        self._sink.write(self._deflate.compress(data))
        return count

    def close(self) -> None:
        """Write what is left and the trailer; the sink stays open."""
        if not self.closed:
            self._sink.write(self._deflate.flush())
            self._sink.write(self._crc.to_bytes(4, "little"))
            self._sink.write((self._size % 2**32).to_bytes(4, "little"))
        super().close()


@dataclass(frozen=True)
class Member:
    """One file in an archive: its name, and its content or where that lies on disk."""

    name: str
    content: bytes | Path


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file to write, renamed to `path` if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    try:
        with aside.open("wb") as file:
            yield file
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A path for a temporary file, which is removed when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def csv_bytes(frame: pl.DataFrame, header: bool = True) -> bytes:
    """The frame as CSV; a null is an empty field."""
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=header)
    return buffer.getvalue()


def append_csv(file: IO[bytes], frame: pl.DataFrame, on_bytes: OnBytes) -> None:
    """Add the frame's rows, without a header, to a file that is open."""
    on_bytes(file.write(csv_bytes(frame, header=False)))


def write_csv(path: Path, frame: pl.DataFrame, on_bytes: OnBytes) -> Path:
    """Write a CSV with a header."""
    with replacing(path) as file:
        on_bytes(file.write(csv_bytes(frame)))
    return path


def write_csv_parts(path: Path, frames: Iterator[pl.DataFrame], on_bytes: OnBytes) -> Path:
    """Write the rows of all frames, one after the other, as one CSV with a header."""
    with replacing(path) as file:
        for number, frame in enumerate(frames):
            on_bytes(file.write(csv_bytes(frame, header=number == 0)))
    return path


def write_headerless_csv(path: Path, frames: Iterator[pl.DataFrame], on_bytes: OnBytes) -> Path:
    """Write the rows of all frames, one after the other, as one CSV without a header."""
    with replacing(path) as file:
        for frame in frames:
            append_csv(file, frame, on_bytes)
    return path


def write_csv_xz(path: Path, frame: pl.DataFrame, on_bytes: OnBytes) -> Path:
    """Write a CSV with a header, compressed by xz."""
    with replacing(path) as file, lzma.open(file, "wb", preset=6) as compressed:
        on_bytes(compressed.write(csv_bytes(frame)))
    return path


def write_text(path: Path, text: str, on_bytes: OnBytes) -> Path:
    """Write a text, its line ends untouched."""
    with replacing(path) as file:
        on_bytes(file.write(text.encode()))
    return path


def write_tar_gz(path: Path, members: Sequence[Member]) -> Path:
    """Write the members, in their order, as a gzip'ed tar."""
    with (
        replacing(path) as file,
        GzipWriter(file) as compressed,
        tarfile.open(
            fileobj=compressed,
            mode="w|",
            format=tarfile.GNU_FORMAT,
            bufsize=COPY_BYTES,
        ) as tar,
    ):
        for member in members:
            _add(tar, member)
    return path


def _add(tar: tarfile.TarFile, member: Member) -> None:
    entry = tarfile.TarInfo(member.name)
    if isinstance(member.content, bytes):
        entry.size = len(member.content)
        tar.addfile(entry, io.BytesIO(member.content))
        return
    entry.size = member.content.stat().st_size
    with member.content.open("rb") as file:
        tar.addfile(entry, file)


def split(path: Path, part_bytes: int) -> list[Path]:
    """Cut a file into ``.partaa``, ``.partab``, … of `part_bytes` each, the last maybe shorter; remove it."""
    parts = []
    size = path.stat().st_size
    with path.open("rb") as file:
        for number, start in enumerate(range(0, size, part_bytes)):
            letters = _PART_LETTERS[number // 26] + _PART_LETTERS[number % 26]
            part = path.with_name(f"{path.name}.part{letters}")
            with replacing(part) as out:
                _copy(file, out, min(part_bytes, size - start))
            parts.append(part)
    path.unlink()
    return parts


def _copy(source: IO[bytes], target: IO[bytes], count: int) -> None:
    while count > 0:
        count -= target.write(source.read(min(count, COPY_BYTES)))

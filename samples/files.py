"""Write raw files in the publishers' formats: CSV, CSV in xz, Parquet, gzip-compressed tars, and split tars.

Files are written atomically. A comment in every gzip header, and the metadata of every Parquet file, mark the
file as synthetic. Gzip headers contain no time, so that the same content gives the same bytes.
"""

import io
import lzma
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl
from isal import isal_zlib

from tracehouse.ingest.raw_files import part_name
from tracehouse.ingest.synthetic import GZIP_COMMENT, PARQUET_KEY

OnBytes = Callable[[int], None]

COPY_BYTES = 1 << 20
_FCOMMENT = 0x10
_UNKNOWN_SYSTEM = 0xFF


class GzipWriter(io.RawIOBase):
    """Write a gzip stream to `sink`, with a comment that marks it as synthetic."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        # Neither the standard library nor isal can write a comment, so the header is written here.
        self._deflate = isal_zlib.compressobj(level=2, wbits=-isal_zlib.MAX_WBITS)
        self._crc = 0
        self._size = 0
        no_time, no_hint = bytes(4), 0
        sink.write(bytes((0x1F, 0x8B, isal_zlib.DEFLATED, _FCOMMENT)))
        sink.write(no_time + bytes((no_hint, _UNKNOWN_SYSTEM)))
        sink.write(GZIP_COMMENT + b"\0")

    def writable(self) -> bool:
        """Return True: the stream is writable."""
        return True

    def write(self, data: Any) -> int:
        """Compress `data`, and return its length."""
        self._crc = isal_zlib.crc32(data, self._crc)
        count = len(data)
        self._size += count
        self._sink.write(self._deflate.compress(data))
        return count

    def close(self) -> None:
        """Write the remaining bytes and the trailer; the sink stays open."""
        if not self.closed:
            self._sink.write(self._deflate.flush())
            self._sink.write(self._crc.to_bytes(4, "little"))
            self._sink.write((self._size % 2**32).to_bytes(4, "little"))
        super().close()


@dataclass(frozen=True)
class Member:
    """One file in an archive: its name, and its content or the path of the file with the content."""

    name: str
    content: bytes | Path


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file, and rename it to `path` if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Return a path for a temporary file, and remove the file when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def csv_bytes(frame: pl.DataFrame, header: bool = True) -> bytes:
    """Return the rows as CSV; NULL is an empty field."""
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=header)
    return buffer.getvalue()


def write_csv(
    path: Path, rows: pl.DataFrame | Iterable[pl.DataFrame], on_bytes: OnBytes, header: bool = True
) -> Path:
    """Write the rows of one or several data frames as one CSV, and return its path."""
    with atomic_file(path) as file:
        for number, frame in enumerate([rows] if isinstance(rows, pl.DataFrame) else rows):
            on_bytes(file.write(csv_bytes(frame, header and number == 0)))
    return path


def write_csv_xz(path: Path, frame: pl.DataFrame, on_bytes: OnBytes) -> Path:
    """Write a CSV with a header, compressed with xz, and return its path."""
    with atomic_file(path) as file, lzma.open(file, "wb", preset=6) as compressed:
        on_bytes(compressed.write(csv_bytes(frame)))
    return path


def write_parquet(path: Path, frame: pl.DataFrame, on_bytes: OnBytes) -> Path:
    """Write a Parquet file that is marked as synthetic, and return its path."""
    with atomic_file(path) as file:
        frame.write_parquet(file, metadata={PARQUET_KEY: "true"})
        on_bytes(file.tell())
    return path


def write_bytes(path: Path, content: bytes, on_bytes: OnBytes) -> Path:
    """Write bytes to a file, and return its path."""
    with atomic_file(path) as file:
        on_bytes(file.write(content))
    return path


def write_tar_gz(path: Path, members: Sequence[Member]) -> Path:
    """Write the members, in this order, as a gzip-compressed tar, and return its path."""
    with (
        atomic_file(path) as file,
        GzipWriter(file) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.GNU_FORMAT, bufsize=COPY_BYTES) as tar,
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
    """Split a file into ``.partaa``, ``.partab``, … of `part_bytes`. Remove it, and return the parts."""
    parts = []
    size = path.stat().st_size
    with path.open("rb") as file:
        for number, start in enumerate(range(0, size, part_bytes)):
            part = path.with_name(part_name(path.name, number))
            with atomic_file(part) as out:
                _copy(file, out, min(part_bytes, size - start))
            parts.append(part)
    path.unlink()
    return parts


def _copy(source: IO[bytes], target: IO[bytes], count: int) -> None:
    while count > 0:
        count -= target.write(source.read(min(count, COPY_BYTES)))

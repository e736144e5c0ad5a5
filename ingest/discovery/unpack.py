"""Unpack the data files in an open raw file, and make them seekable for readers that seek."""

import bz2
import io
import lzma
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO, cast

import pyarrow as pa
from isal import igzip

from tracehouse.ingest.discovery.archives import (
    READ_BYTES,
    IsData,
    Member,
    UnreadableArchiveError,
    tar_members,
    zip_members,
)
from tracehouse.ingest.discovery.packing import Form, compression_of, needs_seek
from tracehouse.ingest.discovery.raw_stream import RawStream

# The header of an xz file can demand up to 4 GiB of memory. `xz -9` takes 65 MiB.
_MOST_XZ_BYTES = 256 << 20
# Larger streams are copied to the disk.
_MOST_BYTES_IN_MEMORY = 64 << 20
# A small block: after each stream, a decompressor copies the rest of the block, and a file may consist
# of many empty streams.
_PACKED_BYTES = 64 << 10


def data_members(
    raw: RawStream,
    form: Form,
    file_name: str,
    folder: str,
    on_skipped: Callable[[str], None] = lambda _: None,
    is_data: IsData = lambda _: False,
) -> Iterator[Member]:
    """Yield the data files in an open raw file, in order. The caller reads each one before the next.

    `file_name` and `folder` are those of the data file if the raw file is not an archive. `on_skipped` is
    called with the name of each member that looks like a data file but is not read, such as a link, and the
    reason. `is_data` decides whether a member without an extension is read; by default, none is.
    """
    if form == "zip":
        yield from _members_of_zip(raw, on_skipped, is_data)
        return
    if needs_seek(form) and len(raw.paths) == 1:
        # The reader seeks in a handle of its own. `raw` hashes the bytes afterwards.
        with raw.paths[0].open("rb") as file:
            yield Member(file_name, folder, file)
        return
    unpacked = _unpacked(cast(BinaryIO, io.BufferedReader(raw, READ_BYTES)), compression_of(form))
    if form.startswith("tar"):
        yield from tar_members(unpacked, on_skipped, is_data)
    else:
        yield Member(file_name, folder, unpacked)


def _unpacked(packed: BinaryIO, compression: str) -> BinaryIO:
    unpacked: object = packed
    match compression:
        case "gz":
            unpacked = igzip.IGzipFile(fileobj=packed)
        case "bz2":
            unpacked = io.BufferedReader(_Decompressed(packed, bz2.BZ2Decompressor), READ_BYTES)
        case "xz":
            decompressor = partial(lzma.LZMADecompressor, memlimit=_MOST_XZ_BYTES)
            unpacked = io.BufferedReader(_Decompressed(packed, decompressor), READ_BYTES)
        case "zst":
            source = pa.PythonFile(packed, mode="r")
            unpacked = io.BufferedReader(pa.CompressedInputStream(source, "zstd"), READ_BYTES)
    return cast(BinaryIO, unpacked)


def _members_of_zip(raw: RawStream, on_skipped: Callable[[str], None], is_data: IsData) -> Iterator[Member]:
    # The directory of a zip is at its end, so the zip is read by seeking in a handle of its own. `raw` hashes
    # the bytes afterwards.
    if len(raw.paths) > 1:
        raise UnreadableArchiveError("it is a zip in parts")
    with io.FileIO(raw.paths[0]) as file:
        raw.check_unchanged(file)
        packed = cast(BinaryIO, io.BufferedReader(file, READ_BYTES))
        yield from zip_members(packed, on_skipped, is_data)


class _Decompressed(io.RawIOBase):
    """The decompressed bytes of concatenated bz2 or xz streams.

    The standard library treats a damaged second stream as the end of the file, and silently drops the rest.
    """

    def __init__(
        self, packed: BinaryIO, decompressor: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
    ):
        self._packed = packed
        self._new = decompressor
        self._one = decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while True:
            data = b""
            if self._one.eof:
                data = self._next_stream(self._one.unused_data)
                if not data:
                    return 0
                self._one = self._new()
            elif self._one.needs_input:
                data = self._packed.read(_PACKED_BYTES)
                if not data:
                    raise EOFError("it ends inside a compressed stream")
            try:
                unpacked = self._one.decompress(data, len(buffer))
            except lzma.LZMAError as error:
                if "Memory usage limit" in str(error):
                    what = f"unpacking it takes more than {_MOST_XZ_BYTES >> 20} MiB of memory"
                    raise UnreadableArchiveError(what) from error
                raise
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)

    def _next_stream(self, data: bytes) -> bytes:
        """Return the first bytes of the next stream, without zeros that pad the previous one."""
        while not (left := data.lstrip(b"\0")):
            data = self._packed.read(_PACKED_BYTES)
            if not data:
                break
        return left


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

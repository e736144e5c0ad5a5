"""Read a zip on a server by byte ranges: first its directory, then only the requested members."""

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from tracehouse.core.errors import Option
from tracehouse.core.text import escape_name
from tracehouse.ingest.dump.archive import MOST_MEMBERS, check_sizes
from tracehouse.ingest.fetch.client import Client, SourceError, TransferError, content_range, validator_of
from tracehouse.ingest.fetch.transfer import OnBytes

# The bytes of one request. A request that breaks off is repeated from its start.
_BLOCK_BYTES = 4 << 20
# The directories of the published zips have less than one.
_MOST_DIRECTORY_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class RemoteZip:
    """A zip at a URL. Methods raise SourceError if it cannot be read by ranges or is damaged."""

    client: Client
    url: str

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        with self._explain("its directory"):
            ranges = _Ranges(self.client, self.url)
            archive = zipfile.ZipFile(cast(BinaryIO, io.BufferedReader(ranges, _BLOCK_BYTES)))
            ranges.bytes_left = None
            _check_directory(archive)
            return archive

    def members(self) -> list[zipfile.ZipInfo]:
        """Return the entries of the directory, except folders."""
        return [info for info in self._archive.infolist() if not info.is_dir()]

    def download(self, member: str, path: Path, on_bytes: OnBytes) -> None:
        """Download a member to `path`. Its size and CRC-32 must be those in the directory."""
        info = self._archive.getinfo(member)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        try:
            with self._explain(member), self._archive.open(info) as packed, part.open("wb") as file:
                while block := packed.read(_BLOCK_BYTES):
                    file.write(block)
                    on_bytes(file.tell(), info.file_size)
                if file.tell() != info.file_size:
                    raise zipfile.BadZipFile(f"{file.tell():,} bytes instead of {info.file_size:,}")
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn the exceptions of a damaged zip into SourceError: zipfile raises a dozen kinds of them."""
        try:
            yield
        except SourceError:
            raise
        except Exception as damage:
            # An OSError with a number comes from the disk, one without from a decompressor.
            if isinstance(damage, OSError) and damage.errno is not None:
                raise
            url = self.client.resolve(self.url)
            reason = str(damage) or type(damage).__name__
            raise SourceError(f"{url}: {what} cannot be read ({reason})") from damage


def _check_directory(archive: zipfile.ZipFile) -> None:
    """Raise BadZipFile if the directory lists a file twice, or sizes that the archive cannot contain."""
    paths = set()
    packed_bytes = 0
    for info in archive.infolist():
        path, name = info.filename.lstrip("/"), escape_name(info.filename[:80])
        if path in paths:
            raise zipfile.BadZipFile(f"it lists {name} twice")
        paths.add(path)
        packed_bytes += info.compress_size
        check_sizes(info)
        if packed_bytes > archive.start_dir:
            raise zipfile.BadZipFile(f"the size of {name} is impossible")
    if len(paths) > MOST_MEMBERS:
        raise zipfile.BadZipFile(f"it lists more than {MOST_MEMBERS:,} files and folders")


class _Ranges(io.RawIOBase):
    """A file on a server that is read by ranges. All ranges must come from the same version of the file.

    `bytes_left` limits the bytes still to read; None is no limit.
    """

    def __init__(self, client: Client, url: str):
        self._client = client
        self._url = url
        self._at = 0
        self._version: tuple[int | None, str] | None = None
        self.bytes_left: int | None = _MOST_DIRECTORY_BYTES
        client.retry(lambda: self._fetch(1))

    @property
    def _size(self) -> int:
        return (self._version and self._version[0]) or 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        if self.bytes_left is not None:
            if count > self.bytes_left:
                raise zipfile.BadZipFile(f"it has more than {_MOST_DIRECTORY_BYTES:,} bytes")
            self.bytes_left -= count
        buffer[:count] = self._client.retry(lambda: self._fetch(count))
        self._at += count
        return count

    def _fetch(self, count: int) -> bytes:
        """Request `count` bytes from the current position."""
        url = self._client.resolve(self._url)
        headers = {"Range": f"bytes={self._at}-{self._at + count - 1}"}
        with self._client.get(self._url, headers) as response:
            if response.status_code != 206:
                raise SourceError(
                    f"{url}: the server sends whole files only, so its members cannot be fetched alone. "
                    "Fetch the whole file without ",
                    Option("only"),
                )
            start, size = content_range(response)
            version = (size, validator_of(response))
            if start != self._at or size is None:
                raise TransferError(f"{url}: the server sent another range than requested")
            if self._version not in (None, version):
                raise SourceError(f"{url}: the file changed while it was fetched. Run the command again")
            self._version = version
            data = self._client.read_body(response, count)
        if len(data) != count:
            raise TransferError(f"{url}: received {len(data):,} of {count:,} bytes")
        return data

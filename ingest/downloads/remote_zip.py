"""Read a zip on a server by byte ranges: first its directory, then only the requested members."""

import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from tracehouse.ingest.discovery.archives import UnreadableArchiveError, open_in_zip, open_zip
from tracehouse.ingest.discovery.raw_stream import DAMAGE
from tracehouse.ingest.downloads.download import limit_bytes
from tracehouse.ingest.downloads.http import Client, RetryableError, SourceError, content_range, validator_of

if TYPE_CHECKING:
    from requests import Response

# The bytes of one request. A request that breaks off is repeated from its start.
_BLOCK_BYTES = 4 << 20
# Enough for a directory with a million members.
_MOST_DIRECTORY_BYTES = 128 << 20


@dataclass(frozen=True, eq=False)
class RemoteZip:
    """A zip at a URL. Methods raise SourceError if it cannot be read by ranges or is damaged."""

    client: Client
    url: str

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        file = _Reader(_Ranges(self.client, self.url), _BLOCK_BYTES)
        try:
            return open_zip(cast(BinaryIO, file))
        except (zipfile.BadZipFile, UnreadableArchiveError) as damage:
            raise self._damaged("its directory", damage) from damage

    def members(self) -> Sequence[zipfile.ZipInfo]:
        """Return the entries of the directory, except folders."""
        return [info for info in self._archive.infolist() if not info.filename.endswith("/")]

    def download(self, member: str, path: Path, on_bytes: Callable[[int, int], None]) -> None:
        """Download a member to `path`. Its size and CRC-32 must be those in the directory."""
        info = self._archive.getinfo(member)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        try:
            # A server could send such a member without end: many packed bytes that unpack to nothing.
            if info.compress_size > info.file_size + info.file_size // 50 + 1024:
                raise zipfile.BadZipFile(f"{info.compress_size:,} bytes packed, {info.file_size:,} unpacked")
            limit_bytes(self.client.resolve(self.url), path, info.file_size, 0)
            with open_in_zip(self._archive, info) as packed, part.open("wb") as file:
                while block := packed.read(_BLOCK_BYTES):
                    file.write(block)
                    on_bytes(file.tell(), info.file_size)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except (*DAMAGE, UnreadableArchiveError, OSError) as damage:
            # An OSError without a number comes from a decompressor, not from the disk.
            if isinstance(damage, OSError) and damage.errno is not None:
                raise
            raise self._damaged(member, damage) from damage
        finally:
            part.unlink(missing_ok=True)

    def _damaged(self, what: str, damage: Exception) -> SourceError:
        return SourceError(f"{self.client.resolve(self.url)}: {what} is damaged ({damage})")


class _Reader(io.BufferedReader):
    """Refuses a read of more than `_MOST_DIRECTORY_BYTES`: the directory's size in the zip must be wrong."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MOST_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"it has {size:,} bytes")
        return super().read(size)


class _Ranges(io.RawIOBase):
    """A file on a server that is read by ranges. All ranges must come from the same version of the file."""

    def __init__(self, client: Client, url: str):
        self._client = client
        self._url = url
        self._at = 0
        self._validator = ""
        self._size = 0
        self._fetch(0, 1)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        buffer[:count] = self._fetch(self._at, count)
        self._at += count
        return count

    def readall(self) -> bytes:
        # The inherited method would make a request for every 8 KiB.
        start, self._at = self._at, max(self._at, self._size)
        return self._fetch(start, self._at - start) if start < self._at else b""

    def _fetch(self, start: int, count: int) -> bytes:
        return self._client.retry(self._url, lambda: self._request(start, count))

    def _request(self, start: int, count: int) -> bytes:
        url = self._client.resolve(self._url)
        with self._client.get(self._url, {"Range": f"bytes={start}-{start + count - 1}"}) as response:
            if response.status_code != 206:
                raise SourceError(
                    f"{url}: the server sends whole files only, so its members cannot be fetched alone. "
                    "Fetch the whole file without --only"
                )
            self._check_version(response, start)
            data = self._client.read_at_most(response, count)
        if len(data) != count:
            raise RetryableError(f"{url}: received {len(data):,} of {count:,} bytes")
        return data

    def _check_version(self, response: "Response", start: int) -> None:
        first, size = content_range(response)
        validator = validator_of(response)
        if first != start or size is None:
            raise RetryableError(f"{response.url}: the server sent another range than requested")
        if self._size and (size, validator) != (self._size, self._validator):
            raise SourceError(f"{response.url}: the file changed while it was fetched. Run the command again")
        self._size, self._validator = size, validator

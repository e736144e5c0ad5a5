"""Download one file from one URL atomically, and resume an interrupted download.

Received bytes are kept in ``<name>.part``. A hidden file next to it records to which version of the file they
belong. A download is resumed only if the server still has this version (RFC 9110, ranges and If-Range).
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core.errors import RawFileError, UserError
from tracehouse.ingest.discovery.packing import part_of
from tracehouse.ingest.discovery.raw_stream import LFS_FIRST_LINE, check_first_bytes, sha256_of
from tracehouse.ingest.downloads.http import Client, RetryableError, SourceError, content_range, validator_of

if TYPE_CHECKING:
    from requests import Response

OnBytes = Callable[[int, int], None]
"""Called with the bytes received so far and the total, 0 if unknown. A restart reduces the received bytes."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# More bytes than any published file has. This is the limit for a file of unknown size, unless half of the
# free disk space is less.
_MOST_BYTES = 10**10
_LENGTH = re.compile(r"[0-9]{1,18}")
# Enough to recognise a web page, and to contain a whole Git LFS pointer.
_FIRST_BYTES = 1024
_POINTER = re.compile(rb"oid sha256:([0-9a-f]{64})")
_GITHUB_FILE = re.compile(r"https://github\.com/([^/]+/[^/]+)/raw/(.+)")


@dataclass(frozen=True)
class _Version:
    """The version of a file that a partial download belongs to; `validator` is its ETag or date."""

    url: str
    validator: str
    bytes: int | None


class _LfsPointerError(Exception):
    """The server sent a Git LFS pointer instead of the file."""

    def __init__(self, first: bytes):
        super().__init__()
        found = _POINTER.search(first)
        self.sha256 = found[1].decode() if found else ""


def download_file(
    client: Client, url: str, path: Path, size: int | None, sha256: str, on_bytes: OnBytes
) -> None:
    """Download the file at `url` to `path`, and compare it with its known checksum, or otherwise its size.

    Raises SourceError if the URL does not serve the file, and UserError if the disk is full. Received bytes
    are kept for the next run, unless they turn out to be wrong.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part_path(path)
    is_resumed = partial_size(path) > 0
    try:
        client.retry(
            url,
            lambda: _receive(client, url, path, size, bool(sha256), on_bytes),
            lambda: partial_size(path),
        )
    except _LfsPointerError as pointer:
        media = _lfs_media_url(url)
        if media is None or not pointer.sha256:
            raise SourceError(
                f"{client.resolve(url)}: this is a Git LFS pointer, not the data. "
                "Clone the repository and run `git lfs pull` in it"
            ) from None
        download_file(client, media, path, None, sha256 or pointer.sha256, on_bytes)
        return
    if sha256 and sha256_of((part,)) != sha256:
        discard_partial(path)
        if is_resumed:
            # The bytes from an earlier run may have been damaged since. Download the file from its start.
            download_file(client, url, path, size, sha256, on_bytes)
            return
        raise SourceError(
            f"{client.resolve(url)}: the received file does not have the published checksum and was removed"
        )
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
    _version_path(path).unlink(missing_ok=True)


def discard_partial(path: Path) -> None:
    """Remove the partial download of a file."""
    _version_path(path).unlink(missing_ok=True)
    _part_path(path).unlink(missing_ok=True)


def partial_size(path: Path) -> int:
    """Return the number of bytes in the partial download of a file."""
    part = _part_path(path)
    return part.stat().st_size if part.exists() else 0


def limit_bytes(url: str, path: Path, size: int | None, have: int) -> int:
    """Return the most bytes to accept for a file. Raises SourceError if its known size exceeds the free disk.

    `have` bytes of it are on the disk already.
    """
    free = shutil.disk_usage(path.parent).free
    if size is None:
        return min(_MOST_BYTES, (have + free) // 2)
    if size - have > free:
        raise SourceError(f"{url}: it does not fit on the disk ({size - have:,} bytes needed, {free:,} free)")
    return size


def _receive(
    client: Client, url: str, path: Path, size: int | None, has_checksum: bool, on_bytes: OnBytes
) -> None:
    """Request the file, or the bytes that are missing, and append the response to the partial file."""
    resolved = client.resolve(url)
    version = _read_version(path, resolved)
    have = partial_size(path) if version else 0
    if version and version.bytes == have:
        return
    headers = {"Range": f"bytes={have}-", "If-Range": version.validator} if version and have else {}
    with client.get(url, headers) as response:
        if not _resumes(response, version, have):
            if response.status_code != 200:
                discard_partial(path)
                raise RetryableError(f"{resolved}: the server sent another range than requested", 0)
            have = 0
        total = _total_bytes(response)
        blocks = client.read_blocks(response)
        first = b"" if have else _check_first_bytes(blocks, response, path, resolved)
        if size is not None and not has_checksum and total not in (None, size):
            raise SourceError(f"{resolved}: it has {total:,} bytes instead of the expected {size:,}")
        has_end = has_checksum or "Transfer-Encoding" in response.headers
        if total is None and size is None and not has_end:
            raise SourceError(f"{resolved}: the server does not send the length, and no size is known")
        most = limit_bytes(resolved, path, size if total is None else total, have)
        if not have:
            _start_partial(path, response, resolved, total)
        _append(chain([first], blocks), resolved, path, total, most, on_bytes)
    received = partial_size(path)
    if size is not None and not has_checksum and received != size:
        discard_partial(path)
        raise SourceError(f"{resolved}: received {received:,} bytes instead of the expected {size:,}")


def _resumes(response: "Response", version: _Version | None, have: int) -> bool:
    """Return whether the response continues the partial file."""
    if response.status_code != 206 or version is None or not have:
        return False
    start, total = content_range(response)
    is_same = validator_of(response) in ("", version.validator) and version.bytes in (None, total)
    return start == have and is_same


def _total_bytes(response: "Response") -> int | None:
    """Return the length of the whole file in bytes, or None if the server does not send it."""
    if response.status_code == 206:
        return content_range(response)[1]
    length = response.headers.get("Content-Length", "")
    is_known = _LENGTH.fullmatch(length) and "Transfer-Encoding" not in response.headers
    return int(length) if is_known else None


def _check_first_bytes(blocks: Iterator[bytes], response: "Response", path: Path, url: str) -> bytes:
    """Read and return the first bytes of the file. Raises SourceError if they do not fit its name."""
    first = b""
    while len(first) < _FIRST_BYTES and (block := next(blocks, b"")):
        first += block
    if first.startswith(LFS_FIRST_LINE):
        raise _LfsPointerError(first)
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity" and not path.name.endswith((".gz", ".tgz", ".xz")):
        raise SourceError(f"{url}: the server compresses the file with {encoding}, which was not requested")
    part = part_of(path.name)
    try:
        check_first_bytes(path, first, part.number if part else 0)
    except RawFileError as error:
        raise SourceError(f"{url}: {error.what}") from None
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise SourceError(f"{url}: this is a web page (probably an error message), not the data")
    return first


def _append(
    blocks: Iterable[bytes], url: str, path: Path, total: int | None, most: int, on_bytes: OnBytes
) -> None:
    """Append blocks to the partial file. An interrupted download keeps every block written so far.

    If the file gets longer than `most` bytes, removes it and raises SourceError.
    """
    try:
        with _part_path(path).open("ab") as file:
            have = file.tell()
            on_bytes(have, total or 0)
            for block in blocks:
                have += len(block)
                if have > most:
                    break
                file.write(block)
                file.flush()
                on_bytes(have, total or 0)
    except OSError as error:
        if error.errno not in _DISK_FULL:
            raise
        what = f"the disk is full ({error.strerror or error}). Received bytes are kept in {_part_path(path)}"
        raise UserError(what) from None
    if have > most:
        discard_partial(path)
        raise SourceError(f"{url}: the server sends more than {most:,} bytes, and they were removed")
    if total is not None and have != total:
        raise RetryableError(f"{url}: received {have:,} of {total:,} bytes")


def _start_partial(path: Path, response: "Response", url: str, total: int | None) -> None:
    """Create an empty partial file, and record its version if the server sends one."""
    discard_partial(path)
    _part_path(path).touch()
    validator = validator_of(response)
    if validator:
        record = json.dumps(asdict(_Version(url, validator, total)))
        _version_path(path).write_text(record, encoding="utf-8")


def _read_version(path: Path, url: str) -> _Version | None:
    """Return the version of the partial file, or None if there is no partial file from this URL."""
    try:
        version = _Version(**json.loads(_version_path(path).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return version if version.url == url and _part_path(path).exists() else None


def _lfs_media_url(url: str) -> str | None:
    """Return the URL of the real file for the URL of a Git LFS pointer on GitHub; None for other URLs."""
    found = _GITHUB_FILE.fullmatch(url)
    return f"https://media.githubusercontent.com/media/{found[1]}/{found[2]}" if found else None


def _part_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _version_path(path: Path) -> Path:
    # Hidden, so that `traces ingest` does not list it as unrecognised.
    return path.with_name(f".{path.name}.part.json")

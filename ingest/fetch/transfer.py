"""Download one file from one URL atomically, and resume an interrupted download.

Received bytes are kept in ``<name>.part``. A hidden file next to it records to which version of the file they
belong. A download is resumed only if the server still has this version (RFC 9110, ranges and If-Range).
"""

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracehouse.core.errors import RawFileError, UserError
from tracehouse.ingest.dump.open import check_first_bytes, sha256_of
from tracehouse.ingest.dump.raw_files import part_of
from tracehouse.ingest.fetch.client import Client, SourceError, TransferError, content_range, validator_of

if TYPE_CHECKING:
    from requests import Response

OnBytes = Callable[[int, int], None]
"""Called with the bytes received so far and the total, 0 if unknown. A restart reduces the received bytes."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The limit for a file of unknown size. No such file of a publisher has more bytes.
_MOST_BYTES = 10**10
# Enough to recognise a web page.
_FIRST_BYTES = 1024
_VERSION_TYPES = {"url": str, "validator": str, "bytes": int}
_LENGTH = re.compile(r"[0-9]{1,18}")


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
    expected = None if sha256 else size
    client.retry(
        lambda: _receive(client, url, path, expected, bool(sha256), on_bytes), lambda: partial_size(path)
    )
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


def _receive(
    client: Client, url: str, path: Path, size: int | None, has_checksum: bool, on_bytes: OnBytes
) -> None:
    """Request the file, or the bytes that are missing, and append the response to the partial file."""
    resolved = client.resolve(url)
    version = _read_version(path, resolved)
    have = partial_size(path) if version else 0
    if have and have == version["bytes"]:
        return
    headers = {"Range": f"bytes={have}-", "If-Range": version["validator"]} if have else {}
    with client.get(url, headers) as response:
        total = _total_bytes(response)
        if response.status_code == 200:
            have = 0
        elif not have or (content_range(response)[0], total) != (have, version["bytes"]):
            discard_partial(path)
            raise TransferError(f"{resolved}: the server sent another range than requested")
        if size is not None and total not in (None, size):
            raise SourceError(f"{resolved}: it has {total:,} bytes instead of the expected {size:,}")
        if total is None and size is None and not has_checksum and not response.raw.chunked:
            raise SourceError(f"{resolved}: the server does not send the length, and no size is known")
        blocks = client.read_blocks(response)
        if not have:
            blocks = chain([_check_first_bytes(blocks, response, path, resolved)], blocks)
            _start_partial(path, response, resolved, total)
        _append(blocks, resolved, path, size if total is None else total, on_bytes)


def _total_bytes(response: "Response") -> int | None:
    """Return the length of the whole file in bytes, or None if the server does not send it."""
    if response.status_code == 206:
        return content_range(response)[1]
    length = response.headers.get("Content-Length", "")
    return int(length) if _LENGTH.fullmatch(length) and not response.raw.chunked else None


def _check_first_bytes(blocks: Iterator[bytes], response: "Response", path: Path, url: str) -> bytes:
    """Read and return the first bytes of the file. Raises SourceError if they do not fit its name."""
    first = b""
    while len(first) < _FIRST_BYTES and (block := next(blocks, b"")):
        first += block
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity" and not path.name.endswith((".gz", ".tgz", ".xz")):
        raise SourceError(f"{url}: the server compresses the file with {encoding}, which was not requested")
    part = part_of(path.name)
    try:
        check_first_bytes(path, first, part[1] if part else 0)
    except RawFileError as error:
        raise SourceError(f"{url}: {error.what}") from None
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise SourceError(f"{url}: this is a web page (probably an error message), not the data")
    return first


def _append(blocks: Iterable[bytes], url: str, path: Path, total: int | None, on_bytes: OnBytes) -> None:
    """Append blocks to the partial file. An interruption keeps every block written so far.

    If the file gets longer than `total`, or 10 GB if that is not known, removes it and raises SourceError.
    """
    most = _MOST_BYTES if total is None else total
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
        raise TransferError(f"{url}: received {have:,} of {total:,} bytes")


def _start_partial(path: Path, response: "Response", url: str, total: int | None) -> None:
    """Create an empty partial file, and record its version if the server sends one."""
    discard_partial(path)
    _part_path(path).touch()
    if total and validator_of(response):
        record = json.dumps({"url": url, "validator": validator_of(response), "bytes": total})
        _version_path(path).write_text(record, encoding="utf-8")


def _read_version(path: Path, url: str) -> dict[str, Any]:
    """Return the URL, validator and size of the partial file; empty if it is not from this URL."""
    record = _version_path(path)
    try:
        # Opening a named pipe would wait for a writer.
        version = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    except (ValueError, RecursionError):
        return {}
    is_valid = (
        isinstance(version, dict)
        and {name: type(value) for name, value in version.items()} == _VERSION_TYPES
        and version["url"] == url
    )
    return version if is_valid else {}


def _part_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _version_path(path: Path) -> Path:
    # Hidden, so that `traces ingest` does not list it as unrecognised.
    return path.with_name(f".{path.name}.part.json")

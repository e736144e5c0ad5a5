"""Brings one file from one place, whole or not at all, and goes on where an earlier try was cut off.

What has come lies in ``<name>.part``. Beside it, hidden, is noted which version of the file it is the
beginning of: only of the same version is the rest asked for (RFC 9110, ranges and If-Range).
"""

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core.errors import RawFileError, UserError
from tracehouse.ingest.discovery.packing import part_of
from tracehouse.ingest.discovery.unpack import LFS_FIRST_LINE, check_first_bytes, sha256_of
from tracehouse.ingest.downloads.web import PlaceError, TryAgainError, Web

if TYPE_CHECKING:
    from requests import Response

OnBytes = Callable[[int, int], None]
"""Called with how many bytes have come, fewer than before where they are begun anew, and with the total."""

_READ_BYTES = 1 << 18
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Enough to tell a web page, and the whole of a Git LFS pointer.
_FIRST_BYTES = 1024
_POINTER = re.compile(rb"oid sha256:([0-9a-f]{64})")
_GITHUB_FILE = re.compile(r"https://github\.com/([^/]+/[^/]+)/raw/(.+)")


@dataclass(frozen=True)
class _Version:
    """Which version of a file a beginning is of; `validator` is what its server calls it by."""

    url: str
    validator: str
    bytes: int | None


class _PointerError(Exception):
    """A Git LFS pointer came instead of the file."""

    def __init__(self, first: bytes):
        super().__init__()
        found = _POINTER.search(first)
        self.sha256 = found[1].decode() if found else ""


def bring(web: Web, url: str, path: Path, size: int | None, sha256: str, on_bytes: OnBytes) -> None:
    """Write the file that lies at `url` to `path`, with its checksum, or else its size, if they are known.

    Raises PlaceError where the place does not give it, and UserError where the disk has no room.
    What came until then stays for the next time, but for what turned out wrong.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    began_earlier = _size(part) > 0
    size = None if sha256 else size
    try:
        web.persist(url, lambda: _attempt(web, url, path, size, bool(sha256), on_bytes), lambda: _size(part))
    except _PointerError as pointer:
        media = _media_url(url)
        if media is None or not pointer.sha256:
            raise PlaceError(
                f"{web.place(url)}: this is a Git LFS pointer, not the data. Clone the repository and run "
                "`git lfs pull` in it"
            ) from None
        bring(web, media, path, None, sha256 or pointer.sha256, on_bytes)
        return
    if sha256 and sha256_of((part,)) != sha256:
        forget(path)
        if began_earlier:
            # The beginning may have been damaged since.
            bring(web, url, path, size, sha256, on_bytes)
            return
        raise PlaceError(f"{web.place(url)}: what came does not have the published checksum, and was removed")
    _sync(part)
    part.replace(path)
    _note(path).unlink(missing_ok=True)


def forget(path: Path) -> None:
    """Remove what has come of a file."""
    _note(path).unlink(missing_ok=True)
    _part(path).unlink(missing_ok=True)


def come_bytes(path: Path) -> int:
    """How many bytes have come of a file that is not whole yet."""
    return _size(_part(path))


def _attempt(
    web: Web, url: str, path: Path, size: int | None, will_be_summed: bool, on_bytes: OnBytes
) -> None:
    """Ask for the file, or for the rest of it, and write what comes."""
    part = _part(path)
    begun = _begun(path, web.place(url))
    have = _size(part) if begun else 0
    if begun and begun.bytes == have:
        return
    headers = {"Range": f"bytes={have}-", "If-Range": begun.validator} if begun and have else {}
    with web.answer(url, headers) as response:
        place = web.place(url)
        if not _goes_on(response, begun, have):
            if response.status_code != 200:
                forget(path)
                raise TryAgainError(f"{place}: the server sent another range than was asked for", 0)
            have = 0
        total = _total(response)
        blocks = _blocks(web, response)
        first = b"" if have else _first(blocks, response, path, place)
        if size is not None and total not in (None, size):
            raise PlaceError(f"{place}: it has {total:,} bytes, not the {size:,} that are known of it")
        ends_visibly = will_be_summed or "Transfer-Encoding" in response.headers
        if total is None and size is None and not ends_visibly:
            raise PlaceError(f"{place}: the server does not say how long the file is, nor does anybody else")
        _check_room(part, path, (total or size or 0) - have)
        if not have:
            _begin(path, response, place, total)
        _write(chain([first], blocks), place, part, total, on_bytes)
    if size is not None and _size(part) != size:
        came = _size(part)
        forget(path)
        raise PlaceError(f"{place}: {came:,} bytes came, not the {size:,} that are known of it")


def _goes_on(response: "Response", begun: _Version | None, have: int) -> bool:
    """Whether the answer is the rest of what was begun."""
    if response.status_code != 206 or begun is None or not have:
        return False
    start, total = _content_range(response)
    same = _validator(response) in ("", begun.validator) and (begun.bytes is None or begun.bytes == total)
    return start == have and same


def _content_range(response: "Response") -> tuple[int | None, int | None]:
    """Where the range begins, and how long the whole file is."""
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", "").strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def _total(response: "Response") -> int | None:
    """How long the whole file is, as the server says; None where it does not."""
    if response.status_code == 206:
        return _content_range(response)[1]
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdigit() and "Transfer-Encoding" not in response.headers else None


def _validator(response: "Response") -> str:
    """What tells this version of the file from others, byte by byte; empty where nothing does."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _first(blocks: Iterator[bytes], response: "Response", path: Path, place: str) -> bytes:
    """The file's first bytes. Raises PlaceError where they are not what its name says."""
    first = b""
    while len(first) < _FIRST_BYTES and (block := next(blocks, b"")):
        first += block
    if first.startswith(LFS_FIRST_LINE):
        raise _PointerError(first)
    packing = response.headers.get("Content-Encoding", "identity")
    if packing != "identity" and not path.name.endswith((".gz", ".tgz", ".xz")):
        raise PlaceError(f"{place}: the server packs the file with {packing} though it was not asked to")
    part = part_of(path.name)
    try:
        check_first_bytes(path, first, part.number if part else 0)
    except RawFileError as error:
        raise PlaceError(f"{place}: {error.what}") from None
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise PlaceError(f"{place}: this is a web page (an error message, most likely), not the data")
    return first


def _blocks(web: Web, response: "Response") -> Iterator[bytes]:
    """The body as it was sent, block by block as it comes. Raises TryAgainError where too little comes."""
    patience = web.patience
    since_s, came = time.monotonic(), 0
    while block := response.raw.read1(_READ_BYTES, decode_content=False):
        yield block
        came += len(block)
        waited_s = time.monotonic() - since_s
        if waited_s > patience.silence_s:
            if came < patience.least_bytes_per_s * waited_s:
                raise TryAgainError(f"{response.url}: only {came:,} bytes came in {waited_s:.0f} s")
            since_s, came = time.monotonic(), 0


def _write(blocks: Iterable[bytes], place: str, part: Path, total: int | None, on_bytes: OnBytes) -> None:
    """Append the blocks to what has come before."""
    try:
        with part.open("ab") as file:
            have = file.tell()
            on_bytes(have, total or 0)
            for block in blocks:
                file.write(block)
                # Whoever is stopped, keeps it.
                file.flush()
                have += len(block)
                on_bytes(have, total or 0)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise _no_room(part, error.strerror or str(error)) from None
    if total is not None and have != total:
        raise TryAgainError(f"{place}: {have:,} of {total:,} bytes came")


def _begin(path: Path, response: "Response", place: str, total: int | None) -> None:
    """Begin a file anew, and note which version of it comes, if its server says so."""
    forget(path)
    _part(path).touch()
    validator = _validator(response)
    if validator:
        _note(path).write_text(json.dumps(asdict(_Version(place, validator, total))), encoding="utf-8")


def _begun(path: Path, place: str) -> _Version | None:
    """The version that the beginning of a file is of, None where there is none, or none of this place."""
    try:
        version = _Version(**json.loads(_note(path).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return version if version.url == place and _part(path).exists() else None


def _check_room(part: Path, path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise _no_room(part, f"{needed:,} bytes are to come, and {free:,} are free")


def _no_room(part: Path, why: str) -> UserError:
    return UserError(f"the disk has no room for it ({why}). What came stays in {part}")


def _media_url(url: str) -> str | None:
    """Where GitHub keeps the file that a Git LFS pointer at `url` stands for."""
    found = _GITHUB_FILE.fullmatch(url)
    return f"https://media.githubusercontent.com/media/{found[1]}/{found[2]}" if found else None


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _note(path: Path) -> Path:
    # Hidden, so that an ingest does not name it.
    return path.with_name(f".{path.name}.part.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())

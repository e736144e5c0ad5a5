"""Read the URLs of each trace's raw files from ``traces/<trace>_downloads.csv``.

The columns are file (path below the trace's folder), url, backup (another URL), bytes and cluster; the last
three may be empty. ``{aa..aw}`` in a backup stands for the parts that `split` cut the file into. A ``*`` in
file and url stands for one cluster's telemetry files, which the Hugging Face Hub lists. Checksums printed by
publishers are declared with the tables, in `Table.published_sha256`.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import ascii_lowercase

from tracehouse.ingest.declarations import Trace
from tracehouse.ingest.downloads.remote_zip import RemoteZip

FOLDER = Path(__file__).parents[1] / "traces"

_SUFFIX = "_downloads.csv"
# More than the size of all published files together.
_LARGEST_BYTES = 10**13
# File systems allow 255; a partial download adds 11.
_LONGEST_NAME_BYTES = 200
_LONGEST_PATH_BYTES = 1000
_PARTS = re.compile(r"\{(?P<first>[a-z]{2})\.\.(?P<last>[a-z]{2})\}")


@dataclass(frozen=True)
class Download:
    """A raw file: its path below the trace's folder and its URLs, the preferred one first.

    `parts` are the URLs of the file's parts, in order. They are used if no URL of `urls` has the whole file.
    `bytes` is None if the size is unknown; `sha256` is empty if the publisher printed no checksum. The size
    is compared only if there is no checksum. `cluster` names the cluster of a telemetry folder. If `archive`
    is set, the file is its `member`, which is fetched without the other members.
    """

    path: str
    urls: tuple[str, ...]
    parts: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str = ""
    cluster: str = ""
    archive: RemoteZip | None = None
    member: str = ""

    @property
    def part_paths(self) -> tuple[str, ...]:
        """Paths of the parts below the trace's folder."""
        folder = self.path.rpartition("/")[0]
        names = (url.rpartition("/")[2] for url in self.parts)
        return tuple(f"{folder}/{name}" if folder else name for name in names)


@dataclass(frozen=True)
class Listing:
    """The files that a folder or an archive on a server lists, and the errors in the list."""

    files: tuple[Download, ...] = ()
    problems: tuple[str, ...] = ()


def is_plausible(path: str, size: object) -> bool:
    """Return whether a path and a size that a server lists can belong to a file."""
    names = path.split("/")
    has_name = path.isprintable() and not {"", ".", ".."} & set(names)
    return (
        has_name
        and all(len(name.encode()) <= _LONGEST_NAME_BYTES for name in names)
        and len(path.encode()) <= _LONGEST_PATH_BYTES
        and type(size) is int
        and 0 <= size <= _LARGEST_BYTES
    )


def downloads(trace: Trace, folder: Path = FOLDER) -> tuple[Download, ...]:
    """Return the raw files of a trace, in the order of its CSV; none if it has no CSV of downloads."""
    path = folder / f"{trace.name}{_SUFFIX}"
    if not path.exists():
        return ()
    checksums = {name: sha256 for table in trace.tables for name, sha256 in table.published_sha256.items()}
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(_parse_download(row, checksums) for row in csv.DictReader(file, strict=True))


def _parse_download(row: dict[str, str], checksums: dict[str, str]) -> Download:
    backup = row["backup"]
    parts = tuple(_expand_parts(backup))
    return Download(
        path=row["file"],
        urls=(row["url"], backup) if backup and not parts else (row["url"],),
        parts=parts,
        bytes=int(row["bytes"]) if row["bytes"] else None,
        sha256=checksums.get(row["file"].rpartition("/")[2], ""),
        cluster=row["cluster"],
    )


def _expand_parts(url: str) -> Iterator[str]:
    found = _PARTS.search(url)
    if found:
        for letters in map("".join, product(ascii_lowercase, repeat=2)):
            if found["first"] <= letters <= found["last"]:
                yield url[: found.start()] + letters + url[found.end() :]

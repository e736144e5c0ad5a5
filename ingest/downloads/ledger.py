"""Where each trace's raw files can be downloaded, from ``traces/<trace>_downloads.csv``.

A file has the columns file (the path below the trace's folder), url, backup, bytes and cluster, of which the
last three may be empty. ``{aa..aw}`` in a backup stands for the parts that `split` cut the file into. A ``*``
in file and url stands for the telemetry that the Hugging Face Hub lists in that folder, of one cluster.
Checksums that publishers printed are with the tables: `Table.published_sha256`.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import ascii_lowercase

from tracehouse.ingest.declarations import Trace

FOLDER = Path(__file__).parents[1] / "traces"

_ENDING = "_downloads.csv"
_PARTS = re.compile(r"\{(?P<first>[a-z]{2})\.\.(?P<last>[a-z]{2})\}")


@dataclass(frozen=True)
class Download:
    """A raw file: its path below the trace's folder, and where it lies, the preferred place first.

    `parts` are the places of the pieces that it comes in where no place of `urls` has it, in order.
    `bytes` is None where the size is not known, and `sha256` empty where the publisher printed none: a
    checksum decides, and without one the size. `cluster` is that of a folder of telemetry.
    """

    path: str
    urls: tuple[str, ...]
    parts: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str = ""
    cluster: str = ""

    @property
    def part_paths(self) -> tuple[str, ...]:
        """The paths of the parts, below the trace's folder."""
        folder = self.path.rpartition("/")[0]
        names = (url.rpartition("/")[2] for url in self.parts)
        return tuple(f"{folder}/{name}" if folder else name for name in names)


def downloads(trace: Trace, folder: Path = FOLDER) -> tuple[Download, ...]:
    """The raw files of a trace, in the order of its ledger; none where it has no ledger."""
    path = folder / f"{trace.name}{_ENDING}"
    if not path.exists():
        return ()
    checksums = {name: sha256 for table in trace.tables for name, sha256 in table.published_sha256.items()}
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(_download(row, checksums) for row in csv.DictReader(file, strict=True))


def _download(row: dict[str, str], checksums: dict[str, str]) -> Download:
    backup = row["backup"]
    parts = tuple(_parts(backup))
    return Download(
        path=row["file"],
        urls=(row["url"], backup) if backup and not parts else (row["url"],),
        parts=parts,
        bytes=int(row["bytes"]) if row["bytes"] else None,
        sha256=checksums.get(row["file"].rpartition("/")[2], ""),
        cluster=row["cluster"],
    )


def _parts(url: str) -> Iterator[str]:
    found = _PARTS.search(url)
    if found:
        for letters in map("".join, product(ascii_lowercase, repeat=2)):
            if found["first"] <= letters <= found["last"]:
                yield url[: found.start()] + letters + url[found.end() :]

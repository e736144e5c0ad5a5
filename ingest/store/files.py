"""Write files under temporary names, so that a final name never belongs to an incomplete file."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

PARQUET_OPTIONS = "format parquet, compression zstd, compression_level 1, parquet_version v2"
"""DuckDB's options to write Parquet. The files are smaller than with the defaults, and are written faster."""


ARROW_OPTIONS = {
    "version": "2.6",
    "data_page_version": "2.0",
    "compression": "zstd",
    "compression_level": 1,
}
"""Arrow's options to write Parquet."""


@dataclass(frozen=True)
class StagedFile:
    """A complete Parquet file in the staging folder."""

    path: Path
    sha256: str
    rows: int


def stage(path: Path, rows: int) -> StagedFile:
    """Hash a complete Parquet file and flush it to disk, before it is renamed to its final name."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return StagedFile(path, sha256, rows)


def move_into_place(staged_file: StagedFile, target: Path) -> None:
    """Rename a staged file to its final name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged_file.path.replace(target)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file under a temporary name, flush it, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".half")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def flush_folder(folder: Path) -> None:
    """Flush a folder to disk, so that the files in it keep their new names."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def size_of(path: Path) -> int | None:
    """Return the size of a file in bytes, or None if it does not exist."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None

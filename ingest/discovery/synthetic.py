"""Detect synthetic raw files by a marker file in a folder, or by a mark inside a gzip or Parquet file."""

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.ingest.discovery.packing import part_of, sibling

MARKER_NAME = "SYNTHETIC.txt"
GZIP_COMMENT = b"synthetic: tracehouse sample"
PARQUET_KEY = "synthetic"

_GZIP_MAGIC = b"\x1f\x8b"
_FEXTRA, _FNAME, _FCOMMENT = 0x04, 0x08, 0x10
_HEADER_TEXT_LIMIT = 4096


def is_marked(path: Path, below: Path) -> bool:
    """Return whether the raw file at `path`, in the raw folder `below`, is synthetic."""
    return _has_marker(path.absolute(), below.absolute()) or _has_mark(path)


def _has_marker(path: Path, below: Path) -> bool:
    # If the file is outside the raw folder, only its own folder counts.
    top = below if path.is_relative_to(below) else path.parent
    folders = [folder for folder in path.parents if folder.is_relative_to(top)]
    return any((folder / MARKER_NAME).is_file() for folder in folders)


def _has_mark(path: Path) -> bool:
    if path.suffix == ".parquet":
        return _has_key(path)
    # The first of several parts has the header. Numbers begin with 0 or 1.
    names = [sibling(path.name, number) for number in (0, 1)] if part_of(path.name) else [path.name]
    return any(_has_comment(path.with_name(name)) for name in names)


def _has_comment(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return gzip_comment(file) == GZIP_COMMENT
    except OSError:
        return False


def _has_key(path: Path) -> bool:
    try:
        return PARQUET_KEY.encode() in (pq.read_metadata(path).metadata or {})
    # Arrow raises UnicodeDecodeError if the name of a column is damaged.
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return False


def gzip_comment(file: BinaryIO) -> bytes | None:
    """Return the comment in the header of a gzip file opened at its start, or None."""
    fixed = file.read(10)
    if len(fixed) < 10 or fixed[:2] != _GZIP_MAGIC:
        return None
    flags = fixed[3]
    if not flags & _FCOMMENT:
        return None
    if flags & _FEXTRA:
        file.read(int.from_bytes(file.read(2), "little"))
    if flags & _FNAME:
        _zero_terminated(file)
    return _zero_terminated(file)


def _zero_terminated(file: BinaryIO) -> bytes:
    text = bytearray()
    while len(text) < _HEADER_TEXT_LIMIT and (byte := file.read(1)) not in (b"", b"\0"):
        text += byte
    return bytes(text)

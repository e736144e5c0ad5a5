"""Detect synthetic raw files by a marker file in a folder, or by a mark inside a gzip or Parquet file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.dump.open import open_regular

MARKER_NAME = "SYNTHETIC.txt"
GZIP_NAME = b"synthetic: tracehouse sample"
PARQUET_KEY = "synthetic"

_GZIP_MAGIC = b"\x1f\x8b"
_FIXED_HEADER_BYTES = 10


def is_marked(path: Path, below: Path) -> bool:
    """Return whether the raw file at `path`, in the raw folder `below`, is synthetic."""
    path, below = path.absolute(), below.absolute()
    # If the file is outside the raw folder, only its own folder counts.
    top = below if path.is_relative_to(below) else path.parent
    folders = [folder for folder in path.parents if folder.is_relative_to(top)]
    if any((folder / MARKER_NAME).is_file() for folder in folders):
        return True
    try:
        with open_regular(path) as file:
            if path.suffix == ".parquet":
                return PARQUET_KEY.encode() in (pq.read_metadata(file).metadata or {})
            header = file.read(_FIXED_HEADER_BYTES + len(GZIP_NAME) + 1)
    # Arrow raises UnicodeDecodeError if the name of a column is damaged.
    except (RawFileError, OSError, pa.ArrowException, UnicodeDecodeError):
        return False
    return header.startswith(_GZIP_MAGIC) and header[_FIXED_HEADER_BYTES:] == GZIP_NAME + b"\0"

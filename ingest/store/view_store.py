"""Store the files of materialized views, each next to a file with its checksum.

    <warehouse>/stored/<schema>/<view>_v<N>/<hash>.parquet
                                            <hash>.sha256

A file is complete if its checksum exists, because the checksum is written last. It has the format of
`sha256sum`. The footer of the Parquet file states the file's path: a file that was copied from another view
counts as missing. The manifest lists superseded files.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.ingest.store import files
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import CHECKSUM_SUFFIX, VIEWS_FOLDER

# Names of files of views, and of base tables, are hashes.
HASH_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
PATH_IN_FOOTER = "tracehouse_path"


def add(warehouse: Path, staged_file: StagedFile, path: str) -> None:
    """Move a staged file to its path below the warehouse, and write its checksum."""
    target = warehouse / path
    files.move_into_place(staged_file, target)
    files.write_atomically(checksum_file(target), f"{staged_file.sha256}  {target.name}\n")
    files.flush_folder(target.parent)


def remove(warehouse: Path, path: str) -> None:
    """Remove a file and its checksum, and the folder if it is empty afterwards."""
    # Remove the checksum first. If the process is killed in between, a checksum without a file would count as
    # damage.
    checksum_file(warehouse / path).unlink(missing_ok=True)
    (warehouse / path).unlink(missing_ok=True)
    with suppress(OSError):
        (warehouse / path).parent.rmdir()


def count_rows(warehouse: Path, path: str) -> int | None:
    """Return the number of rows of a file, or None if it is missing, incomplete or of another view."""
    if not checksum_file(warehouse / path).exists():
        return None
    try:
        footer = pq.read_metadata(warehouse / path)
    # Arrow raises UnicodeDecodeError if the name of a column is damaged.
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return None
    stated = (footer.metadata or {}).get(PATH_IN_FOOTER.encode())
    return footer.num_rows if stated == path.encode() else None


def read_checksums(warehouse: Path, schemas: Collection[str]) -> dict[str, str]:
    """Return the checksums of view files by path. If `schemas` is empty, those of all schemas."""
    return {
        path.with_suffix(".parquet").relative_to(warehouse).as_posix(): _read_checksum(path)
        for path in sorted((warehouse / VIEWS_FOLDER).glob(f"*/*/*{CHECKSUM_SUFFIX}"))
        if not schemas or path.parts[-3] in schemas
    }


def _read_checksum(path: Path) -> str:
    # A damaged file has a checksum that no file has.
    return path.read_text(encoding="utf-8", errors="replace").partition(" ")[0]


def checksum_file(path: Path) -> Path:
    """Return the path of the file that contains the checksum of a view's file."""
    return path.with_suffix(CHECKSUM_SUFFIX)


def list_files(warehouse: Path) -> dict[str, int]:
    """Return the files of views by path, with their sizes in bytes."""
    return {
        file.relative_to(warehouse).as_posix(): file.stat().st_size
        for file in (warehouse / VIEWS_FOLDER).glob("*/*/*.parquet")
        if HASH_NAME.fullmatch(file.name)
    }

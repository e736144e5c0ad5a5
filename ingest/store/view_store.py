"""Store the files of materialized views, each next to a file with its checksum.

    <warehouse>/stored/<schema>/<view>_v<N>/<hash>.parquet
                                            <hash>.sha256

A file is complete if its checksum exists, because the checksum is written last. It has the format of
`sha256sum`. The footer of the Parquet file states the file's path: a file that was copied from another view
counts as missing. Superseded files are listed in `.ingest/stored.json`.
"""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.ingest.store import files, records
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.layout import CHECKSUM_SUFFIX, VIEWS_FOLDER, WORK_FOLDER
from tracehouse.ingest.store.records import Superseded

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
        path.with_suffix(".parquet").relative_to(warehouse).as_posix(): path.read_text().partition(" ")[0]
        for path in sorted((warehouse / VIEWS_FOLDER).glob(f"*/*/*{CHECKSUM_SUFFIX}"))
        if not schemas or path.parts[-3] in schemas
    }


def checksum_file(path: Path) -> Path:
    """Return the path of the file that contains the checksum of a view's file."""
    return path.with_suffix(CHECKSUM_SUFFIX)


def record_superseded(warehouse: Path, used: Collection[str]) -> list[Superseded]:
    """Record the files that the newest database does not read, with the time, and return them."""
    version = records.read(warehouse).version
    now = datetime.now(UTC).isoformat(timespec="seconds")
    listed = _read_superseded(warehouse)
    before = {old.path: old for old in listed}
    # The previous version may still have read these files. The current version is the first that does not.
    after = [
        before.get(path) or Superseded(path, (warehouse / path).stat().st_size, version - 1, now)
        for path in sorted(
            file.relative_to(warehouse).as_posix()
            for file in (warehouse / VIEWS_FOLDER).glob("*/*/*.parquet")
            if HASH_NAME.fullmatch(file.name)
        )
        if path not in used
    ]
    if after != listed:
        write_superseded(warehouse, after)
    return after


def write_superseded(warehouse: Path, superseded: Collection[Superseded]) -> None:
    """Replace the list of superseded files."""
    files.write_atomically(superseded_list(warehouse), json.dumps([asdict(old) for old in superseded]))


def superseded_list(warehouse: Path) -> Path:
    """Return the file that lists the superseded files."""
    return warehouse / WORK_FOLDER / "stored.json"


def _read_superseded(warehouse: Path) -> list[Superseded]:
    """Read the list of superseded files. It is empty if the file is missing or damaged."""
    try:
        listed = json.loads(superseded_list(warehouse).read_text(encoding="utf-8"))
        return [Superseded(**entry) for entry in listed]
    except (OSError, ValueError, TypeError):
        return []

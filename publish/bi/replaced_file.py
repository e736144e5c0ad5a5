"""Write a published database file under a temporary name, and replace the previous one atomically."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import UserError
from tracehouse.core.text import escape_name, quoted
from tracehouse.ingest.store.files import flush_folder
from tracehouse.publish import output
from tracehouse.publish.bi.contents import MARKER_COMMENT


def check(path: Path) -> None:
    """Raise UserError unless the path is free, or is a published database that can be replaced."""
    if any(letter in path.name for letter in "*?[\\") or escape_name(path.name) != path.name:
        raise UserError(f"{escape_name(path)}: DuckDB cannot open a file with this name. Choose another")
    output.check_folder(path)
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{path}: this exists and is not a file")
    if not _is_published(path):
        raise UserError(
            f"{path}: this file was not written by `traces publish` and is not replaced. "
            "Choose another name, or move it away"
        )


@contextmanager
def stage_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; when the block succeeds, the file at it replaces the file at `path`."""
    prefix = f".{path.name}-"
    for left in path.parent.glob(f"{prefix}*"):
        # A killed process left this file. Files that another running publish has open are kept.
        database = left.with_name(prefix + left.name.removeprefix(prefix).split(".")[0])
        if not is_open_elsewhere(database):
            left.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=path.parent)
    os.close(descriptor)
    staged = Path(name)
    # DuckDB does not open an empty file.
    staged.unlink()

    def remove() -> None:
        for left in path.parent.glob(f"{staged.name}*"):
            left.unlink(missing_ok=True)

    with signals.clean_up_at_end(remove):
        yield staged
        with staged.open("rb") as file:
            os.fsync(file.fileno())
        _replace(staged, path)


def is_open_elsewhere(path: Path) -> bool:
    """Whether another process has the database open; always False on Windows."""
    if sys.platform == "win32":
        return False
    import fcntl

    with suppress(FileNotFoundError), path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _replace(staged: Path, path: Path) -> None:
    try:
        # The new database could not be opened with a write-ahead log of the old one.
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
        staged.replace(path)
    except PermissionError as refusal:
        raise UserError(
            f"{path}: cannot replace the file ({refusal.strerror}). If another program has it open, close "
            "it there and publish again"
        ) from None
    if sys.platform != "win32":
        flush_folder(path.parent)


def _is_published(path: Path) -> bool:
    with duckdb.connect() as connection:
        try:
            connection.execute(f"attach {quoted(str(path))} as before (read_only)")
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                return False
            raise UserError(
                f"{path}: another program has the file open for writing ({str(error).splitlines()[0]}). "
                "Close it there, or open it read-only, and publish again"
            ) from None
        except duckdb.Error:
            return False
        found = connection.execute(
            """
            select comment from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'contents'
            """
        ).fetchall()
    return found == [(MARKER_COMMENT,)]

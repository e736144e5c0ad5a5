"""A database file of ours that is written aside and takes the place of the one before in one step."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import UserError
from tracehouse.core.names import shown_name
from tracehouse.engines.duckdb.names import quoted
from tracehouse.publish import output
from tracehouse.publish.bi.contents import MARK


def check(path: Path) -> None:
    """Raise UserError unless a published database can take the place of what has a path, if anything has."""
    if any(letter in path.name for letter in "*?[\\") or shown_name(path.name) != path.name:
        raise UserError(f"{shown_name(path)}: DuckDB cannot open a file of that name. Choose another")
    output.check_folder(path)
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{path}: there is something else of that name, not a file")
    if not _is_ours(path):
        raise UserError(
            f"{path}: this is no database that `traces publish` wrote, and it stays as it is. "
            "Name another file, or move it away"
        )


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """The path of a new database, which takes the place of the one before where the block ends well."""
    prefix = f".{path.name}-"
    for left in path.parent.glob(f"{prefix}*"):
        # Of a process that was killed. What another publish writes to at this moment stays, and its log too.
        its_database = left.with_name(prefix + left.name.removeprefix(prefix).split(".")[0])
        if not is_open_elsewhere(its_database):
            left.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=path.parent)
    os.close(descriptor)
    half = Path(name)
    # DuckDB opens no empty file.
    half.unlink()

    def remove() -> None:
        for left in path.parent.glob(f"{half.name}*"):
            left.unlink(missing_ok=True)

    with signals.before_the_end(remove):
        yield half
        with half.open("rb") as file:
            os.fsync(file.fileno())
        _replace(half, path)


def is_open_elsewhere(path: Path) -> bool:
    """Whether another process has a database open, to read or write; False where that cannot be told."""
    if sys.platform == "win32":
        return False
    import fcntl

    with suppress(FileNotFoundError), path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _replace(half: Path, path: Path) -> None:
    try:
        # The log of a client that wrote into the old database does not fit the new one, and would lock it.
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
        half.replace(path)
    except PermissionError as refusal:
        raise UserError(
            f"{path}: it cannot be replaced ({refusal.strerror}). If another program has it open, close it "
            "there, and publish again"
        ) from None
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_ours(path: Path) -> bool:
    with duckdb.connect() as connection:
        try:
            connection.execute(f"attach {quoted(str(path))} as before (read_only)")
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                return False
            raise UserError(
                f"{path}: another program has it open for writing, and would go on with the old file "
                f"({str(error).splitlines()[0]}). Close it there, or open it read-only, and publish again"
            ) from None
        except duckdb.Error:
            return False
        found = connection.execute(
            """
            select comment from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'contents'
            """
        ).fetchall()
    return found == [(MARK,)]

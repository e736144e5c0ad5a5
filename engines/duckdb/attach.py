"""Attach an existing database read-only."""

from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.text import quoted

_HELD = "Could not set lock on file"


class HeldError(UserError):
    """Another process has the database open for writing, so that no other process can open it."""


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attach a database read-only under a name.

    Raises HeldError if another process has it open for writing, and UserError if it cannot be opened.
    """
    try:
        connection.execute(f"attach {quoted(str(path))} as {name} (read_only)")
    except duckdb.Error as error:
        message = str(error).splitlines()[0]
        if _HELD in message:
            holder = message.partition("is held in ")[2].partition(". See also")[0] or "another process"
            raise HeldError(
                f"{path}: {holder} has the database open for writing, so that no other process can open it. "
                "Close it there. `traces shell` and `duckdb -readonly` open it for reading only"
            ) from None
        raise UserError(f"{path}: the database cannot be opened ({message})") from None

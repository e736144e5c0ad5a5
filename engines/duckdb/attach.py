"""Opens a database that is there, read-only, beside what a connection has."""

from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.names import quoted

_HELD = "Could not set lock on file"


class HeldError(UserError):
    """Another process has a database open for writing: nobody else can open it until that ends."""


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attach a database under a name. Raises HeldError, or UserError where it cannot be opened otherwise."""
    try:
        connection.execute(f"attach {quoted(str(path))} as {name} (read_only)")
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        if _HELD in said:
            holder = said.partition("is held in ")[2].partition(". See also")[0] or "another process"
            raise HeldError(
                f"{path}: {holder} has the database open for writing, and nobody else can open it meanwhile. "
                "Close it there; `traces shell` opens it for reading, as `duckdb -readonly` does"
            ) from None
        raise UserError(f"{path}: the database cannot be opened ({said})") from None

"""Finds the DuckDB shell, and says how to open the database with it."""

import shutil
import sysconfig
from pathlib import Path

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.names import NAME, quoted
from tracehouse.ingest.store.layout import resolve_warehouse


def command(warehouse: Path) -> list[str]:
    """The command that opens a warehouse's database read-only in the DuckDB shell.

    Raises UserError where there is no database, or no shell.
    """
    database = resolve_warehouse(warehouse) / NAME
    if not database.exists():
        raise UserError(f"{database}: there is no database. Make one with `traces ingest --raw DIR`")
    own = shutil.which("duckdb", path=sysconfig.get_path("scripts"))
    program = own or shutil.which("duckdb")
    if program is None:
        raise UserError("the DuckDB shell is not installed: pip install duckdb-cli")
    root = quoted(database.parent.as_posix())
    return [program, "-readonly", "-cmd", f"set variable data_root = {root}", str(database)]

"""Says so where a question fails because another version of this program built the database.

That is looked up when a question has failed, not when a database is opened: one that lacks something answers
whatever does not need it, and no other pays for the look.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.names import NAME

_FOR_A_NAME = ("Binder Error", "Catalog Error")


@contextmanager
def told(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> Iterator[None]:
    """Raise UserError where the block fails for what a warehouse's catalog lacks, and should have."""
    try:
        yield
    except (duckdb.Error, UserError, KeyError) as error:
        named = _named(error)
        lacking = _lacking(connection) if named else {}
        missed = sorted({lacking[name] for name in named if name in lacking})
        if not missed:
            raise
        raise UserError(
            f"{warehouse / NAME} was built by another version of Tracehouse: `traces build` makes it anew. "
            f"It has no {' and no '.join(missed)}"
        ) from None


def _named(error: Exception) -> set[str]:
    """What an error names, if it may be that a name is not there; a row without a column tells its key."""
    if isinstance(error, KeyError):
        return {str(key) for key in error.args}
    text = str(error)
    return set(re.findall(r"\w+", text.splitlines()[0])) if text.startswith(_FOR_A_NAME) else set()


def _lacking(connection: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """The tables and columns that a catalog should have and has not, each by its own name."""
    from tracehouse.views.view_files import VIEWS

    with duckdb.connect() as of_this_version:
        of_this_version.execute((VIEWS / "catalog" / "tables.sql").read_text())
        known = _columns(of_this_version)
    # Apart from the connection's transaction, which may have failed.
    with connection.cursor() as beside:
        found = _columns(beside)
    tables = {table for table, _ in found}
    return {
        (column if table in tables else table): f"catalog.{table}" + f".{column}" * (table in tables)
        for table, column in known - found
    }


def _columns(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """Tables of a catalog, each with its columns."""
    return set(
        connection.execute(
            """
            select table_name, column_name from duckdb_columns()
            where schema_name = 'catalog' and database_name in ('memory', 'warehouse')
            """
        ).fetchall()
    )

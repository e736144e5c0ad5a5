"""Explain queries that fail because another version of Tracehouse built the database.

The check runs only after a failure: an older database still answers all other queries.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.names import DATABASE

_NAME_ERRORS = ("Binder Error", "Catalog Error")


@contextmanager
def explain(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> Iterator[None]:
    """Raise UserError if the block fails because the warehouse's catalog lacks a table or column."""
    try:
        yield
    except (duckdb.Error, UserError, KeyError) as error:
        names = _names(error)
        missing = _missing(connection) if names else {}
        needed = sorted({missing[name] for name in names if name in missing})
        if not needed:
            raise
        raise UserError(
            f"{warehouse / DATABASE} was built by another version of Tracehouse and lacks "
            f"{' and '.join(needed)}. Run `traces build`"
        ) from None


def _names(error: Exception) -> set[str]:
    """Return the names in an error about a missing name; for a KeyError, the missing key."""
    if isinstance(error, KeyError):
        return {str(key) for key in error.args}
    text = str(error)
    return set(re.findall(r"\w+", text.splitlines()[0])) if text.startswith(_NAME_ERRORS) else set()


def _missing(connection: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """Return the full names of the tables and columns that the catalog lacks, by their unqualified names."""
    from tracehouse.views.view_files import VIEWS

    with duckdb.connect() as current:
        current.execute((VIEWS / "catalog" / "tables.sql").read_text())
        expected = _columns(current)
    # The connection's own transaction may have failed.
    with connection.cursor() as cursor:
        found = _columns(cursor)
    tables = {table for table, _ in found}
    return {
        (column if table in tables else table): f"catalog.{table}" + f".{column}" * (table in tables)
        for table, column in expected - found
    }


def _columns(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """Return the pairs of table and column in a catalog."""
    sql = """
        select table_name, column_name from duckdb_columns()
        where schema_name = 'catalog' and database_name in ('memory', 'warehouse')
        """
    return set(connection.execute(sql).fetchall())

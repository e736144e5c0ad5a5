"""Look up names in a warehouse's catalog: traces, failed definitions, and the base tables behind a name."""

from collections.abc import Iterable, Sequence

import duckdb

from tracehouse.core import errors
from tracehouse.core.errors import UserError
from tracehouse.views import graph


def check_traces(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Raise UsageError where one of the named traces does not exist."""
    known = [row[0] for row in connection.execute("select trace from catalog.traces").fetchall()]
    errors.check_traces(names, known)


def check_is_built(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Raise UserError where the user's own definition of this name could not be built."""
    failed = "select error from catalog.not_built where object_name = $name"
    for (error,) in connection.execute(failed, {"name": name}).fetchall():
        raise UserError(f"{name} could not be built: {error}. Fix it, then run `traces build`")


def base_tables(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> set[str]:
    """The base tables behind tables, views and queries. A base table counts as its own."""
    reads = dict(
        connection.execute(
            """
            select query_name, reads from catalog.queries
            union all
            select versioned_name, reads from catalog.views
            union all
            select view_name, arg_max(reads, version) from catalog.views group by view_name
            """
        ).fetchall()
    )
    tables = {name for (name,) in connection.execute("select table_name from catalog.tables").fetchall()}
    return graph.sources(names, reads) & tables

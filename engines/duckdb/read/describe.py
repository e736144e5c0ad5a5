"""Describes one object of the database in full: a table, a view or a query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from tracehouse.engines.duckdb.read.answer import Note, check_is_built, notes
from tracehouse.engines.duckdb.read.search import nearest
from tracehouse.ingest.errors import UsageError
from tracehouse.views.sql_text import first_statement


@dataclass(frozen=True)
class Grid:
    """A table of texts: its title, the names of its columns, and its rows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Description:
    """One object in full: facts by their names, its parameters and columns, caveats, and its SQL."""

    name: str
    title: str
    facts: dict[str, str]
    grids: Sequence[Grid]
    notes: Sequence[Note]
    sql: str


def describe(connection: duckdb.DuckDBPyConnection, name: str) -> Description:
    """Describe a table, a view (by its plain or versioned name) or a query.

    Raises UsageError, which suggests similar names, where nothing has the name.
    """
    for look_up in (_table, _view, _query):
        found = look_up(connection, name)
        if found:
            return found
    check_is_built(connection, name)
    known = connection.execute(
        """
        select table_name from catalog.tables
        union all
        select view_name from catalog.views
        union all
        select query_name from catalog.queries
        """
    ).fetchall()
    raise UsageError(f"nothing is called {name}.{nearest(name, [row[0] for row in known])}")


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    row = _one(connection, "from catalog.tables where table_name = $name", name)
    if row is None:
        return None
    trace = _one(connection, "from catalog.traces where trace = $name", row["trace"]) or {}
    comment = connection.execute(
        """
        select comment from duckdb_views() where schema_name || '.' || view_name = $name
        union all
        select comment from duckdb_tables() where schema_name || '.' || table_name = $name
        """,
        {"name": name},
    ).fetchall()
    data = f"{row['row_count']:,} rows" if row["row_count"] else "no data"
    return Description(
        name,
        comment[0][0] if comment else "",
        {
            "kind": "base table",
            "data": f"{data}, synthetic" if row["synthetic"] else data,
            "grain": row["grain"],
            "source": row["source"],
            "licence": trace.get("licence", ""),
            "cite": trace.get("citation", ""),
        },
        [_columns(connection, name)],
        notes=notes(connection, name),
        sql="",
    )


def _view(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    row = _one(
        connection,
        "from catalog.views where $name in (view_name, versioned_name) order by version desc limit 1",
        name,
    )
    if row is None:
        return None
    return Description(
        row["versioned_name"],
        row["title"],
        {
            "kind": f"view, version {row['version']}, {row['status']}",
            "versions": _versions(connection, row["view_name"]),
            "grain": row["grain"],
            "source": row["source"],
            "reads": ", ".join(row["reads"]),
            "engine": row["engine"],
        },
        [_columns(connection, row["versioned_name"])],
        notes=notes(connection, row["versioned_name"]),
        sql=first_statement(row["sql"]),
    )


def _versions(connection: duckdb.DuckDBPyConnection, view_name: str) -> str:
    """Every version of a view with its status, the newest last."""
    rows = connection.execute(
        "select versioned_name, status from catalog.views where view_name = $name order by version",
        {"name": view_name},
    ).fetchall()
    listed = ", ".join(f"{versioned_name} ({status})" for versioned_name, status in rows)
    return f"{listed}; {view_name} is {rows[-1][0]}, the newest"


def _query(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    row = _one(connection, "from catalog.queries where query_name = $name", name)
    if row is None:
        return None
    parameters = connection.execute(
        """
        select
            parameter,
            type,
            default_value,
            meaning,
            case
                when at_least is not null then at_least || ' to ' || at_most
                when values_of is not null then 'values of ' || values_of
                else array_to_string(choices, ' | ')
            end
        from catalog.query_parameters where query_name = $name order by position
        """,
        {"name": name},
    ).fetchall()
    return Description(
        name,
        row["title"],
        {
            "kind": "named query",
            "answer": row["description"] or "",
            "reads": ", ".join(row["reads"]),
            "in versions": ", ".join(row["reads_versions"]),
            "chart": row["chart"],
        },
        [
            Grid("parameters", ("parameter", "type", "default", "meaning", "choices"), parameters),
            _answer_columns(connection, name),
        ],
        notes=notes(connection, name),
        sql=first_statement(row["sql"]),
    )


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> Grid:
    rows = connection.execute(
        """
        select column_name, type, unit, provenance, meaning
        from catalog.columns where object_name = $name order by position
        """,
        {"name": name},
    ).fetchall()
    return Grid("columns", ("column", "type", "unit", "provenance", "meaning"), rows)


def _answer_columns(connection: duckdb.DuckDBPyConnection, query: str) -> Grid:
    """The columns of a query's answer, with the types that DuckDB gives them."""
    grid = _columns(connection, query)
    types = {column: kind for column, kind, *_ in connection.execute(f"describe from {query}()").fetchall()}
    return replace(grid, rows=[(column, types[column], *more) for column, _, *more in grid.rows])


def _one(connection: duckdb.DuckDBPyConnection, sql: str, name: str) -> dict[str, Any] | None:
    answer = connection.execute(sql, {"name": name})
    names = [column[0] for column in answer.description or ()]
    rows = answer.fetchall()
    return dict(zip(names, rows[0], strict=True)) if rows else None

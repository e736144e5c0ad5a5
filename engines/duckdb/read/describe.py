"""Describe a table, view, query, trace, column, caveat or published figure from the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb

from tracehouse.core.errors import UsageError
from tracehouse.engines.duckdb.read import notes
from tracehouse.engines.duckdb.read.catalog import check_is_built, read_rows
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.search import close_matches
from tracehouse.views.graph import sources
from tracehouse.views.sql_text import first_statement


@dataclass(frozen=True)
class Grid:
    """A table of texts: its title, the names of its columns, and its rows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Description:
    """A description of an object: facts by name, its parameters and columns, caveats, and its SQL."""

    name: str
    title: str
    facts: dict[str, str]
    grids: Sequence[Grid] = ()
    notes: Sequence[Note] = ()
    sql: str = ""


def describe(connection: duckdb.DuckDBPyConnection, name: str, on_data: bool = False) -> Description:
    """Describe a table, view, query, trace, column, caveat or published figure.

    A view may have its plain or its versioned name. With `on_data`, the caveats of a query are only those of
    traces from which it reads rows. Raises UsageError with close matches if no object has the name.
    """
    if name.startswith("catalog.") and (found := _catalog_table(connection, name)):
        return found
    newest = "from catalog.views where $name in (view_name, versioned_name) order by version desc limit 1"
    for sql, describe_row in (
        ("from catalog.tables where table_name = $name", _table),
        (newest, _view),
        ("from catalog.queries where query_name = $name", partial(_query, on_data=on_data)),
        ("from catalog.traces where trace = $name", _trace),
        ("from catalog.caveats where caveat = $name", _caveat),
        ("from catalog.published where figure = $name", _figure),
    ):
        if row := _one(connection, sql, name):
            return describe_row(connection, row)
    if found := _column(connection, name):
        return found
    check_is_built(connection, name)
    sql = """
        select table_name from catalog.tables
        union all
        select view_name from catalog.views
        union all
        select query_name from catalog.queries
        union all
        select trace from catalog.traces
        union all
        select caveat from catalog.caveats
        union all
        select figure from catalog.published
        union all
        select 'catalog.' || table_name from duckdb_columns() where schema_name = 'catalog'
        """
    known = connection.execute(sql).fetchall()
    matches = close_matches(name, sorted({row[0] for row in known}))
    word = name.rpartition(".")[2]
    raise UsageError(f'No object named "{name}".{matches} Search: `traces list queries --search {word}`')


def _table(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Description:
    name = row["table_name"]
    trace = _one(connection, "from catalog.traces where trace = $name", row["trace"]) or {}
    data = f"{row['row_count']:,} rows" if row["row_count"] else "no data"
    return Description(
        name,
        _comment(connection, name),
        {
            "kind": "base table",
            "data": f"{data}, synthetic" if row["synthetic"] else data,
            "grain": row["grain"],
            "source": row["source"],
            "licence": trace.get("licence", ""),
            "cite": trace.get("citation", ""),
        },
        [_columns(connection, name)],
        notes.of_object(connection, name),
    )


def _view(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Description:
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
            "stored": _stored(row),
        },
        [_columns(connection, row["versioned_name"])],
        notes=notes.of_object(connection, row["versioned_name"]),
        sql=first_statement(row["sql"]),
    )


def _stored(row: dict[str, Any]) -> str:
    """When and from which tables a materialized view was computed; empty for other views."""
    if not row["stored"]:
        return ""
    files = f"{len(row['stored_files'])} file{'s' * (len(row['stored_files']) != 1)}"
    return (
        f"since {row['stored_at']:%Y-%m-%d %H:%M} UTC, {row['stored_bytes'] / 1e6:,.1f} MB in {files}, "
        f"computed from {', '.join(row['base_tables'])}"
    )


def _versions(connection: duckdb.DuckDBPyConnection, view_name: str) -> str:
    """All versions of a view with their status, the newest last."""
    sql = "select versioned_name, status from catalog.views where view_name = $name order by version"
    rows = _rows(connection, sql, view_name)
    listed = ", ".join(f"{versioned_name} ({status})" for versioned_name, status in rows)
    return f"{listed}; {view_name} is {rows[-1][0]}, the newest"


def _query(connection: duckdb.DuckDBPyConnection, row: dict[str, Any], on_data: bool) -> Description:
    name = row["query_name"]
    sql = """
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
        """
    parameters = _rows(connection, sql, name)
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
        notes=notes.of_object(connection, name, on_data=on_data),
        sql=first_statement(row["sql"]),
    )


def _trace(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Description:
    name = row["trace"]
    caveats = _rows(
        connection, "select caveat from catalog.caveats where trace = $name order by caveat", name
    )
    details = {
        "tables": (
            ("table", "data", "rows", "grain"),
            """
            select table_name, case when row_count = 0 then 'no data' when synthetic then 'synthetic'
                else 'published' end, format('{:,}', row_count), grain
            from catalog.tables where trace = $name order by table_name
            """,
        ),
        "clocks": (
            ("clock", "counts from", "zone", "true", "not true"),
            """
            select clock, epoch, zone, true_parts, fake_parts
            from catalog.clocks where trace = $name order by clock
            """,
        ),
        "metrics": (
            ("metric", "exactness", "answered by", "reason"),
            """
            select metric, exactness, answered_by, reason
            from catalog.metrics where trace = $name order by metric
            """,
        ),
    }
    return Description(
        name,
        row["title"],
        {
            "kind": "trace",
            "publisher": row["publisher"],
            "homepage": row["homepage"],
            "raw files": row["download"],
            "licence": row["licence"],
            "cite": row["citation"],
            "caveats": ", ".join(caveat for (caveat,) in caveats),
        },
        [Grid(title, names, _rows(connection, sql, name)) for title, (names, sql) in details.items()],
    )


def _catalog_table(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    sql = """
        select column_name, data_type, comment from duckdb_columns()
        where database_name = current_database() and schema_name || '.' || table_name = $name
            and schema_name = 'catalog'
        order by column_index
        """
    rows = _rows(connection, sql, name)
    if not rows:
        return None
    columns = Grid("columns", ("column", "type", "meaning"), rows)
    return Description(name, _comment(connection, name), {"kind": "table of the catalog"}, [columns])


def _caveat(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Description:
    name = row["caveat"]
    sql = """
        select object_name, string_agg(column_name, ', ' order by position) from catalog.columns
        where list_contains(caveats, $name) and object_name in (select view_name from catalog.views)
        group by object_name order by object_name
        """
    columns = _rows(connection, sql, name)
    return Description(
        name,
        row["what_goes_wrong"],
        {
            "kind": f"caveat of {row['trace']}",
            "severity": f"{row['severity']} if ignored" if row["severity"] != "background" else "background",
            "what to do": row["what_to_do"],
            "documented in": row["documented_in"],
            "touches": ", ".join(sorted(row["objects"])),
        },
        [Grid("columns of views", ("view", "columns"), columns)],
    )


def _figure(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Description:
    return Description(
        row["figure"],
        row["statement"],
        {
            "kind": f"published figure of {row['trace']}",
            "published": f"{row['relation']} {row['value']:g} {row['unit']}",
            "tolerance": f"{row['tolerance']:g}",
            "printed in": row["printed_in"],
            "trust": row["trust"],
            "why it differs": row["explanation"] or "",
            "needs the file": row["needs_file"] or "",
            "reads": ", ".join(row["reads"]),
        },
        sql=row["measured_by"] or "",
    )


def _column(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    """Describe a column of a table, view, query or catalog table, by its full name."""
    owner, _, column = name.rpartition(".")
    catalog_table = _catalog_table(connection, owner)
    if catalog_table:
        kinds = {name: (kind, meaning) for name, kind, meaning in catalog_table.grids[0].rows}
        _check_column(owner, column, list(kinds))
        facts = {"kind": f"column of the table {owner}", "type": kinds[column][0]}
        return Description(name, kinds[column][1], facts)
    known = [found for found, *_ in _columns(connection, owner).rows]
    if not known:
        return None
    _check_column(owner, column, known)
    row = _one(connection, "from catalog.columns where object_name || '.' || column_name = $name", name) or {}
    query_types = _answer_types(connection, owner) if row["type"] is None else {}
    is_table = _one(connection, "from catalog.tables where table_name = $name", owner) is not None
    kind = "query" if row["type"] is None else "table" if is_table else "view"
    return Description(
        name,
        row["meaning"],
        {
            "kind": f"column of the {kind} {owner}",
            "type": row["type"] or query_types[column],
            "unit": row["unit"],
            "provenance": row["provenance"],
            "computed from": ", ".join(row["lineage"]),
            "base columns": ", ".join(_origins(connection, row["lineage"])),
        },
        notes=_column_notes(connection, name, row["caveats"]),
    )


def _check_column(owner: str, column: str, known: Sequence[str]) -> None:
    if column not in known:
        matches = close_matches(column, known)
        raise UsageError(f"{owner} has no column {column}.{matches} List all: `traces describe {owner}`")


def _origins(connection: duckdb.DuckDBPyConnection, lineage: Sequence[str]) -> list[str]:
    """Return the base columns that some columns are computed from; empty if all are base columns."""
    sql = "select object_name || '.' || column_name, lineage from catalog.columns where len(lineage) > 0"
    reads = dict(connection.execute(sql).fetchall())
    found = sources(lineage, reads)
    return sorted(found) if found != set(lineage) else []


def _column_notes(connection: duckdb.DuckDBPyConnection, name: str, caveats: Sequence[str]) -> list[Note]:
    sql = """
        select caveat, what_goes_wrong || ' ' || what_to_do, 'caveat', severity, summary from catalog.caveats
        where list_contains($caveats, caveat) or list_contains(objects, $name)
        order by caveat
        """
    rows = connection.execute(sql, {"caveats": list(caveats), "name": name}).fetchall()
    return [Note(*row) for row in rows]


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> Grid:
    sql = """
        select column_name, type, unit, provenance, meaning
        from catalog.columns where object_name = $name order by position
        """
    rows = _rows(connection, sql, name)
    return Grid("columns", ("column", "type", "unit", "provenance", "meaning"), rows)


def _answer_columns(connection: duckdb.DuckDBPyConnection, query: str) -> Grid:
    """The columns of a query's answer, with the types that DuckDB infers."""
    grid = _columns(connection, query)
    types = _answer_types(connection, query)
    return replace(grid, rows=[(column, types[column], *more) for column, _, *more in grid.rows])


def _answer_types(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    return {column: kind for column, kind, *_ in connection.execute(f"describe from {query}()").fetchall()}


def _comment(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the comment of a table or view of the database; empty if it has none."""
    sql = """
        select comment from duckdb_tables() where schema_name || '.' || table_name = $name
        union all
        select comment from duckdb_views() where schema_name || '.' || view_name = $name
        """
    found = _rows(connection, sql, name)
    return found[0][0] or "" if found else ""


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, name: str) -> list[tuple]:
    return connection.execute(sql, {"name": name}).fetchall()


def _one(connection: duckdb.DuckDBPyConnection, sql: str, name: str) -> dict[str, Any] | None:
    rows = read_rows(connection, sql, name=name)
    return rows[0] if rows else None

"""The contents of a warehouse as JSON: the list of objects, the description of each, and answers.

`traces explore` and the MCP server serve them, and `traces publish --site` writes them to files.
`web/src/contract.ts` declares the same types.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.progress import Step, ignore_step
from tracehouse.definitions.dependencies import with_dependencies
from tracehouse.definitions.lists import Kind
from tracehouse.engines.duckdb.read import answer, describe, membership, notes, search, verify
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import queries_without_data, read_base_tables, read_rows
from tracehouse.engines.request import Request
from tracehouse.publish.columns import columns_of, rows_of
from tracehouse.publish.plot import pictures
from tracehouse.publish.plot.rows import NoChartError

Json = dict[str, Any]

# The built pages: `make web` writes them from the sources in `web`.
APPLICATION = Path(__file__).parent / "application"
KINDS = {Kind.QUERIES: "query", Kind.VIEWS: "view", Kind.TABLES: "table"}
# The largest number of values of a column that a form suggests.
MOST_SUGGESTED = 1000
# JavaScript cannot represent all whole numbers beyond this one.
_LARGEST = 2**53


def as_json(value: Any) -> str:
    """A value as JSON for a page. Numbers that JavaScript or JSON cannot represent become texts."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def list_objects(connection: duckdb.DuckDBPyConnection) -> Json:
    """The traces, all objects with the words to search (objects with data first), and word lists."""
    tables = connection.execute("select table_name from catalog.tables where row_count > 0").fetchall()
    with_rows, known = {name for (name,) in tables}, read_base_tables(connection)
    charts = dict(connection.execute("select query_name, chart from catalog.queries").fetchall())
    empty = queries_without_data(connection)
    titles = _titles(connection)
    columns = dict(
        connection.execute(
            "select object_name, list(column_name order by position) from catalog.columns group by all"
        ).fetchall()
    )
    objects = []
    for kind, word in KINDS.items():
        for entry in search.list_entries(connection, kind):
            reads = {*known.get(entry.name, ())}
            objects.append(
                {
                    "name": entry.name,
                    "kind": word,
                    "title": titles.get(entry.name, ""),
                    "data": "all" if reads <= with_rows else "some" if reads & with_rows else "none",
                    "has_chart": bool(charts.get(entry.name)) and entry.name not in empty,
                    "columns": columns.get(entry.name, []),
                    "words": sorted(entry.more - entry.title - search.STOP_WORDS),
                }
            )
    return {
        "traces": _traces(connection),
        "objects": sorted(objects, key=lambda listed: listed["data"] == "none"),
        "synonyms": search.SYNONYMS,
        "stop_words": sorted(search.STOP_WORDS),
        "endings": search.ENDINGS,
    }


def list_figures(connection: duckdb.DuckDBPyConnection, step: Step = ignore_step) -> Json:
    """The published figures of all traces with the measured values and verdicts of `traces verify`."""
    return {"figures": [asdict(result) for result in verify.figures(connection, [], step)]}


def describe_object(connection: duckdb.DuckDBPyConnection, name: str) -> Json:
    """The description of a query, view or table, with its parameters, caveats and sources.

    Raises UsageError if no object has this name.
    """
    found = describe.describe(connection, name, on_data=True)
    plain_names = _plain_names(connection)
    shown = plain_names.get(found.name, found.name)
    return {
        "name": shown,
        "kind": {"named query": "query", "base table": "table"}.get(found.facts["kind"], "view"),
        "title": found.title,
        "facts": {fact: text for fact, text in found.facts.items() if text},
        "parameters": _parameters(connection, found.name),
        "columns": _columns(connection, found, plain_names),
        **_dependencies(connection, shown, plain_names),
        "notes": [asdict(note) for note in found.notes],
        # Why each trace is not counted if it is not in the answer.
        "not_counted": membership.find_not_counted(connection, [found.name], counted=()),
        "sources": describe_sources(connection, [found.name]),
        "sql": found.sql,
        "has_chart": bool(found.facts.get("chart")),
    }


def describe_sources(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> list[Json]:
    """The raw files from which the rows of some objects come."""
    kept = ["table_name", "file", "member", "rows_kept", "synthetic", "sha256"]
    return notes.sources(connection, names).select(kept).to_pylist()


def answer_request(connection: duckdb.DuckDBPyConnection, request: Request) -> Json:
    """The answer to a request: its columns, first rows, notes and raw files."""
    with answer.answer(connection, request) as found:
        rows = read_answer(connection, found.query)
    about = [*found.notes, *(answer.why_empty(found) if not rows["rows"] else [])]
    return {
        **rows,
        "is_cut": bool(found.query.cut),
        "notes": [asdict(note) for note in about],
        "sources": describe_sources(connection, found.query.reads),
    }


def read_answer(connection: duckdb.DuckDBPyConnection, query: BoundQuery, most: int | None = None) -> Json:
    """The columns of an answer, and its rows or its first ones."""
    columns = columns_of(connection, query)
    rows = list(islice(rows_of(connection, query, columns), most))
    return {"columns": [{"name": name, "type": kind} for name, kind in columns], "rows": rows}


def draw_template(connection: duckdb.DuckDBPyConnection, name: str) -> Json:
    """The chart template of a query, or the reason why there is none."""
    try:
        return {"template": pictures.build_template(connection, name)}
    except UserError as error:
        return {"no_chart": explain_no_chart(error)}


def explain_no_chart(error: UserError) -> str:
    """The reason that a page prints after `No chart: `, and before a full stop."""
    return error.reason if isinstance(error, NoChartError) else str(error)


def _traces(connection: duckdb.DuckDBPyConnection) -> list[Json]:
    return read_rows(
        connection,
        """
        with stored as (
            select
                trace,
                sum(row_count) as row_count,
                count(*) filter (where row_count > 0) as table_count,
                bool_or(synthetic and row_count > 0) as synthetic
            from catalog.tables group by trace
        ),

        jobs as (
            select trace, count(*) as jobs from unified.jobs group by trace
        ),

        gpus as (
            -- The sizes of other traces are those of a simulation.
            select trace, sum(gpus) as gpus from unified.capacity
            where trace || '.capacity_not_published' not in (select caveat from catalog.caveats)
            group by trace
        )

        select
            traces.trace as name,
            title,
            publisher,
            homepage,
            licence,
            citation,
            cast(row_count as bigint) as row_count,
            table_count,
            synthetic,
            jobs,
            cast(gpus as bigint) as gpus
        from catalog.traces as traces
        left join stored on traces.trace = stored.trace
        left join jobs on traces.trace = jobs.trace
        left join gpus on traces.trace = gpus.trace
        order by row_count = 0, traces.trace
        """,
    )


def _titles(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(
        connection.execute(
            """
            select query_name, title from catalog.queries
            union all
            select view_name, title from catalog.views where is_current
            union all
            select table_name, grain from catalog.tables
            """
        ).fetchall()
    )


def _parameters(connection: duckdb.DuckDBPyConnection, name: str) -> list[Json]:
    parameters = read_rows(
        connection,
        """
        select parameter as name, meaning, type, default_value, choices, at_least, at_most, values_of, is_list
        from catalog.query_parameters where query_name = $name order by position
        """,
        name=name,
    )
    for parameter in parameters:
        default_sql, values_of = parameter.pop("default_value"), parameter["values_of"]
        [(default,)] = connection.execute(f"select cast(({default_sql}) as varchar)").fetchall()
        parameter["default"] = default
        parameter["choices"] = parameter["choices"] or (
            _distinct_values(connection, values_of) if values_of else []
        )
    return parameters


def _distinct_values(connection: duckdb.DuckDBPyConnection, values_of: str) -> list[str]:
    """The first distinct values of a column (schema.table.column), as text."""
    table, _, column = values_of.rpartition(".")
    rows = connection.execute(
        f'select distinct cast("{column}" as varchar) from {table} where "{column}" is not null '
        f"order by all limit {MOST_SUGGESTED}"
    ).fetchall()
    return [value for (value,) in rows]


def _columns(
    connection: duckdb.DuckDBPyConnection, found: describe.Description, plain_names: Mapping[str, str]
) -> list[Json]:
    """The columns with their types, which DuckDB infers for a query, and the columns they come from."""

    def shown(column: str) -> str:
        relation, _, name = column.rpartition(".")
        return f"{plain_names.get(relation, relation)}.{name}"

    [grid] = [grid for grid in found.grids if grid.title == "columns"]
    lineage = dict(
        connection.execute(
            "select column_name, lineage from catalog.columns where object_name = $name", {"name": found.name}
        ).fetchall()
    )
    named = (dict(zip(grid.names, row, strict=True)) for row in grid.rows)
    return [{**column, "lineage": [*map(shown, lineage.get(column["column"], []))]} for column in named]


def _plain_names(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The plain name of each current version of a view."""
    sql = "select versioned_name, view_name from catalog.views where is_current"
    return dict(connection.execute(sql).fetchall())


def _dependencies(connection: duckdb.DuckDBPyConnection, name: str, plain_names: Mapping[str, str]) -> Json:
    """What an object reads, which views and queries read it, and all objects that it reads in any way.

    Current versions have their plain names. Other versions are not among the readers.
    """
    rows = connection.execute(
        """
        select query_name, 'query', reads, true from catalog.queries
        union all
        select if(is_current, view_name, versioned_name), 'view', reads, is_current from catalog.views
        """
    ).fetchall()
    reads = {found: sorted({plain_names.get(one, one) for one in read}) for found, _, read, _ in rows}
    kinds = {found: kind for found, kind, _, _ in rows}

    def node(found: str) -> Json:
        return {"name": found, "kind": kinds.get(found, "table"), "reads": reads.get(found, [])}

    readers = sorted(found for found, _, _, is_shown in rows if is_shown and name in reads[found])
    return {
        "reads": reads.get(name, []),
        "read_by": [node(found) for found in readers],
        "upstream": [node(found) for found in sorted(with_dependencies([name], reads))],
    }


def plain(value: Any) -> Any:
    """A value without numbers that JavaScript or JSON cannot represent: they become texts."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    is_number = isinstance(value, float) and math.isfinite(value)
    is_number |= isinstance(value, int) and abs(value) <= _LARGEST
    return value if value is None or is_number or isinstance(value, str | bool) else str(value)

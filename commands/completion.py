"""Shell completion: names of traces, queries, views, parameters and columns.

Names are read from files. Only columns, and parameter values that occur in the data, need the database.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracehouse.core.errors import UserError
from tracehouse.definitions import names
from tracehouse.definitions.lists import Kind
from tracehouse.ingest.traces import trace_names

if TYPE_CHECKING:
    import duckdb

# A name and its meaning.
Item = tuple[str, str]

# The longest time for which a completion may read the database.
_MOST_SECONDS = 3


def complete_trace(incomplete: str) -> Iterable[Item]:
    """Complete traces."""
    return _matching(incomplete, ((name, "") for name in trace_names()))


def complete_schema(incomplete: str) -> Iterable[Item]:
    """Complete traces and the schema unified."""
    return _matching(incomplete, ((name, "") for name in (*trace_names(), "unified")))


def complete_kind(incomplete: str) -> Iterable[Item]:
    """Complete kinds of objects."""
    return _matching(incomplete, ((kind, "") for kind in Kind))


def complete_query(context: typer.Context, incomplete: str) -> Iterable[Item]:
    """Complete queries, views and tables."""
    return _matching(incomplete, _relations(context))


def complete_object(context: typer.Context, incomplete: str) -> Iterable[Item]:
    """Complete everything that can be described: traces, queries, views, tables, columns and caveats."""
    if incomplete.count(".") > 1:
        owner, _, _ = incomplete.rpartition(".")
        sql = """
            select $name || '.' || column_name, meaning from catalog.columns
            where object_name = $name order by position
            """
        return _matching(incomplete, _read(_warehouse(context), sql, {"name": owner}))
    traces = ((name, "") for name in trace_names())
    return _matching(incomplete, chain(traces, _relations(context), names.caveat_names()))


def complete_parameter(context: typer.Context, incomplete: str) -> Iterable[Item]:
    """Complete parameters of the query on the line, with the default and other values: `min_gpus=1`."""
    # Typer stops parsing at an option without a value; the words after it are in `context.args`.
    query = next((word for word in (context.params.get("name"), *context.args) if word), "")
    warehouse = _warehouse(context)
    key, equals, _ = incomplete.partition("=")
    column = names.values_column(query, key, warehouse) if equals else ""
    if column:
        table, _, field = column.rpartition(".")
        sql = f"""select distinct $start || "{field}", '' from {table} order by all"""
        # The values of a list follow those that are typed.
        start = re.match(r"[^=]*=(?:.*,)?", incomplete)
        return _matching(incomplete, _read(warehouse, sql, {"start": start[0] if start else ""}))
    found = names.query_parameters(query, warehouse)
    return _matching(
        incomplete,
        ((f"{name}={value}", meaning) for name, meaning, values in found for value in values or [""]),
    )


def complete_value(context: typer.Context, incomplete: str) -> Iterable[Item]:
    """Complete the value of the last parameter in bash, which passes `key=value` as three words."""
    key = (context.params.get("parameters") or [""])[-1]
    found = complete_parameter(context, f"{key}={incomplete}") if key and "=" not in key else []
    return [(name.partition("=")[2], meaning) for name, meaning in found]


def _matching(start: str, found: Iterable[Item]) -> Iterable[Item]:
    return [item for item in found if item[0].startswith(start)]


def _read(warehouse: Path, sql: str, values: dict[str, str]) -> list[Item]:
    """Read rows of a warehouse's database. Returns [] without a database, or if it takes too long."""
    from tracehouse.engines.duckdb.read import sandbox

    try:
        return sandbox.run(warehouse, sandbox.Limits(_MOST_SECONDS), partial(_fetch, sql=sql, values=values))
    except UserError:
        return []


def _fetch(connection: "duckdb.DuckDBPyConnection", sql: str, values: dict[str, str]) -> list[Item]:
    return connection.execute(sql, values).fetchall()


def _relations(context: typer.Context) -> Iterator[Item]:
    warehouse = _warehouse(context)
    return chain(names.query_names(warehouse), names.view_names(warehouse), names.table_names())


def _warehouse(context: typer.Context) -> Path:
    """The warehouse of an incomplete line: the option after the command, else before it, else the default."""
    own: Any = context.params.get("warehouse")
    source = context.get_parameter_source("warehouse")
    is_given = source is not None and source.name == "COMMANDLINE"
    return Path(own if is_given else context.find_root().params.get("warehouse") or own or "warehouse")

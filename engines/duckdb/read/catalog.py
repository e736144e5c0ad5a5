"""Read a warehouse's catalog: rows, traces, failed definitions, and the base tables behind a name."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from tracehouse.core import errors
from tracehouse.core.errors import UserError
from tracehouse.definitions.released import SEVERAL_TRACES


def read_rows(connection: duckdb.DuckDBPyConnection, sql: str, **values: Any) -> list[dict[str, Any]]:
    """Run a statement, and return its rows by column name."""
    answer = connection.execute(sql, values)
    names = [column[0] for column in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def check_traces(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Raise UsageError if one of the named traces does not exist."""
    known = [row[0] for row in connection.execute("select trace from catalog.traces").fetchall()]
    errors.check_traces(names, known)


def check_is_built(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Raise UserError if the user's own definition of this name could not be built."""
    failed = "select error from catalog.not_built where object_name = $name"
    for (error,) in connection.execute(failed, {"name": name}).fetchall():
        raise UserError(f"{name} could not be built: {error}. Fix it, then run `traces build`")


def keys_and_measures(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return the most important columns of a query, view or table.

    For a query, these are the columns of its chart, and the number of jobs. For a view or table, they are its
    key, then submission time, wait, run time and GPUs, then other columns with a unit.
    """
    charts = connection.execute("select chart from catalog.queries where query_name = $name", {"name": name})
    for (chart,) in charts.fetchall():
        labels = re.findall(r"label=(\S+)", chart)
        boxes = [f"median_{column}" for column in re.findall(r"^box .*y=(\w+)", chart)]
        return [*",".join(labels).split(","), *re.findall(r"=(\w+)", chart), *boxes, "jobs"]
    sql = """
        with named as (
            select versioned_name as name, grain
            from catalog.views where $name = versioned_name or ($name = view_name and is_current)
            union all
            select table_name, grain from catalog.tables where table_name = $name
        )

        select columns.column_name, named.grain, columns.unit
        from catalog.columns as columns
        inner join named on columns.object_name = named.name
        where columns.provenance != 'synthetic'
        order by
            columns.column_name not in ('submit_s', 'wait_s', 'run_s', 'requested_gpus'),
            columns.unit not in ('s', 'GPUs'),
            columns.position
        """
    rows = connection.execute(sql, {"name": name}).fetchall()
    keys = [column for column, grain, _ in rows if column in re.findall(r"\w+", grain.partition(";")[0])]
    return list(dict.fromkeys([*keys, *(column for column, _, unit in rows if unit)]))


def queries_without_data(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the queries without data: no trace has rows in all its tables that they read.

    A query over all traces needs a trace that records the columns which it requires, and that is in each view
    of several traces which it reads. If it also reads a trace directly, this trace must have rows.
    """
    sql = """
        with read as (
            select
                query_name,
                reads,
                needs,
                [split_part(name, '.', 1) for name in reads] as schemas,
                unnest(base_tables) as table_name
            from catalog.queries
        ),

        by_trace as (
            select
                read.query_name,
                read.reads,
                read.needs,
                tables.trace,
                bool_or(list_contains(read.schemas, tables.trace)) as is_direct,
                min(tables.row_count) as least_rows
            from read
            inner join catalog.tables as tables on read.table_name = tables.table_name
            group by all
        ),

        with_reason as (
            select
                by_trace.*,
                exists(
                    from catalog.not_recorded as lacking
                    where
                        lacking.trace = by_trace.trace
                        and list_contains(by_trace.reads, lacking.view_name)
                        and list_contains(by_trace.needs, lacking.column_name)
                )
                or exists(
                    from catalog.views as views
                    where
                        views.is_current
                        and views.trace = $several
                        and list_contains(by_trace.reads, views.view_name)
                        and not list_contains(
                            [split_part(name, '.', 1) for name in views.base_tables], by_trace.trace
                        )
                ) as is_left_out
            from by_trace
        )

        select query_name
        from with_reason
        group by query_name
        having
            coalesce(max(least_rows) filter (where not is_left_out), 0) = 0
            or min(least_rows) filter (where is_direct) = 0
        """
    return {name for (name,) in connection.execute(sql, {"several": SEVERAL_TRACES}).fetchall()}


def base_tables(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> set[str]:
    """Return the base tables that tables, views and queries read. A base table itself is included."""
    known = read_base_tables(connection)
    return {table for name in names for table in known.get(name, ())}


def read_base_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, Sequence[str]]:
    """Return the base tables behind each table, query and view, by its versioned and plain name."""
    sql = """
        select table_name, [table_name] from catalog.tables
        union all
        select query_name, base_tables from catalog.queries
        union all
        select versioned_name, base_tables from catalog.views
        union all
        select view_name, base_tables from catalog.views where is_current
        """
    return dict(connection.execute(sql).fetchall())


def texts_across_traces(connection: duckdb.DuckDBPyConnection, reads: Iterable[str]) -> dict[str, str]:
    """Return the texts of the views and queries that are read, directly or through others, without a trace's.

    Empty if none of them is of several traces.
    """
    sql = """
        with recursive

        defined as (
            select query_name as name, trace, reads, sql from catalog.queries
            union all
            select versioned_name, trace, reads, sql from catalog.views
            union all
            select view_name, trace, reads, sql from catalog.views where is_current
        ),

        across as (select * from defined where trace not in (select traces.trace from catalog.traces)),

        read as (
            select name, reads, sql from across where list_contains($reads, name)
            union
            select across.name, across.reads, across.sql
            from read
            inner join across on list_contains(read.reads, across.name)
        )

        select name, sql from read order by name
        """
    found = connection.execute(sql, {"reads": list(reads)}).fetchall()
    return dict(found) if any(name.startswith(f"{SEVERAL_TRACES}.") for name, _ in found) else {}

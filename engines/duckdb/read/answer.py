"""Run bound queries: apply the limit, collect the notes, and stream the rows."""

from dataclasses import replace
from typing import Any

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import notes
from tracehouse.engines.duckdb.read.binding import BoundQuery

BATCH_ROWS = 100_000


def run(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> BoundQuery:
    """Apply the limit of a query, and add the notes on its answer. Returns the changed query.

    Rows are computed here only if the limit or the notes depend on them, otherwise in `read`.
    """
    if query.explain or query.plan:
        return query
    if query.limit is not None:
        query = _first_rows(connection, query, query.limit)
    return _with_notes(connection, query) if query.name else query


def read(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Any:
    """Stream the rows of a query as Arrow batches (`pyarrow.RecordBatchReader`)."""
    try:
        relation = connection.sql(query.sql, params=dict(query.values) or None)
        return relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:
        raise UserError(str(_locate_error(connection, query, error))) from None


def _locate_error(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, error: duckdb.Error
) -> duckdb.Error:
    """Return the error of a query with the line of the SQL, which errors of DuckDB's relations lack."""
    try:
        connection.execute(f"explain {query.sql}", dict(query.values)).fetchall()
    except duckdb.Error as located:
        return located
    return error


def plan(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> str:
    """The query plan of a query, as text."""
    if query.plan:
        return query.plan
    limited = query.sql if query.limit is None else f"from ({query.sql}\n) limit {query.limit}"
    try:
        rows = connection.execute(f"{query.explain or 'explain'} {limited}", dict(query.values)).fetchall()
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    return "\n".join(value for _, value in rows)


def limit_message(query: BoundQuery) -> str:
    """The message that the limit omits rows; empty if it omits none."""
    if not query.is_cut:
        return ""
    totals = " and counts total rows too" if query.given.get("with_total") else ""
    return f"--limit {query.limit} omits the other rows{totals}"


def _first_rows(connection: duckdb.DuckDBPyConnection, query: BoundQuery, limit: int) -> BoundQuery:
    """Compute the first rows of a query, and one more to see whether the limit omits rows."""
    sql = f"create or replace temp table first_rows as from ({query.sql}\n) limit {limit + 1}"
    connection.execute(sql, dict(query.values))
    [(count,)] = connection.execute("select count(*) from temp.first_rows").fetchall()
    return replace(query, sql=f"from temp.first_rows limit {limit}", values={}, is_cut=count > limit)


def _with_notes(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> BoundQuery:
    """Add the notes on the answer of a named query.

    If the answer has a column `trace`, compute the answer, and omit notes on traces that do not occur in it;
    without rows, omit notes on traces that the user did not select.
    """
    columns = [row[0] for row in connection.execute(f"describe {query.sql}", query.values).fetchall()]
    if "trace" not in columns:
        found = notes.of_object(connection, query.name, on_data=True)
        return replace(query, notes=[*query.notes, *found])
    connection.execute(f"create or replace temp table answer as {query.sql}", query.values)
    rows = connection.execute("select distinct trace from temp.answer").fetchall()
    traces = [trace for (trace,) in rows] or query.traces
    found = notes.of_object(connection, query.name, traces, on_data=True)
    return replace(query, sql="from temp.answer", values={}, notes=[*query.notes, *found])

"""Answer requests: apply the limit, collect the notes, stream the rows, and explain why there are none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.engines.duckdb.read import membership, notes
from tracehouse.engines.duckdb.read.binding import BoundQuery, bind
from tracehouse.engines.duckdb.read.catalog import base_tables, texts_across_traces
from tracehouse.engines.duckdb.read.guard import traces_of_query
from tracehouse.engines.duckdb.read.notes import NO_ROWS, Note
from tracehouse.engines.duckdb.read.selected_traces import TRACE
from tracehouse.engines.request import Request

BATCH_ROWS = 100_000


@dataclass(frozen=True)
class Answer:
    """The answer to a request: the query that selects its rows, and the connection that runs this query.

    `notes` are all notes on the answer. `not_counted` has the traces that it leaves out, each with the
    reason: see `membership`.
    """

    connection: duckdb.DuckDBPyConnection
    query: BoundQuery
    notes: Sequence[Note] = ()
    not_counted: Mapping[str, str] = field(default_factory=dict)


def run(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Answer:
    """Apply the limit of a query, and collect the notes on its answer.

    Rows are computed here only if the limit or the notes depend on them, otherwise in `read`.
    """
    if query.explain or query.plan:
        return Answer(connection, query, query.notes)
    if query.limit is not None:
        query = _first_rows(connection, query, query.limit)
    return _collect_notes(connection, query)


@contextmanager
def answer(connection: duckdb.DuckDBPyConnection, request: Request) -> Iterator[Answer]:
    """Bind a request and `run` it. Errors of its SQL in this block name the closest columns and tables."""
    query = bind(connection, request)
    try:
        yield run(connection, query)
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        # Imported late, because only an error needs it.
        from tracehouse.engines.duckdb.read import sql_errors

        raise sql_errors.explain(connection, error, query.reads) from None


def read(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Any:
    """Stream the rows of a query as Arrow batches (`pyarrow.RecordBatchReader`)."""
    try:
        relation = connection.sql(query.sql, params=dict(query.values) or None)
        return relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:
        raise _locate_error(connection, query, error) from None


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
    rows = connection.execute(f"{query.explain or 'explain'} {limited}", dict(query.values)).fetchall()
    return "\n".join(value for _, value in rows)


def _first_rows(connection: duckdb.DuckDBPyConnection, query: BoundQuery, limit: int) -> BoundQuery:
    """Compute the first rows of a query, and one more to see whether the limit omits rows."""
    sql = f"create or replace temp table first_rows as from ({query.sql}\n) limit {limit + 1}"
    connection.execute(sql, dict(query.values))
    [(count,)] = connection.execute("select count(*) from temp.first_rows").fetchall()
    more = "rows and totals" if query.values.get("with_total") else "rows"
    cut = f"the answer has more {more}" if count > limit else ""
    return replace(query, sql=f"from temp.first_rows limit {limit}", values={}, cut=cut)


def _collect_notes(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Answer:
    """Collect the notes on an answer: for a named query those on its data, and which traces it leaves out.

    If the answer has a column `trace`, compute the answer, and omit notes on traces that do not occur in it;
    without the column or rows, omit notes on traces that neither the user nor the query selects.
    """
    is_across = bool(texts_across_traces(connection, query.reads))
    statement, counted, found = query.sql, None, [*query.notes]
    if query.name or is_across:
        query, counted = _count_traces(connection, query)
    if query.name:
        if query.traces is None and (selected := traces_of_query(connection, query.name)) is not None:
            query = replace(query, traces=sorted(selected))
        found += notes.of_last_build(connection)
        found += notes.of_object(connection, query.name, counted or query.traces, on_data=True)
    if not is_across:
        return Answer(connection, query, found)
    left_out = membership.find_not_counted(
        connection, query.reads, statement, query.traces, counted, is_complete=not query.cut
    )
    found += membership.as_notes(left_out, is_partial=counted is None)
    return Answer(connection, query, found, left_out)


def _count_traces(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery
) -> tuple[BoundQuery, list[str] | None]:
    """Compute an answer with a column `trace`, and return its traces; None without the column."""
    columns = [row[0] for row in connection.execute(f"describe {query.sql}", query.values).fetchall()]
    if TRACE not in columns:
        return query, None
    connection.execute(f"create or replace temp table answer as {query.sql}", query.values)
    rows = connection.execute(f"select distinct {TRACE} from temp.answer").fetchall()
    return replace(query, sql="from temp.answer", values={}), [trace for (trace,) in rows]


def why_empty(answer: Answer) -> list[Note]:
    """Explain an answer without rows: which of its source tables are empty, or which parameters filter it.

    Returns no note if the query reads no table of the warehouse.
    """
    connection, query = answer.connection, answer.query
    across = {name for name in query.reads if name.startswith(f"{SEVERAL_TRACES}.")}
    tables = connection.execute(
        """
        select table_name, row_count from catalog.tables
        where
            list_contains($own, table_name)
            or (list_contains($across, table_name) and ($traces is null or list_contains($traces, trace)))
        order by table_name
        """,
        {
            "own": list(base_tables(connection, query.reads - across)),
            "across": list(base_tables(connection, across)),
            "traces": query.traces,
        },
    ).fetchall()
    if query.traces == []:
        return [Note(NO_ROWS, "no rows: the filter on trace selects no trace of this warehouse", "note")]
    if not tables:
        return []
    empty = [name for name, row_count in tables if not row_count]
    listed = ", ".join(f"{name} ({row_count:,} rows)" for name, row_count in tables if row_count)
    if empty and not (listed and _has_rows_by_default(connection, query)):
        traces = " ".join(sorted({name.partition(".")[0] for name in empty}))
        verb, one = "has" if len(empty) == 1 else "have", traces.partition(" ")[0]
        text = f"{', '.join(empty)} {verb} no data; `traces fetch {traces}` and `traces ingest` load it, "
        text += f"`traces describe {one}` shows the source"
        if listed:
            text += f". Other source tables have data: {listed}"
        cause = "Parameters"
    else:
        text = f"no rows, but the source tables have data: {listed}"
        text += f"; not {', '.join(empty)}" if empty else ""
        cause = "The filter is the cause" if empty else "The filter is probably the cause"
    is_explained = query.traces and all(
        answer.not_counted.get(trace, membership.NO_ROWS_FIT) != membership.NO_ROWS_FIT
        for trace in query.traces
    )
    filters = "" if is_explained else _filters(connection, query)
    return [Note(NO_ROWS, f"{text}. {cause}: {filters}" if filters else text, "note")]


def _has_rows_by_default(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> bool:
    """Whether a named query has rows with default parameters, so that the user's parameters removed them."""
    return bool(query.given) and bool(connection.execute(f"from {query.name}() limit 1").fetchall())


def _filters(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> str:
    """Return the parameters of a named query with their values. Parameters from the user come first."""
    sql = """
        select parameter, default_value from catalog.query_parameters
        where query_name = $name order by position
        """
    defaults = dict(connection.execute(sql, {"name": query.name}).fetchall())
    given = [f"{name}={value} (default {defaults[name]})" for name, value in query.given.items()]
    # A boolean parameter that is false filters nothing.
    others = [
        f"{name}={default}"
        for name, default in defaults.items()
        if name not in query.given and default.lower() != "false"
    ]
    return ", ".join([*given, *others])

"""Turn a request into a query that can run."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.core.errors import LIST_QUERIES, Command, UsageError, UserError
from tracehouse.definitions.lists import BRIEF, LISTS, Kind
from tracehouse.engines.duckdb.read import notes
from tracehouse.engines.duckdb.read.catalog import check_is_built, queries_without_data
from tracehouse.engines.duckdb.read.guard import reading_statement
from tracehouse.engines.duckdb.read.membership import find_not_loaded
from tracehouse.engines.duckdb.read.notes import NOT_LISTED, Note
from tracehouse.engines.duckdb.read.search import close_matches, find, suggest_queries
from tracehouse.engines.names import MOST_ROWS
from tracehouse.engines.request import ComputedRows, Listing, NamedQuery, Request, Statement

if TYPE_CHECKING:
    import pyarrow as pa

# The columns whose values are the traces that a query can report on.
TRACES = ("unified.jobs.trace", "unified.requests.trace")

# How many values of a column a message lists.
MOST_LISTED = 20

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")


@dataclass(frozen=True)
class BoundQuery:
    """A SQL query with `$name` placeholders, and the values of these.

    `name` is the named query, view or table, empty for other SQL; `given` are the parameters that the
    user gave, as texts. `limit` is the highest number of rows; if it omits rows, `answer.run` says so in
    `cut`. `explain` is the EXPLAIN clause if the user requested the query plan; `plan` is the plan if another
    engine computed it. `reads` are the tables, views and queries that it reads directly. `traces` are those
    that the user selected, None for all. `notes` are those that do not depend on the rows.
    """

    sql: str
    values: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    cut: str = ""
    explain: str = ""
    plan: str = ""
    reads: frozenset[str] = frozenset()
    traces: Sequence[str] | None = None
    notes: Sequence[Note] = ()

    @property
    def is_relation(self) -> bool:
        """Whether it returns all rows of a table or view, which DuckDB counts quickly."""
        return re.fullmatch(r"from [\w.]+", self.sql) is not None


@dataclass(frozen=True)
class _Parameter:
    """A parameter in the catalog, with its choices, its bounds, or the column that has its values.

    `table_columns` are the columns that the query reads of the table or view that the parameter names.
    """

    name: str
    type: str
    default: str
    meaning: str
    choices: Sequence[str]
    at_least: str | None
    at_most: str | None
    values_of: str | None
    is_list: bool
    table_columns: Sequence[str]

    @property
    def constraint(self) -> str:
        """The constraint on its value in addition to the type; empty if there is none."""
        if self.choices:
            return " | ".join(self.choices)
        if self.values_of:
            return f"values of {self.values_of}" + (", separated by commas" if self.is_list else "")
        if self.table_columns:
            return f"a table or view with {', '.join(self.table_columns)}"
        return "" if self.at_least is None else f"{self.at_least} to {self.at_most}"

    @property
    def expected(self) -> str:
        """The allowed values in words, for error messages."""
        if self.choices:
            return " or ".join(self.choices)
        return f"of type {self.type}" + (f" from {self.constraint}" if self.at_least is not None else "")


def bind(connection: duckdb.DuckDBPyConnection, request: Request) -> BoundQuery:
    """Bind a request. Raises UserError if it is not valid."""
    match request.what:
        case NamedQuery(name, given, with_total, for_chart):
            return bind_query(connection, name, given, request.limit, with_total, request.explain, for_chart)
        case Statement(sql, values, may_explain):
            query = bind_statement(connection, sql, request.limit, request.explain, values)
            if query.explain and not may_explain:
                raise UsageError("EXPLAIN is not supported here. Send a statement that returns rows")
            return query
        case Listing(kind, trace, words, with_empty):
            return bind_list(connection, kind, trace, words, request.limit, with_empty)
        case ComputedRows(rows, query):
            return query if query.plan else bind_rows(connection, rows, query)


def bind_query(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    texts: Mapping[str, str],
    limit: int | None = None,
    with_total: bool = False,
    explain: bool = False,
    for_chart: bool = False,
) -> BoundQuery:
    """Bind a named query to parameters given as texts: see `NamedQuery`.

    Raises UsageError for an unknown name or parameter and for an invalid value or limit; the message lists
    the valid ones.
    """
    if limit is not None and not 0 <= limit <= MOST_ROWS:
        raise UsageError(f"The limit must be a number of rows from 0 to {MOST_ROWS}, not {limit}")
    found = connection.execute("select 1 from catalog.queries where query_name = $name", {"name": name})
    clause, reads = "explain" if explain else "", frozenset({name})
    if not found.fetchall():
        _check_is_relation(connection, name, texts)
        notes = _note_on_query(connection, name)
        return BoundQuery(f"from {name}", name=name, limit=limit, explain=clause, reads=reads, notes=notes)
    known = {parameter.name: parameter for parameter in _parameters(connection, name)}
    values, traces, given = {}, [], texts
    if with_total and "with_total" in known:
        texts = {"with_total": "true", **texts}
    if for_chart:
        texts = {**_chart_parameters(connection, name), **texts}
    for key, text in texts.items():
        if key not in known:
            raise UsageError(f"{name} has no parameter {key}. {_listed(name, known.values())}")
        values[key] = _value(connection, text, known[key].type)
        if values[key] is None or not _is_allowed(connection, known[key], text):
            meaning = known[key].meaning
            raise UsageError(
                f"{name}: {key} must be {known[key].expected}, not {text!r}. "
                f"Its default is {known[key].default}{f'; its meaning: {meaning}' if meaning else ''}"
            )
        if of_column := known[key].values_of:
            listed = [part.strip() for part in text.split(",")] if known[key].is_list else [values[key]]
            for value in listed:
                check_occurs(connection, f"{name}: {key}", of_column, value)
            traces += listed if of_column in TRACES else []
        if known[key].table_columns:
            _check_table(connection, name, known[key], values[key])
    arguments = ", ".join(f"{key} := ${key}" for key in values)
    sql = f"from {name}({arguments})"
    return BoundQuery(sql, values, name, given, limit, explain=clause, reads=reads, traces=traces or None)


def bind_statement(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    limit: int | None = None,
    explain: bool = False,
    values: Mapping[str, Any] | None = None,
) -> BoundQuery:
    """Bind a user's SQL statement, with the values of its `$name` placeholders.

    Raises UserError unless the statement only reads.
    """
    statement = reading_statement(connection, sql)
    traces = None if statement.traces is None else sorted(statement.traces)
    return BoundQuery(
        statement.query,
        values or {},
        # A limit would change the plan that the user's own EXPLAIN shows.
        limit=None if statement.explain else limit,
        explain=statement.explain or ("explain" if explain else ""),
        reads=statement.reads,
        traces=traces,
        notes=[
            *notes.of_last_build(connection),
            *notes.of_statement(connection, statement.reads, statement.columns, traces),
        ],
    )


def bind_list(
    connection: duckdb.DuckDBPyConnection,
    kind: Kind,
    trace: str = "",
    words: str = "",
    limit: int | None = None,
    with_empty: bool = False,
) -> BoundQuery:
    """Bind the query that lists the objects of a kind: see `Listing`.

    Raises UsageError if the trace or schema does not exist, and UserError if nothing matches the words.
    """
    empty = set() if with_empty or kind != Kind.QUERIES else queries_without_data(connection)
    if not trace and not words and not empty:
        return BoundQuery(LISTS[kind], limit=limit)
    _check_schema(connection, kind, trace)
    found = find(connection, kind, trace, words)
    names = [name for name in found if name not in empty]
    if found and not names:
        command = Command("list", ["queries", *filter(None, [trace])], {"all": ""})
        raise UserError(f"{_count_empty(len(found))}. List them: ", command)
    if not names:
        of_trace = f" of {trace}" if trace else ""
        others = [other.value for other in Kind if other != kind and find(connection, other, trace, words)]
        what, command = "List all", Command("list", [kind.value])
        if others:
            what, command = f"Some {others[0]} match", Command("list", [others[0]], {"search": ""})
        raise UserError(f'No {kind.value}{of_trace} match "{words}". {what}: ', command)
    sql = f"""
        with listed as ({LISTS[kind]}),

        wanted as (select unnest($names) as name, unnest(range(len($names))) as place)

        select listed.*
        from listed
        inner join wanted on listed.{BRIEF[kind][0]} = wanted.name
        order by wanted.place
        """
    hidden = len(found) - len(names)
    notes = [Note(NOT_LISTED, _count_empty(hidden, "more "), "note")] if hidden else []
    return BoundQuery(sql, {"names": names}, limit=limit, notes=notes)


def bind_rows(
    connection: duckdb.DuckDBPyConnection, rows: "pa.Table", query: BoundQuery = BoundQuery("")
) -> BoundQuery:
    """Bind rows that are already computed."""
    connection.register("computed_rows", rows)
    return replace(query, sql="from computed_rows", values={})


def _count_empty(count: int, more: str = "") -> str:
    return f"{count} {more}quer{'y needs' if count == 1 else 'ies need'} data that you have not ingested"


def _chart_parameters(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """The parameter that a query's chart line sets: see `definitions.query_files`."""
    sql = "select chart from catalog.queries where query_name = $name"
    [(chart,)] = connection.execute(sql, {"name": name}).fetchall()
    match = re.search(r" with=(\w+)", chart)
    return {match[1]: "true"} if match else {}


def _check_is_relation(connection: duckdb.DuckDBPyConnection, name: str, texts: Mapping[str, str]) -> None:
    """Raise UsageError unless a view or base table has the name, and no parameter is given."""
    sql = """
        select table_name from catalog.tables
        union all
        select view_name from catalog.views where is_current
        union all
        select versioned_name from catalog.views
        """
    if (name,) not in connection.execute(sql).fetchall():
        check_is_built(connection, name)
        suggested = suggest_queries(connection, name)
        raise UsageError(f'No query, view or table named "{name}".{suggested} List: ', LIST_QUERIES)
    if texts:
        raise UsageError(f"{name} is a table or view, which has no parameters")


def _note_on_query(connection: duckdb.DuckDBPyConnection, name: str) -> list[Note]:
    """Return a note if a named query has the plural of the name of a view: readers may have meant it."""
    sql = "select query_name from catalog.queries where query_name = $name || 's'"
    found = connection.execute(sql, {"name": name}).fetchall()
    return [Note("view", f"{name} is a view; {query} is a named query", "note") for (query,) in found]


def _check_schema(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str) -> None:
    listed = connection.execute(LISTS[kind]).fetchall()
    known = sorted({row[0].partition(".")[0] for row in listed})
    if trace and trace not in known:
        matches = close_matches(trace.lower(), known)
        raise UsageError(f"No {kind.value} of {trace}.{matches} Known: {', '.join(known)}")


def _parameters(connection: duckdb.DuckDBPyConnection, name: str) -> list[_Parameter]:
    sql = """
        select
            parameter,
            type,
            default_value,
            meaning,
            choices,
            at_least,
            at_most,
            values_of,
            is_list,
            table_columns
        from catalog.query_parameters
        where query_name = $name order by position
        """
    rows = connection.execute(sql, {"name": name}).fetchall()
    return [_Parameter(*row) for row in rows]


def _value(connection: duckdb.DuckDBPyConnection, text: str, kind: str) -> Any:
    """Convert a text to a value of a SQL type; None if it is not valid."""
    # A cast would round 1.5 to 2, and read 1_000 as 1000.
    if (kind in _INTEGERS and not _WHOLE.fullmatch(text)) or (kind == "DOUBLE" and "_" in text):
        return None
    # DuckDB 2.0 starts no other query on a connection before all rows of a result are fetched.
    [(value,)] = connection.execute(f"select try_cast($text as {kind})", {"text": text}).fetchall()
    return value


def _is_allowed(connection: duckdb.DuckDBPyConnection, parameter: _Parameter, text: str) -> bool:
    """Whether a text of the parameter's type is one of its choices, or within its range."""
    if parameter.choices:
        return text in parameter.choices
    if parameter.at_least is None:
        return True
    # DuckDB compares both numbers and dates. It sorts NaN above all numbers, so outside every range.
    bounds = " and ".join(f"cast(${name} as {parameter.type})" for name in ("at_least", "at_most"))
    [(is_within,)] = connection.execute(
        f"select cast($text as {parameter.type}) between {bounds}",
        {"text": text, "at_least": parameter.at_least, "at_most": parameter.at_most},
    ).fetchall()
    return bool(is_within)


def check_occurs(connection: duckdb.DuckDBPyConnection, subject: str, of_column: str, value: Any) -> None:
    """Raise UsageError if a value does not occur in a column. For an empty column, all values are valid."""
    table, _, column = of_column.rpartition(".")
    sql = f'select 1 from {table} where "{column}" = $value limit 1'
    if connection.execute(sql, {"value": value}).fetchall():
        return
    occurring = f"""
        select distinct cast("{column}" as varchar) as value from {table}
        where "{column}" is not null order by value
    """
    known = [text for (text,) in connection.execute(occurring).fetchall()]
    if known and value in find_not_loaded(connection, table):
        listed = ", ".join(known)
        what = f"{value} is not in this warehouse. `traces fetch {value}` and `traces ingest` load it"
        raise UsageError(f"{subject}: {what}. The warehouse has {listed}")
    if known:
        listed = ", ".join(known[:MOST_LISTED]) + (", …" if len(known) > MOST_LISTED else "")
        raise UsageError(
            f"{subject}: {value!r} does not occur in {of_column}.{close_matches(str(value), known)} "
            f"Its {len(known):,} values: {listed}"
        )


def _check_table(
    connection: duckdb.DuckDBPyConnection, query: str, parameter: _Parameter, value: str
) -> None:
    """Raise UsageError unless a value names a table or view that a query can read."""
    needed = ", ".join(parameter.table_columns)
    subject = f"{query}: {parameter.name} must be a table or view with the columns {needed}"
    sql = """
        select lower(schema_name || '.' || table_name), list(lower(column_name)) from duckdb_columns()
        where database_name = current_database() and not internal group by all
        """
    columns = dict(connection.execute(sql).fetchall())
    found = columns.get(value.lower())
    if found is None:
        raise UsageError(f"{subject}. There is no {value!r}.{close_matches(value, columns)}")
    if missing := [column for column in parameter.table_columns if column.lower() not in found]:
        raise UsageError(f"{subject}. {value} has no {', '.join(missing)}")
    try:
        connection.execute(f"describe from {query}({parameter.name} := $value)", {"value": value})
    except duckdb.BinderException as error:
        raise UsageError(f"{subject}. Those of {value} do not fit: {str(error).splitlines()[0]}") from None


def _listed(name: str, known: Iterable[_Parameter]) -> str:
    lines = [
        f"  {parameter.name} {parameter.type}, default {parameter.default}: {parameter.meaning}"
        + (f" ({parameter.constraint})" if parameter.constraint else "")
        for parameter in known
    ]
    if not lines:
        return "It has no parameters"
    return "\n".join([f"Parameters of {name}:", *lines])

"""Answers questions: opens the database read-only, and runs a named query or one statement of SQL."""

import re
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.core import errors
from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.attach import attach
from tracehouse.engines.duckdb.names import FOLDERS, NAME
from tracehouse.engines.duckdb.read.guard import reading_statement
from tracehouse.engines.duckdb.read.search import nearest, suggestion
from tracehouse.engines.names import MOST_ROWS
from tracehouse.ingest.store.layout import resolve_warehouse
from tracehouse.views import graph

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 100_000
# As many values of a column as a message can hold.
MOST_LISTED = 20

# DuckDB's default share of the memory of the machine or container, and the share that is taken here.
_SHARE_OF_DUCKDB = 0.8
_SHARE = 0.5
_OCCURRING = """
    select distinct cast("{0}" as varchar) as value from {1} where "{0}" is not null order by value
"""
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}


@dataclass(frozen=True)
class Question:
    """A query to run: SQL that may hold `$name`, the values for those, and what it is called.

    `explain` is the EXPLAIN that stood before it, with its options; empty where none did. `plan` is its query
    plan, where another engine runs it. `reads` are the names that a statement reads, `columns` names among
    which are those of its columns, None where that cannot be told; `given` the parameters of a named query
    that were given. `is_relation` says that it is for the rows of a table or view, quick to count. `cut_to`
    is how many rows a limit left of more, None where it left all.
    """

    sql: str
    values: Mapping[str, Any]
    name: str = ""
    explain: str = ""
    plan: str = ""
    reads: frozenset[str] = frozenset()
    given: Mapping[str, Any] = field(default_factory=dict)
    is_relation: bool = False
    columns: frozenset[str] | None = None
    cut_to: int | None = None


@dataclass(frozen=True)
class Access:
    """What a connection may have beside the warehouse: files to write, a folder for what does not fit memory.

    The memory limit is a size, as DuckDB writes it; empty for half of the machine's. It works with as many
    threads as it is given, None for one for each core, and with no more than there are cores.
    """

    writable: Sequence[str] = ()
    scratch: Path | None = None
    memory_limit: str = ""
    most_threads: int | None = None


NOTHING_MORE = Access()
# What the note is called that names tables without data.
NO_DATA = "no data"


@dataclass(frozen=True)
class Note:
    """Something to know about an answer: a caveat, or that it rests on synthetic data.

    `word` says what it is.
    """

    name: str
    text: str
    word: str = "caveat"


Asked = Callable[[duckdb.DuckDBPyConnection], tuple[Question, Sequence[Note]]]
"""Called with a connection; gives the question, or the answer that is at hand, and the notes on it."""


@dataclass(frozen=True)
class _Parameter:
    """A parameter as the catalog has it: with choices, bounds, or a column that has its values."""

    name: str
    type: str
    default: str
    meaning: str
    choices: Sequence[str]
    at_least: str | None
    at_most: str | None
    values_of: str | None

    @property
    def limits(self) -> str:
        """What it may be, apart from its type; empty where that is all."""
        if self.choices:
            return " | ".join(self.choices)
        if self.values_of:
            return f"values of {self.values_of}"
        return "" if self.at_least is None else f"{self.at_least} to {self.at_most}"

    @property
    def wanted(self) -> str:
        """What it may be, in a sentence."""
        if self.choices:
            return " or ".join(self.choices)
        return f"of type {self.type}" + (f" from {self.limits}" if self.at_least is not None else "")


def connect(warehouse: Path, access: Access = NOTHING_MORE) -> duckdb.DuckDBPyConnection:
    """Open the warehouse's database for questions: it cannot be written, nor any other file read or written.

    Raises UserError where there is no database, or where it cannot be opened.
    """
    path = resolve_warehouse(warehouse) / NAME
    if not path.exists():
        raise UserError(
            f"{path}: there is no database. Make one with `traces ingest --raw DIR`, "
            "or name the folder that holds it with --warehouse"
        )
    # Attached, not opened: all connections of a process to an opened file share its settings.
    connection = duckdb.connect()
    _limit_memory(connection, access.memory_limit)
    if access.most_threads:
        connection.execute(f"set threads = least(current_setting('threads'), {access.most_threads})")
    disable_async_writes(connection)
    attach(connection, path, "warehouse")
    connection.execute("use warehouse")
    root = path.parent.as_posix()
    connection.execute("set variable data_root = $root", {"root": root})
    connection.execute("set timezone = 'UTC'")
    # By default DuckDB spills to the current folder. It creates this one only when it has to spill.
    scratch = access.scratch or Path(tempfile.gettempdir()) / f"tracehouse-{uuid.uuid4().hex}"
    connection.execute("set temp_directory = $scratch", {"scratch": str(scratch)})
    connection.execute("set python_enable_replacements = false")
    connection.execute("set allow_persistent_secrets = false")
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    folders = [f"{root}/{folder}" for folder in FOLDERS]
    connection.execute("set allowed_directories = $folders", {"folders": folders})
    connection.execute("set allowed_paths = $files", {"files": list(access.writable)})
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def disable_async_writes(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn off the asynchronous threads through which COPY writes since DuckDB 2.0.

    With them, a COPY whose query fails half-way hangs for ever, about once in ten times.
    """
    # Versions before have no such setting.
    with suppress(duckdb.CatalogException):
        connection.execute("set async_threads = 0")


def named_question(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    texts: Mapping[str, str],
    limit: int | None = None,
    with_total: bool = False,
    for_chart: bool = False,
) -> Question:
    """The question of a named query, its parameters given as texts, or for the rows of a view or base table.

    With a limit, for no more rows than that; `with_total` asks for totals where the query has a parameter of
    that name and the texts have not. `for_chart` sets the parameter that the query's chart line names, unless
    the texts have it. Raises UsageError where the name, a parameter, a value or the limit is
    not one, and says what would be.
    """
    if limit is not None and not 0 <= limit <= MOST_ROWS:
        raise UsageError(f"the limit is a number of rows from 0 to {MOST_ROWS}, not {limit}")
    at_most = "" if limit is None else f" limit {limit}"
    if not connection.execute(
        "select 1 from catalog.queries where query_name = $name", {"name": name}
    ).fetchall():
        _check_is_relation(connection, name, texts)
        return Question(f"from {name}{at_most}", {}, name, is_relation=True)
    known = {parameter.name: parameter for parameter in _parameters(connection, name)}
    if with_total and "with_total" in known:
        texts = {"with_total": "true", **texts}
    if for_chart:
        texts = {**_given_by_chart(connection, name), **texts}
    values = {}
    for key, text in texts.items():
        if key not in known:
            raise UsageError(f"{name} has no parameter {key}. {_listed(name, known.values())}")
        values[key] = _value(connection, text, known[key].type)
        if values[key] is None or not _is_within(connection, known[key], text):
            wanted = known[key].wanted
            raise UsageError(f"{name}: {key} is {wanted}, not {text!r}. {_listed(name, known.values())}")
        if of_column := known[key].values_of:
            _check_occurs(connection, f"{name}: {key}", of_column, values[key])
    arguments = ", ".join(f"{key} := ${key}" for key in values)
    return Question(f"from {name}({arguments}){at_most}", values, name, given=values)


def _given_by_chart(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """The parameter that a query's chart line sets: see `sql.query_files`."""
    sql = "select chart from catalog.queries where query_name = $name"
    [(chart,)] = connection.execute(sql, {"name": name}).fetchall()
    match = re.search(r" with=(\w+)", chart)
    return {match[1]: "true"} if match else {}


def _check_is_relation(connection: duckdb.DuckDBPyConnection, name: str, texts: Mapping[str, str]) -> None:
    """Raise UsageError unless a view or base table has the name, and no parameter is given."""
    sql = """
        select table_name from catalog.tables
        union all
        select view_name from catalog.views
        union all
        select versioned_name from catalog.views
        """
    if (name,) not in connection.execute(sql).fetchall():
        check_is_built(connection, name)
        suggested = suggestion(connection, name)
        raise UsageError(f"no query is called {name}.{suggested} `traces list queries` has all")
    if texts:
        raise UsageError(f"{name} is no query but a table or view, which has no parameters")


def check_is_built(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Raise UserError where something of the user's own has the name, and could not be built."""
    failed = "select error from catalog.not_built where object_name = $name"
    for (error,) in connection.execute(failed, {"name": name}).fetchall():
        raise UserError(f"{name} could not be built: {error}. Mend it, and run `traces build`")


def sql_question(connection: duckdb.DuckDBPyConnection, sql: str) -> Question:
    """The question of a statement that somebody wrote. Raises UserError unless it is one that only reads."""
    statement = reading_statement(connection, sql)
    return Question(
        statement.query, {}, explain=statement.explain, reads=statement.reads, columns=statement.columns
    )


def limited(question: Question, limit: int | None) -> Question:
    """A question for no more rows than a limit, if there is one."""
    if limit is None or question.explain or question.plan:
        return question
    return replace(question, sql=f"from ({question.sql}\n) limit {limit}")


def first_rows(connection: duckdb.DuckDBPyConnection, question: Question, limit: int | None) -> Question:
    """A question for no more rows than a limit, if there is one, which knows whether it leaves others out.

    Its rows are computed here: one more than the limit tells, where asking anew may take as long again.
    """
    if limit is None or question.explain or question.plan:
        return question
    sql = limited(question, limit + 1).sql
    connection.execute(f"create or replace temp table first_rows as {sql}", dict(question.values))
    [(found,)] = connection.execute("select count(*) from temp.first_rows").fetchall()
    cut_to = limit if found > limit else None
    return replace(question, sql=f"from temp.first_rows limit {limit}", values={}, cut_to=cut_to)


def said_of_cut(question: Question) -> str:
    """What to say of an answer that a limit has cut; empty where none has."""
    if question.cut_to is None:
        return ""
    totals = ", and counts rows of totals too" if question.given.get("with_total") else ""
    return f"--limit {question.cut_to} left out others{totals}"


def of_table(connection: duckdb.DuckDBPyConnection, table: "pa.Table", name: str = "") -> Question:
    """The question whose answer is the given table; `name` is what was asked for it, if that has one."""
    connection.register("at_hand", table)
    return Question("from at_hand", {}, name)


def plan(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """How a question would be run: its query plan, as text."""
    if question.plan:
        return question.plan
    sql = f"{question.explain or 'explain'} {question.sql}"
    try:
        rows = connection.execute(sql, dict(question.values)).fetchall()
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    return "\n".join(value for _, value in rows)


def run(connection: duckdb.DuckDBPyConnection, question: Question) -> Any:
    """Run a question. Returns its answer as a stream of Arrow batches (`pyarrow.RecordBatchReader`)."""
    try:
        relation = connection.sql(question.sql, params=dict(question.values) or None)
        return relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:
        raise UserError(str(error)) from None


def check_traces(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Raise UsageError where one of the named traces does not exist."""
    known = [row[0] for row in connection.execute("select trace from catalog.traces").fetchall()]
    errors.check_traces(names, known)


def answered(connection: duckdb.DuckDBPyConnection, question: Question) -> tuple[Question, list[Note]]:
    """A question that gives the answer of a named one, and the notes on it.

    Where the answer has a column `trace`, it is computed here, and notes on traces without rows in it are
    left out.
    """
    columns = [row[0] for row in connection.execute(f"describe {question.sql}", question.values).fetchall()]
    if "trace" not in columns:
        return question, notes(connection, question.name, on_data=True)
    connection.execute(f"create or replace temp table answer as {question.sql}", question.values)
    rows = connection.execute("select distinct trace from temp.answer").fetchall()
    at_hand = replace(question, sql="from temp.answer", values={})
    return at_hand, notes(connection, question.name, [trace for (trace,) in rows] or None, on_data=True)


def notes(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    traces: Sequence[str] | None = None,
    on_data: bool = False,
) -> list[Note]:
    """Notes on a table, view or query: its caveats, and which of the tables it reads are synthetic or empty.

    Caveats on columns of a base table are the table's. With `traces`, only notes that concern these; with
    `on_data`, only caveats of traces that it reads rows of: nothing else can have gone wrong in an answer.
    """
    # The catalog names views in caveats by version.
    caveats = connection.execute(
        """
        with named as (
            select coalesce(
                (select arg_max(versioned_name, version) from catalog.views where view_name = $name), $name
            ) as name
        )

        select caveat, trace, what_goes_wrong || ' ' || what_to_do
        from catalog.caveats
        cross join named
        where
            len(list_filter(objects, lambda object: object = name or starts_with(object, name || '.'))) > 0
            and ($traces is null or list_contains($traces, trace))
        order by caveat
        """,
        {"name": name, "traces": traces},
    ).fetchall()
    tables = connection.execute(
        """
        select table_name, trace, row_count = 0, synthetic from catalog.tables
        where list_contains($read, table_name) and ($traces is null or list_contains($traces, trace))
        order by table_name
        """,
        {"read": list(base_tables(connection, [name])), "traces": traces},
    ).fetchall()
    with_rows = {trace for _, trace, is_empty, _ in tables if not is_empty}
    found = [Note(caveat, text) for caveat, trace, text in caveats if trace in with_rows or not on_data]
    synthetic = [table for table, _, _, is_synthetic in tables if is_synthetic]
    if synthetic:
        found.append(Note("synthetic data", f"{', '.join(synthetic)}: written by a generator, not measured"))
    empty = [table if trace in with_rows else trace for table, trace, is_empty, _ in tables if is_empty]
    if empty:
        found.append(Note(NO_DATA, f"{', '.join(dict.fromkeys(empty))}: nothing of it is in the warehouse"))
    return found


def base_tables(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> set[str]:
    """The base tables that objects read, directly or through others; a base table reads itself."""
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


def _limit_memory(connection: duckdb.DuckDBPyConnection, limit: str) -> None:
    if not limit:
        [(default,)] = connection.execute("select current_setting('memory_limit')").fetchall()
        amount, unit = default.split()
        limit = f"{float(amount) * _SHARE / _SHARE_OF_DUCKDB:.3f} {unit}"
    connection.execute("set memory_limit = $limit", {"limit": limit})


def _parameters(connection: duckdb.DuckDBPyConnection, name: str) -> list[_Parameter]:
    rows = connection.execute(
        """
        select parameter, type, default_value, meaning, choices, at_least, at_most, values_of
        from catalog.query_parameters
        where query_name = $name order by position
        """,
        {"name": name},
    ).fetchall()
    return [_Parameter(*row) for row in rows]


def _value(connection: duckdb.DuckDBPyConnection, text: str, kind: str) -> Any:
    """A text as a value of a SQL type, or None where it is none."""
    if kind in _INTEGERS and not re.fullmatch(r"[+-]?\d+", text):
        # A cast would round 1.5 to 2.
        return None
    # fetchall, as DuckDB 2.0 starts nothing else on a connection while a result is half read.
    [(value,)] = connection.execute(f"select try_cast($text as {kind})", {"text": text}).fetchall()
    return value


def _is_within(connection: duckdb.DuckDBPyConnection, parameter: _Parameter, text: str) -> bool:
    """Whether a value of its type, given as a text, is one of a parameter's choices, or in its range."""
    if parameter.choices:
        return text in parameter.choices
    if parameter.at_least is None:
        return True
    # DuckDB compares, as it does numbers and days alike; a NaN is above all numbers, and so in no range.
    bounds = " and ".join(f"cast(${name} as {parameter.type})" for name in ("at_least", "at_most"))
    [(is_within,)] = connection.execute(
        f"select cast($text as {parameter.type}) between {bounds}",
        {"text": text, "at_least": parameter.at_least, "at_most": parameter.at_most},
    ).fetchall()
    return bool(is_within)


def _check_occurs(connection: duckdb.DuckDBPyConnection, subject: str, of_column: str, value: Any) -> None:
    """Raise UsageError where a column has values, and not this one. Without data, nothing can be wrong."""
    table, _, column = of_column.rpartition(".")
    sql = f'select 1 from {table} where "{column}" = $value limit 1'
    if connection.execute(sql, {"value": value}).fetchall():
        return
    known = [text for (text,) in connection.execute(_OCCURRING.format(column, table)).fetchall()]
    if known:
        listed = ", ".join(known[:MOST_LISTED]) + (", …" if len(known) > MOST_LISTED else "")
        raise UsageError(
            f"{subject} is {value!r}, which {of_column} does not have.{nearest(str(value), known)} "
            f"It has {len(known):,}: {listed}"
        )


def _listed(name: str, known: Iterable[_Parameter]) -> str:
    lines = [
        f"  {parameter.name} {parameter.type}, default {parameter.default}: {parameter.meaning}"
        + (f" ({parameter.limits})" if parameter.limits else "")
        for parameter in known
    ]
    if not lines:
        return "It takes none"
    return "\n".join([f"Parameters of {name}:", *lines])

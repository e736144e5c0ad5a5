"""Publish a warehouse as one self-contained DuckDB file, for a BI server or for sharing.

Everything is a table, because some tools list only tables. A view is published as the rows of its current
version, under its plain name, so that a client lists each view once; and a named query
as its answer with default parameters, and as a macro: `itp.gpu_hours` is the answer, and
`itp.gpu_hours(min_gpus := 8)` the answer with other parameters.

A table declared `wide` has one row per time and device. Unless all samples are requested, only hourly
aggregates of a wide table are published if its times are finer than hours, and views that return its rows
without grouping or aggregating them are left out.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.core import staging
from tracehouse.core.errors import UserError
from tracehouse.core.progress import Step, ignore_step
from tracehouse.core.text import escape_name, identifier, quoted
from tracehouse.definitions.dependencies import with_dependencies
from tracehouse.definitions.macros import macros_sql
from tracehouse.definitions.names import OWN
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.guard import aggregates_rows
from tracehouse.engines.duckdb.write.base_tables import add_comments
from tracehouse.engines.duckdb.write.catalog import column_types, read_comments
from tracehouse.engines.duckdb.write.template import STORAGE_VERSION
from tracehouse.ingest.declare.trace import Table, all_clocks, all_traces
from tracehouse.ingest.store.files import flush_folder
from tracehouse.ingest.traces import trace_names
from tracehouse.publish import output

MARKER_COMMENT = "Published by Tracehouse: what is here."
"""The comment on `catalog.contents` that identifies a published database."""
LEFT_OUT_COMMENT = "Objects of the warehouse that were not published, and the reason."

OF_PACKAGE = frozenset({*trace_names(), "unified", "catalog"})
"""The schemas of tables, views and queries that are not the user's own."""

# Suffixes of the files that DuckDB writes while a database is open.
_OPEN_SUFFIXES = ("", ".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")
# Most tables are small, and each takes at least one block. By default a block has 256 KiB.
_OPTIONS = f"storage_version '{STORAGE_VERSION}', block_size 16384"
_HOUR_S = 3_600
_HAS_SAMPLES = "it has one row per sample; hourly aggregates are published"
_MAY_HAVE_SAMPLES = "it may have one row per sample, as its SQL cannot be followed; --whole includes it"
_HOURLY = {
    "hour": "Start of the hour, in UTC; derived.",
    "samples": "Samples in the hour; derived.",
    "empty_samples": "Empty cells in the hour; derived.",
    "mean_value": "Mean of the samples, in the unit of the metric; derived.",
    "min_value": "Minimum of the samples, in the unit of the metric; derived.",
    "max_value": "Maximum of the samples, in the unit of the metric; derived.",
}
_CONTENTS = {
    "name": "Table or view, with its schema.",
    "kind": "base table, hourly rollup, view, answer (default parameters), or catalog.",
    "row_count": "Number of rows.",
    "key_columns": "Columns of its declared key; empty without one.",
    "comment": "Its content.",
}
_LEFT_OUT = {"name": "Trace, table, view or named query.", "reason": "Reason."}


@dataclass(frozen=True)
class Published:
    """The names of the published relations, the number of rows and bytes, and what is left out, and why."""

    names: frozenset[str]
    rows: int
    bytes: int
    left_out: Mapping[str, str]

    def describe(self) -> str:
        """Return such as `425 tables with 1,524,577 rows`."""
        return f"{len(self.names):,} tables with {self.rows:,} rows"


@dataclass(frozen=True)
class Relation:
    """A relation to publish, with its comment and the meaning of its columns.

    `sql` selects its rows in the warehouse, or creates it as a view with one row per sample, to save disk
    space. `key` are the columns of its declared key. For an answer, `macro` creates the named query, which
    reads the relations in `reads`. `file` defines a view or query of the user, and is empty for those of the
    package.
    """

    name: str
    kind: str
    sql: str
    comment: str
    columns: Mapping[str, str]
    key: Sequence[str] = ()
    is_view: bool = False
    macro: str = ""
    reads: Sequence[str] = ()
    file: str = ""


@dataclass(frozen=True)
class _Warehouse:
    """What a warehouse has, by name: comments, columns with their comments, and the definitions of views.

    `empty` are the traces without data. `samples` are the objects that have one row per sample, with the
    reason to leave them out.
    """

    connection: duckdb.DuckDBPyConnection
    comments: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]
    definitions: Mapping[str, str]
    empty: Sequence[str]
    samples: Mapping[str, str]


def publish(warehouse: Path, path: Path, whole: bool, step: Step = ignore_step) -> Published:
    """Write the warehouse to a database file atomically; with `whole`, every sample of telemetry.

    `step` shows what is being written.
    Replaces a file that was published before. Raises UserError for any other existing file, if a program has
    the file open for writing, if the file cannot be written, or if the warehouse has no data.
    """
    _check_target(path)
    path = Path(os.path.realpath(path))
    with _replace_file(path) as staged, sandbox.scratch_folder() as scratch:
        writable = [f"{staged}{suffix}" for suffix in _OPEN_SUFFIXES]
        with sandbox.connect(warehouse, writable=writable, scratch=scratch) as connection:
            connection.execute(f"attach {quoted(str(staged))} as published ({_OPTIONS})")
            _fill(connection, whole, step)
            connection.execute("detach published")
        return read_published(staged)


def read_published(path: Path) -> Published:
    """Read from a published file what it contains."""
    with duckdb.connect(str(path), read_only=True) as connection:
        contents = connection.execute("select name, row_count from catalog.contents").fetchall()
        left_out = dict(connection.execute("select name, reason from catalog.left_out").fetchall())
    rows = sum(count for _, count in contents)
    return Published(frozenset(name for name, _ in contents), rows, path.stat().st_size, left_out)


def read_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """The columns of each table and view of the current database, with their comments."""
    return {
        name: {column: comment or "" for column, (_, comment) in columns.items()}
        for name, columns in column_types(connection).items()
    }


def _check_target(path: Path) -> None:
    """Raise UserError unless the path is free, or is a published database that can be replaced."""
    if any(letter in path.name for letter in "*?[\\") or escape_name(path.name) != path.name:
        raise UserError(f"{escape_name(path)}: DuckDB cannot open a file with this name. Choose another")
    output.check_folder(path)
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{path}: this exists and is not a file")
    found = []
    with duckdb.connect() as connection, suppress(duckdb.Error):
        try:
            connection.execute(f"attach {quoted(str(path))} as before (type duckdb, read_only)")
        except duckdb.IOException as error:
            if "lock" in str(error).lower():
                raise UserError(
                    f"{path}: another program has the file open for writing ({str(error).splitlines()[0]}). "
                    "Close it there, or open it read-only, and publish again"
                ) from None
            raise
        found = connection.execute(
            """
            select comment from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'contents'
            """
        ).fetchall()
    if found != [(MARKER_COMMENT,)]:
        raise UserError(
            f"{path}: this file was not written by `traces publish` and is not replaced. "
            "Choose another name, or move it away"
        )


@contextmanager
def _replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; when the block succeeds, the file at it replaces the file at `path`."""
    try:
        with staging.replace_file(path) as staged:
            # DuckDB creates no database in an empty file.
            staged.unlink()
            yield staged
            with staged.open("rb") as file:
                os.fsync(file.fileno())
            # The new database could not be opened with a write-ahead log of the old one.
            path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
        flush_folder(path.parent)
    except (duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: publishing failed ({reason}); the previous file is unchanged") from None


def _fill(connection: duckdb.DuckDBPyConnection, whole: bool, step: Step) -> None:
    """Create everything in the new database."""
    warehouse = _read_warehouse(connection)
    left_out = dict.fromkeys(warehouse.empty, "it has no data")
    if not whole:
        for name, reason in warehouse.samples.items():
            if name.partition(".")[0] not in warehouse.empty:
                left_out[name] = reason
    connection.execute("use published")
    connection.execute(macros_sql())
    # The SQL of the relations has no database names, so the warehouse must be the current database.
    connection.execute("use warehouse")
    relations: dict[str, Relation] = {}
    counts: dict[str, int] = {}
    # The named queries that are published as their answer alone.
    fixed: set[str] = set()
    wanted = [
        *_base_tables(warehouse, whole),
        *_views(warehouse, whole),
        *_catalog(warehouse),
        *_answers(warehouse),
    ]
    for number, relation in enumerate(wanted, 1):
        step(f"writing {number:,} of {len(wanted):,}: {relation.name}")
        has_inputs = bool(relation.macro) and counts.keys() - fixed >= {*relation.reads}
        try:
            counts[relation.name] = _store(connection, relation, has_inputs)
            relations[relation.name] = relation
        except duckdb.Error as error:
            # The user's own views and queries may fail.
            connection.rollback()
            connection.execute("use warehouse")
            if not relation.file:
                raise
            left_out[relation.name] = f"{relation.file} fails ({str(error).splitlines()[0]})"
            continue
        if relation.macro and not has_inputs:
            fixed.add(relation.name)
            reason = "it needs unpublished tables; the result with default parameters is included"
            left_out[f"{relation.name}(…)"] = reason
    contents = [
        (one.name, one.kind, counts[one.name], ", ".join(one.key), one.comment) for one in relations.values()
    ]
    for name, comment, columns, rows in (
        ("catalog.contents", MARKER_COMMENT, _CONTENTS, contents),
        ("catalog.left_out", LEFT_OUT_COMMENT, _LEFT_OUT, left_out.items()),
    ):
        schema = pa.schema([(key, pa.int64() if key == "row_count" else pa.string()) for key in columns])
        table = pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows], schema)
        connection.register("listed", table)
        _store(connection, Relation(name, "catalog", "from temp.listed", comment, columns))


def _store(connection: duckdb.DuckDBPyConnection, relation: Relation, has_inputs: bool = False) -> int:
    """Create a relation with its comments in the new database, and return its number of rows.

    If the new database `has_inputs` of an answer, the named query is created too and reads them, so that no
    view is computed again.
    """
    schema, _, name = relation.name.partition(".")
    target, what = f"published.{identifier(schema)}.{name}", "view" if relation.is_view else "table"
    connection.begin()
    connection.execute(f"create schema if not exists published.{identifier(schema)}")
    if relation.is_view or has_inputs:
        connection.execute("use published")
    if has_inputs:
        connection.execute(relation.macro)
    if relation.is_view:
        connection.execute(relation.sql)
        [(count,)] = connection.execute(f"select count(*) from {target}").fetchall()
    else:
        [(count,)] = connection.execute(f"create table {target} as {relation.sql}").fetchall()
    connection.execute("use warehouse")
    add_comments(connection, what, target, relation.comment, relation.columns)
    connection.commit()
    return count


def _read_warehouse(connection: duckdb.DuckDBPyConnection) -> _Warehouse:
    """Read what the warehouse has. Raises UserError if it has no data."""
    rows = connection.execute(
        "select trace, sum(row_count) from catalog.tables group by trace order by trace"
    ).fetchall()
    if not any(count for _, count in rows):
        raise UserError("the warehouse has no data. Run `traces ingest` first")
    sql = "select schema_name || '.' || view_name, sql from duckdb_views() where database_name = 'warehouse'"
    definitions = dict(connection.execute(sql).fetchall())
    empty = [trace for trace, count in rows if not count]
    samples = _objects_with_raw_samples(connection, definitions)
    comments, columns = read_comments(connection), read_columns(connection)
    return _Warehouse(connection, comments, columns, definitions, empty, samples)


def _base_tables(warehouse: _Warehouse, whole: bool) -> Iterator[Relation]:
    fine = _tables_finer_than_hours()
    for name, table in _declared().items():
        if name.partition(".")[0] in warehouse.empty or name not in warehouse.columns:
            continue
        comment, columns = warehouse.comments[name], warehouse.columns[name]
        if name in fine:
            yield _hourly(name, table, columns)
        if whole or name not in fine:
            yield Relation(name, "base table", f"from {name}", comment, columns, table.key)


def _hourly(name: str, table: Table, columns: Mapping[str, str]) -> Relation:
    """Hourly aggregates of a wide table: number, mean and range of the samples, by all other columns."""
    assert table.wide is not None
    time, value = f'"{table.wide.index}"', f'"{table.wide.value}"'
    others = [column.name for column in table.stored_columns if f'"{column.name}"' not in (time, value)]
    listed = ", ".join(f'"{column}"' for column in others)
    sql = f"""
        select
            {listed},
            date_trunc('hour', {time}) as hour,
            count({value}) as samples,
            count(*) - count({value}) as empty_samples,
            avg({value}) as mean_value,
            min({value}) as min_value,
            max({value}) as max_value
        from {name}
        group by all
        order by {listed}, hour
    """
    comment = f"{name} aggregated by hour: one row per hour and device. {table.comment}"
    meanings = {column: columns[column] for column in others} | _HOURLY
    keys = tuple(dict.fromkeys([*table.partition_by, table.wide.variable, "hour"]))
    return Relation(f"{name}_hourly", "hourly rollup", sql, comment, meanings, keys)


def _views(warehouse: _Warehouse, whole: bool) -> Iterator[Relation]:
    comments, columns = warehouse.comments, warehouse.columns
    rows = warehouse.connection.execute(
        """
        select
            view_name,
            versioned_name,
            case
                when status = $own
                    then format('{}/views/{}.v{}.sql', $own, replace(view_name, '.', '/'), version)
                else ''
            end
        from catalog.views
        where is_current and not list_contains($empty, trace)
        order by rowid
        """,
        {"empty": warehouse.empty, "own": OWN},
    ).fetchall()
    for name, versioned, file in rows:
        has_samples = name in warehouse.samples
        if has_samples and not whole:
            continue
        definition = warehouse.definitions[versioned].replace(versioned, name, 1)
        sql = definition if has_samples else f"from {name}"
        yield Relation(name, "view", sql, comments[name], columns[name], is_view=has_samples, file=file)


def _objects_with_raw_samples(
    connection: duckdb.DuckDBPyConnection, definitions: Mapping[str, str]
) -> dict[str, str]:
    """Wide base tables, and the views that return their rows one by one, with the reason."""
    found = dict.fromkeys(_tables_finer_than_hours(), _HAS_SAMPLES)
    with_samples = {*found}
    # Views in the order of creation, so that inputs come first. Materialized views have their own rows.
    for plain, versioned, is_current, reads, stored in connection.execute(
        "select view_name, versioned_name, is_current, reads, stored from catalog.views order by rowid"
    ).fetchall():
        if not stored and not with_samples.isdisjoint(reads):
            try:
                reason = _HAS_SAMPLES
                if aggregates_rows(connection, definitions[versioned].partition(" AS ")[2]):
                    continue
            except UserError:
                reason = _MAY_HAVE_SAMPLES
            with_samples.add(versioned)
            if is_current:
                with_samples.add(plain)
                found[plain] = reason
    return found


def _tables_finer_than_hours() -> list[str]:
    """The wide base tables with times finer than an hour, such as telemetry."""
    fine = {name for clock, names in all_clocks().items() if clock.resolution_s < _HOUR_S for name in names}
    wide = {name: table.wide for name, table in _declared().items() if table.wide}
    return [name for name, declared in wide.items() if f"{name}.{declared.index}" in fine]


def _answers(warehouse: _Warehouse) -> Iterator[Relation]:
    """The answer of each named query with default parameters, and the query itself."""
    rows = warehouse.connection.execute(
        """
        with parameters as (
            select
                query_name,
                string_agg(parameter || ' := ' || default_value, ', ' order by position) as defaults,
                string_agg(parameter || ' ' || type || ' := ' || default_value, ', ' order by position)
                as typed
            from catalog.query_parameters
            group by query_name
        ),

        meanings as (
            select
                object_name as query_name,
                map_from_entries(
                    list((column_name, meaning || '; ' || provenance || '.') order by position)
                ) as columns
            from catalog.columns
            group by object_name
        )

        select
            query_name,
            queries.title || ' ' || queries.description,
            columns,
            reads,
            defaults,
            coalesce(typed, ''),
            macro_definition,
            coalesce(comment, '')
        from catalog.queries as queries
        inner join meanings using (query_name)
        inner join duckdb_functions() as macros
            on queries.query_name = macros.schema_name || '.' || macros.function_name
            and macros.database_name = 'warehouse'
        left join parameters using (query_name)
        where not list_contains($empty, queries.trace)
        order by query_name
        """,
        {"empty": warehouse.empty},
    ).fetchall()
    answers = {row[0]: row for row in rows}
    reads_of = {name: row[3] for name, row in answers.items()}
    for name in (name for name in with_dependencies(answers, reads_of) if name in answers):
        _, about, columns, reads, defaults, typed, definition, comment = answers[name]
        schema, _, query = name.partition(".")
        file = "" if schema in OF_PACKAGE else f"{OWN}/sql/{schema}/{query}.sql"
        call = f" The answer to {name}({defaults})." if defaults else ""
        macro = f"create macro {name}({typed}) as table {definition}"
        macro += f"; comment on macro table {name} is {quoted(comment)}"
        yield Relation(
            name, "answer", f"from {name}()", about + call, columns, macro=macro, reads=reads, file=file
        )


def _catalog(warehouse: _Warehouse) -> Iterator[Relation]:
    # The rules run one by one, because all at once take twice as long and more memory.
    rules = warehouse.connection.execute("select sql from catalog.rules order by rowid").fetchall()
    for place, (sql,) in enumerate(rules):
        into = "insert into temp.checked" if place else "create temp table checked as"
        warehouse.connection.execute(f"{into} {sql}")
    for name, columns in warehouse.columns.items():
        if name.startswith("catalog."):
            rows = "from temp.checked" if name == "catalog.checks" else f"from {name}"
            yield Relation(name, "catalog", rows, warehouse.comments[name], columns)


def _declared() -> dict[str, Table]:
    return {f"{trace.name}.{table.name}": table for trace in all_traces().values() for table in trace.tables}

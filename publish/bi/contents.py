"""Select the tables, views and results of a warehouse to publish, each as self-contained rows.

The contents are all traces with data, and the views and queries across traces. A view is published as its
rows, and a named query as its answer with default parameters. A table declared `wide` has one row per time
and device. Unless all rows are requested, only hourly aggregates of a wide table are published if its times
are finer than hours, and views that return its rows without grouping or aggregating them are left out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import duckdb
import sqlglot
from sqlglot import exp

from tracehouse.core.errors import UserError
from tracehouse.core.text import quoted
from tracehouse.ingest.declarations import Table, all_traces
from tracehouse.views import ledgers

Columns = Mapping[str, str]
"""The meaning of each column, by name."""

MARKER_COMMENT = "Published by Tracehouse: what is here."
"""The comment on `catalog.contents` that identifies a published database."""

HOUR_S = 3_600
_AGGREGATING = (exp.Group, exp.AggFunc, exp.Distinct, exp.Window)


class Kind(StrEnum):
    """The kind of a published relation."""

    TABLE = "base table"
    ROLLUP = "hourly rollup"
    VIEW = "view"
    ANSWER = "answer"
    CATALOG = "catalog"


@dataclass(frozen=True)
class Relation:
    """A published table or view.

    `sql` selects its rows in the warehouse. `key` are the columns of its declared key, if any. `same_as`
    names the relation that it is an alias of. `is_row_by_row` marks a view with one row per row of a wide
    table, which is published as a view to save disk space.
    """

    name: str
    kind: Kind
    sql: str
    comment: str
    columns: Columns
    key: tuple[str, ...] = ()
    same_as: str = ""
    is_row_by_row: bool = False

    @property
    def schema(self) -> str:
        """Its schema: a trace, unified, or catalog."""
        return self.name.partition(".")[0]

    @property
    def column_list(self) -> str:
        """The names of its columns for a SELECT."""
        return ", ".join(f'"{column}"' for column in self.columns)

    def comments_on(self, kind: str, target: str) -> str:
        """The statements that comment on a table or view with its rows, and on the columns."""
        comments = [f"comment on {kind} {target} is {quoted(self.comment)}"]
        comments += [
            f'comment on column {target}."{column}" is {quoted(meaning)}'
            for column, meaning in self.columns.items()
            if meaning
        ]
        return "; ".join(comments)


@dataclass(frozen=True)
class LeftOut:
    """An object of the warehouse that is not published, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Contents:
    """The published relations and the objects left out.

    Base tables come first among the relations, and each relation comes before its aliases.
    `queries` are the named queries that read only published relations, so that they work with other
    parameters.
    """

    relations: tuple[Relation, ...]
    left_out: tuple[LeftOut, ...]
    queries: tuple[str, ...]


def select_contents(connection: duckdb.DuckDBPyConnection, whole: bool, has_macros: bool = True) -> Contents:
    """Select the contents to publish from an open warehouse; with `whole`, every sample of telemetry.

    `has_macros` is whether the target has named queries with parameters. Raises UserError if no trace has
    data.
    """
    empty = _traces_without_data(connection)
    relations = [*_base_tables(connection, empty, whole), *_views(connection, empty, whole)]
    left_out = [LeftOut(trace, "it has no data") for trace in empty]
    left_out += [
        LeftOut(name, "it has one row per sample; hourly aggregates are published")
        for name in _row_by_row_objects(connection)
        if not whole and name.partition(".")[0] not in empty
    ]
    catalog_tables = list(_catalog(connection))
    failing = {
        relation.name: failure
        for relation in relations
        if not relation.same_as and (failure := _failure_of_local(connection, relation))
    }
    relations = [relation for relation in relations if not {relation.name, relation.same_as} & failing.keys()]
    left_out += failing.values()
    names = {relation.name for relation in (*relations, *catalog_tables)}
    callable_queries = []
    for relation, reads in _answers(connection, empty):
        if failure := _failure_of_local(connection, relation):
            left_out.append(failure)
            continue
        relations.append(relation)
        if names.issuperset(reads):
            callable_queries.append(relation.name)
        elif has_macros:
            reason = "it needs unpublished tables; the result with default parameters is included"
            left_out.append(LeftOut(f"{relation.name}(…)", reason))
    relations += catalog_tables
    return Contents(tuple(relations), tuple(left_out), tuple(callable_queries))


def _failure_of_local(connection: duckdb.DuckDBPyConnection, relation: Relation) -> LeftOut | None:
    """Compute one of the user's own views or queries. Returns the failure, or None if it succeeds."""
    if relation.schema in {*all_traces(), "unified", "catalog"}:
        return None
    try:
        connection.execute(f"create or replace temp table computed as {relation.sql}")
        connection.execute("drop table computed")
    except duckdb.Error as error:
        return LeftOut(relation.name, f"it fails ({str(error).splitlines()[0]})")
    return None


def describe_contents(contents: Contents, counts: Sequence[int]) -> list[Relation]:
    """The relations `catalog.contents`, with `counts` as the row counts, and `catalog.left_out`."""
    relations = contents.relations
    return [
        Relation(
            "catalog.contents",
            Kind.CATALOG,
            f"""
            select
                unnest({_sql_list(relation.name for relation in relations)}) as name,
                unnest({_sql_list(relation.kind for relation in relations)}) as kind,
                unnest({list(counts)}::bigint[]) as row_count,
                unnest({_sql_list(", ".join(relation.key) for relation in relations)}) as key_columns,
                unnest({_sql_list(relation.same_as for relation in relations)}) as same_as,
                unnest({_sql_list(relation.comment for relation in relations)}) as comment
            """,
            MARKER_COMMENT,
            {
                "name": "Table or view, with its schema.",
                "kind": "base table, hourly rollup, view, answer (default parameters), or catalog.",
                "row_count": "Number of rows.",
                "key_columns": "Columns of its declared key; empty without one.",
                "same_as": "The relation that it is an alias of; empty for most.",
                "comment": "Its content.",
            },
            ("name",),
        ),
        Relation(
            "catalog.left_out",
            Kind.CATALOG,
            f"""
            select
                unnest({_sql_list(left.name for left in contents.left_out)}) as name,
                unnest({_sql_list(left.reason for left in contents.left_out)}) as reason
            """,
            "Objects of the warehouse that were not published, and the reason.",
            {"name": "Trace, table, view or named query.", "reason": "Reason."},
            ("name",),
        ),
    ]


def _sql_list(texts: Iterable[str]) -> str:
    """A list of texts as an SQL literal."""
    return f"[{', '.join(quoted(text) for text in texts)}]::varchar[]"


def _traces_without_data(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "select trace, sum(row_count) from catalog.tables group by trace order by trace"
    ).fetchall()
    if not any(count for _, count in rows):
        raise UserError("the warehouse has no data. Run `traces ingest` first")
    return [trace for trace, count in rows if not count]


def _base_tables(
    connection: duckdb.DuckDBPyConnection, empty: Collection[str], whole: bool
) -> Iterator[Relation]:
    comments, columns = _comments(connection), _columns(connection)
    fine = _tables_finer_than_hours()
    for name, table in _declared().items():
        if name.partition(".")[0] in empty or name not in columns:
            continue
        if name in fine:
            yield _rollup(name, table, columns[name])
        if whole or name not in fine:
            yield Relation(name, Kind.TABLE, f"from {name}", comments[name], columns[name], table.key)


def _rollup(name: str, table: Table, columns: Columns) -> Relation:
    """Hourly aggregates of a wide table: number, mean and range of the samples, by all other columns."""
    assert table.wide is not None
    time, value = f'"{table.wide.index}"', f'"{table.wide.value}"'
    others = [column.name for column in table.stored_columns if f'"{column.name}"' not in (time, value)]
    listed = ", ".join(f'"{column}"' for column in others)
    aggregates = {
        "hour": "Start of the hour, in UTC; derived.",
        "samples": "Samples in the hour; derived.",
        "empty_samples": "Empty cells in the hour; derived.",
        "mean_value": "Mean of the samples, in the unit of the metric; derived.",
        "min_value": "Minimum of the samples, in the unit of the metric; derived.",
        "max_value": "Maximum of the samples, in the unit of the metric; derived.",
    }
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
    meanings = {column: columns[column] for column in others} | aggregates
    keys = tuple(dict.fromkeys([*table.partition_by, table.wide.variable, "hour"]))
    return Relation(f"{name}_hourly", Kind.ROLLUP, sql, comment, meanings, keys)


def _views(connection: duckdb.DuckDBPyConnection, empty: Collection[str], whole: bool) -> Iterator[Relation]:
    comments, columns = _comments(connection), _columns(connection)
    row_by_row = _row_by_row_objects(connection)
    rows = connection.execute(
        """
        select view_name, versioned_name, version = max(version) over (partition by view_name)
        from catalog.views
        where not list_contains($empty, trace)
        order by rowid
        """,
        {"empty": list(empty)},
    ).fetchall()
    for plain, versioned, is_newest in rows:
        if versioned in row_by_row and not whole:
            continue
        is_row_by_row = versioned in row_by_row
        # Rows are stored under the plain name; a row-by-row view has the versioned name, which views read.
        first, *others = [versioned] if not is_newest else sorted((plain, versioned), reverse=is_row_by_row)
        yield Relation(
            first, Kind.VIEW, f"from {first}", comments[first], columns[first], is_row_by_row=is_row_by_row
        )
        for other in others:
            yield Relation(other, Kind.VIEW, f"from {other}", comments[other], columns[other], same_as=first)


def _row_by_row_objects(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Wide base tables, and the views (by both names) that return their rows one by one."""
    found = _tables_finer_than_hours()
    definitions = dict(
        connection.execute(
            """
            select schema_name || '.' || view_name, sql from duckdb_views()
            where database_name = 'warehouse'
            """
        ).fetchall()
    )
    # Views in the order of creation, so that inputs come first. Materialized views have their own rows.
    for plain, versioned, reads, stored in connection.execute(
        "select view_name, versioned_name, reads, stored from catalog.views order by rowid"
    ).fetchall():
        if not stored and not set(found).isdisjoint(reads) and _is_row_by_row(definitions[versioned]):
            found += [name for name in (versioned, plain) if name not in found]
    return found


def _tables_finer_than_hours() -> list[str]:
    """The wide base tables with times finer than an hour, such as telemetry."""
    fine = {name for clock in ledgers.clocks() if clock.resolution_s < HOUR_S for name in clock.objects}
    wide = {name: table.wide for name, table in _declared().items() if table.wide}
    return [name for name, declared in wide.items() if f"{name}.{declared.index}" in fine]


def _is_row_by_row(definition: str) -> bool:
    tree = sqlglot.parse_one(definition, dialect="duckdb")
    return not any(tree.find(kind) for kind in _AGGREGATING)


def _answers(
    connection: duckdb.DuckDBPyConnection, empty: Collection[str]
) -> Iterator[tuple[Relation, list[str]]]:
    """The answer of each named query with default parameters, and the relations that it reads."""
    columns = _columns_of_answers(connection)
    rows = connection.execute(
        """
        select
            queries.query_name,
            any_value(queries.title),
            any_value(queries.description),
            any_value(queries.reads),
            string_agg(
                parameters.parameter || ' := ' || parameters.default_value, ', ' order by parameters.position
            )
        from catalog.queries as queries
        left join catalog.query_parameters as parameters using (query_name)
        where not list_contains($empty, queries.trace)
        group by queries.query_name
        order by queries.query_name
        """,
        {"empty": list(empty)},
    ).fetchall()
    for name, title, description, reads, defaults in rows:
        call = f" The answer to {name}({defaults})." if defaults else ""
        comment = f"{title} {description}{call}"
        yield Relation(name, Kind.ANSWER, f"from {name}()", comment, columns[name]), reads


def _catalog(connection: duckdb.DuckDBPyConnection) -> Iterator[Relation]:
    comments, columns = _comments(connection), _columns(connection)
    for name in columns:
        if name.startswith("catalog."):
            yield Relation(name, Kind.CATALOG, f"from {name}", comments[name], columns[name])


def _declared() -> dict[str, Table]:
    return {f"{trace.name}.{table.name}": table for trace in all_traces().values() for table in trace.tables}


def _comments(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(
        connection.execute(
            """
            select schema_name || '.' || view_name, coalesce(comment, '') from duckdb_views()
            where database_name = 'warehouse'
            union all
            select schema_name || '.' || table_name, coalesce(comment, '') from duckdb_tables()
            where database_name = 'warehouse'
            """
        ).fetchall()
    )


def _columns(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    return _by_relation(
        connection.execute(
            """
            select schema_name || '.' || table_name, column_name, coalesce(comment, '')
            from duckdb_columns()
            where database_name = 'warehouse' and not internal
            order by schema_name, table_name, column_index
            """
        ).fetchall()
    )


def _columns_of_answers(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    return _by_relation(
        connection.execute(
            """
            select
                columns.object_name,
                columns.column_name,
                columns.meaning || '; ' || columns.provenance || '.'
            from catalog.columns as columns
            inner join catalog.queries as queries on columns.object_name = queries.query_name
            order by columns.object_name, columns.position
            """
        ).fetchall()
    )


def _by_relation(rows: list[tuple[str, str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, column, comment in rows:
        found.setdefault(name, {})[column] = comment
    return found

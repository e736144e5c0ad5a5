"""What is published of a warehouse: its tables, views and answers, each as rows that need nothing else.

Every trace with data is published, and so is what unites traces. A view is stored as its rows, and a named
query as its answer to its defaults. The rows of a table whose declaration is `wide`, one for each cell of a
matrix of times and devices, are published by the hour alone, unless the whole is asked for or its clock is
no finer than that. So is what passes such rows on, one by one: a view that reads them and neither groups nor
aggregates.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import duckdb
import sqlglot
from sqlglot import exp

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.names import quoted
from tracehouse.ingest.declarations import Table, all_traces
from tracehouse.views import ledgers

Columns = Mapping[str, str]
"""What each column means, by its name."""

MARK = "Published by Tracehouse: what is here."
"""The comment on `catalog.contents` by which what was published is known."""

HOUR_S = 3_600
_REDUCING = (exp.Group, exp.AggFunc, exp.Distinct, exp.Window)


class Kind(StrEnum):
    """What a published relation is."""

    TABLE = "base table"
    ROLLUP = "hourly rollup"
    VIEW = "view"
    ANSWER = "answer"
    CATALOG = "catalog"


@dataclass(frozen=True)
class Relation:
    """One table of what is published.

    `sql` gives its rows in the warehouse. `key` are columns that are declared to tell its rows apart, empty
    where none are. `same_as` is the relation that it is one more name of, empty for most. `passes_on` marks
    the view that has a row for each one of a wide table, and is worth no room of its own.
    """

    name: str
    kind: Kind
    sql: str
    comment: str
    columns: Columns
    key: tuple[str, ...] = ()
    same_as: str = ""
    passes_on: bool = False

    @property
    def schema(self) -> str:
        """The schema that it is in: a trace, unified, or catalog."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class LeftOut:
    """Something of the warehouse that is not published, and why not."""

    name: str
    reason: str


@dataclass(frozen=True)
class Contents:
    """What is published, base tables first, each relation before its other names; and what is not.

    `queries` are the named queries all of whose reading is published: these can be asked with other values.
    """

    relations: tuple[Relation, ...]
    left_out: tuple[LeftOut, ...]
    queries: tuple[str, ...]


def contents(connection: duckdb.DuckDBPyConnection, whole: bool, takes_values: bool = True) -> Contents:
    """What is published of the warehouse that a connection has open; with `whole`, telemetry cell by cell.

    `takes_values` where named queries can be asked with other values there, if all that they read is there.

    Raises UserError where no trace has data.
    """
    empty = _traces_without_data(connection)
    relations = [*_base_tables(connection, empty, whole), *_views(connection, empty, whole)]
    left_out = [LeftOut(trace, "has no data") for trace in empty]
    left_out += [
        LeftOut(name, "has a row for each sample; the hours of the samples are published")
        for name in _cell_by_cell(connection)
        if not whole and name.partition(".")[0] not in empty
    ]
    its_catalog = list(_catalog(connection))
    names = {relation.name for relation in (*relations, *its_catalog)}
    askable = []
    for relation, reads in _answers(connection, empty):
        relations.append(relation)
        if names.issuperset(reads):
            askable.append(relation.name)
        elif takes_values:
            left_out.append(
                LeftOut(f"{relation.name}(…)", "reads what is left out; its answer to its defaults is here")
            )
    relations += its_catalog
    return Contents(tuple(relations), tuple(left_out), tuple(askable))


def told(chosen: Contents, counts: Sequence[int]) -> list[Relation]:
    """`catalog.contents`, with the count of rows of each relation, and `catalog.left_out`."""
    relations = chosen.relations
    return [
        Relation(
            "catalog.contents",
            Kind.CATALOG,
            f"""
            select
                unnest({_texts(relation.name for relation in relations)}) as name,
                unnest({_texts(relation.kind for relation in relations)}) as kind,
                unnest({list(counts)}::bigint[]) as row_count,
                unnest({_texts(", ".join(relation.key) for relation in relations)}) as key_columns,
                unnest({_texts(relation.same_as for relation in relations)}) as same_as,
                unnest({_texts(relation.comment for relation in relations)}) as comment
            """,
            MARK,
            {
                "name": "Table or view, with its schema.",
                "kind": "base table, hourly rollup, view, answer of a named query to its defaults, catalog.",
                "row_count": "Its rows.",
                "key_columns": "Columns that are declared to tell its rows apart; empty where none are.",
                "same_as": "What it is one more name of; empty for most.",
                "comment": "What it holds.",
            },
            ("name",),
        ),
        Relation(
            "catalog.left_out",
            Kind.CATALOG,
            f"""
            select
                unnest({_texts(left.name for left in chosen.left_out)}) as name,
                unnest({_texts(left.reason for left in chosen.left_out)}) as reason
            """,
            "What the warehouse has that is not here, and why.",
            {"name": "Trace, table, view or named query.", "reason": "Why it is not here."},
            ("name",),
        ),
    ]


def _texts(texts: Iterable[str]) -> str:
    """A list of texts as SQL."""
    return f"[{', '.join(quoted(text) for text in texts)}]::varchar[]"


def _traces_without_data(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "select trace, sum(row_count) from catalog.tables group by trace order by trace"
    ).fetchall()
    if not any(count for _, count in rows):
        raise UserError("the warehouse holds no data. Read some into it with `traces ingest`")
    return [trace for trace, count in rows if not count]


def _base_tables(
    connection: duckdb.DuckDBPyConnection, empty: Collection[str], whole: bool
) -> Iterator[Relation]:
    comments, columns = _comments(connection), _columns(connection)
    fine = _finer_than_hours()
    for name, table in _declared().items():
        if name.partition(".")[0] in empty or name not in columns:
            continue
        if name in fine:
            yield _rollup(name, table, columns[name])
        if whole or name not in fine:
            yield Relation(name, Kind.TABLE, f"from {name}", comments[name], columns[name], table.key)


def _rollup(name: str, table: Table, columns: Columns) -> Relation:
    """The hours of a table that has a row for each cell: samples and their spread, by all other columns."""
    assert table.wide is not None
    time, value = f'"{table.wide.index}"', f'"{table.wide.value}"'
    others = [column.name for column in table.stored_columns if f'"{column.name}"' not in (time, value)]
    listed = ", ".join(f'"{column}"' for column in others)
    of_hours = {
        "hour": "Begin of the hour, whole in UTC; derived.",
        "samples": "Samples of the hour; derived.",
        "empty_samples": "Cells of the hour that are empty; derived.",
        "mean_value": "Mean of the samples, in the unit of the metric; derived.",
        "min_value": "Least of the samples, in the unit of the metric; derived.",
        "max_value": "Greatest of the samples, in the unit of the metric; derived.",
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
    comment = f"{name} by the hour: one row per hour and device. {table.comment}"
    meanings = {column: columns[column] for column in others} | of_hours
    keys = tuple(dict.fromkeys([*table.partition_by, table.wide.variable, "hour"]))
    return Relation(f"{name}_hourly", Kind.ROLLUP, sql, comment, meanings, keys)


def _views(connection: duckdb.DuckDBPyConnection, empty: Collection[str], whole: bool) -> Iterator[Relation]:
    comments, columns = _comments(connection), _columns(connection)
    passing = _cell_by_cell(connection)
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
        if versioned in passing and not whole:
            continue
        passes_on = versioned in passing
        # The rows are under the plain name, but a definition is under the one that others read.
        first, *others = [versioned] if not is_newest else sorted((plain, versioned), reverse=passes_on)
        yield Relation(
            first, Kind.VIEW, f"from {first}", comments[first], columns[first], passes_on=passes_on
        )
        for other in others:
            yield Relation(other, Kind.VIEW, f"from {other}", comments[other], columns[other], same_as=first)


def _cell_by_cell(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Those wide base tables, and by both their names the views that pass their rows on, in order."""
    found = _finer_than_hours()
    definitions = dict(
        connection.execute(
            """
            select schema_name || '.' || view_name, sql from duckdb_views()
            where database_name = 'warehouse'
            """
        ).fetchall()
    )
    # In the order of creation: what a view reads stands before it. What is stored reads rows of its own.
    for plain, versioned, reads, stored in connection.execute(
        "select view_name, versioned_name, reads, stored from catalog.views order by rowid"
    ).fetchall():
        if not stored and not set(found).isdisjoint(reads) and _keeps_rows(definitions[versioned]):
            found += [name for name in (versioned, plain) if name not in found]
    return found


def _finer_than_hours() -> list[str]:
    """The wide base tables whose clock tells times within an hour, as that of telemetry does."""
    fine = {name for clock in ledgers.clocks() if clock.resolution_s < HOUR_S for name in clock.objects}
    wide = {name: table.wide for name, table in _declared().items() if table.wide}
    return [name for name, declared in wide.items() if f"{name}.{declared.index}" in fine]


def _keeps_rows(definition: str) -> bool:
    tree = sqlglot.parse_one(definition, dialect="duckdb")
    return not any(tree.find(kind) for kind in _REDUCING)


def _answers(
    connection: duckdb.DuckDBPyConnection, empty: Collection[str]
) -> Iterator[tuple[Relation, list[str]]]:
    """The answer of each named query to its defaults, and what the query reads."""
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
        asked = f" The answer to {name}({defaults})." if defaults else ""
        comment = f"{title} {description}{asked}"
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

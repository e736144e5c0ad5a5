"""Describe a table, view, query, trace, column, caveat or published figure from the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tracehouse.core.errors import UsageError
from tracehouse.engines.duckdb.read import notes
from tracehouse.engines.duckdb.read.catalog import check_is_built, read_rows
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.search import close_matches
from tracehouse.views.graph import sources
from tracehouse.views.sql_text import first_statement


@dataclass(frozen=True)
class Grid:
    """A table of texts: its title, the names of its columns, and its rows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Description:
    """A description of an object: facts by name, its parameters and columns, caveats, and its SQL."""

    name: str
    title: str
    facts: dict[str, str]
    grids: Sequence[Grid] = ()
    notes: Sequence[Note] = ()
    sql: str = ""


COLUMNS = """
    select column_name as "column", type, unit, provenance, meaning
    from catalog.columns where object_name = $name order by position
    """
COLUMNS_OF_CATALOG = """
    select column_name as "column", data_type as type, comment as meaning from duckdb_columns()
    where database_name = current_database() and schema_name || '.' || table_name = $name
        and schema_name = 'catalog'
    order by column_index
    """
COMMENT = """
    select comment from duckdb_tables() where schema_name || '.' || table_name = $name
    union all
    select comment from duckdb_views() where schema_name || '.' || view_name = $name
    """

# For each kind of object, the row of the object that is called $name: its name, title, facts and SQL.
OBJECTS = {
    "table": f"""
        select
            table_name as name,
            ({COMMENT}) as title,
            'base table' as kind,
            case when row_count = 0 then 'no data' else format('{{:,}} rows', row_count) end
            || case when synthetic then ', synthetic' else '' end as data,
            grain,
            source,
            licence,
            citation as cite
        from catalog.tables
        inner join catalog.traces on tables.trace = traces.trace
        where table_name = $name
        """,
    "view": """
        select
            views.versioned_name as name,
            views.title,
            format('view, version {}, {}', views.version, views.status) as kind,
            (
                select
                    string_agg(format('{} ({})', versioned_name, status), ', ' order by version)
                    || format('; {} is {}, the newest', views.view_name, arg_max(versioned_name, version))
                from catalog.views as versions
                where versions.view_name = views.view_name
            ) as versions,
            views.grain,
            views.source,
            array_to_string(views.reads, ', ') as reads,
            views.engine,
            case when views.stored then format(
                'since {} UTC, {} MB in {} file{}, computed from {}',
                strftime(views.stored_at, '%Y-%m-%d %H:%M'),
                format('{:,}', cast(views.stored_bytes / 1e6 as decimal(18, 1))),
                len(views.stored_files),
                case when len(views.stored_files) = 1 then '' else 's' end,
                array_to_string(views.base_tables, ', ')
            ) end as stored,
            views.sql
        from catalog.views as views
        where $name in (views.view_name, views.versioned_name)
        order by views.version desc
        limit 1
        """,
    "query": """
        select
            query_name as name,
            title,
            'named query' as kind,
            description as answer,
            array_to_string(reads, ', ') as reads,
            array_to_string(reads_versions, ', ') as "in versions",
            chart,
            sql
        from catalog.queries where query_name = $name
        """,
    "trace": """
        select
            trace as name,
            title,
            'trace' as kind,
            publisher,
            homepage,
            download as "raw files",
            licence,
            citation as cite,
            (
                select string_agg(caveat, ', ' order by caveat)
                from catalog.caveats where caveats.trace = traces.trace
            ) as caveats
        from catalog.traces where trace = $name
        """,
    "caveat": """
        select
            caveat as name,
            what_goes_wrong as title,
            'caveat of ' || trace as kind,
            severity || case when severity = 'background' then '' else ' if ignored' end as severity,
            what_to_do as "what to do",
            documented_in as "documented in",
            array_to_string(list_sort(objects), ', ') as touches
        from catalog.caveats where caveat = $name
        """,
    "figure": """
        select
            figure as name,
            statement as title,
            'published figure of ' || trace as kind,
            format('{} {:g} {}', relation, value, unit) as published,
            format('{:g}', tolerance) as tolerance,
            printed_in as "printed in",
            trust,
            explanation as "why it differs",
            needs_file as "needs the file",
            array_to_string(reads, ', ') as reads,
            measured_by as sql
        from catalog.published where figure = $name
        """,
    "catalog table": f"""
        select $name as name, ({COMMENT}) as title, 'table of the catalog' as kind
        where exists ({COLUMNS_OF_CATALOG})
        """,
}
# The tables that the description of each kind of object has, by title.
GRIDS: Mapping[str, Mapping[str, str]] = {
    "table": {"columns": COLUMNS},
    "view": {"columns": COLUMNS},
    "query": {
        "parameters": """
            select
                parameter,
                type,
                default_value as "default",
                meaning,
                case
                    when at_least is not null then at_least || ' to ' || at_most
                    when values_of is not null then 'values of ' || values_of
                    else array_to_string(choices, ' | ')
                end as choices
            from catalog.query_parameters where query_name = $name order by position
            """,
        "columns": COLUMNS,
    },
    "trace": {
        "tables": """
            select
                table_name as "table",
                case when row_count = 0 then 'no data' when synthetic then 'synthetic' else 'published' end
                    as data,
                format('{:,}', row_count) as rows,
                grain
            from catalog.tables where trace = $name order by table_name
            """,
        "clocks": """
            select clock, epoch as "counts from", zone, true_parts as "true", fake_parts as "not true"
            from catalog.clocks where trace = $name order by clock
            """,
        "metrics": """
            select metric, exactness, answered_by as "answered by", reason
            from catalog.metrics where trace = $name order by metric
            """,
    },
    "caveat": {
        "columns of views": """
            select object_name as view, string_agg(column_name, ', ' order by position) as columns
            from catalog.columns
            where list_contains(caveats, $name) and object_name in (select view_name from catalog.views)
            group by object_name order by object_name
            """,
    },
    "catalog table": {"columns": COLUMNS_OF_CATALOG},
}


def describe(connection: duckdb.DuckDBPyConnection, name: str, on_data: bool = False) -> Description:
    """Describe a table, view, query, trace, column, caveat or published figure.

    A view may have its plain or its versioned name. With `on_data`, the caveats of a query are only those of
    traces from which it reads rows. Raises UsageError with close matches if no object has the name.
    """
    for kind, sql in OBJECTS.items():
        for row in read_rows(connection, sql, name=name):
            facts = {fact: text or "" for fact, text in row.items()}
            found = facts.pop("name")
            return Description(
                found,
                facts.pop("title"),
                sql=first_statement(facts.pop("sql", "")),
                facts=facts,
                grids=[_grid(connection, title, sql, found) for title, sql in GRIDS.get(kind, {}).items()],
                notes=notes.of_object(connection, found, on_data=on_data and kind == "query")
                if kind in ("table", "view", "query")
                else (),
            )
    if column := _column(connection, name):
        return column
    check_is_built(connection, name)
    sql = """
        select table_name from catalog.tables
        union
        select view_name from catalog.views
        union
        select query_name from catalog.queries
        union
        select trace from catalog.traces
        union
        select caveat from catalog.caveats
        union
        select figure from catalog.published
        union
        select 'catalog.' || table_name from duckdb_columns() where schema_name = 'catalog'
        order by all
        """
    matches = close_matches(name, [known for (known,) in connection.execute(sql).fetchall()])
    word = name.rpartition(".")[2]
    raise UsageError(f'No object named "{name}".{matches} Search: `traces list queries --search {word}`')


def _grid(connection: duckdb.DuckDBPyConnection, title: str, sql: str, name: str) -> Grid:
    answer = connection.execute(sql, {"name": name})
    names = [column[0] for column in answer.description or ()]
    rows: list[tuple] = answer.fetchall()
    if title == "columns" and "type" in names and any(kind is None for _, kind, *_ in rows):
        # The catalog does not have the types of a query's answer, because DuckDB infers them slowly.
        types = {
            column: kind for column, kind, *_ in connection.execute(f"describe from {name}()").fetchall()
        }
        rows = [(column, types[column], *more) for column, _, *more in rows]
    return Grid(title, names, rows)


def _column(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    """Describe a column of a table, view, query or catalog table, by its full name."""
    owner, _, column = name.rpartition(".")
    is_catalog = owner.startswith("catalog.")
    grid = _grid(connection, "columns", COLUMNS_OF_CATALOG if is_catalog else COLUMNS, owner)
    kinds = {found: kind for found, kind, *_ in grid.rows}
    if not kinds:
        return None
    if column not in kinds:
        matches = close_matches(column, list(kinds))
        raise UsageError(f"{owner} has no column {column}.{matches} List all: `traces describe {owner}`")
    if is_catalog:
        [meaning] = [meaning for found, _, meaning in grid.rows if found == column]
        return Description(name, meaning, {"kind": f"column of the table {owner}", "type": kinds[column]})
    sql = """
        select
            *,
            case
                when type is null then 'query'
                when object_name in (select table_name from catalog.tables) then 'table'
                else 'view'
            end as kind
        from catalog.columns where object_name || '.' || column_name = $name
        """
    [row] = read_rows(connection, sql, name=name)
    return Description(
        name,
        row["meaning"],
        {
            "kind": f"column of the {row['kind']} {owner}",
            "type": kinds[column],
            "unit": row["unit"],
            "provenance": row["provenance"],
            "computed from": ", ".join(row["lineage"]),
            "base columns": ", ".join(_origins(connection, row["lineage"])),
        },
        notes=_column_notes(connection, name, row["caveats"]),
    )


def _origins(connection: duckdb.DuckDBPyConnection, lineage: Sequence[str]) -> list[str]:
    """Return the base columns that some columns are computed from; empty if all are base columns."""
    sql = "select object_name || '.' || column_name, lineage from catalog.columns where len(lineage) > 0"
    reads = dict(connection.execute(sql).fetchall())
    found = sources(lineage, reads)
    return sorted(found) if found != set(lineage) else []


def _column_notes(connection: duckdb.DuckDBPyConnection, name: str, caveats: Sequence[str]) -> list[Note]:
    sql = """
        select caveat, what_goes_wrong || ' ' || what_to_do, 'caveat', severity, summary from catalog.caveats
        where list_contains($caveats, caveat) or list_contains(objects, $name)
        order by caveat
        """
    rows = connection.execute(sql, {"caveats": list(caveats), "name": name}).fetchall()
    return [Note(*row) for row in rows]

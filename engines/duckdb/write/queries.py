"""Create named queries as table macros in a database that has the views."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import cast

import duckdb
from sqlglot import exp

from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.write.catalog import (
    column_types,
    find_base_tables,
    insert,
    record_in_caveats,
)
from tracehouse.engines.duckdb.write.statements import query_statements, sql_error
from tracehouse.sql.query_files import QueryFile
from tracehouse.views import caveats
from tracehouse.views.caveats import ColumnsByCaveat
from tracehouse.views.columns import Columns, columns_read, passed_on, split_comment
from tracehouse.views.units import read_units, unit_in
from tracehouse.views.view_files import DefinitionError


def create_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[QueryFile],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
    explained: bool = True,
) -> None:
    """Create named queries as table macros, and add them to the catalog.

    `caveats_by_object` has the caveats of views. Raises DefinitionError if a query does not fit the views
    that it reads, or, if `explained`, does not describe each of its columns.
    """
    columns = column_types(connection)
    for schema in {query.schema for query in queries}:
        connection.execute(f'create schema if not exists "{schema}"')
    for query in queries:
        _check_parameter_names(query, columns)
        _check_values(query, columns)
        try:
            connection.execute(query_statements(query))
        except duckdb.Error as error:
            raise sql_error(error, query.path, query.signature, query.text) from error
    of_queries = {}
    for query in queries:
        read = columns_read(query.tree, query.references, columns, query.path)
        of_queries[query.full_name] = caveats.of_query(query.header, read, caveats_by_object)
    _insert_queries(connection, queries, of_queries)
    insert(connection, "columns", [row for query in queries for row in _columns(query, columns, explained)])
    record_in_caveats(connection, of_queries)


def _check_parameter_names(query: QueryFile, columns: Mapping[str, Collection[str]]) -> None:
    """Raise DefinitionError if a parameter has the name of a column: it would silently replace the column."""
    for name in sorted(query.references):
        for parameter in query.parameters:
            if parameter.name in columns.get(name, ()):
                clash = f"{name}.{parameter.name}"
                raise DefinitionError(f"{query.path}: a parameter has the name of the column {clash}")


def _check_values(query: QueryFile, columns: Mapping[str, Collection[str]]) -> None:
    """Raise DefinitionError if a parameter takes its values from a column that does not exist."""
    for parameter in query.parameters:
        table, _, column = parameter.values_of.rpartition(".")
        if table and column not in columns.get(table, ()):
            raise DefinitionError(
                f"{query.path}: {parameter.name} takes its values from {parameter.values_of}, "
                "which is not a column"
            )


def _columns(query: QueryFile, types: Mapping[str, Columns], explained: bool) -> Iterator[tuple]:
    """Yield the rows of `catalog.columns` for the result of a query.

    The meaning of a column is from the query's file, otherwise from the view column that the query passes on,
    otherwise from units.csv. Raises DefinitionError if a column has no meaning, or if the file describes
    a column that the result does not have. Types are omitted: DuckDB takes as long to infer them as to create
    all queries.
    """
    answer = cast(exp.Query, query.tree).named_selects
    unknown = sorted(query.column_docs.keys() - set(answer))
    if unknown:
        raise DefinitionError(f"{query.path}: its answer has no column {unknown[0]}")
    known = read_units(query.schema)
    origins = passed_on(query.tree, query.references, types, query.path)
    for position, column in enumerate(answer, 1):
        origin = origins.get(column)
        own = query.column_docs.get(column)
        meaning, provenance = split_comment(types[origin[0]][origin[1]][1]) if origin else ("", "derived")
        meaning = own or meaning or (known[column].meaning if column in known else "")
        if explained and not meaning:
            raise DefinitionError(
                f"{query.path}: describe the column {column} by `-- column: {column}: …`, "
                f"or for all queries in views/{query.schema}/units.csv"
            )
        unit = known[column].unit if column in known else unit_in(column) or ""
        lineage = [".".join(origin)] if origin else []
        yield (query.full_name, position, column, None, unit, provenance or "measured", meaning, lineage, [])


def _insert_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[QueryFile],
    caveats_by_query: Mapping[str, Sequence[str]],
) -> None:
    """Add queries and their parameters to the catalog."""
    sql = """
        select schema_name || '.' || function_name, any_value(comment) from duckdb_functions()
        where database_name = current_database() and not internal
        group by all
        """
    comments = dict(connection.execute(sql).fetchall())
    versions = _versions(connection)
    base_tables = read_base_tables(connection)
    rows = [
        (
            query.full_name,
            query.schema,
            query.header.title,
            comments[query.full_name] or "",
            query.header.one("chart"),
            sorted(query.references),
            sorted(versions[name] for name in query.references if name in versions),
            find_base_tables(query.references, base_tables),
            list(caveats_by_query[query.full_name]),
            query.sha256,
            query.text,
        )
        for query in queries
    ]
    insert(connection, "queries", rows)
    parameter_rows = [
        (
            query.full_name,
            position,
            parameter.name,
            parameter.type,
            parameter.default,
            parameter.meaning,
            list(parameter.choices),
            parameter.range.at_least if parameter.range else None,
            parameter.range.at_most if parameter.range else None,
            parameter.values_of or None,
        )
        for query in queries
        for position, parameter in enumerate(query.parameters, 1)
    ]
    insert(connection, "query_parameters", parameter_rows)


def _versions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the versioned name for each name of a view. A plain name stands for the newest version."""
    sql = """
        select versioned_name, versioned_name from catalog.views
        union all
        select view_name, arg_max(versioned_name, version) from catalog.views group by view_name
        """
    return dict(connection.execute(sql).fetchall())

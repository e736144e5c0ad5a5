"""Create named queries as table macros in a database that has the views.

A macro is the SQL of the query's file, and fails on parameters outside their choices or range.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import cast

import duckdb
from sqlglot import exp

from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.write.catalog import (
    column_types,
    find_base_tables,
    insert,
    read_comments,
    record_in_caveats,
)
from tracehouse.engines.duckdb.write.views import sql_error
from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_columns import describe_columns, find_clashes
from tracehouse.sql.query_files import Parameter, QueryFile
from tracehouse.views import caveats
from tracehouse.views.caveats import ColumnsByCaveat
from tracehouse.views.column_docs import ColumnDoc
from tracehouse.views.columns import Columns, columns_read, split_comment
from tracehouse.views.view_files import DefinitionError


def create_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[QueryFile],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
) -> None:
    """Create named queries as table macros, and add them to the catalog.

    `caveats_by_object` has the caveats of views. Raises DefinitionError if a query does not fit the views
    that it reads.
    """
    columns = column_types(connection)
    for schema in {query.schema for query in queries}:
        connection.execute(f'create schema if not exists "{schema}"')
    for query in queries:
        _check_parameter_names(query, columns)
        try:
            connection.execute(_query_statements(query))
        except duckdb.Error as error:
            raise sql_error(error, query.path, query.signature, query.text) from error
    of_queries = {}
    inherited = {**caveats.of_tables(all_traces().values()), **caveats_by_object}
    for query in queries:
        read = columns_read(query.tree, query.references, columns, query.path)
        of_queries[query.full_name] = caveats.of_query(query.header, read, inherited)
    _insert_queries(connection, queries, of_queries)
    docs = {name: _docs(found) for name, found in columns.items()}
    insert(connection, "columns", [row for query in queries for row in _columns(query, docs)])
    record_in_caveats(connection, of_queries)


def _query_statements(query: QueryFile) -> str:
    """Return the statements that create a query's macro and its comment."""
    return f"{query.signature} {_add_parameter_checks(query)};\n{query.comments}"


def _add_parameter_checks(query: QueryFile) -> str:
    """Return the SQL of a query that fails if a parameter is outside its choices or range.

    Without it, a misspelt value matches no row, and the empty result looks like an answer.
    """
    limited = [parameter for parameter in query.parameters if parameter.choices or parameter.range]
    columns = cast(exp.Query, query.tree).named_selects
    if not limited or "*" in columns:
        return query.body
    checks = " ".join(_parameter_check(query, parameter) for parameter in limited)
    nulls = ", ".join("null" for _ in columns)
    # The checks are a union, because DuckDB drops a condition on the rows if it knows that no row can match.
    answer = f"select * from ({query.body}\n) as answer"
    return f"{answer} union all select {nulls} where case {checks} else false end"


# NULL is within every range: in some queries it means `any`, as their files say.
def _parameter_check(query: QueryFile, parameter: Parameter) -> str:
    name = parameter.name
    if parameter.range:
        bounds = (parameter.range.at_least, parameter.range.at_most)
        listed = " and ".join(f"cast({quoted(bound)} as {parameter.type})" for bound in bounds)
        allowed, wanted = f"{name} is null or {name} between {listed}", " to ".join(bounds)
    else:
        choices = ", ".join(quoted(choice) for choice in parameter.choices)
        allowed, wanted = f"cast({name} as varchar) in ({choices})", " or ".join(parameter.choices)
    message = quoted(f"{query.full_name}: {name} is {wanted}, not ")
    value = f"coalesce(cast({name} as varchar), 'NULL')"
    return f"when not coalesce({allowed}, false) then error({message} || {value})"


def _check_parameter_names(query: QueryFile, columns: Mapping[str, Collection[str]]) -> None:
    """Raise DefinitionError if a parameter has the name of a column: it would silently replace the column."""
    for _, column in find_clashes(query, query.references, columns):
        raise DefinitionError(query.path, f"a parameter has the name of the column {column}")


def _docs(columns: Columns) -> dict[str, ColumnDoc]:
    """Read the meanings of columns from their comments in the database, which have no units."""
    texts = {name: comment or "" for name, (_, comment) in columns.items()}
    return {name: ColumnDoc(text, *split_comment(text), None) for name, text in texts.items()}


def _columns(query: QueryFile, docs: Mapping[str, Mapping[str, ColumnDoc]]) -> Iterator[tuple]:
    """Yield the rows of `catalog.columns` for the result of a query.

    Types are omitted: DuckDB takes as long to infer them as to create all queries.
    """
    for position, column in enumerate(describe_columns(query, docs), 1):
        lineage = [column.origin] if column.origin else []
        described = (column.name, None, column.unit or "", column.provenance, column.meaning)
        yield (query.full_name, position, *described, lineage, [])


def _insert_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[QueryFile],
    caveats_by_query: Mapping[str, Sequence[str]],
) -> None:
    """Add queries and their parameters to the catalog."""
    comments = read_comments(connection)
    versions = _versions(connection)
    base_tables = read_base_tables(connection)
    rows = [
        (
            query.full_name,
            query.schema,
            query.header.title,
            comments[query.full_name],
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

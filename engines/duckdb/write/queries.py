"""Create named queries as table macros in a database that has the views.

A macro is the SQL of the query's file, and fails on parameters outside their choices or range.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import duckdb
from sqlglot import exp

from tracehouse.core.text import quoted
from tracehouse.definitions import caveats
from tracehouse.definitions.caveats import ColumnsByCaveat
from tracehouse.definitions.column_docs import ColumnDoc, ColumnDocs
from tracehouse.definitions.findings import refuse
from tracehouse.definitions.not_recorded import columns_needed
from tracehouse.definitions.parameters import Parameter
from tracehouse.definitions.query_columns import describe_columns, lint_parameter_names, lint_values
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import DefinitionError
from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.write.catalog import (
    find_base_tables,
    insert,
    read_comments,
    read_docs,
    record_in_caveats,
)
from tracehouse.engines.duckdb.write.views import sql_error
from tracehouse.ingest.declare.trace import all_traces


@dataclass(frozen=True)
class CreatedQuery:
    """A query in the database: its file, its columns with their types, None if not inferred, and caveats."""

    file: QueryFile
    types: Mapping[str, str | None]
    caveats: Sequence[str]


def create_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[QueryFile],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
) -> None:
    """Create named queries as table macros, and add them to the catalog.

    `caveats_by_object` has the caveats of views. Raises DefinitionError if a query does not fit the views
    that it reads.
    """
    docs = read_docs(connection)
    for schema in {query.schema for query in queries}:
        connection.execute(f'create schema if not exists "{schema}"')
    inherited = {**caveats.of_tables(all_traces().values()), **caveats_by_object}
    created = []
    for query in queries:
        refuse(lint_parameter_names(query, query.references, docs))
        # Types are omitted: DuckDB takes as long to infer them as to create all queries.
        columns_of_query = cast(exp.Query, query.tree).named_selects
        _execute(connection, query, _add_parameter_checks(query, len(columns_of_query)))
        found = _find_caveats(query, columns_of_query, docs, inherited)
        created.append(CreatedQuery(query, dict.fromkeys(columns_of_query), found))
    add_to_catalog(connection, created, docs, read_base_tables(connection), read_comments(connection))


def create_own_query(
    connection: duckdb.DuckDBPyConnection,
    query: QueryFile,
    docs: ColumnDocs,
    inherited: Mapping[str, ColumnsByCaveat],
) -> CreatedQuery:
    """Create a query of the user, without adding it to the catalog.

    `docs` has the columns of tables, views and queries, and `inherited` their caveats. Raises DefinitionError
    if DuckDB or a rule refuses the query.
    """
    refuse(lint_parameter_names(query, query.references, docs))
    refuse(lint_values(query, docs))
    _execute(connection, query, query.body)
    # DuckDB knows the columns of every statement that it runs.
    columns = _describe(connection, query)
    if (checked := _add_parameter_checks(query, len(columns))) != query.body:
        connection.execute(f"drop macro table {query.full_name}")
        _execute(connection, query, checked)
    types = dict(columns)
    return CreatedQuery(query, types, _find_caveats(query, types, docs, inherited))


def _execute(connection: duckdb.DuckDBPyConnection, query: QueryFile, body: str) -> None:
    """Create the macro of a query, and its comment. Raises DefinitionError with the line."""
    try:
        connection.execute(f"{query.signature} {body};\n{query.comments}")
    except duckdb.Error as error:
        raise sql_error(error, query.path, query.text) from error


def read_comment(connection: duckdb.DuckDBPyConnection, query: QueryFile) -> str:
    """Return the comment on a query in the database; empty without one."""
    if not query.comments.strip():
        # DuckDB takes 25 ms to list all functions.
        return ""
    sql = """
        select max(comment) from duckdb_functions()
        where database_name = current_database() and schema_name || '.' || function_name = $name
        """
    [(comment,)] = connection.execute(sql, {"name": query.full_name}).fetchall()
    return comment or ""


def _describe(connection: duckdb.DuckDBPyConnection, query: QueryFile) -> list[tuple[str, str]]:
    """Return the names and types of the columns of a query. Raises DefinitionError if it does not bind."""
    try:
        rows = connection.execute(f"describe from {query.full_name}()").fetchall()
    except duckdb.Error as error:
        first, *_ = str(error).splitlines()
        raise DefinitionError(query.path, f"{first} (with the default parameters)") from error
    return [(column, kind) for column, kind, *_ in rows]


def _find_caveats(
    query: QueryFile,
    columns: Collection[str],
    docs: Mapping[str, Mapping[str, ColumnDoc]],
    inherited: Mapping[str, ColumnsByCaveat],
) -> list[str]:
    read = caveats.read_by(query, docs)
    known = caveats.names(all_traces().values())
    refuse(caveats.lint_lines(query, columns, known, caveats.inherited_by_query(read, inherited)))
    return caveats.of_query(query.header, read, inherited)


def add_to_catalog(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[CreatedQuery],
    docs: Mapping[str, Mapping[str, ColumnDoc]],
    base_tables: Mapping[str, Sequence[str]],
    comments: Mapping[str, str],
) -> None:
    """Add queries, their parameters, columns and caveats to the catalog.

    `docs` and `base_tables` have the columns of, and the base tables behind, everything that they read, and
    `comments` the comment on each query.
    """
    _insert_queries(connection, queries, base_tables, comments)
    insert(connection, "columns", [row for query in queries for row in _columns(query, docs)])
    record_in_caveats(connection, {query.file.full_name: query.caveats for query in queries})


def _add_parameter_checks(query: QueryFile, columns: int) -> str:
    """Return the SQL of a query that fails if a parameter is outside its choices or range.

    `columns` is the number of columns of its result.

    Without it, a misspelt value matches no row, and the empty result looks like an answer.
    """
    limited = [parameter for parameter in query.parameters if parameter.choices or parameter.range]
    if not limited:
        return query.body
    checks = " ".join(_parameter_check(query, parameter) for parameter in limited)
    nulls = ", ".join(["null"] * columns)
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


def describe_query(query: CreatedQuery, docs: Mapping[str, Mapping[str, ColumnDoc]]) -> dict[str, ColumnDoc]:
    """Return the columns of the result of a query, as those of a view."""
    described = describe_columns(query.file, query.types, docs)
    return {one.name: ColumnDoc(one.meaning, one.meaning, one.provenance, one.unit) for one in described}


def _columns(query: CreatedQuery, docs: Mapping[str, Mapping[str, ColumnDoc]]) -> Iterator[tuple]:
    """Yield the rows of `catalog.columns` for the result of a query."""
    for position, column in enumerate(describe_columns(query.file, query.types, docs), 1):
        lineage = [column.origin] if column.origin else []
        described = (column.unit or "", column.provenance, column.meaning)
        kind = query.types[column.name]
        yield (query.file.full_name, position, column.name, kind, *described, lineage, [])


def _insert_queries(
    connection: duckdb.DuckDBPyConnection,
    created: Sequence[CreatedQuery],
    base_tables: Mapping[str, Sequence[str]],
    comments: Mapping[str, str],
) -> None:
    """Add queries and their parameters to the catalog."""
    queries = [one.file for one in created]
    caveats_by_query = {one.file.full_name: one.caveats for one in created}
    versions = _versions(connection)
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
            sorted(columns_needed(query.tree)),
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
            parameter.is_list,
            list(parameter.table_columns),
        )
        for query in queries
        for position, parameter in enumerate(query.parameters, 1)
    ]
    insert(connection, "query_parameters", parameter_rows)


def _versions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the versioned name for each name of a view."""
    sql = """
        select versioned_name, versioned_name from catalog.views
        union all
        select view_name, versioned_name from catalog.views where is_current
        """
    return dict(connection.execute(sql).fetchall())

"""Create views in a database that has the base tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import read_parquet
from tracehouse.engines.duckdb.write.statements import (
    materialized_view_statements,
    sql_error,
    view_statements,
)
from tracehouse.ingest.declarations import all_traces
from tracehouse.views import caveats, meanings
from tracehouse.views.across_traces import check_types, expanded, united
from tracehouse.views.caveats import ColumnsByCaveat
from tracehouse.views.graph import sort_views
from tracehouse.views.materialization import StoredView
from tracehouse.views.meanings import Column, Relations
from tracehouse.views.view_files import ViewFile, newest, view_files

NO_FUNCTIONS: Mapping[str, str] = MappingProxyType({})
NOT_INHERITED: Mapping[str, Column] = MappingProxyType({})


@dataclass(frozen=True)
class Described:
    """All views, each after the views that it reads; the meanings of all columns; and the views' caveats."""

    views: list[ViewFile]
    relations: Relations
    held: dict[str, ColumnsByCaveat]


def describe_views(connection: DuckDBPyConnection) -> Described:
    """Describe the views over the tables of a database."""
    files = view_files()
    views = sort_views(expanded(files), catalog.column_types(connection))
    relations = meanings.of_views(views, files, meanings.of_tables(all_traces().values()))
    return Described(views, relations, caveats.of_views(views, relations))


def create_views(connection: DuckDBPyConnection, described: Described) -> None:
    """Create every view and an alias for its newest version."""
    for schema in {view.schema for view in described.views}:
        connection.execute(f'create schema if not exists "{schema}"')
    for view in described.views:
        create_view(connection, view, columns=described.relations[view.versioned])
    _check_united(connection, view_files())
    create_aliases(connection, newest(described.views))


def replace_views(
    connection: DuckDBPyConnection, names: Collection[str], stored: Mapping[str, StoredView], warehouse: Path
) -> None:
    """Replace views: those in `stored` read their files, the others compute their rows on demand.

    `names` are versioned names. Comments are kept.
    """
    sql = """
        select schema_name || '.' || table_name, column_name, comment from duckdb_columns()
        where database_name = current_database() and comment is not null
        """
    comments = connection.execute(sql).fetchall()
    for view in expanded(view_files()):
        if view.versioned in names:
            create_view(connection, view, _table_functions(stored.get(view.versioned), warehouse))
    for name, column, comment in comments:
        if name in names:
            connection.execute(f'comment on column {name}."{column}" is {quoted(comment)}')


def _table_functions(view: StoredView | None, warehouse: Path) -> dict[str, str]:
    """Return the table functions that read a materialized view's CTEs; none for a computed view."""
    return {cte: read_parquet(files, warehouse) for cte, files in view.parts} if view else {}


def create_view(
    connection: DuckDBPyConnection,
    view: ViewFile,
    functions: Mapping[str, str] = NO_FUNCTIONS,
    columns: Mapping[str, Column] = NOT_INHERITED,
) -> None:
    """Create a view with its own comments and the comments that its `columns` inherit.

    `functions` are the table functions that read its rows from files (see `statements.view_query`). Raises
    DefinitionError with the line if the SQL fails.
    """
    created = materialized_view_statements(view, functions) if functions else view_statements(view)
    try:
        connection.execute(";\n".join([created, *meanings.inherited_comments(view, columns)]))
    except DuckDBError as error:
        raise sql_error(error, view.path, view.statement, view.text) from error


def _check_united(connection: DuckDBPyConnection, files: Sequence[ViewFile]) -> None:
    """Raise DefinitionError if views that another view unites differ in the types of their columns."""
    columns = catalog.column_types(connection)
    views = {view.versioned: view for view in files}
    first: dict[str, ViewFile] = {}
    for name, uniting in united(files).items():
        check_types(first.setdefault(uniting.versioned, views[name]), views[name], columns)


def create_aliases(connection: DuckDBPyConnection, aliases: Mapping[str, ViewFile]) -> None:
    """Create views with plain names that select from the newest version of each view, with its comments."""
    columns = catalog.column_types(connection)
    sql = """
        select schema_name || '.' || view_name, comment from duckdb_views()
        where database_name = current_database() and not internal
        """
    comments = dict(connection.execute(sql).fetchall())
    for alias, view in aliases.items():
        listed = ", ".join(f'"{name}"' for name in columns[view.versioned])
        title = f"{comments[view.versioned] or ''} This is {view.versioned}, the newest version."
        statements = [
            f"create view {alias} as select {listed} from {view.versioned}",
            f"comment on view {alias} is {quoted(title.strip())}",
        ]
        statements += [
            f'comment on column {alias}."{name}" is {quoted(comment)}'
            for name, (_, comment) in columns[view.versioned].items()
            if comment
        ]
        connection.execute("; ".join(statements))

"""Creates the views in a database that has the tables which they read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import parquet
from tracehouse.engines.duckdb.write.statements import reading_statements, sql_error, view_statements
from tracehouse.views.across_traces import check_types, expanded, united
from tracehouse.views.materialization import StoredView
from tracehouse.views.order import in_order
from tracehouse.views.view_files import ViewFile, newest, view_files

COMPUTED: Mapping[str, str] = MappingProxyType({})


def create_views(
    connection: DuckDBPyConnection, stored: Mapping[str, StoredView], warehouse: Path
) -> list[ViewFile]:
    """Create each of our views, and its plain name for the newest version, in the order that is returned.

    `stored` are those that read rows which are kept in the warehouse, by the views' versioned names.
    """
    views = in_order(expanded(view_files()), _existing(connection))
    for schema in {view.schema for view in views}:
        connection.execute(f'create schema if not exists "{schema}"')
    for view in views:
        parts = stored[view.versioned].parts if view.versioned in stored else ()
        create_view(connection, view, {cte: parquet(files, warehouse) for cte, files in parts})
    _unite_comments(connection, views)
    create_aliases(connection, newest(views))
    return views


def _existing(connection: DuckDBPyConnection) -> set[str]:
    rows = connection.execute(
        "select table_schema || '.' || table_name from information_schema.tables"
        " where table_catalog = current_database()"
    ).fetchall()
    return {name for (name,) in rows}


def create_view(connection: DuckDBPyConnection, view: ViewFile, kept: Mapping[str, str] = COMPUTED) -> None:
    """Create a view with its comments. Raises DefinitionError that names the line.

    `kept` has the table functions that give rows of it, as in `statements.query_of`.
    """
    try:
        connection.execute(reading_statements(view, kept) if kept else view_statements(view))
    except DuckDBError as error:
        raise sql_error(error, view.path, view.statement, view.text) from error


def _unite_comments(connection: DuckDBPyConnection, views: Sequence[ViewFile]) -> None:
    """Give the columns of a view that is united with others the comments of the one that unites them.

    A comment of its own stays. Raises DefinitionError where the types of two views do not agree.
    """
    columns = catalog.column_types(connection)
    first: dict[str, ViewFile] = {}
    for name, uniting in united(view_files()).items():
        view = next(view for view in views if view.versioned == name)
        check_types(first.setdefault(uniting.versioned, view), view, columns)
        for column, (_, comment) in columns[name].items():
            shared = columns[uniting.versioned].get(column, ("", None))[1]
            if shared and not comment:
                connection.execute(f'comment on column {name}."{column}" is {quoted(shared)}')


def create_aliases(connection: DuckDBPyConnection, aliases: Mapping[str, ViewFile]) -> None:
    """Let the newest version of a view answer to the view's plain name too, comments and all."""
    columns = catalog.column_types(connection)
    comments = dict(
        connection.execute(
            """
            select schema_name || '.' || view_name, comment from duckdb_views()
            where database_name = current_database() and not internal
            """
        ).fetchall()
    )
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

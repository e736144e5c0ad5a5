"""Parquet → database: base tables, catalog and views, in an attached and empty database.

Named queries come on top of this in `tracehouse.sql.database`, which also publishes the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from tracehouse.ingest.declare import all_traces
from tracehouse.ingest.manifest import Conversion
from tracehouse.views import catalog
from tracehouse.views.base_tables import create_base_tables, create_rejected_rows, quoted
from tracehouse.views.files import DefinitionError, ViewFile, newest, view_files
from tracehouse.views.order import in_order


def create_views(
    connection: DuckDBPyConnection,
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
) -> None:
    """Create everything that lies below the named queries, in the connection's current database."""
    traces = list(all_traces().values())
    catalog.create_catalog(connection)
    create_base_tables(connection, traces, conversions, warehouse, materialize)
    create_rejected_rows(connection, conversions, warehouse, materialize)
    catalog.fill_sources(connection, traces, conversions)
    views = in_order(view_files(), _existing(connection))
    for view in views:
        _create(connection, view)
    _create_aliases(connection, newest(views))
    catalog.fill_views(connection, views)
    catalog.fill_columns(connection, traces, views)
    catalog.create_checks(connection, traces)


def _existing(connection: DuckDBPyConnection) -> set[str]:
    rows = connection.execute(
        "select table_schema || '.' || table_name from information_schema.tables"
        " where table_catalog = current_database()"
    ).fetchall()
    return {name for (name,) in rows}


def _create(connection: DuckDBPyConnection, view: ViewFile) -> None:
    connection.execute(f'create schema if not exists "{view.schema}"')
    try:
        connection.execute(view.stored_sql)
    except DuckDBError as error:
        raise DefinitionError(f"{view.path}: {error}") from error


def _create_aliases(connection: DuckDBPyConnection, aliases: Mapping[str, ViewFile]) -> None:
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

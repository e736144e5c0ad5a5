"""Build a database file: the template with the data of a warehouse."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import duckdb

from tracehouse.engines.duckdb.attach import attach
from tracehouse.engines.duckdb.write import catalog, local, template
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.views import replace_views
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.store.records import Conversion
from tracehouse.views.materialization import StoredView

NO_VIEWS: Mapping[str, StoredView] = MappingProxyType({})


def build_file(
    path: Path,
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
    stored: Mapping[str, StoredView] = NO_VIEWS,
) -> list[local.Problem]:
    """Write a new database at `path` over conversions of a warehouse. `warehouse` is absolute.

    With `materialize` the database contains copies of the base tables. `stored` are the views that read
    materialized files, by versioned name. Returns the user's own views and queries that failed.
    """
    template.copy_to(path)
    with template.open_for_writing(path) as connection:
        connection.begin()
        traces = list(all_traces().values())
        catalog.fill_sources(connection, traces, conversions)
        create_base_tables(
            connection, _to_replace(traces, conversions, materialize), conversions, warehouse, materialize
        )
        create_rejected_rows(connection, conversions, warehouse, materialize)
        _read_views_from(connection, stored, stored, warehouse)
        connection.commit()
        return local.create(connection, warehouse / local.FOLDER)


def _to_replace(
    traces: Iterable[Trace], conversions: Sequence[Conversion], all_tables: bool
) -> Iterator[Trace]:
    """Yield each trace with only the tables that have conversions, or with all tables."""
    with_data = {(conversion.trace, conversion.table) for conversion in conversions}
    for trace in traces:
        tables = (table for table in trace.tables if all_tables or (trace.name, table.name) in with_data)
        yield replace(trace, tables=tuple(tables))


def update_views(path: Path, warehouse: Path, stored: Mapping[str, StoredView]) -> None:
    """Let the views in `stored` read their materialized Parquet files, and compute all others on demand."""
    with template.open_for_writing(path) as connection:
        connection.begin()
        before = connection.execute("select versioned_name from catalog.views where stored").fetchall()
        _read_views_from(connection, {*stored, *(name for (name,) in before)}, stored, warehouse)
        connection.commit()


def _read_views_from(
    connection: duckdb.DuckDBPyConnection,
    names: Collection[str],
    stored: Mapping[str, StoredView],
    warehouse: Path,
) -> None:
    """Replace the named views: those in `stored` read Parquet files, the others are computed on demand."""
    if names:
        replace_views(connection, names, stored, warehouse)
        catalog.update_views(connection, {name: stored.get(name) for name in names})


def holds_tables(path: Path) -> bool:
    """Return whether a database contains copies of its base tables instead of views over Parquet.

    Returns False if there is no database. Raises UserError if it cannot be opened.
    """
    if not path.exists():
        return False
    with duckdb.connect() as connection:
        attach(connection, path.absolute(), "before")
        sql = """
            select count(*) from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'rejected_rows'
            """
        found = connection.execute(sql).fetchall()
    return found == [(1,)]

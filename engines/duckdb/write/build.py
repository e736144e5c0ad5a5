"""Builds a database file: base tables, catalog, views, named queries, what publishers printed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import duckdb

from tracehouse.engines.duckdb.attach import attach
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.write import catalog, local
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.engines.duckdb.write.views import create_views
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.store.manifest import Conversion
from tracehouse.sql.query_files import query_files
from tracehouse.views import caveats, ledgers
from tracehouse.views.caveats import Held
from tracehouse.views.materialization import StoredView

# The oldest storage format that holds typed macro parameters.
STORAGE_VERSION = "v1.4.0"

NOTHING_STORED: Mapping[str, StoredView] = MappingProxyType({})


def build_file(
    path: Path,
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
    stored: Mapping[str, StoredView] = NOTHING_STORED,
) -> list[local.Problem]:
    """Write a new database at `path` over some conversions of a warehouse, whose path is absolute.

    `stored` are the views, by their versioned names, whose rows it reads from files. Returns what of the
    user's own views and queries could not be created.
    """
    with duckdb.connect() as connection:
        connection.execute(f"attach {quoted(str(path))} as building (storage_version '{STORAGE_VERSION}')")
        connection.execute("use building")
        if not materialize:
            # Creating views gives threads nothing to share, and waiting for them would take a fifth longer.
            connection.execute("set threads = 1")
        held = build(connection, conversions, conversions, warehouse, materialize, stored)
        problems = local.create(connection, warehouse / local.FOLDER, held)
        connection.execute("use memory")
        connection.execute("detach building")
    return problems


def build(
    connection: duckdb.DuckDBPyConnection,
    conversions: Sequence[Conversion],
    at_hand: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
    stored: Mapping[str, StoredView] = NOTHING_STORED,
) -> dict[str, Held]:
    """Create all that is ours in the current, empty database. Tables have the rows of what is `at_hand`.

    Returns the caveats that each view holds.
    """
    traces = list(all_traces().values())
    # One transaction: otherwise each of a thousand statements would wait for the disk.
    connection.begin()
    catalog.create_catalog(connection)
    catalog.fill_traces(connection, traces)
    create_base_tables(connection, traces, at_hand, warehouse, materialize)
    create_rejected_rows(connection, at_hand, warehouse, materialize)
    catalog.fill_sources(connection, traces, conversions)
    views = create_views(connection, stored, warehouse)
    held = caveats.of_views(views, catalog.column_types(connection))
    catalog.fill_views(connection, views, held, stored)
    catalog.fill_columns(connection, traces, views, held)
    catalog.create_checks(connection, traces, views)
    create_queries(connection, query_files(), held)
    catalog.fill_published(connection, ledgers.published())
    catalog.fill_metrics(connection, ledgers.metrics())
    connection.commit()
    return held


def is_materialized(path: Path) -> bool:
    """Whether there is a database, and its base tables are copies and not views over Parquet.

    Raises UserError where it cannot be opened.
    """
    if not path.exists():
        return False
    with duckdb.connect() as connection:
        attach(connection, path.absolute(), "before")
        found = connection.execute(
            """
            select count(*) from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'rejected_rows'
            """
        ).fetchall()
    return found == [(1,)]

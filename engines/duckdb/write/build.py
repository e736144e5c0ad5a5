"""Build a database file: base tables, catalog, views, named queries, published figures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import duckdb

from tracehouse.engines.duckdb.attach import attach
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.write import catalog, local
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.engines.duckdb.write.views import create_views, replace_views
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.store.manifest import Conversion
from tracehouse.sql.query_files import query_files
from tracehouse.views import caveats, ledgers
from tracehouse.views.caveats import Held
from tracehouse.views.materialization import StoredView
from tracehouse.views.meanings import Relations

# The oldest storage format that supports typed macro parameters.
STORAGE_VERSION = "v1.4.0"

NO_VIEWS: Mapping[str, StoredView] = MappingProxyType({})


def build_file(
    path: Path,
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
    stored: Mapping[str, StoredView] = NO_VIEWS,
) -> list[local.Problem]:
    """Write a new database at `path` over some conversions of a warehouse, whose path is absolute.

    With `materialize` it holds copies of the base tables. `stored` are the materialized views, by their
    versioned names, which read files. Returns the user's own views and queries that failed.
    """
    with _open(path, f"storage_version '{STORAGE_VERSION}'") as connection:
        if not materialize:
            # Creating views does not parallelize; waiting for idle threads would take a fifth longer.
            connection.execute("set threads = 1")
        relations, held = build(connection, conversions, conversions, warehouse, materialize, stored)
        return local.create(connection, warehouse / local.FOLDER, relations, held)


def update_views(path: Path, warehouse: Path, stored: Mapping[str, StoredView]) -> None:
    """Let a database read materialized views from exactly the files of `stored`, and compute all others."""
    with _open(path) as connection:
        connection.begin()
        before = connection.execute("select versioned_name from catalog.views where stored").fetchall()
        names = {*stored, *(name for (name,) in before)}
        replace_views(connection, names, stored, warehouse)
        catalog.update_views(connection, {name: stored.get(name) for name in names})
        connection.commit()


@contextmanager
def _open(path: Path, *options: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database for writing, as the current one of a connection."""
    with duckdb.connect() as connection:
        listed = f" ({', '.join(options)})" if options else ""
        connection.execute(f"attach {quoted(str(path))} as building{listed}")
        connection.execute("use building")
        yield connection
        connection.execute("use memory")
        connection.execute("detach building")


def build(
    connection: duckdb.DuckDBPyConnection,
    conversions: Sequence[Conversion],
    with_rows: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
    stored: Mapping[str, StoredView] = NO_VIEWS,
) -> tuple[Relations, dict[str, Held]]:
    """Create all of Tracehouse's definitions in the current, empty database.

    The catalog describes `conversions`; the tables have the rows of those in `with_rows`. Returns what the
    columns of tables and views mean, and the views' caveats.
    """
    traces = list(all_traces().values())
    # One transaction: otherwise each of a thousand statements would wait for the disk.
    connection.begin()
    catalog.create_catalog(connection)
    catalog.fill_traces(connection, traces)
    create_base_tables(connection, traces, with_rows, warehouse, materialize)
    create_rejected_rows(connection, with_rows, warehouse, materialize)
    catalog.fill_sources(connection, traces, conversions)
    views, relations = create_views(connection, stored, warehouse)
    held = caveats.of_views(views, relations)
    catalog.fill_views(connection, views, held, stored)
    catalog.fill_columns(connection, traces, views, held, relations)
    catalog.create_checks(connection, traces, views)
    create_queries(connection, query_files(), held)
    catalog.fill_figures(connection, "published", ledgers.published())
    catalog.fill_figures(connection, "expected", ledgers.expected())
    catalog.fill_metrics(connection, ledgers.metrics())
    connection.commit()
    return relations, held


def holds_tables(path: Path) -> bool:
    """Return whether a database holds copies of its base tables instead of views over Parquet.

    Returns False where there is no database. Raises UserError where it cannot be opened.
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

"""Build a database file: a copy of the template, which has all definitions and no data, filled with data.

Tracehouse's definitions depend on the package alone. Parsing, binding and describing hundreds of SQL files
takes seconds; copying the result takes milliseconds. The template is in the user's cache folder. Its name has
a hash of the package's definitions and a hash of its content, so that a stale or damaged template is never
used.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import duckdb

from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.write import catalog, user_definitions, views
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.build_info import hash_definitions, hash_file
from tracehouse.engines.duckdb.write.materialized_views import StoredView
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.store.records import Conversion
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.macros import macros_sql
from tracehouse.views.view_files import newest

# The oldest storage format that supports typed macro parameters.
STORAGE_VERSION = "v1.4.0"

NO_VIEWS: Mapping[str, StoredView] = MappingProxyType({})
_NO_FOLDER = Path("/")
# One for each version of the package or of DuckDB; those that were not used for longest are deleted.
_MOST_TEMPLATES = 8


def build_file(
    path: Path,
    conversions: Sequence[Conversion],
    warehouse: Path,
    copy_tables: bool,
    stored: Mapping[str, StoredView] = NO_VIEWS,
) -> list[user_definitions.Problem]:
    """Write a new database at `path` over conversions of a warehouse. `warehouse` is absolute.

    With `copy_tables` the database contains copies of the base tables. `stored` are the views that read
    materialized files, by versioned name. Returns the user's own views and queries that failed. Raises
    DefinitionError if a definition of Tracehouse is wrong.
    """
    shutil.copyfile(template(), path)
    traces = list(all_traces().values())
    with_data = {(conversion.trace, conversion.table) for conversion in conversions}
    replaced = [
        replace(
            trace, tables=tuple(t for t in trace.tables if copy_tables or (trace.name, t.name) in with_data)
        )
        for trace in traces
    ]
    with open_for_writing(path) as connection:
        connection.begin()
        catalog.fill_sources(connection, traces, conversions)
        create_base_tables(connection, replaced, conversions, warehouse, copy_tables)
        create_rejected_rows(connection, conversions, warehouse, copy_tables)
        views.read_views_from_files(
            connection, {name: view.files for name, view in stored.items()}, warehouse
        )
        for name, view in stored.items():
            catalog.record_stored(connection, name, view.at, view.bytes, view.files)
        connection.commit()
        return user_definitions.create(connection, warehouse / user_definitions.FOLDER)


def template() -> Path:
    """Return a database with all definitions and no data: from the user's cache, or else a new one.

    Raises DefinitionError if a definition is wrong.
    """
    definitions = hash_definitions()
    for path in _cache_folder().glob(f"{definitions[:32]}-*.duckdb"):
        if path.stem.endswith(hash_file(path)[:32]):
            with suppress(OSError):
                os.utime(path)
            return path
    created = Path(_temporary_folder().name) / f"{definitions}.duckdb"
    if not created.exists():
        unfinished = created.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        create(unfinished)
        unfinished.rename(created)
        _keep(created, definitions)
    return created


def create(path: Path) -> None:
    """Write a database with all definitions and no data. Raises DefinitionError if one is wrong."""
    with open_for_writing(path, f"storage_version '{STORAGE_VERSION}'") as connection:
        # Creating views does not parallelize; waiting for idle threads would take a fifth longer.
        connection.execute("set threads = 1")
        # One transaction: otherwise each of a thousand statements would wait for the disk.
        connection.begin()
        _create_definitions(connection)
        connection.commit()


@contextmanager
def open_for_writing(path: Path, *options: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database for writing, as the current database of a new connection."""
    with duckdb.connect() as connection:
        listed = f" ({', '.join(options)})" if options else ""
        connection.execute(f"attach {quoted(str(path))} as building{listed}")
        connection.execute("use building")
        yield connection
        connection.execute("use memory")
        connection.execute("detach building")


def _create_definitions(connection: duckdb.DuckDBPyConnection) -> None:
    traces = list(all_traces().values())
    connection.execute(macros_sql())
    catalog.create_catalog(connection)
    catalog.fill_traces(connection, traces)
    create_base_tables(connection, traces, [], _NO_FOLDER, copy_tables=False)
    create_rejected_rows(connection, [], _NO_FOLDER, copy_tables=False)
    catalog.fill_sources(connection, traces, [])
    described = views.describe_views()
    views.create_views(connection, described)
    catalog.fill_views(connection, described.views, described.caveats_by_object)
    tables = sorted(f"{trace.name}.{table.name}" for trace in traces for table in trace.tables)
    named = dict.fromkeys(tables) | {one.versioned: one for one in described.views} | newest(described.views)
    catalog.fill_columns(connection, named, described.caveats_by_object, described.docs)
    catalog.create_checks(connection, traces)
    create_queries(connection, query_files(), described.caveats_by_object)
    catalog.fill_figures(connection, "published", ledgers.published())
    catalog.fill_figures(connection, "expected", ledgers.expected())
    catalog.insert(connection, "metrics", [(trace, *astuple(one)) for trace, one in ledgers.metrics()])


def _cache_folder() -> Path:
    """Return the user's cache folder, by the XDG convention; without a home, a path that cannot exist."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tracehouse"
    except RuntimeError:
        return Path(os.devnull) / "tracehouse"


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a folder that is removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="tracehouse-template-")


def _keep(created: Path, definitions: str) -> None:
    """Copy a new template to the cache. If the cache is not writable, every process creates a template."""
    folder = _cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            staged = Path(shutil.copy(created, staging))
            staged.replace(folder / f"{definitions[:32]}-{hash_file(created)[:32]}.duckdb")
        for old in sorted(folder.glob("*-*.duckdb"), key=lambda each: each.stat().st_mtime)[
            :-_MOST_TEMPLATES
        ]:
            old.unlink(missing_ok=True)
    except OSError:
        return

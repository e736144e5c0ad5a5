"""Cache a template, which is a database without data. Every build copies and fills it.

Tracehouse's definitions depend on the package alone. Parsing, binding and describing hundreds of SQL files
takes seconds; copying the result takes milliseconds. The template is in the user's cache folder. Its name has
a hash of the package's definitions and a hash of its content, so that a stale or damaged template is never
used.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.write import catalog, views
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.freshness import hash_definitions, hash_file
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.macros import macros_sql

# The oldest storage format that supports typed macro parameters.
STORAGE_VERSION = "v1.4.0"

_NO_FOLDER = Path("/")
# One for each version of the package or of DuckDB; the oldest are deleted.
_MOST_TEMPLATES = 4


def check_definitions() -> None:
    """Raise DefinitionError if a ledger is wrong. If the cache has a template, the ledgers are correct."""
    if _find(hash_definitions()) is None:
        catalog.check_ledgers()


def copy_to(path: Path) -> None:
    """Copy the template to `path`. If the cache lacks it, create it at `path` and copy it to the cache.

    Raises DefinitionError if a definition is wrong.
    """
    definitions = hash_definitions()
    found = _find(definitions)
    if found is None:
        create(path)
        _keep(path, definitions)
    else:
        shutil.copyfile(found, path)


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
    create_base_tables(connection, traces, [], _NO_FOLDER, materialize=False)
    create_rejected_rows(connection, [], _NO_FOLDER, materialize=False)
    catalog.fill_sources(connection, traces, [])
    described = views.describe_views(connection)
    views.create_views(connection, described)
    catalog.fill_views(connection, described.views, described.held)
    catalog.fill_columns(connection, traces, described.views, described.held, described.relations)
    catalog.create_checks(connection, traces, described.views)
    create_queries(connection, query_files(), described.held)
    catalog.fill_figures(connection, "published", ledgers.published())
    catalog.fill_figures(connection, "expected", ledgers.expected())
    catalog.fill_metrics(connection, ledgers.metrics())


def _folder() -> Path:
    """Return the user's cache folder, by the XDG convention; without a home, a path that cannot exist."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tracehouse"
    except RuntimeError:
        return Path(os.devnull) / "tracehouse"


def _find(definitions: str) -> Path | None:
    for path in _folder().glob(f"{definitions[:32]}-*.duckdb"):
        if path.stem.endswith(hash_file(path)[:32]):
            return path
    return None


def _keep(path: Path, definitions: str) -> None:
    """Copy a new template to the cache. If the cache is not writable, every build creates a template."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            staged = Path(staging) / path.name
            shutil.copyfile(path, staged)
            staged.replace(folder / f"{definitions[:32]}-{hash_file(path)[:32]}.duckdb")
        kept = sorted(folder.glob("*-*.duckdb"), key=lambda each: each.stat().st_mtime)
        for old in kept[:-_MOST_TEMPLATES]:
            old.unlink(missing_ok=True)
    except OSError:
        return

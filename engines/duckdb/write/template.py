"""The template: a database with all definitions and no data, which builds copy and fill.

Tracehouse's definitions depend on the package alone. Parsing, binding and describing hundreds of SQL files
takes seconds; copying the result takes milliseconds. The template is in the user's cache folder. Its name has
a hash of the package's definitions and a hash of its content, so that a stale or damaged template is never
used.

A view or query that is invalid, and all that read it, are left out and listed in `catalog.not_built`.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple
from functools import cache
from pathlib import Path

import duckdb

from tracehouse.core import signals, staging
from tracehouse.core.errors import DefinitionError, UserError
from tracehouse.core.temporary import temporary_folder
from tracehouse.core.text import quoted
from tracehouse.definitions import figures
from tracehouse.definitions.findings import refuse
from tracehouse.definitions.macros import macros_sql
from tracehouse.definitions.metrics import all_metrics
from tracehouse.definitions.not_recorded import find_not_recorded
from tracehouse.definitions.query_files import QueryFile, query_files
from tracehouse.definitions.released import QUERIES, plain_name, versioned_name
from tracehouse.definitions.versions import lint_drafts
from tracehouse.definitions.view_files import RELEASED, VIEWS, ViewFile, plain_names, view_files, view_texts
from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.build_info import hash_definitions, hash_file
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.engines.duckdb.write.views import create_views, describe_views
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.store.snapshot import Snapshot

# The oldest storage format that supports typed macro parameters.
STORAGE_VERSION = "v1.4.0"

_NO_DATA = Snapshot(Path("/"))
# One for each version of the package or of DuckDB; those that were not used for longest are deleted.
_MOST_TEMPLATES = 8


def template() -> Path:
    """Return a database with all definitions and no data: from the user's cache, or else a new one.

    Raises DefinitionError if a declaration or a figure is invalid.
    """
    definitions = hash_definitions()
    if kept := _find_kept(definitions):
        return kept
    created = Path(_temporary_folder().name) / f"{definitions}.duckdb"
    if not created.exists():
        unfinished = created.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        create(unfinished)
        unfinished.rename(created)
        _keep(created, definitions)
    return created


def _find_kept(definitions: str) -> Path | None:
    """Return the template in the cache, and None if there is none that this user can read."""
    found: list[Path] = []
    # A command under sudo may have left a folder or a file of another user.
    with suppress(OSError):
        found = [path for path in _cache_folder().glob(f"{definitions[:32]}-*.duckdb") if path.is_file()]
    for path in found:
        with suppress(OSError):
            if path.stem.endswith(hash_file(path)[:32]):
                # The time says when the template was last used.
                with suppress(OSError):
                    os.utime(path)
                return path
    return None


@cache
def skipped_definitions() -> dict[str, str]:
    """Return the plain names of the views and queries that are left out, and what is wrong with each."""
    with duckdb.connect(str(template()), read_only=True) as connection:
        return dict(connection.execute("from catalog.not_built").fetchall())


def read_built_views() -> list[ViewFile]:
    """Return the files of the views that are not left out."""
    failed = skipped_definitions()
    return view_files(without=[path for path in view_texts() if plain_name(path) in failed])


def read_built_queries() -> list[QueryFile]:
    """Return the files of the queries that are not left out."""
    failed = skipped_definitions()
    return query_files(without=[path for path in QUERIES.glob("*/*.sql") if plain_name(path) in failed])


def create(path: Path) -> None:
    """Write a database with all definitions and no data.

    Raises DefinitionError if a declaration or a figure is invalid.
    """
    invalid: dict[Path, str] = {}
    while error := _try_to_create(path, invalid):
        # Only a view or a query can be left out, and only once.
        if error.path in invalid or not {VIEWS, QUERIES} & {*error.path.parents}:
            raise error
        invalid[error.path] = str(error)
        path.unlink()


def _try_to_create(path: Path, invalid: dict[Path, str]) -> DefinitionError | None:
    """Write the database without some files. Returns the error if another one is invalid, too."""
    with open_for_writing(path, f"storage_version '{STORAGE_VERSION}'") as connection:
        # Creating views does not parallelize; waiting for idle threads would take a fifth longer.
        connection.execute("set threads = 1")
        # One transaction: otherwise each of a thousand statements would wait for the disk.
        connection.begin()
        try:
            _create_definitions(connection, invalid)
        except DefinitionError as error:
            connection.rollback()
            return error
        connection.commit()
    return None


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


def _create_definitions(connection: duckdb.DuckDBPyConnection, invalid: Mapping[Path, str]) -> None:
    """Create everything except the invalid files and the views and queries that read them."""
    traces = list(all_traces().values())
    views, queries, errors = _leave_out(view_files(without=invalid), query_files(without=invalid), invalid)
    stable: list[ViewFile | QueryFile] = [*(view for view in views if view.status == RELEASED), *queries]
    for one in stable:
        refuse(lint_drafts(one, views))
    connection.execute(macros_sql())
    catalog.create_catalog(connection)
    catalog.fill_traces(connection, traces)
    create_base_tables(connection, traces, _NO_DATA, embed_tables=False)
    create_rejected_rows(connection, _NO_DATA, embed_tables=False)
    catalog.fill_sources(connection, traces, [])
    described = describe_views(views)
    # If that version of a view is left out, its plain name must not mean an earlier one.
    aliases = {name: view for name, view in plain_names(described.views).items() if name not in errors}
    create_views(connection, described, aliases)
    base_tables = read_base_tables(connection)
    for view in described.views:
        base_tables[view.versioned] = catalog.find_base_tables(view.references, base_tables)
    catalog.fill_views(connection, described.views, aliases, described.caveats_by_object, base_tables)
    tables = sorted(f"{trace.name}.{table.name}" for trace in traces for table in trace.tables)
    named = dict.fromkeys(tables) | {one.versioned: one for one in described.views} | aliases
    types = catalog.column_types(connection)
    catalog.fill_columns(connection, named, described.caveats_by_object, described.docs, types)
    catalog.create_checks(connection, traces)
    create_queries(connection, queries, described.caveats_by_object)
    catalog.fill_figures(connection, "published", figures.published())
    catalog.fill_figures(connection, "expected", figures.expected())
    unions = [*plain_names(views).values()]
    metrics = [(trace, *astuple(one), by) for trace, one, by in all_metrics([*unions, *queries])]
    catalog.insert(connection, "metrics", metrics)
    catalog.insert(connection, "not_recorded", [astuple(one) for one in find_not_recorded(unions)])
    catalog.insert(connection, "not_built", list(errors.items()))


def _leave_out(
    views: Sequence[ViewFile], queries: Sequence[QueryFile], invalid: Mapping[Path, str]
) -> tuple[list[ViewFile], list[QueryFile], dict[str, str]]:
    """Remove the views and queries that read an invalid file, directly or through others.

    Returns those that are left, and the errors of all that are not, by plain name.
    """
    errors = {plain_name(path): error for path, error in invalid.items()}
    missing = {name for path in invalid for name in (plain_name(path), versioned_name(path))}
    files: list[ViewFile | QueryFile] = [*views, *queries]

    def find_readers() -> list[ViewFile | QueryFile]:
        return [one for one in files if plain_name(one.path) not in errors and one.references & missing]

    while readers := find_readers():
        for one in readers:
            cause = min(one.references & missing)
            errors[plain_name(one.path)] = f"{one.path}: reads {cause}, which is left out"
            missing |= {plain_name(one.path), versioned_name(one.path)}
    return (
        [view for view in views if view.versioned not in missing],
        [query for query in queries if query.full_name not in missing],
        errors,
    )


def _cache_folder() -> Path:
    """Return the user's cache folder, by the XDG convention; without a home, a path that cannot exist."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tracehouse"
    except RuntimeError:
        return Path(os.devnull) / "tracehouse"


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a folder that is removed at the end of the process."""
    folder = tempfile.TemporaryDirectory(prefix="tracehouse-template-", dir=temporary_folder())
    signals.clean_up_last(folder.cleanup)
    return folder


def _keep(created: Path, definitions: str) -> None:
    """Copy a new template to the cache. If the cache is not writable, every process creates a template."""
    folder = _cache_folder()
    # One name for all templates, so that the next process replaces what a killed one left.
    latest = folder / "latest.duckdb"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with staging.replace_file(latest) as staged:
            shutil.copyfile(created, staged)
        latest.replace(folder / f"{definitions[:32]}-{hash_file(created)[:32]}.duckdb")
        for old in sorted(folder.glob("*-*.duckdb"), key=lambda each: each.stat().st_mtime)[
            :-_MOST_TEMPLATES
        ]:
            old.unlink(missing_ok=True)
    except (OSError, UserError):
        # Another process may be copying its template.
        return

"""Change a warehouse: ingest, forget, build, vacuum.

An ingest converts raw files, builds a database in the staging folder, publishes the manifest, and renames the
database over the old one. Then it computes the materialized views, and publishes a database that reads their
files. Readers see one complete version. A kill before the first rename leaves the old database, which reads
files that are superseded in the manifest but kept for some days. A later kill leaves a database that computes
the views on demand; the next ingest materializes them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.core.errors import DefinitionError, UsageError, UserError
from tracehouse.core.progress import Progress, ignore_progress
from tracehouse.engines.duckdb.write import build_info, materialized_views
from tracehouse.engines.duckdb.write.build import Outcome, build_file
from tracehouse.engines.duckdb.write.build_info import BuildInfo
from tracehouse.engines.duckdb.write.materialized_views import StoredView
from tracehouse.engines.duckdb.write.template import template
from tracehouse.engines.duckdb.write.user_definitions import Problem
from tracehouse.engines.names import DATABASE
from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult, RunTasks
from tracehouse.ingest.store import cleanup, integrity, records
from tracehouse.ingest.store.cleanup import record_superseded
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import (
    failed_build_file,
    remove_staging,
    resolve_warehouse,
    staging_folder,
)
from tracehouse.ingest.store.lock import acquire, explain_write_errors
from tracehouse.ingest.store.records import Conversion, Superseded, read_conversions


def _ignore_count(count: int) -> None:
    """Ignore how many views remain."""


def _ignore_result(result: IngestResult) -> None:
    """Ignore what was converted."""


@dataclass(frozen=True)
class Built:
    """A published database, notes for the user, and the user's own views and queries that failed."""

    path: Path
    notes: Sequence[str]
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Workers:
    """Functions that do the work of an ingest elsewhere: conversions, and units of materialized views."""

    convert: RunTasks
    compute_units: materialized_views.ComputeUnits


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    workers: Workers | None = None,
    stored: bool = True,
    on_ready: Callable[[int], None] = _ignore_count,
    only: Sequence[str] = (),
    on_converted: Callable[[IngestResult], None] = _ignore_result,
) -> IngestResult:
    """Convert raw files and publish a database over them.

    With `replacing`, the raw files that are found replace all earlier rows of their tables. `workers` convert
    files and compute views; without them, this process does. If the existing database contains its tables, or
    has no materialized views (see `build`), so does the new one. Without `stored`, the new one has no
    materialized views. `on_ready` is called once the database answers queries, with the number of views that
    are still to be computed. `only` are the partitions to convert of partitioned tables, empty for all.
    `on_converted` is called once all files are converted.
    """
    # Check before the warehouse's folder is created.
    pipeline.check_arguments(raw_folders, trace_names, only)
    # Report a mistake in a declaration before hours of conversion.
    progress("checking definitions", 0, 0)
    with explain_write_errors(warehouse, DATABASE), _recorded_failure(warehouse):
        template()
    with acquire(warehouse):
        _prepare(warehouse)
        convert = workers.convert if workers else None
        result = pipeline.convert(raw_folders, warehouse, trace_names, progress, replacing, convert, only)
        on_converted(result)
        if result.conversions:
            notes = _build_as_before(warehouse, result.conversions, progress, stored, workers, on_ready)
            result = replace(result, notes=(*result.notes, *notes))
        remove_staging(warehouse)
    return result


def forget(warehouse: Path, names: Sequence[str]) -> list[str]:
    """Remove the rows of raw files from the warehouse, and return notes on them.

    A name is a value of `catalog.sources.file`, a bare file name, or a glob pattern of either (`acme/*`).
    Raises UsageError if a name matches nothing.
    """
    _check_exists(warehouse)
    with acquire(warehouse):
        _prepare(warehouse)
        published = read_conversions(warehouse)
        try:
            removed = pipeline.find_conversions(published, names)
        except UsageError:
            # After a kill, the database may still show a file that the manifest no longer has.
            _build_as_before(warehouse, published)
            remove_staging(warehouse)
            raise
        removed_keys = {conversion.key for conversion in removed}
        records.discard(warehouse, removed_keys)
        notes = _build_as_before(warehouse, [c for c in published if c.key not in removed_keys])
        remove_staging(warehouse)
    return [*map(pipeline.describe_removal, removed), *notes]


def build(
    warehouse: Path, copy_tables: bool = False, stored: bool = True, progress: Progress = ignore_progress
) -> Built:
    """Build the database again over the published files.

    With `copy_tables` the base tables are copied into the database: a single file that reads no others, so it
    has no materialized views. Without `stored` it has no materialized views either. Raises UserError if the
    warehouse's folder does not exist.
    """
    _check_exists(warehouse)
    with acquire(warehouse):
        # DuckDB would apply the write-ahead log of a killed build to the new database.
        remove_staging(warehouse)
        info = BuildInfo(contains_tables=copy_tables, with_views=stored and not copy_tables)
        built = _build(warehouse, read_conversions(warehouse), info, progress, is_build=True)
        remove_staging(warehouse)
    return built


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> tuple[list[Superseded], list[str]]:
    """Remove superseded files (see `cleanup.vacuum`), and return them and notes.

    The database is brought up to date first: after a kill it may be older than the manifest, and still read
    these files.
    """
    _check_exists(warehouse)
    with acquire(warehouse):
        _prepare(warehouse)
        notes = _build_as_before(warehouse, read_conversions(warehouse))
        remove_staging(warehouse)
        return cleanup.vacuum(warehouse, older_than_days, keep_versions, _view_files_in_use(warehouse)), notes


@contextmanager
def _recorded_failure(warehouse: Path) -> Iterator[None]:
    """Record that a declaration is invalid: answers from the existing database say so."""
    try:
        yield
    except DefinitionError as error:
        if (warehouse / DATABASE).is_file():
            write_atomically(failed_build_file(resolve_warehouse(warehouse)), str(error))
        raise


def _check_exists(warehouse: Path) -> None:
    if not resolve_warehouse(warehouse).is_dir():
        raise UserError(
            f"{warehouse}: there is no such folder. Name the warehouse, or create one with `traces ingest`"
        )


def _prepare(warehouse: Path) -> None:
    """Clean up after a killed writer."""
    cleanup.remove_leftovers(warehouse, _view_files_in_use(warehouse))


def _view_files_in_use(warehouse: Path) -> Sequence[str] | None:
    """Return the files of materialized views that the database reads; None if they are unknown."""
    return build_info.read(warehouse).view_files if build_info.is_unmodified(warehouse) else None


def _build_as_before(
    warehouse: Path,
    conversions: Sequence[Conversion],
    progress: Progress = ignore_progress,
    stored: bool = True,
    workers: Workers | None = None,
    on_ready: Callable[[int], None] = _ignore_count,
) -> list[str]:
    """Publish a database of the same kind as the existing one, and return notes."""
    before = build_info.read(warehouse)
    info = replace(before, with_views=stored and before.with_views)
    built = _build(warehouse, conversions, info, progress, workers, on_ready)
    return [*(f"{problem.error}. It was not created" for problem in built.problems), *built.notes]


def _build(
    warehouse: Path,
    conversions: Sequence[Conversion],
    info: BuildInfo,
    progress: Progress,
    workers: Workers | None = None,
    on_ready: Callable[[int], None] = _ignore_count,
    is_build: bool = False,
) -> Built:
    """Publish a database over some conversions, and then one that reads its materialized views from files.

    `info` says what kind of database. Unless `is_build`, an existing database with the same inputs is kept.
    """
    integrity.check_sizes(warehouse, conversions)
    root = resolve_warehouse(warehouse)
    planned = materialized_views.plan(conversions) if info.with_views else {}
    complete = materialized_views.find_complete(root, planned)
    files = materialized_views.list_paths(planned, complete)
    info = replace(info, input_hash=build_info.hash_inputs(conversions, root), view_files=files)
    own = Outcome([], [])
    notes: list[str] = []
    if is_build or build_info.read(root) != info or not build_info.is_unmodified(root):
        own = _replace_database(warehouse, conversions, info, complete, progress)
    else:
        records.publish(warehouse, conversions)
    if len(complete) < len(planned):
        on_ready(len(planned) - len(complete))
        compute_units = workers.compute_units if workers else None
        notes = materialized_views.materialize(root, conversions, planned, progress, compute_units)
        complete = materialized_views.find_complete(root, planned)
        info = replace(info, view_files=materialized_views.list_paths(planned, complete))
        if build_info.read(root) != info:
            _replace_database(warehouse, conversions, info, complete, progress)
    return Built(warehouse / DATABASE, [*own.notes, *notes], own.problems)


def _replace_database(
    warehouse: Path,
    conversions: Sequence[Conversion],
    info: BuildInfo,
    complete: Mapping[str, StoredView],
    progress: Progress,
) -> Outcome:
    """Build a database, publish the manifest, and rename the database over the old one.

    Until the rename, the old database reads superseded files, which the store keeps for some days. Returns
    the outcome for the user's own views and queries.
    """
    root = resolve_warehouse(warehouse)
    progress("building the database", 0, 0)
    staged = staging_folder(root) / DATABASE
    with explain_write_errors(warehouse, DATABASE), _recorded_failure(warehouse):
        staged.unlink(missing_ok=True)
        own = build_file(staged, conversions, root, info.contains_tables, complete)
    records.publish(warehouse, conversions)
    with explain_write_errors(warehouse, DATABASE):
        build_info.write(root, info, staged)
        failed_build_file(root).unlink(missing_ok=True)
        # DuckDB would apply the log of another program's changes to the new database.
        build_info.log_of(root / DATABASE).unlink(missing_ok=True)
    staged.replace(warehouse / DATABASE)
    with explain_write_errors(warehouse, DATABASE):
        record_superseded(root, info.view_files)
    return own

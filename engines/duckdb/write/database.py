"""Change a warehouse: ingest, forget, build, vacuum.

An ingest converts raw files, builds a database in the staging folder, publishes the manifest, renames the
database over the old one, and computes materialized views. Every few seconds it renames a database that reads
the finished ones over the previous database. Readers see one complete version. A kill before the first rename
leaves the old database, which reads files that are superseded in the manifest but kept for some days. A later
kill leaves a database that computes the other views on demand; the next ingest materializes them.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.core.errors import UserError
from tracehouse.core.progress import Progress, ignore_progress
from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import foreign_objects, freshness, materialized_views, template
from tracehouse.engines.duckdb.write.build import build_file, holds_tables, update_views
from tracehouse.engines.duckdb.write.local import Problem
from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult, RunTasks
from tracehouse.ingest.store import cleanup, integrity, records
from tracehouse.ingest.store.layout import remove_staging, resolve_warehouse, staging_folder
from tracehouse.ingest.store.lock import acquire, explain_write_errors
from tracehouse.ingest.store.records import Conversion, Superseded, read_conversions
from tracehouse.ingest.store.view_store import record_superseded

# Publishing takes half a second of processor time.
PUBLISH_VIEWS_EVERY_S = 15.0


def _ignore_count(count: int) -> None:
    """Ignore how many views remain."""


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
) -> IngestResult:
    """Convert raw files and publish a database over them.

    With `replacing`, the raw files that are found replace all earlier rows of their tables. `workers` convert
    files and compute views; without them, this process does. If the existing database contains its tables, or
    has no materialized views (see `build`), so does the new one. Without `stored`, the new one has no
    materialized views. `on_ready` is called once the database answers queries, with the number of views that
    are still to be computed. `only` are the partitions to convert of partitioned tables, empty for all.
    """
    # Report a mistake in a ledger before hours of conversion.
    template.check_definitions()
    # Check before the warehouse's folder is created.
    pipeline.check_arguments(raw_folders, trace_names, only)
    with acquire(warehouse):
        _prepare(warehouse)
        convert = workers.convert if workers else None
        result = pipeline.convert(raw_folders, warehouse, trace_names, progress, replacing, convert, only)
        if result.conversions:
            notes = _publish_as_before(warehouse, result.conversions, progress, stored, workers, on_ready)
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
        removed = pipeline.find_conversions(published, names)
        for conversion in removed:
            records.discard(warehouse, conversion.key)
        notes = _publish_as_before(warehouse, [c for c in published if c not in removed])
        remove_staging(warehouse)
    return [*map(pipeline.describe_removal, removed), *notes]


def build(
    warehouse: Path, materialize: bool = False, stored: bool = True, progress: Progress = ignore_progress
) -> Built:
    """Build the database again over the published files.

    With `materialize` the base tables are copied into the database: a single file that reads no others, so it
    has no materialized views. Without `stored` it has no materialized views either. Raises UserError if the
    warehouse's folder does not exist.
    """
    _check_exists(warehouse)
    template.check_definitions()
    with acquire(warehouse):
        records.check_manifest_exists(warehouse)
        # DuckDB would apply the write-ahead log of a killed build to the new database.
        remove_staging(warehouse)
        foreign_objects.check_is_free(warehouse / NAME)
        conversions = read_conversions(warehouse)
        with_views = stored and not materialize
        built = _publish(warehouse, conversions, materialize, with_views, progress, is_build=True)
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
        notes = _publish_as_before(warehouse, read_conversions(warehouse))
        remove_staging(warehouse)
        in_use = freshness.read_view_files(warehouse)
        return cleanup.vacuum(warehouse, older_than_days, keep_versions, in_use), notes


def _check_exists(warehouse: Path) -> None:
    if not resolve_warehouse(warehouse).is_dir():
        raise UserError(
            f"{warehouse}: there is no such folder. Name the warehouse, or create one with `traces ingest`"
        )


def _prepare(warehouse: Path) -> None:
    """Clean up after a killed writer, and check that no process has the database open for writing."""
    cleanup.remove_leftovers(warehouse, freshness.read_view_files(warehouse))
    foreign_objects.check_is_free(warehouse / NAME)


def _publish_as_before(
    warehouse: Path,
    conversions: Sequence[Conversion],
    progress: Progress = ignore_progress,
    stored: bool = True,
    workers: Workers | None = None,
    on_ready: Callable[[int], None] = _ignore_count,
) -> list[str]:
    """Publish a database of the same kind as the existing one, and return notes."""
    notes = []
    try:
        materialize = holds_tables(warehouse / NAME)
    except UserError as error:
        materialize = False
        notes.append(
            f"{error}. The new database reads the Parquet files. If the old one contained its tables, run "
            "`traces build --materialize`"
        )
    with_views = stored and not materialize and freshness.uses_materialized_views(warehouse)
    built = _publish(warehouse, conversions, materialize, with_views, progress, workers, on_ready)
    notes += [f"{problem.error}. It was not created" for problem in built.problems]
    return [*notes, *built.notes]


def _publish(
    warehouse: Path,
    conversions: Sequence[Conversion],
    materialize: bool,
    with_views: bool,
    progress: Progress,
    workers: Workers | None = None,
    on_ready: Callable[[int], None] = _ignore_count,
    is_build: bool = False,
) -> Built:
    """Publish a database over some conversions, and then one that reads its materialized views from files.

    Unless `is_build`, an existing database with the same inputs is kept. The manifest is published before the
    first rename: until then the old database reads superseded files, which the store keeps for some days.
    """
    integrity.check_sizes(warehouse, conversions)
    root = resolve_warehouse(warehouse)
    notes: list[str] = []
    problems: Sequence[Problem] = ()
    planned = materialized_views.plan(conversions) if with_views else {}
    complete = materialized_views.find_complete(root, planned)
    inputs = freshness.fingerprint_inputs(conversions, root, with_views)
    if is_build or not freshness.is_fresh(root, inputs):
        progress("database", 0, 0)
        path = staging_folder(root) / NAME
        with explain_write_errors(warehouse, NAME):
            path.unlink(missing_ok=True)
            problems = build_file(path, conversions, root, materialize, complete)
        foreign_objects.check_is_free(warehouse / NAME)
        records.publish(warehouse, conversions)
        files = materialized_views.list_paths(planned, complete)
        notes += _put_in_place(warehouse, inputs, files, with_views)
    else:
        records.publish(warehouse, conversions)
    if len(complete) < len(planned):
        on_ready(len(planned) - len(complete))
    if planned:
        notes += _materialize(warehouse, conversions, planned, inputs, progress, workers)
    return Built(warehouse / NAME, notes, problems)


def _materialize(
    warehouse: Path,
    conversions: Sequence[Conversion],
    planned: materialized_views.Plan,
    inputs: str,
    progress: Progress,
    workers: Workers | None,
) -> list[str]:
    """Compute the planned views, and publish databases that read them: every few seconds, and at the end."""
    notes: list[str] = []
    published_s = time.monotonic()

    def publish_some() -> None:
        nonlocal published_s
        if time.monotonic() - published_s > PUBLISH_VIEWS_EVERY_S:
            notes.extend(_publish_views(warehouse, conversions, planned, inputs, ignore_progress))
            published_s = time.monotonic()

    compute_units = workers.compute_units if workers else None
    root = resolve_warehouse(warehouse)
    failed = materialized_views.materialize(root, conversions, planned, progress, publish_some, compute_units)
    return [*notes, *failed, *_publish_views(warehouse, conversions, planned, inputs, progress)]


def _publish_views(
    warehouse: Path,
    conversions: Sequence[Conversion],
    planned: materialized_views.Plan,
    inputs: str,
    progress: Progress,
) -> list[str]:
    """Publish a database that reads all complete views from their files, unless the current one does so."""
    root = resolve_warehouse(warehouse)
    complete = materialized_views.find_complete(root, planned)
    files = materialized_views.list_paths(planned, complete)
    if files == freshness.read_view_files(root):
        return []
    progress("database", 0, 0)
    foreign_objects.check_is_free(warehouse / NAME)
    path = staging_folder(root) / NAME
    with explain_write_errors(warehouse, NAME):
        shutil.copyfile(root / NAME, path)
        if freshness.is_unmodified(root, path):
            update_views(path, root, complete)
        else:
            path.unlink()
            build_file(path, conversions, root, False, complete)
    return _put_in_place(warehouse, inputs, files, with_views=True)


def _put_in_place(warehouse: Path, inputs: str, view_files: Sequence[str], with_views: bool) -> list[str]:
    """Rename the database in the staging folder over the old one.

    If a user wrote into the old one, keep it and return a note. `inputs` is the fingerprint of the new one,
    and `view_files` are the files of views that it reads.
    """
    root = resolve_warehouse(warehouse)
    staged = staging_folder(root) / NAME
    notes = foreign_objects.keep(warehouse / NAME, freshness.read_headers(root))
    with explain_write_errors(warehouse, NAME):
        freshness.write_mark(root, inputs, staged, view_files, with_views)
    staged.replace(warehouse / NAME)
    with explain_write_errors(warehouse, NAME):
        record_superseded(root, view_files)
    return notes

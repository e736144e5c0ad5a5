"""Change a warehouse: ingest, forget, build, vacuum.

An ingest converts raw files, builds a database in the staging folder, publishes the manifest, and renames the
database over the old one. Then it computes the materialized views, and publishes a copy of the database in
which these views read their files. Readers see one complete version. A kill before the first rename leaves
the old database, which reads files that are superseded in the manifest but kept for some days. A later kill
leaves a database that computes the views on demand; the next ingest materializes them.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.core.errors import DefinitionError, UsageError, UserError
from tracehouse.core.progress import Progress, ignore_progress
from tracehouse.engines.duckdb.write import build_info, materialized_views
from tracehouse.engines.duckdb.write.build import BuildReport, build_file, point_views_at_files
from tracehouse.engines.duckdb.write.build_info import BuildInfo
from tracehouse.engines.duckdb.write.materialized_views import RunViewTasks
from tracehouse.engines.duckdb.write.template import template
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
from tracehouse.ingest.store.snapshot import Snapshot, take


def _ignore_published(result: IngestResult, views: int) -> None:
    """Ignore that queries can run, and how many views remain."""


@dataclass(frozen=True)
class Workers:
    """Functions that do the work of an ingest: the tasks of conversions, and of materialized views."""

    run_tasks: RunTasks
    run_view_tasks: RunViewTasks


IN_THIS_PROCESS = Workers(pipeline.run_tasks_here, materialized_views.run_view_tasks_here)


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    *,
    replacing: bool = False,
    only: Sequence[str] = (),
    materialize: bool = True,
    workers: Workers = IN_THIS_PROCESS,
    on_published: Callable[[IngestResult, int], None] = _ignore_published,
) -> IngestResult:
    """Convert raw files, publish a database over them, and then one with materialized views.

    For `replacing` and `only`, see `pipeline.convert`. If the existing database contains its tables, or has
    no materialized views (see `build`), so does the new one. Without `materialize`, the new one has no
    materialized views. `on_published` is called once the database answers queries, with the result so far and
    the number of views that are still to be computed.
    """
    # Check before the warehouse's folder is created.
    pipeline.check_arguments(raw_folders, trace_names, only)
    # Report a mistake in a declaration before hours of conversion.
    progress("checking definitions", 0, 0)
    with explain_write_errors(warehouse, DATABASE), _recorded_failure(warehouse):
        template()
    with _writing(warehouse):
        result = pipeline.convert(
            raw_folders, warehouse, trace_names, progress, replacing, workers.run_tasks, only
        )
        if not result.conversions:
            return result
        before = build_info.read(warehouse)
        kind = replace(before, materialize=materialize and before.materialize)
        snapshot, report = _publish(warehouse, result.conversions, kind, progress)
        on_published(result, len(snapshot.missing))
        failed = _materialize(warehouse, snapshot, kind, progress, workers)
    return replace(result, notes=(*result.notes, *report.all_notes, *failed))


def forget(warehouse: Path, names: Sequence[str]) -> list[str]:
    """Remove the rows of raw files from the warehouse, and return notes on them.

    A name is a value of `catalog.sources.file`, a bare file name, or a glob pattern of either (`acme/*`).
    Raises UsageError if a name matches nothing.
    """
    _check_exists(warehouse)
    with _writing(warehouse):
        published = read_conversions(warehouse)
        try:
            removed = pipeline.find_conversions(published, names)
        except UsageError:
            # After a kill, the database may still show a file that the manifest no longer has.
            _build_as_before(warehouse, published)
            raise
        removed_keys = {conversion.key for conversion in removed}
        records.discard(warehouse, removed_keys)
        notes = _build_as_before(warehouse, [c for c in published if c.key not in removed_keys])
    return [*map(pipeline.describe_removal, removed), *notes]


def build(
    warehouse: Path,
    embed_tables: bool = False,
    materialize: bool = True,
    progress: Progress = ignore_progress,
) -> BuildReport:
    """Build the database again over the published files.

    With `embed_tables` the database contains copies of the base tables: a single file that reads no others,
    so it has no materialized views. Without `materialize` it has no materialized views either. Raises
    UserError if the warehouse's folder does not exist.
    """
    _check_exists(warehouse)
    with acquire(warehouse):
        # DuckDB would apply the write-ahead log of a killed build to the new database.
        remove_staging(warehouse)
        info = BuildInfo(embed_tables=embed_tables, materialize=materialize and not embed_tables)
        try:
            return _build(warehouse, read_conversions(warehouse), info, progress, is_forced=True)
        finally:
            remove_staging(warehouse)


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> tuple[list[Superseded], list[str]]:
    """Remove superseded files (see `cleanup.vacuum`), and return them and notes.

    The database is brought up to date first: after a kill it may be older than the manifest, and still read
    these files.
    """
    _check_exists(warehouse)
    with _writing(warehouse):
        notes = _build_as_before(warehouse, read_conversions(warehouse))
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


@contextmanager
def _writing(warehouse: Path) -> Iterator[None]:
    """Lock a warehouse, clean up after a killed writer, and remove the staging folder at the end."""
    with acquire(warehouse):
        cleanup.remove_leftovers(warehouse, _view_files_in_use(warehouse))
        try:
            yield
        finally:
            remove_staging(warehouse)


def _view_files_in_use(warehouse: Path) -> Sequence[str] | None:
    """Return the files of materialized views that the database reads; None if they are unknown."""
    return build_info.read(warehouse).view_files if build_info.is_unmodified(warehouse) else None


def _build_as_before(warehouse: Path, conversions: Sequence[Conversion]) -> list[str]:
    """Publish a database of the same kind as the existing one, and return notes."""
    return _build(warehouse, conversions, build_info.read(warehouse), ignore_progress).all_notes


def _build(
    warehouse: Path,
    conversions: Sequence[Conversion],
    kind: BuildInfo,
    progress: Progress,
    is_forced: bool = False,
) -> BuildReport:
    """Publish a database over some conversions, and then one that reads its materialized views from files."""
    snapshot, report = _publish(warehouse, conversions, kind, progress, is_forced)
    notes = _materialize(warehouse, snapshot, kind, progress, IN_THIS_PROCESS)
    return replace(report, notes=[*report.notes, *notes])


def _publish(
    warehouse: Path,
    conversions: Sequence[Conversion],
    kind: BuildInfo,
    progress: Progress,
    is_forced: bool = False,
) -> tuple[Snapshot, BuildReport]:
    """Publish the manifest, and a database over some conversions and the views that are materialized already.

    Unless `is_forced`, an existing database with the same inputs is kept.
    """
    integrity.check_sizes(warehouse, conversions)
    root = resolve_warehouse(warehouse)
    planned = materialized_views.plan(conversions) if kind.materialize else {}
    snapshot = take(root, conversions, build_info.hash_inputs(conversions, root), planned)
    info = kind.over(snapshot)
    if not is_forced and build_info.read(root) == info and build_info.is_unmodified(root):
        records.publish(warehouse, conversions)
        return snapshot, BuildReport()
    with _staged(warehouse, progress) as staged:
        report = build_file(staged, snapshot, info.embed_tables)
    records.publish(warehouse, conversions)
    _replace_database(warehouse, staged, info)
    return snapshot, report


def _materialize(
    warehouse: Path, published: Snapshot, kind: BuildInfo, progress: Progress, workers: Workers
) -> list[str]:
    """Compute the missing files, and publish a database that reads them. Returns notes on views that fail."""
    if not published.missing:
        return []
    failures = materialized_views.materialize(published, progress, workers.run_view_tasks)
    complete = take(published.warehouse, published.conversions, published.input_hash, published.planned)
    if complete.views.keys() != published.views.keys():
        with _staged(warehouse, progress) as staged:
            is_larger = published.views.keys() <= complete.views.keys()
            if is_larger and build_info.is_unmodified(published.warehouse):
                shutil.copyfile(published.warehouse / DATABASE, staged)
                point_views_at_files(staged, complete, complete.views.keys() - published.views.keys())
            else:
                # Another program has changed the database since its publication, or removed a file.
                build_file(staged, complete, kind.embed_tables)
        _replace_database(warehouse, staged, kind.over(complete))
    return materialized_views.explain_missing(complete, failures)


@contextmanager
def _staged(warehouse: Path, progress: Progress) -> Iterator[Path]:
    """Yield the path of a database to write in the staging folder, and explain errors."""
    progress("building the database", 0, 0)
    staged = staging_folder(resolve_warehouse(warehouse)) / DATABASE
    with explain_write_errors(warehouse, DATABASE), _recorded_failure(warehouse):
        staged.unlink(missing_ok=True)
        yield staged


def _replace_database(warehouse: Path, staged: Path, info: BuildInfo) -> None:
    """Rename a new database over the old one.

    Until the rename, the old database reads superseded files, which the store keeps for some days.
    """
    root = resolve_warehouse(warehouse)
    with explain_write_errors(warehouse, DATABASE):
        build_info.write(root, info, staged)
        failed_build_file(root).unlink(missing_ok=True)
        # DuckDB would apply the log of another program's changes to the new database.
        build_info.log_of(root / DATABASE).unlink(missing_ok=True)
    staged.replace(warehouse / DATABASE)
    with explain_write_errors(warehouse, DATABASE):
        record_superseded(root, info.view_files)

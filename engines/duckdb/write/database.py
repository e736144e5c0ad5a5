"""Everything that changes a warehouse: ingest, forget, build, vacuum, recover.

A database is built aside, and renamed over the old one: a reader sees the old version whole or the new one
whole. It takes its place after the store's manifest has: a kill between the two leaves the version before,
whose files the manifest has superseded and the store keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.core.errors import UserError
from tracehouse.core.progress import Progress
from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import foreign_objects, freshness, materialized_views
from tracehouse.engines.duckdb.write.build import build_file, is_materialized
from tracehouse.engines.duckdb.write.local import Problem
from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult, Run
from tracehouse.ingest.store import artifacts, integrity
from tracehouse.ingest.store.manifest import Conversion, Superseded
from tracehouse.ingest.store.warehouse_path import checked


def _untold(label: str, more_bytes: int, total_bytes: int) -> None:
    """Progress that nobody sees."""


@dataclass(frozen=True)
class Built:
    """A database that is in its place, what there is to say, and what of the user's own it could not take."""

    path: Path
    notes: Sequence[str]
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Workers:
    """What does the work of an ingest elsewhere: the conversions, and the units of stored views."""

    convert: Run
    make_units: materialized_views.MakeUnits


@dataclass(frozen=True)
class _Half:
    """A database that is whole, and not in its place yet.

    `stored` are the files of its views; it has none where it is not to store views, or could not.
    """

    path: Path
    problems: Sequence[Problem]
    notes: Sequence[str]
    stored: Sequence[str]
    stores_views: bool


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    workers: Workers | None = None,
    stored: bool = True,
) -> IngestResult:
    """Convert raw files, build the database over them, and publish both.

    With `replacing`, tables that raw files are found for consist of these alone afterwards. `workers` convert
    and compute stored views; without them, this process does. A database that holds its tables itself, or is
    without stored views (see `build`), goes on so; without `stored`, this one is without them.
    """
    with artifacts.lock(warehouse):
        _clean(warehouse)
        foreign_objects.check_is_free(warehouse / NAME)
        convert = workers.convert if workers else None
        outcome = pipeline.ingest(raw_folders, warehouse, trace_names, progress, replacing, convert)
        if outcome.conversions:
            progress("database", 0, 0)
            notes = _publish(warehouse, outcome.conversions, stored, workers, progress)
            outcome = replace(outcome, notes=(*outcome.notes, *notes))
        artifacts.drop_staging(warehouse)
    return outcome


def forget(warehouse: Path, names: Sequence[str]) -> list[str]:
    """Take raw files out of the warehouse, and tell what has left.

    A name is a value of `catalog.sources.file`, a bare file name, or a glob pattern of either (`acme/*`).
    Raises UsageError where one matches nothing.
    """
    _check_is_there(warehouse)
    with artifacts.lock(warehouse):
        _clean(warehouse)
        foreign_objects.check_is_free(warehouse / NAME)
        published = artifacts.published(warehouse)
        leaving = pipeline.conversions_of(published, names)
        for conversion in leaving:
            artifacts.drop_unpublished(warehouse, conversion.key)
        notes = _publish(warehouse, [c for c in published if c not in leaving])
        artifacts.drop_staging(warehouse)
    return [*map(pipeline.said_of_leaving, leaving), *notes]


def build(
    warehouse: Path, materialize: bool = False, stored: bool = True, progress: Progress = _untold
) -> Built:
    """Build the database anew over what is published.

    With `materialize` the base tables are copied into it: one file, which reads no other. So it has no stored
    views, which are files of their own; without `stored` it has none either. Raises UserError where there is
    no such folder.
    """
    _check_is_there(warehouse)
    with artifacts.lock(warehouse):
        artifacts.check_manifest_is_there(warehouse)
        foreign_objects.check_is_free(warehouse / NAME)
        conversions = artifacts.published(warehouse)
        half = _built_aside(warehouse, conversions, materialize, stored, progress=progress)
        notes = [*half.notes, *_take_its_place(half, warehouse, conversions)]
        artifacts.drop_staging(warehouse)
    return Built(warehouse / NAME, notes, half.problems)


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> tuple[list[Superseded], list[str]]:
    """Remove superseded files as `store.vacuum` does, and return them, with what there is to say.

    The database is built first: after a kill it may be older than the manifest, and still read these files.
    """
    _check_is_there(warehouse)
    with artifacts.lock(warehouse):
        _clean(warehouse)
        foreign_objects.check_is_free(warehouse / NAME)
        notes = _publish(warehouse, artifacts.published(warehouse))
        return _vacuum(warehouse, older_than_days, keep_versions), notes


def recover(warehouse: Path, progress: Progress) -> list[str]:
    """Make a lost or damaged manifest anew, and tell what could not be taken up. Call `build` after it."""
    _check_is_there(warehouse)
    with artifacts.lock(warehouse):
        return integrity.recover(warehouse, progress)


def _clean(warehouse: Path) -> None:
    """Remove what a killed ingest left half-done, and superseded files whose time has passed."""
    artifacts.clean(warehouse)
    place = checked(warehouse)
    conversions = artifacts.published(warehouse)
    files = materialized_views.wanted(conversions) if freshness.stores_views(place) else {}
    # After a kill the list of superseded files may be older than the database that reads some of them again.
    if _is_fresh(place, conversions, files):
        materialized_views.note_superseded(place, materialized_views.paths(files))
        materialized_views.vacuum(place, artifacts.KEEP_SUPERSEDED_DAYS, artifacts.KEEP_SUPERSEDED_VERSIONS)


def _vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> list[Superseded]:
    of_tables = artifacts.vacuum(warehouse, older_than_days, keep_versions)
    return [*of_tables, *materialized_views.vacuum(checked(warehouse), older_than_days, keep_versions)]


def _check_is_there(warehouse: Path) -> None:
    if not checked(warehouse).is_dir():
        raise UserError(
            f"{warehouse}: there is no such folder. Name the warehouse, or make one with `traces ingest`"
        )


def _publish(
    warehouse: Path,
    conversions: Sequence[Conversion],
    stored: bool = True,
    workers: Workers | None = None,
    progress: Progress = _untold,
) -> list[str]:
    """Build a database, materialized if the last one was, and publish it together with its conversions.

    It has stored views unless the last one had none. A database that is what would be built stays.
    """
    place = checked(warehouse)
    stored = stored and freshness.stores_views(place)
    files = materialized_views.wanted(conversions) if stored else {}
    if _is_fresh(place, conversions, files):
        integrity.check_sizes(warehouse, conversions)
        artifacts.publish(warehouse, conversions)
        materialized_views.note_superseded(place, materialized_views.paths(files))
        return []
    notes = []
    try:
        materialize = is_materialized(warehouse / NAME)
    except UserError as error:
        materialize = False
        notes.append(_not_opened(error))
    half = _built_aside(warehouse, conversions, materialize, stored, workers, progress)
    notes += [f"{problem.error}. It is left out" for problem in half.problems]
    foreign_objects.check_is_free(warehouse / NAME)
    # The manifest first: superseded files stay for a while, so that the old database can still be read.
    artifacts.publish(warehouse, conversions)
    return [*notes, *half.notes, *_take_its_place(half, warehouse, conversions)]


def _is_fresh(place: Path, conversions: Sequence[Conversion], files: materialized_views.Wanted) -> bool:
    made_from = freshness.of_build(conversions, place, materialized_views.paths(files))
    return freshness.is_fresh(place, made_from) and materialized_views.are_there(place, files)


def _not_opened(error: UserError) -> str:
    return (
        f"{error}, so that the new one is over the Parquet files. If it held its tables itself, run "
        "`traces build --materialize`"
    )


def _take_its_place(half: _Half, warehouse: Path, conversions: Sequence[Conversion]) -> list[str]:
    """Put a new database in its place, and tell where the one before is kept, if somebody wrote into it."""
    place = checked(warehouse)
    notes = foreign_objects.keep(warehouse / NAME, freshness.headers(place))
    made_from = freshness.of_build(conversions, place, half.stored)
    with artifacts.write_errors_explained(warehouse, NAME):
        freshness.leave_mark(place, made_from, half.path, half.stores_views)
    half.path.replace(warehouse / NAME)
    with artifacts.write_errors_explained(warehouse, NAME):
        materialized_views.note_superseded(place, half.stored)
    return notes


def _built_aside(
    warehouse: Path,
    conversions: Sequence[Conversion],
    materialize: bool,
    stores_views: bool,
    workers: Workers | None = None,
    progress: Progress = _untold,
) -> _Half:
    """A new database over some conversions, whole, and not in its place yet."""
    integrity.check_sizes(warehouse, conversions)
    place = checked(warehouse)
    half = artifacts.staging(place) / NAME
    half.unlink(missing_ok=True)
    stores_views = stores_views and not materialize
    with artifacts.write_errors_explained(warehouse, NAME):
        files = materialized_views.wanted(conversions) if stores_views else {}
        make_units = workers.make_units if workers else None
        stored, notes = materialized_views.make(place, conversions, files, progress, make_units)
        progress("database", 0, 0)
        problems = build_file(half, conversions, place, materialize, stored)
    used = materialized_views.paths({name: files[name] for name in stored})
    return _Half(half, problems, notes, used, stores_views)

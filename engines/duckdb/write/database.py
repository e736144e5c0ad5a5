"""Everything that changes a warehouse: ingest, forget, build, vacuum, recover.

A database is built aside, and renamed over the old one: a reader sees the old version whole or the new one
whole. It takes its place after the store's manifest has: a kill between the two leaves the version before,
whose files the manifest has superseded and the store keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import freshness, others
from tracehouse.engines.duckdb.write.build import build_file, is_materialized
from tracehouse.engines.duckdb.write.local import Problem
from tracehouse.ingest import integrity, pipeline, store
from tracehouse.ingest.errors import UserError
from tracehouse.ingest.manifest import Conversion, Superseded
from tracehouse.ingest.pipeline import IngestResult, Progress, Run
from tracehouse.ingest.place import checked


@dataclass(frozen=True)
class Built:
    """A database that is in its place, what there is to say, and what of the user's own it could not take."""

    path: Path
    notes: Sequence[str]
    problems: Sequence[Problem]


@dataclass(frozen=True)
class _Half:
    """A database that is whole, and not in its place yet."""

    path: Path
    problems: Sequence[Problem]


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    run: Run | None = None,
) -> IngestResult:
    """Convert raw files, build the database over them, and publish both.

    With `replacing`, tables that raw files are found for consist of these alone afterwards. `run` does the
    conversions; without it, this process does. A database that holds its tables itself (see `build`) goes on
    doing so.
    """
    with store.lock(warehouse):
        store.clean(warehouse)
        others.check_is_free(warehouse / NAME)
        outcome = pipeline.ingest(raw_folders, warehouse, trace_names, progress, replacing, run)
        if outcome.conversions:
            progress("database", 0, 0)
            notes = _publish(warehouse, outcome.conversions)
            outcome = replace(outcome, notes=(*outcome.notes, *notes))
        store.drop_staging(warehouse)
    return outcome


def forget(warehouse: Path, names: Sequence[str]) -> list[str]:
    """Take raw files out of the warehouse, and tell what has left.

    A name is a value of `catalog.sources.file`, a bare file name, or a glob pattern of either (`acme/*`).
    Raises UsageError where one matches nothing.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.clean(warehouse)
        others.check_is_free(warehouse / NAME)
        published = store.published(warehouse)
        leaving = pipeline.conversions_of(published, names)
        for conversion in leaving:
            store.drop_unpublished(warehouse, conversion.key)
        notes = _publish(warehouse, [c for c in published if c not in leaving])
        store.drop_staging(warehouse)
    return [*map(pipeline.said_of_leaving, leaving), *notes]


def build(warehouse: Path, materialize: bool = False) -> Built:
    """Build the database anew over what is published.

    With `materialize` the base tables are copied into it: one file, which reads no other. Raises UserError
    where there is no such folder.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.check_manifest_is_there(warehouse)
        others.check_is_free(warehouse / NAME)
        conversions = store.published(warehouse)
        made_from = freshness.of_build(conversions, checked(warehouse))
        half = _built_aside(warehouse, conversions, materialize)
        notes = _take_its_place(half.path, warehouse, made_from)
        store.drop_staging(warehouse)
    return Built(warehouse / NAME, notes, half.problems)


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> tuple[list[Superseded], list[str]]:
    """Remove superseded files as `store.vacuum` does, and return them, with what there is to say.

    The database is built first: after a kill it may be older than the manifest, and still read these files.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.clean(warehouse)
        others.check_is_free(warehouse / NAME)
        notes = _publish(warehouse, store.published(warehouse))
        return store.vacuum(warehouse, older_than_days, keep_versions), notes


def recover(warehouse: Path, progress: Progress) -> list[str]:
    """Make a lost or damaged manifest anew, and tell what could not be taken up. Call `build` after it."""
    _check_is_there(warehouse)
    with store.lock(warehouse):
        return integrity.recover(warehouse, progress)


def _check_is_there(warehouse: Path) -> None:
    if not checked(warehouse).is_dir():
        raise UserError(
            f"{warehouse}: there is no such folder. Name the warehouse, or make one with `traces ingest`"
        )


def _publish(warehouse: Path, conversions: Sequence[Conversion]) -> list[str]:
    """Build a database, materialized if the last one was, and publish it together with its conversions.

    A database that is what would be built stays.
    """
    made_from = freshness.of_build(conversions, checked(warehouse))
    if freshness.is_fresh(checked(warehouse), made_from):
        integrity.check_sizes(warehouse, conversions)
        store.publish(warehouse, conversions)
        return []
    notes = []
    try:
        materialize = is_materialized(warehouse / NAME)
    except UserError as error:
        materialize = False
        notes.append(_not_opened(error))
    half = _built_aside(warehouse, conversions, materialize)
    notes += [f"{problem.error}. It is left out" for problem in half.problems]
    others.check_is_free(warehouse / NAME)
    # The manifest first: superseded files stay for a while, so that the old database can still be read.
    store.publish(warehouse, conversions)
    return [*notes, *_take_its_place(half.path, warehouse, made_from)]


def _not_opened(error: UserError) -> str:
    return (
        f"{error}, so that the new one is over the Parquet files. If it held its tables itself, run "
        "`traces build --materialize`"
    )


def _take_its_place(half: Path, warehouse: Path, made_from: str) -> list[str]:
    """Put a new database in its place, and tell where the one before is kept, if somebody wrote into it."""
    place = checked(warehouse)
    notes = others.keep(warehouse / NAME, freshness.headers(place))
    with store.write_errors_explained(warehouse, NAME):
        freshness.leave_mark(place, made_from, half)
    half.replace(warehouse / NAME)
    return notes


def _built_aside(warehouse: Path, conversions: Sequence[Conversion], materialize: bool) -> _Half:
    """A new database over some conversions, whole, and not in its place yet."""
    integrity.check_sizes(warehouse, conversions)
    place = checked(warehouse)
    half = store.staging(place) / NAME
    half.unlink(missing_ok=True)
    with store.write_errors_explained(warehouse, NAME):
        return _Half(half, build_file(half, conversions, place, materialize))

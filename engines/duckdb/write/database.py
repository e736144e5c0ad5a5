"""Everything that changes a warehouse: ingest, forget, build, vacuum, recover.

A database is built aside, and renamed over the old one: a reader sees the old version whole or the new one
whole. It takes its place after the store's manifest has: a kill between the two leaves the version before,
whose files the manifest has superseded and the store keeps.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import freshness
from tracehouse.engines.duckdb.write.build import build_file, is_materialized
from tracehouse.ingest import integrity, pipeline, store
from tracehouse.ingest.errors import UserError
from tracehouse.ingest.manifest import Conversion, Superseded
from tracehouse.ingest.pipeline import IngestResult, Progress, Run
from tracehouse.ingest.place import checked


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
        published = store.published(warehouse)
        leaving = pipeline.conversions_of(published, names)
        for conversion in leaving:
            store.drop_unpublished(warehouse, conversion.key)
        notes = _publish(warehouse, [c for c in published if c not in leaving])
        store.drop_staging(warehouse)
    return [*map(pipeline.said_of_leaving, leaving), *notes]


def build(warehouse: Path, materialize: bool = False) -> Path:
    """Build the database anew over what is published, and return its path.

    With `materialize` the base tables are copied into it: one file, which reads no other. Raises UserError
    where there is no such folder.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.check_manifest_is_there(warehouse)
        conversions = store.published(warehouse)
        made_from = freshness.of_build(conversions, checked(warehouse))
        _take_its_place(_built_aside(warehouse, conversions, materialize), warehouse, made_from)
        store.drop_staging(warehouse)
    return warehouse / NAME


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> list[Superseded]:
    """Remove superseded files as `store.vacuum` does, and return them.

    The database is built first: after a kill it may be older than the manifest, and still read these files.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.clean(warehouse)
        _publish(warehouse, store.published(warehouse))
        return store.vacuum(warehouse, older_than_days, keep_versions)


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
    except duckdb.Error as error:
        materialize = False
        notes.append(_not_opened(warehouse, error))
    half = _built_aside(warehouse, conversions, materialize)
    # The manifest first: superseded files stay for a while, so that the old database can still be read.
    store.publish(warehouse, conversions)
    _take_its_place(half, warehouse, made_from)
    return notes


def _not_opened(warehouse: Path, error: duckdb.Error) -> str:
    reason = str(error).splitlines()[0]
    return (
        f"{warehouse / NAME}: the database before could not be opened ({reason}), so that the new one is "
        "over the Parquet files. If it held its tables itself, run `traces build --materialize`"
    )


def _take_its_place(half: Path, warehouse: Path, made_from: str) -> None:
    # The log of a client that wrote into the old database does not fit the new one, and would lock it.
    (warehouse / f"{NAME}.wal").unlink(missing_ok=True)
    half.replace(warehouse / NAME)
    with store.write_errors_explained(warehouse, NAME):
        freshness.leave_mark(checked(warehouse), made_from)


def _built_aside(warehouse: Path, conversions: Sequence[Conversion], materialize: bool) -> Path:
    """A new database over some conversions, whole, and not in its place yet."""
    integrity.check_sizes(warehouse, conversions)
    place = checked(warehouse)
    half = store.staging(place) / NAME
    half.unlink(missing_ok=True)
    with store.write_errors_explained(warehouse, NAME):
        build_file(half, conversions, place, materialize)
    return half

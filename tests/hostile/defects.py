"""Defects for `test_sequences`, which shows that random sequences of operations find each of them.

Each function patches Tracehouse in the process that runs the operations.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest import MonkeyPatch

from tracehouse.engines.duckdb.write import database, foreign_objects, freshness, materialized_views
from tracehouse.ingest import pipeline
from tracehouse.ingest.store import files, integrity, records

Defect = Callable[[MonkeyPatch], None]


def _nothing(*_: object, **__: object) -> list:
    return []


def database_before_manifest(patch: MonkeyPatch) -> None:
    """The database is renamed before the manifest is published."""
    publish, put_in_place = records.publish, database._put_in_place
    later: list[tuple] = []

    def put_first(*arguments: Any, **options: Any) -> list[str]:
        notes = put_in_place(*arguments, **options)
        for published in later:
            publish(*published)
        later.clear()
        return notes

    patch.setattr(database.records, "publish", lambda *arguments: later.append(arguments))
    patch.setattr(database, "_put_in_place", put_first)


def superseded_list_skipped(patch: MonkeyPatch) -> None:
    """The manifest does not list superseded files."""
    following = records.Manifest.next
    patch.setattr(
        records.Manifest,
        "next",
        lambda self, conversions: replace(following(self, conversions), superseded=()),
    )


def checksum_not_compared(patch: MonkeyPatch) -> None:
    """`traces check --files` compares sizes only."""
    patch.setattr(
        integrity,
        "_find_damages",
        lambda warehouse, artifacts, _: filter(
            None, (integrity._check_size(warehouse, a) for a in artifacts)
        ),
    )


def record_not_written(patch: MonkeyPatch) -> None:
    """Files move to their names before the record lists them, so that a kill leaves unknown files."""

    def add(warehouse: Path, conversion: Any, staged_files: Any) -> None:
        for stored, staged_file in zip(conversion.all_files, staged_files, strict=True):
            files.move_into_place(staged_file, warehouse / stored.path)

    patch.setattr(records, "add", add)


def forget_leaves_views(patch: MonkeyPatch) -> None:
    """A materialized view is not computed again when its inputs change."""
    hash_inputs = materialized_views._hash_inputs
    patch.setattr(
        materialized_views,
        "_hash_inputs",
        lambda view, how, views, conversions: hash_inputs(
            view, how, views, [replace(one, files=()) for one in conversions]
        ),
    )


def kill_not_repaired(patch: MonkeyPatch) -> None:
    """The database counts as current although a kill left the database of the previous version."""
    patch.setattr(freshness, "is_unmodified", lambda _, database: database.is_file())


def sizes_not_compared(patch: MonkeyPatch) -> None:
    """A missing or truncated file of a base table is published again."""
    patch.setattr(integrity, "check_sizes", _nothing)


def foreign_writes_dropped(patch: MonkeyPatch) -> None:
    """A database that a user wrote into is replaced without a copy."""
    patch.setattr(foreign_objects, "keep", _nothing)


def half_of_a_file_accepted(patch: MonkeyPatch) -> None:
    """A raw file that feeds two tables is accepted in one of them and refused in the other."""
    patch.setattr(pipeline, "refuse_in_all_tables", lambda _, results, __: list(results))


DEFECTS: dict[str, Defect] = {
    defect.__name__: defect
    for defect in (
        database_before_manifest,
        superseded_list_skipped,
        checksum_not_compared,
        record_not_written,
        forget_leaves_views,
        kill_not_repaired,
        sizes_not_compared,
        foreign_writes_dropped,
        half_of_a_file_accepted,
    )
}

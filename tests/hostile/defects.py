"""Defects that a test puts into Tracehouse, to show that the sequences find them.

Each is a function that patches the process of the operations.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest import MonkeyPatch

from tracehouse.engines.duckdb.write import database, foreign_objects, freshness, materialized_views
from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import previous
from tracehouse.ingest.store import files, integrity, journal, manifest

Defect = Callable[[MonkeyPatch], None]


def _nothing(*_: object, **__: object) -> list:
    return []


def database_before_manifest(patch: MonkeyPatch) -> None:
    """The database is renamed before the manifest is published."""
    publish, put_in_place = journal.publish, database._put_in_place
    later: list[tuple] = []

    def put_first(staged: Any, warehouse: Path) -> list[str]:
        notes = put_in_place(staged, warehouse)
        for arguments in later:
            publish(*arguments)
        later.clear()
        return notes

    patch.setattr(database.journal, "publish", lambda *arguments: later.append(arguments))
    patch.setattr(database, "_put_in_place", put_first)


def superseded_list_skipped(patch: MonkeyPatch) -> None:
    """The manifest does not list superseded files."""
    following = manifest.Manifest.next
    patch.setattr(
        manifest.Manifest,
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


def journal_not_written(patch: MonkeyPatch) -> None:
    """Files move to their names before the journal lists them, so that a kill leaves unknown files."""

    def add(warehouse: Path, conversion: Any, staged_files: Any) -> None:
        for stored, staged_file in zip(conversion.all_files, staged_files, strict=True):
            files.move_into_place(staged_file, warehouse / stored.path)

    patch.setattr(journal, "add", add)


def recover_ignores_damage(patch: MonkeyPatch) -> None:
    """`build --recover` lists files whose content is not what was written."""
    patch.setattr(integrity, "_find_damages", _nothing)


def vacuum_deletes_published_files(patch: MonkeyPatch) -> None:
    """A file counts as superseded although the next version has it again."""
    following = manifest.Manifest.next

    def next_version(self: manifest.Manifest, conversions: Any) -> manifest.Manifest:
        after, before = following(self, conversions), {old.path: old for old in self.superseded}
        current = {stored.path for one in after.conversions for stored in one.all_files}
        again = [old for path, old in before.items() if path in current]
        return replace(after, superseded=(*after.superseded, *again))

    patch.setattr(manifest.Manifest, "next", next_version)


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
    """The database counts as current although a kill left that of the version before."""
    patch.setattr(freshness, "is_unmodified", lambda _, database: database.is_file())


def half_of_a_file_accepted(patch: MonkeyPatch) -> None:
    """A raw file that one table refuses is new in the others."""
    patch.setattr(pipeline, "refuse_in_all_tables", lambda _, results, __: results)


def half_of_a_file_resumed(patch: MonkeyPatch) -> None:
    """After an interrupted ingest, some tables of a raw file have its new version."""
    patch.setattr(
        pipeline, "_resume", lambda _, __, warehouse: {c.key: c for c in journal.read_finished(warehouse)}
    )


def change_not_seen(patch: MonkeyPatch) -> None:
    """A changed raw file of the same size counts as unchanged."""

    def has_same_bytes(raw_input: Any, before: Any) -> bool:
        return raw_input.claim.raw.bytes == before.sources[0].bytes

    patch.setattr(previous, "_has_same_bytes", has_same_bytes)


def sizes_not_compared(patch: MonkeyPatch) -> None:
    """A missing or truncated file of a base table is published again."""
    patch.setattr(integrity, "check_sizes", _nothing)


def damaged_files_kept(patch: MonkeyPatch) -> None:
    """An ingest does not convert a raw file again whose Parquet file was damaged."""
    patch.setattr(journal, "is_complete", lambda *_: True)


def manifest_written_in_place(patch: MonkeyPatch) -> None:
    """Text files are written under their own names, so that a kill leaves a part of one."""

    def write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            os.fsync(file.fileno())
            file.write(text[len(text) // 2 :])

    for module in (files, manifest):
        patch.setattr(module, "write_atomically", write)


def foreign_writes_dropped(patch: MonkeyPatch) -> None:
    """A database that a user wrote into is replaced without a copy."""
    patch.setattr(foreign_objects, "keep", _nothing)


def busy_database_replaced(patch: MonkeyPatch) -> None:
    """A database is replaced while another process writes into it."""
    patch.setattr(foreign_objects, "check_is_free", _nothing)


def shrunken_file_accepted(patch: MonkeyPatch) -> None:
    """A file with far fewer rows than before replaces the last version."""
    patch.setattr(previous, "_LEAST_SHARE_OF_ROWS_BEFORE", 0.0)


def kind_of_database_lost(patch: MonkeyPatch) -> None:
    """An ingest makes a database that reads files of one that holds its tables."""
    patch.setattr(database, "holds_tables", lambda _: False)


def replaced_rows_kept(patch: MonkeyPatch) -> None:
    """Replaced tables keep rows of raw files that are gone."""
    patch.setattr(pipeline, "_find_removed", _nothing)


DEFECTS: dict[str, Defect] = {
    defect.__name__: defect
    for defect in (
        *(half_of_a_file_accepted, half_of_a_file_resumed, database_before_manifest, superseded_list_skipped),
        *(vacuum_deletes_published_files, forget_leaves_views, kill_not_repaired, change_not_seen),
        *(sizes_not_compared, damaged_files_kept, manifest_written_in_place, foreign_writes_dropped),
        *(busy_database_replaced, shrunken_file_accepted, kind_of_database_lost, replaced_rows_kept),
        *(checksum_not_compared, journal_not_written, recover_ignores_damage),
    )
}

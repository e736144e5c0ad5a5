"""A snapshot of a warehouse: the files that a database is built over, as one value.

`take` looks once for the files of materialized views. Whatever builds or computes gets the snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.ingest.store import view_store
from tracehouse.ingest.store.records import Conversion


@dataclass(frozen=True)
class PlannedFile:
    """A file with rows of a materialized view. `path` is relative to the warehouse.

    The rows are sorted by `order`, and computed from one `partition` of the base tables, or from all if it is
    None. `bytes_read` is the size of the base tables' files.
    """

    order: tuple[str, ...]
    partition: str | None
    path: str
    bytes_read: int


Plan = Mapping[str, Sequence[PlannedFile]]
"""The planned files of views by versioned name. Each view comes after the views that it reads."""


@dataclass(frozen=True)
class MaterializedView:
    """A materialized view: its files below the warehouse, their size, and the time of the newest, in UTC.

    `files` are the files with rows, or one file if all are empty. `bytes` is the size of all files.
    """

    files: tuple[str, ...]
    bytes: int
    at: datetime


@dataclass(frozen=True)
class Snapshot:
    """The conversions of a warehouse, and the materialized views whose planned files all exist (`views`).

    `warehouse` is absolute. `input_hash` is a hash of the conversions and of all definitions. `missing` are
    the planned files that do not exist.
    """

    warehouse: Path
    conversions: Sequence[Conversion] = ()
    input_hash: str = ""
    planned: Plan = field(default_factory=dict)
    views: Mapping[str, MaterializedView] = field(default_factory=dict)
    missing: Plan = field(default_factory=dict)

    @property
    def view_files(self) -> list[str]:
        """The paths of the files of the complete views, sorted."""
        return sorted(file.path for name in self.views for file in self.planned[name])

    def of_partition(self, partition: str | None) -> "Snapshot":
        """Return the snapshot with the missing files of a partition, and its conversions (None: all)."""
        missing = {
            name: [file for file in files if file.partition == partition]
            for name, files in self.missing.items()
        }
        return replace(self, conversions=of_partition(self.conversions, partition), missing=missing)


def take(warehouse: Path, conversions: Sequence[Conversion], input_hash: str, planned: Plan) -> Snapshot:
    """Look for the planned files, and return the snapshot. `warehouse` is absolute."""
    views: dict[str, MaterializedView] = {}
    missing: dict[str, Sequence[PlannedFile]] = {}
    for name, files in planned.items():
        rows = {file.path: view_store.count_rows(warehouse, file.path) for file in files}
        if lacking := [file for file in files if rows[file.path] is None]:
            missing[name] = lacking
        else:
            views[name] = _describe(warehouse, rows)
    return Snapshot(warehouse, tuple(conversions), input_hash, planned, views, missing)


def of_partition(conversions: Sequence[Conversion], partition: str | None) -> Sequence[Conversion]:
    """Return the conversions of one partition, or all if it is None."""
    return [one for one in conversions if partition is None or one.partition == partition]


def _describe(warehouse: Path, rows: Mapping[str, int | None]) -> MaterializedView:
    facts = [(warehouse / path).stat() for path in rows]
    newest = datetime.fromtimestamp(max(fact.st_mtime for fact in facts), UTC)
    files = [path for path in rows if rows[path]] or [next(iter(rows))]
    size = sum(fact.st_size for fact in facts)
    return MaterializedView(tuple(files), size, newest.replace(tzinfo=None, microsecond=0))

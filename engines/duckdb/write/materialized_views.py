"""Store the rows of expensive views as Parquet, and recompute them when their inputs change.

    <warehouse>/stored/<schema>/<view>_v<N>/<hash>.parquet
                                            <hash>.sha256

A view whose header has a `stored` line has one file, one per partition of what it reads, or one for one of
its CTEs (see views/materialization.py). The file is named by a hash of the view's SQL, the SQL of the views
below it and the files of its base tables, so an existing file of that name is always current. The file gets
its name when it is complete and synced; next to it is a checksum file in the format of `sha256sum`. Where
writing fails, the view is computed on demand like any other.
"""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.core.progress import Progress
from tracehouse.engines.duckdb.names import STORED_VIEWS, quoted
from tracehouse.engines.duckdb.read.answer import disable_async_writes
from tracehouse.engines.duckdb.write import exact_sums
from tracehouse.engines.duckdb.write.base_tables import create_base_table, parquet
from tracehouse.engines.duckdb.write.statements import query_of
from tracehouse.engines.duckdb.write.views import create_view
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.discovery.unpack import sha256_of
from tracehouse.ingest.store import artifacts, manifest
from tracehouse.ingest.store.integrity import OnBytes
from tracehouse.ingest.store.manifest import Conversion, Superseded
from tracehouse.views.across_traces import expanded
from tracehouse.views.materialization import StoredView, Storing, below, storings, tables_read
from tracehouse.views.view_files import DefinitionError, ViewFile, view_files

# Of fewer rows in its base tables, a view is computed in the time that opening a file takes.
LEAST_ROWS = 1_000_000
# What is left on a disk, so that the database still fits that is built next.
LEAST_FREE_BYTES = 64_000_000
# Together with what an ingest holds, 1.5 GB.
MEMORY = "1100MB"

PARQUET_OPTIONS = "format parquet, compression zstd, compression_level 1, parquet_version v2"

_WHOLE = None
_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
_DIGITS = 16
_CHECKSUM = ".sha256"


@dataclass(frozen=True)
class Part:
    """A file, below the warehouse, that is to hold rows of a view.

    They are those over one partition of the base tables, None for over all of them. `bytes_read` are those of
    the base tables' files.
    """

    how: Storing
    partition: str | None
    path: str
    bytes_read: int


Wanted = Mapping[str, Sequence[Part]]
"""The files that views should have, by the views' versioned names, in an order in which they can be made."""


@dataclass(frozen=True)
class Unit:
    """The missing files over one partition of the base tables, None for over all: made by one process."""

    place: Path
    conversions: Sequence[Conversion]
    files: Wanted
    partition: str | None


MakeUnits = Callable[[Sequence[Unit]], Iterable[dict[str, str]]]
"""Makes units that do not read each other's files; tells of each the views that failed, and why."""

PROGRESS_LABEL = "stored views"


@dataclass(frozen=True)
class Damage:
    """A file below the warehouse that is not as it was written, and what is wrong."""

    path: str
    what: str

    @property
    def advice(self) -> str:
        """How to make it whole again."""
        # A build looks whether a file can be read, and not at all that is in it. Nor does it bring back what
        # no database reads any more, which is missed as long as its checksum is there.
        checksum = PurePosixPath(self.path).with_suffix(_CHECKSUM).name
        both = f"Delete it, if it is there, and {checksum} beside it"
        return f"{both}, and run `traces build`, which computes it anew"


@dataclass(frozen=True)
class Checked:
    """How much was checked, and what is damaged."""

    files: int
    bytes: int
    damages: tuple[Damage, ...]


def wanted(conversions: Sequence[Conversion]) -> Wanted:
    """The files that views over some conversions should have. Raises DefinitionError on a wrong header."""
    views = _views()
    return {
        view.versioned: parts
        for view in views.values()
        if (parts := [one for how in storings(view) for one in _parts(view, how, views, conversions)])
    }


def make(
    place: Path,
    conversions: Sequence[Conversion],
    files: Wanted,
    progress: Progress,
    make_units: MakeUnits | None = None,
) -> tuple[dict[str, StoredView], list[str]]:
    """Make the files that are not there, in this process unless something else makes units.

    Progress is told in bytes of the base tables, for each file that reads them. Returns the views with all of
    their files, and notes on the others.
    """
    missing = [part for parts in files.values() for part in parts if _row_count(place, part) is None]
    units = [
        Unit(place, _of_unit(conversions, partition), files, partition)
        for partition in sorted({part.partition for part in missing}, key=lambda partition: partition or "")
    ]
    total = sum(part.bytes_read for part in missing)

    def tell(more_bytes: int) -> None:
        progress(PROGRESS_LABEL, more_bytes, total)

    if missing:
        tell(0)
    failures: dict[str, str] = {}
    # Views over all partitions may read files of views that were made partition by partition.
    for several in (
        [u for u in units if u.partition is not _WHOLE],
        [u for u in units if u.partition is _WHOLE],
    ):
        if make_units is None:
            for unit in several:
                failures |= make_unit(unit, tell)
            continue
        for unit, failed in zip(several, make_units(several), strict=True):
            failures |= failed
            tell(sum(part.bytes_read for part in missing if part.partition == unit.partition))
    found = {name: one for name, parts in files.items() if (one := _stored(place, name, parts))}
    notes = [
        f"{name} is not stored, but computed at every question: {failures.get(name, 'its file is gone')}. "
        "The next `traces ingest` tries again"
        for name in files
        if name not in found
    ]
    return found, notes


def make_unit(unit: Unit, on_bytes: OnBytes = lambda _: None) -> dict[str, str]:
    """Make a unit in this process. Returns the views that failed, each with the reason."""
    with closing(_computing(unit.place)) as connection:
        return _make_unit(connection, unit, on_bytes)


def check(place: Path, traces: Collection[str], progress: Progress) -> Checked:
    """Compare the files of the named traces' views, of all if none is named, with their checksums.

    What could not be stored has none, and is not missed.
    """
    checksums = [
        path
        for path in sorted((place / STORED_VIEWS).glob(f"*/*/*{_CHECKSUM}"))
        if not traces or path.parts[-3] in traces
    ]
    files = [path.with_suffix(".parquet") for path in checksums]
    total = sum(file.stat().st_size for file in files if file.exists())
    damages = []
    for file, checksum in zip(files, checksums, strict=True):
        if not file.exists():
            damages.append(Damage(file.relative_to(place).as_posix(), "the file is gone"))
        elif sha256_of((file,), lambda more: progress(PROGRESS_LABEL, more, total)) != _written(checksum):
            what = "its content is not what was written"
            damages.append(Damage(file.relative_to(place).as_posix(), what))
    return Checked(len(files), total, tuple(damages))


def are_there(place: Path, files: Wanted) -> bool:
    """Whether no file is missing."""
    return all(_row_count(place, part) is not None for parts in files.values() for part in parts)


def paths(files: Wanted) -> list[str]:
    """The files of all views, sorted."""
    return sorted(part.path for parts in files.values() for part in parts)


def note_superseded(place: Path, used: Collection[str]) -> None:
    """Write down which files the database that was just built reads no more, and since when."""
    version = manifest.read(place).version
    now = datetime.now(UTC).isoformat(timespec="seconds")
    before = _superseded(place)
    # What a version before may have read: this one is the first that does not.
    after = {
        path: before.get(path) or Superseded(path, (place / path).stat().st_size, version - 1, now)
        for path in _there(place)
        if path not in used
    }
    if after != before:
        text = json.dumps([asdict(old) for old in after.values()])
        manifest.write_whole(_list_of_superseded(place), text)


def vacuum(place: Path, older_than_days: float, keep_versions: int) -> list[Superseded]:
    """Remove files that no database reads since so many days and versions, and return them."""
    oldest_to_keep = manifest.read(place).version - keep_versions
    known = _superseded(place)
    due = [old for old in known.values() if old.age_days >= older_than_days and old.version < oldest_to_keep]
    for old in due:
        # The checksum first: one without its file would be told as damage, after a kill in between.
        (place / old.path).with_suffix(_CHECKSUM).unlink(missing_ok=True)
        (place / old.path).unlink(missing_ok=True)
        with suppress(OSError):
            (place / old.path).parent.rmdir()
    if due:
        left = [asdict(old) for old in known.values() if old not in due]
        manifest.write_whole(_list_of_superseded(place), json.dumps(left))
    return due


def _views() -> dict[str, ViewFile]:
    """All our views by their versioned names, each after what it reads."""
    views = {view.versioned: view for view in expanded(view_files())}
    return {one.versioned: one for view in views.values() for one in below(view, views)}


def _parts(
    view: ViewFile, how: Storing, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]
) -> list[Part]:
    """The files that a view should have: none where it has little to read."""
    tables = tables_read(view, views)
    if unknown := [name for name in tables if name.startswith("catalog.")]:
        raise DefinitionError(f"{view.path}: is stored, and reads {unknown[0]}: each build fills it anew")
    read = [conversion for conversion in conversions if conversion.table_name in tables and conversion.files]
    if not read or sum(conversion.rows for conversion in read) < LEAST_ROWS:
        return []
    units = {conversion.partition for conversion in read} if how.per_partition else {_WHOLE}
    return [
        Part(
            how,
            unit,
            f"{STORED_VIEWS}/{view.schema}/{view.versioned.split('.')[1]}/"
            f"{_hash(view, how, views, _of_unit(read, unit))}.parquet",
            sum(stored.bytes for one in _of_unit(read, unit) for stored in one.files),
        )
        for unit in sorted(units, key=str)
    ]


def _of_unit(conversions: Sequence[Conversion], partition: str | None) -> list[Conversion]:
    return [one for one in conversions if partition is _WHOLE or one.partition == partition]


def _hash(
    view: ViewFile, how: Storing, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]
) -> str:
    """The hash of all that decides what a view's rows over some conversions are."""
    digest = hashlib.sha256()
    files = sorted(
        (one.table_name, one.partition, stored.sha256) for one in conversions for stored in one.files
    )
    statements = [(one.versioned, one.sha256) for one in below(view, views)]
    digest.update(json.dumps([statements, exact_sums.MEANING, how.cte, how.order, files]).encode())
    return digest.hexdigest()[:_DIGITS]


def _row_count(place: Path, part: Part) -> int | None:
    """The rows of a file; None where it is not there or not whole, as after a kill or on a bad disk."""
    if not _checksum(place, part).exists():
        return None
    try:
        return pq.read_metadata(place / part.path).num_rows
    except (OSError, pa.ArrowException):
        return None


def _checksum(place: Path, part: Part) -> Path:
    """The file that has the checksum of another."""
    return (place / part.path).with_suffix(_CHECKSUM)


def _written(checksum: Path) -> str:
    """The checksum of a file when it was written."""
    return checksum.read_text(encoding="utf-8").partition(" ")[0]


def _stored(place: Path, name: str, parts: Sequence[Part]) -> StoredView | None:
    counts = {part: _row_count(place, part) for part in parts}
    if None in counts.values():
        return None
    by_cte = {cte: [part for part in parts if part.how.cte == cte] for cte in {p.how.cte: p for p in parts}}
    views = _views()
    facts = [(place / part.path).stat() for part in parts]
    return StoredView(
        tuple(
            (cte, tuple([part.path for part in those if counts[part]] or [those[0].path]))
            for cte, those in by_cte.items()
        ),
        sum(fact.st_size for fact in facts),
        datetime.fromtimestamp(max(fact.st_mtime for fact in facts), UTC).replace(tzinfo=None, microsecond=0),
        tuple(tables_read(views[name], views)),
    )


def _computing(place: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory to compute views in, which spills into the warehouse."""
    # Several processes may compute at a time, and DuckDB's files are called the same in each.
    spill = artifacts.staging(place) / f"spill-of-views-{uuid.uuid4().hex}"
    connection = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(spill)})
    disable_async_writes(connection)
    connection.execute("set timezone = 'UTC'")
    return connection


def _make_unit(connection: duckdb.DuckDBPyConnection, unit: Unit, on_bytes: OnBytes) -> dict[str, str]:
    """Make the missing files over one partition, or over all; tell of each that could not be, and why."""
    place, files, partition = unit.place, unit.files, unit.partition
    views = _views()
    missing = {
        name: lacking
        for name, parts in files.items()
        if (lacking := [p for p in parts if p.partition == partition and _row_count(place, p) is None])
    }
    needed = {one.versioned: one for name in missing for one in below(views[name], views)}
    _create_tables(connection, needed.values(), _of_unit(unit.conversions, partition), place)
    failures = {}
    for name in views:
        if name not in needed:
            continue
        view, parts = needed[name], files.get(name, ())
        for part in missing.get(name, ()):
            query = query_of(view, _kept(place, parts, partition), part.how.cte)
            if failure := _make(connection, place, name, query, part):
                failures[name] = failure
            on_bytes(part.bytes_read)
        create_view(connection, view, _kept(place, parts, partition))
    return failures


def _create_tables(
    connection: duckdb.DuckDBPyConnection,
    views: Collection[ViewFile],
    conversions: Sequence[Conversion],
    place: Path,
) -> None:
    read = {name for view in views for name in view.references}
    for schema in {view.schema for view in views}:
        connection.execute(f'create schema if not exists "{schema}"')
    for trace in all_traces().values():
        for table in trace.tables:
            if f"{trace.name}.{table.name}" in read:
                connection.execute(f'create schema if not exists "{trace.name}"')
                create_base_table(connection, trace, table, conversions, place, materialize=False)


def _kept(place: Path, parts: Sequence[Part], partition: str | None) -> dict[str, str]:
    """The table functions for what is kept of a view over a partition, where all files of it are there."""
    # Over one partition, a file over all of them is of no use.
    here = [part for part in parts if partition is _WHOLE or part.partition == partition]
    those: dict[str, list[Part]] = {}
    for part in here:
        those.setdefault(part.how.cte, []).append(part)
    return {
        cte: parquet((part.path for part in found), place)
        for cte, found in those.items()
        if all(_row_count(place, part) is not None for part in found)
    }


def _make(connection: duckdb.DuckDBPyConnection, place: Path, name: str, query: str, part: Part) -> str:
    """Write the rows of a query to a file, and give it its name. Returns what went wrong, if anything."""
    # A name of its own: what was taken for lost may still be writing.
    half = artifacts.staging(place) / f"{name}-{uuid.uuid4().hex}.parquet"
    order = ", ".join(f'"{column}"' for column in part.how.order)
    try:
        connection.execute(
            f"copy (from ({query}) order by {order}) to {quoted(str(half))} ({PARQUET_OPTIONS})"
        )
        if other := _other_type(connection, query, half):
            return other
        if shutil.disk_usage(place).free < LEAST_FREE_BYTES:
            return "it would fill the disk. Make room"
        sha256 = artifacts.staged(half, 0).sha256
        target = place / part.path
        target.parent.mkdir(parents=True, exist_ok=True)
        half.replace(target)
        manifest.write_whole(target.with_suffix(_CHECKSUM), f"{sha256}  {target.name}\n")
        _flush(target.parent)
    except (duckdb.Error, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    finally:
        half.unlink(missing_ok=True)
    return ""


def _other_type(connection: duckdb.DuckDBPyConnection, query: str, file: Path) -> str:
    """What is wrong where Parquet cannot hold a column as it is, empty where it can."""
    computed = connection.execute(f"describe {query}").fetchall()
    kept = connection.execute(f"describe from read_parquet({quoted(str(file))})").fetchall()
    for (name, kind, *_), (_, other, *_) in zip(computed, kept, strict=True):
        if kind != other:
            return f"Parquet holds its column {name} as {other} and not {kind}"
    return ""


def _flush(folder: Path) -> None:
    """Flush a folder to the disk, so that a file in it keeps its new name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _there(place: Path) -> Iterator[str]:
    """The files that there are of views, needed or not."""
    for path in sorted((place / STORED_VIEWS).glob("*/*/*.parquet")):
        if _NAME.fullmatch(path.name):
            yield path.relative_to(place).as_posix()


def _list_of_superseded(place: Path) -> Path:
    return artifacts.mark_of_database(place).with_name("stored.json")


def _superseded(place: Path) -> dict[str, Superseded]:
    """The files that are there and no longer read, as far as that was written down."""
    try:
        listed = json.loads(_list_of_superseded(place).read_text(encoding="utf-8"))
        known = {old.path: old for old in (Superseded(**entry) for entry in listed)}
    except (OSError, ValueError, TypeError):
        return {}
    there = set(_there(place))
    return {path: old for path, old in known.items() if path in there}

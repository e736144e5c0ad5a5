"""Write the rows of expensive views to Parquet files, and write new files when the inputs change.

A view whose header has a `materialize` line has one file, one file per partition of its base tables, or one
file for a CTE (see views/materialization.py). The file name is a hash of the view's SQL, the SQL of the views
that it reads and the files of its base tables, so that an existing file of that name is always current. A
view whose files cannot be written is computed on demand, like any other view.
"""

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from tracehouse.core.progress import Progress
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read.sandbox import disable_async_writes
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import create_base_table, read_parquet
from tracehouse.engines.duckdb.write.statements import view_query
from tracehouse.engines.duckdb.write.views import create_view
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.store import view_store
from tracehouse.ingest.store.files import PARQUET_OPTIONS, stage
from tracehouse.ingest.store.integrity import OnBytes
from tracehouse.ingest.store.layout import VIEWS_FOLDER, staging_folder
from tracehouse.ingest.store.records import Conversion
from tracehouse.views import ledgers
from tracehouse.views.across_traces import expanded
from tracehouse.views.graph import sources, view_dependencies
from tracehouse.views.macros import macros_hash, macros_sql
from tracehouse.views.materialization import StoredView, Storing, storings
from tracehouse.views.view_files import DefinitionError, ViewFile, view_files

# With fewer rows in the base tables, computing a view takes no longer than opening its file.
LEAST_ROWS = 400_000
# Disk space that stays free for the database that is built next.
LEAST_FREE_BYTES = 64_000_000
# DuckDB's memory limit. The complete ingest then needs 1.5 GB.
MEMORY = "1100MB"

PROGRESS_LABEL = "materialized views"

# The only catalog table that materialized views may read: its rows depend on the package alone.
_CLOCKS = "catalog.clocks"
# The `partition` of a file that is computed from all partitions.
_ALL = None
_HASH_DIGITS = 16


@dataclass(frozen=True)
class Part:
    """A planned file with rows of a view. `path` is relative to the warehouse.

    The rows are computed from one `partition` of the base tables, or from all if it is None. `bytes_read` is
    the size of the base tables' files.
    """

    how: Storing
    partition: str | None
    path: str
    bytes_read: int


Plan = Mapping[str, Sequence[Part]]
"""The planned files of views by versioned name. Each view comes after the views that it reads."""


@dataclass(frozen=True)
class Unit:
    """Work for one process: the missing files over one partition of the base tables, None for all."""

    warehouse: Path
    conversions: Sequence[Conversion]
    plan: Plan
    partition: str | None


ComputeUnits = Callable[[Sequence[Unit]], Iterable[dict[str, str]]]
"""Computes units that do not read each other's files. Returns the failed views of each unit, with reasons."""


def plan(conversions: Sequence[Conversion]) -> Plan:
    """Plan the files of all views over some conversions. Raises DefinitionError on an invalid header."""
    # Reading the definitions takes longer than the rest of the build of a small warehouse.
    if sum(conversion.rows for conversion in conversions) < LEAST_ROWS:
        return {}
    views = _views_in_order()
    return {
        view.versioned: parts
        for view in views.values()
        if (parts := [part for how in storings(view) for part in _plan_parts(view, how, views, conversions)])
    }


def find_complete(warehouse: Path, planned: Plan) -> dict[str, StoredView]:
    """Return the planned views whose files all exist, by versioned name."""
    views = _views_in_order() if planned else {}
    found = {}
    for name, parts in planned.items():
        counts = {part: view_store.count_rows(warehouse, part.path) for part in parts}
        if None not in counts.values():
            base_tables = tuple(tables_read(views[name], views))
            found[name] = _describe_view(warehouse, counts, base_tables)
    return found


def list_paths(planned: Plan, names: Collection[str]) -> list[str]:
    """Return the planned files of the named views, sorted."""
    return sorted(part.path for name in names for part in planned[name])


def materialize(
    warehouse: Path,
    conversions: Sequence[Conversion],
    planned: Plan,
    progress: Progress,
    on_computed: Callable[[], None],
    compute_units: ComputeUnits | None = None,
) -> list[str]:
    """Compute the planned files that are missing, by `compute_units` or else in this process.

    Views that read few bytes come first. Calls `on_computed` after each view, or after each unit of
    `compute_units`. Reports `bytes_read` of each file as progress. Returns a note on each view that is still
    incomplete.
    """
    missing = [part for parts in planned.values() for part in parts if _is_missing(warehouse, part)]
    partitions = sorted({part.partition for part in missing}, key=lambda partition: partition or "")
    units = [
        Unit(warehouse, _of_partition(conversions, partition), planned, partition) for partition in partitions
    ]
    total = sum(part.bytes_read for part in missing)

    def report_bytes(more_bytes: int) -> None:
        progress(PROGRESS_LABEL, more_bytes, total)

    if missing:
        report_bytes(0)
    failures: dict[str, str] = {}
    # Views over all partitions may read files of views that were computed partition by partition.
    for batch in (
        [unit for unit in units if unit.partition is not _ALL],
        [unit for unit in units if unit.partition is _ALL],
    ):
        if compute_units is None:
            for unit in batch:
                failures |= compute_unit(unit, report_bytes, on_computed)
            continue
        for unit, failed in zip(batch, compute_units(batch), strict=True):
            failures |= failed
            report_bytes(sum(part.bytes_read for part in missing if part.partition == unit.partition))
            on_computed()
    complete = find_complete(warehouse, planned)
    return [
        f"{name} is not materialized, so that each query computes it: "
        f"{failures.get(name, 'its file is missing')}. The next `traces ingest` tries again"
        for name in planned
        if name not in complete
    ]


def compute_unit(
    unit: Unit, on_bytes: OnBytes = lambda _: None, on_computed: Callable[[], None] = lambda: None
) -> dict[str, str]:
    """Compute a unit in this process. Returns the failed views by versioned name, with reasons."""
    with closing(_connect(unit.warehouse)) as connection:
        return _compute_unit(connection, unit, on_bytes, on_computed)


def _views_in_order() -> dict[str, ViewFile]:
    """Return all released and draft views by their versioned names, each after the views that it reads."""
    views = {view.versioned: view for view in expanded(view_files())}
    return {one.versioned: one for view in views.values() for one in view_dependencies(view, views)}


def tables_read(view: ViewFile, views: Mapping[str, ViewFile]) -> list[str]:
    """The names of the tables that a view reads, directly or through other views, sorted."""
    return sorted(sources([view.versioned], {name: one.references for name, one in views.items()}))


def _bytes_read(view: ViewFile, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]) -> int:
    tables = tables_read(view, views)
    return sum(stored.bytes for one in conversions if one.table_name in tables for stored in one.files)


def _plan_parts(
    view: ViewFile, how: Storing, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]
) -> list[Part]:
    """Plan the files of a view; none if its base tables have few rows."""
    tables = tables_read(view, views)
    if catalog_tables := [name for name in tables if name.startswith("catalog.") and name != _CLOCKS]:
        raise DefinitionError(
            f"{view.path}: has a line `-- materialize:` and reads {catalog_tables[0]}, which builds refill"
        )
    read = [conversion for conversion in conversions if conversion.table_name in tables and conversion.files]
    if not read or sum(conversion.rows for conversion in read) < LEAST_ROWS:
        return []
    partitions = {conversion.partition for conversion in read} if how.per_partition else {_ALL}
    folder = f"{VIEWS_FOLDER}/{view.schema}/{view.versioned.split('.')[1]}"
    return [
        Part(
            how,
            partition,
            f"{folder}/{_hash_inputs(view, how, views, _of_partition(read, partition))}.parquet",
            _bytes_read(view, views, _of_partition(read, partition)),
        )
        for partition in sorted(partitions, key=str)
    ]


def _of_partition(conversions: Sequence[Conversion], partition: str | None) -> list[Conversion]:
    return [one for one in conversions if partition is _ALL or one.partition == partition]


def _hash_inputs(
    view: ViewFile, how: Storing, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]
) -> str:
    """Hash everything that decides the rows of a view over some conversions."""
    files = sorted(
        (one.table_name, one.partition, stored.sha256) for one in conversions for stored in one.files
    )
    statements = [(one.versioned, one.sha256) for one in view_dependencies(view, views)]
    clocks = [astuple(clock) for clock in ledgers.clocks()] if _CLOCKS in tables_read(view, views) else []
    inputs = json.dumps([statements, macros_hash(), how.cte, how.order, files, *clocks])
    return hashlib.sha256(inputs.encode()).hexdigest()[:_HASH_DIGITS]


def _is_missing(warehouse: Path, part: Part) -> bool:
    return view_store.count_rows(warehouse, part.path) is None


def _describe_view(
    warehouse: Path, counts: Mapping[Part, int | None], base_tables: tuple[str, ...]
) -> StoredView:
    """Describe a view whose files all exist. It reads the files with rows, or one file if all are empty."""
    by_cte: dict[str, list[Part]] = {}
    for part in counts:
        by_cte.setdefault(part.how.cte, []).append(part)
    facts = [(warehouse / part.path).stat() for part in counts]
    return StoredView(
        tuple(
            (cte, tuple([part.path for part in parts if counts[part]] or [parts[0].path]))
            for cte, parts in by_cte.items()
        ),
        sum(fact.st_size for fact in facts),
        datetime.fromtimestamp(max(fact.st_mtime for fact in facts), UTC).replace(tzinfo=None, microsecond=0),
        base_tables,
    )


def _connect(warehouse: Path) -> duckdb.DuckDBPyConnection:
    """Open a database in memory to compute views in, which spills into the staging folder."""
    # Several processes may compute at a time, and DuckDB gives its spill files the same names in each.
    spill = staging_folder(warehouse) / f"spill-of-views-{uuid.uuid4().hex}"
    connection = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(spill)})
    disable_async_writes(connection)
    connection.execute("set timezone = 'UTC'")
    connection.execute(macros_sql())
    return connection


def _compute_unit(
    connection: duckdb.DuckDBPyConnection, unit: Unit, on_bytes: OnBytes, on_computed: Callable[[], None]
) -> dict[str, str]:
    warehouse, partition = unit.warehouse, unit.partition
    views = _views_in_order()
    missing = {
        name: lacking
        for name, parts in unit.plan.items()
        if (lacking := [p for p in parts if p.partition == partition and _is_missing(warehouse, p)])
    }
    needed = {one.versioned: one for name in missing for one in view_dependencies(views[name], views)}
    conversions = _of_partition(unit.conversions, partition)
    _create_tables(connection, needed.values(), conversions, warehouse)
    bytes_read = {name: _bytes_read(view, views, conversions) for name, view in needed.items()}
    failures = {}
    # The sort is stable, and a view reads at least the bytes of each view that it reads: it comes after them.
    for name in sorted((name for name in views if name in needed), key=lambda name: bytes_read[name]):
        view, parts = needed[name], unit.plan.get(name, ())
        for part in missing.get(name, ()):
            query = view_query(view, _table_functions(warehouse, parts, partition), part.how.cte)
            if failure := _write_part(connection, warehouse, name, query, part):
                failures[name] = failure
            on_bytes(part.bytes_read)
            on_computed()
        create_view(connection, view, _table_functions(warehouse, parts, partition))
    return failures


def _create_tables(
    connection: duckdb.DuckDBPyConnection,
    views: Collection[ViewFile],
    conversions: Sequence[Conversion],
    warehouse: Path,
) -> None:
    """Create the tables that some views read, and the views' schemas."""
    read = {name for view in views for name in view.references}
    if _CLOCKS in read:
        catalog.create_catalog(connection)
        catalog.fill_clocks(connection)
    for schema in {view.schema for view in views}:
        connection.execute(f'create schema if not exists "{schema}"')
    for trace in all_traces().values():
        for table in trace.tables:
            if f"{trace.name}.{table.name}" in read:
                connection.execute(f'create schema if not exists "{trace.name}"')
                create_base_table(connection, trace, table, conversions, warehouse, materialize=False)


def _table_functions(warehouse: Path, parts: Sequence[Part], partition: str | None) -> dict[str, str]:
    """Return the table functions that read a view's CTEs over a partition, for CTEs whose files all exist."""
    by_cte: dict[str, list[Part]] = {}
    for part in parts:
        # A file over all partitions cannot replace the file of one partition.
        if partition is _ALL or part.partition == partition:
            by_cte.setdefault(part.how.cte, []).append(part)
    return {
        cte: read_parquet((part.path for part in found), warehouse)
        for cte, found in by_cte.items()
        if not any(_is_missing(warehouse, part) for part in found)
    }


def _write_part(
    connection: duckdb.DuckDBPyConnection, warehouse: Path, name: str, query: str, part: Part
) -> str:
    """Write the rows of a query to the file of a part. Returns the reason of a failure, or an empty text."""
    # The name is unique, because a process that is considered dead may still be writing.
    path = staging_folder(warehouse) / f"{name}-{uuid.uuid4().hex}.parquet"
    order = ", ".join(f'"{column}"' for column in part.how.order)
    footer = f"kv_metadata {{{view_store.PATH_IN_FOOTER}: {quoted(part.path)}}}"
    try:
        connection.execute(
            f"copy (from ({query}) order by {order}) to {quoted(str(path))} ({PARQUET_OPTIONS}, {footer})"
        )
        if mismatch := _find_type_mismatch(connection, query, path):
            return mismatch
        if shutil.disk_usage(warehouse).free < LEAST_FREE_BYTES:
            return "it would fill the disk. Free disk space"
        view_store.add(warehouse, stage(path, 0), part.path)
    except (duckdb.Error, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    finally:
        path.unlink(missing_ok=True)
    return ""


def _find_type_mismatch(connection: duckdb.DuckDBPyConnection, query: str, file: Path) -> str:
    """Describe a column whose type Parquet cannot represent; empty if there is none."""
    computed = connection.execute(f"describe {query}").fetchall()
    stored = connection.execute(f"describe from read_parquet({quoted(str(file))})").fetchall()
    for (name, kind, *_), (_, other, *_) in zip(computed, stored, strict=True):
        if kind != other:
            return f"Parquet stores its column {name} as {other} and not {kind}"
    return ""

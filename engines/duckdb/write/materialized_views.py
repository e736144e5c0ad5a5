"""Write the rows of expensive views to Parquet files, and write new files when the inputs change.

A view whose header has a line `-- materialize: parquet by machine, start_s` has one file, sorted by these
columns, or by all without `by`. With `parquet unsorted`, rows keep the order in which they are computed. With
`parquet per partition` it has a file for each partition of its base tables, and a new file only if that
partition changed: its rows must be the union of its rows over each. The file name is a hash of the view's
SQL, the SQL of the views that it reads and the files of its base tables, so that an existing file of that
name is always current. A view whose files cannot be written is computed on demand, like any other view.
"""

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path

import duckdb

from tracehouse.core.progress import Progress
from tracehouse.core.text import quoted
from tracehouse.definitions.across_traces import expanded
from tracehouse.definitions.dependencies import sort_views, sources, with_dependencies
from tracehouse.definitions.macros import macros_hash, macros_sql
from tracehouse.definitions.view_files import ViewFile
from tracehouse.engines.duckdb.read.sandbox import disable_async_writes
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import create_base_table, read_parquet
from tracehouse.engines.duckdb.write.template import read_built_views
from tracehouse.engines.duckdb.write.views import create_view
from tracehouse.ingest import memory
from tracehouse.ingest.declare.trace import all_clocks, all_traces
from tracehouse.ingest.store import view_store
from tracehouse.ingest.store.files import PARQUET_OPTIONS, stage
from tracehouse.ingest.store.integrity import OnBytes
from tracehouse.ingest.store.layout import VIEWS_FOLDER, staging_folder
from tracehouse.ingest.store.records import Conversion
from tracehouse.ingest.store.snapshot import Plan, PlannedFile, Snapshot, of_partition

# With fewer rows in the base tables, computing a view takes no longer than opening its file.
LEAST_ROWS = 400_000
# Of a column with more different values, such as names, DuckDB would build a dictionary and give it up.
_OPTIONS = f"{PARQUET_OPTIONS}, dictionary_size_limit 1000"
# Disk space that stays free for the database that is built next.
LEAST_FREE_BYTES = 64_000_000

PROGRESS_LABEL = "materialized views"

# The only catalog table that materialized views may read: its rows depend on the package alone.
_CLOCKS = "catalog.clocks"
# The `partition` of a file that is computed from all partitions.
_ALL = None
_HASH_DIGITS = 16
_RULE = re.compile(
    r"parquet(?P<parts> per partition)?(?P<unsorted> unsorted)?(?: by (?P<order>\w+(?:, \w+)*))?"
)


@dataclass(frozen=True)
class StorageRule:
    """The sort columns of a materialized view, if any, and whether it has a file for each partition."""

    order: tuple[str, ...]
    per_partition: bool


@dataclass(frozen=True)
class ViewTask:
    """Work for one process: the missing files over one partition of the base tables, None for all.

    The snapshot is that of the partition. `memory_bytes` is DuckDB's limit.
    """

    snapshot: Snapshot
    partition: str | None
    memory_bytes: int

    @property
    def bytes_read(self) -> int:
        """The size of the base tables' files that it reads, counted once for each file that it writes."""
        return sum(file.bytes_read for files in self.snapshot.missing.values() for file in files)


RunViewTasks = Callable[[Sequence[ViewTask], OnBytes], dict[str, str]]
"""Runs tasks that do not read each other's files. Returns the failed views with reasons."""


def plan(conversions: Sequence[Conversion]) -> Plan:
    """Plan the files of all views over some conversions."""
    # Reading the definitions takes longer than the rest of the build of a small warehouse.
    if sum(conversion.rows for conversion in conversions) < LEAST_ROWS:
        return {}
    views = _views_in_order()
    planned = {
        name: _plan_files(view, rule, views, conversions)
        for name, view in views.items()
        if (rule := storage_rule(view))
    }
    return {name: files for name, files in planned.items() if files}


def storage_rule(view: ViewFile) -> StorageRule | None:
    """Return the rule in the header of a view; None if the view is computed."""
    match = _RULE.fullmatch(view.header.one("materialize"))
    if match is None:
        return None
    order = match["order"].split(", ") if match["order"] else view.tree.expression.named_selects
    if match["unsorted"]:
        order = []
    return StorageRule(tuple(order), bool(match["parts"]))


def run_view_tasks_here(tasks: Sequence[ViewTask], on_bytes: OnBytes) -> dict[str, str]:
    """Run tasks in this process, one after the other. Returns the failed views with reasons."""
    failures: dict[str, str] = {}
    for task in tasks:
        failures |= run_view_task(task, on_bytes)
    return failures


def materialize(
    snapshot: Snapshot, progress: Progress, run_view_tasks: RunViewTasks = run_view_tasks_here
) -> dict[str, str]:
    """Compute the missing files of a snapshot. Returns the failed views with reasons.

    Reports `bytes_read` of each file as progress.
    """
    partitions = {file.partition for files in snapshot.missing.values() for file in files}
    memory_bytes = memory.limit_of_ingest()
    ordered = sorted(partitions, key=lambda one: one or "")
    tasks = [ViewTask(snapshot.of_partition(one), one, memory_bytes) for one in ordered]
    total = sum(task.bytes_read for task in tasks)

    def report_bytes(more_bytes: int) -> None:
        progress(PROGRESS_LABEL, more_bytes, total)

    report_bytes(0)
    failures = run_view_tasks([task for task in tasks if task.partition is not _ALL], report_bytes)
    # Views over all partitions may read files of views that were computed partition by partition.
    return failures | run_view_tasks([task for task in tasks if task.partition is _ALL], report_bytes)


def explain_missing(snapshot: Snapshot, failures: Mapping[str, str]) -> list[str]:
    """Return a note on each view of a snapshot that is not materialized."""
    return [
        f"{name} is not materialized, so that each query computes it: "
        f"{failures.get(name, 'its file is missing')}. The next `traces ingest` tries again"
        for name in snapshot.missing
    ]


def run_view_task(task: ViewTask, on_bytes: OnBytes = lambda _: None) -> dict[str, str]:
    """Run a task in this process. Returns the failed views by versioned name, with reasons."""
    warehouse, partition = task.snapshot.warehouse, task.partition
    views = _views_in_order()
    # A worker that is considered dead may have written some files of the same task.
    missing = {
        name: lacking
        for name, files in task.snapshot.missing.items()
        if (lacking := [one for one in files if _is_missing(warehouse, one)])
    }
    needed = [views[name] for name in _dependencies(missing, views)]
    failures = {}
    with closing(_connect(warehouse, task.memory_bytes)) as connection:
        _create_tables(connection, needed, task.snapshot)
        for view in needed:
            name = view.versioned
            create_view(connection, view, is_commented=False)
            for planned in missing.get(name, ()):
                if failure := _write_file(connection, warehouse, name, planned):
                    failures[name] = failure
                on_bytes(planned.bytes_read)
            # A file over all partitions cannot replace the file of one partition.
            own = [one for one in task.snapshot.planned.get(name, ()) if partition in (_ALL, one.partition)]
            if own and not any(_is_missing(warehouse, one) for one in own):
                files = read_parquet([one.path for one in own], warehouse)
                connection.execute(f"create or replace view {name} as from {files}")
    return failures


def _views_in_order() -> dict[str, ViewFile]:
    """Return the views of the database by their versioned names, each after the views that it reads."""
    return {view.versioned: view for view in sort_views(expanded(read_built_views()))}


def _dependencies(names: Iterable[str], views: Mapping[str, ViewFile]) -> list[str]:
    """Return views and the views that they read, directly or through others, each after its own."""
    reads = {name: view.references for name, view in views.items()}
    return [name for name in with_dependencies(names, reads) if name in views]


def _plan_files(
    view: ViewFile, rule: StorageRule, views: Mapping[str, ViewFile], conversions: Sequence[Conversion]
) -> list[PlannedFile]:
    """Plan the files of a view; none if its base tables have few rows."""
    tables = sources([view.versioned], {name: one.references for name, one in views.items()})
    read = [conversion for conversion in conversions if conversion.table_name in tables and conversion.files]
    if not read or sum(conversion.rows for conversion in read) < LEAST_ROWS:
        return []
    # Everything that decides the rows of a view, in addition to the files of its base tables.
    clocks = [(astuple(clock), names) for clock, names in all_clocks().items()] if _CLOCKS in tables else []
    statements = [(name, views[name].sha256) for name in _dependencies([view.versioned], views)]
    definition = [statements, macros_hash(), rule.order, *clocks]
    folder = f"{VIEWS_FOLDER}/{view.schema}/{view.versioned.split('.')[1]}"
    planned = []
    for partition in sorted({one.partition for one in read}) if rule.per_partition else [_ALL]:
        files = [
            (one.table_name, one.partition, stored.sha256, stored.bytes)
            for one in of_partition(read, partition)
            for stored in one.files
        ]
        path = f"{folder}/{_hash_inputs(definition, files)}.parquet"
        planned.append(PlannedFile(rule.order, partition, path, sum(file[-1] for file in files)))
    return planned


def _hash_inputs(definition: Sequence[object], files: Iterable[tuple]) -> str:
    inputs = json.dumps([definition, sorted(files)])
    return hashlib.sha256(inputs.encode()).hexdigest()[:_HASH_DIGITS]


def _is_missing(warehouse: Path, planned: PlannedFile) -> bool:
    return view_store.count_rows(warehouse, planned.path) is None


def _connect(warehouse: Path, memory_bytes: int) -> duckdb.DuckDBPyConnection:
    """Open a database in memory to compute views in, which spills into the staging folder."""
    # Several processes may compute at a time, and DuckDB gives its spill files the same names in each.
    spill = staging_folder(warehouse) / f"spill-of-views-{uuid.uuid4().hex}"
    connection = duckdb.connect(config={"memory_limit": f"{memory_bytes}B", "temp_directory": str(spill)})
    disable_async_writes(connection)
    connection.execute("set timezone = 'UTC'")
    connection.execute(macros_sql())
    return connection


def _create_tables(
    connection: duckdb.DuckDBPyConnection, views: Collection[ViewFile], snapshot: Snapshot
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
                create_base_table(connection, trace, table, snapshot, embed_tables=False)


def _write_file(
    connection: duckdb.DuckDBPyConnection, warehouse: Path, name: str, planned: PlannedFile
) -> str:
    """Write the rows of a view to a planned file. Returns the reason of a failure, or an empty text."""
    # The name is unique, because a process that is considered dead may still be writing.
    path = staging_folder(warehouse) / f"{name}-{uuid.uuid4().hex}.parquet"
    order = ", ".join(f'"{column}"' for column in planned.order)
    rows = f"from {name} order by {order}" if order else f"from {name}"
    footer = f"kv_metadata {{{view_store.PATH_IN_FOOTER}: {quoted(planned.path)}}}"
    try:
        connection.execute(f"copy ({rows}) to {quoted(str(path))} ({_OPTIONS}, {footer})")
        if shutil.disk_usage(warehouse).free < LEAST_FREE_BYTES:
            return "it would fill the disk. Free disk space"
        view_store.add(warehouse, stage(path, 0), planned.path)
    except (duckdb.Error, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    finally:
        path.unlink(missing_ok=True)
    return ""

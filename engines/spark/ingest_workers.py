"""Convert raw files and compute materialized views on the workers of a Spark cluster.

Each table, or partition of a table, is a task: it reads raw files, writes Parquet to a file system that all
nodes share, and returns its result to this process, which publishes it. Spark repeats the task of a lost
worker; the repeated task finds its finished conversions in the journal. Views over a partition are tasks too.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.sandbox import scratch_folder
from tracehouse.engines.duckdb.write.database import Workers
from tracehouse.engines.duckdb.write.materialized_views import ViewTask, run_view_task
from tracehouse.engines.spark.session import explain_errors, open_session
from tracehouse.ingest.convert.incremental import TaskResult, run_task
from tracehouse.ingest.convert.raw_file import Task
from tracehouse.ingest.memory import WORKER_BYTES
from tracehouse.ingest.store.integrity import OnBytes
from tracehouse.ingest.store.records import Journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def on_cluster(master: str) -> Iterator[Workers]:
    """Connect to a cluster, and disconnect at the end of the block. Yields the result of `create_workers`."""
    with scratch_folder() as scratch, open_session(master, scratch, {}) as session:
        yield create_workers(session)


def create_workers(session: "SparkSession") -> Workers:
    """Return functions that do the work of an ingest on the workers of a session."""
    return Workers(partial(run_tasks, session), partial(run_view_tasks, session))


def run_tasks(session: "SparkSession", tasks: Sequence[Task], _: Journal, __: Event) -> list[TaskResult]:
    """Run the tasks of an ingest on the workers, and return their results in order.

    Raises UserError if the warehouse is not writable or the cluster fails.
    """
    if not tasks:
        return []
    # The largest tasks run first, so that none of them starts last. One task more than cores is submitted, so
    # that no core waits for the next.
    order = sorted(range(len(tasks)), key=lambda number: _sum_bytes(tasks[number]), reverse=True)
    with ThreadPoolExecutor(session.sparkContext.defaultParallelism + 1) as pool:
        futures = {number: pool.submit(_submit, session, tasks[number]) for number in order}
        return [futures[number].result() for number in range(len(tasks))]


def _submit(session: "SparkSession", task: Task) -> TaskResult:
    warehouse = task.warehouse.absolute()
    sent = replace(task, on_bytes=_ignore_bytes, warehouse=warehouse, memory_bytes=WORKER_BYTES)
    with explain_errors():
        [result] = session.sparkContext.parallelize([sent], 1).map(_run).collect()
    if isinstance(result, UserError):
        raise result
    task.on_bytes(_sum_bytes(task))
    return result


def _run(task: Task) -> TaskResult | UserError:
    """Run a task on a worker. Returns a UserError, because Spark would repeat a task that raises it."""
    try:
        return run_task(task, Journal(task.warehouse))
    except UserError as error:
        return error


def run_view_tasks(session: "SparkSession", tasks: Sequence[ViewTask], on_bytes: OnBytes) -> dict[str, str]:
    """Run the tasks of materialized views on the workers, and return the failed views with reasons.

    Raises UserError if the cluster fails.
    """
    if not tasks:
        return {}
    sent = [replace(task, memory_bytes=WORKER_BYTES) for task in tasks]
    with explain_errors():
        failures = session.sparkContext.parallelize(sent, len(sent)).map(run_view_task).collect()
    on_bytes(sum(task.bytes_read for task in tasks))
    return {name: reason for failed in failures for name, reason in failed.items()}


def _sum_bytes(task: Task) -> int:
    return sum(matched.raw.bytes for matched in task.matched_files)


def _ignore_bytes(more_bytes: int) -> None:
    """Ignore the bytes that a worker reads: this process reports all bytes of a task when it ends."""

"""Does the work of an ingest on the workers of a Spark cluster: conversions, and then stored views.

Each table, or partition of one, is a task by itself: it reads raw files and writes Parquet on a file system
that all nodes share, and gives its account to this process, which publishes. A task of a lost worker is done
again by another; what it had finished it finds in the journal. So it is with the views over a partition that
are stored.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.sandbox import scratch_folder
from tracehouse.engines.duckdb.write.database import Workers
from tracehouse.engines.duckdb.write.materialized_views import Unit, make_unit
from tracehouse.engines.spark.session import errors_explained, opened
from tracehouse.ingest.convert.incremental import Steps, Task, bring_up_to_date

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def on_cluster(master: str) -> Iterator[Workers]:
    """Give what does the work of an ingest on a cluster, which is let go at the end."""
    with scratch_folder() as scratch, opened(master, scratch, {}) as session:
        yield workers_of(session)


def workers_of(session: "SparkSession") -> Workers:
    """What does the work of an ingest on the workers of a session."""
    return Workers(partial(run_on_spark, session), partial(make_on_spark, session))


def run_on_spark(session: "SparkSession", tasks: Sequence[Task], warehouse: Path, _: Event) -> list[Steps]:
    """Do the tasks of an ingest on the workers, and return their outcomes in order.

    Raises UserError where the warehouse cannot be written to, or the cluster fails.
    """
    if not tasks:
        return []
    # The largest first, so that none is left for the end; as many as there are cores, and one to wait.
    order = sorted(range(len(tasks)), key=lambda place: _bytes(tasks[place]), reverse=True)
    with ThreadPoolExecutor(session.sparkContext.defaultParallelism + 1) as pool:
        futures = {place: pool.submit(_run, session, tasks[place]) for place in order}
        return [futures[place].result() for place in range(len(tasks))]


def _run(session: "SparkSession", task: Task) -> Steps:
    sent = replace(task, on_bytes=_nothing, warehouse=task.warehouse.absolute())
    with errors_explained():
        [outcome] = session.sparkContext.parallelize([sent], 1).map(_done).collect()
    if isinstance(outcome, UserError):
        raise outcome
    task.on_bytes(_bytes(task))
    return outcome


def _done(task: Task) -> Steps | UserError:
    """Do a task, on a worker. An error is returned, not raised: Spark would only try again."""
    try:
        return bring_up_to_date(task)
    except UserError as error:
        return error


def make_on_spark(session: "SparkSession", units: Sequence[Unit]) -> list[dict[str, str]]:
    """Make the units of stored views on the workers. Raises UserError where the cluster fails."""
    if not units:
        return []
    with errors_explained():
        return session.sparkContext.parallelize(units, len(units)).map(make_unit).collect()


def _bytes(task: Task) -> int:
    return sum(claim.raw.bytes for claim in task.claims)


def _nothing(_: int) -> None:
    """Bytes that a worker reads, which nobody sees."""

"""If a worker of a cluster is killed, its work is repeated, and the result is the same."""

import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import suites
from command_line import TIMEOUT_S
from few_files import quiet
from spark_cluster import Cluster, running_cluster

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.store import records
from tracehouse.samples import dumps

pytestmark = suites.of("cluster")

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
# A cross join that keeps a core busy for some seconds.
LONG = """
    select sum(cast(one.start_time < other.end_time as bigint)) as pairs
    from pai.instance as one cross join pai.instance as other
"""


@pytest.fixture
def own_cluster(java: None, tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path) as cluster:
        yield cluster


def wait_for(condition: Callable[[], bool], running: subprocess.Popen) -> None:
    end_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert running.poll() is None and time.monotonic() < end_s, running.communicate()
        time.sleep(0.02)


def busy_workers(folder: Path) -> list[int]:
    """Return the numbers of the workers that have an unfinished task."""
    logs = {
        int(log.parts[-4].removeprefix("work")): log.read_text(encoding="utf-8", errors="replace")
        for log in folder.glob("work*/app-*/*/stderr")
    }
    return [
        worker for worker, log in logs.items() if log.count("Running task ") > log.count("Finished task ")
    ]


def start_traces(*arguments: object) -> subprocess.Popen:
    command = [str(part) for part in (TRACES, *arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


def test_ingest_survives_a_killed_worker(own_cluster: Cluster, tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    dumps.write_sample(raw, 0.02, 3, ["pai", "itp", "openb", "zeus"], quiet)
    running = start_traces(
        *("ingest", "--raw", raw, "--warehouse", warehouse),
        *("--engine", "spark", "--master", own_cluster.url),
    )
    # Wait until one table is finished. Both workers then read others.
    wait_for(lambda: bool(records.read_finished(warehouse)), running)
    own_cluster.kill(0)
    assert running.poll() is None
    _, errors = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == 0, errors
    alone = tmp_path / "alone"
    assert not database.ingest([raw], alone, [], quiet).problems
    assert records.read(warehouse).conversions == records.read(alone).conversions
    found = {path.relative_to(warehouse) for path in (warehouse / "parquet").rglob("*.parquet")}
    assert found == {path.relative_to(alone) for path in (alone / "parquet").rglob("*.parquet")}


def test_query_survives_a_killed_worker(own_cluster: Cluster, sample_warehouse: Path, tmp_path: Path) -> None:
    running = start_traces(
        *("sql", LONG, "--warehouse", sample_warehouse, "--format", "csv"),
        *("--engine", "spark", "--master", own_cluster.url),
    )
    wait_for(lambda: bool(busy_workers(tmp_path)), running)
    own_cluster.kill(busy_workers(tmp_path)[0])
    assert running.poll() is None
    answer, errors = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == 0, errors
    with duckdb.connect(str(sample_warehouse / database.DATABASE), read_only=True) as connection:
        [(pairs,)] = connection.execute(LONG).fetchall()
    assert answer == f"pairs\n{pairs}\n"

"""Tests of readers while the database is replaced."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write import database

NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)


def publish(version: int, folder: Path) -> Path:
    """Ingest raw files whose counts and sums differ between versions."""
    raw, warehouse = folder / "raw", folder / "warehouse"
    raw.mkdir(exist_ok=True)
    nodes = (f"n{n},{1000 * version},64,0,\n" for n in range(10 + version))
    pods = (f"p{n},{version},64,1,1000,,LS,Running,0,9,0\n" for n in range(20 + version))
    (raw / "openb_node_list_all_node.csv").write_text(NODES + "".join(nodes), encoding="utf-8")
    (raw / "openb_pod_list_default.csv").write_text(PODS + "".join(pods), encoding="utf-8")
    outcome = database.ingest([raw], warehouse, [], lambda *_: None)
    assert not outcome.problems
    assert len(outcome.converted) == 2
    return warehouse


def test_open_connection_keeps_version_until_vacuum(tmp_path: Path) -> None:
    path = publish(1, tmp_path) / database.DATABASE
    question = "select count(*), sum(cpu_milli) from openb.node"
    with duckdb.connect(str(path), read_only=True) as connection:
        for version in (2, 3, 4):
            assert connection.execute(question).fetchall() == [(11, 11_000)]
            publish(version, tmp_path)
            # While a connection is open, a new one of this process reuses the database that it opened.
            with duckdb.connect(str(path), read_only=True) as another:
                assert another.execute(question).fetchall() == [(11, 11_000)]
        assert len(database.vacuum(path.parent, 0, 0)[0]) == 6
        # The files are deleted. The connection must fail, and must not read other files.
        with pytest.raises(duckdb.IOException, match="No files found"):
            connection.execute(question).fetchall()
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute(question).fetchall() == [(14, 56_000)]


WRITER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("create table mine as select 1 as i")
print("written", flush=True)
sys.stdin.read()
"""


def test_client_that_writes(sample_warehouse: Path, tmp_path: Path, run: Callable, traces: Path) -> None:
    """An error names the client; the next version is not opened with the write-ahead log of the client."""
    warehouse = tmp_path / "warehouse"
    shutil.copytree(sample_warehouse, warehouse)
    command = [sys.executable, "-c", WRITER, warehouse / database.DATABASE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as writer:
        assert writer.stdout and writer.stdout.readline() == "written\n"
        done = run([traces, "list", "traces", "--warehouse", warehouse], check=False)
        writer.kill()
    assert done.returncode == 1 and done.stderr.startswith("error: ") and str(writer.pid) in done.stderr
    database.build(warehouse)
    path = warehouse / database.DATABASE
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select count(*) from itp.job").fetchall() != [(0,)]

"""A warehouse is registered once in a persistent catalog. Clients of a Thrift server can then query it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import suites
from spark_cluster import free_port, home, wait_for_line

from tracehouse.engines.duckdb.write.database import DATABASE

pytestmark = suites.of("cluster")

REGISTER = """
import sys
from pyspark.sql import SparkSession
from tracehouse.spark import register
builder = SparkSession.builder.master("local[2]").enableHiveSupport()
for pair in sys.argv[2:]:
    builder = builder.config(*pair.split("=", 1))
session = builder.getOrCreate()
for _ in range(2):
    print(len(register(session, sys.argv[1])))
"""


@pytest.fixture(scope="module")
def server(java: None, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Thrift server. Another process registered a warehouse in its metastore."""
    folder, port = tmp_path_factory.mktemp("metastore"), free_port()
    settings = [
        "spark.ui.enabled=false",
        "spark.log.level=WARN",
        f"spark.sql.warehouse.dir={folder}/tables",
        f"spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName={folder}/metastore;create=true",
        f"spark.driver.extraJavaOptions=-Dderby.system.home={folder} -Dderby.system.durability=test",
    ]
    command = [sys.executable, "-c", REGISTER, str(sample_warehouse), *settings]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    first, again = done.stdout.split()
    assert first == again
    log = folder / "server.log"
    options = [option for setting in settings[2:] for option in ("--conf", setting)]
    with log.open("wb") as out:
        running = subprocess.Popen(
            [
                *(home() / "bin" / "spark-submit", "--master", "local[2]", *options),
                *("--conf", "spark.ui.enabled=false"),
                *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"),
                *("--hiveconf", f"hive.server2.thrift.port={port}"),
                *("--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1", "spark-internal"),
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"SPARK_HOME": str(home())},
        )
    try:
        wait_for_line(log, "HiveThriftServer2 started", running)
        yield f"jdbc:hive2://127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


def run_beeline(server: str, statement: str) -> list[str]:
    command = [
        home() / "bin" / "beeline",
        "-u",
        server,
        "-n",
        "reader",
        "--outputformat=csv2",
        "-e",
        statement,
    ]
    environment = os.environ | {"SPARK_HOME": str(home())}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment)
    return done.stdout.strip().splitlines()


def test_a_named_query_is_a_table_function(server: str, sample_warehouse: Path) -> None:
    _, *lines = run_beeline(server, "select gpu_type, tasks from pai.wait_by_gpu_type(min_gpus => 1)")
    with duckdb.connect(str(sample_warehouse / DATABASE), read_only=True) as connection:
        rows = connection.execute(
            "select gpu_type, tasks from pai.wait_by_gpu_type(min_gpus := 1)"
        ).fetchall()
    assert lines == [f"{gpu_type},{tasks}" for gpu_type, tasks in rows]
    assert lines


def test_tables_views_and_the_catalog_have_their_rows(server: str, sample_warehouse: Path) -> None:
    statement = """
        select (select count(*) from itp.job), (select count(*) from itp.job_v1),
            (select count(*) from acme.gpu_metric), (select count(*) from catalog.columns)
    """
    with duckdb.connect(str(sample_warehouse / DATABASE), read_only=True) as connection:
        [counts] = connection.execute(statement).fetchall()
    assert run_beeline(server, statement)[1] == ",".join(map(str, counts))


def test_functions_and_columns_have_comments(server: str) -> None:
    function = "\n".join(run_beeline(server, "describe function extended pai.wait_by_gpu_type"))
    assert "min_gpus DOUBLE DEFAULT" in function
    assert "smallest number of requested GPUs per instance" in function
    assert "Median queueing delay" in function
    columns = "\n".join(run_beeline(server, "describe itp.job"))
    assert "Submission, counted from the start of the collection" in columns

"""Spark sessions of the command line. Requirements are checked, errors are one line, Spark prints nothing."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import suites
from command_line import TIMEOUT_S, TRACES

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.names import LOCAL
from tracehouse.engines.spark.runner import build_call
from tracehouse.engines.spark.session import explain_errors, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADVICE = (
    "Install Java 17 or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME"
)
PATH = os.environ["PATH"]
CLUSTER = {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}

START = """
import os, sys
from pathlib import Path
from tracehouse.engines.spark.session import explain_errors, open_session
from tracehouse.core.errors import UserError
try:
    with open_session(sys.argv[1], Path(sys.argv[2]), {}):
        print("opened")
except UserError as error:
    print(type(error).__name__, error, sep=": ")
"""

WORK = """
import os, sys
from pathlib import Path
from tracehouse.engines.spark.session import explain_errors, open_session
from tracehouse.core.errors import UserError

def failing(number):
    print("a worker speaks", flush=True)
    os.write(2, b"and complains")
    return 1 / number

def output(work):
    try:
        with explain_errors():
            print(work())
    except UserError as error:
        print("error:", error)

with open_session("local[2]", Path(sys.argv[1]), {"spark.sql.shuffle.partitions": "2"}) as spark:
    output(lambda: spark.sql("select id % 2 as x, count(*) from range(4) group by all").toArrow().num_rows)
    output(lambda: spark.sql("select 1 as x union all select 2 order by x").collect()[1].x)
    output(lambda: spark.sql("selec 1"))
    output(lambda: spark.sql("select nothing"))
    output(lambda: spark.sql("select * from nowhere.nothing"))
    output(lambda: spark.sql("select 1 / (id - id) from range(4)").toArrow())
    output(lambda: spark.read.parquet("/nowhere"))
    output(lambda: spark.sparkContext.parallelize([1, 0], 2).map(failing).collect())
print("stopped")
"""


def run(script: str, *arguments: object) -> subprocess.CompletedProcess:
    # With these variables, Spark would look for a configured cluster.
    variables = {key: value for key, value in os.environ.items() if key not in CLUSTER}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(
        command, env=variables, capture_output=True, encoding="utf-8", timeout=TIMEOUT_S, check=False
    )


def refusal(master: str, scratch: Path) -> UserError:
    with pytest.raises(UserError) as refused, open_session(master, scratch, {}):
        pass
    assert "\n" not in str(refused.value)
    return refused.value


@pytest.fixture
def pyspark() -> None:
    pytest.importorskip("pyspark")


@pytest.fixture
def fake_java(tmp_path: Path, pyspark: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A function that installs a script as `java`, in the only folder of the path."""

    def put(script: str) -> Path:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
        monkeypatch.setenv("PATH", str(java.parent))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        return java

    return put


def test_missing_package_gets_install_command(tmp_path: Path) -> None:
    done = run(f"import sys; sys.modules['pyspark'] = None\n{START}", LOCAL, tmp_path)
    assert done.stdout == (
        "UserError: Spark needs pyspark, which is not installed. It comes with the extra spark: "
        "pip install '.[spark]' in the clone of Tracehouse\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_java_that_is_missing_old_or_broken_gets_advice(
    fake_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = fake_java("")
    for script, problem in (
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", f"{java}: Java 11 is too old for Spark"),
        ("echo 'java version \"1.8.0_201\"' >&2", f"{java}: Java 8 is too old for Spark"),
        ("echo 'no version' >&2", f"{java}: `java -version` prints no version"),
        (r"printf '\377' >&2", f"{java}: `java -version` prints no version"),
        ("exit 1", f"{java}: Java does not start ("),
        ("kill -9 $$", f"{java}: Java does not start ("),
    ):
        java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        error = refusal(LOCAL, tmp_path)
        assert type(error) is UserError
        assert str(error).startswith(problem) and ADVICE in str(error)
    java.chmod(0o644)
    assert str(refusal(LOCAL, tmp_path)).startswith(f"Spark needs Java, which was not found. {ADVICE}")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert str(refusal(LOCAL, tmp_path)).startswith(f"{tmp_path}/nowhere/bin/java: Java does not start (")


@suites.of("spark")
def test_signal_while_java_starts_leaves_nothing(
    fake_java: Callable[[str], Path], fixture_warehouse: Path, tmp_path: Path
) -> None:
    # This Java waits for its standard input to end, as Spark's does.
    java = fake_java('[ "$1" = -version ] && echo \'version "17"\' >&2 || exec /bin/cat')
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        [TRACES, "sql", "select 1", "--engine", "spark", "--warehouse", fixture_warehouse],
        env=os.environ | {"TMPDIR": str(temporary), "JAVA_HOME": str(java.parent.parent), "PATH": PATH},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    # PySpark creates this folder before it starts Java.
    while not list(temporary.rglob("tmp*")):
        assert running.poll() is None
        time.sleep(0.05)
    running.terminate()
    _, errors = running.communicate(timeout=TIMEOUT_S)
    assert (running.returncode, errors) == (128 + signal.SIGTERM, "")
    assert list(temporary.iterdir()) == []


def test_accepts_a_java_that_is_new_enough(fake_java: Callable[[str], Path], tmp_path: Path) -> None:
    java = fake_java("")
    for lines in (
        'openjdk version "17.0.15" 2025-04-15',
        'java version "21" 2023-09-19 LTS',
        'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea"\nOpenJDK Runtime Environment',
    ):
        java.write_text(f"#!/bin/sh\necho '{lines}' >&2\n", encoding="utf-8")
        assert "--master must be" in str(refusal("foo", tmp_path))


def test_errors_of_masters(java: None, tmp_path: Path) -> None:
    for master in ("", "foo", "spark://", "spark://host:", "spark://host:port", "spark://a:1,b", "local[]"):
        error = refusal(master, tmp_path)
        assert type(error) is UsageError
        expected = f"--master must be local[N], spark://HOST:PORT, yarn or k8s://…, not {master!r}"
        assert str(error) == expected
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for master in (f"spark://127.0.0.1:{port}", f"spark://127.0.0.1:{port},localhost:{port}"):
        assert str(refusal(master, tmp_path)).startswith(f"no Spark master answers at {master}. Start one")


def test_failed_start_gets_reason_in_one_line(java: None, tmp_path: Path) -> None:
    for master, reason in (("yarn", "HADOOP_CONF_DIR or YARN_CONF_DIR must be set"), ("local[foo]", "foo")):
        done = run(START, master, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        [line] = done.stdout.splitlines()
        assert line.startswith(f"UserError: Spark does not start at {master}: ") and reason in line


def test_spark_prints_nothing(java: None, tmp_path: Path) -> None:
    done = run(WORK, tmp_path)
    assert done.stderr == ""
    assert done.returncode == 0
    *lines, last = done.stdout.splitlines()
    assert lines[:2] == ["2", "2"]
    assert last == "stopped"
    for error, words in zip(
        lines[2:],
        [
            "PARSE_SYNTAX_ERROR",
            "`nothing`",
            "TABLE_OR_VIEW_NOT_FOUND",
            "DIVIDE_BY_ZERO",
            "/nowhere",
            "a worker of Spark failed: ZeroDivisionError: division by zero",
        ],
        strict=True,
    ):
        assert error.startswith("error: ")
        assert words in error


def test_reports_death_of_worker_in_one_line(spark: "SparkSession") -> None:
    with pytest.raises(UserError) as failed, explain_errors():
        spark.sparkContext.parallelize([0], 1).map(lambda _: os._exit(1)).collect()
    assert "An error occurred while calling" not in str(failed.value)
    assert len(str(failed.value).splitlines()) == 1


KILL = """
import os, sys, time
from pathlib import Path
from tracehouse.engines.spark.session import end_java, open_session
with open_session("local[2]", Path(sys.argv[1]), {}) as spark:
    spark.sparkContext.parallelize([1], 1).map(abs).collect()
    end_java()
    # PySpark's threads notice it.
    time.sleep(2)
    os._exit(7)
"""


def test_a_killed_java_prints_nothing(java: None, tmp_path: Path) -> None:
    done = run(KILL, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_spark_substitutes_no_variables(spark: "SparkSession") -> None:
    [row] = spark.sql("select '${system:java.version}' as x").collect()
    assert row.x == "${system:java.version}"


def test_call_of_a_name_selects_its_rows() -> None:
    assert build_call("itp.job_v1", {}) == "select * from itp.job_v1"
    assert build_call("itp.gpu_hours", {}) == "select * from itp.gpu_hours()"
    values = {"min_gpus": 8, "on": True, "a": 0.5, "b": "' or 1 = 1 --", "c": "\\"}
    assert build_call("itp.gpu_hours", values) == (
        "select * from itp.gpu_hours(min_gpus => 8, on => TRUE, a => 0.5, "
        r"b => '\' or 1 = 1 --', c => '\\')"
    )

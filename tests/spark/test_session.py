"""Spark sessions of the command line. Requirements are checked, errors are one line, Spark prints nothing."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import TIMEOUT_S
from spark_tests import in_full

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.names import LOCAL
from tracehouse.engines.spark.guard import check_statement
from tracehouse.engines.spark.session import explain_errors, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADVICE = (
    "Install Java 17 or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME"
)
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
        command, env=variables, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
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
        java.write_text(f"#!/bin/sh\n{script}\n")
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


def test_missing_java_gets_advice(pyspark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    error = refusal(LOCAL, tmp_path)
    assert type(error) is UserError
    assert str(error).startswith(f"Spark needs Java, which was not found. {ADVICE}")


@pytest.mark.parametrize(
    ("lines", "version"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "11"),
        ('java version "1.8.0_201"', "8"),
        ('openjdk version "16" 2021-03-16', "16"),
        ("no version", "no version"),
    ],
)
def test_names_a_java_that_is_too_old(
    lines: str, version: str, fake_java: Callable[[str], Path], tmp_path: Path
) -> None:
    java = fake_java(f"echo '{lines}' >&2")
    error = refusal(LOCAL, tmp_path)
    assert type(error) is UserError
    assert str(error).startswith(f"{java}: Java {version} is too old for Spark. {ADVICE}")


@pytest.mark.parametrize(
    "lines",
    [
        'openjdk version "17.0.15" 2025-04-15',
        'java version "21" 2023-09-19 LTS',
        'openjdk version "25-ea" 2025-09-16',
        'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17"\nOpenJDK Runtime Environment',
    ],
)
def test_accepts_a_java_that_is_new_enough(
    lines: str, fake_java: Callable[[str], Path], tmp_path: Path
) -> None:
    fake_java(f"echo '{lines}' >&2")
    assert "--master must be" in str(refusal("foo", tmp_path))


@pytest.mark.parametrize("script", ["exit 1", "echo 'no libjvm.so' >&2; exit 127", "kill -9 $$"])
def test_names_a_java_that_fails(script: str, fake_java: Callable[[str], Path], tmp_path: Path) -> None:
    java = fake_java(script)
    error = refusal(LOCAL, tmp_path)
    assert type(error) is UserError
    assert str(error).startswith(f"{java}: Java does not start (")
    assert ADVICE in str(error)


def test_java_without_execute_permission_is_named(fake_java: Callable[[str], Path], tmp_path: Path) -> None:
    fake_java("").chmod(0o644)
    assert f"which was not found. {ADVICE}" in str(refusal(LOCAL, tmp_path))


def test_reports_failure_of_java_in_one_line(fake_java: Callable[[str], Path], tmp_path: Path) -> None:
    fake_java("echo 'one line' >&2; echo 'another' >&2")
    refusal(LOCAL, tmp_path)


def test_java_home_comes_before_the_path(
    fake_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java("echo 'openjdk version \"21\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    error = refusal(LOCAL, tmp_path)
    assert type(error) is UserError
    assert str(error).startswith(f"{tmp_path}/nowhere/bin/java: Java does not start (")
    assert ADVICE in str(error)


@pytest.mark.parametrize(
    "master",
    [
        *("", "foo", "spark://", "spark://host", "spark://host:", "spark://:7077", "spark://host:port"),
        *(
            "spark://host:7077/",
            "spark://a:1,b",
            "http://host:7077",
            "local[]",
            "local[2",
            "local(2)",
            "LOCAL",
        ),
        *("local[2] ", "yarn-cluster", "k8s://", "mesos://host:5050"),
    ],
)
def test_error_lists_the_valid_forms_of_a_master(master: str, java: None, tmp_path: Path) -> None:
    error = refusal(master, tmp_path)
    assert type(error) is UsageError
    assert str(error) == f"--master must be local[N], spark://HOST:PORT, yarn or k8s://…, not {master!r}"


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("places", ["127.0.0.1:{0}", "127.0.0.1:{0},localhost:{0}"])
def test_master_without_response_gets_advice(
    places: str, closed_port: int, java: None, tmp_path: Path
) -> None:
    master = f"spark://{places.format(closed_port)}"
    error = refusal(master, tmp_path)
    assert type(error) is UserError
    assert str(error).startswith(f"no Spark master answers at {master}. Start one there, ")
    assert "--master, or omit it to use this machine" in str(error)


def test_reports_invalid_port(java: None, tmp_path: Path) -> None:
    assert "99999999999999999999" in str(refusal("spark://localhost:99999999999999999999", tmp_path))


def start_error(master: str, scratch: Path) -> str:
    done = run(START, master, scratch)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    return done.stdout


@in_full
def test_failed_start_gets_reason_in_one_line(java: None, tmp_path: Path) -> None:
    lines = start_error("yarn", tmp_path)
    assert lines.startswith("UserError: Spark does not start at yarn: ")
    assert "either HADOOP_CONF_DIR or YARN_CONF_DIR must be set" in lines


@in_full
def test_failed_session_gets_reason_in_one_line(java: None, tmp_path: Path) -> None:
    lines = start_error("local[foo]", tmp_path)
    assert lines.startswith("UserError: Spark does not start at local[foo]: ")
    assert "An error occurred while calling" not in lines


@in_full
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


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("selec 1", "PARSE_SYNTAX_ERROR"),
        ("select\nnothing", "UNRESOLVED_COLUMN"),
        ("select 1 / 0", "DIVIDE_BY_ZERO"),
        ("select raise_error('one line\nand another')", "one line"),
        ("select * from parquet.`/nowhere`", "/nowhere"),
    ],
)
def test_reports_failed_statement_in_one_line(statement: str, lines: str, spark: "SparkSession") -> None:
    with pytest.raises(UserError) as failed, explain_errors():
        spark.sql(statement).toArrow()
    assert lines in str(failed.value)
    assert len(str(failed.value).splitlines()) == 1


def error_of_worker(spark: "SparkSession", work: Callable[[int], Any]) -> str:
    with pytest.raises(UserError) as failed, explain_errors():
        spark.sparkContext.parallelize([0], 1).map(work).collect()
    assert len(str(failed.value).splitlines()) == 1
    return str(failed.value)


@in_full
def test_reports_error_of_worker_in_one_line(spark: "SparkSession") -> None:
    assert (
        error_of_worker(spark, lambda x: 1 / x)
        == "a worker of Spark failed: ZeroDivisionError: division by zero"
    )
    assert error_of_worker(spark, lambda x: int("x" * (x + 1))).startswith(
        "a worker of Spark failed: ValueError: "
    )


@in_full
def test_reports_death_of_worker(spark: "SparkSession") -> None:
    assert "An error occurred while calling" not in error_of_worker(spark, lambda _: os._exit(1))


def test_other_errors_are_not_explained(pyspark: None) -> None:
    with pytest.raises(ZeroDivisionError), explain_errors():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "text",
    [
        "select 1 as x -- *${system:file.separator}, reflect('java.lang.Math', 'random') --",
        "select 1 as x /* *${system:file.separator}, reflect('java.lang.Math', 'random') -- */",
        "select /*+ a b *${system:file.separator} reflect('java.lang.Math', 'random'), "
        "${system:file.separator}* */ 1 as x",
    ],
)
def test_spark_runs_the_checked_text(text: str, spark: "SparkSession") -> None:
    with suppress(UserError):
        assert spark.sql(check_statement(spark, text).sql).columns == ["x"]


def test_spark_substitutes_no_variables(spark: "SparkSession") -> None:
    assert [row.x for row in spark.sql("select '${system:java.version}' as x").collect()] == [
        "${system:java.version}"
    ]

"""`traces query` and `traces sql` on Spark: output and caveats as on DuckDB, and errors of one line."""

import os
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import suites
from command_line import TIMEOUT_S

TRACES = Path(sysconfig.get_path("scripts")) / "traces"

pytestmark = suites.of("spark")


def nightly(*cases: object) -> list:
    """Return cases that only `make spark-cluster-test` tries: each starts Spark, which takes ten seconds."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=suites.of("cluster"))
        for case in cases
    ]


def traces(warehouse: Path, *arguments: object) -> subprocess.CompletedProcess:
    command = [str(part) for part in (TRACES, *arguments, "--warehouse", warehouse)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=TIMEOUT_S, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["pai.wait_by_gpu_type", "-p", "min_gpus=1", "--format", "table"],
        *nightly(
            ["itp.gpu_hours", "-p", "min_gpus=8", "--format", "table"],
            ["unified.hour_profile", "--format", "json"],
            ["openb.capacity_by_model", "--limit", "3"],
            ["acme.fleet_hour", "--format", "ndjson"],
            ["itp.job", "--limit", "0", "--format", "markdown"],
        ),
    ],
    ids=lambda arguments: arguments[0],
)
def test_same_output_and_caveats(arguments: list[str], sample_warehouse: Path) -> None:
    here = traces(sample_warehouse, "query", *arguments)
    on_spark = traces(sample_warehouse, "query", *arguments, "--engine", "spark", "--master", "local[2]")
    assert here.returncode == 0, here.stderr
    assert (on_spark.returncode, on_spark.stdout) == (0, here.stdout)
    assert on_spark.stderr == here.stderr


def test_reports_errors_before_spark_starts(sample_warehouse: Path) -> None:
    for arguments, message in (
        (["query", "itp.gpu_hour"], 'No query, view or table named "itp.gpu_hour"'),
        (["query", "itp.gpu_hours", "-p", "min_gpus=x"], "min_gpus must be of type INTEGER"),
        (["query", "openb.fragmentation_of"], "does not run on Spark"),
        (["sql", "select 1", "--timeout", "0"], "The timeout must be a number of seconds above 0"),
        (["query", "itp.gpu_hours", "--master", "local(2)"], "--master must be local[N]"),
    ):
        done = traces(sample_warehouse, *arguments, "--engine", "spark")
        assert done.returncode != 0
        assert message in done.stderr
        assert len(done.stderr.splitlines()) <= 4


def test_statement_prints_the_same_as_on_duckdb(sample_warehouse: Path) -> None:
    statement = "select count(*) as jobs from itp.job where run_s > 600"
    here = traces(sample_warehouse, "sql", statement)
    on_spark = traces(sample_warehouse, "sql", statement, "--engine", "spark")
    assert (on_spark.stdout, on_spark.stderr) == (here.stdout, here.stderr)
    called = "select * from itp.gpu_hours(min_gpus => 8) order by jobs desc limit 1"
    assert traces(sample_warehouse, "sql", called, "--engine", "spark").stdout.startswith("cluster,jobs,")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select 1 / 0", "DIVIDE_BY_ZERO"),
        *nightly(
            ("drop table itp.raw_job", "Only queries are allowed"),
            ("select nothing from itp.job", "nothing"),
            ("select * from itp.jobs", "itp.jobs: no table, view or named query has this name"),
            ('select * from parquet."/etc/passwd"', "no table, view or named query has this name"),
        ),
    ],
)
def test_failing_statement_gets_an_error_of_one_line(
    statement: str, message: str, sample_warehouse: Path
) -> None:
    done = traces(sample_warehouse, "sql", statement, "--engine", "spark")
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@suites.of("cluster")
def test_explain_prints_the_plan_of_spark(sample_warehouse: Path) -> None:
    done = traces(sample_warehouse, "query", "itp.gpu_hours", "--explain", "--engine", "spark")
    assert done.returncode == 0
    assert "Physical Plan" in done.stdout
    assert "Scan parquet" in done.stdout


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda path: path.write_bytes(bytes(path.stat().st_size)),
            "`traces check --files` lists damaged files",
        ),
        *nightly(
            (Path.unlink, "the file is missing. "),
            (lambda path: path.write_bytes(b""), "it has 0 bytes; "),
        ),
    ],
    ids=["zeros", "missing", "empty"],
)
def test_damaged_file_is_named(
    damage: Callable[[Path], object], message: str, fixture_warehouse: Path, tmp_path: Path
) -> None:
    warehouse = shutil.copytree(fixture_warehouse, tmp_path / "warehouse")
    path = min(warehouse.glob("parquet/itp/raw_job/**/*.parquet"))
    damage(path)
    statement = "select count(*), max(job_id) from itp.raw_job"
    done = traces(warehouse, "sql", statement, "--engine", "spark", "--master", "local[2]")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.stderr
    assert path.name in done.stderr and message in done.stderr


@pytest.mark.parametrize("way", ["timeout", *nightly("SIGINT")])
def test_ends_on_timeout_and_signal(way: str, sample_warehouse: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    long = "select sum(a.start_time * b.end_time) from pai.instance a cross join pai.instance b"
    arguments = [TRACES, "sql", long, "--engine", "spark", "--warehouse", sample_warehouse]
    limit = ["--timeout", "12"] if way == "timeout" else []
    running = subprocess.Popen(
        [str(part) for part in (*arguments, *limit)],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    if way == "SIGINT":
        # Spark creates this folder once it has started.
        while not list(temporary.glob("*/blockmgr-*")):
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=TIMEOUT_S)
    message = "error: No answer within 12 s. Request less data, or raise --timeout\n"
    assert (running.returncode, errors) == ((130, "") if way == "SIGINT" else (1, message))
    assert output == ""
    assert list(temporary.iterdir()) == []

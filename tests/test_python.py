"""Tests of the Python interface."""

import copy
import datetime as dt
import doctest
import enum
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import command_line
import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import suites
from peak_memory import watched

import tracehouse
from tracehouse.engines.duckdb.read import fork_server, landlock
from tracehouse.publish.plot import pictures
from tracehouse.python import UsageError, UserError, Warehouse


@pytest.fixture(scope="module")
def warehouse(sample_warehouse: Path) -> Warehouse:
    return tracehouse.open(sample_warehouse)


@suites.of("long")
def test_answer_and_chart_equal_command_line(warehouse: Warehouse, tmp_path: Path) -> None:
    arguments = ("query", "itp.gpu_hours", "-p", "min_gpus=8", "--warehouse", warehouse.folder)
    answer = warehouse.query("itp.gpu_hours", min_gpus=8)
    printed = command_line.server().run(*arguments, "--format", "csv", "--caveats")
    assert answer.pl().write_csv() == printed.stdout
    assert [f"{note.label}: {note.text}" for note in answer.caveats] == printed.stderr.splitlines()
    assert (answer.name, answer.values, len(answer)) == ("itp.gpu_hours", {"min_gpus": 8}, answer.shape[0])
    command_line.server().run(*arguments, "--output", tmp_path / "shell.svg", "--width", "85")
    assert pictures.render_svg(answer.plot(width_mm=85).to_dict()) == (tmp_path / "shell.svg").read_text(
        encoding="utf-8"
    )
    # A chart of chosen columns has the title and the parameters, too, and a PNG the same size.
    chosen = ("--x", "cluster", "--y", "max_gpus", "--log", "y", "--kind", "point")
    for suffix in ("svg", "png"):
        command_line.server().run(*arguments, "--output", tmp_path / f"shell.{suffix}", *chosen)
    drawn = answer.plot(x="cluster", y="max_gpus", log="y", kind="point")
    svg = pictures.render_svg(drawn.to_dict())
    assert svg == (tmp_path / "shell.svg").read_text(encoding="utf-8") and "min_gpus = 8" in svg
    assert "itp.gpu_hours: " in svg
    drawn.save(tmp_path / "python.png")
    sizes = {(tmp_path / f"{one}.png").read_bytes()[16:24] for one in ("shell", "python")}
    assert len(sizes) == 1
    for value in (8.0, "8", np.int64(8), np.float32(8)):
        again = warehouse.query("itp.gpu_hours", min_gpus=value, limit=np.int64(99))
        assert again.arrow() == answer.arrow(), value


def test_examples_of_docstrings(warehouse: Warehouse) -> None:
    found = doctest.DocTestFinder().find(tracehouse.python, globs={"warehouse": warehouse})
    examples = [test for test in found if test.examples]
    assert {test.name.rpartition(".")[2] for test in examples} >= {"jobs", "verify"}
    assert [doctest.DocTestRunner().run(test).failed for test in examples] == [0] * len(examples)


def test_jobs_and_verify_refuse_an_unknown_trace(warehouse: Warehouse) -> None:
    for method in (warehouse.jobs, warehouse.verify):
        with pytest.raises(UsageError, match=r"^no trace is called itpp\. Did you mean itp\? Known: "):
            method("itpp")
    assert {row["trace"] for row in warehouse.jobs("itp")} == {"itp"}
    assert len(warehouse.jobs("itp")) == len(warehouse.query("itp.job"))
    assert warehouse.jobs().shape == warehouse.query("unified.jobs").shape


def test_sources_list_raw_files(warehouse: Warehouse) -> None:
    sources = warehouse.query("openb.capacity_by_model").sources.to_pylist()
    assert {row["table_name"] for row in sources} == {"openb.node"}
    assert all(row["synthetic"] and len(row["sha256"]) == 64 for row in sources)


def test_sums_of_integers_are_bigint_if_they_fit(warehouse: Warehouse) -> None:
    sums = warehouse.sql(
        "select sum(x) as fits, sum(x * 5) as wide from (values (9223372036854775807::hugeint)) v(x)"
    )
    assert sums.arrow().schema.types == [pa.int64(), pa.decimal128(38, 0)]
    assert [int(value) for value in sums.pl().row(0)] == [9223372036854775807, 5 * 9223372036854775807]


def test_sql_gets_caveats_of_its_columns(warehouse: Warehouse) -> None:
    for statement, has_caveat in (
        ("select sum(run_s) from itp.job", True),
        ("select sum(requested_gpus) from itp.job_v1", False),
        ("select run_s from (select * from itp.job)", True),
        ("from itp.gpu_hours()", True),
        ("select sum(duration) from itp.raw_job", True),
        ("select 1", False),
    ):
        answer = warehouse.sql(statement)
        names = {note.name for note in answer.caveats}
        assert ("itp.min_duration_600" in names) is has_caveat, statement
        traces = {row["trace"] for row in answer.sources.to_pylist()}
        assert traces == ({"itp"} if "itp" in statement else set())


def test_answer_is_an_arrow_stream_and_a_sequence_of_rows(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = warehouse.query("itp.gpu_hours")
    frame = answer.df()
    assert polars.DataFrame(answer).equals(answer.pl())
    assert pd.DataFrame.from_arrow(answer).equals(frame)
    assert duckdb.from_arrow(answer).fetchall() == list(frame.itertuples(index=False, name=None))
    assert list(answer) == frame.to_dict("records")
    assert answer.columns == list(frame.columns)
    assert answer.shape == frame.shape == (len(answer), 6)
    assert repr(answer) == str(answer) and " caveats: itp.min_duration_600 (!), " in str(answer)
    empty = warehouse.sql("select 1 as a where false")
    assert (len(empty), empty.pl().schema) == (0, {"a": polars.Int32})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"^pandas is not installed: pip install pandas$"):
        answer.df()


def test_sql_takes_parameters(warehouse: Warehouse) -> None:
    answer = warehouse.sql("select count(*) as jobs from itp.job where requested_gpus >= $n", {"n": 8})
    expected = warehouse.sql("select count(*) as jobs from itp.job where requested_gpus >= 8")
    assert answer.arrow() == expected.arrow() and next(iter(answer))["jobs"] > 0


def test_plots_columns_of_any_answer(warehouse: Warehouse) -> None:
    answer = warehouse.sql("select cluster, run_s, requested_gpus from itp.job limit 50")
    drawn = answer.plot(x="requested_gpus", y="run_s", kind="point", color="cluster", log="x", title="Runs")
    svg = pictures.render_svg(drawn.to_dict())
    texts = ("Runs", "requested GPUs", "run time", "synthetic data", "no jobs under 600 s", "Gu et al.")
    assert [text for text in texts if text not in svg] == []
    named = pictures.render_svg(warehouse.query("itp.gpu_hours").plot(x="cluster", y="max_gpus").to_dict())
    assert "max GPUs" in named and "itp.gpu_hours: " in named
    # The columns and the kind are chosen if the caller chooses none.
    assert (
        answer.plot(log="y").to_dict() == answer.plot(x="cluster", y="run_s", kind="point", log="y").to_dict()
    )
    plain = pictures.render_svg(answer.plot(title=False, footer=False, kind="point").to_dict())
    assert [text for text in texts if text in plain] == ["run time", "synthetic data"]


def test_connection_reads_only_the_warehouse(sample_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n", encoding="utf-8")
    with tracehouse.open(sample_warehouse) as opened:
        connection = opened.connection
        assert connection is opened.connection
        [(jobs,)] = connection.execute("select count(*) from itp.job").fetchall()
        assert jobs == len(opened.query("itp.job"))
        for statement in (
            "create table itp.mine as select 1",
            f"copy (select 1) to '{tmp_path / 'x'}'",
            f"from read_csv('{tmp_path / 'other.csv'}')",
            "set enable_external_access = true",
            f"set allowed_directories = ['{tmp_path}']",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("select 1")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_ibis_reads_tables_and_views(sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ibis")
    with tracehouse.open(sample_warehouse) as opened:
        jobs = opened.ibis().table("job", database="itp")
        counted = jobs.group_by("cluster").aggregate(jobs=jobs.count()).order_by("cluster").execute()
        answer = opened.sql("select cluster, count(*) as jobs from itp.job group by all order by all")
        assert counted.to_dict("list") == answer.df().to_dict("list")
        [folder, *_] = sorted((sample_warehouse / "parquet" / "itp").iterdir())
        for statement in (f"copy (select 1) to '{folder / 'x.parquet'}'", "create table t as select 1"):
            with pytest.raises(UserError, match=r"^Only queries are allowed"):
                opened.ibis().raw_sql(statement)
        monkeypatch.setitem(sys.modules, "ibis", None)
        with pytest.raises(UserError, match=r"^Ibis is not installed: pip install "):
            opened.ibis()


@pytest.mark.skipif(landlock.version() < 1, reason="this kernel lacks Landlock")
def test_queries_run_confined(sample_warehouse: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Permission denied"):
        # The connection becomes an optional argument, which has no effect on Linux.
        tracehouse.open(sample_warehouse)._run(partial(os.symlink, "target", tmp_path / "x"))


def test_query_stays_within_its_memory_limit(sample_warehouse: Path, tmp_path: Path) -> None:
    code = f"""
import tracehouse
opened = tracehouse.open({str(sample_warehouse)!r}, memory_limit="300MB")
for statement in {["select len(range(700000000))", "select range from range(100000000)", "select 1"]}:
    try:
        print(len(opened.sql(statement)))
    except tracehouse.UserError as error:
        print(error)
"""
    # The limit is of a query. It does not apply to this process.
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8")
    with watched(running.pid) as peaks:
        printed, _ = running.communicate(timeout=command_line.TIMEOUT_S)
    error = "The answer needs more than the memory limit of 300MB. Request less data, or raise memory_limit"
    assert printed.splitlines() == [error, error, "1"]
    assert max(peaks.values()) < 600 and len(peaks) > 2


def test_too_many_open_files_is_an_error_of_the_user(sample_warehouse: Path) -> None:
    code = f"""
import os, resource, threading, tracehouse
opened = tracehouse.open({str(sample_warehouse)!r})
lowest_free = os.dup(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + 8, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
errors = set()
at_once = threading.Barrier(30)
def ask():
    at_once.wait()
    try:
        opened.query("itp.gpu_hours")
    except tracehouse.UserError as error:
        errors.add(str(error))
    except BaseException as error:
        errors.add(repr(error))
threads = [threading.Thread(target=ask) for _ in range(at_once.parties)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*errors, opened.sql("select 1").shape, sep="\\n")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    error = "Too many files are open. Run fewer queries at once, or raise the limit with `ulimit -n`"
    assert (run.stdout, run.stderr) == (f"{error}\n(1, 1)\n", "")


def test_a_query_starts_the_fork_server_again(sample_warehouse: Path) -> None:
    opened = tracehouse.open(sample_warehouse)
    server = fork_server._process
    assert server
    server.kill()
    server.wait()
    assert opened.sql("select 1").shape == (1, 1)
    server = fork_server._process
    assert server
    # A stopped server does not end before the query is on its way.
    server.send_signal(signal.SIGSTOP)
    later = threading.Timer(0.5, server.kill)
    later.start()
    assert opened.sql("select 1").shape == (1, 1)
    later.join()


@suites.of("long")
def test_process_can_still_write(sample_warehouse: Path, tmp_path: Path) -> None:
    code = f"""
import sys, tracehouse
assert not {{"duckdb", "polars", "pyarrow"}} & set(sys.modules), "the package imports slow libraries"
opened = tracehouse.open({str(sample_warehouse)!r})
opened.list(), opened.describe("itp.job")
opened.query("itp.gpu_hours").plot().save({str(tmp_path / "chart.svg")!r})
answer = opened.query("itp.job")
answer.pl().write_parquet({str(tmp_path / "polars.parquet")!r})
answer.df().to_parquet({str(tmp_path / "pandas.parquet")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "chart.svg",
        "pandas.parquet",
        "polars.parquet",
    ]


@suites.of("long")
def test_notebook_needs_no_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tracehouse.sample("itp", "pai", "dlrm", out=tmp_path / "raw", scale=0.001, seed=3)
    opened = tracehouse.ingest([raw], tmp_path / "warehouse", traces=["itp", "pai"])
    printed = capsys.readouterr().out
    assert "itp.raw_job: " in printed and f"Next: `tracehouse.open('{tmp_path / 'warehouse'}')`" in printed
    data = dict(opened.list("traces").select("trace", "data").rows())
    assert (data["itp"], data["pai"], data["dlrm"]) == ("synthetic", "synthetic", "no data")
    listed, every = opened.list("queries"), opened.list("queries", with_empty=True)
    assert "itp.gpu_hours" in listed["query_name"] and "dlrm.waits" not in listed["query_name"]
    assert set(listed["query_name"]) < set(every["query_name"])
    # By default, a query over all traces answers for every loaded trace.
    waits = opened.query("unified.wait_cdf")
    assert {row["trace"] for row in waits} == {"pai"}
    assert "in_trace = pai" in str(opened.query("unified.wait_cdf", in_trace="pai").plot().to_dict())
    # `tracehouse.ingest` is callable, and its modules can still be imported.
    from tracehouse.ingest import pipeline

    assert tracehouse.ingest.pipeline is pipeline


def test_lists_and_descriptions(warehouse: Warehouse) -> None:
    assert "itp.gpu_hours" in warehouse.list("queries", "itp")["query_name"]
    assert warehouse.list("queries", search="gpu hours")["query_name"][0].endswith("gpu_hours")
    assert warehouse.list()["trace"].to_list() == sorted(warehouse.list()["trace"])
    hours = warehouse.describe("itp.gpu_hours")
    assert hours.title == "Jobs and GPU-hours by cluster (ITP jobs)"
    assert hours.grids["parameters"]["parameter"].to_list() == ["min_gpus", "with_total"]
    assert hours.sql in str(hours)
    assert warehouse.describe("itp.job").grids["columns"]["unit"].to_list().count("s") > 3
    assert warehouse.describe("itp.min_duration_600").name == "itp.min_duration_600"
    assert "&gt;" in warehouse.describe("itp.cluster_load")._repr_html_()


def test_answer_renders_as_html(warehouse: Warehouse) -> None:
    shown = warehouse.query("itp.gpu_hours")._repr_html_()
    assert shown.count("<table") == 1 and "itp.min_duration_600" in shown and "<svg" in shown
    many = warehouse.query("itp.job", limit=50)._repr_html_()
    assert "and 30 more rows" in many and "<svg" not in many
    assert "<script" not in warehouse.sql("select '<script>alert(1)</script>' as x")._repr_html_()


def gpu_hours(opened: Warehouse, **parameters: object) -> tracehouse.python.Answer:
    return opened.query("itp.gpu_hours", **parameters)


def two_rows(opened: Warehouse) -> tracehouse.python.Answer:
    return opened.sql("select 1 as a, 2 as b union all select 2, 3")


class NoRepr:
    """An object whose representation fails."""

    def __repr__(self) -> str:
        raise ValueError


class NoScalar:
    """An object that looks like a scalar of NumPy."""

    def item(self) -> int:
        raise ValueError


NO_VALUES = (
    *(None, b"8", [8], np.array([8]), np.array([1, 2]), pd.Series([8]), polars.Series([8])),
    *(pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64(1, "ns"), dt.timedelta(1), Decimal(8)),
    *(NoRepr(), NoScalar()),
)


def select_value(opened: Warehouse, value: object) -> object:
    return opened.sql("select $x as x", {"x": value}).arrow()["x"][0].as_py()


NOT_UTF8 = r"\ud800 is not valid UTF-8"
MOST_ROWS = "The limit must be a number of rows from 0 to 2147483646, not "
USAGE_ERRORS: list[tuple[Callable[[Warehouse], object], str]] = [
    # Wrong types name the argument.
    (lambda opened: opened.query(None), "name must be a string, not None"),
    (lambda opened: opened.query("itp.job", limit="5"), "limit must be a whole number, not '5'"),
    (lambda opened: opened.query("itp.job", limit=1.5), "limit must be a whole number, not 1.5"),
    (lambda opened: opened.query("itp.job", limit=True), "limit must be a whole number, not True"),
    (lambda opened: opened.query("itp.job", limit=-1), f"{MOST_ROWS}-1"),
    (lambda opened: opened.query("itp.job", limit=2**70), f"{MOST_ROWS}{2**70}"),
    (lambda opened: opened.query("itp.job", limit=10**5000), "limit must be a whole number below 2**127"),
    (lambda opened: opened.query("itp.job", limit=pd.NA), "limit must be a whole number, not <NA>"),
    (lambda opened: opened.query("itp.job", limit=NoRepr()), "limit must be a whole number, not this NoRepr"),
    (lambda opened: opened.sql(5), "statement must be a string, not 5"),
    (lambda opened: opened.sql("select $n", {"n": [1]}), "n must be a string, a number, a date or a"),
    (
        lambda opened: opened.sql("select ?", [8]),
        "values must be a dictionary, such as {'n': 8} for $n, not [8]",
    ),
    (lambda opened: opened.sql("select $x", {"x": "\ud800"}), f"x: {NOT_UTF8}"),
    (lambda opened: opened.sql("select $x", {"\ud800": 1}), f"the name of a parameter: {NOT_UTF8}"),
    (lambda opened: opened.sql("select $x", {7: 1}), "the name of a parameter must be a string, not 7"),
    *((partial(select_value, value=value), "x must be a string, a number, a date") for value in NO_VALUES),
    (lambda opened: opened.sql("select $x", {"x": 2**127}), "x must be a whole number below 2**127"),
    (lambda opened: opened.describe(b"x"), "name must be a string, not b'x'"),
    (lambda opened: opened.describe("\ud800"), f"name: {NOT_UTF8}"),
    (lambda opened: opened.list(5), "kind must be a string, not 5"),
    (lambda opened: opened.list("views", 5), "trace must be a string, not 5"),
    (lambda opened: opened.list("views", search=5), "search must be a string, not 5"),
    (lambda opened: opened.list("things"), "Unknown kind things. Known: traces, tables, views, queries"),
    (lambda opened: opened.list(with_empty=np.array([1, 2])), "with_empty must be True or False, not array"),
    (lambda _: tracehouse.open(None), "folder must be a path, not None"),
    (lambda _: tracehouse.open(b"x"), "folder must be a path, not b'x'"),
    (lambda _: tracehouse.open("a\0b"), r"folder must be a path, not 'a\x00b': no file can have this name"),
    (lambda _: tracehouse.open("\ud800"), r"folder must be a path, not '\ud800': no file can have this name"),
    (lambda _: tracehouse.open(NoRepr()), "folder must be a path, not this NoRepr"),
    (lambda opened: tracehouse.open(opened.folder, timeout_s="x"), "timeout_s must be a number, not 'x'"),
    (lambda opened: tracehouse.open(opened.folder, timeout_s=True), "timeout_s must be a number, not True"),
    (
        lambda opened: tracehouse.open(opened.folder, timeout_s=10**400),
        "timeout_s must be a number, not 1000",
    ),
    (
        lambda opened: tracehouse.open(opened.folder, timeout_s=Decimal(5)),
        "timeout_s must be a number, not D",
    ),
    (lambda opened: tracehouse.open(opened.folder, timeout_s=1e308), "seconds above 0 and below 9.22337e+09"),
    (lambda opened: tracehouse.open(opened.folder, timeout_s=math.nan), "timeout_s must be a number"),
    (lambda opened: tracehouse.open(opened.folder, memory_limit=5), "memory_limit must be a string, not 5"),
    (lambda _: tracehouse.ingest("raw", traces="itp"), "traces must be a list of strings, not 'itp'"),
    (lambda _: tracehouse.ingest(5), "raw must be a path, not 5"),
    (lambda _: tracehouse.ingest("a\0b"), "raw must be a path"),
    (lambda _: tracehouse.ingest("raw", "\0"), "warehouse must be a path"),
    (lambda _: tracehouse.ingest("raw", replace="no"), "replace must be True or False, not 'no'"),
    (lambda _: tracehouse.sample("itp", out="\0"), "out must be a path"),
    (lambda _: tracehouse.sample("itp", scale="x"), "scale must be a number, not 'x'"),
    (lambda _: tracehouse.sample("itp", scale=1e308), "scale of a sample must be above 0, at most 1,000,000"),
    (lambda _: tracehouse.sample("itp", seed=1.5), "seed must be a whole number, not 1.5"),
    (lambda _: tracehouse.sample("asi", days="x"), "days must be a whole number, not 'x'"),
    (lambda _: tracehouse.sample("itp", days=0), "days must be 1 to 1,000,000"),
    (lambda _: tracehouse.sample("nope"), "no trace is called nope"),
    (lambda _: tracehouse.fetch("acme", metrics="x"), "metrics must be a list of strings, not 'x'"),
    (lambda _: tracehouse.fetch("nope"), "no trace is called nope"),
    (lambda _: tracehouse.fetch("acme", yes="no"), "yes must be True or False, not 'no'"),
    (lambda _: tracehouse.fetch("acme", out="\ud800"), "out must be a path"),
    # Parameters are checked as on the command line.
    (lambda opened: gpu_hours(opened, min_gpu=8), "itp.gpu_hours has no parameter min_gpu. Parameters of "),
    (
        lambda opened: gpu_hours(opened, min_gpus="many"),
        "min_gpus must be of type INTEGER from 0 to 10000, not 'many'",
    ),
    (
        lambda opened: gpu_hours(opened, min_gpus=-1),
        "min_gpus must be of type INTEGER from 0 to 10000, not '-1'",
    ),
    (lambda opened: gpu_hours(opened, min_gpus=1.5), "not '1.5'"),
    (
        lambda opened: gpu_hours(opened, min_gpus=None),
        "min_gpus must be a string, a number, a date or a boolean, not None",
    ),
    (lambda opened: opened.query("unified.run_cdf", min_run_s="1_000"), "must be of type DOUBLE"),
    (lambda opened: opened.query("unified.wait_cdf", in_trace="\ud800"), f"in_trace: {NOT_UTF8}"),
    (lambda opened: opened.sql("select 1; select 2"), "Expected one statement, found 2"),
    # Charts.
    (lambda opened: gpu_hours(opened).plot(x=3, y="jobs"), "x must be a string, not 3"),
    (lambda opened: gpu_hours(opened).plot(x=np.array([1, 2]), y="jobs"), "x must be a string, not array"),
    (lambda opened: gpu_hours(opened).plot(x="cluster", y="jobs", title=7), "title must be a string, not 7"),
    (lambda opened: gpu_hours(opened).plot(x="no"), "x must be one of cluster"),
    (lambda opened: gpu_hours(opened).plot(width_mm=10**400), "width_mm must be a number, not 1000"),
    (lambda opened: gpu_hours(opened).plot(width_mm="x"), "width_mm must be a number, not 'x'"),
    (lambda opened: gpu_hours(opened).plot(width_mm=5), "width_mm must be 40 to"),
    (lambda opened: gpu_hours(opened).plot(font_size="x"), "font_size must be a number"),
    (lambda opened: two_rows(opened).plot(y="c"), "y must be one of a, b, not 'c'"),
    (lambda opened: two_rows(opened).plot(log="z"), "log must be x, y or xy, not 'z'"),
    (lambda opened: two_rows(opened).plot(x="a", y="b", color="c"), "color must be one of a, b, not 'c'"),
    (lambda opened: two_rows(opened).plot(x="a", y="b", kind="pie"), "kind must be one of bar, "),
    # Messages name methods and arguments of Python, not commands and options.
    (
        lambda opened: opened.query("itp.gpu_hour"),
        'Close matches: itp.gpu_hours. List: `warehouse.list("queries")`',
    ),
    (lambda opened: opened.describe("xyzzy"), 'Search: `warehouse.list("queries", search="xyzzy")`'),
]
USER_ERRORS: list[tuple[Callable[[Warehouse], object], str]] = [
    (lambda _: tracehouse.open("x" * 5000), "File name too long"),
    (lambda _: tracehouse.ingest("x" * 5000), "File name too long"),
    (lambda _: tracehouse.open("/nowhere"), 'Create it with `tracehouse.ingest("DIR")`'),
    (
        lambda _: tracehouse.ingest("nowhere"),
        "Name the folder of the raw files with raw, or write synthetic files with `tracehouse.sample()`",
    ),
    (lambda opened: opened.list("queries", search="xyzzy"), 'List all: `warehouse.list("queries")`'),
    (lambda opened: opened.sql("select a\nfrom b"), "LINE 2: from b"),
    (lambda opened: opened.sql("select $n"), "n"),
    (lambda opened: opened.sql("drop view itp.job"), "Only queries are allowed"),
    (lambda opened: opened.sql("copy (select 1) to 'x'"), "Only queries are allowed"),
    (
        lambda opened: tracehouse.open(opened.folder, timeout_s=0.5).sql(
            "select sum(range) from range(1000000000000)"
        ),
        "No answer within 0.5 s",
    ),
]


@suites.of("long")
def test_errors_name_arguments_and_methods(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for kind, cases in ((UsageError, USAGE_ERRORS), (UserError, USER_ERRORS)):
        for call, message in cases:
            with pytest.raises(UserError) as raised:
                call(warehouse)
            text = str(raised.value)
            if type(raised.value) is not kind or message not in text or "--" in text:
                wrong.append((message, text))
    assert wrong == []
    assert list(tmp_path.iterdir()) == []


class Cluster(str, enum.Enum):  # noqa: UP042
    """A text that `str` shows as `Cluster.THIRD`."""

    THIRD = "cluster03"


@suites.of("long")
def test_unusual_values_are_valid(warehouse: Warehouse) -> None:
    day, instant = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4, 5, 678901)
    for value, expected in (
        *(
            (np.int64(8), 8),
            (np.uint8(8), 8),
            (np.array(8), 8),
            (np.float32(0.5), 0.5),
            (np.bool_(True), True),
        ),
        *(
            (np.str_("x"), "x"),
            (Cluster.THIRD, "cluster03"),
            ("a\0b", "a\0b"),
            (2**127 - 1, Decimal(2**127 - 1)),
        ),
        *((np.datetime64(day), day), (np.datetime64("2020-01-02T03:04:05.678901234"), instant)),
        *((pd.Timestamp(instant), instant), (pd.Timestamp(day), dt.datetime(2020, 1, 2))),
    ):
        assert select_value(warehouse, value) == expected, value
    assert warehouse.query("itp.gpu_hours", limit=np.int64(1), min_gpus=np.uint8(8)).shape[0] == 1
    assert tracehouse.open(np.str_(warehouse.folder), timeout_s=np.float32(600)).sql("select 1").shape == (
        1,
        1,
    )


def test_pickle_and_copy_leave_out_the_connection(sample_warehouse: Path) -> None:
    with tracehouse.open(sample_warehouse, timeout_s=600) as opened:
        opened.connection.execute("create temp table one as select 1 as one")
        answer = opened.query("itp.gpu_hours", limit=1)
        for other in (pickle.loads(pickle.dumps(opened)), copy.deepcopy(opened)):
            assert other.query("itp.gpu_hours", limit=1).arrow() == answer.arrow()
            with pytest.raises(duckdb.CatalogException):
                other.connection.execute("from one")
            other.__exit__()
        assert pickle.loads(pickle.dumps(answer)).arrow() == answer.arrow()
        assert opened.connection.execute("from one").fetchall() == [(1,)]

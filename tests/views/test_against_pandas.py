"""Compare the views and queries that define a quantity, row by row, with pandas on the raw files."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import raw_dumps
import raw_frames
import reference_results
import suites
from conftest import REAL_DATA
from random_seed import DEPTH

from tracehouse.ingest.declare.trace import all_traces

MODULES = [
    importlib.import_module(f"reference_results.{found.name}")
    for found in pkgutil.iter_modules(reference_results.__path__)
]


# Traces whose real files are complete: their quantities are compared on these, and on samples at depth.
COMPLETE = ("dlrm", "itp", "openb", "zeus")


def results(raw: Path) -> Iterator[tuple[str, Callable[[], pd.DataFrame], list[str] | None]]:
    """Yield a view or call, a function that computes it from raw files, and the key columns."""
    for module in MODULES:
        for view, (compute, keys) in module.VIEWS.items():
            yield view, lambda compute=compute: compute(raw), keys
        at_depth = getattr(module, "QUERIES_AT_DEPTH", {}) if DEPTH > 1 else {}
        queries = getattr(module, "QUERIES", {}) | at_depth
        for call, (compute, arguments, keys) in queries.items():
            yield call, lambda compute=compute, arguments=arguments: compute(raw, *arguments), keys


def compare(
    connection: duckdb.DuckDBPyConnection, raw: Path, is_compared: Callable[[str], bool]
) -> tuple[set[str], list[str]]:
    """Return the names of results that have rows in the warehouse, and how they differ from pandas."""
    compared, differences = set(), []
    for name, compute, keys in results(raw):
        if not is_compared(name):
            continue
        answer = connection.sql(f"from {name}").to_arrow_table()
        if answer.num_rows:
            compared.add(name)
            try:
                raw_frames.assert_same_rows(answer, compute(), keys)
            except AssertionError as error:
                differences.append(f"{name}: {error}")
    return compared, differences


def schemas_of(tested_traces: list[str]) -> set[str]:
    """The schemas whose results are compared: one trace does not fill all views of `unified`."""
    return {*tested_traces, *(["unified"] if tested_traces == sorted(all_traces()) else [])}


@suites.of("long")
@pytest.mark.each_trace
def test_quantities_on_samples(
    synthetic: duckdb.DuckDBPyConnection, sample_raw: Path, tested_traces: list[str]
) -> None:
    on_real_files = [name for name in COMPLETE if DEPTH == 1 and (REAL_DATA / name).is_dir()]

    def is_tested(name: str) -> bool:
        schema = name.split(".")[0]
        return schema in schemas_of(tested_traces) and schema not in on_real_files

    compared, differences = compare(synthetic, sample_raw, is_tested)
    assert compared == {name for name, *_ in results(sample_raw) if is_tested(name)}
    assert differences == []


@pytest.mark.each_trace
def test_quantities_on_real_files(
    real: duckdb.DuckDBPyConnection, real_raw: Path, tested_traces: list[str]
) -> None:
    """Views without rows need files that are not among the available ones.

    The queries over all traces read these views. Here only `make random-test` compares them.
    """
    schemas = schemas_of(tested_traces)

    def is_tested(name: str) -> bool:
        over_all_traces = name.startswith("unified.") and name.endswith(")")
        return name.split(".")[0] in schemas and (DEPTH > 1 or not over_all_traces)

    compared, differences = compare(real, real_raw, is_tested)
    complete = {*COMPLETE} & schemas
    expected = {name for name, *_ in results(real_raw) if name.split(".")[0] in complete}
    assert expected | ({"unified.jobs_v2"} if "unified" in schemas else set()) <= compared
    assert differences == []


@pytest.mark.each_trace
def test_jobs_of_every_trace_have_a_reference_result(synthetic: duckdb.DuckDBPyConnection) -> None:
    views = {view for module in MODULES for view in module.VIEWS}
    rows = synthetic.execute(
        "select distinct trace || '.standard_job_v1' from catalog.views where view_name like '%.standard_job'"
    ).fetchall()
    assert {name for (name,) in rows} <= views


def test_itp_test_bed_is_not_counted_twice(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    generated = raw_frames.itp_table(real_raw, "elasticflow-traces.tar.gz")
    test_bed = generated[generated["csv"] == "195job"]
    gpu_hours = (test_bed["num_gpu"] * test_bed["duration"]).sum() / 3600
    assert (len(test_bed), round(gpu_hours, 1)) == (195, 5_489.8)
    jobs = real.sql("select cluster, job_id, deadline_s from itp.job_v1").to_arrow_table().to_pandas()
    selected = test_bed.merge(jobs, on="job_id")
    assert len(selected) == 195
    assert set(selected["cluster"]) == {"cluster02"}
    assert (selected["deadline"] != selected["deadline_s"]).all()


def test_acme_jobs_of_the_readme(tmp_path: Path) -> None:
    """Jobs of the publisher's README: Kalos's times are in UTC, and its durations start at submission."""
    folder = tmp_path / "raw" / "acme" / "data" / "job_trace"
    ids, sizes = "job_id,user,node_num,gpu_num,cpu_num", "mem_per_pod_GB,shared_mem_per_pod"
    times, sums = "submit_time,start_time,end_time", "duration,queue,gpu_time"

    def stamps(zone: str, *clock: str) -> str:
        return ",".join(f"2023-05-17 {time}{zone}" for time in clock)

    early = stamps("+00:00", "11:00:58", "11:01:08", "11:01:16")
    late = stamps("+00:00", "11:28:42", "11:28:54", "11:30:04")
    waited = stamps("+08:00", "19:00:58", "19:01:08", "19:01:16")
    at_once = stamps("+08:00", "19:00:58", "19:00:58", "19:01:16")
    rows = {
        "trace_kalos.csv": [
            f"{ids},{sizes},type,state,{times},fail_time,stop_time,{sums}",
            f"dlc1,ua,8,64,960,1000,500,Other,COMPLETED,{early},,,18.0,10.0,1152.0",
            f"dlc2,ua,8,64,960,1000,500,Other,FAILED,{late},,,82.0,12.0,5248.0",
        ],
        "trace_seren.csv": [
            f"{ids},type,state,{times},{sums}",
            f"1,ub,0,8,8,Other,PREEMPTED,{waited},8,10,64",
            f"2,ub,0,0,8,CPU,NODE_FAIL,{at_once},18,0,0",
            f"3,ub,0,1,8,Eval,TIMEOUT,{waited},7,10,7",
        ],
    }
    folder.mkdir(parents=True)
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        jobs = connection.execute(
            "select job_id, wait_s, run_s, gpu_h * 3600, duration_rule from acme.job_v1 order by job_id"
        ).fetchall()
        assert jobs == [
            ("1", 10, 8, 64, "end - start"),
            ("2", 0, 18, 0, "both"),
            ("3", 10, 8, 8, "neither"),
            ("dlc1", 10, 8, 512, "end - submit"),
            ("dlc2", 12, 70, 4_480, "end - submit"),
        ]
        unified = connection.execute(
            "select job_id, submit_s, end_s, status from unified.jobs_v1 order by job_id"
        ).fetchall()
    start = pd.Timestamp("2023-05-17T11:00:58Z").timestamp()
    assert unified == [
        ("1", start, start + 18, "failed"),
        ("2", start, start + 18, "failed"),
        ("3", start, start + 18, "failed"),
        ("dlc1", start, start + 18, "completed"),
        ("dlc2", start + 1_664, start + 1_746, "failed"),
    ]

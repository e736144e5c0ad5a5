"""Queries of all traces, on four tasks of PAI and a published line, with results computed by hand."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import raw_dumps

# PAI's first start: Wednesday, 7 January 1970, 01:18:39 in UTC+8 by the trace's clock.
FIRST_S = 494_319.0
EMPTY_TASK = dict.fromkeys(raw_dumps.PAI_HEADERS["pai_task_table"].split(","))
# Tasks of two instances with half a GPU each, of one with a GPU, of one without; one task never started.
TASKS = [
    {"job_name": "j1", "inst_num": 2.0, "status": "Terminated", "start_time": FIRST_S, "plan_gpu": 50.0},
    {"job_name": "j2", "inst_num": 1.0, "status": "Failed", "start_time": FIRST_S + 3_600, "plan_gpu": 100.0},
    {"job_name": "j3", "inst_num": 1.0, "status": "Terminated", "start_time": FIRST_S + 0.5},
    {"job_name": "j4", "inst_num": 1.0, "status": "Waiting", "plan_gpu": 25.0},
]
# When each job's instance starts and ends.
SPANS = {
    "j1": (FIRST_S + 10, FIRST_S + 110),
    "j2": (FIRST_S + 3_620, FIRST_S + 3_920),
    "j3": (FIRST_S + 0.5, FIRST_S + 40.5),
}
USERS = {"j1": "u1", "j2": "u2", "j3": "u3", "j4": "u1"}

# Columns of the publisher's summary.
PUBLISHED = (
    "job_num",
    "cpu_job_num",
    "gpu_job_num",
    "avg_run_time_gpu",
    "avg_que_time_gpu",
    "avg_gpu_num",
    "med_run_time_gpu",
    "med_que_time_gpu",
    "med_gpu_num",
    "max_run_time_gpu",
    "max_gpu",
    "complete_rate_gpu",
    "cancel_rate_gpu",
    "fail_rate_gpu",
    "complete_gpu_time",
    "cancel_gpu_time",
    "fail_gpu_time",
    "complete_rate_gpu_time",
    "cancel_rate_gpu_time",
    "fail_rate_gpu_time",
    "avg_run_time_cpu",
    "avg_que_time_cpu",
    "med_run_time_cpu",
    "med_que_time_cpu",
    "complete_rate_cpu",
    "cancel_rate_cpu",
    "fail_rate_cpu",
)


def write_raw(raw: Path) -> None:
    jobs = [
        {"job_name": job, "inst_id": f"i{job}", "user": user, "status": None}
        | {"start_time": None, "end_time": None}
        for job, user in USERS.items()
    ]
    instances = [
        dict.fromkeys(raw_dumps.PAI_HEADERS["pai_instance_table"].split(","))
        | {"job_name": job, "task_name": "t", "worker_name": f"w{job}", "status": "Terminated"}
        | {"start_time": start, "end_time": end}
        for job, (start, end) in SPANS.items()
    ]
    tag = {"inst_id": "ij1", "user": "u1", "gpu_type_spec": None, "group": "g1", "workload": None}
    tables = {
        "pai_job_table": jobs,
        "pai_task_table": [EMPTY_TASK | {"task_name": "t"} | task for task in TASKS],
        "pai_instance_table": instances,
        "pai_group_tag_table": [tag],
    }
    raw_dumps.write_pai(raw / "pai" / "data", tables)
    names = ("id", *PUBLISHED)
    nothing = dict.fromkeys(names)
    pai = nothing | {"id": "PAI", "job_num": 5, "gpu_job_num": 3, "avg_run_time_gpu": 150.0}
    pai |= {"med_gpu_num": 0.5, "max_gpu": 8.0}
    published = [nothing | {"id": "Seren", "job_num": 7}, pai, nothing | {"id": "Philly", "job_num": 9}]
    summary = raw / "acme" / "data" / "cluster_summary.csv"
    summary.parent.mkdir(parents=True)
    summary.write_bytes(raw_dumps.csv_text(names, published, True))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("unified")
    write_raw(folder / "raw")
    with raw_dumps.ingested(folder / "raw", folder / "warehouse") as opened:
        yield opened


def rows_of(connection: duckdb.DuckDBPyConnection, columns: str, source: str) -> list[tuple[object, ...]]:
    return connection.execute(f"select {columns} from {source}").fetchall()


def test_summary_counts_gpus_per_instance(connection: duckdb.DuckDBPyConnection) -> None:
    (row,) = raw_dumps.columns_of(connection, "unified.summary_v1")
    assert row == {
        "trace": "pai",
        "cluster": None,
        "jobs": 4,
        "cpu_jobs": 1,
        "gpu_jobs": 3,
        "mean_run_s": 200,
        "mean_wait_s": 15,
        "mean_gpus": pytest.approx(1.75 / 3),
        "median_run_s": 200,
        "median_wait_s": 15,
        "median_gpus": 0.5,
        "max_run_s": 300,
        "max_gpus": 1,
        "completed_share": 0.5,
        "cancelled_share": 0,
        "failed_share": 0.5,
        "completed_gpu_s": 100,
        "cancelled_gpu_s": 0,
        "failed_gpu_s": 300,
        "completed_gpu_time_share": 0.25,
        "cancelled_gpu_time_share": 0,
        "failed_gpu_time_share": 0.75,
        "mean_run_s_cpu": 40,
        "mean_wait_s_cpu": 0,
        "median_run_s_cpu": 40,
        "median_wait_s_cpu": 0,
        "completed_share_cpu": 1,
        "cancelled_share_cpu": 0,
        "failed_share_cpu": 0,
    }


def test_compares_summary_with_published_lines(connection: duckdb.DuckDBPyConnection) -> None:
    rows = rows_of(
        connection,
        "trace, cluster, measure, measured, published, difference",
        "unified.summary_against_published()",
    )
    # The published lines of Seren and Kalos have no jobs here.
    assert len(rows) == 27
    pairs = {row[:3]: row[3:] for row in rows}
    assert pairs["pai", None, "jobs"] == (4, 5, -1)
    assert pairs["pai", None, "gpu_jobs"] == (3, 3, 0)
    assert pairs["pai", None, "mean_run_s"] == (200, 150, 50)
    assert pairs["pai", None, "median_gpus"] == (0.5, 0.5, 0)
    assert pairs["pai", None, "max_gpus"] == (1, 8, -7)
    assert pairs["pai", None, "failed_or_preempted_share"] == (0.5, None, None)


def test_hours_and_weekdays_follow_the_clock_of_the_trace(connection: duckdb.DuckDBPyConnection) -> None:
    hours = rows_of(
        connection,
        "trace, hour_of_day, jobs, jobs_pct",
        "unified.hour_profile(gpu_only := false) where jobs > 0",
    )
    assert hours == [("pai", 1, 2, pytest.approx(200 / 3)), ("pai", 2, 1, pytest.approx(100 / 3))]
    days = rows_of(
        connection, "trace, weekday, days, jobs, jobs_pct", "unified.weekday_profile(gpu_only := false)"
    )
    assert days == [("pai", 3, 1, 3, 100)]


def test_arrivals_exclude_tasks_without_submission(connection: duckdb.DuckDBPyConnection) -> None:
    """Three tasks have a submission time, with gaps of 0.5 s and 3,599.5 s."""
    names = "jobs, span_days, jobs_per_day, mean_gap_s, cv_gap, same_second_pct"
    (row,) = rows_of(connection, names, "unified.arrivals(gpu_only := false)")
    assert row == pytest.approx((3, 1 / 24, 72, 1_800, 1_799.5 / 1_800, 200 / 3))


def test_shares_of_gpu_time(connection: duckdb.DuckDBPyConnection) -> None:
    sizes = rows_of(connection, "at_most_gpus, jobs_pct, gpu_time_pct", "unified.size_cdf()")
    assert len(sizes) == 13
    assert sizes[0] == (0.25, pytest.approx(100 / 3), 0)
    assert sizes[1:] == [(size, pytest.approx(pct), share) for size, pct, share in expected_sizes()]
    (row,) = rows_of(connection, "*", "unified.gpu_time_concentration(top_pct := 33)")
    # j1 holds half a GPU for 100 s (one of its two instances is known), j2 a GPU for 300 s. j4 never started.
    assert row == ("pai", 3, 33, 1, pytest.approx(30_000 / 350), None, None, pytest.approx(200 / 3), 0, 0)
    (row,) = rows_of(connection, "*", "unified.user_concentration(top_pct := 50)")
    assert row == ("pai", 2, 50, 1, pytest.approx(30_000 / 350), pytest.approx(200 / 3), 0, 0)


def expected_sizes() -> list[tuple[float, float, float]]:
    return [(0.5, 100 / 3, 0), *((2**power, 100, 100) for power in range(11))]


def test_failures_are_shares_of_all_jobs_and_of_known_outcomes(connection: duckdb.DuckDBPyConnection) -> None:
    names = "trace, jobs, known_pct, failed_of_all_pct, failed_of_known_pct, failed_gpu_time_pct"
    (row,) = rows_of(connection, names, "unified.failure_share()")
    third, time = pytest.approx(100 / 3), pytest.approx(30_000 / 350)
    assert row == ("pai", 3, pytest.approx(200 / 3), third, 50, time)
    (row,) = rows_of(connection, names, "unified.failure_share(gpu_only := false)")
    assert row == ("pai", 4, 75, 25, third, time)

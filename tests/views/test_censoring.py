"""Left- and right-censored jobs: their GPU time counts, their unknown times do not."""

import json
from pathlib import Path

import duckdb
import pytest
import raw_dumps
from raw_dumps import rows

HEADER = raw_dumps.header("dlrm", "instance")
# Instance, GPUs, and the seconds of creation, scheduling and deletion.
INSTANCES = (
    ("before", 1, "", "", 1800),
    ("whole", 2, 10, 20, 3620),
    ("cut", 1, 7000, 7040, ""),
    ("throughout", 4, "", "", ""),
    ("last", 0, 60, 60, 7200),
)
DAY = "2020-06-09"
HELIOS = f"""\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
running,u,vc1,2,4,1,SUSPENDED,{DAY} 10:00:00,{DAY} 10:00:10,,,10
withdrawn,u,vc1,1,4,1,CANCELLED,{DAY} 10:00:00,,{DAY} 10:05:00,,
last,u,vc1,1,4,1,COMPLETED,{DAY} 10:00:00,{DAY} 10:00:00,{DAY} 11:00:00,3600,0
"""
ACME = f"""\
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
running,u,1,8,8,Eval,RUNNING,{DAY} 10:00:00+08:00,{DAY} 10:00:10+08:00,,,,
withdrawn,u,1,1,8,Eval,CANCELLED,{DAY} 10:00:00+08:00,,{DAY} 10:05:00+08:00,,,
last,u,1,1,8,Eval,COMPLETED,{DAY} 10:00:00+08:00,{DAY} 10:00:00+08:00,{DAY} 11:00:00+08:00,,,
"""
# Start and end of each job's attempts. An attempt runs on two GPUs.
PHILLY = {
    "retried": [("10:00:00", "10:10:00"), ("10:20:00", None)],
    "running": [("10:00:00", None)],
    "never started": [],
}
CENSORED_SHARES = {
    "unified.traces": "gpu_time_pct",
    "unified.failure_share": "gpu_time_pct",
    "unified.size_cdf": "gpu_time_pct",
    "unified.gpu_time_concentration": "gpu_time_pct",
    "unified.run_by_size": "pct",
    "unified.failure_cost": "pct",
}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A warehouse with five instances of a trace from 0 to 7200 s. Three of them are censored."""
    folder = tmp_path_factory.mktemp("services")
    (folder / "raw" / "dlrm").mkdir(parents=True)
    lines = [
        f"{name},HN,app,8,8,{gpus},{gpus},0,0,16,16,100,100,-1,{create},{schedule},{end}"
        for name, gpus, create, schedule, end in INSTANCES
    ]
    path = folder / "raw" / "dlrm" / "disaggregated_DLRM_trace.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def test_services_that_outlive_the_trace(services: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "wait_s, observed_start_s, run_s, observed_run_s, held_gpu_s, is_right_censored, is_left_censored"
    )
    seen = rows(services, f"select job_id, {columns} from unified.jobs")
    assert {job_id: row for job_id, *row in seen} == {
        "before": [None, 0, None, 1800, 1800, False, True],
        "whole": [10, 20, 3600, 3600, 7200, False, False],
        "cut": [40, 7040, None, 160, 160, True, False],
        "throughout": [None, 0, None, 7200, 28800, True, True],
        "last": [0, 60, 7140, 7140, 0, False, False],
    }


def test_observed_run_times_of_jobs_that_outlive_the_trace(tmp_path: Path) -> None:
    """Philly's log lacks the end of some jobs. They count as observed until their last known time."""
    detail = [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]
    log = [
        {
            "status": "Killed",
            "vc": "v",
            "jobid": name,
            "user": "u",
            "submitted_time": f"{DAY} 09:59:00",
            "attempts": [
                {"start_time": f"{DAY} {start}", "end_time": end and f"{DAY} {end}", "detail": detail}
                for start, end in attempts
            ],
        }
        for name, attempts in PHILLY.items()
    ]
    files = {
        "helios/Earth/cluster_log.csv": HELIOS,
        "acme/trace_seren.csv": ACME,
        "philly/cluster_job_log": json.dumps(log),
    }
    for name, text in files.items():
        (tmp_path / "raw" / name).parent.mkdir(parents=True)
        (tmp_path / "raw" / name).write_text(text, encoding="utf-8")
    columns = (
        "wait_s, observed_wait_s, run_s, observed_run_s, held_gpu_s, end_s is not null, is_right_censored"
    )
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        jobs = rows(connection, f"select trace, job_id, {columns} from unified.jobs")
    assert {(trace, job_id): row for trace, job_id, *row in jobs} == {
        ("helios", "running"): [10, 10, None, 3590, 7180, False, True],
        ("helios", "withdrawn"): [None, 300, None, None, None, True, False],
        ("helios", "last"): [0, 0, 3600, 3600, 3600, True, False],
        ("acme", "running"): [10, 10, None, 3590, 28720, False, True],
        ("acme", "withdrawn"): [None, 300, None, None, None, True, False],
        ("acme", "last"): [0, 0, 3600, 3600, 3600, True, False],
        ("philly", "retried"): [60, 60, None, 1200, 1200, False, True],
        ("philly", "running"): [60, 60, None, None, None, False, True],
        ("philly", "never started"): [None, None, None, None, None, False, False],
    }


def test_left_censored_jobs_hold_gpus_from_the_first_second(services: duckdb.DuckDBPyConnection) -> None:
    columns = "hour, held_gpus * 3600, running_jobs * 3600, unended_jobs"
    assert rows(services, f"select {columns} from unified.allocation_hourly('dlrm')") == [
        (0, pytest.approx(4 * 3600 + 1800 + 2 * 3580), pytest.approx(3600 + 1800 + 3580), 0),
        (1, pytest.approx(4 * 3600 + 2 * 20 + 160), pytest.approx(3600 + 20 + 160), 0),
        (2, 0, 0, 0),
    ]
    # The offered load starts at submission. Left-censored jobs have none and start with the trace.
    offered = "select held_gpus * 3600 from unified.allocation_hourly('dlrm', offered := true)"
    assert rows(services, offered)[0] == (pytest.approx(4 * 3600 + 1800 + 2 * 3590),)


def test_services_hold_gpus_of_censored_instances(services: duckdb.DuckDBPyConnection) -> None:
    columns = "service, hour_start_s, covered_s, held_gpus, left_censored_gpus, right_censored_gpus"
    assert rows(services, f"select {columns} from dlrm.held_gpus_by_service()") == [
        ("app", 0, 3600, *(pytest.approx(gpu_s / 3600) for gpu_s in (23_360, 16_200, 14_400))),
        ("app", 3600, 3600, *(pytest.approx(gpu_s / 3600) for gpu_s in (14_600, 14_400, 14_560))),
    ]
    [(requested, held)] = rows(services, "select requested_gpus, mean_held_gpus from dlrm.requests_by_role()")
    assert (requested, held) == (8, pytest.approx((23_360 + 14_600) / 7200))


def test_waits_of_left_censored_jobs_are_unknown(services: duckdb.DuckDBPyConnection) -> None:
    waits = "select size_band, jobs, never_started_pct from unified.wait_cdf('dlrm') where percentile = 50"
    assert rows(services, waits) == [("1", 1, 0), ("2 to 7", 1, 0)]


@pytest.mark.parametrize("query", CENSORED_SHARES)
def test_censored_shares_are_null_if_unknown(query: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    """ITP and spot do not record which jobs ran at the end, spot neither which ran before the start."""
    name = CENSORED_SHARES[query]
    counts = f"count(*), count(censored_{name}), count(left_censored_{name})"
    found = {
        trace: row for trace, *row in rows(synthetic, f"select trace, {counts} from {query}() group by 1")
    }
    assert found["itp"][0] == found["itp"][2] > 0 == found["itp"][1]
    assert found["spot"][0] > found["spot"][2] and found["spot"][1] == 0
    assert len(set(found["dlrm"])) == 1


def test_summary_counts_censored_jobs_only_if_known(
    synthetic: duckdb.DuckDBPyConnection,
) -> None:
    counts = (
        "select distinct censored_gpu_jobs, left_censored_gpu_jobs from unified.summary where trace = '{}'"
    )
    assert rows(synthetic, counts.format("itp")) == [(None, 0)]
    assert rows(synthetic, counts.format("spot")) == [(None, None)]
    [(right, left)] = rows(synthetic, counts.format("dlrm"))
    assert right > 0 and left > 0


def test_idle_hours_have_no_negative_gpus(real: duckdb.DuckDBPyConnection) -> None:
    """Adding and subtracting fractions of a GPU leaves errors in the last digits."""
    hours = "from unified.allocation_hour where trace = 'openb' and hour >= 2640"
    assert rows(real, f"select min(queued_gpus), min(held_gpus) >= 0 {hours}") == [(0, True)]


def test_arrivals_exclude_jobs_of_the_first_second_of_spot(synthetic: duckdb.DuckDBPyConnection) -> None:
    """Those jobs may have run before the trace began. No other job is left out."""
    submitted = "from unified.jobs where trace = 'spot' and submit_s > 0"
    [(jobs, first_s, last_s)] = rows(synthetic, f"select count(*), min(submit_s), max(submit_s) {submitted}")
    found = "select jobs, skipped_jobs, span_days * 86400 from unified.arrivals() where trace = 'spot'"
    assert rows(synthetic, found) == [(jobs, 0, pytest.approx(last_s - first_s))]
    for query in ("unified.arrival_burstiness() where trace = 'spot'", "unified.arrival_series('spot')"):
        assert rows(synthetic, f"select sum(jobs) from {query}") == [(jobs,)]


def test_arrivals_of_whole_traces_sum_those_of_clusters(synthetic: duckdb.DuckDBPyConnection) -> None:
    by_hour = "select trace, hour, sum(jobs), sum(submitted_gpus) from unified.arrival_series"
    as_one = "whole_traces := true"
    whole, parts = (
        rows(synthetic, f"{by_hour}({given}) where jobs > 0 group by all order by all")
        for given in (as_one, "")
    )
    assert whole == parts != []
    assert rows(synthetic, f"select count(cluster) from unified.arrival_series({as_one})") == [(0,)]


def test_bounds_of_failures_if_few_outcomes_are_known(real: duckdb.DuckDBPyConnection) -> None:
    """29 % of openb's GPU pods have a known outcome. 91 % of them failed, so 26 to 97 % of all pods did.

    These pods held a tenth of the GPU-hours.
    """
    columns = "known_pct, failed_of_all_pct, failed_at_most_pct, failed_of_known_pct, failed_gpu_time_pct"
    assert rows(real, f"select {columns} from unified.failure_share() where trace = 'openb'")[
        0
    ] == pytest.approx((100 * 2_054 / 7_064, 100 * 1_869 / 7_064, 100 * (7_064 - 185) / 7_064, None, None))
    of_gpu_time = "select round(known_gpu_time_pct), round(failed_of_all_gpu_time_pct, 1)"
    assert rows(real, f"{of_gpu_time} from unified.failure_share(in_trace := 'openb')") == [(10, 1.8)]
    failed = "from unified.size_correlation() where trace = 'openb' and measure = 'failed'"
    assert rows(real, f"select jobs, covered_pct {failed}") == [(2_054, pytest.approx(100 * 2_054 / 7_064))]


def test_load_of_dlrm(real: duckdb.DuckDBPyConnection) -> None:
    """Of 7,386 GPU instances, 3,123 started before the trace and 3,322 outlive it."""
    shares = "censored_gpu_time_pct, left_censored_gpu_time_pct"
    [(jobs, gpu_h, covered, *cut_off)] = rows(
        real, f"select jobs, held_gpu_h, covered_pct, {shares} from unified.traces() where trace = 'dlrm'"
    )
    assert (jobs, covered) == (7_386, 100)
    assert gpu_h == pytest.approx(2_375_875, abs=0.5)
    assert cut_off == [pytest.approx(85.36, abs=0.005), pytest.approx(82.84, abs=0.005)]
    [(allocated_gpu_h, least_gpus)] = rows(
        real, "select sum(held_gpus), min(held_gpus) from unified.allocation_hourly('dlrm')"
    )
    assert allocated_gpu_h == pytest.approx(gpu_h)
    assert allocated_gpu_h / (2_677_541 / 3600) == pytest.approx(3_194, abs=0.5)
    by_service = "select sum(held_gpus * covered_s) / 3600 from dlrm.held_gpus_by_service()"
    assert rows(real, by_service) == [(pytest.approx(gpu_h),)]
    by_role = "select requested_gpus, mean_held_gpus from dlrm.requests_by_role() where role = 'HN'"
    assert rows(real, by_role) == [(7_386, pytest.approx(3_194, abs=0.5))]
    assert least_gpus > 2_500
    # Uncensored runs are short (median 3,752 s); half of all instances were observed for over 630,319 s.
    medians = "median_run_s, whole_run_pct, without_wait_pct"
    assert rows(real, f"select {medians} from unified.traces() where trace = 'dlrm'") == [
        (3_752, pytest.approx(100 * 3_218 / 7_386), pytest.approx(100 * 3_123 / 7_386))
    ]
    seen = "select median(observed_run_s) from unified.jobs where trace = 'dlrm' and requested_gpus > 0"
    assert rows(real, seen) == [(pytest.approx(630_320),)]
    columns = "sum(jobs), sum(held_gpu_h), max(censored_pct), max(left_censored_pct)"
    assert rows(real, f"select {columns} from unified.run_by_size() where trace = 'dlrm'") == [
        (7_386, pytest.approx(gpu_h), pytest.approx(100 * 3_322 / 7_386), pytest.approx(100 * 3_123 / 7_386))
    ]


def test_a_running_task_has_no_run_time(synthetic: duckdb.DuckDBPyConnection) -> None:
    """Only its observed run time is known. pai.task_run, unified.jobs and the queries agree on this."""
    running = "status not in ('Terminated', 'Failed')"
    [(tasks, runs, seen)] = rows(
        synthetic, f"select count(*), count(run_s), count(observed_run_s) from pai.task_run where {running}"
    )
    assert tasks > seen > 0 == runs
    of_jobs = "select count(run_s), count(observed_run_s) from unified.jobs where trace = 'pai'"
    of_tasks = "select count(run_s), count(observed_run_s) from pai.task_run"
    assert rows(synthetic, of_jobs) == rows(synthetic, of_tasks)
    started = "from pai.task_run where submit_s is not null and wait_s is not null"
    [(unended,)] = rows(synthetic, f"select count(*) - count(run_s) {started}")
    assert rows(synthetic, "select distinct unended_tasks from pai.wait_share()") == [(unended,)]
    by_status = "select sum(tasks_with_run) from pai.run_by_status(gpu_only := false)"
    assert rows(synthetic, f"{by_status} where {running}") == [(0,)]
    reason = "select reason from catalog.metrics where trace = 'pai' and metric = 'run'"
    assert "NULL for tasks that had not ended" in rows(synthetic, reason)[0][0]


def test_running_tasks_of_pai_do_not_hold_gpus_to_the_end(synthetic: duckdb.DuckDBPyConnection) -> None:
    """The publisher lists 115,501 tasks as Running, far more than 6,742 GPUs can run at once."""
    running = "trace = 'pai' and is_right_censored"
    [(last_hour_gpus, running_gpus)] = rows(
        synthetic,
        f"""select
            (select max_by(held_gpus, hour) from unified.allocation_hourly('pai')),
            (select sum(requested_gpus) from unified.jobs where {running})""",
    )
    assert last_hour_gpus < running_gpus / 5

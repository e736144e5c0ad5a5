"""Views and queries of all traces, on a few jobs whose results can be computed by hand."""

import datetime as dt
import itertools
from pathlib import Path

import duckdb
import pytest
import raw_dumps
from raw_dumps import rows

POD_HEADER = raw_dumps.header("openb", "pod")
PODS = (
    "p1,4000,2048,1,500,,LS,Succeeded,0,110,10",  # half a GPU for 100 s
    "p2,4000,2048,2,1000,,LS,Failed,0,30,20",  # two GPUs for 10 s
    "p3,4000,2048,1,1000,,BE,Running,40,70,50",  # a GPU for 20 s, its outcome unknown
    "p4,4000,2048,1,1000,,BE,Pending,80,90,",
    "p5,1000,2048,0,0,,LS,Succeeded,100,105,101",
    "p6,1000,2048,0,0,,LS,Failed,100,107,101",
)
JOB_HEADER = raw_dumps.header("acme", "job_trace", *raw_dumps.OF_KALOS)
# Job, user, GPUs, state; seconds of submission, start and end. The publisher's durations are left empty.
SEREN = (
    ("1", "ua", 8, "COMPLETED", 0, 10, 110),
    ("2", "ua", 8, "FAILED", 3600, 3600, 3650),
    ("3", "ub", 1, "CANCELLED", 3600, 3601, 3641),
    ("4", "uc", 1, "PREEMPTED", 7200, 7210, 7220),
    ("5", "ub", 0, "TIMEOUT", 90000, 90000, 90004),
)
MIDNIGHT = dt.datetime(2023, 3, 6, tzinfo=dt.timezone(dt.timedelta(hours=8)))  # a Monday
# Job, task, instances, status, start, plan_gpu in percent; start and end of the instances after that start.
HOUR_0 = 4 * 86400 - 8 * 3600  # midnight of the clock's first Monday, 1970-01-05, in UTC+8
PAI = (
    ("j1", "worker", 2, "Terminated", HOUR_0, 50, 10, 110),  # one GPU for 100 s
    ("j2", "worker", 1, "Failed", HOUR_0 + 86400, 800, 20, 30),  # eight GPUs for 10 s
    ("j3", "ps", 4, "Terminated", HOUR_0 + 86400, None, 30, 60),
    ("j4", "worker", 1, "Running", HOUR_0 + 7200, 100, 40, None),
    ("j5", "worker", 1, "Waiting", None, 100, None, None),
)
SUMMARY = {
    "id": "Seren",
    "job_num": 7,
    "cpu_job_num": 1,
    "gpu_job_num": 6,
    "complete_rate_gpu": 0.5,
    "fail_gpu_time": 400,
}


def stamp(second: int) -> str:
    return str(MIDNIGHT + dt.timedelta(seconds=second))


def seren_line(job: tuple) -> str:
    job_id, user, gpus, state, *seconds = job
    return ",".join([job_id, user, "1", str(gpus), "8", "Eval", state, *map(stamp, seconds), "", "", ""])


def pai_tables() -> dict[str, list[dict[str, object]]]:
    tables: dict[str, list[dict[str, object]]] = {"pai_job_table": [], "pai_task_table": []}
    tables["pai_instance_table"] = []
    for name, task, instances, status, submit, plan_gpu, start, end in PAI:
        span = {"status": status, "start_time": submit, "end_time": None}
        user = "v1" if name < "j3" else "v2"
        tables["pai_job_table"].append({"job_name": name, "inst_id": f"i{name}", "user": user} | span)
        plan = {"inst_num": float(instances), "plan_cpu": 100.0, "plan_mem": 2.0}
        plan |= {"plan_gpu": plan_gpu, "gpu_type": "T4"}
        tables["pai_task_table"].append({"job_name": name, "task_name": task} | span | plan)
        if start is not None:
            times = {"start_time": submit + start, "end_time": None if end is None else submit + end}
            ids = {"inst_name": f"n{name}", "worker_name": f"w{name}", "inst_id": f"i{name}", "machine": "m"}
            instance = {"job_name": name, "task_name": task, "status": status}
            tables["pai_instance_table"].append(instance | ids | times)
    return tables


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A warehouse with a few pods, jobs and tasks, and with a published summary."""
    folder = tmp_path_factory.mktemp("unified")
    raw = folder / "raw"
    (raw / "acme").mkdir(parents=True)
    (raw / "openb_pod_list_default.csv").write_text("\n".join([POD_HEADER, *PODS]) + "\n", encoding="utf-8")
    (raw / "acme" / "trace_seren.csv").write_text(
        "\n".join([JOB_HEADER, *map(seren_line, SEREN)]) + "\n", encoding="utf-8"
    )
    raw_dumps.write_pai(raw / "pai", pai_tables())
    write_summary(raw / "acme" / "cluster_summary.csv")
    return raw_dumps.ingested(raw, folder / "warehouse")


def write_summary(path: Path, others: tuple[str, ...] = ("Philly",)) -> None:
    header = raw_dumps.header("acme", "cluster_summary")
    cells = [str(SUMMARY.get(name, 0)) for name in header.split(",")]
    lines = [",".join([name, *cells[1:]]) for name in ("Seren", *others)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def test_the_summary_of_gpu_jobs(few: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        few,
        """
        select trace, cluster, jobs, cpu_jobs, gpu_jobs, mean_run_s, mean_wait_s, mean_gpus,
            median_run_s, median_wait_s, median_gpus, max_run_s, max_gpus
        from unified.summary order by trace
        """,
    ) == [
        ("acme", "seren", 5, 1, 4, 50.0, 5.25, 4.5, 45.0, 5.5, 4.5, 100.0, 8.0),
        (
            "openb",
            None,
            6,
            2,
            4,
            pytest.approx(130 / 3),
            pytest.approx(40 / 3),
            1.125,
            20.0,
            10.0,
            1.0,
            100.0,
            2.0,
        ),
        # GPUs are counted per instance: j1 has 0.5. j4 still runs, and j5 still waits.
        ("pai", None, 5, 1, 4, 55.0, pytest.approx(70 / 3), 2.625, 55.0, 20.0, 1.0, 100.0, 8.0),
    ]


def test_the_summary_of_outcomes(few: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        few,
        """
        select trace, completed_share, cancelled_share, failed_share, preempted_share,
            completed_gpu_s, cancelled_gpu_s, failed_gpu_s, preempted_gpu_s,
            completed_gpu_time_share, cancelled_gpu_time_share, failed_gpu_time_share,
            preempted_gpu_time_share
        from unified.summary order by trace
        """,
    ) == [
        ("acme", 0.25, 0.25, 0.25, 0.25, 800.0, 40.0, 400.0, 10.0, 0.64, 0.032, 0.32, 0.008),
        ("openb", 0.5, 0.0, 0.5, 0.0, 50.0, 0.0, 20.0, 0.0, 5 / 7, 0.0, 2 / 7, 0.0),
        # Only one of j1's two instances is known. It holds half a GPU.
        ("pai", 0.5, 0.0, 0.5, 0.0, 50.0, 0.0, 80.0, 0.0, 5 / 13, 0.0, 8 / 13, 0.0),
    ]


def test_the_summary_of_cpu_jobs(few: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        few,
        """
        select trace, mean_run_s_cpu, mean_wait_s_cpu, median_run_s_cpu, median_wait_s_cpu,
            completed_share_cpu, cancelled_share_cpu, failed_share_cpu
        from unified.summary order by trace
        """,
    ) == [
        ("acme", 4.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0),
        ("openb", 5.0, 1.0, 5.0, 1.0, 0.5, 0.0, 0.5),
        ("pai", 30.0, 30.0, 30.0, 30.0, 1.0, 0.0, 0.0),
    ]


def test_without_outcomes_there_is_no_share(real: duckdb.DuckDBPyConnection) -> None:
    shares = rows(
        real,
        """
        select count(*), count(completed_share), count(completed_gpu_s), count(failed_gpu_time_share),
            count(mean_wait_s), count(mean_run_s_cpu), sum(gpu_jobs)
        from unified.summary where trace = 'itp'
        """,
    )
    # One row for each of the ten clusters, and one for all of them.
    assert shares == [(11, 0, 0, 0, 0, 0, 2 * 69_351)]


def test_compares_summary_with_published_one(few: duckdb.DuckDBPyConnection) -> None:
    every = rows(few, "from unified.summary_against_published()")
    # The warehouse has no jobs of Philly, and the summary has no lines of Kalos and PAI.
    assert {row[:2] for row in every} == {("acme", "seren")} and len(every) == 27
    measures = [name for (name, *_) in rows(few, "describe unified.summary_v2")][2:]
    assert [row[2] for row in every] == [name.replace("failed", "failed_or_preempted") for name in measures]
    found = {row[2]: row[3:] for row in every}
    assert found["jobs"] == (5.0, 7.0, -2.0)
    assert found["cpu_jobs"] == (1.0, 1.0, 0.0)
    assert found["completed_share"] == (0.25, 0.5, -0.25)
    assert found["failed_or_preempted_gpu_s"] == (410.0, 400.0, 10.0)


def test_compares_summary_of_a_whole_trace(tmp_path: Path) -> None:
    """The publisher's table has one line for all clusters of Helios: medians are over all their jobs."""
    header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
    day = "2020-06-09"
    for cluster, run_times in {"Earth": (10, 20, 30), "Venus": (50,)}.items():
        folder = tmp_path / "raw" / "helios" / cluster
        folder.mkdir(parents=True)
        jobs = [
            f"{place},u,vc1,1,4,1,COMPLETED,{day} 18:41:00,{day} 18:41:00,{day} 18:41:{run},{run},0"
            for place, run in enumerate(run_times)
        ]
        (folder / "cluster_log.csv").write_text("\n".join([header, *jobs]) + "\n", encoding="utf-8")
    (tmp_path / "raw" / "acme").mkdir()
    write_summary(tmp_path / "raw" / "acme" / "cluster_summary.csv", others=("Helios",))
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        measures = "measure in ('jobs', 'mean_run_s', 'median_run_s', 'completed_share')"
        compared = f"from unified.summary_against_published() where {measures}"
        assert rows(connection, f"select trace, cluster, measure, measured, published {compared}") == [
            ("helios", "all", "jobs", 4, 7),
            ("helios", "all", "mean_run_s", 27.5, 0),
            ("helios", "all", "median_run_s", 25, 0),
            ("helios", "all", "completed_share", 1, 0.5),
        ]
        clusters = "select cluster, median_run_s from unified.summary order by cluster"
        assert rows(connection, clusters) == [("Earth", 20), ("Venus", 50), ("all", 25)]


def test_sizes(few: duckdb.DuckDBPyConnection) -> None:
    sizes = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert rows(few, "select at_most_gpus from unified.size_cdf() where trace = 'pai'") == [
        (s,) for s in sizes
    ]
    columns = "trace, at_most_gpus, jobs_pct, gpu_time_pct"
    some = "from unified.size_cdf() where at_most_gpus in (0.25, 0.5, 1, 2, 8)"
    assert rows(few, f"select {columns} {some}") == [
        ("acme", 0.25, 0.0, 0.0),
        ("acme", 0.5, 0.0, 0.0),
        ("acme", 1.0, 50.0, 4.0),
        ("acme", 2.0, 50.0, 4.0),
        ("acme", 8.0, 100.0, 100.0),
        ("openb", 0.25, 0.0, 0.0),
        ("openb", 0.5, 25.0, pytest.approx(500 / 9)),
        ("openb", 1.0, 75.0, pytest.approx(700 / 9)),
        ("openb", 2.0, 100.0, 100.0),
        ("openb", 8.0, 100.0, 100.0),
        ("pai", 0.25, 0.0, 0.0),
        ("pai", 0.5, 0.0, 0.0),
        ("pai", 1.0, 75.0, pytest.approx(500 / 13)),
        ("pai", 2.0, 75.0, pytest.approx(500 / 13)),
        ("pai", 8.0, 100.0, 100.0),
    ]
    assert rows(few, "select distinct trace, covered_pct, censored_gpu_time_pct from unified.size_cdf()") == [
        ("acme", 100.0, 0.0),
        ("openb", 75.0, 0.0),
        ("pai", 50.0, 0.0),
    ]


def test_gpu_time_concentration_by_job(few: duckdb.DuckDBPyConnection) -> None:
    largest = "select * exclude (effective_units) from unified.gpu_time_concentration"
    assert rows(few, f"{largest}()") == [
        ("acme", 4, 1, 1, 64.0, None, None, 100.0, 0.0, 0.0),
        ("openb", 4, 1, 1, pytest.approx(500 / 9), None, None, 75.0, 0.0, 0.0),
        ("pai", 4, 1, 1, pytest.approx(800 / 13), None, None, 50.0, 0.0, 0.0),
    ]
    assert rows(few, f"{largest}(top_pct := 26) where trace = 'acme'") == [
        ("acme", 4, 26, 2, 96.0, None, None, 100.0, 0.0, 0.0)
    ]
    assert rows(few, f"{largest}(top_pct := 0) where trace = 'acme'") == [
        ("acme", 4, 0, 0, 0.0, None, None, 100.0, 0.0, 0.0)
    ]


def test_gpu_time_concentration_by_user(few: duckdb.DuckDBPyConnection) -> None:
    assert rows(few, "from unified.user_concentration()") == [
        ("acme", 3, 5, 1, 96.0, 100.0, 0.0, 0.0),
        ("pai", 2, 5, 1, 100.0, 50.0, 0.0, 0.0),
    ]
    assert rows(few, "from unified.user_concentration(top_pct := 50) where trace = 'acme'") == [
        ("acme", 3, 50, 2, pytest.approx(99.2), 100.0, 0.0, 0.0)
    ]


def test_failures(few: duckdb.DuckDBPyConnection) -> None:
    """Shares of all jobs, of known outcomes and of GPU time. Failed jobs have GPU time; none is censored."""
    bounds = [f"{side}_failed_{part}_pct" for part in ("of_all", "gpu_time") for side in ("low", "high")]
    bounds += ["effective_units", "effective_gpu_time_units"]
    shares = f"select * exclude ({', '.join(bounds)}) from unified.failure_share"
    openb_gpu_time = pytest.approx(700 / 9), pytest.approx(200 / 9)
    pai_gpu_time = 100.0, *[pytest.approx(800 / 13)] * 2
    assert rows(few, f"{shares}()") == [
        ("acme", "seren", 4, 100.0, 25.0, 25.0, 25.0, 25.0, 100.0, 32.0, 32.0, 100.0, 0.0, 0.0),
        ("openb", None, 4, 50.0, 25.0, 75.0, None, None, *openb_gpu_time, None, 100.0, 0.0, 0.0),
        ("pai", None, 4, 50.0, 25.0, 75.0, None, None, *pai_gpu_time, 100.0, 0.0, 0.0),
    ]
    acme_gpu_time = [pytest.approx(32.8)] * 2
    all_that_end = f"{shares}(gpu_only := false, preempted_fails := true)"
    assert rows(few, f"{all_that_end} where trace = 'acme'") == [
        ("acme", "seren", 5, 100.0, *[60.0] * 3, 20.0, 100.0, *acme_gpu_time, 100.0, 0.0, 0.0)
    ]


def test_failures_repeat_within_owners(tmp_path: Path) -> None:
    """Of users who only differ in how often jobs fail, failures seem to repeat, but not within users."""
    with duckdb.connect(str(raw_dumps.without_data(tmp_path, embed_tables=True))) as connection:
        connection.execute("set timezone = 'UTC'; select setseed(0.5)")
        connection.execute("""
            insert into acme.job_trace by name
            select
                'seren' as cluster,
                cast(job as varchar) as job_id,
                cast(job % 50 as varchar) as user,
                1 as gpu_num,
                case when random() < (job % 50) / 50 then 'FAILED' else 'COMPLETED' end as state,
                timestamptz '2023-06-01 00:00:00+00' + to_minutes(job) as submit_time,
                submit_time as start_time,
                submit_time + interval 1 minute as end_time,
                60 as duration
            from range(10000) as jobs(job)
        """)
        found = rows(
            connection,
            "select previous_outcome, times_baseline, times_expected from unified.failure_repeats()",
        )
    assert found == [
        ("completed", pytest.approx(0.66, abs=0.03), pytest.approx(1, abs=0.03)),
        ("failed", pytest.approx(1.33, abs=0.03), pytest.approx(1, abs=0.03)),
    ]


def test_waits_by_size_count_jobs_that_never_started(few: duckdb.DuckDBPyConnection) -> None:
    """Of openb's two pods of one GPU, one waited 10 s and one never started."""
    waits = (
        "select size_band, jobs, never_started_pct, wait_s from unified.wait_cdf('{}') where percentile = {}"
    )
    assert rows(few, waits.format("openb", 50)) == [
        ("below 1", 1, 0.0, 10.0),
        ("1", 2, 50.0, 10.0),
        ("2 to 7", 1, 0.0, 20.0),
    ]
    assert rows(few, waits.format("openb", 75))[1] == ("1", 2, 50.0, None)
    # Of PAI's three tasks with one GPU, one was not launched. The others waited 10 and 40 s.
    assert rows(few, waits.format("pai", 50)) == [("1", 2, 0.0, 10.0), ("8", 1, 0.0, 20.0)]
    unknown = "select distinct size_band, unknown_pct from unified.wait_cdf('pai') order by size_band"
    assert rows(few, unknown) == [("1", pytest.approx(100 / 3)), ("8", 0)]
    assert rows(few, "from unified.wait_cdf('itp')") == []


def test_a_percentile_that_too_few_jobs_reach_has_no_bounds(tmp_path: Path) -> None:
    """All six pods of an even day start, four of an odd day; the others are withdrawn after longer waits.

    A bound would come from the pods that reach the percentiles below.
    """
    raw = tmp_path / "raw"
    raw.mkdir()
    pods = [
        f"p{day}-{place},4000,2048,1,1000,,LS,{phase},{day * 86400},{day * 86400 + 900},{scheduled}"
        for day in range(30)
        for place in range(6)
        for phase, scheduled in [
            ("Pending", "") if day % 2 and place < 2 else ("Succeeded", day * 86400 + 10 + day)
        ]
    ]
    (raw / "openb_pod_list_default.csv").write_text("\n".join([POD_HEADER, *pods]) + "\n", encoding="utf-8")
    with raw_dumps.ingested(raw, tmp_path / "warehouse") as connection:
        waits = "select percentile, wait_s, low_wait_s, high_wait_s from unified.wait_cdf()"
        found = {percentile: values for percentile, *values in rows(connection, waits)}
    assert None not in found[50]
    assert found[90] == [None, None, None]


def test_run_by_size(few: duckdb.DuckDBPyConnection) -> None:
    columns = "size_band, jobs, round(held_gpu_h * 3600, 9), median_run_s, covered_pct, failed_of_known_pct"
    assert rows(few, f"select {columns} from unified.run_by_size() where trace = 'acme'") == [
        ("1", 2, 50.0, 25.0, 100.0, 0.0),
        ("8", 2, 1200.0, 75.0, 100.0, 50.0),
    ]
    assert rows(few, f"select {columns} from unified.run_by_size() where trace = 'pai'") == [
        ("1", 3, 50.0, 100.0, pytest.approx(100 / 3), None),
        ("8", 1, 80.0, 10.0, 100.0, 100.0),
    ]


def test_one_rule_for_failures_gives_one_share(few: duckdb.DuckDBPyConnection) -> None:
    for preempted_fails, gpu_only in itertools.product(("false", "true"), repeat=2):
        rules = f"preempted_fails := {preempted_fails}, gpu_only := {gpu_only}"
        shares = [
            rows(few, f"select {column} from {query}({rules}{more}) where {which}")
            for query, column, which, more in (
                ("unified.failure_share", "failed_of_all_pct", "cluster = 'seren'", ""),
                ("unified.traces", "failed_of_all_pct", "cluster = 'seren'", ""),
                ("acme.failures", "failed_jobs_pct", "cluster = 'seren'", ""),
                ("acme.states", "jobs_pct", "final_state = 'failed'", ", by_outcome := true"),
                ("acme.type_state_shares", "sum(jobs_pct)", "outcome = 'failed'", ""),
            )
        ]
        assert shares == [shares[0]] * 5


def test_arrivals(few: duckdb.DuckDBPyConnection) -> None:
    gaps = [3600, 0, 3600, 82800]
    mean = sum(gaps) / 4
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / 4) ** 0.5
    seren, openb, pai = rows(few, "from unified.arrivals(gpu_only := false, from_hour := 0)")
    days = 90000 / 86400
    assert seren == (
        "acme",
        "seren",
        5,
        0,
        pytest.approx(days),
        5 / days,
        mean,
        pytest.approx(deviation / mean),
        40.0,
        100.0,
    )
    assert openb[:2] + openb[2:3] == ("openb", None, 6)
    assert openb[-2:] == (pytest.approx(400 / 6), 100.0)
    # The waiting task has no submission time.
    assert pai[2:6] == (4, 0, 1.0, 4.0) and pai[-2:] == (50.0, 80.0)
    # The last job of each trace has no GPU; in openb, the last two.
    spans = "select trace, jobs, skipped_jobs, span_days * 86400 from unified.arrivals"
    acme, pai = ("acme", 4, 0, pytest.approx(7200)), ("pai", 3, 0, pytest.approx(86_400))
    assert rows(few, f"{spans}(from_hour := 0)") == [acme, ("openb", 4, 0, pytest.approx(80)), pai]
    # openb starts at hour 2640, as its early pods are months apart. These are all early.
    assert rows(few, f"{spans}()") == [acme, pai]
    # The call skips the first 40 % of the jobs: two of Seren's five, at 0 and 3600 s.
    [later] = rows(
        few, "select jobs, skipped_jobs, mean_gap_s from unified.arrivals(false, 40) where trace = 'acme'"
    )
    assert later == (3, 2, (3600 + 82800) / 2)


def test_hours_and_weekdays_are_in_chinas_time_zone(few: duckdb.DuckDBPyConnection) -> None:
    assert rows(few, "from unified.hour_profile(gpu_only := false)") == [
        ("acme", 0, 1, 20.0),
        ("acme", 1, 3, 60.0),
        ("acme", 2, 1, 20.0),
        ("pai", 0, 3, 75.0),
        ("pai", 2, 1, 25.0),
    ]
    assert rows(few, "from unified.hour_profile() where trace = 'acme'") == [
        ("acme", 0, 1, 25.0),
        ("acme", 1, 2, 50.0),
        ("acme", 2, 1, 25.0),
    ]
    assert rows(few, "from unified.weekday_profile() where trace = 'acme'") == [("acme", 1, 1, 4, 4.0, 100.0)]
    assert rows(few, "from unified.weekday_profile(gpu_only := false)") == [
        ("acme", 1, 1, 4, 4.0, 80.0),
        ("acme", 2, 1, 1, 1.0, 20.0),
        ("pai", 1, 1, 2, 2.0, 50.0),
        ("pai", 2, 1, 2, 2.0, 50.0),
    ]


def test_a_weekday_that_the_trace_covers_twice_has_no_more_jobs_a_day(tmp_path: Path) -> None:
    """The trace runs from a Monday to the next. Each Monday and the Tuesday between have two jobs."""
    folder = tmp_path / "raw" / "acme"
    folder.mkdir(parents=True)
    days = (0, 0, 1, 1, 7, 7)
    jobs = [(str(place), "ua", 1, "COMPLETED", *3 * [day * 86_400]) for place, day in enumerate(days)]
    (folder / "trace_seren.csv").write_text(
        "\n".join([JOB_HEADER, *map(seren_line, jobs)]) + "\n", encoding="utf-8"
    )
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        profile = "select weekday, days, jobs, jobs_per_day from unified.weekday_profile()"
        assert rows(connection, profile) == [
            *((1, 2, 4, 2), (2, 1, 2, 2)),
            *((weekday, 1, 0, 0) for weekday in range(3, 8)),
        ]


def test_caveat_of_censored_pods_has_their_share(real: duckdb.DuckDBPyConnection) -> None:
    """32 pods that ran at the end hold over half of the GPU time. 19 pods arrived in the first 110 days."""
    censored = (
        "select count(*) from unified.jobs where trace = 'openb' and is_right_censored and requested_gpus > 0"
    )
    assert rows(real, censored) == [(32,)]
    [top] = rows(
        real,
        "select top_gpu_time_pct, censored_gpu_time_pct from unified.gpu_time_concentration()"
        " where trace = 'openb'",
    )
    assert top == (pytest.approx(91.6, abs=0.05), pytest.approx(56, abs=0.5))
    [failed] = rows(
        real,
        "select jobs, known_pct, failed_of_all_pct from unified.failure_share() where trace = 'openb'",
    )
    known = 7_064 - 5_010
    assert failed[:2] == (7_064, pytest.approx(100 * known / 7_064))
    assert failed[2:] == (pytest.approx(26.5, abs=0.05),)
    [arrived] = rows(
        real,
        "select jobs_per_day, cv_gap from unified.arrivals(false, 0.25, 0) where trace = 'openb'",
    )
    assert arrived == (pytest.approx(217, abs=1), pytest.approx(4.28, abs=0.05))

"""Acme's views and queries over jobs, on a few rows whose results can be computed by hand."""

import datetime as dt

import duckdb
import pytest
import raw_dumps
from raw_dumps import rows

HEADER = raw_dumps.header("acme", "job_trace", *raw_dumps.OF_KALOS)
# Job, user, GPUs, type, state; seconds of submission, start and end; duration, queue, GPU time.
SEREN = (
    ("1", "ua", 1, "Eval", "COMPLETED", 0, 10, 30, 20, 10, 20),
    ("2", "ua", 8, "Eval", "FAILED", 0, 0, 100, 100, 0, 800),
    # The duration includes the queueing delay, the GPU time does not.
    ("3", "ub", 8, "Pretrain", "PREEMPTED", 60, 70, 110, 50, 10, 320),
    # Cancelled before it started: it waited, but has no GPU time.
    ("4", "uc", 512, "Pretrain", "CANCELLED", 7200, None, 7230, None, 30, None),
    ("5", "uc", 2, "Debug", "RUNNING", 7260, 7261, None, None, 1, None),
    ("6", "uc", 2, "Debug", None, 7260, 7264, 7265, 7, 3, 14),
    ("7", "ua", 4, "Debug", "ASLEEP", 7320, None, None, None, None, None),
    ("8", "ud", 0, "CPU", "TIMEOUT", 90, 90, 91, 1, 0, 0),
)
MIDNIGHT = dt.datetime(2023, 3, 6, tzinfo=dt.timezone(dt.timedelta(hours=8)))  # a Monday


def stamp(second: int | None) -> str:
    return "" if second is None else str(MIDNIGHT + dt.timedelta(seconds=second))


def line(job: tuple) -> str:
    job_id, user, gpus, kind, state, submit, start, end, *published = job
    times = [stamp(second) for second in (submit, start, end)]
    cells = (job_id, user, 1, gpus, 8, kind, state, *times, *published)
    return ",".join("" if cell is None else str(cell) for cell in cells)


@pytest.fixture(scope="module")
def seren(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A warehouse with Seren's jobs only."""
    folder = tmp_path_factory.mktemp("acme")
    trace = folder / "raw" / "acme" / "trace_seren.csv"
    trace.parent.mkdir(parents=True)
    trace.write_text("\n".join([HEADER, *map(line, SEREN)]) + "\n", encoding="utf-8")
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def test_duration_audit(seren: duckdb.DuckDBPyConnection) -> None:
    audit = rows(seren, "select * exclude cluster from acme.duration_audit order by state nulls last")
    assert audit == [
        ("ASLEEP", 1, 0, 0, 0, 0, 1, 0, 0, 0, 0),
        ("CANCELLED", 1, 0, 0, 0, 0, 1, 0, 0, 0, 0),
        ("COMPLETED", 1, 1, 0, 0, 0, 0, 1, 0, 1, 0),
        ("FAILED", 1, 0, 0, 1, 0, 0, 1, 0, 1, 0),
        ("PREEMPTED", 1, 0, 1, 0, 0, 0, 1, 0, 0, 1),
        ("RUNNING", 1, 0, 0, 0, 0, 1, 1, 0, 0, 0),
        ("TIMEOUT", 1, 0, 0, 1, 0, 0, 1, 0, 1, 0),
        (None, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0),
    ]


def test_sorts_unknown_final_state_last(seren: duckdb.DuckDBPyConnection) -> None:
    by_outcome = "acme.states(by_outcome := true, preempted_fails := true)"
    shares = f"select final_state, jobs, round(gpu_h * 3600, 9) from {by_outcome}"
    assert rows(seren, shares) == [
        ("failed", 2, 1_120),
        ("cancelled", 1, None),
        ("completed", 1, 20),
        (None, 3, 2),
    ]
    apart = "select final_state, jobs from acme.states(by_outcome := true) where final_state like '%ed'"
    assert dict(rows(seren, apart)) == {"failed": 1, "preempted": 1, "cancelled": 1, "completed": 1}
    by_state = rows(seren, "select final_state, jobs_pct from acme.states()")
    assert [state for state, _ in by_state] == [
        *("ASLEEP", "CANCELLED", "COMPLETED", "FAILED", "PREEMPTED", "RUNNING", None)
    ]
    assert [share for _, share in by_state] == 7 * [pytest.approx(100 / 7)]


def test_wait_by_size_lists_every_size_band(seren: duckdb.DuckDBPyConnection) -> None:
    """Jobs 4 and 7 never started; the publisher nevertheless gives a queueing delay for job 4."""
    columns = "gpu_band, jobs, jobs_without_wait, mean_wait_s, median_wait_s"
    assert rows(seren, f"select {columns} from acme.wait_by_size()") == [
        ("1", 1, 0, 10, 10),
        ("2 to 7", 2, 1, 2.5, 2.5),
        ("8", 2, 0, 5, 5),
        ("9 to 63", 0, 0, None, None),
        ("64 to 511", 0, 0, None, None),
        ("512 and more", 0, 1, None, None),
    ]
    by_publisher = "from acme.wait_by_size(by_publisher := true) select gpu_band, jobs, mean_wait_s"
    assert rows(seren, by_publisher) == [
        ("1", 1, 10),
        ("2 to 7", 2, 2),
        ("8", 2, 5),
        ("9 to 63", 0, None),
        ("64 to 511", 0, None),
        ("512 and more", 1, 30),
    ]


def test_shares_exclude_jobs_with_unknown_times(seren: duckdb.DuckDBPyConnection) -> None:
    durations = "select jobs, jobs_pct from acme.duration_cdf({}) where run_s = 32"
    assert rows(seren, durations.format("")) == [(2, 50)]
    assert rows(seren, durations.format("by_publisher := true")) == [(2, 50)]
    waits = "select workload_type, jobs, jobs_pct from acme.wait_cdf({}) where wait_s = 4"
    assert rows(seren, waits.format("")) == [("Debug", 2, 100), ("Eval", 1, 50), ("Pretrain", 0, 0)]
    assert rows(seren, waits.format("by_publisher := true")) == [
        ("Debug", 2, 100),
        ("Eval", 1, 50),
        ("Pretrain", 0, 0),
    ]


def test_sizes(seren: duckdb.DuckDBPyConnection) -> None:
    sizes = rows(seren, "select * exclude cluster from acme.gpu_count_cdf()")
    time = 20 + 800 + 320 + 2
    assert sizes[3] == (8, 6, *(pytest.approx(share) for share in (600 / 7, 100, 112_000 / time)))
    assert sizes[-1] == (2048, 7, 100, 100, 0)


def test_failures(seren: duckdb.DuckDBPyConnection) -> None:
    """Failed jobs held 800 of 1,142 GPU-seconds, or of 1,154 published ones; preempted ones held 320."""
    for by_publisher, time in (("false", 20 + 800 + 320 + 2), ("true", 20 + 800 + 320 + 14)):
        for preempted_fails, jobs, failed in (("false", 1, 800), ("true", 2, 1_120)):
            call = f"acme.failures(preempted_fails := {preempted_fails}, by_publisher := {by_publisher})"
            assert rows(
                seren, f"select * exclude (cluster, failed_gpu_h), failed_gpu_h * 3600 from {call}"
            ) == [
                (
                    *(jobs, pytest.approx(100 * jobs / 7), pytest.approx(100 * failed / time)),
                    *(100, pytest.approx(failed)),
                )
            ]


def test_short_jobs(seren: duckdb.DuckDBPyConnection) -> None:
    assert rows(seren, "from acme.short_jobs(under_s := 50)") == [
        ("seren", 7, 3, pytest.approx(300 / 7), 8, 4, 50)
    ]
    assert rows(seren, "from acme.short_jobs(under_s := 50, by_publisher := true)") == [
        ("seren", 7, 2, pytest.approx(200 / 7), 8, 3, 37.5)
    ]


def test_run_time_excludes_queueing_delay(seren: duckdb.DuckDBPyConnection) -> None:
    """Runs of 20, 100, 40 and 1 s; the published durations are 20, 100, 50 and 7 s."""
    durations = "select run_s, jobs from acme.duration_cdf({}) where run_s in (4, 16, 64)"
    assert rows(seren, durations.format("")) == [(4, 1), (16, 1), (64, 3)]
    assert rows(seren, durations.format("by_publisher := true")) == [(4, 0), (16, 1), (64, 3)]
    totals = "select median_run_s, gpu_h * 3600 from acme.totals({}) where cluster = 'seren'"
    assert rows(seren, totals.format("")) == [(30, pytest.approx(1_142))]
    assert rows(seren, totals.format("by_publisher := true")) == [(35, pytest.approx(1_154))]


def test_arrivals(seren: duckdb.DuckDBPyConnection) -> None:
    """Jobs arrive at 0, 0, 60, 7200, 7260, 7260 and 7320 s: in hours 0 and 2. Hour 1 is idle."""
    gaps = [0, 60, 7_140, 60, 0, 60]
    mean = sum(gaps) / 6
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / 6) ** 0.5
    [(jobs, first, last, *others)] = rows(seren, "from acme.arrivals()")
    assert (jobs, first, last) == (7, MIDNIGHT, MIDNIGHT + dt.timedelta(seconds=7_320))
    assert others == [pytest.approx(value) for value in (mean, deviation / mean, 400 / 7, 4, 7 / 3)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_hours_are_in_the_publishers_time_zone(seren: duckdb.DuckDBPyConnection, zone: str) -> None:
    with seren.cursor() as cursor:
        cursor.execute(f"set timezone = '{zone}'")
        hours = rows(cursor, "select weekday, hour_of_day, jobs from acme.arrivals_by_hour()")
    assert [hour[:2] for hour in hours] == [(day, hour) for day in range(1, 8) for hour in range(24)]
    assert [hour for hour in hours if hour[2]] == [(1, 0, 3), (1, 2, 4)]


def test_heaviest_users(seren: duckdb.DuckDBPyConnection) -> None:
    """Users ua and uc have three GPU jobs each; ua also has the most GPU time."""
    assert rows(seren, "from acme.user_concentration()") == [
        ("seren", 3, 5, 1, pytest.approx(300 / 7), pytest.approx(82_000 / 1_142), 1)
    ]


def test_a_cluster_without_jobs_is_in_the_totals(seren: duckdb.DuckDBPyConnection) -> None:
    totals = rows(seren, "select * replace (gpu_h * 3600 as gpu_h) from acme.totals(with_total := true)")
    of_jobs = (8, 7, 1, pytest.approx(1_142), pytest.approx(537 / 7), 30, 3)
    assert totals == [
        ("seren", *of_jobs),
        ("kalos", 0, 0, 0, None, None, None, 0),
        ("all", *of_jobs),
    ]
    against = rows(
        seren, "select measure, from_summary, from_jobs, difference from acme.summary_against_jobs()"
    )
    assert len(against) == 48
    found = {measure: (summary, jobs, more) for measure, summary, jobs, more in against[:24]}
    assert found["gpu_job_num"] == (None, 7, None)
    assert found["fail_rate_gpu"] == (None, pytest.approx(2 / 7), None)
    assert found["cancel_rate_gpu_time"] == (None, 0, None)

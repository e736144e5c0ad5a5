"""Philly's waits per attempt, doubly allocated GPUs and fragmentation, on four attempts of three jobs."""

import json
from collections.abc import Iterator

import duckdb
import pytest
import raw_dumps
from raw_dumps import rows

DAY = "2017-10-03"
MACHINES = "machineId, number of GPUs, single GPU mem\nm1,4, 24GB\nm2,2, 12GB\n"
# Per job: each attempt's start, end and GPUs of m1.
JOBS = {
    "retried": [("10:00:00", "10:10:00", ["gpu0", "gpu1"]), ("10:20:00", "10:50:00", ["gpu0", "gpu1"])],
    "overlapping": [("10:30:00", "11:00:00", ["gpu1"])],
    "unlogged": [("10:40:00", None, ["gpu2"])],
}


@pytest.fixture(scope="module")
def philly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("philly")
    log = [
        {
            "status": "Pass",
            "vc": "v",
            "jobid": name,
            "user": "u",
            "submitted_time": f"{DAY} 09:59:00",
            "attempts": [
                {
                    "start_time": f"{DAY} {start}",
                    "end_time": end and f"{DAY} {end}",
                    "detail": [{"ip": "m1", "gpus": gpus}],
                }
                for start, end, gpus in attempts
            ],
        }
        for name, attempts in JOBS.items()
    ]
    raw = folder / "raw" / "philly"
    raw.mkdir(parents=True)
    (raw / "cluster_job_log").write_text(json.dumps(log), encoding="utf-8")
    (raw / "cluster_machine_list").write_text(MACHINES, encoding="utf-8")
    with raw_dumps.ingested(folder / "raw", folder / "warehouse") as connection:
        yield connection


def test_a_later_attempt_waits_from_the_end_of_the_previous_one(philly: duckdb.DuckDBPyConnection) -> None:
    waits = (
        "select gpu_band, attempt_class, attempts, median_wait_s, wait_pct from philly.wait_by_attempt({})"
    )
    shares = [pytest.approx(100 * seconds / 660) for seconds in (60, 600)]
    retried = [("2 to 4", "first", 1, 60, shares[0]), ("2 to 4", "later", 1, 600, shares[1])]
    assert rows(philly, waits.format("")) == retried
    once = ("1", "first", 2, (1860 + 2460) / 2, 100)
    assert rows(philly, waits.format("retried_only := false")) == [once, *retried]


def test_only_gpus_held_by_two_attempts_at_once_are_doubly_allocated(
    philly: duckdb.DuckDBPyConnection,
) -> None:
    columns = "allocations, double_allocations, gpu_h * 60, double_gpu_h * 60, untimed_allocations"
    assert rows(philly, f"select {columns} from philly.doubly_allocated_gpus()") == [
        (5, 1, pytest.approx(2 * 10 + 2 * 30 + 30), pytest.approx(20), 1)
    ]


def test_free_gpus_on_several_machines_do_not_add_up(philly: duckdb.DuckDBPyConnection) -> None:
    """A job of 4 GPUs fits only on m1, while all GPUs of m1 are free: 10 minutes of the hour."""
    columns = "held_gpus * 60, capacity_gpus, fitting_jobs * 60, unusable_gpus * 60"
    held = 2 * 10 + 2 * 30 + 10
    fitting = 10
    expected = (held, 6, fitting, 6 * 60 - held - 4 * fitting)
    assert rows(philly, f"select {columns} from philly.fragmentation(4)")[0] == pytest.approx(expected)
    minutes = "select count(*), sum(held_gpus), sum(fitting_jobs), max(fitting_jobs)"
    # The last minute begins with the last end, and all GPUs are free in it.
    assert rows(philly, f"{minutes} from philly.fragmentation(4, bin_minutes := 1)") == [
        (61, pytest.approx(held), pytest.approx(fitting + 1), 1)
    ]

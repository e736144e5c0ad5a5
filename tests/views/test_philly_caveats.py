"""Philly's caveats: queries of an affected column print them, also through unified.jobs."""

from pathlib import Path

import command_line
import pytest


@pytest.mark.parametrize(
    ("read", "caveat"),
    [
        ("end_s from philly.attempt_run", "no_end_means_running"),
        ("is_censored from philly.job_run", "no_end_means_running"),
        ("run_s from philly.job_run", "no_end_means_running"),
        ("run_s from philly.job_run", "run_includes_retries"),
        ("is_right_censored from unified.jobs", "no_end_means_running"),
        ("held_gpus from philly.load_by_day()", "no_end_means_running"),
        ("mean_gpu_pct from philly.attempt_utilization", "hour_comes_twice"),
        ("listed_gpus from philly.machine_inventory", "machine_list_disagrees"),
    ],
)
def test_query_of_column_prints_its_caveat(read: str, caveat: str, sample_warehouse: Path) -> None:
    environment = {"TRACES_WAREHOUSE": str(sample_warehouse)}
    run = command_line.server().run("sql", "--caveats", f"select {read} limit 1", environment=environment)
    assert run.code == 0
    assert f"caveat philly.{caveat}: " in run.stderr


def test_query_of_waits_prints_no_caveat_about_ends(sample_warehouse: Path) -> None:
    environment = {"TRACES_WAREHOUSE": str(sample_warehouse)}
    run = command_line.server().run(
        "sql", "select wait_s from philly.job_run limit 1", environment=environment
    )
    assert run.code == 0 and "philly.attempts_lack_times" in run.stderr
    assert "philly.no_end_means_running" not in run.stderr

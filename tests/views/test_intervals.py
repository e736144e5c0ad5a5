"""The 95 % intervals of queries agree with a jackknife over days or users of the raw files."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from jackknife import (
    LEAST_UNITS,
    assert_survival_bounds,
    effective_units,
    logit_bounds,
    share_bounds,
    without_each,
)
from non_empty import non_empty
from reference_results.job_queries import job_pairs, jobs_in
from reference_results.unified import DAY_S, gpu_jobs_of

TOLERANCE = 0.05
"""Of an interval, by which a jackknife and the deviations of rows may differ."""
HIGHEST_PERCENTILE = 75
"""Above it a few jobs decide: without one of the days, none may last longer."""


def sampled_jobs(raw: Path, trace: str, sampled_by: str = "day") -> pd.DataFrame:
    """Return the GPU jobs of a trace with the day, or the user, that is sampled."""
    jobs = gpu_jobs_of(raw)
    jobs = jobs[jobs["trace"] == trace].copy()
    jobs["day"] = jobs["user_id"] if sampled_by == "user" else jobs["submit_s"].astype(float) // DAY_S
    return jobs


def compare_waits(connection: duckdb.DuckDBPyConnection, jobs: pd.DataFrame, call: str) -> set[str]:
    """Compare the bounds of each band. Returns the bands that have bounds."""
    jobs = jobs.assign(seconds=jobs["observed_wait_s"].astype(float), has_ended=jobs["wait_s"].notna())
    compared = set()
    for band, waits in non_empty(jobs[jobs["seconds"].notna()].groupby("size_band")):
        found = {
            percentile: bounds
            for percentile, *bounds in connection.execute(
                f"select percentile, low_wait_s, high_wait_s from {call} where size_band = $band",
                {"band": band},
            ).fetchall()
            if percentile <= HIGHEST_PERCENTILE
        }
        if waits["day"].nunique() > 1:
            assert_survival_bounds(waits, found, 2 * TOLERANCE)
        if any(None not in bounds for bounds in found.values()):
            compared.add(band)
    return compared


def test_waits_of_openb(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    """Below 1 GPU, 16 % of the pods never started: Kaplan-Meier is not the share of all pods that started.

    Few pods have more than one GPU: their days are too few.
    """
    jobs = sampled_jobs(real_raw, "openb")
    assert compare_waits(real, jobs, "unified.wait_cdf('openb')") == {"below 1", "1"}


def top_share_bounds(jobs: pd.DataFrame, top_pct: float) -> list[float] | list[None]:
    """Return the 95 % interval of the share of the largest jobs, which are ranked again without each day.

    The estimate rounds the number of largest jobs up. Without a day, the same share of the jobs counts.
    """
    top_share = np.ceil(len(jobs) * top_pct / 100) / len(jobs)
    ranked = jobs.assign(held=jobs["held_gpu_s"].astype(float).fillna(0)).sort_values("held", ascending=False)
    days = np.unique(ranked["day"], return_inverse=True)[1]
    held = ranked["held"].to_numpy()
    limit = held[int(np.ceil(len(held) * top_pct / 100)) - 1]
    largest = np.bincount(days, np.maximum(held - limit, 0) + top_share * limit)
    if effective_units(largest, np.bincount(days, held) - largest) < LEAST_UNITS:
        return [None, None]
    shares = []
    for times in [np.ones(days.max() + 1), *without_each(days.max() + 1)]:
        counts = times[days]
        ranks, sums = (np.append(0, each).cumsum() for each in (counts, counts * held))
        shares.append(np.interp(top_share * ranks[-1], ranks, sums) / sums[-1])
    return logit_bounds(shares[0], np.array(shares[1:]))


def assert_bounds(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    expected: list[float] | list[None],
    tolerance: float = TOLERANCE,
) -> None:
    """Assert that a query returns two bounds, up to a share of the interval, or none."""
    [found] = connection.execute(sql).fetchall()
    slack = 0 if None in expected else tolerance * (expected[1] - expected[0])
    assert [*found] == pytest.approx(expected, abs=slack)


def test_failures_of_openb(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    jobs = sampled_jobs(real_raw, "openb")
    has_failed, held = jobs["status"] == "failed", jobs["held_gpu_s"].where(jobs["status"] != "unknown")
    select = "select low_{0}, high_{0} from unified.failure_share() where trace = 'openb'"
    assert_bounds(
        real, select.format("failed_of_all_pct"), share_bounds(has_failed, has_failed | True, jobs["day"])
    )
    assert_bounds(
        real, select.format("failed_gpu_time_pct"), share_bounds(held.where(has_failed), held, jobs["day"])
    )


@pytest.mark.parametrize(("trace", "top_pct"), [("itp", 1), ("openb", 1), ("openb", 10)])
def test_largest_jobs(real: duckdb.DuckDBPyConnection, real_raw: Path, trace: str, top_pct: float) -> None:
    """Other days have other largest jobs. 12 % of openb's pods have no GPU time, and rank last."""
    jobs = sampled_jobs(real_raw, trace)
    bounds = "select low_top_gpu_time_pct, high_top_gpu_time_pct from unified.gpu_time_concentration"
    assert_bounds(real, f"{bounds}({top_pct}) where trace = '{trace}'", top_share_bounds(jobs, top_pct))


def test_users_of_philly(synthetic: duckdb.DuckDBPyConnection, sample_raw: Path) -> None:
    jobs = sampled_jobs(sample_raw, "philly", "user")
    bands = compare_waits(synthetic, jobs, "unified.wait_cdf('philly', sampled_by := 'user')")
    assert bands
    select = "select {} from unified.{}(sampled_by := 'user') where trace = 'philly'"
    has_failed = jobs["status"] == "failed"
    assert_bounds(
        synthetic,
        select.format("low_failed_of_all_pct, high_failed_of_all_pct", "failure_share"),
        share_bounds(has_failed, has_failed | True, jobs["day"]),
    )
    assert_bounds(
        synthetic,
        select.format("low_top_gpu_time_pct, high_top_gpu_time_pct", "gpu_time_concentration"),
        top_share_bounds(jobs, 1),
        # Without one user, other jobs are among the largest eight.
        2 * TOLERANCE,
    )


@pytest.mark.parametrize("trace", ["acme", "helios"])
def test_failures_after_failures(synthetic: duckdb.DuckDBPyConnection, sample_raw: Path, trace: str) -> None:
    pairs = job_pairs(jobs_in(sample_raw, trace), "user_id")
    for outcome, jobs in non_empty(pairs.groupby("previous")):
        has_failed = jobs["has_failed"]
        assert_bounds(
            synthetic,
            f"select low_pct, high_pct from unified.failure_repeats('{trace}')"
            f" where previous_outcome = '{outcome}'",
            share_bounds(has_failed, has_failed | True, jobs["user_id"]),
        )

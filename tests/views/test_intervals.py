"""The 95 % intervals of queries belong to their estimates: numpy resamples days or users of the raw files."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from bootstrap import REPLICATES, assert_survival_bounds
from counting import non_empty
from reference_results.unified import DAY_S, gpu_jobs_of

TOLERANCE = 0.015
"""Of the share of replicates up to a bound: four standard deviations of 2,000 replicates."""


def sampled_jobs(raw: Path, trace: str, sampled_by: str = "day") -> tuple[pd.DataFrame, np.ndarray]:
    """Return the GPU jobs of a trace, and how often each day or user counts in each replicate."""
    jobs = gpu_jobs_of(raw)
    jobs = jobs[jobs["trace"] == trace].copy()
    jobs["day"] = jobs["user_id"] if sampled_by == "user" else jobs["submit_s"].astype(float) // DAY_S
    return jobs, np.random.default_rng(1).poisson(1, (REPLICATES, jobs["day"].nunique()))


def compare_waits(
    connection: duckdb.DuckDBPyConnection, jobs: pd.DataFrame, times: np.ndarray, call: str
) -> set[str]:
    """Compare the bounds of each band. Returns the bands that have bounds."""
    jobs = jobs.assign(seconds=jobs["observed_wait_s"].astype(float), has_ended=jobs["wait_s"].notna())
    days = np.sort(jobs["day"].unique())
    compared = set()
    for band, waits in non_empty(jobs[jobs["seconds"].notna()].groupby("size_band")):
        found = {
            percentile: bounds
            for percentile, *bounds in connection.execute(
                f"select percentile, low_wait_s, high_wait_s from {call} where size_band = $band",
                {"band": band},
            ).fetchall()
        }
        if waits["day"].nunique() < 10:
            assert all(bounds == [None, None] for bounds in found.values())
        else:
            assert_survival_bounds(waits, times[:, np.isin(days, waits["day"].unique())], found, TOLERANCE)
            compared.add(band)
    return compared


def test_waits_of_openb(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    """Below 1 GPU, 16 % of the pods never started: Kaplan-Meier is not the share of all pods that started."""
    jobs, times = sampled_jobs(real_raw, "openb")
    assert compare_waits(real, jobs, times, "unified.wait_cdf('openb')") == {
        "below 1",
        "1",
        "2 to 7",
        "8",
    }

"""The building block `bootstrap_share` agrees with an ordinary bootstrap."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from tracehouse.sql.blocks import expanded

QUERY = """with by_day as (select * from days)
select share_pct, low_pct, high_pct
from bootstrap_share(by_day, trace cluster, day, failed_jobs, jobs)
order by all"""


def estimate(days: pd.DataFrame) -> tuple[float, float | None, float | None]:
    with duckdb.connect() as connection:
        connection.register("days", days.assign(trace="a", cluster="b"))
        [row] = connection.execute(expanded(QUERY)).fetchall()
    return row


def sample_days(count: int, seed: int) -> pd.DataFrame:
    """Return random days that differ in their number of jobs and in their failure probability."""
    random = np.random.default_rng(seed)
    jobs = random.integers(20, 400, count)
    failed = random.binomial(jobs, random.beta(2, 6, count))
    return pd.DataFrame({"day": np.arange(count), "failed_jobs": failed, "jobs": jobs})


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_ordinary_bootstrap(seed: int) -> None:
    days = sample_days(90, seed)
    drawn = np.random.default_rng(seed).integers(0, len(days), (10_000, len(days)))
    failed, jobs = (days[name].to_numpy()[drawn].sum(axis=1) for name in ("failed_jobs", "jobs"))
    low, high = np.quantile(100 * failed / jobs, [0.025, 0.975])
    share_pct, low_pct, high_pct = estimate(days)
    assert share_pct == pytest.approx(100 * days["failed_jobs"].sum() / days["jobs"].sum())
    # The bounds of 200 replicates vary by about a tenth of the interval.
    assert (low_pct, high_pct) == pytest.approx((low, high), abs=0.2 * (high - low))


def test_has_no_bounds_if_days_are_few_or_unknown() -> None:
    assert estimate(sample_days(9, 1))[1:] == (None, None)
    assert None not in estimate(sample_days(10, 1))
    days = sample_days(90, 1)
    days["day"] = days["day"].astype("Int64").where(days["day"] > 2)
    assert None not in estimate(days)
    days["day"] = days["day"].where(days["day"] > 20)
    share_pct, *bounds = estimate(days)
    assert bounds == [None, None] and share_pct is not None

"""The building block `survival_curve` agrees with the estimates of statsmodels."""

import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest
from counting import non_empty
from hypothesis import given, settings, strategies
from random_seed import DEPTH
from statsmodels.duration.survfunc import SurvfuncRight

from tracehouse.sql.blocks import expanded

QUERY = """with runs as (select * from observed)
select sort_key, seconds, at_risk, events, percentile, low_pct, high_pct
from survival_curve(runs, sort_key, seconds, has_ended)
where events > 0
order by all"""
SECONDS = strategies.integers(0, 30)
RUNS = strategies.lists(strategies.tuples(SECONDS, strategies.booleans()), min_size=1, max_size=60)


def estimate(observed: pd.DataFrame) -> pd.DataFrame:
    with duckdb.connect() as connection:
        connection.register("observed", observed)
        return connection.execute(expanded(QUERY)).df()


def frame(runs: list[tuple[int, bool]], key: str = "a") -> pd.DataFrame:
    return pd.DataFrame(runs, columns=["seconds", "has_ended"]).assign(sort_key=key)


@settings(max_examples=300 * DEPTH)
@given(RUNS, RUNS)
def test_agrees_with_statsmodels(one: list[tuple[int, bool]], other: list[tuple[int, bool]]) -> None:
    observed = pd.concat([frame(one, "a"), frame(other, "b")])
    found = estimate(observed)
    for key, runs in non_empty(observed.groupby("sort_key")):
        own = found[found["sort_key"] == key]
        if not runs["has_ended"].any():
            assert own.empty
            continue
        with warnings.catch_warnings():
            # statsmodels divides by zero once no row is at risk.
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = SurvfuncRight(runs["seconds"], runs["has_ended"].astype(int))
        assert list(own["seconds"]) == list(expected.surv_times)
        assert list(own["at_risk"]) == list(expected.n_risk)
        assert list(own["events"]) == list(expected.n_events)
        assert list(own["percentile"]) == pytest.approx(list(100 - 100 * expected.surv_prob))
        inside = (expected.surv_prob > 0) & (expected.surv_prob < 1)
        # The delta method gives the standard error of log(-log S) from the standard error of S.
        log = np.log(expected.surv_prob[inside])
        error = expected.surv_prob_se[inside] / (expected.surv_prob[inside] * -log)
        for column, sign in (("low_pct", -1), ("high_pct", 1)):
            bound = np.exp(-np.exp(np.log(-log) + sign * 1.959963984540054 * error))
            assert list(own[column][inside]) == pytest.approx(list(100 - 100 * bound))


def test_percentile_counts_censored_runs_as_longer() -> None:
    found = estimate(frame([(10, True), (20, False), (30, True), (40, False)]))
    assert list(found["seconds"]) == [10, 30]
    assert list(found["percentile"]) == [25, 62.5]


def test_rows_without_time_do_not_count() -> None:
    found = estimate(pd.concat([frame([(10, True)]), frame([(None, True), (None, False)])]))
    assert list(found["at_risk"]) == [1]
    assert list(found["percentile"]) == [100]

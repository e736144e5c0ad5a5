"""Bootstraps over days or users by numpy, which estimate the whole curve or share again in each replicate."""

import numpy as np
import pandas as pd
from counting import non_empty

REPLICATES = 20_000
"""Of an ordinary bootstrap: its bounds vary by 0.5 % of the interval, those of 2,000 replicates by 2 %."""


def bounds_of(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return low, high


def count_by_unit(units: np.ndarray, positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Add up the weights of rows for each unit (row) and position (column)."""
    found = np.zeros((units.max() + 1, positions.max() + 1))
    np.add.at(found, (units, positions), weights)
    return found


def survival_percentages(rows: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate Kaplan-Meier over all values. Returns the values, and a curve per row of `times`.

    `times` has how often each day counts: a row per replicate, and a column per day in their order.
    """
    values, positions = np.unique(rows["seconds"], return_inverse=True)
    units = np.unique(rows["day"], return_inverse=True)[1]
    ended = times @ count_by_unit(units, positions, np.ones(len(rows)))
    events = times @ count_by_unit(units, positions, rows["has_ended"].to_numpy(float))
    at_risk = ended[:, ::-1].cumsum(axis=1)[:, ::-1]
    survival = np.cumprod(1 - events / np.maximum(at_risk, 1), axis=1)
    return values, np.round(100 - 100 * survival, 9)


def survival_bounds(
    rows: pd.DataFrame, times: np.ndarray, percentiles: tuple[int, ...]
) -> dict[int, tuple[float, float]]:
    """Return the 95 % interval of each percentile. A time is infinite if a curve does not reach it."""
    values, curves = survival_percentages(rows, times)
    found = {}
    for percentile in percentiles:
        reached = curves >= percentile
        found[percentile] = bounds_of(np.where(reached.any(axis=1), values[reached.argmax(axis=1)], np.inf))
    return found


def assert_survival_bounds(
    rows: pd.DataFrame,
    times: np.ndarray,
    bounds: dict[int, tuple[float | None, float | None]],
    tolerance: float = 0.01,
) -> None:
    """Assert that 2.5 and 97.5 % of the replicates reach a percentile up to its bounds, None being never.

    Shares of replicates are compared, because the next wait may be far from a bound. The `tolerance` is three
    standard deviations of the share of 2,000 replicates.
    """
    values, curves = survival_percentages(rows, times)
    curves = np.hstack([np.zeros((len(curves), 1)), curves, np.full((len(curves), 1), 100.0)])
    for percentile, found in non_empty(bounds.items()):
        reached = (curves >= percentile).mean(axis=0)
        for share, bound in zip((0.025, 0.975), found, strict=True):
            position = len(values) + 1 if bound is None else 1 + np.searchsorted(values, bound)
            before, up_to = reached[position - 1], reached[position]
            assert before - tolerance <= share <= up_to + tolerance, (percentile, bound, before, up_to)

"""95 % intervals for other days or users by a jackknife in numpy: the estimate again without each of them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import scipy.stats
from non_empty import non_empty

LEAST_UNITS = 10
"""With fewer effective units an interval has no bounds."""


def count_by_unit(units: np.ndarray, positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Add up the weights of rows for each unit (row) and position (column)."""
    found = np.zeros((units.max() + 1, positions.max() + 1))
    np.add.at(found, (units, positions), weights)
    return found


def without_each(units: int) -> np.ndarray:
    """Return how often each unit counts: a row per estimate, which leaves one unit out."""
    return 1 - np.eye(units)


def effective_units(*weights: np.ndarray) -> float:
    """Return Kish's number of equal units: the smallest of those by the given weights of the units."""
    return min(each.sum() ** 2 / (each**2).sum() if each.any() else 0 for each in weights)


def spread_of(estimate: float, without: np.ndarray) -> float:
    """Return half of the width of a 95 % interval, from an estimate and those without each unit.

    Student's t has Satterthwaite's degrees of freedom.
    """
    units, changes = len(without), (without - estimate) ** 2
    variance = (units - 1) / units * ((without - without.mean()) ** 2).sum()
    freedom = changes.sum() ** 2 / (changes**2).sum()
    return scipy.stats.t.ppf(0.975, freedom) * np.sqrt(variance)


def survival_percentages(rows: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate Kaplan-Meier. Returns the values, and a curve per row of `times`.

    `times` has how often each day counts: a row per estimate, and a column per day in their order.
    """
    values, positions = np.unique(rows["seconds"], return_inverse=True)
    units = np.unique(rows["day"], return_inverse=True)[1]
    ended = times @ count_by_unit(units, positions, np.ones(len(rows)))
    events = times @ count_by_unit(units, positions, rows["has_ended"].to_numpy(float))
    at_risk = ended[:, ::-1].cumsum(axis=1)[:, ::-1]
    survival = np.cumprod(1 - events / np.maximum(at_risk, 1), axis=1)
    return values, np.round(100 - 100 * survival, 9)


def survival_bounds(rows: pd.DataFrame, percentiles: Iterable[int]) -> dict[int, np.ndarray]:
    """Return the percentages whose values are the bounds of each percentile that the estimate reaches.

    A percentile of fewer than ten effective days has no bounds.
    """
    days = rows["day"].nunique()
    values, [estimate] = survival_percentages(rows, np.ones((1, days)))
    curves = survival_percentages(rows, without_each(days))[1]
    groups = rows.groupby("day")
    found = {}
    for percentile in percentiles:
        if estimate[-1] < percentile:
            continue
        value = values[np.searchsorted(estimate, percentile)]
        ended = groups.apply(lambda day, by=value: (day["has_ended"] & (day["seconds"] <= by)).sum())
        lasting = groups.apply(lambda day, by=value: (day["seconds"] > by).sum())
        if effective_units(ended.to_numpy(), lasting.to_numpy()) >= LEAST_UNITS:
            # The logarithm of what lasts longer, at the percentile or, if nothing does, before it.
            position = min(np.searchsorted(estimate, percentile), np.searchsorted(estimate, 100) - 1)
            last, lasts = np.log(1 - curves[:, position] / 100), np.log(1 - estimate[position] / 100)
            width = spread_of(lasts, last) / -lasts
            found[percentile] = 100 - 100 * (1 - percentile / 100) ** np.exp([-width, width])
    return found


def assert_survival_bounds(
    rows: pd.DataFrame, bounds: Mapping[int, Iterable[float | None]], tolerance: float
) -> None:
    """Assert that bounds are the first values at their percentages, None if the estimate is below.

    Percentages are compared, because the next value may be far from a bound: up to a share of the interval.
    """
    values, curves = survival_percentages(rows, np.ones((1, rows["day"].nunique())))
    reached = np.concatenate([[0], curves[0], [np.inf]])
    expected = survival_bounds(rows, bounds)
    for percentile, found in non_empty(bounds.items()):
        if percentile not in expected:
            assert [*found] == [None, None], percentile
            continue
        slack = tolerance * np.ptp(expected[percentile])
        for percentage, bound in zip(expected[percentile], found, strict=True):
            position = len(values) + 1 if bound is None else 1 + np.searchsorted(values, bound)
            before, up_to = reached[position - 1], reached[position]
            assert before - slack <= percentage <= up_to + slack, (percentile, bound, before, up_to)


def logit_bounds(share: float, without: np.ndarray) -> list[float]:
    """Return the bounds in percent of a share, from the shares without each unit."""
    logit = np.log(share / (1 - share))
    width = spread_of(logit, np.log(without / (1 - without)))
    return [*(100 / (1 + np.exp(-logit + np.array([width, -width]))))]


def share_bounds(part: pd.Series, whole: pd.Series, units: pd.Series) -> list[float] | list[None]:
    """Return the bounds of the sum of `part` in percent of that of `whole`, None with few effective units."""
    sums = pd.DataFrame({"part": part.astype(float), "whole": whole.astype(float)}).groupby(units).sum()
    sums = sums[sums["whole"] > 0]
    if effective_units(sums["part"].to_numpy(), (sums["whole"] - sums["part"]).to_numpy()) < LEAST_UNITS:
        return [None, None]
    total, without = sums.sum(), sums.sum() - sums
    return logit_bounds(total["part"] / total["whole"], (without["part"] / without["whole"]).to_numpy())

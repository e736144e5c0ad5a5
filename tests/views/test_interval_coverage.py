"""The 95 % intervals that samples of days have contain the truth as often as docs/censoring.md says."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import suites
from jackknife import survival_percentages
from non_empty import non_empty

from tracehouse.definitions.macros import macros_sql

DOCS = Path(__file__).parents[2] / "docs"
SHARE = "stats.share_interval('rows', sample, day, part, whole)"
PERCENTILE = "stats.survival_percentiles('rows', sample, day, seconds, has_ended, [{}])"
SAMPLES = 1000
FEW, DAYS = 10, (20, 40)
RARE = 0.25
"""A smaller share of samples with an interval is that of the samples which miss the largest day."""
FAILING = 0.25

Study = tuple[str, str, float, Callable[[int], pd.DataFrame]]
"""What is estimated, the call of a macro, the truth, and a function that draws samples of so many days."""

pytestmark = suites.of("long")


def estimate_bounds(rows: pd.DataFrame, call: str) -> list[tuple[float | None, float | None]]:
    """Return the bounds of each sample."""
    bounds = "low_pct, high_pct" if call == SHARE else "low_value, high_value"
    with duckdb.connect() as connection:
        connection.execute(macros_sql())
        connection.register("rows", rows)
        return connection.sql(f"select {bounds} from {call} order by series").fetchall()


def describe_coverage(truth: float, bounds: Sequence[tuple[float | None, float | None]]) -> str:
    """Return how many samples have an interval, and how many of these contain the truth."""
    found = [(low, high) for low, high in bounds if low is not None]
    missing = sum(not low <= truth <= (math.inf if high is None else high) for low, high in found)
    if len(found) < RARE * len(bounds):
        assert missing <= 0.04 * len(bounds)
    else:
        assert 0.015 <= missing / len(found) <= 0.08
    contain = f"{100 - 100 * missing / len(found):.0f} %" if found else ""
    return f"{100 * len(found) / len(bounds):.0f} % | {contain}"


def assert_shown(studies: Iterator[Study]) -> None:
    """Assert that the page has the results, and that ten days have no interval."""
    page = (DOCS / "censoring.md").read_text(encoding="utf-8").splitlines()
    lines = []
    for what, call, truth, draw in non_empty(studies):
        assert {*estimate_bounds(draw(FEW), call)} == {(None, None)}
        cells = [describe_coverage(truth, estimate_bounds(draw(days), call)) for days in DAYS]
        lines.append(f"| {' | '.join([what, *cells])} |")
    missing = [line for line in lines if line not in page]
    assert not missing, "\n".join(missing)


def draw_jobs(days: int, effect: float, deviation: float, random: np.random.Generator) -> pd.DataFrame:
    """Return the jobs of each sample: 200 a day in the mean, with lognormal GPU time and wait.

    `effect` is the standard deviation between days of the log-odds of a failure and of the logarithm of
    the wait; days also differ in the number of jobs and in their GPU time. Long waits are cut off.
    """
    jobs = random.poisson(200 * random.lognormal(-(0.7**2) * effect / 2, 0.7 * effect, SAMPLES * days))
    day = np.repeat(np.arange(SAMPLES * days), jobs)
    size, risk, busy = random.normal(0, effect, (3, SAMPLES * days))
    failing = 1 / (1 + np.exp(-np.log(FAILING / (1 - FAILING)) - risk))
    wait, cut_off = np.exp(random.normal(0, 1.5, len(day)) + busy[day]), random.exponential(50, len(day))
    return pd.DataFrame({
        "sample": day // days,
        "day": day % days,
        "held": np.exp(random.normal(0, deviation, len(day)) + size[day] / 2),
        "has_failed": random.random(len(day)) < failing[day],
        "seconds": np.minimum(wait, cut_off),
        "has_ended": wait <= cut_off,
    })  # fmt: skip


def draw_shares(
    days: int, weight: str | None, effect: float, deviation: float, random: np.random.Generator
) -> pd.DataFrame:
    """Return what failed of the jobs, or of their GPU time, by sample and day."""
    jobs = draw_jobs(days, effect, deviation, random)
    jobs["whole"] = jobs[weight] if weight else 1.0
    jobs["part"] = jobs["whole"] * jobs["has_failed"]
    return jobs.groupby(["sample", "day"])[["part", "whole"]].sum().reset_index()


def simulated_days() -> Iterator[Study]:
    random = np.random.default_rng(1)
    logits = np.log(FAILING / (1 - FAILING)) + random.normal(0, 1, 4_000_000)
    for effect, alike, failing in (
        (0.0, "equal days", FAILING),
        (1.0, "days that differ", (1 / (1 + np.exp(-logits))).mean()),
    ):
        of_jobs = partial(draw_shares, weight=None, effect=effect, deviation=1, random=random)
        yield f"failed jobs, {alike}", SHARE, 100 * failing, of_jobs
        of_time = partial(draw_shares, weight="held", effect=effect, deviation=3, random=random)
        yield f"failed GPU time, lognormal (3), {alike}", SHARE, 100 * failing, of_time
    jobs_of = partial(draw_jobs, effect=1.0, deviation=1, random=random)
    yield "median wait, days that differ", PERCENTILE.format(50), 1.0, jobs_of
    # The 90th percentile of the normal distribution.
    highest = math.exp(1.2815515655446004 * math.hypot(1.5, 1))
    yield "90th percentile of the wait, days that differ", PERCENTILE.format(90), highest, jobs_of


def draw_days(count: int, days: int, random: np.random.Generator) -> np.ndarray:
    """Return the days of each sample, drawn with replacement."""
    return random.integers(0, count, (SAMPLES, days))


def by_day(drawn: np.ndarray, part: np.ndarray, whole: np.ndarray) -> pd.DataFrame:
    """Return a row per sample and drawn day with the sums of that day."""
    sample, day = np.indices(drawn.shape).reshape(2, -1)
    sums = {"part": part[drawn].ravel(), "whole": whole[drawn].ravel()}
    return pd.DataFrame({"sample": sample, "day": day} | sums)


def failures_of_openb(real: duckdb.DuckDBPyConnection) -> Iterator[Study]:
    random = np.random.default_rng(2)
    sums = real.sql("""
        select
            cast(count(*) filter (where status = 'failed') as double) as failed,
            cast(count(*) as double) as jobs,
            coalesce(sum(held_gpu_s) filter (where status = 'failed'), 0) as failed_gpu_s,
            coalesce(sum(held_gpu_s) filter (where status <> 'unknown'), 0) as gpu_s
        from unified.jobs
        where trace = 'openb' and requested_gpus > 0
        group by floor(submit_s / 86400)
        order by all
    """).fetchnumpy()
    for what, names in (("failed pods", ("failed", "jobs")), ("failed GPU time", ("failed_gpu_s", "gpu_s"))):
        part, whole = (sums[name] for name in names)

        def draw(days: int, part: np.ndarray = part, whole: np.ndarray = whole) -> pd.DataFrame:
            return by_day(draw_days(len(whole), days, random), part, whole)

        yield f"openb, {what}", SHARE, 100 * part.sum() / whole.sum(), draw


def largest_by_day(held: np.ndarray, day: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the GPU time of the largest 1 % of the jobs, and of all, for each day that counts `times`.

    The jobs are in descending order. A day with one job more has more of the largest jobs, too.
    """
    ranks = times[day].cumsum()
    largest = np.ceil(0.01 * ranks[-1])
    limit = held[np.searchsorted(ranks, largest)]
    part = np.bincount(day, np.maximum(held - limit, 0)) + largest / ranks[-1] * limit * np.bincount(day)
    return part, np.bincount(day, held)


def largest_jobs(real: duckdb.DuckDBPyConnection, trace: str) -> Study:
    random = np.random.default_rng(3)
    jobs = real.execute(
        """
        select
            cast(coalesce(held_gpu_s, 0) as double) as held,
            dense_rank() over (order by floor(submit_s / 86400)) - 1 as day
        from unified.jobs
        where trace = $trace and requested_gpus > 0
        order by held desc
        """,
        {"trace": trace},
    ).fetchnumpy()
    held, day = jobs["held"], jobs["day"].astype(int)
    part, whole = largest_by_day(held, day, np.ones(day.max() + 1))

    def draw(days: int) -> pd.DataFrame:
        samples = [
            by_day(drawn[None], *largest_by_day(held, day, np.bincount(drawn, minlength=len(whole))))
            for drawn in draw_days(len(whole), days, random)
        ]
        return pd.concat(samples).assign(sample=np.repeat(np.arange(SAMPLES), days))

    return f"{trace}, GPU time of the largest 1 %", SHARE, 100 * part.sum() / whole.sum(), draw


def waits_of_openb(real: duckdb.DuckDBPyConnection) -> Iterator[Study]:
    random = np.random.default_rng(4)
    waits = real.sql("""
        select floor(submit_s / 86400) as day, observed_wait_s as seconds, wait_s is not null as has_ended
        from unified.jobs
        where trace = 'openb' and size_band = '1' and observed_wait_s is not null
        order by all
    """).df()
    rows_of = [*waits.groupby("day").indices.values()]
    values, [curve] = survival_percentages(waits, np.ones((1, len(rows_of))))

    def draw(days: int) -> pd.DataFrame:
        drawn = draw_days(len(rows_of), days, random)
        rows = [rows_of[day] for day in drawn.ravel()]
        place = np.repeat(np.arange(drawn.size), [len(each) for each in rows])
        return waits.iloc[np.concatenate(rows)].assign(sample=place // days, day=place % days)

    for percentile in (75, 90, 95):
        truth = values[np.searchsorted(curve, percentile)]
        yield f"openb, {percentile}th percentile of the wait", PERCENTILE.format(percentile), truth, draw


def test_simulated_days() -> None:
    assert_shown(simulated_days())


def test_days_of_openb_and_itp(real: duckdb.DuckDBPyConnection) -> None:
    largest = (largest_jobs(real, trace) for trace in ("itp", "openb"))
    assert_shown(iter([*failures_of_openb(real), *largest, *waits_of_openb(real)]))

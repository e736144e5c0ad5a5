"""The macros of views/macros.sql are right, and every view and query file runs as it is."""

import math
import shutil
import warnings
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sqlglot
import suites
from hypothesis import given, settings, strategies
from jackknife import assert_survival_bounds, share_bounds, survival_percentages
from non_empty import non_empty
from random_seed import DEPTH

from tracehouse.definitions.macros import inlined, macros_sql
from tracehouse.definitions.query_files import query_files
from tracehouse.definitions.view_files import DefinitionError, view_files
from tracehouse.engines.duckdb.write import database

SECONDS = strategies.integers(0, 30)
RUNS = strategies.lists(strategies.tuples(SECONDS, strategies.booleans()), min_size=1, max_size=60)
NUMBERS = strategies.floats(-1e6, 1e6).filter(lambda number: number == 0 or abs(number) > 1e-3)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute(macros_sql())
    return opened


@suites.of("long")
def test_every_file_runs_as_it_is(fixture_warehouse: Path, tmp_path: Path) -> None:
    """The text of each file, unchanged, replaces the view or query in a copy of the database."""
    copy = shutil.copyfile(fixture_warehouse / database.DATABASE, tmp_path / "copy.duckdb")
    failed = {}
    with duckdb.connect(str(copy)) as opened:
        # Definitions do not run in parallel.
        opened.execute("set threads = 1")
        for file in [*view_files(), *query_files()]:
            try:
                opened.execute(file.text)
            except duckdb.Error as error:
                failed[str(file.path)] = str(error)
        # DuckDB checks a view when it is created, and a macro when it is called.
        for query in query_files():
            try:
                opened.execute(f"describe from {query.full_name}()")
            except duckdb.Error as error:
                failed[query.full_name] = str(error)
    assert failed == {}


def test_inlined_macros_give_the_same_rows(connection: duckdb.DuckDBPyConnection) -> None:
    sql = """
        with waits as (
            select n % 3 as kind, n % 5 as k2, n / 7 as wait_s, n % 4 > 0 as ended from range(100) as r(n)
        )
        select kind, stats.percentiles(wait_s).p90 as p90, stats.fsum(wait_s) as total,
            stats.censored_pct(ended, wait_s) as pct, (
                select max(low_pct) from stats.survival_curve('waits', {'a': kind, 'b': k2}, wait_s, ended)
            ) as low
        from waits group by kind order by kind
        """
    plain = inlined(sqlglot.parse_one(sql, dialect="duckdb"), "here").sql(dialect="duckdb")
    assert "stats." not in plain
    expected = connection.execute(sql).df()
    pd.testing.assert_frame_equal(duckdb.connect().execute(plain).df(), expected)


def test_a_call_of_an_unknown_macro_is_refused() -> None:
    for call in ("stats.percentile(x)", "stats.fsum(x, y)"):
        with pytest.raises(DefinitionError, match=r"here: .* calls no macro of macros\.sql"):
            inlined(sqlglot.parse_one(f"select {call} from t", dialect="duckdb"), "here")


def add_exactly(connection: duckdb.DuckDBPyConnection, numbers: list[str]) -> list[tuple]:
    values = ", ".join(f"(cast({number} as double))" for number in numbers)
    return connection.execute(
        f"""
        with numbers as (select x from (values {values}) as v (x))
        select stats.fsum(x), stats.favg(x),
            (select any_value(w) from (select cast(sum(stats.exact(x)) over () as double) as w from numbers))
        from numbers
        """
    ).fetchall()


def test_exact_sums_are_the_same_in_any_order(connection: duckdb.DuckDBPyConnection) -> None:
    numbers = ["0.1", "0.2", "0.3", "1e10", "-1e10", "null"]
    assert add_exactly(connection, numbers) == add_exactly(connection, numbers[::-1]) == [(0.6, 0.12, 0.6)]
    # Numbers that are too large, or not finite, are added by DuckDB's sum.
    for terms, total in (
        (["1e16", "0.5", "-1e16"], 0.5),
        (["9e18", "9e18"], 1.8e19),
        (["1e300", "1"], 1e300),
        (["'inf'", "2"], math.inf),
        (["null"], None),
    ):
        values = ", ".join(f"(cast({term} as double))" for term in terms)
        sql = f"select stats.fsum(x) from (values {values}) as v (x)"
        assert connection.execute(sql).fetchall() == [(total,)]


@given(strategies.lists(NUMBERS, max_size=30))
@settings(max_examples=30 * DEPTH)
def test_exact_sum_equals_that_of_python(connection: duckdb.DuckDBPyConnection, numbers: list[float]) -> None:
    [(total, mean, _)] = add_exactly(connection, [*map(repr, numbers), "null"])
    # Python rounds once. The macro rounds twice, because it adds the fraction to the whole number at the end.
    exact = math.fsum(numbers)
    assert numbers == [] or abs(total - exact) <= math.ulp(exact) + len(numbers) * 2**-61
    assert mean == (total / len(numbers) if numbers else None)


def test_percentiles_are_interpolated(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select stats.percentiles(coalesce(n, 0)), stats.percentiles(null) from range(101) as r(n)"
    [(found, none)] = connection.execute(sql).fetchall()
    assert found == {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}
    assert set(none.values()) == {None}


def test_bands_of_whole_numbers_begin_at_powers_of_two(connection: duckdb.DuckDBPyConnection) -> None:
    numbers = [0, 1, 2, 3, 511, 512, 1023, 1024, 2**40 - 1, 2**40, None, -1]
    sql = "select stats.power_of_two_band(n) from (select unnest($numbers) as n)"
    bands = [band for (band,) in connection.execute(sql, {"numbers": numbers}).fetchall()]
    assert bands == [0, 1, 2, 2, 256, 512, 512, 1024, 2**39, 2**40, None, None]


def test_four_digits(connection: duckdb.DuckDBPyConnection) -> None:
    """Halves go away from zero, also those that are a little less in binary, such as 11.415."""
    for number, rounded in (
        *((0, 0), (7, 7), (1234, 1234), (12345, 12350), (1234567, 1235000), (9999.7, 10000)),
        *((11.415, 11.42), (-11.415, -11.42), (0.053125, 0.05313), (0.00012344, 0.0001234)),
    ):
        sql = f"select stats.four_digits(cast({number} as double))"
        assert connection.execute(sql).fetchall() == [(rounded,)]


def test_points_of_a_distribution(connection: duckdb.DuckDBPyConnection) -> None:
    sql = """
        with pods as (
            select 'a' as kind, n as gpu_pct, 3 as pods from range(2000) as r(n)
            union all (values ('b', 7, 2), ('b', 9, 1), ('b', null, 5))
        )
        select series, value, percentile from stats.cdf_points('pods', kind, gpu_pct, pods) order by all
        """
    found = connection.execute(sql).fetchall()
    assert found[-2:] == [("b", 7, pytest.approx(200 / 3)), ("b", 9, 100)]
    points = [(value, percentile) for kind, value, percentile in found if kind == "a"]
    assert points[0] == (0, 0.05) and points[-1] == (1999, 100) and len(points) == 501
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(points)) <= 4
    assert all(percentile == pytest.approx((value + 1) / 20) for value, percentile in points)


def test_users_with_equal_loads_rank_by_name(connection: duckdb.DuckDBPyConnection) -> None:
    """The heaviest third of four users, rounded up, are two: by jobs a and b, by GPU time a and d."""
    sql = """
        with jobs as (
            from (values
                ('x', 'b', 1), ('x', 'b', 1), ('x', 'a', 4), ('x', 'a', null), ('x', 'c', 2), ('x', 'd', 2.5),
                ('x', null, 100), ('y', 'a', null)
            ) as v (kind, user_id, gpu_h)
        )
        from stats.user_concentration('jobs', kind, user_id, gpu_h, 33, {every}) order by all
        """
    shares = [("x", 4, 33.0, 2, 100 * 4 / 6, 100 * 6.5 / 10.5, 2), ("y", 1, 33.0, 1, 100.0, None, 1)]
    assert connection.execute(sql.format(every="false")).fetchall() == shares
    every = connection.execute(sql.format(every="true")).fetchall()
    assert [row[:4] for row in every if row[2] in (0, 25, 26, 100)] == [
        *(("x", 4, 0.0, 0), ("x", 4, 25.0, 1), ("x", 4, 26.0, 2), ("x", 4, 100.0, 4)),
        *(("y", 1, 0.0, 0), ("y", 1, 25.0, 1), ("y", 1, 26.0, 1), ("y", 1, 100.0, 1)),
    ]


def test_what_is_held_by_window(connection: duckdb.DuckDBPyConnection) -> None:
    """A run that ends where two windows meet is in the first; one without an end or length is in none."""
    sql = """
        with jobs as (
            from (values ('x', 2, -5.0, 10.0), ('x', 1, 9.5, 30.0), ('x', 4, 3.0, 3.0), ('y', 1, 2.0, null))
            as v (kind, gpus, start_s, end_s)
        )
        from stats.held_by_window('jobs', kind, gpus, start_s, end_s, 10) order by all
        """
    held = [("x", -1, 10.0), ("x", 0, 20.5), ("x", 1, 10.0), ("x", 2, 10.0)]
    assert connection.execute(sql).fetchall() == held


def test_number_range_has_no_gaps(connection: duckdb.DuckDBPyConnection) -> None:
    sql = """
        with hours as (from (values ('x', 3), ('x', -1), ('y', 7), ('z', null)) as v (kind, hour))
        from stats.number_range('hours', kind, hour) order by all
        """
    assert connection.execute(sql).fetchall() == [*(("x", hour) for hour in range(-1, 4)), ("y", 7)]


def test_hours_of_the_week(connection: duckdb.DuckDBPyConnection) -> None:
    """1970-01-01 was a Thursday, and the second before it is the last one of a Wednesday."""
    sql = """
        with jobs as (select unnest([0, -1, -1, 345600.5, null]) as submit_s)
        from stats.jobs_by_week_hour('jobs', submit_s) order by weekday, hour_of_day
        """
    rows = connection.execute(sql).fetchall()
    assert [row[:2] for row in rows] == [(hour, day) for day in range(1, 8) for hour in range(24)]
    assert [row for row in rows if row[2]] == [(0, 1, 1), (23, 3, 2), (0, 4, 1)]


def test_fragmented_gpus(connection: duckdb.DuckDBPyConnection) -> None:
    """A node with 1.5 free GPUs fits the first two classes, and has too few cores for the last one."""
    sql = """
        with fits (popularity, needed, fitting, has_cores, free, too_small) as (
            values (0.5, 1, 1, true, 1.5, 0.5), (0.25, 1, 2, true, 1.5, 0.0), (0.25, 1, 2, false, 1.5, 0.0)
        )
        select stats.fragmented_gpus(popularity, needed, fitting, has_cores, free, too_small) from fits
        """
    assert connection.execute(sql).fetchall() == [(0.5 * 0.5 + 0.25 * 0 + 0.25 * 1.5,)]


def test_censored_percentage_is_null_if_unknown(connection: duckdb.DuckDBPyConnection) -> None:
    sql = """
        with jobs (kind, held_gpu_s, right_censored, left_censored) as (
            values
            ('a', 1.0, true, false), ('a', 3.0, false, null), ('b', 2.0, false, true), ('b', null, true, true)
        )
        select
            kind,
            stats.censored_pct(right_censored, held_gpu_s),
            stats.censored_pct(left_censored, held_gpu_s),
            stats.censored_pct(right_censored, 1),
            stats.censored_pct(left_censored, 1)
        from jobs group by kind order by kind
        """
    # For one job of kind a it is unknown whether it began before the trace.
    assert connection.execute(sql).fetchall() == [("a", 25, None, 50, None), ("b", 0, 100, 50, 100)]


def estimate_survival(connection: duckdb.DuckDBPyConnection, observed: pd.DataFrame) -> pd.DataFrame:
    with connection.cursor() as cursor:
        cursor.register("observed", observed)
        return cursor.execute(
            "with runs as (from observed)"
            " select * from stats.survival_curve('runs', sort_key, seconds, has_ended)"
            " where events > 0 order by series, value"
        ).df()


def frame(runs: list[tuple[int, bool]], key: str = "a") -> pd.DataFrame:
    return pd.DataFrame(runs, columns=["seconds", "has_ended"]).assign(sort_key=key)


@settings(max_examples=100 * DEPTH)
@given(RUNS, RUNS)
def test_survival_agrees_with_statsmodels(
    connection: duckdb.DuckDBPyConnection, one: list[tuple[int, bool]], other: list[tuple[int, bool]]
) -> None:
    # Imported late, because each process of the tests would wait 4 s for it.
    from statsmodels.duration.survfunc import SurvfuncRight

    observed = pd.concat([frame(one, "a"), frame(other, "b")])
    found = estimate_survival(connection, observed)
    for key, runs in non_empty(observed.groupby("sort_key")):
        own = found[found["series"] == key]
        if not runs["has_ended"].any():
            assert own.empty
            continue
        with warnings.catch_warnings():
            # statsmodels divides by zero once no row is at risk.
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = SurvfuncRight(runs["seconds"], runs["has_ended"].astype(int))
        assert list(own["value"]) == list(expected.surv_times)
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


def test_survival_counts_censored_runs_as_longer(connection: duckdb.DuckDBPyConnection) -> None:
    found = estimate_survival(connection, frame([(10, True), (20, False), (30, True), (40, False)]))
    assert list(found["value"]) == [10, 30]
    assert list(found["percentile"]) == [25, 62.5]
    without_time = pd.concat([frame([(10, True)]), frame([(None, True), (None, False)])])
    assert list(estimate_survival(connection, without_time)["at_risk"]) == [1]


def sample_waits(jobs: int, longest: float, seed: int, censored: float = 0.15) -> pd.DataFrame:
    """Return waits up to `longest` seconds on 45 days of different load. Some are cut off early."""
    random = np.random.default_rng(seed)
    load = random.lognormal(0, 0.5, 45)
    day = random.choice(45, jobs, p=load / load.sum())
    seconds = np.floor(random.lognormal(np.log(1 + load[day]), 1.5, jobs) * longest / 100)
    cut_off = random.random(jobs) < censored
    seconds = np.where(cut_off, np.floor(seconds * random.random(jobs)), seconds).clip(0, longest)
    return pd.DataFrame({"day": day, "seconds": seconds, "has_ended": ~cut_off})


def estimate_percentiles(
    connection: duckdb.DuckDBPyConnection, rows: pd.DataFrame, percentiles: tuple[int, ...]
) -> dict[int, tuple[float, float | None, float | None]]:
    with connection.cursor() as cursor:
        cursor.register("waits", rows.assign(trace="a", band="b"))
        found = cursor.execute(
            "with jobs as (from waits) select percentile, value, low_value, high_value from"
            " stats.survival_percentiles('jobs', {'trace': trace, 'band': band}, day,"
            f" seconds, has_ended, {list(percentiles)})"
        ).fetchall()
    return {percentile: bounds for percentile, *bounds in found}


@pytest.mark.parametrize(("seed", "censored"), [(1, 0.0), (2, 0.15), (3, 0.5)])
@pytest.mark.parametrize("longest", [9, 2000])
def test_percentiles_agree_with_jackknife(
    connection: duckdb.DuckDBPyConnection, longest: float, seed: int, censored: float
) -> None:
    """Of few values, which each have a large share, and of many."""
    rows = sample_waits(6000, longest, seed, censored)
    [estimate] = survival_percentages(rows, np.ones((1, rows["day"].nunique())))[1]
    found = estimate_percentiles(connection, rows, (10, 25, 50, 75, 90, 95))
    for percentile, (value, *_) in non_empty(found.items()):
        reached = [*np.unique(rows["seconds"])[estimate >= percentile], math.inf]
        assert (math.inf if value is None else value) == min(reached)
    bounds = {percentile: (low, high) for percentile, (_, low, high) in found.items()}
    assert_survival_bounds(rows, bounds, tolerance=0.15)


def test_percentiles_have_no_bounds_if_days_are_few_or_unknown(connection: duckdb.DuckDBPyConnection) -> None:
    rows = sample_waits(3000, 100, 1)
    bounds = {
        days: estimate_percentiles(connection, rows[rows["day"] < days], (50,))[50][1:] for days in (9, 30)
    }
    assert bounds[9] == [None, None] and None not in bounds[30]
    rows["day"] = rows["day"].astype("Int64").where(np.arange(len(rows)) >= 100)
    assert None not in estimate_percentiles(connection, rows, (50,))[50]
    rows["day"] = rows["day"].where(np.arange(len(rows)) >= 200)
    assert estimate_percentiles(connection, rows, (50,))[50][1:] == [None, None]
    never = rows.assign(has_ended=False)
    assert estimate_percentiles(connection, never, (50,)) == {}
    rare = sample_waits(3000, 100, 1).assign(has_ended=lambda waits: waits["day"] % 2 == 0)
    assert estimate_percentiles(connection, rare, (99,)) == {99: [None, None, None]}


def estimate_share(
    connection: duckdb.DuckDBPyConnection, days: pd.DataFrame
) -> tuple[float, float | None, float | None]:
    with connection.cursor() as cursor:
        cursor.register("days", days.assign(trace="a", cluster="b"))
        [row] = cursor.execute(
            "with by_day as (from days) select share_pct, low_pct, high_pct from stats.share_interval("
            "'by_day', {'trace': trace, 'cluster': cluster}, day, failed_jobs, jobs)"
        ).fetchall()
    return row


def sample_days(count: int, seed: int) -> pd.DataFrame:
    """Return random days that differ in their number of jobs and in their failure probability."""
    random = np.random.default_rng(seed)
    jobs = random.integers(20, 400, count)
    failed = random.binomial(jobs, random.beta(2, 6, count))
    return pd.DataFrame({"day": np.arange(count), "failed_jobs": failed, "jobs": jobs})


def test_share_agrees_with_jackknife(connection: duckdb.DuckDBPyConnection) -> None:
    for seed in range(6):
        days = sample_days(90, seed)
        low, high = share_bounds(days["failed_jobs"], days["jobs"], days["day"])
        share_pct, low_pct, high_pct = estimate_share(connection, days)
        assert share_pct == pytest.approx(100 * days["failed_jobs"].sum() / days["jobs"].sum())
        # The quantile of t is an approximation.
        assert (low_pct, high_pct) == pytest.approx((low, high), abs=1e-3 * (high - low))


def test_share_has_no_bounds_if_one_day_decides(connection: duckdb.DuckDBPyConnection) -> None:
    days = sample_days(20, 1)
    assert estimate_share(connection, days.assign(failed_jobs=0)) == (0, None, None)
    assert estimate_share(connection, days.assign(failed_jobs=days["jobs"])) == (100, None, None)
    share_pct, *bounds = estimate_share(connection, days.assign(failed_jobs=7 * (days["day"] == 3)))
    assert share_pct > 0 and bounds == [None, None]
    # Of 90 days, one has half of the failures: as many as four equal days.
    many = sample_days(90, 1).assign(failed_jobs=1, jobs=100)
    assert None not in estimate_share(connection, many)
    many.loc[0] = (0, 89, 200)
    assert estimate_share(connection, many)[1:] == (None, None)


def test_share_has_no_bounds_if_days_are_few_or_unknown(connection: duckdb.DuckDBPyConnection) -> None:
    assert estimate_share(connection, sample_days(9, 1))[1:] == (None, None)
    assert None not in estimate_share(connection, sample_days(30, 1))
    days = sample_days(90, 1)
    days["day"] = days["day"].astype("Int64").where(days["day"] > 2)
    assert None not in estimate_share(connection, days)
    days["day"] = days["day"].where(days["day"] > 20)
    share_pct, *bounds = estimate_share(connection, days)
    assert bounds == [None, None] and share_pct is not None


def test_quantile_of_t(connection: duckdb.DuckDBPyConnection) -> None:
    degrees = [1, 1.5, 2, 3, 5, 10, 30, 1000]
    found = connection.execute(
        "select stats.t_quantile(n) from unnest($degrees) as given(n)", {"degrees": degrees}
    ).fetchnumpy()
    [quantiles] = found.values()
    assert quantiles == pytest.approx(scipy.stats.t.ppf(0.975, degrees), rel=1e-3)

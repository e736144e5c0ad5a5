"""Building blocks of queries become plain SQL with one shape of columns."""

from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from tracehouse.sql.blocks import expanded
from tracehouse.sql.query_files import query_files, read_query_file

PERCENTILES = ("median", "p75", "p90", "p95", "p99")


def test_expands_percentiles_of_an_expression() -> None:
    sql = expanded(
        "select\n    percentiles(coalesce(n, 0)) as wait_s,\n    count(*) as jobs\nfrom range(101) as r(n)"
    )
    answer = duckdb.connect().execute(sql)
    assert [name for name, *_ in answer.description] == [*(f"{part}_wait_s" for part in PERCENTILES), "jobs"]
    assert answer.fetchall() == [(50, 75, 90, 95, 99, 101)]


def test_expands_points_of_a_distribution() -> None:
    sql = expanded(
        """
        with waits as (
            select 'a' as kind, n as wait_s, 1 as jobs from range(2000) as r(n)
            union all select 'b', 7, 1000 union all select 'b', null, 5
        )

        select kind, wait_s
        from cdf_points(waits, kind, wait_s, jobs)
        """
    )
    found = duckdb.connect().execute(sql).fetchall()
    assert [wait_s for kind, wait_s in found if kind == "b"] == [7]
    points = sorted(wait_s for kind, wait_s in found if kind == "a")
    assert points[0] == 0 and points[-1] == 1999 and len(points) <= 501
    assert max(later - earlier for earlier, later in pairwise(points)) <= 4


def test_expands_fragmented_gpus() -> None:
    """A node with 1.5 free GPUs fits the first two classes, and has too few cores for the last one."""
    sql = expanded(
        """
        with fits (popularity, needed, fitting, has_cores, free, too_small) as (
            values (0.5, 1, 1, true, 1.5, 0.5), (0.25, 1, 2, true, 1.5, 0.0), (0.25, 1, 2, false, 1.5, 0.0)
        )

        select
            fragmented(popularity, needed, fitting, has_cores, free, too_small) as fragmented_gpus
        from fits
        """
    )
    [(fragmented_gpus,)] = duckdb.connect().execute(sql).fetchall()
    assert float(fragmented_gpus) == 0.5 * 0.5 + 0.25 * 0 + 0.25 * 1.5


def test_expands_points_of_a_cumulative_distribution() -> None:
    sql = expanded(
        """
        with pods as (
            select 'a' as kind, n as gpu_pct, 3 as pods from range(2000) as r(n)
            union all (values ('b', 7, 2), ('b', 9, 1), ('b', null, 5))
        )

        select kind, gpu_pct, percentile
        from cdf_points(pods, kind, gpu_pct, pods)
        order by kind, gpu_pct
        """
    )
    found = duckdb.connect().execute(sql).fetchall()
    assert found[-2:] == [("b", 7, pytest.approx(200 / 3)), ("b", 9, 100)]
    points = [(gpu_pct, percentile) for kind, gpu_pct, percentile in found if kind == "a"]
    assert points[0] == (0, 0.05) and points[-1] == (1999, 100) and len(points) == 501
    assert all(percentile == pytest.approx((gpu_pct + 1) / 20) for gpu_pct, percentile in points)


def test_expands_censored_shares() -> None:
    sql = expanded(
        """
        with jobs (kind, held_gpu_s, is_right_censored, is_left_censored) as (
            values
            ('a', 1.0, true, false), ('a', 3.0, false, null), ('b', 2.0, false, true), ('b', null, true, true)
        )

        select
            kind,
            censored_shares(held_gpu_s) as gpu_time_pct,
            censored_shares(1) as pct
        from jobs
        group by kind
        order by kind
        """
    )
    answer = duckdb.connect().execute(sql)
    names = ["censored_gpu_time_pct", "left_censored_gpu_time_pct", "censored_pct", "left_censored_pct"]
    assert [name for name, *_ in answer.description] == ["kind", *names]
    # For one job of kind a it is unknown whether it began before the trace.
    assert answer.fetchall() == [("a", 25, None, 50, None), ("b", 0, 100, 50, 100)]


@pytest.mark.parametrize(
    "call", ["    percentiles(wait_s) as wait_s + 1", "-- percentiles(wait_s) as wait_s"]
)
def test_leaves_other_text_alone(call: str) -> None:
    assert expanded(call) == call


def test_query_files_are_expanded_when_read(tmp_path: Path) -> None:
    path = tmp_path / "itp" / "run.sql"
    path.parent.mkdir()
    path.write_text(
        "-- Run time (ITP jobs)\ncreate or replace macro itp.run() as table\n"
        "select\n    percentiles(run_s) as run_s\nfrom itp.job;\n\ncomment on macro table itp.run is '';\n"
    )
    query = read_query_file(path)
    assert query.tree.named_selects == [f"{part}_run_s" for part in PERCENTILES]
    assert "percentiles" not in query.text


def test_percentiles_have_one_shape_in_every_query() -> None:
    incomplete = {}
    for query in query_files():
        columns = query.tree.named_selects
        for column in columns:
            part, _, quantity = column.partition("_")
            if part in ("p75", "p90", "p95", "p99"):
                missing = [f"{one}_{quantity}" for one in PERCENTILES if f"{one}_{quantity}" not in columns]
                if missing:
                    incomplete[query.full_name] = missing
    assert incomplete == {}

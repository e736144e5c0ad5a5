"""Metrics that a trace supports have values, and the reasons of the others are specific."""

from collections import Counter
from dataclasses import replace

import duckdb
import pytest
from non_empty import non_empty

from tracehouse.definitions import metrics
from tracehouse.definitions.view_files import view_files
from tracehouse.ingest.declare.metadata import MetricSupport
from tracehouse.ingest.declare.trace import all_traces


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("submit_s", "submission"),
        ("wait_s", "wait"),
        ("run_s", "run"),
        ("requested_gpus", "requested GPUs"),
        ("allocated_gpus", "allocated GPUs"),
        ("user_id", "user"),
        ("group_id", "group or recurrence"),
        ("submit_time", "calendar date"),
    ],
)
def test_unified_jobs_have_values_for_possible_metrics_only(
    column: str, metric: str, synthetic: duckdb.DuckDBPyConnection
) -> None:
    present = synthetic.execute(
        f"select distinct trace from unified.jobs where {column} is not null order by trace"
    ).fetchall()
    possible = synthetic.execute(
        "select distinct trace from catalog.metrics where metric = $metric and exactness <> 'impossible'"
        " and trace in (select trace from unified.jobs) order by trace",
        {"metric": metric},
    ).fetchall()
    # ITP's and Philly's clocks have known days but unknown hours, so they have no instants.
    without_instants = {("submit_time", "itp"), ("submit_time", "philly")}
    assert present == [row for row in possible if (column, *row) not in without_instants]


def test_reasons_are_specific() -> None:
    """Each reason occurs once: a sentence that fits several traces is too general."""
    reasons = Counter(one.reason for _, one, _ in metrics.all_metrics([]) if not one.is_possible)
    del reasons[metrics.NOT_COMPUTED]
    assert len(reasons) > 50
    assert {reason: count for reason, count in reasons.items() if count > 1} == {}


@pytest.mark.each_trace
def test_metrics_are_possible_if_something_computes_them(synthetic: duckdb.DuckDBPyConnection) -> None:
    cells = synthetic.execute("select trace, metric from catalog.metrics").fetchall()
    added = sorted({metric for _, metric in cells} - set(metrics.METRICS))
    assert cells == [
        (trace, metric) for trace in sorted(all_traces()) for metric in (*metrics.METRICS, *added)
    ]
    views = {view.alias for view in view_files()}
    rows = synthetic.execute(
        "select answered_by, exactness = 'impossible' from catalog.metrics group by all"
    ).fetchall()
    assert all((name == "") == is_impossible for name, is_impossible in rows)
    for name in non_empty({name for name, _ in rows if name}):
        synthetic.execute(f"from {name if name in views else f'{name}()'} limit 1").fetchall()


def test_metrics_follow_from_requests_unless_declared() -> None:
    burstgpt = all_traces()["burstgpt"]
    assert burstgpt.requests
    found = metrics.supported_metrics(replace(burstgpt, metrics=()))
    assert {name: one.exactness for name, one in found.items()} == {
        "submission": "exact",
        "workload": "exact",
        "final state": "exact",
        "prefix reuse": "impossible",
        "user": "approximate",
        "hour of day": "exact",
    }
    own = MetricSupport("user", "impossible", "Sessions are not users.")
    assert metrics.supported_metrics(replace(burstgpt, metrics=(own,)))["user"] == own
    without = replace(burstgpt.requests, workload="", model="", session="", failed="", completed="")
    clock = replace(burstgpt.clock, local_offset_s=None) if burstgpt.clock else None
    found = metrics.supported_metrics(replace(burstgpt, requests=without, metrics=(), clock=clock))
    assert list(found) == ["submission", "prefix reuse"]

"""Metrics that a trace does not support: no view or query has them, and the reason names columns."""

import re
from collections import Counter

import duckdb
import pytest
from counting import non_empty

from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.facts import Metric
from tracehouse.views import ledgers
from tracehouse.views.view_files import view_files


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


# Patterns of columns that may record a metric. If the metric is impossible, its reason names one of them.
EVIDENCE = {
    "wait": r"start_time|scheduled_time|queue",
    "allocated GPUs": r"gpu_(num|request)|num_gpu|^gpus$",
    "GPU utilisation": r"gpu.*util|duty|gpu_milli",
    "CPU utilisation": r"cpu.*(util|usage|request)|cpu_milli",
    "memory use": r"mem.*(util|free)|memory_|(avg|max)_mem",
    "power": r"power|watt",
    "energy": r"energy|joule",
    "final state": r"status|^state$|phase",
    "user": r"^user|organi[sz]ation|app_name",
    "group or recurrence": r"group|^vc$",
    "workload": r"workload|model_name|job_type|predict_type",
    "machine placement": r"machine|node_name|node_num|^ip$|container_ip",
    "GPU sharing": r"gpu_name|gpu_request|^gpus$",
    "deadline": r"deadline|timeout",
    "time to accuracy": r"accuracy|target_|num_iteration",
    "hour of day": r"^(submit|submitted|submission|creation)_time$",
    "calendar date": r"^(submit|submitted|creation)_time$",
}
# Patterns of query columns that measure a metric.
MEASURES = {
    "wait": r"wait_s$",
    "GPU utilisation": r"gpu_(util|duty|pct)|mean_gpu_pct",
    "power": r"power",
    "energy": r"energy",
    "final state": r"status$|^state$|failed_pct",
    "user": r"^user",
    "GPU sharing": r"double_alloc|shar(ed|ing)",
    "fragmentation": r"unusable|fragment",
    "deadline": r"deadline|tightness",
    "hour of day": r"hour_of_day",
}


def impossible(metric: str) -> list[tuple[str, Metric]]:
    found = ledgers.metrics()
    return [(trace, m) for trace, m in found if m.name == metric and m.exactness == "impossible"]


def test_reasons_are_specific() -> None:
    """Each reason occurs once: a sentence that fits several traces is too general."""
    reasons = Counter(one.reason for _, one in ledgers.metrics() if one.exactness == "impossible")
    del reasons[ledgers.NOT_LISTED]
    assert len(reasons) > 90
    assert {reason: count for reason, count in reasons.items() if count > 1} == {}


@pytest.mark.parametrize("metric", EVIDENCE)
def test_reasons_name_the_columns_that_suggest_the_metric(metric: str) -> None:
    for trace, found in non_empty(impossible(metric)):
        tables = all_traces()[trace].tables
        columns = {column.name for table in tables for column in table.stored_columns}
        suggesting = {name for name in columns if re.search(EVIDENCE[metric], name)}
        assert not suggesting or any(name in found.reason for name in suggesting), (found, suggesting)


@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.each_trace
def test_no_query_measures_an_impossible_metric(metric: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    columns = synthetic.execute(
        """
        select trace, object_name, column_name
        from catalog.columns
        inner join catalog.queries on query_name = object_name
        where regexp_matches(column_name, $pattern)
        """,
        {"pattern": MEASURES[metric]},
    ).fetchall()
    assert columns != []
    without = {trace for trace, _ in impossible(metric)}
    assert [row for row in columns if row[0] in without] == []


@pytest.mark.each_trace
def test_metrics_are_possible_if_something_computes_them(synthetic: duckdb.DuckDBPyConnection) -> None:
    cells = synthetic.execute("select trace, metric from catalog.metrics").fetchall()
    added = sorted({metric for _, metric in cells} - set(ledgers.METRICS))
    assert cells == [
        (trace, metric) for trace in sorted(all_traces()) for metric in (*ledgers.METRICS, *added)
    ]
    views = {view.alias for view in view_files()}
    for name in non_empty({metric.answered_by for _, metric in ledgers.metrics() if metric.answered_by}):
        synthetic.execute(f"from {name if name in views else f'{name}()'} limit 1").fetchall()

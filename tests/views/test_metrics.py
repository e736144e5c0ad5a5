"""Every trace has every metric, and the views and queries that compute them exist."""

import csv
from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write.catalog import create_catalog, fill_metrics
from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.view_files import DefinitionError, view_files

COMPLETE = dict.fromkeys(ledgers.METRICS, ("impossible", "It is not recorded.", ""))


def write_ledger(folder: Path, rows: dict[str, tuple[str, str, str]]) -> Path:
    (folder / "itp").mkdir(exist_ok=True)
    with (folder / "itp" / "metrics.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["metric", "exactness", "reason", "answered_by"])
        writer.writerows((metric, *rest) for metric, rest in rows.items())
    return folder


@pytest.mark.each_trace
def test_every_trace_has_every_metric(synthetic: duckdb.DuckDBPyConnection) -> None:
    cells = synthetic.execute("select trace, metric from catalog.metrics").fetchall()
    assert len(ledgers.METRICS) == 21
    added = sorted({metric for _, metric in cells} - set(ledgers.METRICS))
    assert cells == [
        (trace, metric) for trace in sorted(all_traces()) for metric in (*ledgers.METRICS, *added)
    ]


@pytest.mark.each_trace
def test_answers_exist_and_run(synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute("select exactness, reason, answered_by from catalog.metrics").fetchall()
    views = {view.alias for view in view_files()}
    queries = {query.full_name for query in query_files()}
    for exactness, reason, answered_by in rows:
        assert reason.endswith(".")
        assert (answered_by in views | queries) == (exactness in ("exact", "approximate"))
        assert (answered_by == "") == (exactness == "impossible")
    for answered_by in {name for _, _, name in rows if name}:
        call = answered_by if answered_by in views else f"{answered_by}()"
        synthetic.execute(f"from {call} limit 1").fetchall()


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


def test_reads_complete_ledger_in_one_order(tmp_path: Path) -> None:
    found = ledgers.metrics(write_ledger(tmp_path, dict(reversed(COMPLETE.items()))))
    found = [metric for metric in found if metric.trace == "itp"]
    assert [metric.metric for metric in found] == list(ledgers.METRICS)
    assert found[0] == ledgers.Metric("itp", "submission", "impossible", "It is not recorded.", "")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"wait": ("exactly", "So.", "itp.job")},
            "wait: exactness must be exact or approximate or impossible, not 'exactly'",
        ),
        ({"wait": ("impossible", "", "")}, "wait: reason is empty"),
        ({"wait": ("exact", "So.", "")}, "wait: answered_by must name a view or query, or be empty"),
        (
            {"wait": ("impossible", "So.", "itp.job")},
            "wait: answered_by must name a view or query, or be empty",
        ),
        ({"waits": ("impossible", "So.", "")}, "waits: did you mean wait?"),
        ({"GPU utilization": ("impossible", "So.", "")}, "did you mean GPU utilisation?"),
    ],
)
def test_rejects_invalid_metric(
    change: dict[str, tuple[str, str, str]], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.metrics(write_ledger(tmp_path, COMPLETE | change))


def test_missing_metric_is_impossible(tmp_path: Path) -> None:
    rows = {metric: rest for metric, rest in COMPLETE.items() if metric != "energy"}
    assert ledgers.Metric(
        "itp", "energy", "impossible", "The trace does not record it.", ""
    ) in ledgers.metrics(write_ledger(tmp_path, rows))


def test_a_ledger_may_add_a_metric(tmp_path: Path) -> None:
    added = {"step time": ("exact", "Seconds of each step.", "itp.job")}
    found = ledgers.metrics(write_ledger(tmp_path, COMPLETE | added))
    assert [metric.metric for metric in found if metric.trace == "itp"] == [*ledgers.METRICS, "step time"]
    assert ledgers.Metric("itp", "step time", *added["step time"]) in found
    assert ledgers.Metric("pai", "step time", "impossible", "The trace does not record it.", "") in found


def test_rejects_repeated_metric(tmp_path: Path) -> None:
    path = write_ledger(tmp_path, COMPLETE) / "itp" / "metrics.csv"
    path.write_text(path.read_text() + "wait,impossible,It is unknown.,\n")
    with pytest.raises(DefinitionError, match=r"itp/metrics\.csv: wait occurs twice"):
        ledgers.metrics(tmp_path)


def test_rejects_comma_without_quotes(tmp_path: Path) -> None:
    path = write_ledger(tmp_path, COMPLETE) / "itp" / "metrics.csv"
    path.write_text(path.read_text().replace("wait,impossible,It is", "wait,impossible,Well, it is"))
    with pytest.raises(DefinitionError, match=r"metrics\.csv, line 3: not as many fields"):
        ledgers.metrics(tmp_path)


def test_rejects_unknown_answer() -> None:
    with duckdb.connect() as connection:
        create_catalog(connection)
        metric = ledgers.Metric("itp", "wait", "exact", "So.", "itp.no_such_view")
        with pytest.raises(DefinitionError, match=r"wait: answered_by is itp\.no_such_view, not a view"):
            fill_metrics(connection, [metric])

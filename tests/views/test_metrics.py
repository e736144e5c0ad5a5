"""What each trace can tell: the ledger of every trace is whole, and what answers is there."""

import csv
from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write.catalog import create_catalog, fill_metrics
from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.view_files import DefinitionError, view_files

WHOLE = dict.fromkeys(ledgers.METRICS, ("impossible", "Nobody wrote it down.", ""))


def write_ledger(folder: Path, rows: dict[str, tuple[str, str, str]]) -> Path:
    (folder / "itp").mkdir(exist_ok=True)
    with (folder / "itp" / "metrics.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["metric", "exactness", "reason", "answered_by"])
        writer.writerows((metric, *rest) for metric, rest in rows.items())
    return folder


def test_every_trace_answers_for_every_metric(synthetic: duckdb.DuckDBPyConnection) -> None:
    cells = synthetic.execute("select trace, metric from catalog.metrics").fetchall()
    assert len(ledgers.METRICS) == 21
    assert cells == [(trace, metric) for trace in sorted(all_traces()) for metric in ledgers.METRICS]


def test_what_answers_is_there(synthetic: duckdb.DuckDBPyConnection) -> None:
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
def test_the_jobs_of_all_traces_agree_with_it(
    column: str, metric: str, synthetic: duckdb.DuckDBPyConnection
) -> None:
    """A trace that cannot tell something has no value of it on any job."""
    told = synthetic.execute(
        f"select distinct trace from unified.jobs where {column} is not null order by trace"
    ).fetchall()
    possible = synthetic.execute(
        "select distinct trace from catalog.metrics where metric = $metric and exactness <> 'impossible'"
        " and trace in (select trace from unified.jobs) order by trace",
        {"metric": metric},
    ).fetchall()
    # The days of ITP's and Philly's clocks are known but not their hours: no instant can be told.
    without_instants = {("submit_time", "itp"), ("submit_time", "philly")}
    assert told == [row for row in possible if (column, *row) not in without_instants]


def test_a_whole_ledger_is_read(tmp_path: Path) -> None:
    found = ledgers.metrics(write_ledger(tmp_path, dict(reversed(WHOLE.items()))))
    found = [metric for metric in found if metric.trace == "itp"]
    assert [metric.metric for metric in found] == list(ledgers.METRICS)
    assert found[0] == ledgers.Metric("itp", "submission", "impossible", "Nobody wrote it down.", "")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"wait": ("exactly", "So.", "itp.job")}, "wait is exact or approximate or impossible"),
        ({"wait": ("impossible", "", "")}, "wait has no reason"),
        ({"wait": ("exact", "So.", "")}, "wait is answered by a view or query unless"),
        ({"wait": ("impossible", "So.", "itp.job")}, "wait is answered by a view or query unless"),
        ({"colour": ("impossible", "So.", "")}, "colour is no metric: submission, wait"),
    ],
)
def test_a_ledger_that_makes_no_sense_is_refused(
    change: dict[str, tuple[str, str, str]], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.metrics(write_ledger(tmp_path, WHOLE | change))


def test_a_metric_that_is_left_out_is_impossible(tmp_path: Path) -> None:
    rows = {metric: rest for metric, rest in WHOLE.items() if metric != "energy"}
    assert ledgers.Metric(
        "itp", "energy", "impossible", "The trace does not record it.", ""
    ) in ledgers.metrics(write_ledger(tmp_path, rows))


def test_a_metric_is_there_once(tmp_path: Path) -> None:
    path = write_ledger(tmp_path, WHOLE) / "itp" / "metrics.csv"
    path.write_text(path.read_text() + "wait,impossible,Nobody knows.,\n")
    with pytest.raises(DefinitionError, match=r"itp/metrics\.csv: wait is there twice"):
        ledgers.metrics(tmp_path)


def test_a_comma_that_is_not_quoted_is_found(tmp_path: Path) -> None:
    path = write_ledger(tmp_path, WHOLE) / "itp" / "metrics.csv"
    path.write_text(path.read_text().replace("wait,impossible,Nobody", "wait,impossible,Well, nobody"))
    with pytest.raises(DefinitionError, match=r"metrics\.csv, line 3: not as many fields"):
        ledgers.metrics(tmp_path)


def test_what_does_not_exist_cannot_answer() -> None:
    with duckdb.connect() as connection:
        create_catalog(connection)
        metric = ledgers.Metric("itp", "wait", "exact", "So.", "itp.no_such_view")
        with pytest.raises(DefinitionError, match=r"wait is answered by itp\.no_such_view, no view"):
            fill_metrics(connection, [metric])

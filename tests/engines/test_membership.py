"""An answer over several traces says which of them it does not count, and why."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pytest
import suites
from conftest import FIXTURE, build_warehouse

import tracehouse
from tracehouse.core.errors import UsageError, UserError
from tracehouse.definitions.released import QUERIES as FOLDER
from tracehouse.engines.duckdb.read import answer, catalog, describe, membership, notes, sandbox
from tracehouse.engines.duckdb.read.binding import bind_query, bind_statement
from tracehouse.publish.plot import pictures

QUERIES = [f"unified.{path.stem}" for path in sorted(FOLDER.glob("unified/*.sql"))]
# The views that unite traces.
UNITING = ("unified.jobs", "unified.requests", "unified.capacity", "unified.capacity_hour")
# Columns without a value in a synthetic trace, although its views can have one: Philly's clock has an unknown
# hour, and the sample of openb has no GPU models that will do.
OF_THE_DATA = {
    *(("unified.jobs", "philly", column) for column in ("local_submit_s", "hour_of_day", "weekday")),
    ("unified.jobs", "openb", "partition_name"),
    ("unified.capacity", "asi", "cluster"),
}


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


def run(opened: duckdb.DuckDBPyConnection, name: str, **texts: str) -> answer.Answer:
    return answer.run(opened, bind_query(opened, name, texts))


def not_counted(
    opened: duckdb.DuckDBPyConnection, statement: str, limit: int | None = None
) -> Mapping[str, str]:
    return answer.run(opened, bind_statement(opened, statement, limit)).not_counted


@pytest.mark.parametrize("view", UNITING)
def test_columns_not_recorded_have_no_value(view: str, opened: duckdb.DuckDBPyConnection) -> None:
    columns = [row[0] for row in opened.execute(f"describe from {view}").fetchall()]
    counts = ", ".join(f"count(nullif(cast({column} as varchar), 'unknown'))" for column in columns)
    rows = opened.execute(f"select trace, {counts} from {view} group by trace").fetchall()
    empty = {
        (view, trace, column)
        for trace, *numbers in rows
        for column, number in zip(columns, numbers, strict=True)
        if number == 0
    }
    declared = opened.execute(
        "select view_name, trace, column_name from catalog.not_recorded where view_name = $view",
        {"view": view},
    ).fetchall()
    assert empty and {*declared} == empty - OF_THE_DATA


@suites.of("long")
@pytest.mark.parametrize("name", QUERIES)
def test_each_query_says_whom_it_leaves_out(name: str, opened: duckdb.DuckDBPyConnection) -> None:
    found = run(opened, name)
    rows = opened.execute(f"select distinct trace from ({found.query.sql})").fetchall()
    counted = {trace for (trace,) in rows}
    behind = "select distinct trace from catalog.tables where list_contains($tables, table_name)"
    tables = opened.execute(
        "select base_tables from catalog.queries where query_name = $name", {"name": name}
    ).fetchone()
    assert tables
    every = {trace for (trace,) in opened.execute(behind, {"tables": tables[0]}).fetchall()}
    assert {*found.not_counted} == every - counted
    # Philly's clock has no zone, and only Acme publishes a summary.
    unexplained = {trace for trace, why in found.not_counted.items() if why == membership.NO_ROWS_FIT}
    assert unexplained <= {"philly"} or name == "unified.summary_against_published"
    lines = notes.summarize(found.notes)
    assert len([line for line in lines if line.startswith("Not counted: ")]) == bool(found.not_counted)


def test_reasons_are_what_the_query_needs(opened: duckdb.DuckDBPyConnection) -> None:
    assert run(opened, "unified.wait_cdf").not_counted == dict.fromkeys(("itp", "spot"), "records no waits")
    assert run(opened, "unified.user_concentration").not_counted["openb"] == "records no users"
    assert run(opened, "unified.requests_by_tokens").not_counted == {"genai": "records no tokens"}
    assert run(opened, "unified.utilization_by_outcome").not_counted["helios"] == "not in unified.utilization"


def test_chosen_traces_alone_can_be_left_out(opened: duckdb.DuckDBPyConnection) -> None:
    assert run(opened, "unified.wait_cdf", in_trace="itp, openb").not_counted == {"itp": "records no waits"}
    assert run(opened, "unified.wait_cdf", in_trace="openb").not_counted == {}
    assert run(opened, "itp.gpu_hours").not_counted == {}


@pytest.mark.parametrize(
    ("trace", "reason"),
    [("asi", "records no submissions"), ("dlrm", "not in unified.capacity_v1"), ("spot", "records no waits")],
)
def test_a_chosen_trace_without_rows_has_a_reason(
    trace: str, reason: str, opened: duckdb.DuckDBPyConnection
) -> None:
    found = run(opened, "unified.wait_by_load", in_trace=trace)
    assert found.not_counted == {trace: reason}
    [why] = answer.why_empty(found)
    assert why.text.startswith("no rows") and "filter" not in why.text


def test_statements_say_whom_they_leave_out(opened: duckdb.DuckDBPyConnection) -> None:
    waits = "select trace, median(wait_s) from unified.jobs where wait_s > 0 {} group by trace"
    no_waits = {"itp": "records no waits", "spot": "records no waits"}
    assert not_counted(opened, waits.format("")) == no_waits
    assert not_counted(opened, waits.format("and trace in ('itp', 'openb')")) == {"itp": "records no waits"}
    # A row without a value is in the answer.
    assert not_counted(opened, "select trace, median(wait_s) from unified.jobs group by trace") == {}
    assert not_counted(opened, "select median(wait_s) from unified.jobs") == no_waits
    large = "select distinct trace from unified.jobs where requested_gpus > 1000000"
    assert not_counted(opened, f"{large} or trace = 'itp'")["openb"] == membership.NO_ROWS_FIT
    assert not_counted(opened, "select count(*) from itp.job") == {}
    # Other traces may follow.
    assert not_counted(opened, "select trace from unified.jobs order by trace", limit=3) == {}


def test_answer_without_traces_may_count_them_in_part(opened: duckdb.DuckDBPyConnection) -> None:
    found = answer.run(opened, bind_statement(opened, "select count(*), max(wait_s) from unified.jobs"))
    assert "Not or only partly counted: itp, spot (record no waits)" in notes.summarize(found.notes)


@pytest.fixture(scope="module")
def of_two_traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of ITP and openb with an own view."""
    warehouse = tmp_path_factory.mktemp("two") / "warehouse"
    own = warehouse / "local" / "views" / "mine" / "waits.v1.sql"
    own.parent.mkdir(parents=True)
    own.write_text(
        "-- Waits.\n-- grain: one row per job\n"
        "create view mine.waits_v1 as select trace, wait_s from unified.jobs where wait_s is not null;\n",
        encoding="utf-8",
    )
    return build_warehouse(FIXTURE, warehouse, ["itp", "openb"])


@suites.of("long")
@pytest.mark.parametrize("name", QUERIES)
def test_lists_what_the_loaded_traces_can_answer(name: str, of_two_traces: Path) -> None:
    """Neither ITP nor openb records users or local times, and utilization is of Philly and PAI."""
    with sandbox.connect(of_two_traces) as connection:
        is_listed = name not in catalog.queries_without_data(connection)
        has_rows = bool(connection.execute(f"from {name}() limit 1").fetchall())
    # Whose failures may repeat is a parameter.
    assert is_listed == has_rows or name == "unified.failure_repeats"


def test_own_view_says_whom_it_leaves_out(of_two_traces: Path) -> None:
    with sandbox.connect(of_two_traces) as connection:
        found = run(connection, "mine.waits").not_counted
        described = {note.name: note.text for note in describe.describe(connection, "mine.waits").notes}
    assert found.pop("itp") == "records no waits"
    assert "openb" not in found and {*found.values()} == {membership.NOT_LOADED}
    assert described[notes.NOT_COUNTED] == f"{', '.join(found)} ({membership.NOT_LOADED})"


def test_groups_traces_by_reason() -> None:
    found = {
        "a": membership.NOT_LOADED,
        "b": "records no waits",
        "c": "records no waits",
        "d": "records no users",
    }
    [note] = membership.as_notes(found)
    expected = "b, c (record no waits), d (records no users), a (not in this warehouse)"
    assert (note.label, note.text) == ("Not counted", expected)
    assert membership.as_notes({}) == []


def test_picture_says_whom_it_leaves_out(opened: duckdb.DuckDBPyConnection) -> None:
    chosen = {"in_trace": "itp,openb"}
    described = pictures.describe_query(opened, "unified.wait_cdf", chosen)
    assert described.not_counted == "Not counted: itp (records no waits)."


def test_error_of_a_chart_says_why_there_are_no_rows(opened: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UserError, match=r"no rows, .*Not counted: openb \(records no users\)\.$"):
        pictures.describe_query(opened, "unified.user_concentration", {"in_trace": "openb"})


def test_python_says_whom_an_answer_leaves_out(sample_warehouse: Path) -> None:
    warehouse = tracehouse.open(sample_warehouse)
    found = warehouse.query("unified.wait_cdf", in_trace=["itp", "openb"])
    assert found.not_counted == {"itp": "records no waits"}
    assert {row["trace"] for row in found} == {"openb"}
    assert "Not counted: itp (records no waits)" in repr(found).splitlines()
    # No job of Zeus is in any warehouse.
    with pytest.raises(UsageError, match="'zeus' does not occur"):
        warehouse.jobs("itp", "zeus")
    with pytest.raises(UsageError, match="in_trace: 'opnb' does not occur"):
        warehouse.query("unified.wait_cdf", in_trace=["itp", "opnb"])

"""Benchmarks: all implementations must return the same rows before a query is timed."""

import csv
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

from tracehouse.bench import (
    all_queries,
    asi,
    dumps,
    fleet,
    implementations,
    measure,
    overview,
    queries,
    startup,
)
from tracehouse.bench.answers import LIBRARIES, answers
from tracehouse.bench.asi_growth import Growth, describe_growth
from tracehouse.bench.implementations import IMPLEMENTATIONS, Rows
from tracehouse.bench.measure import Goal, Row
from tracehouse.bench.processes import Cost, call_in_process
from tracehouse.sql.query_files import query_files

COMPARED = sorted(answers("pandas"))


def rows_of(name: str, warehouse: Path, query: str) -> Rows:
    """An implementation's result as its process would print it."""
    _, run, rows = IMPLEMENTATIONS[name](warehouse, query)
    return tuple(json.loads(json.dumps(rows(run()), default=str)))


def test_pandas_and_polars_answer_the_same_named_queries() -> None:
    for library in LIBRARIES:
        assert sorted(answers(library)) == COMPARED
    assert len(COMPARED) == 7
    assert set(COMPARED) <= {file.full_name for file in query_files()}


@pytest.mark.parametrize("query", COMPARED)
def test_all_implementations_return_the_same_rows(sample_warehouse: Path, query: str) -> None:
    results = {name: rows_of(name, sample_warehouse, query) for name in IMPLEMENTATIONS}
    assert results["ours"][1], "no rows"
    queries.check_same(results)


def test_figures_of_asi_are_those_of_its_page() -> None:
    page = (REPOSITORY / "docs" / "asi.md").read_text()
    listed = [row for row in page.splitlines() if re.match(r"\| \d+ \|", row)]
    calls = [call for row in listed for call in re.findall(r"`asi\.([^`]+)`", row)]
    # The row of figure 15 abbreviates two of its calls.
    assert [call for call in asi.CALLS if "memory" not in call] == [f"asi.{call}" for call in calls]


def test_implementations_of_asi_return_the_same_rows(
    sample_raw: Path, sample_warehouse: Path, tmp_path: Path
) -> None:
    hourly = tmp_path / "hourly"
    shutil.copytree(sample_warehouse, hourly)
    asi.write_raw_location(hourly, sample_raw)
    results = {}
    for name, path in {"ours": sample_warehouse, "duckdb": hourly, "pandas": sample_raw}.items():
        answers = json.loads(json.dumps(asi.IMPLEMENTATIONS[name](path), default=str))
        results[name] = {call: rows for call, (_, rows) in answers.items()}
        assert sorted(results[name]) == sorted(asi.CALLS)
    asi.check_all(results)


ONE = (["a", "b"], [[1, "x"], [2.5, None]])


@pytest.mark.parametrize(
    "other",
    [
        (["b", "a"], ONE[1]),
        (["a"], [[1], [2.5]]),
        (ONE[0], ONE[1][:1]),
        (ONE[0], [*ONE[1], [3, "z"]]),
        (ONE[0], ONE[1][::-1]),
        (ONE[0], [[True, "x"], [2.5, None]]),
        (ONE[0], [["1", "x"], [2.5, None]]),
        (ONE[0], [[1, "x"], [float("nan"), None]]),
        (ONE[0], [[1, "x"], [2.5, ""]]),
    ],
)
def test_rejects_different_rows(other: Rows) -> None:
    with pytest.raises(queries.DiffersError, match=r"^polars has"):
        queries.check_same({"ours": ONE, "polars": other})


@pytest.mark.parametrize(("place", "value"), [(0, 1.000001), (1, "x."), (2, 2.5000025), (3, 0)])
def test_compares_every_cell(place: int, value: object) -> None:
    cells = [cell for row in ONE[1] for cell in row]
    cells[place] = value
    with pytest.raises(queries.DiffersError):
        queries.check_same({"ours": ONE, "polars": (ONE[0], [cells[:2], cells[2:]])})


def test_accepts_rounding_differences() -> None:
    queries.check_same({"ours": ONE, "polars": (ONE[0], [[1.0, "x"], [2.5 * (1 + 1e-13), None]])})


def test_times_a_query_after_comparing_results(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "QUICK_ROUNDS", 2)
    monkeypatch.setattr(queries, "ROUNDS", 2)
    row = queries.measure(sample_warehouse, sample_warehouse, "pai.machines", threads=threads())
    small = ["small"] if threads() != queries.SMALL_THREADS else []
    assert list(row.seconds) == [*IMPLEMENTATIONS, "computed", *small, "command"]
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in row.seconds.values())
    assert list(row.peak_mb) == [*IMPLEMENTATIONS, "computed", *small]
    assert all(10 < mb < 2000 for mb in row.peak_mb.values())


def test_does_not_time_a_query_with_different_results(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []

    class Wrong(queries.Process):
        def request(self, what: str) -> Any:
            requests.append(what)
            result = super().request(what)
            if self.name == "polars":
                result[1][0][1] += 1
            return result

    monkeypatch.setattr(queries, "Process", Wrong)
    with pytest.raises(queries.DiffersError, match=r"^polars has \['CPU', 2, .*, ours \['CPU', 1, "):
        queries.measure(sample_warehouse, sample_warehouse, "pai.machines", threads=threads())
    assert set(requests) == {"rows"}


def test_reports_queries_with_different_results() -> None:
    def measure_one(query: str) -> Row:
        if query == "pai.bad":
            raise queries.DiffersError("bare has [1], ours [2]")
        return Row(query, {"ours": [1.0]})

    rows, differing = queries.measure_all(["pai.bad", "pai.good"], measure_one)
    assert [row.name for row in rows] == ["pai.good"]
    assert differing == ["pai.bad: not timed, because bare has [1], ours [2]"]


def test_times_a_telemetry_query_with_and_without_materialized_views(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "THREADS", threads())
    monkeypatch.setattr(fleet, "ROUNDS", 2)
    row = fleet.measure(sample_warehouse, sample_warehouse, "acme.gpu_day")
    assert list(row.seconds) == ["ours", "computed", "goal"]
    assert [len(seconds) for seconds in row.seconds.values()] == [2, 2, 1]
    _, rows = rows_of("ours", sample_warehouse, "acme.gpu_day")
    assert len(rows) > 10
    assert row.note == f"{len(rows):,} rows"
    assert sum(fleet.telemetry_rows(100).values()) >= 500_000_000


def test_times_every_query_on_all_traces(sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_queries, "THREADS", threads())
    monkeypatch.setattr(all_queries, "ROUNDS", 2)
    row = all_queries.measure(sample_warehouse, "unified.traces")
    assert [len(seconds) for seconds in row.seconds.values()] == [2, 1]
    assert 10 < row.peak_mb["ours"] < 2000
    traces = re.findall(r"[1-9][0-9,]* of (\w+)", all_queries.job_counts(sample_warehouse))
    assert traces == ["acme", "asi", "dlrm", "helios", "itp", "openb", "pai", "philly", "spot"]


def test_compares_commands_with_imports(sample_warehouse: Path) -> None:
    rows = startup.measure(sample_warehouse, 1, {"--help": "click", "list": "duckdb"})
    assert [row.name for row in rows] == ["--help", "--help, terminal", "list", "list, terminal"]
    for row, library in zip(rows, ("click", "click", "duckdb", "duckdb"), strict=True):
        assert list(row.seconds) == ["command", "command cpu", library, f"{library} cpu"]
        assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in row.seconds.values())
    with pytest.raises(SystemExit, match="failed: "):
        startup.measure(sample_warehouse, 1, {"describe nothing": "duckdb"})


def test_even_dump_has_even_users_and_unique_workers(sample_raw: Path, tmp_path: Path) -> None:
    csvs = dumps.extract(sample_raw / "pai", tmp_path / "csv")
    before = {path.name: read_csv(path) for path in csvs.iterdir()}
    call_in_process(dumps.make_even, csvs)
    after = {path.name: read_csv(path) for path in csvs.iterdir()}
    job, instance, tags = "pai_job_table.csv", "pai_instance_table.csv", "pai_group_tag_table.csv"
    workers = [row[3] for row in after[instance] if row[3]]
    assert len(set(workers)) == len(workers) > len({row[3] for row in before[instance]})
    _, most = Counter(row[2] for row in after[job]).most_common(1)[0]
    assert most < Counter(row[2] for row in before[job]).most_common(1)[0][1] / 2
    users = {row[1]: row[2] for row in after[job]}
    assert all(users.get(row[0], row[1]) == row[1] for row in after[tags])
    changed = {job: 2, instance: 3, tags: 1}
    for name, rows in before.items():
        place = changed.get(name)
        assert [row[:place] for row in after[name]] == [row[:place] for row in rows]
        assert place is None or [row[place + 1 :] for row in after[name]] == [
            row[place + 1 :] for row in rows
        ]
    packed = dumps.pack(csvs, sample_raw / "pai", tmp_path / "packed")
    again = dumps.extract(packed, tmp_path / "again")
    assert {path.name: read_csv(path) for path in again.iterdir()} == after
    with pytest.raises(SystemExit, match="failed: make_even"):
        call_in_process(dumps.make_even, tmp_path / "missing")


def read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_growth_extrapolates_to_all_days() -> None:
    found = [
        Growth(days, 1000, 100, 40, {"duckdb": [Cost(wall_s, 2 * wall_s, 900.0)]})
        for days, wall_s in ((7, 16.0), (14, 30.0), (30, 70.0))
    ]
    [line] = describe_growth(found, 0.1)
    assert line == "duckdb: 2.0 s + 2.00 s a day; 185 days at full size: 2.0 + 185 x 2.00 / 0.1 s = 1.0 h"


def test_overview_compares_each_number_with_its_goal() -> None:
    costs = {
        "tables": [Cost(10.0, 20.0, 500.0)] * 3,
        "default": [Cost(14.0, 40.0, 1_600.0, 10.2)] * 3,
        "inflate": [Cost(2.0, 2.0, 9.0)] * 3,
        "copy": [Cost(10.0, 18.0, 9.0)] * 3,
        "tuned": [Cost(8.0, 14.0, 9.0)] * 3,
        "pandas": [Cost(25.0, 25.0, 9.0)] * 3,
    }
    lines = list(overview._ingest_lines(costs))
    assert [(round(line.value, 2), line.is_met) for line in lines] == [
        (1.0, True),
        (1.0, True),
        (1.25, False),
        (1.25, False),
        (2.5, True),
        (1.02, True),
        (1.4, True),
        (1600, False),
    ]
    text = list(overview._table({"PAI": lines}))
    assert [line.split() for line in text[:2]] == [["measured", "goal", "from"], ["PAI"]]
    assert text[4].endswith("1.25         ≤ 1.1   missed   20.0 and 16.0 s")


def test_rejects_a_wrong_number_of_threads(sample_warehouse: Path) -> None:
    with (
        pytest.raises(SystemExit, match=r"pandas uses .* threads, not 1000"),
        queries.Process("pandas", sample_warehouse, "pai.machines", 1000),
    ):
        pass


def test_bare_statement_has_the_default_values() -> None:
    statement = implementations.bare_statement("pai.wait_by_gpu_type")
    assert "where requested_gpus_per_instance >= cast(0.01 as DOUBLE)" in statement
    assert "min_gpus" not in statement
    assert "macro" not in statement


def threads() -> int:
    """Return the number of pyarrow's threads. No environment variable changes it."""
    import pyarrow

    return pyarrow.cpu_count()


@pytest.fixture
def quicker() -> Goal:
    return Goal("pandas", "ours", at_least=10)


@pytest.fixture
def cheap() -> Goal:
    return Goal("ours", "bare", at_most=1.05)


def test_goal_includes_its_bound(quicker: Goal, cheap: Goal) -> None:
    assert quicker.is_met(10)
    assert not quicker.is_met(9.999)
    assert cheap.is_met(1.05)
    assert not cheap.is_met(1.0501)


def test_table_has_medians_ratios_and_memory(quicker: Goal, cheap: Goal) -> None:
    seconds = {"ours": [0.3, 0.1, 0.2], "bare": [0.2, 0.2], "pandas": [1.0, 5.0, 1.8]}
    rows = [
        Row("one", seconds, {"ours": 12.4}),
        Row("two", {"ours": [0.1], "bare": [0.08], "pandas": [1.0]}, note="1 round"),
        Row("three", {"ours": [0.1]}),
    ]
    lines = [line.split() for line in measure.table(rows, [quicker, cheap]).splitlines()]
    assert lines[1] == ["one", "200.0", "200.0", "1,800.0", "9.00*", "1.00", "12"]
    assert lines[2] == ["two", "100.0", "80.0", "1,000.0", "10.00", "1.25*", "-"]
    assert lines[3] == ["three", "100.0", "-", "-", "-", "-", "-"]
    text = measure.table(rows, [quicker, cheap])
    assert "pandas / ours, at least 10: reached by 1 of 2, median 9.50, worst 9.00 (one)" in text
    assert "ours / bare, at most 1.05: reached by 1 of 2, median 1.12, worst 1.25 (two)" in text
    assert "two: 1 round" in text


def test_chart_has_a_panel_per_goal(quicker: Goal, cheap: Goal) -> None:
    row = Row("one", {"ours": [1.0], "bare": [1.0], "pandas": [3.0]})
    rows = [row, replace(row, name="two", seconds={"ours": [1.0], "pandas": [30.0]})]
    slower, dearer = measure.chart("How?", rows, [quicker, cheap]).to_dict()["hconcat"]
    assert points(slower) == [("one", 3.0, "missed"), ("two", 30.0, "reached")]
    assert points(dearer) == [("one", 1.0, "reached")]
    scale = slower["layer"][1]["encoding"]["x"]["scale"]
    assert scale["domain"][0] < 3 and scale["domain"][1] > 30
    assert slower["layer"][0]["data"]["values"] == [{"ratio": 10}]


def points(panel: dict) -> list[tuple[str, float, str]]:
    return [(v["name"], v["ratio"], v["goal"]) for v in panel["layer"][1]["data"]["values"]]


def test_writes_table_and_chart(tmp_path: Path, quicker: Goal) -> None:
    rows = [Row("one", {"ours": [1.0], "pandas": [3.0]})]
    facts = ["In turns", measure.environment("duckdb", "polars")]
    text = measure.write("asked", "How long?", rows, [quicker], facts, tmp_path)
    assert (tmp_path / "asked.txt").read_text() == text
    assert text.startswith("How long?\nIn turns\n")
    assert "duckdb" in text
    assert "<svg" in (tmp_path / "asked.svg").read_text()


@pytest.mark.parametrize(
    ("ingest_s", "storing_s", "ours_s", "parts"),
    [
        (10.0, 2.0, 0.5, ["2.0 s, 2.0 processor s, 20% of an ingest's 10.0 s", "35%: reached", "4 queries"]),
        (10.0, 2.0, 0.5, ["and 0.0 MB, 20% of the tables", "goal 1,500 MB: missed"]),
        (10.0, 5.0, 0.5, ["50% of an ingest's", "35%: missed", "pays off after 10 queries"]),
        (10.0, -1.0, 0.5, ["35%: reached", "pays off after 0 queries"]),
        (None, 5.0, 0.5, ["40%: not measured, 35%: reached", "saves 500 ms (mean)", "1,500 MB: reached"]),
        (10.0, 2.0, 1.0, ["saves nothing (mean +0 ms), so materializing never pays off"]),
        (10.0, 2.0, 1.25, ["saves nothing (mean -250 ms), so materializing never pays off"]),
        (10.0, 2.0, None, ["time saved per query: not measured"]),
    ],
)
def test_reports_the_cost_of_materialized_views(
    tmp_path: Path, ingest_s: float | None, storing_s: float, ours_s: float | None, parts: list[str]
) -> None:
    for folder, size in {"computed/parquet": 100, "stored/stored": 20}.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.parquet").write_bytes(bytes(size))
    ingest = None if ingest_s is None else Cost(ingest_s, ingest_s, 1_600.0)
    build, storing = Cost(3.0, 4.0, 90.0), Cost(3.0 + storing_s, 4.0 + storing_s, 900.0)
    made = queries.Warehouses(tmp_path / "stored", tmp_path / "computed", ingest, build, storing)
    seconds = {"computed": [1.0]} | ({} if ours_s is None else {"ours": [ours_s]})
    facts = "\n".join(queries.cost_facts(made, [Row("pai.machines", seconds)], 1500))
    assert [part for part in parts if part not in facts] == [], facts

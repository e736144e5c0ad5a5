"""Benchmarks: pandas and Polars answer each named query of PAI alike, and who does not gets no figure."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracehouse.bench import contender, fleet, measure, queries, startup
from tracehouse.bench.measure import Goal, Row
from tracehouse.bench.questions import LIBRARIES, questions
from tracehouse.sql.query_files import query_files

ASKED = sorted(questions("pandas"))

Rows = tuple[list[str], list[list[Any]]]


def rows_of(name: str, warehouse: Path, query: str) -> Rows:
    """A contender's answer as its process would write it."""
    _, ask, read = contender.CONTENDERS[name](warehouse, query)
    return tuple(json.loads(json.dumps(read(ask()))))


def test_every_question_is_a_named_query_in_every_library() -> None:
    assert {library: sorted(questions(library)) for library in LIBRARIES} == dict.fromkeys(LIBRARIES, ASKED)
    assert len(ASKED) > 20
    assert set(ASKED) <= {file.full_name for file in query_files()}


@pytest.mark.parametrize("query", ASKED)
def test_all_contenders_agree(sample_warehouse: Path, query: str) -> None:
    answers = {name: rows_of(name, sample_warehouse, query) for name in contender.CONTENDERS}
    assert answers["ours"][1], "nothing to compare"
    queries.check_same(answers)


def changed(value: object) -> object:
    """Another value of the same kind, off by little."""
    if isinstance(value, str):
        return f"{value}."
    return 0 if value is None else value * 1.000001 + 0.000001


@pytest.mark.parametrize("query", ASKED)
def test_every_cell_is_compared(sample_warehouse: Path, query: str) -> None:
    columns, rows = rows_of("ours", sample_warehouse, query)
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            other = [*row[:place], changed(value), *row[place + 1 :]]
            answer = (columns, [*rows[:number], other, *rows[number + 1 :]])
            with pytest.raises(queries.DiffersError, match=r"^pandas has"):
                queries.check_same({"ours": (columns, rows), "pandas": answer})


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
def test_another_answer_is_refused(other: Rows) -> None:
    with pytest.raises(queries.DiffersError):
        queries.check_same({"ours": ONE, "polars": other})


def test_rounding_is_no_difference() -> None:
    queries.check_same({"ours": ONE, "polars": (ONE[0], [[1.0, "x"], [2.5 * (1 + 1e-13), None]])})


def test_a_query_is_timed_after_all_agree(sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "QUICK_ROUNDS", 2)
    monkeypatch.setattr(queries, "ROUNDS", 2)
    row = queries.measured(sample_warehouse, sample_warehouse, "pai.machines", threads=threads())
    small = ["small"] if threads() != queries.SMALL_THREADS else []
    assert list(row.seconds) == [*contender.CONTENDERS, "computed", *small, "command"]
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in row.seconds.values())
    assert list(row.peak_mb) == [*contender.CONTENDERS, "computed", *small]
    assert all(10 < mb < 2000 for mb in row.peak_mb.values())


def test_who_answers_something_else_gets_no_figure(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Lying(queries.Process):
        def ask(self, word: str) -> Any:
            asked.append(word)
            answer = super().ask(word)
            if self.name == "polars":
                answer[1][0][1] += 1
            return answer

    monkeypatch.setattr(queries, "Process", Lying)
    with pytest.raises(queries.DiffersError, match=r"^polars has \['CPU', 2, .*, ours \['CPU', 1, "):
        queries.measured(sample_warehouse, sample_warehouse, "pai.machines", threads=threads())
    assert set(asked) == {"rows"}


def test_a_query_over_telemetry_is_timed_after_stored_and_computed_agree(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "THREADS", threads())
    monkeypatch.setattr(fleet, "ROUNDS", 2)
    row = fleet.measured(sample_warehouse, sample_warehouse, "acme.gpu_day")
    assert list(row.seconds) == ["ours", "computed", "goal"]
    assert [len(seconds) for seconds in row.seconds.values()] == [2, 2, 1]
    _, ask, _ = contender.CONTENDERS["ours"](sample_warehouse, "acme.gpu_day")
    assert ask().num_rows > 10
    assert row.note == f"{ask().num_rows:,} rows"
    assert sum(fleet.telemetry_rows(100).values()) >= 500_000_000


def test_commands_are_timed_beside_the_import_that_they_stand_on(
    sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "COMMANDS", {"--help": "typer", "list": "duckdb"})
    rows = startup.measured(sample_warehouse, rounds=1)
    assert [row.name for row in rows] == ["--help", "--help, terminal", "list", "list, terminal"]
    for row, beside in zip(rows, ("typer", "typer", "duckdb", "duckdb"), strict=True):
        assert list(row.seconds) == ["command", "command cpu", beside, f"{beside} cpu"]
        assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in row.seconds.values())
    monkeypatch.setattr(startup, "COMMANDS", {"describe nothing": "duckdb"})
    with pytest.raises(SystemExit, match="failed: "):
        startup.measured(sample_warehouse, rounds=1)


def test_threads_are_held_to(sample_warehouse: Path) -> None:
    with (
        pytest.raises(SystemExit, match=r"pandas works with .* threads, not 1000"),
        queries.Process("pandas", sample_warehouse, "pai.machines", 1000),
    ):
        pass


def test_bare_sql_is_what_the_file_says_at_its_defaults() -> None:
    statement = contender.bare_statement("pai.wait_by_gpu_type")
    assert "where requested_gpus_per_instance >= cast(0.01 as DOUBLE)" in statement
    assert "min_gpus" not in statement
    assert "macro" not in statement


def threads() -> int:
    """As many as pyarrow has, which no variable changes once a process runs."""
    import pyarrow

    return pyarrow.cpu_count()


@pytest.fixture
def quicker() -> Goal:
    return Goal("pandas", "ours", at_least=10)


@pytest.fixture
def cheap() -> Goal:
    return Goal("ours", "bare", at_most=1.05)


def test_goals(quicker: Goal, cheap: Goal) -> None:
    assert quicker.is_met(10)
    assert not quicker.is_met(9.999)
    assert cheap.is_met(1.05)
    assert not cheap.is_met(1.0501)


def test_table(quicker: Goal, cheap: Goal) -> None:
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


def test_picture(quicker: Goal, cheap: Goal) -> None:
    row = Row("one", {"ours": [1.0], "bare": [1.0], "pandas": [3.0]})
    rows = [row, replace(row, name="two", seconds={"ours": [1.0], "pandas": [30.0]})]
    slower, dearer = measure.picture("How?", rows, [quicker, cheap]).to_dict()["hconcat"]
    assert points(slower) == [("one", 3.0, "missed"), ("two", 30.0, "reached")]
    assert points(dearer) == [("one", 1.0, "reached")]
    scale = slower["layer"][1]["encoding"]["x"]["scale"]
    assert scale["domain"][0] < 3 and scale["domain"][1] > 30
    assert slower["layer"][0]["data"]["values"] == [{"ratio": 10}]


def points(panel: dict) -> list[tuple[str, float, str]]:
    return [(v["name"], v["ratio"], v["goal"]) for v in panel["layer"][1]["data"]["values"]]


def test_written(tmp_path: Path, quicker: Goal) -> None:
    rows = [Row("one", {"ours": [1.0], "pandas": [3.0]})]
    facts = ["In turns", measure.environment("duckdb", "polars")]
    text = measure.write("asked", "How long?", rows, [quicker], facts, tmp_path)
    assert (tmp_path / "asked.txt").read_text() == text
    assert text.startswith("How long?\nIn turns\n")
    assert "duckdb" in text
    assert "<svg" in (tmp_path / "asked.svg").read_text()


@pytest.mark.parametrize(
    ("ingest_s", "storing_s", "ours_s", "told"),
    [
        (
            10.0,
            2.0,
            0.5,
            ["2.0 s, 20% of an ingest's 10.0 s, and 0 MB, 20% of the tables'", "35%: reached", "4"],
        ),
        (10.0, 5.0, 0.5, ["50% of an ingest's", "35%: missed", "paid after 10 questions"]),
        (10.0, -1.0, 0.5, ["35%: reached", "paid after 0 questions"]),
        (0.0, 5.0, 0.5, ["40%: not measured, and 35%: reached", "saves 500 ms in the mean"]),
        (10.0, 2.0, 1.0, ["saves nothing (+0 ms in the mean): storing never pays"]),
        (10.0, 2.0, 1.25, ["saves nothing (-250 ms in the mean): storing never pays"]),
        (10.0, 2.0, None, ["what a question saves: not measured"]),
    ],
)
def test_what_storing_costs_has_a_verdict_where_it_was_measured(
    tmp_path: Path, ingest_s: float, storing_s: float, ours_s: float | None, told: list[str]
) -> None:
    for place, size in {"computed/parquet": 100, "stored/stored": 20}.items():
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.parquet").write_bytes(bytes(size))
    made = queries.Made(tmp_path / "stored", tmp_path / "computed", ingest_s, storing_s)
    seconds = {"computed": [1.0]} | ({} if ours_s is None else {"ours": [ours_s]})
    facts = "\n".join(queries._cost_facts(made, [Row("pai.machines", seconds)]))
    assert [part for part in told if part not in facts] == [], facts

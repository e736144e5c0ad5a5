"""Benchmarks: they run on samples, and compare what they measure with the goals."""

import re
from pathlib import Path

import pytest
import suites

from tracehouse.bench import baselines, growth, measure, overview, queries, startup
from tracehouse.bench.measure import AtLeast, AtMost, Cost, Line


def test_goals_include_their_limit() -> None:
    assert AtLeast(10).is_met(10) and not AtLeast(10).is_met(9.999)
    assert AtMost(1.05).is_met(1.05) and not AtMost(1.05).is_met(1.0501)


def test_writes_a_table_of_numbers_and_goals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "FOLDER", tmp_path)
    lines = [Line("a / b", 1.2, "", AtMost(1.1), "12 and 10 s"), Line("memory", 1400, "MB")]
    text = measure.write("found", "Cost", ["3 rounds"], {"PAI": lines})
    assert (tmp_path / "found.txt").read_text(encoding="utf-8") == text
    title, environment, rounds, load, _, *table = text.splitlines()
    assert (title, rounds) == ("Cost", "3 rounds") and "duckdb" in environment and "load" in load
    assert [re.split(r" {2,}", line.strip()) for line in table] == [
        ["measured", "goal", "from"],
        ["PAI"],
        ["a / b", "1.20", "≤ 1.1", "missed", "12 and 10 s"],
        ["memory", "1,400.00 MB"],
    ]


def test_overview_compares_an_ingest_with_its_baselines() -> None:
    costs = {
        "csv": Cost(11.0, 22.0, 500.0),
        "polars": Cost(10.0, 20.0, 400.0),
        "tables": Cost(10.0, 21.0, 500.0),
        "default": Cost(25.0, 40.0, 1_000.0, 10.2),
        "inflate": Cost(2.0, 2.0, 9.0),
        "copy": Cost(10.0, 18.0, 9.0),
        "pandas": Cost(25.0, 25.0, 9.0),
    }
    lines = list(overview.ingest_lines(costs))
    assert [(round(line.value, 2), line.cells()[3]) for line in lines] == [
        (1.1, "reached"),
        (1.1, "reached"),
        (1.05, "missed"),
        (2.5, "missed"),
        (1.02, "reached"),
        (1000, "reached"),
        (25, ""),
    ]


@suites.of("long")
def test_times_queries_and_commands(sample_warehouse: Path) -> None:
    assert "pai.machines" in queries.names_of(sample_warehouse, ["pai"])
    found = queries.measure(sample_warehouse, ["pai.machines", "unified.traces"], 1)
    assert all(run.median_s > 0 and 10 < run.peak_mb < 2000 for run in found.values())
    median, slowest = queries.summary(found, "queries", 1000)
    assert median.what == "2 queries, median" and slowest.basis in found
    sections = startup.measure(sample_warehouse, 1, {"list": "duckdb"})
    for where in ("pipe", "terminal"):
        assert [line.what for line in sections[where]] == ["list / import duckdb"]
        assert all(line.value > 0.5 for line in sections[where])
    with pytest.raises(SystemExit, match="failed: "):
        startup.measure(sample_warehouse, 0, {"describe nothing": "duckdb"})


@suites.of("long")
def test_measures_growth_of_generated_telemetry() -> None:
    lines = growth.measure("acme", [0.05, 0.1], growth.write_metric, 1)
    assert [line.what for line in lines if line.goal is growth.GROWTH] == [
        f"{size}: processor time, relative to the size" for size in (0.05, 0.1)
    ]
    assert all(line.value > 0 for line in lines)


def test_baselines_convert_the_same_rows(sample_raw: Path, tmp_path: Path) -> None:
    import polars as pl

    rows = []
    baselines.extract(str(sample_raw / "pai"), str(tmp_path / "csv"))
    for convert, arguments in (
        (baselines.duckdb_copy, ("pai", str(tmp_path / "csv"))),
        (baselines.polars_sink, ("pai", str(tmp_path / "csv"))),
    ):
        out = tmp_path / convert.__name__
        out.mkdir()
        convert(*arguments, str(out))
        rows.append(sorted(pl.read_parquet(path).height for path in out.iterdir()))
    assert rows[0] == rows[1] and len(rows[0]) == 7 and rows[0][0] > 0
    baselines.inflate(str(sample_raw / "pai"))
    baselines.pandas_read(str(tmp_path / "csv"))

"""The rows of every ledger follow the rules: names, choices, objects, clocks of times, SQL of figures."""

import csv
import difflib
import math
import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
import sqlglot
from counting import non_empty
from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.ingest.declarations import Column, all_traces
from tracehouse.ingest.reference_curves import traces_with_curves
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.view_files import VIEWS, references, view_files

pytestmark = pytest.mark.each_trace

KEYS = {"caveats": "caveat", "clocks": "clock", "metrics": "metric"}
KEYS |= {"published": "figure", "expected": "figure"}
CHOICES = {
    "severity": ledgers.SEVERITIES,
    "relation": ("equal", "at least", "at most"),
    "trust": ledgers.TRUSTS,
    "exactness": ("exact", "approximate", "impossible"),
}
MAY_BE_EMPTY = {"measured_by", "explanation", "needs_file", "answered_by"}
LONGEST_SUMMARY = 100


def objects_of(trace_name: str) -> set[str]:
    """Return the base tables of a trace and their columns, by full name."""
    tables = {f"{trace_name}.{table.name}": table for table in all_traces()[trace_name].tables}
    columns = {f"{name}.{column.name}" for name, table in tables.items() for column in table.stored_columns}
    curves = {"catalog.reference_curves"} if trace_name in traces_with_curves() else set()
    return {*tables, *columns, *curves}


def spellings(value: float) -> list[str]:
    """Return the ways in which a statement may write a value: 1,200,000 or 1.2 million."""
    millions = [f"{value / 1e6:,.15g} million", f"{value / 1e9:,.15g} billion"]
    return [f"{value:,.15g}", *(millions if abs(value) >= 1e6 else ())]


def test_every_row_has_all_fields_and_its_own_name() -> None:
    paths = [(path, KEYS[path.stem]) for path in sorted(VIEWS.glob("*/*.csv")) if path.stem in KEYS]
    names: Counter[tuple[str, str]] = Counter()
    problems = []
    for path, key in non_empty(paths):
        if path.parent.name not in all_traces():
            problems.append(f"{path}: no trace has this name")
        with path.open(newline="") as file:
            for row in csv.DictReader(file, strict=True):
                place = f"{path.parent.name}/{path.name}: {row[key]}"
                # A figure has one name in both ledgers of figures.
                names[key, f"{path.parent.name if key == 'metric' else ''} {row[key]}"] += 1
                if None in row or None in row.values():
                    problems.append(f"{place}: not as many fields as the header; quote a field with a comma")
                    continue
                if key != "metric" and not re.fullmatch(rf"{path.parent.name}\.\w+", row[key]):
                    problems.append(f"{place}: the name must be {path.parent.name}. and a word")
                problems += [
                    f"{place}: {name} is empty"
                    for name, text in row.items()
                    if not text and name not in MAY_BE_EMPTY
                ]
                problems += [
                    f"{place}: {name} must be one of {choices}"
                    for name, choices in CHOICES.items()
                    if name in row and row[name] not in choices
                ]
    problems += [f"{name} occurs twice" for name, count in names.items() if count > 1]
    assert problems == []


def test_caveats_and_clocks_concern_columns_of_their_trace() -> None:
    for one in non_empty([*ledgers.caveats(), *ledgers.clocks()]):
        assert one.objects and set(one.objects) <= objects_of(one.trace), one.name
    assert [one.name for one in ledgers.caveats() if len(one.summary) > LONGEST_SUMMARY] == []
    for clock in ledgers.clocks():
        assert clock.scale > 0 and clock.resolution_s >= 0 and math.isfinite(clock.local_offset_s or 0)


def test_every_column_of_times_has_a_clock() -> None:
    """Columns whose values come from file and folder names count too."""
    covered = {name for clock in ledgers.clocks() for name in clock.objects}
    columns = [
        (f"{trace.name}.{table.name}.{column.name}", column)
        for trace in all_traces().values()
        for table in trace.tables
        for column in table.stored_columns
    ]
    assert len(covered) > 10
    assert [name for name, column in columns if column.is_time and name not in covered] == []


def test_times_are_instants_or_counts_that_are_not_durations() -> None:
    assert Column("at", "TIMESTAMP", "").is_time and Column("at", "TIMESTAMPTZ", "").is_time
    assert Column("at", "BIGINT", "", unit="ms").is_time
    assert not Column("ran", "DOUBLE", "", unit="s", is_duration=True).is_time
    assert not Column("power", "DOUBLE", "", unit="W").is_time


def test_figures_state_their_value_and_how_to_measure_it(synthetic: duckdb.DuckDBPyConnection) -> None:
    known = {f"{trace.name}.{table.name}" for trace in all_traces().values() for table in trace.tables}
    known |= {name for view in view_files() for name in (view.alias, view.versioned)}
    known |= {query.full_name for query in query_files()}
    problems = []
    for figure in non_empty([*ledgers.published(), *ledgers.expected()]):
        if not any(spelling in figure.statement for spelling in spellings(figure.value)):
            problems.append(f"{figure.name}: the statement has none of {spellings(figure.value)}")
        if not math.isfinite(figure.value) or not 0 <= figure.tolerance < math.inf:
            problems.append(f"{figure.name}: value or tolerance")
        tables = all_traces()[figure.trace].tables
        if figure.needs_file and not any(re.fullmatch(t.file_name, figure.needs_file) for t in tables):
            problems.append(f"{figure.name}: no table is read from {figure.needs_file}")
        if not figure.measured_by:
            continue
        [tree] = sqlglot.parse(figure.measured_by, dialect="duckdb")
        read = references(tree, figure.name) if isinstance(tree, exp.Select) else frozenset()
        if not read or not read <= known:
            problems.append(f"{figure.name}: measured_by must be a select from tables, views or queries")
    problems += [f"{one.name}: measured_by is empty" for one in ledgers.expected() if not one.measured_by]
    assert problems == []


def test_metrics_are_possible_if_something_computes_them(synthetic: duckdb.DuckDBPyConnection) -> None:
    cells = synthetic.execute("select trace, metric from catalog.metrics").fetchall()
    added = sorted({metric for _, metric in cells} - set(ledgers.METRICS))
    assert cells == [
        (trace, metric) for trace in sorted(all_traces()) for metric in (*ledgers.METRICS, *added)
    ]
    assert [name for name in added if difflib.get_close_matches(name, ledgers.METRICS, 1, 0.75)] == []
    views = {view.alias for view in view_files()}
    queries = {query.full_name for query in query_files()}
    for metric in non_empty(ledgers.metrics()):
        assert metric.reason.endswith("."), metric
        assert (metric.answered_by == "") == (metric.exactness == "impossible"), metric
        assert metric.answered_by in {"", *views, *queries}, metric
    for name in {metric.answered_by for metric in ledgers.metrics() if metric.answered_by}:
        synthetic.execute(f"from {name if name in views else f'{name}()'} limit 1").fetchall()


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / "itp" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return folder


def test_reads_ledgers(tmp_path: Path) -> None:
    """Numbers may be unknown, a metric without a line is impossible, and a ledger may add metrics."""
    header = "clock,objects,epoch,zone,local_offset_s,scale,resolution_s,true_parts,fake_parts,documented_in"
    line = "itp.time,itp.raw_job.submission_time itp.raw_job.log,start,unknown,{},0.95,1,order,none,README"
    for offset, value in (("unknown", None), ("-28800", -28800.0)):
        [clock] = ledgers.clocks(write(tmp_path, "clocks.csv", f"{header}\n{line.format(offset)}\n"))
        assert (clock.name, clock.trace, clock.local_offset_s, clock.scale) == (
            "itp.time",
            "itp",
            value,
            0.95,
        )
        assert clock.objects == ("itp.raw_job.submission_time", "itp.raw_job.log")
    with pytest.raises(DefinitionError, match=r"itp/clocks\.csv, line 2: could not convert .*: 'soon'"):
        ledgers.clocks(write(tmp_path, "clocks.csv", f"{header}\n{line.format('soon')}\n"))
    text = "metric,exactness,reason,answered_by\nstep time,exact,Seconds.,itp.job\nwait,exact,So.,itp.job\n"
    found = {(one.trace, one.metric): one for one in ledgers.metrics(write(tmp_path, "metrics.csv", text))}
    assert [metric for trace, metric in found if trace == "itp"] == [*ledgers.METRICS, "step time"]
    assert found["itp", "step time"] == ledgers.Metric("itp", "step time", "exact", "Seconds.", "itp.job")
    for trace, metric in (("pai", "step time"), ("pai", "wait"), ("itp", "energy")):
        assert found[trace, metric] == ledgers.Metric(trace, metric, "impossible", ledgers.NOT_LISTED, "")

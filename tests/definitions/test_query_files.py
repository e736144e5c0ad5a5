"""Query files: signature, header, references, and errors."""

import re
from pathlib import Path

import duckdb
import pytest
import suites

from tracehouse.definitions.parameters import Range
from tracehouse.definitions.query_files import (
    Axis,
    Chart,
    query_files,
    read_chart,
    read_query_file,
)
from tracehouse.definitions.released import QUERIES
from tracehouse.definitions.view_files import DefinitionError

QUERY = """-- Numbers by kind, as table (ITP jobs)
-- chart: point x=kind y=jobs:log color=kind rule=limit
create or replace macro itp.many(
    -- what to
    -- count [a b]
    kind varchar := 'a, (b);',
    -- least size [-0.5 to 10]
    at_least decimal(10, 2) := round(1.5, 1),
    -- day of submission [2023-01-01 to 2023-12-31]
    on_day date := null,
    -- whose jobs [itp.raw_job.job_id]
    of_user varchar := null,
    -- what to call it [any]
    note varchar := '', gpu_only boolean := false
) as table
with mine as (select job_id from itp.raw_job where job_id = kind)

select count(*) as jobs from mine where ';' <> '';

comment on macro table itp.many is 'Jobs.';
"""


def write_query(folder: Path, text: str = QUERY) -> Path:
    path = folder / "itp" / "many.sql"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_parses_signature_and_header(tmp_path: Path) -> None:
    query = read_query_file(write_query(tmp_path))
    kind, at_least, on_day, of_user, note, gpu_only = query.parameters
    assert (kind.name, kind.type, kind.default) == ("kind", "VARCHAR", "'a, (b);'")
    assert (kind.meaning, kind.choices) == ("what to count", ("a", "b"))
    assert (at_least.name, at_least.default, at_least.choices) == ("at_least", "round(1.5, 1)", ())
    assert (kind.range, at_least.range) == (None, Range("-0.5", "10"))
    assert (on_day.range, of_user.values_of) == (Range("2023-01-01", "2023-12-31"), "itp.raw_job.job_id")
    assert [p.name for p in (note, gpu_only) if p.choices or p.range or p.values_of] == []
    assert query.references == {"itp.raw_job"}
    assert query.chart == Chart(
        "point", Axis("kind", False, "kind"), Axis("jobs", True, "jobs"), "kind", rule="limit"
    )
    assert query.header.title == "Numbers by kind, as table (ITP jobs)"


@pytest.mark.parametrize(
    ("found", "instead", "complaint"),
    [
        ("    -- least size [-0.5 to 10]\n", "", "describe at_least by a comment above it"),
        ("least size [", "[", "describe at_least by a comment above it"),
        (" [-0.5 to 10]", "", r"end the comment on at_least with a limit: a range \[0 to 64\]"),
        ("-- chart", "-- column: n: a\n-- column: n: b\n-- chart", "describes the column n twice"),
        ("-- chart", "-- param: kind: what\n-- chart", "the keys of its header are"),
        (" [a b]", " [a 'b c']", "choices cannot have spaces or quotes"),
        ("2023-01-01 to", "0 to", "write a range as `2023-01-01 to 2023-12-31`, not '0 to 2023-12-31'"),
        ("2023-01-01 to", "2024-01-01 to", "write a range as"),
        ("-0.5 to 10", "2023-01-01 to 2023-12-31", "write a range as `0 to 1`"),
        ("-0.5 to 10", "10 to -0.5", "write a range as `0 to 1`, not '10 to -0.5'"),
        ("-0.5 to 10", "nan to 1", "write a range as `0 to 1`, not 'nan to 1'"),
        (" := round(1.5, 1)", "", "write each parameter as `name type := default`"),
        ("macro itp.many(", "macro itp.few(", r"creates itp\.few; .* itp\.many"),
        ("from itp.raw_job", "from raw_job", "add the schema to raw_job"),
        ("chart: point", "chart: pie", "write a chart as `bar | stack | line | step | point"),
        ("y=jobs:log ", "", "write a chart as"),
        ("rule=limit", "size=kind", "write a chart as"),
        ("rule=limit", "all", "write a chart as"),
        ("point x=kind y=jobs:log color=kind", "stack x=kind y=jobs", "a stack needs a color"),
        ("point x=kind y=jobs:log color=kind", "heat x=kind y=jobs", "a heat map needs a color"),
        ("point x=kind y=jobs:log color=kind", "pareto x=kind y=jobs", "a Pareto front needs a color"),
        ("rule=limit", "with=no_such", "no_such is not a boolean parameter"),
        ("rule=limit", "with=kind", "kind is not a boolean parameter"),
        ("rule=limit", "xname={limit}", "limit is not a parameter with choices"),
        ("chart: point", "chart: bar", "cannot have a logarithmic axis"),
        ("create or replace macro", "create view", "must contain `create or replace macro"),
    ],
)
def test_rejects_invalid_query_file(tmp_path: Path, found: str, instead: str, complaint: str) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        read_query_file(write_query(tmp_path, QUERY.replace(found, instead)))


def test_reads_a_chart() -> None:
    chart = read_chart("box x=a y=wait_s:log facet=b", "here")
    assert chart.columns == ["a", *(f"{p}_wait_s" for p in ("p5", "p25", "median", "p75", "p95")), "b"]
    chart = read_chart("pareto x=a y=b color=c label=d,e", "here")
    assert chart.labels == ("d", "e") and chart.columns == ["a", "b", "c", "d", "e"]


def test_titles_state_what_is_shown() -> None:
    """Not what a reader sees in it, such as `Requests per day, fewer on weekends`."""
    judges = re.compile(
        r", (mostly|fewer|more|less|higher|lower|larger|smaller|longer|shorter|faster|slower)\b"
    )
    titles = [
        title for query in query_files() for title in (query.header.title, query.chart and query.chart.title)
    ]
    assert [title for title in titles if title and judges.search(title)] == []


def test_queries_of_several_traces_have_a_choice_of_them() -> None:
    queries = [query for query in query_files() if query.schema == "unified"]
    without = [query.name for query in queries if "in_trace" not in {one.name for one in query.parameters}]
    assert queries and without == []


@suites.of("long")
@pytest.mark.parametrize("query", [path.stem for path in sorted(QUERIES.glob("unified/*.sql"))])
def test_choice_of_traces_filters_the_answer(query: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    """It changes no number in it, whether it names one trace or several."""
    known = f"select distinct trace from unified.{query}() order by trace"
    traces = [trace for (trace,) in synthetic.execute(known).fetchall()]
    for chosen in (traces[:1], traces[-2:]):
        listed = ", ".join(chosen)
        found = synthetic.execute(f"from unified.{query}(in_trace := '{listed}') order by all").fetchall()
        every = f"from unified.{query}() where list_contains($chosen, trace) order by all"
        assert found and found == synthetic.execute(every, {"chosen": chosen}).fetchall()

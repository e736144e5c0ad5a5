"""Query files: signature, header, references, and what is refused."""

from pathlib import Path

import pytest

from tracehouse.sql.files import Axis, Chart, Range, query_files, read_query_file
from tracehouse.views.files import DefinitionError

QUERY = """-- How many; and of what kind, as table?
-- param: kind: what to count
-- choices: kind: a b
-- param: at_least: least size
-- range: at_least: -0.5 to 10
-- chart: point x=kind y=jobs:log color=kind omit=all
create or replace macro itp.many(
    kind varchar := 'a, (b);', at_least decimal(10, 2) := round(1.5, 1)
) as table
with mine as (select job_id from itp.raw_job where job_id = kind)

select count(*) as jobs from mine where ';' <> '';

comment on macro table itp.many is 'Jobs.';
"""


def write_query(folder: Path, text: str = QUERY) -> Path:
    path = folder / "itp" / "many.sql"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_a_signature_is_read_whole(tmp_path: Path) -> None:
    query = read_query_file(write_query(tmp_path))
    kind, at_least = query.parameters
    assert (kind.name, kind.type, kind.default) == ("kind", "VARCHAR", "'a, (b);'")
    assert (kind.meaning, kind.choices) == ("what to count", ("a", "b"))
    assert (at_least.name, at_least.default, at_least.choices) == ("at_least", "round(1.5, 1)", ())
    assert (kind.range, at_least.range) == (None, Range(-0.5, 10.0))
    assert query.references == {"itp.raw_job"}
    assert query.chart == Chart("point", Axis("kind", False), Axis("jobs", True), "kind", "all")
    assert query.header.title == "How many; and of what kind, as table?"


@pytest.mark.parametrize(
    ("found", "instead", "complaint"),
    [
        ("-- param: kind: what to count\n", "", "say what the parameter means: `-- param: kind: …`"),
        ("-- param: at_least", "-- param: no_such", "say what the parameter means"),
        ("-- choices: kind", "-- choices: no_such", "there is no parameter no_such"),
        ("-- range: at_least", "-- range: no_such", "there is no parameter no_such"),
        ("-0.5 to 10", "10 to -0.5", "write a range as `0 to 1`, not '10 to -0.5'"),
        ("-0.5 to 10", "over 0", "write a range as `0 to 1`, not 'over 0'"),
        ("-0.5 to 10", "nan to 1", "write a range as `0 to 1`, not 'nan to 1'"),
        (" := round(1.5, 1)", "", "write each parameter as `name type := default`"),
        ("macro itp.many(", "macro itp.few(", r"creates itp\.few; .* itp\.many"),
        ("from itp.raw_job", "from raw_job", "write raw_job with its schema"),
        ("chart: point", "chart: pie", "write a chart as `bar | stack | line | point x="),
        ("y=jobs:log ", "", "write a chart as"),
        ("omit=all", "facet=kind", "write a chart as"),
        ("omit=all", "all", "write a chart as"),
        ("point x=kind y=jobs:log color=kind", "stack x=kind y=jobs", "a stack needs a color"),
        ("chart: point", "chart: bar", "means nothing on a logarithmic axis"),
        ("create or replace macro", "create macro", "must hold `create or replace macro"),
    ],
)
def test_what_breaks_the_rules_is_refused(tmp_path: Path, found: str, instead: str, complaint: str) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        read_query_file(write_query(tmp_path, QUERY.replace(found, instead)))


def test_a_default_is_in_its_range() -> None:
    bounded = [(p, p.range) for query in query_files() for p in query.parameters if p.range]
    assert bounded
    assert [p for p, bounds in bounded if not bounds.at_least <= float(p.default) <= bounds.at_most] == []


def test_no_two_queries_have_the_same_hash() -> None:
    queries = query_files()
    assert len({query.sha256 for query in queries}) == len(queries) > 10

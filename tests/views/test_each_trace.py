"""Views of all traces are united by `each_trace`."""

import re
from pathlib import Path

import duckdb
import pytest

from tracehouse.ingest.declarations import all_traces
from tracehouse.views.across_traces import check_types, expanded, united
from tracehouse.views.view_files import DefinitionError, ViewFile, read_view_file

UNITING = "create or replace view unified.jobs_v1 as select trace, run_s from each_trace.standard_job_v1;"
ONE = "create or replace view {}.standard_job_v1 as select id, run_s from {}.job;"


def views(folder: Path, **texts: str) -> list[ViewFile]:
    found = []
    for schema, text in texts.items():
        path = folder / schema / ("jobs.v1.sql" if schema == "unified" else "standard_job.v1.sql")
        path.parent.mkdir()
        path.write_text(text)
        found.append(read_view_file(path))
    return found


def test_unites_every_trace_that_has_the_view(tmp_path: Path) -> None:
    pai, helios, unified = views(
        tmp_path, pai=ONE.format("pai", "pai"), helios=ONE.format("helios", "helios"), unified=UNITING
    )
    *_, whole = expanded([pai, helios, unified])
    assert whole.references == {"helios.standard_job_v1", "pai.standard_job_v1"}
    [_, union] = whole.unions
    assert union.index("'helios' AS trace") < union.index("'pai' AS trace")
    assert whole.statement == unified.statement, "the file no longer runs as it is"
    assert whole.sha256 == unified.sha256, "a new trace changed the hash of the uniting view"
    assert united([pai, helios, unified]) == {view.versioned: unified for view in (pai, helios)}


def test_one_trace_needs_no_union(tmp_path: Path) -> None:
    *_, whole = expanded(views(tmp_path, pai=ONE.format("pai", "pai"), unified=UNITING))
    assert whole.references == {"pai.standard_job_v1"} and "UNION" not in whole.unions[1]


def test_rejects_united_views_with_different_columns(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"reads each_trace\.standard_job_v1, but no trace has a view"):
        expanded(views(tmp_path, unified=UNITING))
    pai, helios = views(
        tmp_path,
        pai=ONE.format("pai", "pai"),
        helios=ONE.format("helios", "helios").replace("id, run_s", "run_s, id"),
    )
    unified = read_view_file(tmp_path / "unified" / "jobs.v1.sql")
    with pytest.raises(
        DefinitionError, match=r"pai/standard_job\.v1\.sql: its columns differ from those of helios"
    ):
        expanded([pai, helios, unified])
    types = {
        "pai.standard_job_v1": {"id": ("BIGINT", None)},
        "helios.standard_job_v1": {"id": ("VARCHAR", None)},
    }
    with pytest.raises(DefinitionError, match="the type of id is BIGINT, but VARCHAR in helios"):
        check_types(helios, pai, types)


@pytest.mark.parametrize("column", ["group_id", "allocated_gpus", "workload"])
def test_traces_named_in_a_comment_have_the_column(column: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute(f"select distinct trace from unified.jobs where {column} is not null").fetchall()
    named = traces_named_in(comment_on(synthetic, column))
    assert named and named <= {trace for (trace,) in rows}


def traces_named_in(text: str) -> set[str]:
    """Return the traces that a text names."""
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", text)}
    return words & set(all_traces())


def comment_on(connection: duckdb.DuckDBPyConnection, column: str) -> str:
    [(meaning,)] = connection.execute(
        "select meaning from catalog.columns where object_name = 'unified.jobs' and column_name = $column",
        {"column": column},
    ).fetchall()
    return meaning


def test_comment_names_traces_with_true_dates(synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute(
        "select distinct trace from unified.jobs where submit_time is not null order by trace"
    ).fetchall()
    assert rows == [("acme",), ("helios",)]
    comment = comment_on(synthetic, "submit_time")
    assert all(trace.title() in comment.partition(";")[0] for (trace,) in rows)

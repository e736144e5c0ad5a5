"""Views of all traces are united by `each_trace`."""

import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from non_empty import non_empty

from tracehouse.definitions.across_traces import expanded, united
from tracehouse.definitions.lineage import Columns
from tracehouse.definitions.view_files import DRAFT, ViewFile, read_view_file, view_files
from tracehouse.engines.duckdb.write.catalog import column_types
from tracehouse.ingest.declare.trace import all_traces

UNITING = "create or replace view unified.jobs_v1 as select trace, run_s from each_trace.standard_job_v1;"
ONE = "create or replace view {}.standard_job_v1 as select id, run_s from {}.job;"


def views(folder: Path, **texts: str) -> list[ViewFile]:
    found = []
    for schema, text in texts.items():
        path = folder / schema / ("jobs.v1.sql" if schema == "unified" else "standard_job.v1.sql")
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
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
    draft = replace(helios, status=DRAFT)
    *_, without = expanded([pai, draft, unified])
    assert without.references == {"pai.standard_job_v1"}
    assert united([pai, helios, unified]) == {view.versioned: unified for view in (pai, helios)}


def test_one_trace_needs_no_union(tmp_path: Path) -> None:
    *_, whole = expanded(views(tmp_path, pai=ONE.format("pai", "pai"), unified=UNITING))
    assert whole.references == {"pai.standard_job_v1"} and "UNION" not in whole.unions[1]


def kinds(columns: Columns) -> list[tuple[str, str]]:
    return [(name, kind) for name, (kind, _) in columns.items()]


@pytest.mark.each_trace
def test_united_views_have_the_same_columns_and_types(synthetic: duckdb.DuckDBPyConnection) -> None:
    types = column_types(synthetic)
    first: dict[str, ViewFile] = {}
    views = {view.versioned: view for view in view_files()}
    for name, uniting in non_empty(united(view_files()).items()):
        one = first.setdefault(f"{uniting.versioned} {views[name].name}", views[name])
        assert kinds(types[name]) == kinds(types[one.versioned]), (one.versioned, name)


def test_comments_name_traces_that_have_the_column(synthetic: duckdb.DuckDBPyConnection) -> None:
    for column in ("group_id", "allocated_gpus", "workload", "submit_time"):
        sql = f"select distinct trace from unified.jobs where {column} is not null"
        traces = {trace for (trace,) in synthetic.execute(sql).fetchall()}
        meaning = (
            "select meaning from catalog.columns where object_name = 'unified.jobs' and column_name = $column"
        )
        [(text,)] = synthetic.execute(meaning, {"column": column}).fetchall()
        if column == "submit_time":
            assert traces == {"acme", "helios"}
            text = text.partition(";")[0]
        named = {word.lower() for word in re.findall(r"[A-Za-z]+", text)} & set(all_traces())
        assert named and named <= traces, column

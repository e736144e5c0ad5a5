"""Columns inherit comments, provenance and units by lineage."""

from dataclasses import astuple
from pathlib import Path

import pytest

from tracehouse.definitions import column_docs
from tracehouse.definitions.across_traces import expanded
from tracehouse.definitions.column_docs import ColumnDocs as Relations
from tracehouse.definitions.dependencies import sort_views
from tracehouse.definitions.view_files import ViewFile, read_view_file, view_files
from tracehouse.ingest.declare.trace import all_traces

RUN = """create or replace view itp.run_v1 as
select job_id, duration as run_s, num_gpu * duration as gpu_s from itp.raw_job;

comment on column itp.run_v1.gpu_s is 'GPUs'' time; derived.';
"""


def relations(files: list[ViewFile]) -> Relations:
    tables = column_docs.of_tables(all_traces().values())
    return column_docs.of_views(sort_views(expanded(files)), files, tables)


def write_views(folder: Path, **texts: str) -> list[ViewFile]:
    """Write and read view files of several schemas: `itp__run` is itp.run_v1, `itp__run__2` itp.run_v2."""
    found = []
    for name, text in texts.items():
        schema, view, *version = name.split("__")
        path = folder / schema / f"{view}.v{version[0] if version else 1}.sql"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found.append(read_view_file(path))
    return found


def test_a_passed_through_column_inherits_comment_provenance_and_unit(tmp_path: Path) -> None:
    upper = "create or replace view itp.upper_v1 as select run_s, gpu_s, run_s + 1 as more from itp.run_v1;"
    found = relations(write_views(tmp_path, itp__run=RUN, itp__upper=upper))
    base = found["itp.raw_job"]
    assert (base["duration"].unit, base["duration"].provenance) == ("s", "measured")
    assert base["duration"].comment == f"{base['duration'].meaning} [s]; measured."
    assert found["itp.run_v1"]["run_s"] == found["itp.upper_v1"]["run_s"] == base["duration"]
    own = found["itp.upper_v1"]["gpu_s"]
    assert (own.comment, own.meaning, own.provenance) == ("GPUs' time; derived.", "GPUs' time", "derived")
    assert found["itp.upper_v1"]["more"] == column_docs.ColumnDoc("", "", "", None)


def test_a_view_overrides_what_it_inherits(tmp_path: Path) -> None:
    overriding = RUN + "comment on column itp.run_v1.run_s is 'Run; derived.';"
    [run] = write_views(tmp_path, itp__run=overriding)
    column = relations([run])["itp.run_v1"]["run_s"]
    assert (column.meaning, column.provenance, column.unit) == ("Run", "derived", "s")
    inherited = list(column_docs.inherited_comments(run, relations([run])["itp.run_v1"]))
    assert len(inherited) == 1 and inherited[0].startswith('comment on column itp.run_v1."job_id" is ')


@pytest.mark.parametrize(
    ("comment", "parts"),
    [
        ("Wait; derived.", ("Wait", "derived", None)),
        ("Wait; NULL if none [s]; measured.", ("Wait; NULL if none", "measured", "s")),
        ("Rank [no unit]; derived.", ("Rank", "derived", "")),
        ("Share [%].", ("Share [%].", "", None)),
        ("Share [%]", ("Share", "", "percent")),
        ("Wait.", ("Wait.", "", None)),
        (None, ("", "", None)),
    ],
)
def test_a_comment_has_a_meaning_a_unit_and_a_provenance(comment: str | None, parts: tuple) -> None:
    assert astuple(column_docs.parse_comment(comment)) == (comment or "", *parts)


def test_a_unit_in_a_comment_overrides_an_inherited_one(tmp_path: Path) -> None:
    size = """create or replace view itp.size_v1 as select batch_size from itp.elasticflow_job;
comment on column itp.size_v1.batch_size is 'Batch [no unit]; measured.';"""
    found = relations(write_views(tmp_path, itp__size=size))
    assert found["itp.elasticflow_job"]["batch_size"].unit == "samples"
    assert found["itp.size_v1"]["batch_size"].unit == ""


def test_a_next_version_keeps_the_comments_of_the_previous_one(tmp_path: Path) -> None:
    second = "create or replace view itp.run_v2 as select num_gpu * duration * 1.0 as gpu_s from itp.raw_job;"
    found = relations(write_views(tmp_path, itp__run=RUN, itp__run__2=second))
    assert found["itp.run_v2"]["gpu_s"] == found["itp.run_v1"]["gpu_s"]


def test_a_united_view_has_the_comments_of_the_uniting_view(tmp_path: Path) -> None:
    uniting = """create or replace view unified.jobs_v1 as
select trace, run_s, gpus from each_trace.standard_job_v1;

comment on column unified.jobs_v1.run_s is 'Run of the job; derived.';
"""
    itp = """create or replace view itp.standard_job_v1 as
select duration as run_s, num_gpu as gpus from itp.raw_job;
"""
    found = relations(write_views(tmp_path, itp__standard_job=itp, unified__jobs=uniting))
    assert found["itp.standard_job_v1"]["run_s"].comment == "Run of the job; derived."
    assert found["unified.jobs_v1"]["gpus"] == found["itp.raw_job"]["num_gpu"]


def test_every_column_of_every_view_has_a_comment_and_a_provenance() -> None:
    without = [
        f"{name}.{column}"
        for name, columns in relations(view_files()).items()
        for column, found in columns.items()
        if not name.startswith("catalog.") and not (found.meaning and found.provenance)
    ]
    assert without == []

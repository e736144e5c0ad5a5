"""The lint reports SQL in a view or query that Spark cannot run."""

from pathlib import Path

import pytest

from tracehouse.engines.spark.portability import find_problems
from tracehouse.sql.query_files import QueryFile, query_files, read_query_file
from tracehouse.views.view_files import ViewFile, read_view_file, view_files


def query(folder: Path, body: str, header: str = "") -> QueryFile:
    path = folder / "itp" / "mine.sql"
    path.parent.mkdir()
    path.write_text(f"-- What is mine?\n{header}create or replace macro itp.mine() as table\n{body};\n")
    return read_query_file(path)


def view(folder: Path, body: str) -> ViewFile:
    path = folder / "itp" / "mine.v1.sql"
    path.parent.mkdir()
    path.write_text(f"-- Mine.\ncreate or replace view itp.mine_v1 as\n{body};\n")
    return read_view_file(path)


def test_all_views_and_queries_translate() -> None:
    assert find_problems([*view_files(), *query_files()]) == []


@pytest.mark.parametrize(
    ("body", "construct"),
    [
        ("select list_sum([run_s, 1]) as x from itp.job", "list_sum"),
        ("select arg_max(job_id, run_s) as x from itp.job", "arg_max"),
        ("select string_split(job_id, '-')[1:2] as x from itp.job", "slice"),
        ("select dayofweek(date '2023-01-01' + cast(run_s as integer)) as x from itp.job", "day_of_week"),
        ("from itp.job pivot (count(*) for cluster in ('a'))", "pivot"),
    ],
)
def test_names_the_construct_that_does_not_translate(body: str, construct: str, tmp_path: Path) -> None:
    for folder, file in (("of views", view), ("of queries", query)):
        (tmp_path / folder).mkdir()
        made = file(tmp_path / folder, body)
        [fault] = find_problems([made])
        assert fault.startswith(f"{made.path}: ")
        assert construct in fault


def test_reports_an_engine_header_that_is_not_needed(tmp_path: Path) -> None:
    needs = "-- engine: duckdb (list_sum)\n"
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    assert find_problems([query(tmp_path / "one", "select list_sum([run_s]) as x from itp.job", needs)]) == []
    [fault] = find_problems([query(tmp_path / "other", "select run_s from itp.job", needs)])
    assert "it translates to Spark" in fault

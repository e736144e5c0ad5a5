"""Tests with older versions of DuckDB."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hostile_tests import in_full

from tracehouse.engines.duckdb.write import database, materialized_views
from tracehouse.publish.bi import database_file
from tracehouse.views.materialization import storings
from tracehouse.views.view_files import view_files

# The oldest supported version, and others. All other tests run with the installed version.
VERSIONS = [version for version in ("1.4.2", "1.5.6", "2.0.0") if version != duckdb.__version__]

STORING = sorted({view.schema for view in view_files() if storings(view)})


@pytest.fixture(scope="module", params=VERSIONS)
def python(request: pytest.FixtureRequest, python_with: Callable) -> Path:
    return python_with(request.param)


@pytest.fixture(scope="module")
def answers(
    python: Path, sample_warehouse: Path, query_everything: Callable, some_schemas: list[str]
) -> dict[str, Any]:
    return query_everything(sample_warehouse / database.DATABASE, "--schemas", *some_schemas, python=python)


def test_everything_answers(answers: dict[str, Any]) -> None:
    assert answers["errors"] == {}


def test_every_table_and_view_answers_the_same(answers: dict[str, Any], some_sample_answers: dict) -> None:
    assert answers["tables"] == some_sample_answers["tables"]


def test_every_query_answers_the_same(answers: dict[str, Any], some_sample_answers: dict) -> None:
    assert answers["queries"] == some_sample_answers["queries"]


@in_full
def test_answers_same_under_other_name(
    python: Path,
    sample_warehouse: Path,
    query_everything: Callable,
    some_schemas: list[str],
    some_sample_answers: dict,
) -> None:
    options = ("--attach", "other", "--schemas", *some_schemas)
    answers = query_everything(sample_warehouse / database.DATABASE, *options, python=python)
    assert answers == some_sample_answers


def test_every_object_and_column_has_its_comment(answers: dict[str, Any]) -> None:
    objects = answers["tables"] | answers["queries"]
    assert [name for name, found in objects.items() if not found["comment"]] == []
    bare = [
        f"{name}.{column}"
        for name, table in answers["tables"].items()
        for column, (_, comment) in table["columns"].items()
        if not comment
    ]
    assert bare == []


@pytest.fixture(scope="module")
def stored(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse in which all views that may be materialized are, even small ones."""
    folder = tmp_path_factory.mktemp("stored")
    shutil.copytree(sample_warehouse / "parquet", folder / "parquet")
    shutil.copy(sample_warehouse / "datapackage.json", folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(materialized_views, "LEAST_ROWS", 0)
        assert database.build(folder).notes == []
    return folder


@in_full
def test_stored_views_answer_the_same(
    python: Path, stored: Path, query_everything: Callable, sample_answers: dict
) -> None:
    answers = query_everything(stored / database.DATABASE, "--schemas", *STORING, python=python)
    assert answers["errors"] == {}
    for kind in ("queries", "tables"):
        assert answers[kind] == {
            name: found for name, found in sample_answers[kind].items() if name.split(".")[0] in STORING
        }


COUNT_ALL = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
for name, rows in connection.execute("select name, row_count from catalog.contents").fetchall():
    assert connection.execute(f"select count(*) from {name}").fetchall() == [(rows,)], name
print(connection.execute("select sum(jobs) from itp.gpu_hours(min_gpus := 2)").fetchall())
"""


@pytest.fixture(scope="module")
def published(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    assert not database.ingest([sample_raw], folder / "warehouse", ["itp"], lambda *_: None).problems
    database_file.publish(folder / "warehouse", folder / "traces.duckdb", whole=False)
    return folder / "traces.duckdb"


def test_published_file_answers(python: Path, published: Path, run: Callable) -> None:
    printed = run([python, "-c", COUNT_ALL, published]).stdout
    with duckdb.connect(str(published), read_only=True) as connection:
        expected = connection.execute("select sum(jobs) from itp.gpu_hours(min_gpus := 2)").fetchall()
    assert expected[0][0] > 0
    assert printed.strip() == str(expected)

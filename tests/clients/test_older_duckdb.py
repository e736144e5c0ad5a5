"""The database opens in older and newer versions of DuckDB, and answers the same in all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracehouse.engines.duckdb.write import database

# The oldest that is supported, and those that the tests run on; the one of this run is everywhere else.
VERSIONS = [version for version in ("1.4.2", "1.5.6", "2.0.0") if version != duckdb.__version__]


@pytest.fixture(scope="module", params=VERSIONS)
def python(request: pytest.FixtureRequest, python_with: Callable) -> Path:
    return python_with(request.param)


@pytest.fixture(scope="module")
def answers(python: Path, sample_warehouse: Path, ask_everything: Callable) -> dict[str, Any]:
    return ask_everything(sample_warehouse / database.NAME, python=python)


def test_everything_answers(answers: dict[str, Any]) -> None:
    assert answers["errors"] == {}


def test_every_table_and_view_answers_the_same(answers: dict[str, Any], sample_answers: dict) -> None:
    assert answers["tables"] == sample_answers["tables"]


def test_every_query_answers_the_same(answers: dict[str, Any], sample_answers: dict) -> None:
    assert answers["queries"] == sample_answers["queries"]


def test_everything_answers_the_same_under_another_name(
    python: Path, sample_warehouse: Path, ask_everything: Callable, sample_answers: dict
) -> None:
    answers = ask_everything(sample_warehouse / database.NAME, "--attach", "other", python=python)
    assert answers == sample_answers


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

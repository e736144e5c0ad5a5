"""Tests of databases that another version of Tracehouse built."""

import shutil
from pathlib import Path

import command_line
import duckdb
import pytest
from command_line import Run

import tracehouse
from tracehouse.core.errors import UserError

BUILT_BY_ANOTHER = "was built by another version of Tracehouse and lacks "
ADVICE = ". Run `traces build`"


def traces(*arguments: object, warehouse: Path, **request: object) -> Run:
    return command_line.server().run(*arguments, environment={"TRACES_WAREHOUSE": str(warehouse)}, **request)


@pytest.fixture(scope="module")
def outdated(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse whose database lacks a table of the catalog, and a column of another table."""
    folder = tmp_path_factory.mktemp("outdated")
    (folder / "parquet").symlink_to(sample_warehouse / "parquet")
    shutil.copy(sample_warehouse / "traces.duckdb", folder)
    with duckdb.connect(folder / "traces.duckdb") as connection:
        connection.execute("drop table catalog.rules; alter table catalog.views drop stored")
    return folder


@pytest.mark.parametrize(
    ("arguments", "lacking"),
    [
        (["describe", "itp.job"], "catalog.views.stored"),
        (["describe", "itp.job", "--json"], "catalog.views.stored"),
        (["check"], "catalog.rules"),
        (["check", "itp"], "catalog.rules"),
        (["sql", "select stored from catalog.views"], "catalog.views.stored"),
        (["publish", "--out", "published.duckdb"], "catalog.views.stored"),
    ],
)
def test_error_names_the_missing_table_or_column(
    arguments: list[str], lacking: str, outdated: Path, tmp_path: Path
) -> None:
    run = traces(*arguments, warehouse=outdated, cwd=tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert run.errors == [f"error: {outdated / 'traces.duckdb'} {BUILT_BY_ANOTHER}{lacking}{ADVICE}"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "views"],
        ["describe", "itp.gpu_hours"],
        ["describe", "itp.raw_job"],
        ["query", "itp.gpu_hours"],
        ["sql", "from catalog.views"],
    ],
    ids=" ".join,
)
def test_other_queries_still_run(arguments: list[str], outdated: Path) -> None:
    run = traces(*arguments, warehouse=outdated)
    assert run.code == 0 and run.stdout, run.stderr


def test_other_errors_are_unchanged(outdated: Path, sample_warehouse: Path) -> None:
    for statement in ("select no_such_column from itp.job", "from catalog.no_such_table", "select stored"):
        expected = traces("sql", statement, warehouse=sample_warehouse)
        assert expected.code == 1 and "another version" not in expected.stderr
        if statement != "select stored":
            assert traces("sql", statement, warehouse=outdated).stderr == expected.stderr


def test_python_raises_same_error(outdated: Path) -> None:
    warehouse = tracehouse.open(outdated)
    with pytest.raises(UserError, match=f"{BUILT_BY_ANOTHER}catalog.views.stored{ADVICE}$"):
        warehouse.describe("itp.job")
    assert len(warehouse.query("itp.gpu_hours").df())

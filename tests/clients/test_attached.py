"""Attached, moved and self-contained databases give the golden answers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import goldens
import pytest

from tracehouse.engines.duckdb.write import database

QUESTION = "select count(*) as jobs from itp.job"
SOME = ("openb", "itp")


def opened(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(path / database.DATABASE), read_only=True)


@pytest.fixture(scope="module")
def alone(fixture_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A materialized database whose warehouse folder was deleted."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(fixture_warehouse, folder / "warehouse")
    database.build(folder / "warehouse", embed_tables=True)
    shutil.move(folder / "warehouse" / database.DATABASE, folder / "bi.duckdb")
    shutil.rmtree(folder / "warehouse")
    return folder / "bi.duckdb"


def test_attached_under_another_name(fixture_warehouse: Path) -> None:
    path = fixture_warehouse / database.DATABASE
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as other (read_only)")
        assert connection.execute("select count(*) from other.itp.job").fetchall() != [(0,)]
        connection.execute("use other")
        assert goldens.differences(connection, SOME) == []


def test_attached_twice_and_with_other_warehouse(fixture_warehouse: Path, real_warehouse: Path) -> None:
    """Two warehouses are attached in one process, and one of them is also open directly."""
    with opened(fixture_warehouse) as own, duckdb.connect() as connection:
        for alias, warehouse in (("made_up", fixture_warehouse), ("published", real_warehouse)):
            connection.execute(f"attach '{warehouse / database.DATABASE}' as {alias} (read_only)")
        [(made_up, published)] = connection.execute(
            "select (select count(*) from made_up.itp.job), (select count(*) from published.itp.job)"
        ).fetchall()
        assert [(made_up,)] == own.execute(QUESTION).fetchall()
        assert published > made_up
        connection.execute("use published")
        assert connection.execute("select sum(jobs) from itp.gpu_hours()").fetchall() == [(published,)]


def test_moved_warehouse_needs_its_path(moved_warehouse: Path) -> None:
    with opened(moved_warehouse) as connection:
        with pytest.raises(duckdb.IOException, match=r"No files found .*before/parquet/itp/raw_job/"):
            connection.execute(QUESTION).fetchall()
        connection.execute("set variable data_root = $path", {"path": str(moved_warehouse)})
        assert goldens.differences(connection, SOME) == []


def test_command_line_works_after_move(moved_warehouse: Path, run: Callable, traces: Path) -> None:
    place = ["--warehouse", moved_warehouse]
    [row] = json.loads(run([traces, "sql", QUESTION, "--format", "json", *place]).stdout)
    rows = json.loads(run([traces, "query", "itp.gpu_hours", "--format", "json", *place]).stdout)
    assert sum(each["jobs"] for each in rows) == row["jobs"] > 0
    command = [traces, "query", "itp.gpu_hours", "--warehouse", moved_warehouse.name]
    assert run(command, folder=moved_warehouse.parent).stdout.startswith("cluster,jobs,")


def test_build_after_move_updates_path(moved_warehouse: Path, tmp_path: Path) -> None:
    here = shutil.copytree(moved_warehouse, tmp_path / "here")
    database.build(here)
    with opened(here) as connection:
        assert goldens.differences(connection, ("openb",)) == []


def test_materialized_file_answers_without_parquet(alone: Path) -> None:
    assert [path.name for path in alone.parent.iterdir()] == [alone.name]
    with duckdb.connect(str(alone), read_only=True) as connection:
        connection.execute("set enable_external_access = false")
        assert goldens.differences(connection, SOME) == []

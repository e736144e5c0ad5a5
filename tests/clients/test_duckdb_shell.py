"""Tests with the DuckDB shell, in any working directory."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from random_seed import some

from tracehouse.engines.duckdb.write import database

CHANGES = [
    "create table catalog.mine (i integer)",
    "create table mine (i integer)",
    "create or replace view itp.job as select 1 as i",
    "create or replace macro itp.gpu_hours() as table select 1 as i",
    "drop view itp.job",
    "insert into catalog.traces (trace) values ('mine')",
    "update catalog.traces set title = 'mine'",
    "delete from catalog.caveats",
    "comment on view itp.job is 'mine'",
]


def counts(names: list[str]) -> str:
    return "".join(f"select '{name}' as name, count(*) as rows from {name};\n" for name in names)


def as_calls(names: list[str]) -> list[str]:
    return [f"{name}()" for name in names]


@pytest.mark.parametrize("kind", ["views", "base tables", "catalog", "queries"])
@pytest.mark.parametrize("warehouse", ["real_warehouse", "sample_warehouse"])
def test_every_object_answers(
    kind: str,
    warehouse: str,
    objects: dict[str, list[str]],
    run: Callable,
    shell: Path,
    request: pytest.FixtureRequest,
) -> None:
    path = request.getfixturevalue(warehouse) / database.DATABASE
    names = some(objects[kind], 30)
    names = as_calls(names) if kind == "queries" else names
    lines = run([shell, "-no-init", "-readonly", "-jsonlines", path], counts(names)).stdout.splitlines()
    with duckdb.connect(str(path), read_only=True) as connection:
        expected = [
            {"name": name, "rows": connection.execute(f"select count(*) from {name}").fetchall()[0][0]}
            for name in names
        ]
    assert names
    assert [json.loads(line) for line in lines] == expected


def test_database_has_exactly_declared_objects(objects: dict[str, list[str]], sample_answers: dict) -> None:
    tables = {*objects["views"], *objects["base tables"], *objects["catalog"]}
    assert set(sample_answers["tables"]) == tables
    assert set(sample_answers["queries"]) == set(objects["queries"])


def test_sample_has_rows_in_every_table_and_query(sample_answers: dict) -> None:
    """Without rows, these tests would compare empty answers."""
    tables = {name: table["rows"][0]["rows"] for name, table in sample_answers["tables"].items()}
    assert [name for name, rows in tables.items() if rows == 0] == ["catalog.not_built"]
    assert [name for name, query in sample_answers["queries"].items() if not query["rows"]] == []


@pytest.mark.parametrize("change", CHANGES)
def test_read_only_database_rejects_changes(
    change: str, sample_warehouse: Path, run: Callable, shell: Path
) -> None:
    done = run(
        [shell, "-no-init", "-readonly", sample_warehouse / database.DATABASE, "-c", change], check=False
    )
    assert done.returncode == 1
    assert "read-only" in done.stderr


@pytest.mark.parametrize("kind", ["views", "base tables", "catalog", "queries"])
def test_traces_shell_answers_in_a_moved_folder(
    kind: str,
    moved_warehouse: Path,
    objects: dict[str, list[str]],
    run: Callable,
    traces: Path,
    sample_answers: dict,
) -> None:
    names = some(objects[kind], 30)
    text = f".mode jsonlines\n{counts(as_calls(names) if kind == 'queries' else names)}"
    lines = run([traces, "shell", "--warehouse", moved_warehouse], text).stdout.splitlines()
    found = {row["name"].removesuffix("()"): row["rows"] for row in map(json.loads, lines)}
    if kind == "queries":
        assert found == {name: len(sample_answers["queries"][name]["rows"]) for name in names}
    else:
        assert found == {name: sample_answers["tables"][name]["rows"][0]["rows"] for name in names}


@pytest.mark.parametrize("change", CHANGES[:3])
def test_traces_shell_is_read_only(change: str, sample_warehouse: Path, run: Callable, traces: Path) -> None:
    done = run([traces, "shell", "--warehouse", sample_warehouse], f"{change};", check=False)
    assert done.returncode == 1
    assert "read-only" in done.stderr


def test_traces_shell_returns_exit_code(sample_warehouse: Path, run: Callable, traces: Path) -> None:
    command = [traces, "shell", "--warehouse", sample_warehouse]
    assert run(command, "select 6 * 7 as answer;").returncode == 0
    assert run(command, "select nothing_like_it;", check=False).returncode == 1
    assert run(command).returncode == 0


def test_traces_shell_reports_missing_database(tmp_path: Path, run: Callable, traces: Path) -> None:
    done = run([traces, "shell", "--warehouse", tmp_path], check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / database.DATABASE}: no such database")

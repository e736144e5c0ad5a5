"""Tests of attached, moved and self-contained databases."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hostile_tests import in_full

from tracehouse.engines.duckdb.write import database

QUESTION = "select count(*) as jobs from itp.job"


@pytest.fixture(scope="module")
def alone(
    sample_warehouse: Path, run: Callable, traces: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A materialized database whose warehouse folder was deleted."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(sample_warehouse, folder / "warehouse")
    run([traces, "build", "--materialize", "--warehouse", folder / "warehouse"])
    shutil.move(folder / "warehouse" / database.DATABASE, folder / "bi.duckdb")
    shutil.rmtree(folder / "warehouse")
    return folder / "bi.duckdb"


def test_answers_under_other_name_in_shell(
    sample_warehouse: Path, run: Callable, shell: Path, some_sample_answers: dict
) -> None:
    """Views and tables are read with the alias as a prefix, queries after `use`."""
    statements = [
        f"attach '{sample_warehouse / database.DATABASE}' as other (read_only)",
        *(
            f"select '{name}' as name, count(*) as rows from other.{name}"
            for name in some_sample_answers["tables"]
        ),
        "use other",
        *(
            f"select '{name}' as name, count(*) as rows from {name}()"
            for name in some_sample_answers["queries"]
        ),
    ]
    lines = run([shell, "-no-init", "-jsonlines"], ";\n".join([*statements, ""])).stdout.splitlines()
    assert {row["name"]: row["rows"] for row in map(json.loads, lines)} == {
        **{name: table["rows"][0]["rows"] for name, table in some_sample_answers["tables"].items()},
        **{name: len(query["rows"]) for name, query in some_sample_answers["queries"].items()},
    }


def test_attached_twice_and_with_other_warehouse(sample_warehouse: Path, real_warehouse: Path) -> None:
    """Two warehouses are attached in one process, and one of them is also open directly."""
    with (
        duckdb.connect(str(sample_warehouse / database.DATABASE), read_only=True) as own,
        duckdb.connect() as connection,
    ):
        for alias, warehouse in (("made_up", sample_warehouse), ("published", real_warehouse)):
            connection.execute(f"attach '{warehouse / database.DATABASE}' as {alias} (read_only)")
        [(made_up, published)] = connection.execute(
            "select (select count(*) from made_up.itp.job), (select count(*) from published.itp.job)"
        ).fetchall()
        assert [(made_up,)] == own.execute(QUESTION).fetchall()
        assert published > made_up
        connection.execute("use published")
        assert connection.execute("select sum(jobs) from itp.gpu_hours()").fetchall() == [(published,)]


@pytest.mark.parametrize(
    "change",
    [
        "create table other.catalog.mine (i integer)",
        "delete from other.catalog.traces",
        "drop view other.itp.job",
    ],
)
def test_read_only_attachment_rejects_changes(
    change: str, sample_warehouse: Path, run: Callable, shell: Path
) -> None:
    attach = f"attach '{sample_warehouse / database.DATABASE}' as other (read_only)"
    done = run([shell, "-no-init", "-c", attach, "-c", change], check=False)
    assert done.returncode == 1
    assert "read-only" in done.stderr


def test_error_after_move_names_old_path(moved_warehouse: Path) -> None:
    with (
        duckdb.connect(str(moved_warehouse / database.DATABASE), read_only=True) as connection,
        pytest.raises(duckdb.IOException, match=r"No files found .*before/parquet/itp/raw_job/"),
    ):
        connection.execute(QUESTION).fetchall()


@in_full
def test_variable_sets_path_after_move(
    moved_warehouse: Path, query_everything: Callable, some_schemas: list[str], some_sample_answers: dict
) -> None:
    options = ("--attach", "other", "--data-root", str(moved_warehouse), "--schemas", *some_schemas)
    assert query_everything(moved_warehouse / database.DATABASE, *options) == some_sample_answers


def test_command_line_works_after_move(moved_warehouse: Path, run: Callable, traces: Path) -> None:
    place = ["--warehouse", moved_warehouse]
    [row] = json.loads(run([traces, "sql", QUESTION, "--format", "json", *place]).stdout)
    assert row["jobs"] > 0
    rows = json.loads(run([traces, "query", "itp.gpu_hours", "--format", "json", *place]).stdout)
    assert sum(each["jobs"] for each in rows) == row["jobs"]
    assert run([traces, "check", "itp", *place]).returncode == 0


def test_command_line_takes_relative_path_after_move(
    moved_warehouse: Path, run: Callable, traces: Path
) -> None:
    command = [traces, "query", "itp.gpu_hours", "--warehouse", moved_warehouse.name]
    assert run(command, folder=moved_warehouse.parent).stdout.startswith("cluster,jobs,")


@in_full
def test_build_after_move_updates_path(
    moved_warehouse: Path,
    run: Callable,
    traces: Path,
    query_everything: Callable,
    some_schemas: list[str],
    some_sample_answers: dict,
    tmp_path: Path,
) -> None:
    here = tmp_path / "here"
    shutil.copytree(moved_warehouse, here)
    run([traces, "build", "--warehouse", here])
    assert query_everything(here / database.DATABASE, "--schemas", *some_schemas) == some_sample_answers


def test_materialized_file_answers_without_parquet(
    alone: Path, query_everything: Callable, some_schemas: list[str], some_sample_answers: dict
) -> None:
    assert [path.name for path in alone.parent.iterdir()] == [alone.name]
    options = ("--attach", "other", "--no-files", "--schemas", *some_schemas)
    assert query_everything(alone, *options) == some_sample_answers


def test_materialized_file_answers_in_shell(alone: Path, run: Callable, shell: Path) -> None:
    text = f".mode jsonlines\nset enable_external_access = false;\n{QUESTION};\n"
    [line] = run([shell, "-no-init", "-readonly", alone], text).stdout.splitlines()
    assert json.loads(line)["jobs"] > 0


def test_unmaterialized_file_needs_parquet(
    sample_warehouse: Path, query_everything: Callable, objects: dict
) -> None:
    """The tests above rely on this: only a materialized database contains the rows."""
    errors = query_everything(sample_warehouse / database.DATABASE, "--no-files")["errors"]
    assert set(objects["base tables"]) <= set(errors)

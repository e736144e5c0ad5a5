"""A published file has all results of the warehouse, needs no other file, and is replaced atomically."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
import suites
from digests import digest
from random_seed import some

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.declare.trace import all_traces

pytestmark = suites.of("bi")
WIDE = {
    f"{trace.name}.{table.name}"
    for trace in all_traces().values()
    for table in trace.tables
    if table.wide is not None
}
# One count per day, not telemetry, so it is published in full.
WIDE.remove("helios.gpu_count")


@pytest.fixture(scope="module")
def both(fixture_warehouse: Path, publish, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A connection to a warehouse of all traces and to its published file, without access to other files."""
    published = tmp_path_factory.mktemp("published") / "traces.duckdb"
    publish(fixture_warehouse, "--out", published)
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute(f"attach '{fixture_warehouse / database.DATABASE}' as warehouse (read_only)")
        connection.execute(f"attach '{published}' as published (read_only)")
        connection.execute(f"set allowed_directories = ['{fixture_warehouse}']")
        connection.execute("set enable_external_access = false")
        yield connection


def names(connection: duckdb.DuckDBPyConnection, where: str) -> list[str]:
    sql = f"select name from published.catalog.contents where {where} order by name"
    return [name for (name,) in connection.execute(sql).fetchall()]


def digests(connection: duckdb.DuckDBPyConnection, current: str, calls: list[str]) -> dict[str, object]:
    """The digest of each relation or call in the current database, which views and macros need."""
    connection.execute(f"use {current}")
    return {call: digest(connection, f"from {call}") for call in calls}


def test_published_rows_equal_those_of_warehouse(both: duckdb.DuckDBPyConnection) -> None:
    """Tables, views and the catalog have the same rows, and answers those of the named queries."""
    relations = names(both, "kind in ('base table', 'view', 'catalog')")
    assert len(relations) > 150
    tried = some(relations, 100)
    assert digests(both, "published", tried) == digests(both, "warehouse", tried)
    views = [name for (name,) in both.execute("select distinct view_name from catalog.views").fetchall()]
    left_out = {name for name, _ in both.execute("from published.catalog.left_out").fetchall()}
    assert sorted({*views} - left_out) == names(both, "kind = 'view'"), "a client lists each view once"
    queries = [name for (name,) in both.execute("select query_name from catalog.queries").fetchall()]
    assert sorted(queries) == names(both, "kind = 'answer'")
    chosen = some(queries, 30)
    answers = digests(both, "published", chosen)
    assert {f"{name}()": found for name, found in answers.items()} == digests(
        both, "warehouse", [f"{name}()" for name in chosen]
    )


def test_named_queries_take_parameters(both: duckdb.DuckDBPyConnection) -> None:
    """All queries are macros, except those that read single samples; `catalog.left_out` lists these."""
    both.execute("use published")
    macros = {
        name
        for (name,) in both.execute(
            "select schema_name || '.' || function_name from duckdb_functions()"
            " where database_name = 'published' and not internal and schema_name <> 'stats'"
        ).fetchall()
    }
    left_out = {
        name.removesuffix("(…)")
        for (name,) in both.execute("select name from catalog.left_out where name like '%(…)'").fetchall()
    }
    answers = set(names(both, "kind = 'answer'"))
    assert macros | left_out == answers and not macros & left_out
    assert 0 < len(left_out) < 12
    for name in some(sorted(macros), 50):
        assert digest(both, f"from {name}()") == digest(both, f"from {name}"), name
    asked = "from itp.gpu_hours(min_gpus := 4)"
    other = digest(both, asked)
    assert other != digest(both, "from itp.gpu_hours")
    both.execute("use warehouse")
    assert other == digest(both, asked)


def test_comments_equal_those_of_warehouse(both: duckdb.DuckDBPyConnection) -> None:
    """Comments on columns are equal, and every column, table and view has one."""
    sql = """
        select schema_name || '.' || table_name || '.' || column_name, comment from duckdb_columns()
        where database_name = '{}' and not internal
    """
    before = dict(both.execute(sql.format("warehouse")).fetchall())
    after = dict(both.execute(sql.format("published")).fetchall())
    assert all(after.values())
    shared = before.keys() & after.keys()
    assert len(shared) > 500
    assert {name: after[name] for name in shared} == {name: before[name] for name in shared}
    # All objects are tables, because some tools list only tables.
    found = dict(
        both.execute(
            "select schema_name || '.' || table_name, comment from duckdb_tables()"
            " where database_name = 'published'"
        ).fetchall()
    )
    assert set(names(both, "true")) <= found.keys() and all(found.values())


def test_hourly_telemetry_equals_pandas(both: duckdb.DuckDBPyConnection) -> None:
    assert WIDE
    assert {name.removesuffix("_hourly") for name in names(both, "kind = 'hourly rollup'")} == WIDE
    assert not WIDE & set(names(both, "true"))
    for name in WIDE:
        cells = both.execute(
            f"select cluster, metric, device, epoch(time) as s, value from warehouse.{name}"
        ).df()
        cells["hour"] = cells["s"] // 3600 * 3600
        by = ["cluster", "metric", "device", "hour"]
        expected = cells.groupby(by)["value"].agg(["size", "count", "mean", "min", "max"]).reset_index()
        found = both.execute(
            f"""
            select cluster, metric, device, epoch(hour) as hour, samples + empty_samples as size,
                samples as count, mean_value as mean, min_value as min, max_value as max
            from published.{name}_hourly order by all
            """
        ).df()
        expected = expected.sort_values(by, ignore_index=True)
        assert len(expected) > 100
        for column in expected:
            assert found[column].tolist() == pytest.approx(expected[column].tolist(), nan_ok=True), column


@pytest.fixture
def small(small_published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(small_published, tmp_path))


def test_warehouse_without_data_is_an_error(publish, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    database.build(tmp_path / "empty")
    run = publish(tmp_path / "empty", "--out", tmp_path / "a.duckdb", succeeds=False)
    assert "has no data" in run.stderr
    assert not (tmp_path / "a.duckdb").exists()


def test_foreign_objects_are_not_replaced(small_warehouse: Path, publish, tmp_path: Path) -> None:
    texts, other, own, folder = (tmp_path / name for name in ("text", "other.duckdb", "own.duckdb", "folder"))
    texts.write_text("mine", encoding="utf-8")
    with duckdb.connect(str(other)) as connection:
        connection.execute("create schema catalog; create table catalog.contents (name varchar)")
    shutil.copy(small_warehouse / database.DATABASE, own)
    folder.mkdir()
    for path in (texts, other, own, folder):
        before = path.read_bytes() if path.is_file() else None
        run = publish(small_warehouse, "--out", path, succeeds=False)
        assert str(path) in run.errors[0]
        assert "not a file" in run.stderr if path == folder else "is not replaced" in run.stderr
        assert before == (path.read_bytes() if path.is_file() else None)
    assert {*tmp_path.iterdir()} == {texts, other, own, folder}


HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print(connection.execute("select count(*) from itp.job").fetchall(), flush=True)
sys.stdin.read()
print(connection.execute("select count(*) from itp.raw_job").fetchall(), flush=True)
"""


@contextmanager
def held_open(path: Path, how: str) -> Iterator[subprocess.Popen]:
    """Another process has the file open; at the end it reads the same version again."""
    command = [sys.executable, "-c", HOLD, str(path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as holder:
        assert holder.stdout and holder.stdout.readline().startswith("[(")
        yield holder
        rest, _ = holder.communicate("")
        assert holder.returncode == 0 and rest.startswith("[(")


def test_replaces_a_file_atomically(small: Path, small_warehouse: Path, publish) -> None:
    """Also a file that another process reads, but none that a process writes. The new file is whole."""
    before = small.stat().st_ino
    with held_open(small, "read"):
        run = publish(small_warehouse, "--out", small, "--whole")
        assert small.stat().st_ino != before
    assert run.stdout.startswith("Published ") and f" as {small}, " in run.stdout
    others = sorted(all_traces().keys() - {"acme", "dlrm", "itp"})
    assert f"no data: {', '.join(others)}" in run.stderr and "sample" not in run.stderr
    with duckdb.connect(str(small), read_only=True) as connection:
        schemas = connection.execute("select distinct schema_name from duckdb_tables()").fetchall()
        assert {schema for (schema,) in schemas} == {"acme", "catalog", "dlrm", "itp", "unified"}
        left_out = connection.execute("select name from catalog.left_out order by name").fetchall()
        assert left_out == [(other,) for other in others]
        # It has every sample of telemetry.
        connection.execute(f"attach '{small_warehouse / database.DATABASE}' as warehouse (read_only)")
        for name in (*WIDE, "acme.gpu_memory_used"):
            assert digest(connection, f"from {name}") == digest(connection, f"from warehouse.{name}"), name
    content = small.read_bytes()
    with held_open(small, "write") as holder:
        run = publish(small_warehouse, "--out", small, succeeds=False)
        assert f"PID {holder.pid}" in run.errors[0] and "Close it there" in run.errors[0]
    assert small.read_bytes() == content and [found.name for found in small.parent.iterdir()] == [small.name]

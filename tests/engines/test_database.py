"""The database file: when an ingest keeps, rebuilds or reports the existing one."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.write import database, freshness, template
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import layout, records

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n"
KINDS = """
    select distinct table_type from information_schema.tables
    where table_schema = 'openb' and table_name in ('node', 'pod')
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with raw files and their warehouse. It takes seconds to build, so tests use copies."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES)
    ingest(folder / "warehouse")
    return folder


@pytest.fixture
def warehouse(built: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse, marked for its new path, so that the database counts as current."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    assert not is_fresh(tmp_path / "warehouse"), "the mark ignores the path"
    freshness.write_mark(
        tmp_path / "warehouse",
        current_fingerprint(tmp_path / "warehouse"),
        tmp_path / "warehouse" / database.NAME,
    )
    assert is_fresh(tmp_path / "warehouse")
    return tmp_path / "warehouse"


def current_fingerprint(warehouse: Path) -> str:
    return freshness.fingerprint_inputs(records.read_conversions(warehouse), warehouse, True)


def is_fresh(warehouse: Path) -> bool:
    return freshness.is_fresh(warehouse, current_fingerprint(warehouse))


def ingest(warehouse: Path) -> IngestResult:
    return database.ingest([warehouse.parent / "raw"], warehouse, [], lambda *_: None)


def query_rows(warehouse: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(warehouse / database.NAME), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(("materialize", "kind"), [(False, "VIEW"), (True, "BASE TABLE")])
def test_ingest_keeps_kind_of_database(materialize: bool, kind: str, warehouse: Path) -> None:
    database.build(warehouse, materialize)
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a") as file:
        file.write("b,1000,1024,2,T4\n")
    for _ in range(2):
        assert ingest(warehouse).notes == ()
        assert query_rows(warehouse, KINDS) == [(kind,)]
        assert query_rows(warehouse, "select sum(gpu) from openb.node") == [(3,)]


def test_build_sets_kind_of_database(warehouse: Path) -> None:
    database.build(warehouse, materialize=True)
    database.build(warehouse)
    assert query_rows(warehouse, KINDS) == [("VIEW",)]


def test_rebuilds_and_reports_unreadable_database(warehouse: Path) -> None:
    (warehouse / database.NAME).write_bytes(b"no database" * 1000)
    (note,) = ingest(warehouse).notes
    assert note.startswith(f"{warehouse / database.NAME}: the database cannot be opened (")
    assert "traces build --materialize" in note
    assert query_rows(warehouse, "select sum(gpu) from openb.node") == [(1,)]


@pytest.mark.parametrize("materialize", [False, True])
def test_ingest_without_changes_keeps_database(materialize: bool, warehouse: Path) -> None:
    if materialize:
        database.build(warehouse, materialize)
    before = (warehouse / database.NAME).stat()
    assert len(ingest(warehouse).unchanged) == 1
    database.vacuum(warehouse, 0, 0)
    after = (warehouse / database.NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def delete_database(warehouse: Path) -> None:
    (warehouse / database.NAME).unlink()


def flip_bit(warehouse: Path) -> None:
    content = bytearray((warehouse / database.NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (warehouse / database.NAME).write_bytes(content)


def write_table(warehouse: Path) -> None:
    with duckdb.connect(str(warehouse / database.NAME)) as connection:
        connection.execute("create table mine as select 1 as n")


def add_empty_wal(warehouse: Path) -> None:
    (warehouse / f"{database.NAME}.wal").write_bytes(b"")


def delete_mark(warehouse: Path) -> None:
    layout.database_mark(warehouse).unlink()


def damage_mark(warehouse: Path) -> None:
    layout.database_mark(warehouse).write_text("[]")


@pytest.mark.parametrize(
    "damage", [delete_database, flip_bit, write_table, add_empty_wal, delete_mark, damage_mark]
)
def test_modified_database_is_not_fresh(damage: Callable[[Path], None], warehouse: Path) -> None:
    damage(warehouse)
    assert not is_fresh(warehouse)


def test_rebuilds_database_that_is_not_fresh(warehouse: Path) -> None:
    write_table(warehouse)
    assert len(ingest(warehouse).unchanged) == 1
    assert query_rows(warehouse, "select sum(gpu) from openb.node") == [(1,)]
    assert query_rows(warehouse, "select count(*) from duckdb_tables() where table_name = 'mine'") == [(0,)]
    assert is_fresh(warehouse)


@pytest.mark.parametrize("changed", ["a definition", "the version of DuckDB", "the place", "the rows"])
def test_database_of_other_inputs_is_not_fresh(
    changed: str, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Disable the cache of the hash: normally, definitions do not change while a process runs.
    monkeypatch.setattr(freshness, "hash_definitions", freshness.hash_definitions.__wrapped__)
    if changed == "a definition":
        (warehouse.parent / "x.sql").write_text("select 1")
        definitions = freshness._list_definitions()
        monkeypatch.setattr(
            freshness, "_list_definitions", lambda: [*definitions, warehouse.parent / "x.sql"]
        )
    elif changed == "the version of DuckDB":
        monkeypatch.setattr(duckdb, "__version__", "9.9.9")
    elif changed == "the place":
        warehouse = warehouse.rename(warehouse.with_name("moved"))
    else:
        records.publish(warehouse, [])
    assert not is_fresh(warehouse)


def test_full_disk_at_publishing_gets_advice(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(records, "publish", fail)
    with pytest.raises(UserError, match=r"No space left on device.*Free disk space"):
        ingest(warehouse)


def test_rebuilds_after_kill_between_manifest_and_database(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a") as file:
        file.write("b,1000,1024,2,T4\n")
    with monkeypatch.context() as patched:
        patched.setattr(database, "_put_in_place", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ingest(warehouse)
    assert query_rows(warehouse, "select sum(gpu) from openb.node") == [(1,)]
    assert len(ingest(warehouse).unchanged) == 1
    assert query_rows(warehouse, "select sum(gpu) from openb.node") == [(3,)]


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_fingerprint_differs_for_different_inputs(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("select 1")
    (tmp_path / "b.sql").write_text("select 1")
    files = sorted(tmp_path.iterdir())
    given = [([], []), (files, []), (files[:1], []), (files[1:], []), (files, ["a"]), ([], ["a", "b"])]
    assert len({freshness.fingerprint(*one) for one in given}) == len(given)


def test_fingerprint_covers_all_definitions() -> None:
    found = {path.relative_to(freshness._PACKAGE).as_posix() for path in freshness._list_definitions()}
    assert {"views/versions.lock", "views/itp/job.v1.sql", "sql/itp/gpu_hours.sql"} <= found
    assert {"ingest/traces/itp.py", "views/itp/caveats.csv", "engines/duckdb/write/catalog.py"} <= found


def test_build_ignores_the_log_of_a_killed_build(warehouse: Path) -> None:
    """DuckDB applies a write-ahead log to any database of the same name."""
    path = layout.staging_folder(warehouse) / database.NAME
    template.copy_to(path)
    with duckdb.connect(str(path)) as killed:
        killed.execute("pragma disable_checkpoint_on_shutdown")
        killed.execute("drop view openb.node; create table openb.node as select 1 as number")
    assert path.with_name(f"{path.name}.wal").exists()
    database.build(warehouse)
    assert query_rows(warehouse, KINDS) == [("VIEW",)]

"""When a database with foreign objects is replaced, it is kept under another name and reported."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.store import layout

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES)
    assert ingest(folder / "warehouse") == []
    return folder


@pytest.fixture
def warehouse(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse whose builds copy its first database, because real builds take seconds."""

    def copy_first(path: Path, *_: object) -> list:
        shutil.copy(made / "warehouse" / database.NAME, path)
        return []

    monkeypatch.setattr(database, "build_file", copy_first)
    return shutil.copytree(made, tmp_path / "copy") / "warehouse"


def ingest(warehouse: Path) -> list[str]:
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a") as file:
        file.write(f"n{file.tell()},1000,1024,1,T4\n")
    return list(database.ingest([warehouse.parent / "raw"], warehouse, [], lambda *_: None).notes)


def write(warehouse: Path, *statements: str) -> None:
    with duckdb.connect(str(warehouse / database.NAME)) as connection:
        for statement in statements:
            connection.execute(statement)


def kept(warehouse: Path) -> list[Path]:
    return sorted(warehouse.glob("traces-kept-*.duckdb"))


EVERY_WAY: dict[str, Callable[[Path], list[str]]] = {
    "ingest": ingest,
    "build": lambda warehouse: list(database.build(warehouse).notes),
    "vacuum": lambda warehouse: database.vacuum(warehouse, 7, 3)[1],
    "forget": lambda warehouse: database.forget(warehouse, ["*"])[1:],
}


@pytest.mark.parametrize("way", EVERY_WAY)
def test_keeps_and_lists_foreign_objects(way: str, warehouse: Path) -> None:
    write(
        warehouse,
        "create table notes as select 42 as answer",
        "create view itp.mine as select 1 as a",
        "create schema s",
        "create macro s.double(x) as 2 * x",
        "create sequence s.next",
    )
    [note] = EVERY_WAY[way](warehouse)
    assert "a user wrote itp.mine, main.notes, s.double, s.next into the database" in note
    [copy] = kept(warehouse)
    assert str(copy) in note
    assert str(warehouse / "local") in note
    with duckdb.connect(str(copy), read_only=True) as connection:
        assert connection.execute("from notes").fetchall() == [(42,)]
    with duckdb.connect(str(warehouse / database.NAME), read_only=True) as connection:
        assert connection.execute(
            "select count(*) from duckdb_tables() where table_name = 'notes'"
        ).fetchall() == [(0,)]
    assert EVERY_WAY["build"](warehouse) == []


def test_keeps_database_with_changed_rows(warehouse: Path) -> None:
    write(warehouse, "update catalog.traces set title = 'mine' where trace = 'itp'")
    [note] = ingest(warehouse)
    assert "a user wrote into the database" in note
    assert len(kept(warehouse)) == 1


def test_keeps_log_of_killed_writer(warehouse: Path) -> None:
    kill = f"""
import os, duckdb
connection = duckdb.connect({str(warehouse / database.NAME)!r})
connection.execute("create table notes as select 42 as answer")
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", kill], check=False)
    assert (warehouse / f"{database.NAME}.wal").exists()
    [note] = ingest(warehouse)
    assert "a user wrote main.notes into the database" in note
    assert not (warehouse / f"{database.NAME}.wal").exists()
    [copy] = kept(warehouse)
    with duckdb.connect(str(copy)) as connection:
        assert connection.execute("from notes").fetchall() == [(42,)]


def test_ignores_opening_without_writing(warehouse: Path) -> None:
    write(warehouse, "from openb.node", "create temp table t as select 1", "checkpoint")
    assert ingest(warehouse) == []
    assert kept(warehouse) == []


def test_copied_warehouse_counts_as_unmodified(warehouse: Path) -> None:
    os.utime(warehouse / database.NAME, (1, 1))
    assert ingest(warehouse) == []
    assert kept(warehouse) == []


def test_compares_names_if_the_mark_is_missing(warehouse: Path) -> None:
    layout.database_mark(warehouse).unlink()
    assert ingest(warehouse) == []
    layout.database_mark(warehouse).unlink()
    write(warehouse, "create table notes as select 42 as answer")
    [note] = ingest(warehouse)
    assert "a user wrote main.notes into the database" in note


def test_reports_process_that_has_database_open_for_writing(warehouse: Path) -> None:
    hold = f"""
import duckdb
connection = duckdb.connect({str(warehouse / database.NAME)!r})
print("held", flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        before = (warehouse / database.NAME).read_bytes()
        for way in EVERY_WAY.values():
            with pytest.raises(UserError, match=rf"\(PID {holder.pid}\) has the database open for writing"):
                way(warehouse)
        assert (warehouse / database.NAME).read_bytes() == before
        holder.stdin.write("\n")
    assert ingest(warehouse) == []

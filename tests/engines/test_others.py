"""What somebody else wrote into the database is kept when a new one takes its place, and told."""

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
    """A warehouse whose next databases are copies of its first, as to build one takes seconds."""

    def copied(path: Path, *_: object) -> list:
        shutil.copy(made / "warehouse" / database.NAME, path)
        return []

    monkeypatch.setattr(database, "build_file", copied)
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
def test_what_was_written_is_kept_and_named(way: str, warehouse: Path) -> None:
    write(
        warehouse,
        "create table notes as select 42 as answer",
        "create view itp.mine as select 1 as a",
        "create schema s",
        "create macro s.double(x) as 2 * x",
        "create sequence s.next",
    )
    [note] = EVERY_WAY[way](warehouse)
    assert "somebody wrote itp.mine, main.notes, s.double, s.next into the database" in note
    [aside] = kept(warehouse)
    assert str(aside) in note
    assert str(warehouse / "local") in note
    with duckdb.connect(str(aside), read_only=True) as connection:
        assert connection.execute("from notes").fetchall() == [(42,)]
    with duckdb.connect(str(warehouse / database.NAME), read_only=True) as connection:
        assert connection.execute(
            "select count(*) from duckdb_tables() where table_name = 'notes'"
        ).fetchall() == [(0,)]
    assert EVERY_WAY["build"](warehouse) == []


def test_rows_that_were_changed_and_nothing_created_are_kept_too(warehouse: Path) -> None:
    write(warehouse, "update catalog.traces set title = 'mine' where trace = 'itp'")
    [note] = ingest(warehouse)
    assert "somebody wrote into the database" in note
    assert len(kept(warehouse)) == 1


def test_what_a_killed_writer_left_in_the_log_is_kept(warehouse: Path) -> None:
    kill = f"""
import os, duckdb
connection = duckdb.connect({str(warehouse / database.NAME)!r})
connection.execute("create table notes as select 42 as answer")
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", kill], check=False)
    assert (warehouse / f"{database.NAME}.wal").exists()
    [note] = ingest(warehouse)
    assert "somebody wrote main.notes into the database" in note
    assert not (warehouse / f"{database.NAME}.wal").exists()
    [aside] = kept(warehouse)
    with duckdb.connect(str(aside)) as connection:
        assert connection.execute("from notes").fetchall() == [(42,)]


def test_opening_for_writing_without_writing_is_nothing(warehouse: Path) -> None:
    write(warehouse, "from openb.node", "create temp table t as select 1", "checkpoint")
    assert ingest(warehouse) == []
    assert kept(warehouse) == []


def test_a_copied_warehouse_was_not_written_to(warehouse: Path) -> None:
    os.utime(warehouse / database.NAME, (1, 1))
    assert ingest(warehouse) == []
    assert kept(warehouse) == []


def test_where_it_is_not_known_what_was_built_names_tell(warehouse: Path) -> None:
    layout.database_mark(warehouse).unlink()
    assert ingest(warehouse) == []
    layout.database_mark(warehouse).unlink()
    write(warehouse, "create table notes as select 42 as answer")
    [note] = ingest(warehouse)
    assert "somebody wrote main.notes into the database" in note


def test_a_process_that_holds_it_for_writing_is_named_and_loses_nothing(warehouse: Path) -> None:
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

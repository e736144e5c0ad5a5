"""The database file: what an ingest makes of the one that was there."""

from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.pipeline import IngestResult

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n"
KINDS = """
    select distinct table_type from information_schema.tables
    where table_schema = 'openb' and table_name in ('node', 'pod')
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES)
    ingest(tmp_path / "warehouse")
    return tmp_path / "warehouse"


def ingest(warehouse: Path) -> IngestResult:
    return database.ingest([warehouse.parent / "raw"], warehouse, [], lambda *_: None)


def asked(warehouse: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(warehouse / database.NAME), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(("materialize", "kind"), [(False, "VIEW"), (True, "BASE TABLE")])
def test_an_ingest_leaves_the_kind_of_database_as_it_was(
    materialize: bool, kind: str, warehouse: Path
) -> None:
    database.build(warehouse, materialize)
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a") as file:
        file.write("b,1000,1024,2,T4\n")
    for _ in range(2):
        assert ingest(warehouse).notes == ()
        assert asked(warehouse, KINDS) == [(kind,)]
        assert asked(warehouse, "select sum(gpu) from openb.node") == [(3,)]


def test_a_build_says_anew_what_kind_it_is(warehouse: Path) -> None:
    database.build(warehouse, materialize=True)
    database.build(warehouse)
    assert asked(warehouse, KINDS) == [("VIEW",)]


def test_a_database_that_cannot_be_opened_is_built_anew_and_that_is_said(warehouse: Path) -> None:
    (warehouse / database.NAME).write_bytes(b"no database" * 1000)
    (note,) = ingest(warehouse).notes
    assert note.startswith(f"{warehouse / database.NAME}: the database cannot be opened (")
    assert "traces build --materialize" in note
    assert asked(warehouse, "select sum(gpu) from openb.node") == [(1,)]

"""The database file: when an ingest keeps or rebuilds it, and the template that a build copies."""

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import command_line
import duckdb
import pytest
import suites

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.write import build_info, database, template
from tracehouse.engines.names import DATABASE
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import layout, records

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n"
KINDS = """
    select distinct table_type from information_schema.tables
    where table_schema = 'openb' and table_name in ('node', 'pod')
"""
GPUS = "select sum(gpu) from openb.node"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with raw files and their warehouse. It takes seconds to build, so tests use copies."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES, encoding="utf-8")
    ingest(folder / "warehouse")
    return folder


@pytest.fixture
def warehouse(built: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse, recorded for its new path, so that the database counts as current."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    warehouse = tmp_path / "warehouse"
    info = build_info.read(warehouse)
    assert info.input_hash != hash_inputs(warehouse), "the hash ignores the path"
    build_info.write(warehouse, replace(info, input_hash=hash_inputs(warehouse)), warehouse / DATABASE)
    return warehouse


def hash_inputs(warehouse: Path) -> str:
    return build_info.hash_inputs(records.read_conversions(warehouse), warehouse)


def ingest(warehouse: Path) -> IngestResult:
    return database.ingest([warehouse.parent / "raw"], warehouse, [], lambda *_: None)


def query_rows(warehouse: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(warehouse / DATABASE), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def add_node(warehouse: Path, name: str = "b") -> None:
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a", encoding="utf-8") as file:
        file.write(f"{name},1000,1024,2,T4\n")


@suites.of("long")
def test_ingest_keeps_kind_of_database(warehouse: Path) -> None:
    for embed_tables, kind, gpus in ((False, "VIEW", 3), (True, "BASE TABLE", 5), (False, "VIEW", 7)):
        database.build(warehouse, embed_tables)
        add_node(warehouse, f"of_{gpus}")
        for _ in range(2):
            assert not ingest(warehouse).problems
            assert query_rows(warehouse, KINDS) == [(kind,)]
            assert query_rows(warehouse, GPUS) == [(gpus,)]


def test_ingest_without_changes_keeps_database(warehouse: Path) -> None:
    for embed_tables in (False, True):
        if embed_tables:
            database.build(warehouse, embed_tables)
        before = (warehouse / DATABASE).stat()
        assert len(ingest(warehouse).unchanged) == 1
        database.vacuum(warehouse, 0, 0)
        after = (warehouse / DATABASE).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def delete_database(warehouse: Path) -> None:
    (warehouse / DATABASE).unlink()


def flip_bit(warehouse: Path) -> None:
    content = bytearray((warehouse / DATABASE).read_bytes())
    content[len(content) // 2] ^= 1
    (warehouse / DATABASE).write_bytes(content)


def replace_with_text(warehouse: Path) -> None:
    (warehouse / DATABASE).write_bytes(b"no database" * 1000)


def leave_changes_in_a_log(warehouse: Path) -> None:
    """Another program changed the database and was killed."""
    with duckdb.connect(str(warehouse / DATABASE)) as connection:
        connection.execute("pragma disable_checkpoint_on_shutdown")
        connection.execute("drop view openb.node; create table openb.node as select 9 as gpu")
    assert build_info.log_of(warehouse / DATABASE).exists()


def delete_record(warehouse: Path) -> None:
    layout.build_info_file(warehouse).unlink()


def damage_record(warehouse: Path) -> None:
    layout.build_info_file(warehouse).write_text("[]", encoding="utf-8")


@suites.of("long")
def test_rebuilds_a_modified_database(warehouse: Path) -> None:
    for damage in (
        delete_database,
        flip_bit,
        replace_with_text,
        leave_changes_in_a_log,
        delete_record,
        damage_record,
    ):
        assert build_info.is_unmodified(warehouse)
        damage(warehouse)
        assert not build_info.is_unmodified(warehouse), damage
        assert len(ingest(warehouse).unchanged) == 1
        assert query_rows(warehouse, GPUS) == [(1,)], damage
        assert query_rows(warehouse, KINDS) == [("VIEW",)], damage


def test_database_of_other_inputs_is_not_current(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Disable the cache of the hash: normally, definitions do not change while a process runs.
    monkeypatch.setattr(build_info, "hash_definitions", build_info.hash_definitions.__wrapped__)
    hashes = [hash_inputs(warehouse)]
    (warehouse.parent / "x.sql").write_text("select 1", encoding="utf-8")
    definitions = [*build_info.list_definitions(), warehouse.parent / "x.sql"]
    with monkeypatch.context() as patched:
        patched.setattr(build_info, "list_definitions", lambda: definitions)
        hashes.append(hash_inputs(warehouse))
    with monkeypatch.context() as patched:
        patched.setattr(duckdb, "__version__", "9.9.9")
        hashes.append(hash_inputs(warehouse))
    hashes.append(build_info.hash_inputs([], warehouse))
    (warehouse / "local" / "sql" / "mine").mkdir(parents=True)
    (warehouse / "local" / "sql" / "mine" / "x.sql").write_text("select 1", encoding="utf-8")
    hashes.append(hash_inputs(warehouse))
    assert len(set(hashes)) == len(hashes) == 5


def test_hashes_all_definitions() -> None:
    package = Path(build_info.__file__).parents[3]
    found = {path.relative_to(package).as_posix() for path in build_info.list_definitions()}
    assert {"views/versions.lock", "views/itp/job.v1.sql", "sql/itp/gpu_hours.sql"} <= found
    assert {"ingest/traces/itp.py", "definitions/caveats.py", "views/itp/published.csv"} <= found
    assert "engines/duckdb/write/catalog.py" in found
    texts = [([], []), ([], ["a"]), ([], ["a", "b"]), ([], ["ab"]), ([Path(__file__)], [])]
    assert len({build_info.fingerprint(*one) for one in texts}) == len(texts)


def test_full_disk_at_publishing_gets_advice(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(records, "publish", fail)
    with pytest.raises(UserError, match=r"No space left on device.*Free disk space"):
        ingest(warehouse)


def test_folder_in_place_of_the_database_gets_advice(warehouse: Path) -> None:
    (warehouse / DATABASE).unlink()
    (warehouse / DATABASE).mkdir()
    with pytest.raises(UserError, match=r"traces.duckdb: cannot write .*move it away"):
        database.build(warehouse)


def test_other_file_in_place_of_the_database_gets_advice(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    path.write_bytes(b"SQLite format 3\0" + bytes(4080))
    with pytest.raises(UserError, match=r"not a valid DuckDB database.*`traces build` writes a new one"):
        sandbox.connect(tmp_path)
    path.unlink()
    duckdb.connect(str(path)).close()
    with pytest.raises(UserError, match=r"\"warehouse.catalog\".*`traces build` writes a new one"):
        sandbox.connect(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="no such database"):
        sandbox.connect(tmp_path)


def interrupt_between_manifest_and_database(monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(build_info, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()


def test_rebuilds_after_kill_between_manifest_and_database(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_node(warehouse)
    interrupt_between_manifest_and_database(monkeypatch, lambda: ingest(warehouse))
    assert query_rows(warehouse, GPUS) == [(1,)]
    assert len(ingest(warehouse).unchanged) == 1
    assert query_rows(warehouse, GPUS) == [(3,)]


def test_forget_after_such_a_kill_finishes_it(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget() -> None:
        database.forget(warehouse, ["openb_node_list_gpu_node.csv"])

    interrupt_between_manifest_and_database(monkeypatch, forget)
    assert query_rows(warehouse, GPUS) == [(1,)]
    with pytest.raises(UsageError, match="no raw file in the warehouse is called"):
        forget()
    assert query_rows(warehouse, GPUS) == [(None,)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of templates, whose definitions are a letter and whose databases contain it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(template, "create", lambda path: path.write_text(path.stem[0], encoding="utf-8"))
    monkeypatch.setattr(template, "hash_definitions", lambda: "a" * 64)
    template._temporary_folder.cache_clear()
    return tmp_path / "cache" / "tracehouse"


def test_a_damaged_template_is_not_used(cache: Path) -> None:
    assert template.template().read_text(encoding="utf-8") == "a"
    [kept] = cache.iterdir()
    assert template.template() == kept
    kept.write_text("x", encoding="utf-8")
    assert template.template().read_text(encoding="utf-8") == "a"


def test_a_template_that_cannot_be_read_is_not_used(cache: Path) -> None:
    template.template()
    [kept] = cache.iterdir()
    for make in (lambda path: path.symlink_to(path), os.mkfifo, Path.mkdir):
        kept.unlink()
        make(kept)
        assert template.template().read_text(encoding="utf-8") == "a"


@suites.of("long")
@pytest.mark.parametrize("locked", ["file", "tracehouse", "cache"])
def test_a_build_needs_no_permission_for_the_cache(warehouse: Path, tmp_path: Path, locked: str) -> None:
    kept = tmp_path / "cache" / "tracehouse" / f"{build_info.hash_definitions()[:32]}-{'0' * 32}.duckdb"
    kept.parent.mkdir(parents=True)
    kept.touch()
    place = {"file": kept, "tracehouse": kept.parent, "cache": kept.parent.parent}[locked]
    place.chmod(0)
    run = command_line.server().run(
        *("build", "--warehouse", warehouse),
        unprivileged=True,
        environment={"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    place.chmod(0o700)
    assert run.faults(codes=[0]) == []


def test_other_definitions_have_another_template(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for letter in "abcdefghij":
        monkeypatch.setattr(template, "hash_definitions", lambda letter=letter: letter * 64)
        assert template.template().read_text(encoding="utf-8") == letter
    assert len([*cache.iterdir()]) == template._MOST_TEMPLATES


def test_an_unfinished_template_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> None:
        path.write_text("unfinished", encoding="utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(template, "create", interrupt)
        with pytest.raises(KeyboardInterrupt):
            template.template()
    assert template.template().read_text(encoding="utf-8") == "a" and cache.is_dir()


def test_a_template_needs_no_cache_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (os.devnull, "~unknown-user/cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        assert template.template().read_text(encoding="utf-8") == "a"
        # A process creates one template only.
        monkeypatch.setattr(template, "create", None)

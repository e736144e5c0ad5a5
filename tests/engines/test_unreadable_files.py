"""Errors about files of a warehouse that are missing, damaged, or of another user."""

from collections.abc import Callable
from pathlib import Path

import command_line
import duckdb
import pytest
from command_line import Run
from few_files import quiet
from non_empty import non_empty

from tracehouse.core.permissions import explain_denied
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.write import database

NODE_FILE = "parquet/openb/node/**/*.parquet"
NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"node-{n},{n},1024,1,T4\n" for n in range(1000))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unreadable")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES, encoding="utf-8")
    assert not database.ingest([folder / "raw"], folder / "warehouse", [], quiet).problems
    return folder / "warehouse"


def traces(line: str, warehouse: Path) -> Run:
    """Run a command with the permissions of a user, also if root runs the tests."""
    words = [word.replace("RAW", str(warehouse.parent / "raw")) for word in line.split()]
    return command_line.server().run(*words, "--warehouse", warehouse, unprivileged=True)


def remove(path: Path) -> None:
    path.unlink()


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def zero_rows(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:1000] = bytes(900)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(remove, "the file is missing"), (make_folder, "the file is missing"), (cut, ""), (zero_rows, "")],
)
def test_damaged_file_leads_to_the_check(warehouse: Path, damage: Callable[[Path], None], said: str) -> None:
    [path] = warehouse.glob(NODE_FILE)
    content = path.read_bytes()
    damage(path)
    for line in ("query openb.node", "query openb.node --limit 1", "query openb.node --output /dev/null"):
        run = traces(line, warehouse)
        [error] = run.errors
        assert said in error and "`traces check --files` lists missing and damaged files" in error, line
    assert "damaged: " in traces("check --files", warehouse).stdout
    if path.is_dir():
        path.rmdir()
    path.write_bytes(content)


# A file or folder, and the commands that must read it.
READERS = {
    "traces.duckdb": ["query openb.node", "list"],
    "datapackage.json": ["build", "check --files", "ingest --raw RAW", "forget x", "vacuum"],
    "records": ["build", "check --files", "ingest --raw RAW"],
    "records/*.json": ["build", "check --files", "ingest --raw RAW"],
    "parquet": ["query openb.node", "build", "ingest --raw RAW"],
    NODE_FILE: ["query openb.node", "build --copy-tables"],
    ".ingest": ["build", "ingest --raw RAW", "forget x"],
}


@pytest.mark.parametrize("place", READERS)
def test_error_names_the_missing_permission(warehouse: Path, place: str) -> None:
    [path] = warehouse.glob(place)
    before = path.stat().st_mode
    path.chmod(0)
    try:
        runs = {line: traces(line, warehouse) for line in READERS[place]}
    finally:
        path.chmod(before)
    for line, run in non_empty(runs.items()):
        assert run.code == 1, line
        [error] = run.errors
        assert f"{path}: you may not " in error and "Grant yourself read " in error, line
        assert not {"damaged", "backup", "write"} & set(error.split()), line


def test_unreadable_file_is_not_called_damaged(warehouse: Path) -> None:
    [path] = warehouse.glob(NODE_FILE)
    path.chmod(0)
    run = traces("check --files", warehouse)
    path.chmod(0o644)
    assert run.code == 1 and f"unreadable: {path}: " in run.stdout
    assert "1 of 1 files are unreadable" in run.stderr and "damaged" not in run.stdout + run.stderr


def test_query_needs_no_permission_for_the_work_folder(warehouse: Path) -> None:
    folder = warehouse / ".ingest"
    folder.chmod(0)
    lines = ("query openb.node --limit 1", "query openb.capacity_by_model", "list")
    runs = [traces(line, warehouse) for line in lines]
    folder.chmod(0o700)
    assert [run.faults(codes=[0]) for run in runs] == [[], [], []]


def test_other_errors_stay_as_they_are(warehouse: Path) -> None:
    path = warehouse / "parquet" / "x.parquet"
    for error in (
        duckdb.ConversionException(f"'{path}'"),
        duckdb.Error("x"),
        duckdb.IOException("/tmp/x.parquet"),
    ):
        assert sandbox._explain_stored_file(error, warehouse) == ""
    assert explain_denied(warehouse) == "" == explain_denied(path)


def test_damaged_header_of_a_page_leads_to_the_check(warehouse: Path) -> None:
    explained = sandbox._explain_stored_file(duckdb.Error("TProtocolException: Invalid data"), warehouse)
    assert explained.startswith("TProtocolException: Invalid data. `traces check --files`")

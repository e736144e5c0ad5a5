"""Tests of warehouses in folders with unusual names."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from few_files import quiet

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.write import database

NODE = "sn,cpu_milli,memory_mib,gpu,model\nn1,1,2,0,\n"
METRIC = "Time,172.31.0.1-0\n2023-07-01 00:00:00+08:00,7\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    (folder / "kalos").mkdir(parents=True)
    (folder / "openb_node_list_all_node.csv").write_text(NODE, encoding="utf-8")
    (folder / "kalos" / "GPU_UTIL.csv").write_text(METRIC, encoding="utf-8")
    return folder


REFUSED = {"v[1]": "[", "a*b": "*", "q?x": "?", "b\\c": "\\"}


def test_rejects_names_that_are_patterns_or_not_printable(
    raw: Path, tmp_path: Path, run: Callable, traces: Path
) -> None:
    commands = (["ingest", "--raw", raw], ["build"], ["sql", "select 1"], ["list"], ["shell"], ["vacuum"])
    for name, letter in REFUSED.items():
        (tmp_path / name).mkdir()
        for command in commands:
            done = run([traces, *command, "--warehouse", tmp_path / name], check=False)
            assert (done.returncode, done.stderr) == (
                1,
                f"error: {tmp_path / name}: the path of a warehouse must not contain {letter}, "
                "which DuckDB reads as a pattern. Choose another with --warehouse\n",
            )
        assert list((tmp_path / name).iterdir()) == []
    for raw_name in (b"not \xff utf-8", b"two\nlines", b"esc\x1b[2J"):
        with pytest.raises(UserError, match="path of a warehouse must be printable UTF-8 text") as raised:
            database.ingest([raw], tmp_path / os.fsdecode(raw_name), [], quiet)
        assert str(raised.value).isprintable() and str(raised.value).encode()


def test_rejects_file_as_warehouse(raw: Path, tmp_path: Path, run: Callable, traces: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.ingest").write_text("mine", encoding="utf-8")
    for name, message in (
        ("file", "file: this is a file. Name the warehouse's folder"),
        ("file/below", "file: this is a file, but a folder is needed here. Move it away"),
        ("work", ".ingest: this is a file, but a folder is needed here. Move it away"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            database.ingest([raw], tmp_path / name, [], quiet)
    done = run([traces, "list", "--warehouse", tmp_path / "file"], check=False)
    assert done.stderr.startswith(f"error: {tmp_path / 'file'}: this is a file. ")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_reader_without_write_permission_gets_answers(
    raw: Path, tmp_path: Path, run: Callable, traces: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    assert not database.ingest([raw], warehouse, [], quiet).problems
    folders = [warehouse, *(path for path in warehouse.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    # Root may write everywhere, unless setpriv removes this privilege.
    as_reader = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    asked = run([*as_reader, traces, "sql", "select sn from openb.node", "-w", warehouse])
    assert asked.stdout == "sn\nn1\n"
    assert run([*as_reader, traces, "check", "--files", "-w", warehouse]).stdout.startswith("2 files, ")
    for command in (["ingest", "--raw", raw], ["build"], ["vacuum"], ["forget", "*"]):
        done = run([*as_reader, traces, *command, "-w", warehouse], check=False)
        assert done.returncode == 1
        assert done.stderr == (
            f"error: {warehouse}: cannot write to the warehouse. "
            "Grant yourself write permission, or name another warehouse with --warehouse; "
            "queries need only read permission\n"
        )
    for folder in folders:
        folder.chmod(0o700)

"""Tests of the pager for output longer than the terminal."""

import signal
import sys
from pathlib import Path

import pytest
from non_empty import non_empty
from terminal import end, plain, terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the terminal is made as Linux has it")

LONG = ("list", "queries")
# The prompt of less.
PROMPT = ":\x1b[K"


def test_long_list_opens_less_until_q(sample_warehouse: Path) -> None:
    with terminal(*LONG, warehouse=sample_warehouse) as opened:
        opened.expect_exact("acme.failure_rate")
        opened.expect_exact(PROMPT)
        assert "zeus." not in plain(opened)
        # The pager handles Ctrl-C; both processes continue.
        opened.sendintr()
        opened.expect_exact("\x07")
        opened.expect_exact(PROMPT)
        opened.send("G")
        opened.expect_exact("columns hidden")
        opened.send("q")
        assert end(opened) == 0
    assert "zeus." in plain(opened) and "Traceback" not in plain(opened) and "error: " not in plain(opened)


def test_pager_may_exit_early(sample_warehouse: Path, tmp_path: Path) -> None:
    statement = "select range as n, repeat('x', 60) as text from range(100000)"
    settings = {"TRACES_PAGER": "head -n 2", "TMPDIR": tmp_path}
    with terminal("sql", statement, "--format", "csv", warehouse=sample_warehouse, **settings) as opened:
        assert end(opened) == 0
    assert plain(opened) == f"n,text\n0,{'x' * 60}\n" and list(tmp_path.iterdir()) == []


def test_signal_ends_both_processes(sample_warehouse: Path) -> None:
    with terminal("describe", "pai.task_wait", "--full", warehouse=sample_warehouse) as opened:
        opened.expect_exact(PROMPT)
        opened.kill(signal.SIGTERM)
        # The terminal closes only when no process has it open.
        assert end(opened) == 128 + signal.SIGTERM


def test_prints_directly_without_pager(sample_warehouse: Path) -> None:
    settings: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
        ((*LONG, "--no-pager"), {}),
        (LONG, {"TRACES_PAGER": "cat", "PAGER": "false"}),
        (LONG, {"PAGER": "no-such-pager --at-all"}),
        (LONG, {"TERM": "dumb"}),
        (("list", "traces"), {"PAGER": "echo paged #"}),
    )
    for arguments, environment in non_empty(settings):
        with terminal(*arguments, warehouse=sample_warehouse, **environment) as opened:
            assert end(opened) == 0
        assert "acme" in plain(opened) and "zeus" in plain(opened) and "paged" not in plain(opened), (
            environment
        )


def test_pager_gets_colours_but_no_escapes_from_data(sample_warehouse: Path) -> None:
    statement = "select chr(27) || '[2J' as a, nullif(range, 1) as b from range(100)"
    for form in ("table", "csv"):
        arguments = ("sql", statement, "--format", form)
        with terminal(*arguments, warehouse=sample_warehouse, TRACES_PAGER="cat -v") as opened:
            assert end(opened) == 0
        assert "\\x1b[2J" in plain(opened) and "^[[2J" not in plain(opened)
        assert ("^[[2mNULL" in plain(opened)) == (form == "table")

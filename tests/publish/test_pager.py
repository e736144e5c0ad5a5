"""What is longer than the terminal is shown in a pager, which may be left at any time."""

import os
import signal
import sys
from pathlib import Path

import pytest
from command_line import by_itself
from terminal import end, plain, terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the terminal is made as Linux has it")

LONG = ("list", "queries")
# That of less, up to the end of its line.
PROMPT = ":\x1b[K"


def test_a_long_list_is_read_in_less_and_left_with_q(sample_warehouse: Path) -> None:
    with terminal(*LONG, warehouse=sample_warehouse) as opened:
        opened.expect_exact("acme.failure_rate")
        opened.expect_exact(PROMPT)
        assert "zeus." not in plain(opened)
        # Ctrl-C is for the pager: it goes on, and so does what started it.
        opened.sendintr()
        opened.expect_exact("\x07")
        opened.expect_exact(PROMPT)
        opened.send("G")
        opened.expect_exact("columns left out")
        opened.send("q")
        assert end(opened) == 0
    assert "zeus." in plain(opened) and "Traceback" not in plain(opened) and "error: " not in plain(opened)


def test_a_description_is_paged_too(sample_warehouse: Path) -> None:
    with terminal("describe", "pai.task_wait", warehouse=sample_warehouse) as opened:
        opened.expect_exact(PROMPT)
        opened.send("q")
        assert end(opened) == 0
    assert "create or replace view" not in plain(opened)


def test_a_pager_that_reads_little_is_no_error(sample_warehouse: Path) -> None:
    statement = "select range as n, repeat('x', 60) as text from range(100000)"
    arguments = ("sql", statement, "--format", "csv")
    with terminal(*arguments, warehouse=sample_warehouse, TRACES_PAGER="head -n 2") as opened:
        assert end(opened) == 0
    assert plain(opened) == f"n,text\n0,{'x' * 60}\n"


def test_a_pager_that_ctrl_c_ends_leaves_nothing_behind(sample_warehouse: Path, tmp_path: Path) -> None:
    # One program, which shows all that there is and then waits: a shell between two would lose Ctrl-C now
    # and then.
    with terminal(*LONG, warehouse=sample_warehouse, PAGER="cat - /dev/tty", TMPDIR=tmp_path) as opened:
        opened.expect_exact("zeus.")
        opened.sendintr()
        assert end(opened) == 0
    assert "Traceback" not in plain(opened) and list(tmp_path.iterdir()) == []


def test_a_signal_ends_both(sample_warehouse: Path) -> None:
    with terminal(*LONG, warehouse=sample_warehouse) as opened:
        opened.expect_exact(PROMPT)
        opened.kill(signal.SIGTERM)
        # Read to its end, the terminal is held by nobody.
        assert end(opened) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("--no-pager", *LONG), {}),
        ((*LONG, "--no-pager"), {}),
        (LONG, {"TRACES_PAGER": ""}),
        (LONG, {"TRACES_PAGER": "cat", "PAGER": "false"}),
        (LONG, {"PAGER": "no-such-pager --at-all"}),
        (LONG, {"TERM": "dumb"}),
        (("list", "traces"), {"PAGER": "echo paged #"}),
    ],
    ids=["before", "behind", "empty", "cat", "not there", "dumb", "short"],
)
def test_without_a_pager_all_is_shown_at_once(
    arguments: tuple[str, ...], environment: dict[str, str], sample_warehouse: Path
) -> None:
    with terminal(*arguments, warehouse=sample_warehouse, **environment) as opened:
        assert end(opened) == 0
    assert "acme" in plain(opened) and "zeus" in plain(opened) and "paged" not in plain(opened)


def test_colours_reach_the_pager_and_escapes_in_data_do_not(sample_warehouse: Path) -> None:
    statement = "select chr(27) || '[2J' as a, null as b from range(100)"
    for form in ("table", "csv"):
        arguments = ("sql", statement, "--format", form)
        with terminal(*arguments, warehouse=sample_warehouse, TRACES_PAGER="cat -v") as opened:
            assert end(opened) == 0
        assert "\\x1b[2J" in plain(opened) and "^[[2J" not in plain(opened)
        assert ("^[[2mNULL" in plain(opened)) == (form == "table")


def test_what_is_no_terminal_gets_no_pager(sample_warehouse: Path) -> None:
    environment = os.environ | {"PAGER": "false", "TERM": "xterm", "TRACES_WAREHOUSE": str(sample_warehouse)}
    run = by_itself(*LONG, "--format", "table", env=environment)
    assert run.code == 0 and "zeus." in run.stdout

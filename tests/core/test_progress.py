"""The progress display redraws without further reports, and restores the terminal when it ends."""

import sys

import pytest
from terminal import end, plain, screen, terminal

SCRIPT = """
from tracehouse.core.progress import byte_bars
with byte_bars() as progress:
    progress("raw folders", 0, 0)
    input()
    progress("itp.raw_job", 5, 10)
    input()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the test opens a terminal of Linux")
def test_shows_long_step_that_reports_no_progress() -> None:
    with terminal(sys.executable, "-c", SCRIPT) as opened:
        opened.expect_exact("raw folders")
        opened.send("\n")
        opened.expect_exact("itp.raw_job")
        # A step without a size ends when another one begins.
        later = screen(opened).rpartition("itp.raw_job")[2]
        opened.send("\n")
        assert end(opened) == 0
    assert "raw folders" not in later and "done" in plain(opened)
    assert screen(opened).rfind("\x1b[?25h") > screen(opened).rfind("\x1b[?25l"), "the cursor is shown again"


STEPS = """
import pickle
from tracehouse.core.progress import step_line
with step_line("first") as step:
    input()
    pickle.loads(pickle.dumps(step))("second" + "!" * 100)
    input()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the test opens a terminal of Linux")
def test_steps_replace_one_line_and_leave_none() -> None:
    with terminal(sys.executable, "-c", STEPS) as opened:
        opened.expect_exact("first")
        opened.send("\n")
        opened.expect_exact("second")
        opened.send("\n")
        assert end(opened) == 0
    last = screen(opened).rpartition("second")[2].splitlines()
    # The long text fits the line, which is cleared before the output.
    assert last[0].rstrip("\r\n") == "!" * 73 and "\x1b[Kdone" in screen(opened)

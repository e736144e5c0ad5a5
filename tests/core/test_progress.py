"""Progress shows by itself, whether or not more of it is told, and leaves the terminal as it was."""

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


@pytest.mark.skipif(sys.platform != "linux", reason="the terminal is made as Linux has it")
def test_it_shows_what_takes_long_while_nothing_more_is_told() -> None:
    with terminal(sys.executable, "-c", SCRIPT) as opened:
        opened.expect_exact("raw folders")
        opened.send("\n")
        opened.expect_exact("itp.raw_job")
        # What has no size is over when something else begins.
        later = screen(opened).rpartition("itp.raw_job")[2]
        opened.send("\n")
        assert end(opened) == 0
    assert "raw folders" not in later and "done" in plain(opened)
    assert screen(opened).rfind("\x1b[?25h") > screen(opened).rfind("\x1b[?25l"), "the cursor is back"

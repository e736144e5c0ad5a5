"""Progress shows by itself, whether or not more of it is told, and leaves the terminal as it was."""

import sys

import pytest
from terminal import terminal

SCRIPT = """
from tracehouse.ingest.progress import byte_bars
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
        opened.until("raw folders")
        opened.type("\n")
        opened.until("itp.raw_job")
        # What has no size is over when something else begins.
        later = opened.shown.rpartition("itp.raw_job")[2]
        opened.type("\n")
        assert opened.end() == 0
    assert "raw folders" not in later and "done" in opened.text
    assert opened.shown.rfind("\x1b[?25h") > opened.shown.rfind("\x1b[?25l"), "the cursor is back"

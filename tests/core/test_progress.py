"""The progress display redraws without further reports, and restores the terminal when it ends."""

import sys
from collections import Counter
from typing import Any

import pytest
from rich.progress import Progress
from terminal import end, plain, screen, terminal

from tracehouse.core.progress import byte_bars

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


def test_thousands_of_labels_cost_a_bar_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report changes the bars that are shown, not all earlier ones."""
    changes: Counter[str] = Counter()
    for name in ("add_task", "update", "remove_task"):
        change = getattr(Progress, name)

        def count(*arguments: Any, name: str = name, change: Any = change, **options: Any) -> Any:
            changes[name] += 1
            return change(*arguments, **options)

        monkeypatch.setattr(Progress, name, count)
    with byte_bars() as progress:
        for number in range(100):
            progress("finding", 0, 0)
            progress(f"table {number}", 1, 2)
            # All bytes, which are then to be read again.
            progress(f"table {number}", 1, 2)
            progress(f"table {number}", -2, 2)
            progress(f"table {number}", 2, 2)
    assert changes["add_task"] == changes["remove_task"] == 300
    assert changes["update"] == 0

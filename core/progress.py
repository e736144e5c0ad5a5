"""Show progress on standard error if it is a terminal: bars in bytes, or one line that says what is done.

A bar per table has its rate and remaining time. Work of unknown size has no numbers.
"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tracehouse.core import signals
from tracehouse.core.text import escape_text

if TYPE_CHECKING:
    from rich.console import RenderableType

Progress = Callable[[str, int, int], None]
"""Called with a label, the bytes processed since the last call, and the total bytes, 0 if unknown.

Several threads call it. A negative number of bytes subtracts bytes that must be read again.
"""


def ignore_progress(label: str, more_bytes: int, total_bytes: int) -> None:
    """Do nothing: the `Progress` of a caller that shows no bars."""


Step = Callable[[str], None]
"""Called with a text that says what is being done now."""

_CLEAR_LINE = "\r\x1b[K"


def ignore_step(text: str) -> None:
    """Do nothing: the `Step` of a caller that shows nothing."""


@dataclass(frozen=True)
class StepLine:
    """A `Step` that shows texts on one line of a terminal, also from a child process without this terminal.

    The child must be allowed to write to `files`, which are empty if there is no terminal.
    """

    files: tuple[Path, ...]

    def __call__(self, text: str) -> None:
        """Replace the line."""
        line = escape_text(text)[: shutil.get_terminal_size().columns - 1]
        for file in self.files:
            # Progress is not worth an error.
            with suppress(OSError), file.open("wb", buffering=0) as terminal:
                terminal.write(f"{_CLEAR_LINE}{line}".encode(errors="replace"))


NO_STEPS = StepLine(())


@contextmanager
def step_line(text: str) -> Iterator[StepLine]:
    """Show a text on a line of the terminal, then other ones, and clear the line when the block ends.

    The block must print nothing else. It starts no thread, so that this process can fork.
    """
    try:
        files = [Path(os.ttyname(sys.stderr.fileno()))]
    except OSError:
        files = []
    step = StepLine(tuple(files))
    with signals.clean_up_at_end(lambda: step("")):
        step(text)
        yield step


@contextmanager
def byte_bars() -> Iterator[Progress]:
    """Yield a function that reports bytes and shows them as bars.

    Any thread may call the function. A bar disappears when all its bytes are processed; a bar of unknown size
    disappears when another one appears.
    """
    from rich import progress
    from rich.console import Console
    from rich.markup import escape

    class IfSized(progress.ProgressColumn):
        """A column that is empty for work of unknown size."""

        def __init__(self, column: progress.ProgressColumn):
            super().__init__()
            self.column = column

        def render(self, task: progress.Task) -> "RenderableType":
            return self.column(task) if task.total is not None else ""

    numbers = progress.DownloadColumn(), progress.TransferSpeedColumn(), progress.TimeRemainingColumn()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *(IfSized(column) for column in numbers),
    )
    bars = progress.Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    # Only the bars that are shown: an ingest may report thousands of tables and partitions.
    sized: dict[str, progress.TaskID] = {}
    unsized: dict[str, progress.TaskID] = {}
    done: Counter[str] = Counter()
    one_at_a_time = Lock()

    def report(label: str, more_bytes: int, total_bytes: int) -> None:
        with one_at_a_time:
            done[label] += more_bytes
            for other in unsized.keys() - {label}:
                bars.remove_task(unsized.pop(other))
            shown = sized if total_bytes else unsized
            if total_bytes and done[label] >= total_bytes:
                if label in shown:
                    bars.remove_task(shown.pop(label))
            elif label in shown:
                bars.update(shown[label], completed=done[label])
            else:
                text = escape(escape_text(label))
                shown[label] = bars.add_task(text, total=total_bytes or None, completed=done[label])

    # Bars hide the cursor; stopping them shows it, also when a signal ends the process.
    with signals.clean_up_at_end(bars.stop):
        bars.start()
        yield report

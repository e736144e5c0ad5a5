"""Show progress bars in bytes, one per table, with rate and remaining time.

No bars are shown if standard error is not a terminal.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from tracehouse.core import signals
from tracehouse.core.text import escape_text

Progress = Callable[[str, int, int], None]
"""Called with a label, the bytes processed since the last call, and the total bytes, 0 if unknown.

Several threads call it. A negative number of bytes subtracts bytes that must be read again.
"""


def ignore_progress(label: str, more_bytes: int, total_bytes: int) -> None:
    """Do nothing: the `Progress` of a caller that shows no bars."""


@contextmanager
def byte_bars() -> Iterator[Progress]:
    """Yield a function that reports bytes and shows them as bars.

    Any thread may call the function. A bar disappears when all its bytes are processed; a bar of unknown size
    disappears when another one appears.
    """
    from rich import progress
    from rich.console import Console
    from rich.markup import escape

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    bars = progress.Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    tasks: dict[str, progress.TaskID] = {}
    one_at_a_time = Lock()

    def report(label: str, more_bytes: int, total_bytes: int) -> None:
        with one_at_a_time:
            if label not in tasks:
                for task in bars.tasks:
                    bars.update(task.id, visible=task.visible and task.total is not None)
                tasks[label] = bars.add_task(escape(escape_text(label)), total=total_bytes or None)
            bars.update(tasks[label], advance=more_bytes)
            reported = bars.tasks[tasks[label]]
            bars.update(tasks[label], visible=not reported.finished)

    # Bars hide the cursor; stopping them shows it, also when a signal ends the process.
    with signals.clean_up_at_end(bars.stop):
        bars.start()
        yield report

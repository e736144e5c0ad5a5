"""Progress bars for work that is counted in bytes: one a table, with rate and remaining time.

Nothing is shown where the output is not a terminal.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from tracehouse.ingest import signals
from tracehouse.ingest.pipeline import Progress
from tracehouse.ingest.terminal import shown

if TYPE_CHECKING:
    from rich.progress import TaskID

SHOW_AFTER_S = 1.0


@contextmanager
def byte_bars() -> Iterator[Progress]:
    """Give a function to report bytes to. Its bars appear once the work has taken over a second.

    The function may be called from any thread; a bar goes away when all its bytes have been read.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import (
        Progress as Bars,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    bars = Bars(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    tasks: dict[str, TaskID] = {}
    one_at_a_time = Lock()
    start_s = time.monotonic()

    def report(label: str, more_bytes: int, total_bytes: int) -> None:
        with one_at_a_time:
            if label not in tasks:
                tasks[label] = bars.add_task(escape(shown(label)), total=total_bytes or None)
            bars.update(tasks[label], advance=more_bytes)
            task = bars.tasks[tasks[label]]
            bars.update(tasks[label], visible=not task.finished)
            if not bars.live.is_started and time.monotonic() - start_s > SHOW_AFTER_S:
                bars.start()

    # Bars hide the cursor.
    with signals.before_the_end(bars.stop):
        yield report

"""A progress bar for work that is counted in bytes: rate and remaining time, nothing when not a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracehouse.ingest.pipeline import Progress

SHOW_AFTER_S = 1.0


@contextmanager
def byte_bar() -> Iterator[Progress]:
    """Give a function to report bytes to. Its bar appears once the work has taken over a second."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    task = bar.add_task("", total=None)
    start_s = time.monotonic()

    def report(label: str, more_bytes: int, total_bytes: int) -> None:
        bar.update(task, description=label, advance=more_bytes, total=total_bytes or None)
        if not bar.live.is_started and time.monotonic() - start_s > SHOW_AFTER_S:
            bar.start()

    try:
        yield report
    finally:
        bar.stop()

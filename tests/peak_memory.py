"""Measure the peak memory of a process and of all processes that it starts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_INTERVAL_S = 0.01


def descendants(process: int) -> list[int]:
    """The ids of a process and of all processes below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # The process may have ended.
        with suppress(OSError):
            parent = path.read_text(encoding="utf-8").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(path.parent.name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found


def has_ended(process: int) -> bool:
    """Whether a process has ended. Its parent may not have waited for it."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def peak_mb(process: int) -> float:
    """The peak of the resident memory of a process until now, in MB; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0


@contextmanager
def watched(process: int) -> Iterator[dict[int, float]]:
    """Yield the peak in MB of each process below a process. It is complete when the block has ended."""
    peaks: dict[int, float] = {}
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_INTERVAL_S):
            for one in descendants(process):
                peaks[one] = max(peaks.get(one, 0), peak_mb(one))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peaks
    finally:
        is_over.set()
        thread.join()

"""End the process at once on a signal, after cleaning up.

Raising an exception would not suffice: the running code may catch it, and a library may wait for its threads
without end. This module imports only the standard library, because it is imported before all others.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

# Some systems lack some of these signals.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE")
_ENDING = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]

_clean_ups: list[Callable[[], None]] = []


def end_at_once() -> None:
    """Install handlers that exit with 128 plus the signal's number on SIGINT, SIGTERM, SIGHUP and SIGPIPE."""
    for number in _ENDING:
        # A program such as nohup starts a process with a signal ignored. The process keeps ignoring it.
        if signal.getsignal(number) is not signal.SIG_IGN or number == getattr(signal, "SIGPIPE", None):
            signal.signal(number, _exit_process)


@contextmanager
def clean_up_at_end(clean_up: Callable[[], None]) -> Iterator[None]:
    """Call `clean_up` when the block ends, and also when a signal ends the process inside it."""
    _clean_ups.append(clean_up)
    try:
        yield
    finally:
        clean_up()
        _clean_ups.remove(clean_up)


@contextmanager
def print_at_end(text: Callable[[], str]) -> Iterator[None]:
    """Print the line that `text` returns to standard error if a signal ends the process inside the block."""

    def write() -> None:
        # Python's own stream may be in the middle of a write.
        with suppress(OSError):
            os.write(2, f"{text()}\n".encode(errors="backslashreplace"))

    _clean_ups.append(write)
    try:
        yield
    finally:
        _clean_ups.remove(write)


@contextmanager
def ignore_signals(*numbers: int) -> Iterator[None]:
    """Ignore signals inside the block, so that they end only the program that the block starts."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        # SIG_IGN would not do: the started program would inherit it.
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_process(number: int, _: FrameType | None) -> None:
    try:
        for clean_up in reversed(_clean_ups):
            clean_up()
    finally:
        os._exit(128 + number)

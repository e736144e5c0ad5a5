"""Ends the process when a signal asks for it: at once, whatever is running, with nothing left behind.

An exception would not do: what runs may swallow it, and a library that waits for its threads need never end.
Imports nothing but the standard library, as it is the first thing that runs.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

# Not all of them are on every system.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE")
_ENDING = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]

_to_do: list[Callable[[], None]] = []


def end_at_once() -> None:
    """From now on, SIGINT, SIGTERM, SIGHUP and SIGPIPE exit at once with 128 plus the signal's number."""
    for number in _ENDING:
        # What was started to ignore a signal, as with nohup, goes on ignoring it.
        if signal.getsignal(number) is not signal.SIG_IGN or number == getattr(signal, "SIGPIPE", None):
            signal.signal(number, _end)


@contextmanager
def before_the_end(clean_up: Callable[[], None]) -> Iterator[None]:
    """Call `clean_up` when the block ends, and also when a signal ends the process inside it."""
    _to_do.append(clean_up)
    try:
        yield
    finally:
        clean_up()
        _to_do.remove(clean_up)


@contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """Print a line on standard error where a signal ends the process inside the block."""

    def say() -> None:
        # Not through Python's stream, which may be in the middle of another line.
        with suppress(OSError):
            os.write(2, f"{words()}\n".encode(errors="backslashreplace"))

    _to_do.append(say)
    try:
        yield
    finally:
        _to_do.remove(say)


@contextmanager
def left_to_another(*numbers: int) -> Iterator[None]:
    """Let signals do nothing here inside the block: they are for a program that was started in it."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        # A function, as a program that is started ignores what is ignored here.
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    try:
        for clean_up in reversed(_to_do):
            clean_up()
    finally:
        os._exit(128 + number)

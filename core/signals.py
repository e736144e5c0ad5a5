"""End the process at once on a signal, after cleaning up.

Raising an exception would not suffice: the running code may catch it, and a library may wait for its threads
without end. This module imports only the standard library, because it is imported before all others.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_actions: list[Callable[[], object]] = []
_last_actions: list[Callable[[], object]] = []


def end_at_once() -> None:
    """Install handlers that exit with 128 plus the signal's number on SIGINT, SIGTERM, SIGHUP and SIGPIPE."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        # A program such as nohup starts a process with a signal ignored. The process keeps ignoring it.
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGPIPE:
            signal.signal(number, _exit_process)


def leave(code: int) -> NoReturn:
    """Flush the standard streams, clean up, and end the process without waiting for other threads.

    The exit code is `code`, or 1 if `code` is 0 and a flush fails.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError as error:
            code = code or 1
            if stream is sys.stdout:
                print(f"error: standard output: {error}", file=sys.stderr)
    for action in _last_actions:
        action()
    os._exit(code)


def clean_up_last(clean_up: Callable[[], None]) -> None:
    """Call `clean_up` when `leave` or a signal ends the process, which skip Python's own clean-up."""
    _last_actions.append(clean_up)


@contextmanager
def clean_up_at_end(clean_up: Callable[[], None]) -> Iterator[None]:
    """Call `clean_up` when the block ends, and also when a signal ends the process inside it."""
    with _at_signal(clean_up):
        try:
            yield
        finally:
            clean_up()


@contextmanager
def print_at_end(text: Callable[[], str]) -> Iterator[None]:
    """Print the line that `text` returns to standard error if a signal ends the process inside the block."""
    # Python's own stream may be in the middle of a write.
    with _at_signal(lambda: os.write(2, f"{text()}\n".encode(errors="backslashreplace"))):
        yield


@contextmanager
def ignore_signals(*numbers: int) -> Iterator[None]:
    """Ignore signals inside the block, so that they end only the program that the block starts."""
    # SIG_IGN would not do: the started program would inherit it.
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _at_signal(action: Callable[[], object]) -> Iterator[None]:
    _actions.append(action)
    try:
        yield
    finally:
        _actions.remove(action)


def _exit_process(number: int, _: FrameType | None) -> None:
    try:
        for action in [*reversed(_actions), *_last_actions]:
            action()
    finally:
        os._exit(128 + number)

"""End a process at a chosen step: a call that changes files."""

import os
import signal
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any

from tracehouse.core import signals, staging

# Functions that change files. `pathlib` and `shutil` call those of `os` too.
STEPS = (
    *((os, name) for name in ("mkdir", "replace", "rename", "link", "fsync", "unlink", "rmdir")),
    (staging, "exchange"),
)


def kill_at_step(number: int, after: bool, by: int = signal.SIGKILL) -> None:
    """Send this process a signal at the `number`th step (from 1), before or after it."""
    # `next` is atomic: two threads never get the same number.
    calls = count(1)

    def with_kill(function: Callable) -> Callable:
        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            mine = next(calls)
            if mine == number and not after:
                os.kill(os.getpid(), by)
            try:
                return function(*arguments, **options)
            finally:
                # Also if the call fails, as `mkdir` does for an existing folder.
                if mine == number:
                    os.kill(os.getpid(), by)

        return counted

    for module, name in STEPS:
        setattr(module, name, with_kill(getattr(module, name)))


def kill_in_child(work: Callable[[], object], step: int, after: bool, by: int = signal.SIGKILL) -> int:
    """Run a function in a child process, which gets a signal at a step.

    Returns its exit code: negative after a signal without a handler, and 0 if it has fewer steps.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            signals.end_at_once()
            kill_at_step(step, after, by)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

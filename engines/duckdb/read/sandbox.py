"""Runs questions to a warehouse where they can do no harm: confined, within limits, and ended by signals.

The work is done in a thread that can write nowhere but to its own scratch folder and to the answer's spool
(see `confine`): a second defence after the check of the statement itself (see `statement`). DuckDB is opened
in that thread, so that the threads that it starts are confined with it. The main thread waits, and is free
for signals.
"""

import fcntl
import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import answer, landlock, schema_mismatch
from tracehouse.engines.duckdb.read.answer import Access

PREFIX = "tracehouse-"
_LOCK = "in use"
# A scratch folder younger than this may not have its lock yet.
_YOUNG_S = 60
# How long an interrupted question may take to stop.
_GRACE_S = 2.0
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?) *(?:(?P<unit>[kmgt])(?P<binary>i?)b|b|bytes)", re.I)

T = TypeVar("T")

# DuckDB takes 10 ms to close a database, and the system none.
_left_open: list[duckdb.DuckDBPyConnection] = []


@dataclass(frozen=True)
class Writable:
    """A file that the work may write to: open, and the path by which this process can open it again."""

    path: str
    descriptor: int


@dataclass(frozen=True)
class Limits:
    """How long a question may take, None for ever, and how much memory, empty for half of the machine's.

    Each thread needs some of it: `most_threads` is how many there may be, None for one for each core.
    """

    timeout_s: float | None = None
    memory: str = ""
    most_threads: int | None = None


def ask(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    confined: bool = True,
    last: bool = False,
) -> T:
    """Do some work on a connection to a warehouse. Raises UserError where it fails.

    Unless `confined`, DuckDB alone keeps it from writing: threads that libraries start meanwhile, and keep
    for later, must not lose the right to write in a process that does other things too. `last` says that the
    process ends when this is done, and need not close what it opened.
    """
    with scratch_folder() as scratch:
        return ask_within(scratch, warehouse, limits, work, confined=confined, last=last)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder to spill to, removed when the block ends or a signal ends the process.

    The next process removes the folder of one that was killed outright.
    """
    parent = Path(tempfile.gettempdir())
    _take_away_what_was_left(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))

    def remove() -> None:
        # Repeatedly, as DuckDB may still be writing there.
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                return
            time.sleep(0.01)

    with signals.before_the_end(remove), _locked(folder / _LOCK):
        yield folder


def _take_away_what_was_left(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        lock = folder / _LOCK
        try:
            facts = folder.stat(follow_symlinks=False)
            if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < _YOUNG_S or not lock.is_file():
                continue
            with _locked(lock):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # It is in use, or another process takes it away at this moment.
            continue


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock that a file is. Raises OSError where another process holds it.

    As the library filelock does, which every question would wait 10 ms for.
    """
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def ask_within(
    scratch: Path,
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Writable] = (),
    confined: bool = True,
    last: bool = False,
) -> T:
    """Do some work on a connection to a warehouse, which can write to the scratch folder and the files given.

    Raises UserError where it fails, or takes longer than it may. `confined` and `last` are as in `ask`.
    """
    access = Access([file.path for file in writable], scratch, limits.memory, limits.most_threads)
    opened: list[duckdb.DuckDBPyConnection] = []

    def worked() -> T:
        if confined:
            landlock.confine_thread([scratch], [file.descriptor for file in writable])
        connection = answer.connect(warehouse, access)
        opened.append(connection)
        if last:
            _left_open.append(connection)
            with schema_mismatch.told(connection, warehouse):
                return work(connection)
        with connection, schema_mismatch.told(connection, warehouse):
            return work(connection)

    def interrupt() -> None:
        for connection in opened:
            connection.interrupt()

    try:
        return in_time(limits, worked, interrupt)
    except _failures() as error:
        raise _told(error, scratch) from None


def in_time(limits: Limits, work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Do some work in another thread, so that this one is free for signals; `stop` it if it takes too long.

    Raises UsageError where a limit is none, and UserError where the work is not done in time.
    """
    _check(limits)
    thread = ThreadPoolExecutor(1, "question")
    future = thread.submit(work)
    thread.shutdown(wait=False)
    try:
        is_done = bool(wait([future], limits.timeout_s).done)
    except KeyboardInterrupt:
        # In a notebook; the command line ends at once.
        stop()
        wait([future], _GRACE_S)
        raise
    if not is_done:
        stop()
        wait([future], _GRACE_S)
        raise UserError(f"no answer within {limits.timeout_s:g} s: ask for less, or raise --timeout")
    return future.result()


def size_bytes(size: str) -> float:
    """A limit that was checked, as 500MB or 4GiB, in bytes."""
    parts = _SIZE.fullmatch(size)
    assert parts is not None, size
    power = " kmgt".index((parts["unit"] or " ").lower())
    return float(parts["number"]) * (1024 if parts["binary"] else 1000) ** power


def _check(limits: Limits) -> None:
    if limits.timeout_s is not None and not 0 < limits.timeout_s < math.inf:
        raise UsageError(f"the timeout is a number of seconds above 0, not {limits.timeout_s:g}")
    if limits.memory and not _SIZE.fullmatch(limits.memory):
        raise UsageError(f"the memory limit is a size, like 500MB or 4GB, not {limits.memory!r}")


def _failures() -> tuple[type[Exception], ...]:
    """What is raised where a question fails: by Arrow too, unless the work did without it."""
    of_arrow = [sys.modules["pyarrow"].ArrowException] if "pyarrow" in sys.modules else []
    return (duckdb.Error, UserError, *of_arrow)


def _told(error: Exception, scratch: Path) -> UserError:
    """An error of a question as the user is told it: with what to do about it, where that is known."""
    text = str(error)
    if "No space left on device" in text or "max_temp_directory_size" in text:
        return UserError(
            f"there is no room left for the answer, or for what does not fit memory in {scratch.parent}. "
            f"Make room, or set TMPDIR to a folder with more ({text.splitlines()[0]})"
        )
    if "Out of Memory Error" in text:
        return UserError(f"{text.splitlines()[0]}. Ask for less, or raise --memory-limit")
    return error if isinstance(error, UserError) else UserError(text)

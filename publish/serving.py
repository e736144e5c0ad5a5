"""Run the queries of a server: some at a time, some in a queue, and no more."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.sandbox import Limits

T = TypeVar("T")
# The largest number of queries at a time: each may take half of the machine's memory.
MOST_CONCURRENT = 2
MOST_WAITING = 20


class BusyError(UserError):
    """The queue is full."""


class Queue:
    """A queue of queries on a warehouse, for tasks of one event loop."""

    def __init__(self, warehouse: Path, limits: Limits):
        self.warehouse = warehouse
        self.limits = limits
        self._slots = asyncio.Semaphore(MOST_CONCURRENT)
        self._waiting = 0

    async def run(
        self,
        work: Callable[[duckdb.DuckDBPyConnection], T],
        writable: Sequence[Path] = (),
        scratch: Path | None = None,
    ) -> T:
        """Run picklable work as soon as a slot is free; see `sandbox.run_async`.

        If the task is cancelled, the work leaves the queue or is killed. Raises BusyError if too much waits.
        """
        async with self._slot():
            return await sandbox.run_async(self.warehouse, self.limits, work, writable, scratch)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        if self._slots.locked() and self._waiting >= MOST_WAITING:
            raise BusyError(
                f"The server is busy: {MOST_CONCURRENT} queries are running, and {MOST_WAITING} are waiting. "
                "Try again later, or cancel some"
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

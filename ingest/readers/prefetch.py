"""Prefetching: produces the next items in other threads while the current one is used."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each produced in another thread while the one before it is used.

    An exception raised while producing an item is raised here when that item is due.
    """
    end = object()
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = maker.submit(next, items, end)
            yield item  # type: ignore[misc]


def prefetch_map(make: Callable[[Item], Made], items: Iterable[Item], at_once: int) -> Iterator[Made]:
    """Apply `make` to each item in `at_once` threads, and yield the results in the order of the items.

    An exception from `make` is raised here when that item is due. At most `at_once` results are held.
    """
    with ThreadPoolExecutor(at_once) as makers:
        coming: deque[Future[Made]] = deque()
        for item in items:
            coming.append(makers.submit(make, item))
            if len(coming) > at_once:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()

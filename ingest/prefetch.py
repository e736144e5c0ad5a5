"""Lets the next items be made while this one is used."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def prefetched(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each made in another thread while the one before it is used.

    What making an item raises is raised here, when that item's turn comes.
    """
    end = object()
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = maker.submit(next, items, end)
            yield item  # type: ignore[misc]


def prefetch_map(make: Callable[[Item], Made], items: Iterable[Item], at_once: int) -> Iterator[Made]:
    """`make` of each item, in the order of the items, by so many threads at once.

    What making raises is raised here, when that item's turn comes. At most `at_once` results wait.
    """
    with ThreadPoolExecutor(at_once) as makers:
        coming: deque[Future[Made]] = deque()
        for item in items:
            coming.append(makers.submit(make, item))
            if len(coming) > at_once:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()

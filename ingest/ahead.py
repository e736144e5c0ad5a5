"""Lets the next item be made while this one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each made in another thread while the one before it is used.

    What making an item raises is raised here, when that item's turn comes.
    """
    end = object()
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = maker.submit(next, items, end)
            yield item  # type: ignore[misc]

"""Reject empty loops of a test."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def non_empty(values: Iterable[T]) -> list[T]:
    """Return the values, and fail if there are none: a loop over them would assert nothing."""
    found = list(values)
    assert found
    return found

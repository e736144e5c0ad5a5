"""Smooth random numbers for many devices, at any time in whatever order: the same for the same seed.

A number is standard normal at each slot of time. It turns slowly from one draw to the next, so that slots
close to each other have numbers close to each other. Draws are made per page, a stretch of slots, and seeded
by the page's number: any page can be made alone, so that files of the same devices agree and none is held in
memory.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.samples.draw import Ints

Draws = NDArray[np.float32]

PAGE_SLOTS = 160
# How many slots a number takes from one draw to the next: 5 minutes for what devices do, 1 for what is
# measured of it.
SLOW_SLOTS, FAST_SLOTS = 20, 4


@dataclass(frozen=True)
class Page:
    """The slots of one page that are wanted, as positions in it."""

    number: int
    rows: Ints


def pages(slots: Ints) -> Iterator[Page]:
    """The pages that hold the slots, which must be in ascending order."""
    numbers = slots // PAGE_SLOTS
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(slots)], strict=True):
        number = int(numbers[start])
        yield Page(number, slots[start:stop] - number * PAGE_SLOTS)


class Smooth:
    """Numbers of `devices`, drawn anew every `turn_slots` and scaled by `size`; independent for each name."""

    def __init__(self, seed: int, name: str, devices: int, turn_slots: int, size: float) -> None:
        self._seed = (seed, zlib.crc32(name.encode()))
        self._shape = (PAGE_SLOTS // turn_slots, devices)
        angle = np.arange(turn_slots) / turn_slots * (np.pi / 2)
        # Squares that sum to 1 keep the variance.
        self._from = (size * np.cos(angle)).astype(np.float32)[:, None]
        self._to = (size * np.sin(angle)).astype(np.float32)[:, None]
        self._drawn: dict[int, Draws] = {}

    def page(self, number: int) -> Draws:
        """The numbers of a page: a row for each slot, a column for each device."""
        self._drawn = {each: self._draws(each) for each in (number, number + 1)}
        draws = self._drawn[number]
        following = np.concatenate([draws[1:], self._drawn[number + 1][:1]])
        turning = draws[:, None] * self._from
        turning += following[:, None] * self._to
        return turning.reshape(PAGE_SLOTS, -1)

    def _draws(self, number: int) -> Draws:
        if number in self._drawn:
            return self._drawn[number]
        rng = np.random.default_rng([*self._seed, number])
        return rng.standard_normal(self._shape, dtype=np.float32)

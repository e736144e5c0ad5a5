"""Smooth random numbers for many devices and times.

In each slot of time, the number of a device has a normal distribution. It changes smoothly from one draw to
the next. A page is a range of slots. The draws of a page are seeded with the number of the page, so each page
can be generated independently: files with the same devices agree, and no file has to fit in memory.
"""

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracehouse.samples.draw import Ints

Draws = NDArray[np.float32]

PAGE_SLOTS = 160
# Slots between draws: 5 minutes for the activity of devices, 1 minute for the deviations of each metric.
SLOW_SLOTS, FAST_SLOTS = 20, 4


def pages(slots: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield the pages that contain the slots: their numbers, and the positions of the slots in the page.

    `slots` must be sorted.
    """
    numbers = slots // PAGE_SLOTS
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(slots)], strict=True):
        number = int(numbers[start])
        yield number, slots[start:stop] - number * PAGE_SLOTS


class Smooth:
    """Smooth random numbers of devices.

    A new number is drawn every `turn_slots` slots. `size` is the standard deviation. Different names give
    independent numbers.
    """

    def __init__(self, seed: int, name: str, devices: int, turn_slots: int, size: float) -> None:
        self._seed = (seed, zlib.crc32(name.encode()))
        self._shape = (PAGE_SLOTS // turn_slots, devices)
        angle = np.arange(turn_slots) / turn_slots * (np.pi / 2)
        # The squares of both weights sum to 1, which keeps the variance constant.
        self._from = (size * np.cos(angle)).astype(np.float32)[:, None]
        self._to = (size * np.sin(angle)).astype(np.float32)[:, None]
        self._drawn: dict[int, Draws] = {}

    def page(self, number: int) -> Draws:
        """Return the numbers of a page: a row per slot, a column per device."""
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

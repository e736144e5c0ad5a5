"""When Acme's telemetry was sampled: every 15 s, with a few gaps, in July and August 2023.

A smaller sample has fewer lines of each stretch, around the same moments: where months meet, where columns
went wrong, and where many GPUs failed at once are in a sample of any size.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tracehouse.samples.draw import Ints, apportion

SLOT_S = 15
ORIGIN = np.datetime64("2023-07-01T00:00:00")  # local time, +08:00
END = np.datetime64("2023-09-01T00:00:00")
STAMP_BYTES = len("2023-07-01 00:00:00+08:00")

# Every so many slots the monitoring misses a few.
_MISSED_EVERY, _MISSED_FROM, _MISSED = 331, 100, 3


@dataclass(frozen=True)
class Stretch:
    """A time that samples have lines of: all of it at full size, else around its moment."""

    start: str
    moment: str


STRETCHES = (
    Stretch("2023-07-01T00:00:00", "2023-07-01T00:00:00"),
    Stretch("2023-07-07T00:00:00", "2023-07-10T09:00:00"),
    Stretch("2023-07-14T00:00:00", "2023-07-19T12:00:00"),
    Stretch("2023-07-24T00:00:00", "2023-08-01T00:00:00"),
    Stretch("2023-08-08T00:00:00", "2023-08-16T20:00:00"),
    Stretch("2023-08-24T00:00:00", "2023-08-29T13:58:00"),
    Stretch("2023-08-31T12:00:00", "2023-08-31T23:59:45"),
)


def slot_of(local_time: str | np.datetime64) -> int:
    """The slot at a local time."""
    return int((np.datetime64(local_time) - ORIGIN) // np.timedelta64(SLOT_S, "s"))


def slots(lines: int) -> Ints:
    """So many slots, rising. More than two months have go on after them."""
    sampled = _sampled(slot_of(END))
    if lines >= len(sampled):
        return _sampled(lines + lines // 50)[:lines]
    bounds = np.searchsorted(sampled, [*(slot_of(each.start) for each in STRETCHES), slot_of(END)])
    moments = np.searchsorted(sampled, [slot_of(each.moment) for each in STRETCHES])
    parts = []
    for start, stop, moment, count in zip(
        bounds, bounds[1:], moments, apportion(lines, np.diff(bounds)), strict=False
    ):
        before = min(count - 1, round(count * (moment - start) / (stop - start)))
        first = min(max(moment - before, start), stop - count)
        parts.append(sampled[first : first + count])
    return np.concatenate(parts)


@cache
def _sampled(end: int) -> Ints:
    every = np.arange(end)
    phase = every % _MISSED_EVERY - _MISSED_FROM
    return every[(phase < 0) | (phase >= _MISSED)]


def stamps(which: Ints) -> NDArray[np.uint8]:
    """The local times of slots as the files write them: a row of ASCII codes each."""
    local = ORIGIN + which * np.timedelta64(SLOT_S, "s")
    text = np.datetime_as_string(local, unit="s").astype("S19").view(np.uint8).reshape(-1, 19).copy()
    text[:, 10] = ord(" ")
    offset = np.frombuffer(b"+08:00", dtype=np.uint8)
    return np.concatenate([text, np.broadcast_to(offset, (len(text), len(offset)))], axis=1)

"""Times of Acme's telemetry: every 15 s in July and August 2023, with a few gaps.

A small sample has fewer lines of each period, all close to the moment of the period. Every sample therefore
contains the change of months, the repeated columns, and the burst of GPU errors.
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

# The monitoring misses three of every 331 slots.
_MISSED_EVERY, _MISSED_FROM, _MISSED = 331, 100, 3


@dataclass(frozen=True)
class Period:
    """A period by its start. A sample at scale 1 has all of it, a smaller one the lines around `moment`."""

    start: str
    moment: str


PERIODS = (
    Period("2023-07-01T00:00:00", "2023-07-01T00:00:00"),
    Period("2023-07-07T00:00:00", "2023-07-10T09:00:00"),
    Period("2023-07-14T00:00:00", "2023-07-19T12:00:00"),
    Period("2023-07-24T00:00:00", "2023-08-01T00:00:00"),
    Period("2023-08-08T00:00:00", "2023-08-16T20:00:00"),
    Period("2023-08-24T00:00:00", "2023-08-29T13:58:00"),
    Period("2023-08-31T12:00:00", "2023-08-31T23:59:45"),
)


def slot_of(local_time: str | np.datetime64) -> int:
    """Return the slot at a local time."""
    return int((np.datetime64(local_time) - ORIGIN) // np.timedelta64(SLOT_S, "s"))


def slots(lines: int) -> Ints:
    """Return the slots of `lines` lines in order. If two months have fewer, later slots follow."""
    sampled = _sampled(slot_of(END))
    if lines >= len(sampled):
        return _sampled(lines + lines // 50)[:lines]
    bounds = np.searchsorted(sampled, [*(slot_of(each.start) for each in PERIODS), slot_of(END)])
    moments = np.searchsorted(sampled, [slot_of(each.moment) for each in PERIODS])
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
    """Return the local times of slots in the notation of the files: one row of ASCII codes for each slot."""
    local = ORIGIN + which * np.timedelta64(SLOT_S, "s")
    text = np.datetime_as_string(local, unit="s").astype("S19").view(np.uint8).reshape(-1, 19).copy()
    text[:, 10] = ord(" ")
    offset = np.frombuffer(b"+08:00", dtype=np.uint8)
    return np.concatenate([text, np.broadcast_to(offset, (len(text), len(offset)))], axis=1)

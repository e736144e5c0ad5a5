"""XID_ERRORS of Acme's GPUs: a cell shows the last error code until it is cleared; most cells are empty.

The sample contains the hour in which a third of Kalos' GPUs failed, a code in the first line, two codes that
follow each other without a gap, and codes after an empty cell and after a 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.samples.draw import Ints, apportion, lognormal, pick, scaled, spread
from tracehouse.samples.smooth import PAGE_SLOTS
from tracehouse.samples.traces.acme_metrics import LEVELS, Levels, idle
from tracehouse.samples.traces.acme_times import slot_of
from tracehouse.samples.wide import Texts

NAME = "XID_ERRORS"
CODES = (43, 31, 94, 45)
_CODE_WEIGHTS = (91, 5, 2, 2)

BURST_START, BURST_END = slot_of("2023-08-29T13:57:00"), slot_of("2023-08-29T14:00:00")
BURST_NODES_SHARE, BURST_GPUS_SHARE = 141 / 293, 882 / 2344
# The share of GPUs that fail at other times, and their least number, which gives one for each kind of error.
_OTHERS_SHARE, _FEWEST_OTHERS = 9 / 2344, 6
_LATCHED_MEDIAN_SLOTS, _LATCHED_SIGMA = 480, 1.2
# The cell of a GPU without an error is 0 while its level is above this (a fifth of the time), and else empty.
_SAYS_ZERO = 0.61 * LEVELS
_LINES_TO_NEXT_CODE = 4
_SLOTS_FROM_BURST = 20

_NOTHING, _FIRST_CODE = 0, 2


@dataclass(frozen=True)
class Episodes:
    """Errors: device, position of the code in `CODES`, first slot, and the slot after the last one."""

    device: Ints
    code: Ints
    start: Ints
    stop: Ints


class XidCells:
    """The cells of XID_ERRORS for lines at `slots`; `node_of` has the node of each device."""

    texts: Texts = np.array([",", ",0", *(f",{code}" for code in CODES)], dtype=np.bytes_)

    def __init__(self, node_of: Ints, slots: Ints, seed: int, burst: bool) -> None:
        rng = np.random.default_rng([seed, len(slots)])
        self._devices, self._seed = len(node_of), seed
        self._levels = Levels(seed, len(node_of), NAME, 0.8)
        failing = _burst_devices(node_of, rng) if burst else np.empty(0, dtype=np.int64)
        others = _draw_others(node_of, failing, rng)
        parts = [_other_episodes(others, slots, rng), *([_burst(failing, rng)] if burst else [])]
        self._episodes = Episodes(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in Episodes.__annotations__)
        )

    def page(self, number: int) -> NDArray[np.intp]:
        """Return the number of the text of each cell of a page: a row per slot, a column per device."""
        which = (self._levels.page(number) > _SAYS_ZERO).astype(np.intp)
        which[idle(self._seed, self._devices, number)] = _NOTHING
        each = self._episodes
        first = number * PAGE_SLOTS
        for at in np.flatnonzero((each.start < first + PAGE_SLOTS) & (each.stop > first)).tolist():
            rows = slice(max(0, each.start[at] - first), each.stop[at] - first)
            which[rows, each.device[at]] = _FIRST_CODE + each.code[at]
        return which


def _burst_devices(node_of: Ints, rng: np.random.Generator) -> Ints:
    """Draw the GPUs that fail in the burst: some GPUs on each of about half of the nodes."""
    nodes = np.unique(node_of)
    count = scaled(len(node_of), BURST_GPUS_SHARE)
    failing = pick(rng, np.ones(len(nodes)), min(count, scaled(len(nodes), BURST_NODES_SHARE)))
    per_node = apportion(count, np.ones(len(failing)))
    return np.concatenate(
        [
            rng.permutation(np.flatnonzero(node_of == nodes[node]))[:gpus]
            for node, gpus in zip(failing, per_node, strict=True)
        ]
    )


def _burst(devices: Ints, rng: np.random.Generator) -> Episodes:
    """Draw errors that begin in any slot of the burst; most of them last for hours."""
    count = len(devices)
    moments = BURST_END - BURST_START + 1
    start = BURST_START + np.arange(count) * moments // count
    code = spread(rng, count, _CODE_WEIGHTS)
    return Episodes(rng.permutation(devices), code, start, start + _draw_durations(count, rng))


def _draw_others(node_of: Ints, failing: Ints, rng: np.random.Generator) -> Ints:
    count = scaled(len(node_of), _OTHERS_SHARE, _FEWEST_OTHERS)
    free = np.ones(len(node_of))
    free[failing] = 0
    return pick(rng, free, min(count, int(free.sum())))


def _other_episodes(devices: Ints, slots: Ints, rng: np.random.Generator) -> Episodes:
    """Draw errors outside the burst: one from the first line on, and two in a row on the second device."""
    count = len(devices)
    code = 1 + np.arange(count) % (len(CODES) - 1)
    # Only the errors of the burst occur near the burst.
    outside = slots[(slots < BURST_START - _SLOTS_FROM_BURST) | (slots > BURST_END + _SLOTS_FROM_BURST)]
    start = outside[rng.integers(len(outside) // 8, len(outside), count)]
    stop = start + _draw_durations(count, rng)
    again = slice(1, 2)
    middle = len(slots) // 2
    start[:1] = slots[0]
    start[again], stop[again] = slots[middle], slots[min(middle + _LINES_TO_NEXT_CODE, len(slots) - 1)]
    return Episodes(
        device=np.append(devices, devices[again]),
        code=np.append(code, np.zeros_like(code[again])),
        start=np.append(start, stop[again]),
        stop=np.append(stop, stop[again] + _draw_durations(len(devices[again]), rng)),
    )


def _draw_durations(count: int, rng: np.random.Generator) -> Ints:
    return 1 + lognormal(rng, count, _LATCHED_MEDIAN_SLOTS, _LATCHED_SIGMA).astype(np.int64)

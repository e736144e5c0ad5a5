"""Acme's metrics: cells whose values follow the published distributions.

The smooth random number of a device (see `smooth`) selects a percentile of the metric's published curve. The
metrics of a GPU share most of this number, so they are correlated.
"""

import math
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.reference_curves import Curve, read_curves
from tracehouse.samples.draw import Floats
from tracehouse.samples.smooth import FAST_SLOTS, PAGE_SLOTS, SLOW_SLOTS, Smooth
from tracehouse.samples.traces.acme_times import slot_of
from tracehouse.samples.wide import Texts, cell_texts

# Normal numbers are rounded to this many levels, and the text of each level is formatted only once.
LEVELS = 1 << 16
_LEVELS_PER_SIGMA = LEVELS // 8
EMPTY = LEVELS

# The share of devices that are idle in some slots of a page. Their cells are empty there in every metric.
IDLE_SHARE = 0.05
LONGEST_IDLE_SLOTS = 60

# In this slot the first device has the highest value of every metric, in every sample.
HIGHEST_SLOT = slot_of("2023-07-10T09:00:00")

A100_MIB = 80 * 1024
A100_USABLE_MIB = 81_251


@dataclass(frozen=True)
class Metric:
    """One metric: `offset` + `factor` × the value of its curve, with at most `decimals` decimals.

    `curve` is the name of a published curve of the cluster, or an invented curve. `shared` is the share of
    the variance that the metrics of a device have in common. The other part changes faster; it equals that of
    the metric `like`, if given.
    """

    name: str
    curve: str | Curve
    factor: float = 1.0
    offset: float = 0.0
    decimals: int = 0
    shared: float = 0.8
    like: str = ""


_MEM_CLOCK = Curve("MEM_CLOCK", (0, 2, 2.01, 100), (1_512, 1_512, 1_593, 1_593))
_SM_CLOCK = Curve("SM_CLOCK", (0, 24, 26, 60, 75, 100), (210, 210, 1_155, 1_275, 1_410, 1_410))
# The publisher multiplied fractions by 100 and rounded them.
_PERCENT_DECIMALS = 3

GPU_METRICS = (
    Metric("GPU_TEMP", "gpu_temp_c", shared=0.7),
    Metric("MEMORY_TEMP", "memory_temp_c", shared=0.7),
    Metric("MEM_CLOCK", _MEM_CLOCK),
    Metric("SM_CLOCK", _SM_CLOCK),
    Metric("MEM_COPY_UTIL", "gpu_util_pct", factor=0.55),
    Metric("GPU_UTIL", "gpu_util_pct", shared=0.9),
    Metric("FB_FREE", "gpu_memory_used_pct", factor=-A100_MIB / 100, offset=A100_USABLE_MIB, like="FB_USED"),
    Metric("FB_USED", "gpu_memory_used_pct", factor=A100_MIB / 100),
    Metric("POWER_USAGE", "gpu_power_w", decimals=1, shared=0.9),
    Metric("DRAM_ACTIVE", "sm_active_pct", factor=0.45, decimals=_PERCENT_DECIMALS),
    Metric("PIPE_TENSOR_ACTIVE", "curve4_pct", decimals=_PERCENT_DECIMALS),
    Metric("SM_ACTIVE", "sm_active_pct", decimals=_PERCENT_DECIMALS, shared=0.9),
    Metric("SM_OCCUPANCY", "sm_occupancy_pct", decimals=_PERCENT_DECIMALS, shared=0.85),
)
NODE_METRICS = (
    Metric("NODE_CPU_UTILIZATION", "node_cpu_util_pct", decimals=_PERCENT_DECIMALS),
    Metric("NODE_MEMORY_UTILIZATION", "node_memory_util_pct", decimals=_PERCENT_DECIMALS),
    Metric("NODE_IB_SEND", "ib_send", decimals=3, shared=0.95),
    Metric("NODE_IB_RECEIVE", "ib_receive", decimals=3, shared=0.95),
)
METRICS = {metric.name: metric for metric in (*GPU_METRICS, *NODE_METRICS)}

_published = cache(partial(read_curves, "acme"))


def curve_of(cluster: str, metric: Metric) -> Curve:
    """Return the curve of a metric in a cluster. For a missing curve of Kalos, return Seren's."""
    if isinstance(metric.curve, Curve):
        return metric.curve
    published = _published()
    return published.get(f"{cluster}.{metric.curve}") or published[f"seren.{metric.curve}"]


def values_at(curve: Curve, share: Floats) -> Floats:
    """Return the values of a curve at the given shares (0 to 1)."""
    return np.interp(100 * share, curve.percentiles, curve.values)


@cache
def normal_shares() -> Floats:
    """Return the share of a normal distribution below each level; the first is 0 and the last 1."""
    sigmas = (np.arange(LEVELS) - LEVELS // 2) / _LEVELS_PER_SIGMA
    shares = np.array([math.erfc(-sigma / math.sqrt(2)) / 2 for sigma in sigmas.tolist()])
    shares[0], shares[-1] = 0, 1
    return shares


@cache
def texts_of(cluster: str, name: str) -> Texts:
    """Return the text of each level of a metric, and the empty cell at the end."""
    metric = METRICS[name]
    values = metric.offset + metric.factor * values_at(curve_of(cluster, metric), normal_shares())
    return cell_texts(values, metric.decimals)


@cache
def mean_bytes(cluster: str, name: str) -> float:
    """Return the mean length of a metric's cells in bytes."""
    shares = np.diff(normal_shares(), append=1)
    return float(np.strings.str_len(texts_of(cluster, name)[:EMPTY]) @ shares)


class Levels:
    """The level of each device in each slot: a shared component, and a faster one of the metric `name`."""

    def __init__(self, seed: int, devices: int, name: str, shared: float) -> None:
        self._slow = Smooth(seed, "shared", devices, SLOW_SLOTS, _LEVELS_PER_SIGMA * math.sqrt(shared))
        self._fast = Smooth(seed, name, devices, FAST_SLOTS, _LEVELS_PER_SIGMA * math.sqrt(1 - shared))

    def page(self, number: int) -> NDArray[np.float32]:
        """Return the unrounded levels of a page: a row per slot, a column per device."""
        level = self._slow.page(number)
        level += self._fast.page(number)
        level += LEVELS // 2
        return np.clip(level, 0, LEVELS - 1, out=level)


class MetricCells:
    """The cells of one metric; metrics with the same seed describe the same devices."""

    def __init__(self, cluster: str, name: str, devices: int, seed: int) -> None:
        metric = METRICS[name]
        self.texts = texts_of(cluster, name)
        self._levels = Levels(seed, devices, metric.like or metric.name, metric.shared)
        self._devices = devices
        self._seed = seed

    def page(self, number: int) -> NDArray[np.intp]:
        """Return the number of the text of each cell of a page: a row per slot, a column per device."""
        which = self._levels.page(number).astype(np.intp)
        which[idle(self._seed, self._devices, number)] = EMPTY
        highest = HIGHEST_SLOT - number * PAGE_SLOTS
        if 0 <= highest < PAGE_SLOTS:
            which[highest, 0] = LEVELS - 1
        return which


def idle(seed: int, devices: int, number: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and columns of the cells of a page in which devices are idle."""
    rng = np.random.default_rng([seed, number])
    which = np.flatnonzero(rng.random(devices) < IDLE_SHARE)
    start = rng.integers(0, PAGE_SLOTS, len(which))
    if number == 0:
        # In every sample the last device is idle from the first line on.
        which, start = np.append(which, devices - 1), np.append(start, 0)
    stop = start + rng.integers(1, LONGEST_IDLE_SLOTS, len(which))
    slots = np.arange(PAGE_SLOTS)[:, None]
    row, position = np.nonzero((slots >= start) & (slots < stop))
    return row, which[position]

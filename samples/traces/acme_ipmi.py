"""Power of Seren's servers, measured by IPMI: one line per server and time, without the name of the server.

In the file GPU_AB, servers of type B have no memory power, and the column of memory power has another name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.ingest.reference_curves import read_curves
from tracehouse.samples.draw import Floats, Ints, scaled, whole
from tracehouse.samples.files import OnBytes, write_csv
from tracehouse.samples.smooth import PAGE_SLOTS, pages
from tracehouse.samples.traces.acme_metrics import Levels, normal_shares, values_at
from tracehouse.samples.traces.acme_times import STAMP_BYTES, slots, stamps

FULL_LINES = 10_000
LEAST_LINES = 60
BYTES_A_ROW = 38


@dataclass(frozen=True)
class Group:
    """One file: its servers, the share without memory power, and the ranges of CPU and memory shares."""

    name: str
    curve: str
    servers: int
    least_servers: int
    without_memory_share: float
    memory_name: str
    cpu_share: tuple[float, float]
    memory_share: tuple[float, float]


GROUPS = (
    Group("GPU_AB", "seren.gpu_server_power_w", 206, 4, 0.4, "MEM_Power", (0.18, 0.28), (0.07, 0.13)),
    Group("GPU_C", "seren.gpu_server_power_w", 80, 2, 0, "Memory_Power", (0.18, 0.28), (0.07, 0.13)),
    Group("CPU_D", "seren.cpu_server_power_w", 60, 2, 0, "Memory_Power", (0.42, 0.58), (0.12, 0.2)),
)


def write_server_power(folder: Path, scale: float, seed: int, on_bytes: OnBytes) -> list[Path]:
    """Write the three IPMI files, and return their paths."""
    when = slots(scaled(FULL_LINES, scale, LEAST_LINES))
    return [
        write_csv(folder / f"{group.name}_Power.csv", _frames(group, scale, when, seed), on_bytes)
        for group in GROUPS
    ]


def expected_bytes(scale: float) -> int:
    """Estimate the size of the IPMI files in bytes."""
    lines = scaled(FULL_LINES, scale, LEAST_LINES)
    return BYTES_A_ROW * lines * sum(_servers(group, scale) for group in GROUPS)


def _servers(group: Group, scale: float) -> int:
    return scaled(group.servers, scale, group.least_servers)


def _frames(group: Group, scale: float, when: Ints, seed: int) -> Iterator[pl.DataFrame]:
    servers = _servers(group, scale)
    total, cpu, memory = (
        Levels(seed, servers, f"{group.name}.{name}", shared)
        for name, shared in (("total", 0.9), ("cpu", 0), ("memory", 0))
    )
    curve = read_curves("acme")[group.curve]
    without = scaled(servers, group.without_memory_share) if group.without_memory_share else 0
    for number, rows in pages(when):
        watts = values_at(curve, _shares(total, number, rows))
        cpu_watts = watts * _between(group.cpu_share, _shares(cpu, number, rows))
        memory_watts = watts * _between(group.memory_share, _shares(memory, number, rows))
        memory_watts[:, :without] = np.nan
        at = stamps(number * PAGE_SLOTS + rows).view(f"S{STAMP_BYTES}").ravel().astype(str)
        yield pl.DataFrame(
            {
                "Time": np.repeat(at, servers),
                "Sys_Total_Power": _whole(watts),
                "CPU_Power": _whole(cpu_watts),
                group.memory_name: _whole(memory_watts),
            }
        )


def _shares(levels: Levels, number: int, rows: Ints) -> Floats:
    return normal_shares()[levels.page(number)[rows].astype(np.intp)]


def _between(bounds: tuple[float, float], shares: Floats) -> Floats:
    low, high = bounds
    return low + (high - low) * shares


def _whole(watts: Floats) -> pl.Series:
    """Return rounded watts as one column, line by line; NaN becomes NULL."""
    flat = watts.ravel()
    return whole(np.rint(np.nan_to_num(flat)), null=np.isnan(flat))

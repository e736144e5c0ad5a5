"""Synthetic Acme telemetry: wide files of 18 metrics per cluster, and the power of Seren's servers.

Values follow the published distributions, change slowly, and are correlated within a device. Known pitfalls:
one metric in two files with different columns and overlapping lines, another one with a single line; repeated
columns with the suffix ``.1``; empty cells; column names without the number of the GPU, and one that is no
address; the suffix ``-mlx5_0`` in Seren's InfiniBand; a CPU utilisation above 100 %; servers without memory
power, of which the column has two names. XID_ERRORS shows the last error code until it is cleared; a third of
Kalos' GPUs failed within three minutes.

Both lines and devices are scaled, so the size grows with the square of the scale.
"""

import zlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracehouse.ingest.declare.reference_curves import read_curves
from tracehouse.ingest.traces.acme.tables import GPU_METRIC, NODE_METRIC, SERVER_POWER
from tracehouse.samples import draw
from tracehouse.samples.draw import Floats, Ints
from tracehouse.samples.output import Output

SLOT_S, SLOTS, PAGE_SLOTS, SLOW_SLOTS = 15, 62 * 5_760, 160, 20
FIRST_S = 1_688_169_600  # 2023-07-01 in local time
LEAST_NODES, LEAST_LINES, GPUS_OF_NODE = 4, 400, 8
LINES, NODES = {"seren": 350_000, "kalos": 77_403}, {"seren": 286, "kalos": 293}
NETWORKS = {"seren": "10.140", "kalos": "172.31"}
DAY_SLOTS, AUGUST = 5_760, 31 * 5_760
# A small sample has the lines around these moments: the ends of the months, repeated columns, and errors.
REPEATED = (18 * DAY_SLOTS + 2_780, 18 * DAY_SLOTS + 3_364)
BURST = (59 * DAY_SLOTS + 3_348, 59 * DAY_SLOTS + 3_360)
MOMENTS = (0, 9 * DAY_SLOTS + 2_160, REPEATED[0] + 100, AUGUST, 46 * DAY_SLOTS + 4_800, BURST[0], SLOTS - 60)
IDLE_SHARE, LONGEST_IDLE_SLOTS = 0.05, 60


@dataclass(frozen=True)
class Metric:
    """A metric: `offset` + `factor` × the value of a published curve, or of percentiles and values."""

    curve: str | tuple[tuple[float, ...], tuple[float, ...]]
    factor: float = 1.0
    offset: float = 0.0
    decimals: int = 0
    like: str = ""


GPU_METRICS = {
    "GPU_TEMP": Metric("gpu_temp_c"),
    "MEMORY_TEMP": Metric("memory_temp_c"),
    "MEM_CLOCK": Metric(((0, 2, 2.01, 100), (1_512, 1_512, 1_593, 1_593))),
    "SM_CLOCK": Metric(((0, 24, 26, 60, 75, 100), (210, 210, 1_155, 1_275, 1_410, 1_410))),
    "MEM_COPY_UTIL": Metric("gpu_util_pct", factor=0.55),
    "GPU_UTIL": Metric("gpu_util_pct"),
    "FB_FREE": Metric("gpu_memory_used_pct", factor=-819.2, offset=81_251, like="FB_USED"),
    "FB_USED": Metric("gpu_memory_used_pct", factor=819.2),
    "POWER_USAGE": Metric("gpu_power_w", decimals=1),
    "DRAM_ACTIVE": Metric("sm_active_pct", factor=0.45, decimals=3),
    "PIPE_TENSOR_ACTIVE": Metric("curve4_pct", decimals=3),
    "SM_ACTIVE": Metric("sm_active_pct", decimals=3),
    "SM_OCCUPANCY": Metric("sm_occupancy_pct", decimals=3),
}
NODE_METRICS = {
    "NODE_CPU_UTILIZATION": Metric("node_cpu_util_pct", decimals=3),
    "NODE_MEMORY_UTILIZATION": Metric("node_memory_util_pct", decimals=3),
    "NODE_IB_SEND": Metric("ib_send", decimals=3),
    "NODE_IB_RECEIVE": Metric("ib_receive", decimals=3),
}
# File of IPMI: the curve of its servers, their number, and the share without memory power.
SERVERS = {
    "GPU_AB": ("seren.gpu_server_power_w", 206, 0.4),
    "GPU_C": ("seren.gpu_server_power_w", 80, 0.0),
    "CPU_D": ("seren.cpu_server_power_w", 60, 0.0),
}


def expected_bytes(scale: float) -> int:
    """Estimate the bytes of raw text in a sample."""
    cells = sum(_lines(LINES[each], scale) * draw.scaled(NODES[each], scale, LEAST_NODES) for each in LINES)
    return 3 * cells * (GPUS_OF_NODE * (len(GPU_METRICS) + 1) + 2 * len(NODE_METRICS))


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write every metric of both clusters, and the servers' power."""
    seed = int(rng.integers(2**31))
    for place, cluster in enumerate(LINES):
        nodes = draw.scaled(NODES[cluster], scale, LEAST_NODES)
        slots = _slots(_lines(LINES[cluster], scale))
        for metric in ("XID_ERRORS", *GPU_METRICS, *NODE_METRICS):
            _write_metric(out, cluster, metric, nodes, slots, seed + place)
    _write_power(out, scale, seed)


def _lines(lines: int, scale: float) -> int:
    return min(lines, draw.scaled(lines, scale, LEAST_LINES))


def _slots(lines: int) -> Ints:
    """Return the slots of about as many lines: those around the moments. Monitoring misses a few slots."""
    each = min(lines // len(MOMENTS), SLOTS)
    windows = [moment - each // 2 + np.arange(each) for moment in MOMENTS]
    slots = np.unique(np.concatenate(windows).clip(0, SLOTS - 1))
    return slots[(slots % 331 < 100) | (slots % 331 > 102)]


def _write_metric(out: Output, cluster: str, metric: str, nodes: int, slots: Ints, seed: int) -> None:
    is_node = metric in NODE_METRICS
    devices = nodes if is_node else nodes * GPUS_OF_NODE
    # The devices are shuffled, because the publisher's columns are not sorted.
    order = np.random.default_rng([seed, devices]).permutation(devices)
    names = [_name(cluster, metric, device) for device in order.tolist()]
    if (cluster, metric) == ("kalos", "MEMORY_TEMP"):
        names[-1] = "dcgm-exporter-x7k2p"
    errors = _errors(devices, slots, cluster, seed) if metric == "XID_ERRORS" else []
    repeated = [f"{name}.1" for name in names[::2]]
    table = NODE_METRIC if is_node else GPU_METRIC
    for page in np.unique(slots // PAGE_SLOTS).tolist():
        of_page = slots[slots // PAGE_SLOTS == page]
        rows = of_page - page * PAGE_SLOTS
        values = (
            _xid_values(errors, devices, page) if errors else _values(cluster, metric, devices, page, seed)
        )
        decimals = 0 if errors else ({**GPU_METRICS, **NODE_METRICS}[metric]).decimals
        frame = pl.DataFrame(np.round(values[rows], decimals), schema=names, nan_to_null=True)
        frame = frame if decimals else frame.cast(pl.Int64)
        frame = frame.insert_column(
            0, pl.Series("Time", draw.local_times(FIRST_S + SLOT_S * of_page) + "+08:00")
        )
        if (cluster, metric) == ("kalos", "DRAM_ACTIVE"):
            frame = frame[: 1 if page == slots[0] // PAGE_SLOTS else 0]
        files = {"": frame}
        if (cluster, metric) == ("kalos", "GPU_TEMP"):
            # Each month lacks a device, and some lines are in both files.
            july, august = frame.drop(names[-1]), frame.drop(names[0])
            files = {
                "-2023-07": july.filter(pl.Series(of_page < AUGUST)),
                "-2023-08": august.filter(pl.Series(of_page >= AUGUST - 5)),
            }
        elif (cluster, metric) == ("seren", "NODE_MEMORY_UTILIZATION"):
            twice = frame.with_columns(pl.col(name[:-2]).alias(name) for name in repeated)
            within = (of_page >= REPEATED[0]) & (of_page < REPEATED[1])
            files = {
                "-2023-07-01T0000": frame.filter(pl.Series(of_page < REPEATED[0])),
                "-2023-07-19T1135": twice.filter(pl.Series(within)),
                "-2023-07-19T1401": frame.filter(pl.Series(of_page >= REPEATED[1])),
            }
        for suffix, part in files.items():
            if part.height:
                keys = {"cluster": cluster, "metric": metric}
                out.add(table, part, "data/utilization", suffix=suffix, **keys)


def _name(cluster: str, metric: str, device: int) -> str:
    node, gpu = (device, 0) if metric in NODE_METRICS else divmod(device, GPUS_OF_NODE)
    address = f"{NETWORKS[cluster]}.{node // 200}.{1 + node % 200}"
    if metric in NODE_METRICS:
        return address + ("-mlx5_0" if cluster == "seren" and "_IB_" in metric else "")
    is_bare = (cluster, metric) == ("kalos", "MEM_CLOCK") and gpu == 0 and node % 4 == 0
    return address if is_bare else f"{address}-{gpu}"


def _percentiles(name: str, devices: int, page: int, seed: int) -> Floats:
    """Return smooth percentiles (0 to 100) of a page: a row per slot, a column per device.

    Metrics of a device share most of them.
    """
    shared = np.random.default_rng([seed, devices, page]).random((PAGE_SLOTS // SLOW_SLOTS, devices))
    fast = np.random.default_rng([seed, zlib.crc32(name.encode()), page]).normal(0, 4, (PAGE_SLOTS, devices))
    return (100 * np.repeat(shared, SLOW_SLOTS, axis=0) + fast).clip(0, 100)


def _values(cluster: str, name: str, devices: int, page: int, seed: int) -> Floats:
    """Return the values of a page. Cells of idle devices are NaN."""
    metric = {**GPU_METRICS, **NODE_METRICS}[name]
    percentiles = _percentiles(metric.like or name, devices, page, seed)
    highest = MOMENTS[1] - page * PAGE_SLOTS
    if 0 <= highest < PAGE_SLOTS:
        percentiles[highest, 0] = 100
    curves = read_curves("acme")
    if isinstance(metric.curve, str):
        # Kalos lacks some curves.
        curve = curves.get(f"{cluster}.{metric.curve}") or curves[f"seren.{metric.curve}"]
        points = (curve.percentiles, curve.values)
    else:
        points = metric.curve
    values = metric.offset + metric.factor * np.interp(percentiles, *points)
    values[_idle(devices, page, seed)] = np.nan
    return values


def _idle(devices: int, page: int, seed: int) -> draw.Bools:
    rng = np.random.default_rng([seed, page, 1])
    start = np.where(rng.random(devices) < IDLE_SHARE, rng.integers(0, PAGE_SLOTS, devices), PAGE_SLOTS)
    # In every sample the last device is idle from the first line on.
    start[-1] = 0 if page == 0 else start[-1]
    slots = np.arange(PAGE_SLOTS)[:, None]
    return (slots >= start) & (slots < start + rng.integers(1, LONGEST_IDLE_SLOTS, devices))


def _errors(devices: int, slots: Ints, cluster: str, seed: int) -> list[tuple[int, int, int, int]]:
    """Return the device, the code, the first slot and the slot after the last one of each error."""
    rng = np.random.default_rng([seed, 2])
    shuffled = rng.permutation(devices)
    # Errors outside the burst: one from the first line on, and two in a row on the second device.
    outside = slots[(slots < BURST[0] - 20) | (slots > BURST[1] + 20)]
    starts = [int(slots[0]), *rng.choice(outside, 6).tolist()]
    found = [
        (int(shuffled[number]), (31, 94, 45)[number % 3], start, start + 1 + int(rng.lognormal(6, 1.2)))
        for number, start in enumerate(starts)
    ]
    device, code, start, _ = found[1]
    found[1] = (device, code, start, start + 4)
    found.append((device, 43, start + 4, start + 200))
    if cluster == "kalos":
        failing = shuffled[7 : 7 + max(1, round(0.376 * devices))]
        for number, device in enumerate(failing.tolist()):
            start = BURST[0] + number * (BURST[1] - BURST[0] + 1) // len(failing)
            code = 43 if rng.random() < 0.91 else 31
            found.append((device, code, start, start + 1 + int(rng.lognormal(6, 1.2))))
    return found


def _xid_values(errors: list[tuple[int, int, int, int]], devices: int, page: int) -> Floats:
    """Return the codes of a page: 0 or NaN for a GPU without an error."""
    zero = np.random.default_rng([page, 3]).random((PAGE_SLOTS // SLOW_SLOTS, devices)) < 0.2
    values = np.where(np.repeat(zero, SLOW_SLOTS, axis=0), 0.0, np.nan)
    first = page * PAGE_SLOTS
    for device, code, start, stop in errors:
        values[max(0, start - first) : max(0, stop - first), device] = code
    return values


def _write_power(out: Output, scale: float, seed: int) -> None:
    """Write the power of Seren's servers: one line per server and time, without the name of the server."""
    slots = _slots(draw.scaled(10_000, scale, 60))
    for group, (curve_name, servers, without) in SERVERS.items():
        count = draw.scaled(servers, scale, 4)
        curve = read_curves("acme")[curve_name]
        for page in np.unique(slots // PAGE_SLOTS).tolist():
            of_page = slots[slots // PAGE_SLOTS == page]
            shares = [
                _percentiles(f"{group}.{name}", count, page, seed)[of_page - page * PAGE_SLOTS] / 100
                for name in ("total", "cpu", "memory")
            ]
            watts = np.interp(100 * shares[0], curve.percentiles, curve.values)
            low = 0.42 if group == "CPU_D" else 0.18
            memory = watts * (0.08 + 0.06 * shares[2])
            memory[:, : round(without * count)] = np.nan
            times = draw.local_times(np.repeat(FIRST_S + SLOT_S * of_page, count)) + "+08:00"
            columns = {
                "Time": times,
                "Sys_Total_Power": watts.ravel().round(),
                "CPU_Power": (watts * (low + 0.1 * shares[1])).ravel().round(),
                "MEM_Power" if group == "GPU_AB" else "Memory_Power": memory.ravel().round(),
            }
            out.add(SERVER_POWER, pl.DataFrame(columns), "data/utilization/ipmi", server_group=group)

"""Synthetic Acme telemetry: wide files of 18 metrics per cluster, and the power of Seren's servers.

The sample has the properties of the original that views and caveats are about:

- Values follow the published distributions, change slowly, and are correlated within a GPU.
- One metric is in two files with different columns and overlapping lines, another one has a single line.
- There are repeated columns with the suffix ``.1``, and empty cells.
- Some column names lack the number of the GPU, and one is not an address. Those of Seren's InfiniBand have
  the suffix ``-mlx5_0``.
- A CPU utilisation is above 100 %, and there are the errors of `acme_xid`.

Both lines and devices are scaled, so the size grows with the square of the scale.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.samples.draw import Ints, scaled
from tracehouse.samples.files import OnBytes
from tracehouse.samples.traces import acme_ipmi, acme_xid
from tracehouse.samples.traces.acme_metrics import GPU_METRICS, NODE_METRICS, MetricCells, mean_bytes
from tracehouse.samples.traces.acme_times import STAMP_BYTES, slot_of, slots
from tracehouse.samples.wide import Cells, write_wide

GPUS_PER_NODE = 8
LEAST_NODES = 4
LEAST_LINES = 400

GPU_NAMES = (acme_xid.NAME, *(metric.name for metric in GPU_METRICS))
NODE_NAMES = tuple(metric.name for metric in NODE_METRICS)

_IB_NAMES = ("NODE_IB_SEND", "NODE_IB_RECEIVE")
_WITH_BARE_NAMES = ("kalos", "MEM_CLOCK")
# In the metric above, the columns of GPU 0 of every fourth node lack the number of the GPU.
_BARE_EVERY = 4
_WITH_POD_NAME = ("kalos", "MEMORY_TEMP")
_POD_NAME = "dcgm-exporter-x7k2p"
_BY_MONTH = ("kalos", "GPU_TEMP")
_LINES_IN_BOTH = 5
_WITH_REPEATED_COLUMNS = ("seren", "NODE_MEMORY_UTILIZATION")
_REPEATED_FROM, _REPEATED_TO = "2023-07-19T11:35:00", "2023-07-19T14:01:00"

_XID_CELL_BYTES = 1.25
_NAME_BYTES = len(".0.100-0,")


@dataclass(frozen=True)
class Cluster:
    """A cluster: the prefix of its addresses, its nodes, and the lines of its metrics at scale 1.

    `lines_of` has the lines of metrics that differ from `lines`.
    """

    name: str
    network: str
    nodes: int
    lines: int
    lines_of: dict[str, int]
    ib_suffix: str = ""
    has_burst: bool = False

    def lines_at(self, metric: str, scale: float) -> int:
        """Return the number of lines of a metric in a sample."""
        full = self.lines_of.get(metric, self.lines)
        return min(full, scaled(full, scale, LEAST_LINES))

    def nodes_at(self, scale: float) -> int:
        """Return the number of nodes in a sample."""
        return scaled(self.nodes, scale, LEAST_NODES)


SEREN = Cluster("seren", "10.140", 286, 350_000, {}, ib_suffix="-mlx5_0")
KALOS = Cluster(
    "kalos",
    "172.31",
    293,
    77_403,
    {
        "GPU_TEMP": 77_472,
        "SM_ACTIVE": 86_742,
        "SM_OCCUPANCY": 86_742,
        "PIPE_TENSOR_ACTIVE": 73_878,
        "NODE_CPU_UTILIZATION": 108_757,
        "NODE_MEMORY_UTILIZATION": 104_390,
        "XID_ERRORS": 78_843,
        "DRAM_ACTIVE": 1,
    },
    has_burst=True,
)
CLUSTERS = {cluster.name: cluster for cluster in (SEREN, KALOS)}


def write_telemetry(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write every metric of both clusters and the servers' power below `folder`, and return the paths."""
    written: list[Path] = []
    for cluster in CLUSTERS.values():
        seed = int(rng.integers(2**63))
        for metric in (*GPU_NAMES, *NODE_NAMES):
            names, node_of = _devices(cluster, metric, cluster.nodes_at(scale), seed)
            when = slots(cluster.lines_at(metric, scale))
            cells = _cells(cluster, metric, node_of, when, seed)
            for ending, of_file, devices in _files(cluster, metric, len(names), when):
                path = folder / cluster.name / f"{metric}{ending}.csv"
                written.append(write_wide(path, of_file, names, devices, cells, on_bytes))
    return written + acme_ipmi.write_server_power(folder / "ipmi", scale, int(rng.integers(2**63)), on_bytes)


def write_metric(
    path: Path,
    cluster: str,
    metric: str,
    lines: int,
    devices: int,
    rng: np.random.Generator,
    on_bytes: OnBytes,
) -> Path:
    """Write a metric as one file with the given numbers of lines and devices, and return its path."""
    seed = int(rng.integers(2**63))
    per_node = 1 if metric in NODE_NAMES else GPUS_PER_NODE
    names, node_of = _devices(CLUSTERS[cluster], metric, -(-devices // per_node), seed)
    when = slots(lines)
    cells = _cells(CLUSTERS[cluster], metric, node_of[:devices], when, seed)
    return write_wide(path, when, names, np.arange(devices), cells, on_bytes)


def expected_bytes(scale: float) -> int:
    """Estimate the size of the telemetry in bytes."""
    return acme_ipmi.expected_bytes(scale) + sum(
        _expected_bytes(cluster, metric, scale)
        for cluster in CLUSTERS.values()
        for metric in (*GPU_NAMES, *NODE_NAMES)
    )


def _expected_bytes(cluster: Cluster, metric: str, scale: float) -> int:
    nodes = cluster.nodes_at(scale)
    devices = nodes if metric in NODE_NAMES else nodes * GPUS_PER_NODE
    cell = _XID_CELL_BYTES if metric == acme_xid.NAME else mean_bytes(cluster.name, metric)
    name = len(cluster.network) + _NAME_BYTES
    return round(cluster.lines_at(metric, scale) * (STAMP_BYTES + 1 + devices * cell) + devices * name)


def _devices(cluster: Cluster, metric: str, nodes: int, seed: int) -> tuple[list[str], Ints]:
    """Return the names and nodes of a metric's devices; metrics with the same seed have the same order."""
    per_node = 1 if metric in NODE_NAMES else GPUS_PER_NODE
    # The devices are shuffled, because the publisher's columns are not sorted.
    device = np.random.default_rng([seed, per_node]).permutation(nodes * per_node)
    node_of = device // per_node
    names = [
        _name(cluster, metric, node, gpu)
        for node, gpu in zip(node_of.tolist(), (device % per_node).tolist(), strict=True)
    ]
    if (cluster.name, metric) == _WITH_POD_NAME:
        names[-1] = _POD_NAME
    return names, node_of


def _name(cluster: Cluster, metric: str, node: int, gpu: int) -> str:
    address = f"{cluster.network}.{node // 200}.{1 + node % 200}"
    if metric in NODE_NAMES:
        return address + (cluster.ib_suffix if metric in _IB_NAMES else "")
    if (cluster.name, metric) == _WITH_BARE_NAMES and gpu == 0 and node % _BARE_EVERY == 0:
        return address
    return f"{address}-{gpu}"


def _cells(cluster: Cluster, metric: str, node_of: Ints, when: Ints, seed: int) -> Cells:
    if metric == acme_xid.NAME:
        return acme_xid.XidCells(node_of, when, seed, cluster.has_burst)
    return MetricCells(cluster.name, metric, len(node_of), seed)


def _files(cluster: Cluster, metric: str, count: int, when: Ints) -> list[tuple[str, Ints, Ints]]:
    """Return the suffix of the name, the slots and the devices of each file of a metric."""
    devices = np.arange(count)
    if (cluster.name, metric) == _BY_MONTH:
        # Each month lacks some devices, and some lines are in both files.
        some, august = max(1, count // 16), int(np.searchsorted(when, slot_of("2023-08-01T00:00:00")))
        return [
            ("-2023-07", when[:august], devices[:-some]),
            ("-2023-08", when[max(0, august - _LINES_IN_BOTH) :], devices[some:]),
        ]
    if (cluster.name, metric) == _WITH_REPEATED_COLUMNS:
        start, stop = np.searchsorted(when, [slot_of(_REPEATED_FROM), slot_of(_REPEATED_TO) + 1])
        return [
            ("-2023-07-01T0000", when[:start], devices),
            ("-2023-07-19T1135", when[start:stop], np.concatenate([devices, devices[::2]])),
            ("-2023-07-19T1401", when[stop:], devices),
        ]
    return [("", when, devices)]

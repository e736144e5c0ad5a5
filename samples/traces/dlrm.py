"""Synthetic DLRM: instances of services on CPU and GPU nodes.

The sample has the properties of the original that views and caveats are about: the shares of roles and
services; one GPU for each instance on a GPU node; limits that equal requests, except for disk; times that are
empty if they are before or after the trace. Everything else is invented.
"""

from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.files import OnBytes, write_csv

INSTANCES, ON_GPU_NODES, SERVICES = 23_871, 7_386, 156
BEFORE_THE_TRACE, AFTER_THE_TRACE = 7_280 / INSTANCES, 8_878 / INSTANCES
LAST_S = 2_677_541
BYTES_PER_INSTANCE = 90


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the CSV below `folder`, and return its path in a list."""
    count = draw.scaled(INSTANCES, scale, 40)
    has_gpu = rng.random(count) < ON_GPU_NODES / INSTANCES
    cpus = rng.choice([8, 64, 96], count)
    memory = draw.floats(cpus * 5.0)
    disk = rng.choice([200.0, 300.0, 480.0], count)
    rdma = rng.choice([1, 25, 50], count)
    created = np.sort(rng.integers(0, LAST_S, count)).astype(float)
    scheduled = np.minimum(created + np.floor(draw.lognormal(rng, count, 5.0, 2.0)), LAST_S)
    deleted = scheduled + np.floor(draw.lognormal(rng, count, 8_000.0, 2.0))
    is_early, is_late = rng.random(count) < BEFORE_THE_TRACE, rng.random(count) < AFTER_THE_TRACE
    frame = pl.DataFrame(
        {
            "instance_sn": [f"instance_{number}" for number in range(count)],
            "role": np.where(has_gpu, "HN", "CN"),
            "app_name": [f"app_{number}" for number in rng.integers(0, SERVICES, count)],
            "cpu_request": cpus,
            "cpu_limit": cpus,
            "gpu_request": has_gpu.astype(int),
            "gpu_limit": has_gpu.astype(int),
            "rdma_request": rdma,
            "rdma_limit": rdma,
            "memory_request": memory,
            "memory_limit": memory,
            "disk_request": disk * 0.8,
            "disk_limit": disk,
            "max_instance_per_node": rng.choice([-1, 2, 4], count),
            "creation_time": pl.Series(created).set(pl.Series(is_early), None),
            "scheduled_time": pl.Series(scheduled).set(pl.Series(is_early), None),
            "deletion_time": pl.Series(deleted).set(pl.Series(is_late | (deleted > LAST_S)), None),
        }
    )
    return [write_csv(folder / "disaggregated_DLRM_trace.csv", frame, on_bytes)]


SAMPLER = Sampler(write, lambda scale: round(INSTANCES * BYTES_PER_INSTANCE * scale))

"""Synthetic spot GPU trace: the nodes of six GPU models, and jobs of high priority (HP) and on spot GPUs.

The sample has the properties of the original that views and caveats are about: the nodes of each model and
their GPUs, with gaps in the numbers of nodes; jobs with several workers; HP jobs that began before the trace,
with a submission at 0, and jobs that still run at its end; a demand for more A10s than exist. Everything else
is invented.
"""

from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.files import OnBytes, write_csv

JOBS, LEAST_JOBS = 466_867, 120
LAST_S = 184 * 86_400 - 1
FIRST_JOB = 239_255
ORGANIZATIONS = 60
BYTES_PER_JOB, BYTES_OF_NODES = 45, 80_000
SPOT_SHARE, BEFORE_SHARE = 0.3, 0.02
SKIPPED_NUMBERS = 63
# GPU model, GPUs of a node, vCPUs of a node, and the number of nodes.
NODES = (
    ("A10", 1, 128, 2_494),
    ("A100-SXM4-80GB", 8, 128, 432),
    ("A800-SXM4-80GB", 8, 128, 22),
    ("GPU-series-1", 1, 192, 902),
    ("GPU-series-1", 4, 192, 10),
    ("GPU-series-1", 8, 192, 77),
    ("GPU-series-2", 8, 192, 122),
    ("H800", 8, 192, 219),
)
# By GPU model: the relative number of jobs that request it, and their median run time in s.
DEMAND = {
    "A10": (55, 9_000),
    "A100-SXM4-80GB": (20, 6_000),
    "A800-SXM4-80GB": (2, 6_000),
    "GPU-series-1": (12, 8_000),
    "GPU-series-2": (5, 5_000),
    "H800": (6, 7_000),
}
GPUS_OF_WORKER = {1: 75, 2: 8, 4: 6, 8: 11}
WORKERS = {1: 70, 2: 12, 4: 8, 8: 5, 16: 3, 94: 1}


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both CSVs below `folder`, and return the paths. The scale does not change the number of nodes."""
    jobs = _jobs(draw.scaled(JOBS, scale, LEAST_JOBS), rng)
    return [
        write_csv(folder / "node_info_df.csv", _nodes(rng), on_bytes),
        write_csv(folder / "job_info_df.csv", jobs, on_bytes),
    ]


def _nodes(rng: np.random.Generator) -> pl.DataFrame:
    shape = draw.spread(rng, sum(count for *_, count in NODES), [count for *_, count in NODES])
    numbers = rng.permutation(len(shape) + SKIPPED_NUMBERS)[: len(shape)]
    return pl.DataFrame(
        {
            "gpu_model": draw.labels(shape, [model for model, *_ in NODES]),
            "gpu_capacity_num": np.array([gpus for _, gpus, _, _ in NODES])[shape],
            "cpu_num": np.array([cpus for _, _, cpus, _ in NODES])[shape],
            "node_name": np.sort(numbers),
        }
    )


def _jobs(count: int, rng: np.random.Generator) -> pl.DataFrame:
    model = draw.spread(rng, count, [jobs for jobs, _ in DEMAND.values()])
    median = np.array([seconds for _, seconds in DEMAND.values()])[model]
    # A node has only one A10, so a worker has one too.
    gpus = draw.shares(rng, GPUS_OF_WORKER, count)
    gpus[model == list(DEMAND).index("A10")] = 1
    workers = draw.shares(rng, WORKERS, count)
    submit = draw.arrivals(rng, count, 0, LAST_S)
    is_early = np.arange(count) < max(2, round(count * BEFORE_SHARE))
    submit[is_early] = 0
    is_spot = draw.mask_of(count, rng.permutation(count)[: round(count * SPOT_SHARE)]) & ~is_early
    median = np.where(is_early, 100 * median, median)
    lasted = np.ceil(draw.lognormal(rng, count, median, 1.8)).astype(np.int64)
    lasted[0] = LAST_S
    return pl.DataFrame(
        {
            "job_name": FIRST_JOB + np.arange(count),
            "organization": draw.heavy_users(rng, count, ORGANIZATIONS),
            "gpu_model": draw.labels(model, list(DEMAND)),
            "cpu_request": draw.floats(gpus * 8.0),
            "gpu_request": draw.floats(gpus),
            "worker_num": workers,
            "submit_time": submit,
            "duration": np.minimum(lasted, LAST_S - submit),
            "job_type": draw.labels(is_spot.astype(np.int64), ["HP", "Spot"]),
        }
    )


SAMPLER = Sampler(write, lambda scale: round(JOBS * BYTES_PER_JOB * scale) + BYTES_OF_NODES)

"""Synthetic Zeus: training runs, power measurements on four GPUs, and a schedule of recurring jobs.

Known pitfalls: runs that did not reach a target; targets of librispeech are word error rates, so lower ones
are harder; learning rates in several notations; a power above the limit; measurements without a run, runs
without a measurement, and batch sizes that do not fit on a small GPU.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from tracehouse.ingest.traces.zeus import ALIBABA_GROUP, POWER, TRAIN
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

ACCURACIES = tuple(round(0.05 * step, 2) for step in range(1, 20))
LEAST_SIZES = 3


class Workload(NamedTuple):
    """A data set and network. The runs of the first batch size, which is the default, reach all targets.

    The last numbers are the epochs to the hardest target, the time of an epoch on a V100 (s), and its power
    (W).
    """

    dataset: str
    network: str
    optimizer: str
    sizes: tuple[int, ...]
    targets: tuple[float, ...]
    epochs: float
    epoch_s: float
    watts: float


# fmt: off
WORKLOADS = (
    Workload("cifar100", "shufflenetv2", "adadelta", (1024, 8, 128, 16, 2048, 256, 32, 4096, 512, 64),
             ACCURACIES, 60, 9.0, 180),
    Workload("imagenet", "resnet50", "adadelta", (256, 64, 512, 1024, 128, 192, 360),
             ACCURACIES, 30, 4_700.0, 235),
    Workload("librispeech", "deepspeech2", "adamw", (192, 32, 2, 256, 512, 12, 128, 156, 16, 24, 4, 48, 56),
             (65.0, 60.0, 55.0, 50.0, 45.0, 40.0, 35.0), 12, 2_900.0, 190),
    Workload("movielens-1m", "ncf", "adam", (1024, 4, 16384, 128, 16, 2048, 256, 32, 4096, 512, 64, 8, 8192),
             (0.3, 0.325, 0.35, 0.375, 0.4, 0.41, 0.42), 14, 7.0, 75),
    Workload("squad", "bert_base_uncased", "adamw", (32, 12, 8, 16, 24, 4, 48, 56),
             (82.5, 83.0, 83.5, 84.0, 84.5, 85.0, 85.5, 86.0), 4, 2_400.0, 228),
    Workload("sentiment140", "bert_base_uncased", "adamw", (128, 64, 32, 16, 40, 48, 56, 8),
             (0.82, 0.825, 0.83, 0.835, 0.84, 0.845, 0.85, 0.852), 5, 2_700.0, 224),
)
# By GPU: its power limits (W), its speed relative to a V100, and the largest batch size that fits, relative
# to the workload's largest.
GPUS = {
    "a40": (range(100, 301, 25), 1.5, 1.0),
    "p100": (range(125, 251, 25), 0.55, 0.25),
    "rtx6000": ((*range(100, 251, 25), 260), 0.9, 0.5),
    "v100": (range(100, 251, 25), 1.0, 1.0),
}
# fmt: on
# A batch size whose power was measured, but which has no run; and one that has a run, but no power.
POWER_ONLY, TRAIN_ONLY = ("imagenet", 16), ("squad", 8)


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the summaries and the schedule."""
    runs = [
        {"run": run, **result}
        for workload in WORKLOADS
        for size in _sizes(workload, scale)
        for run in range(1, 6)
        for result in _results(workload, size, rng)
    ]
    out.add(TRAIN, pl.DataFrame(runs))
    for gpu in GPUS:
        out.add(POWER, pl.DataFrame(_measurements(gpu, scale, rng)), gpu=gpu)
    rows = sampled(ALIBABA_GROUP, row_count(ALIBABA_GROUP, scale), rng)
    seconds = (pl.col("runtime_ratio") * pl.col("dataset").str.len_chars() * 700).cast(pl.Int64)
    rows = rows.with_columns(
        end_time=pl.col("start_time") + seconds,
        runtime_ratio=seconds / seconds.mean().over("dataset"),
    )
    out.add(ALIBABA_GROUP, rows.sort("group", "start_time"), packing=".xz")


def _sizes(workload: Workload, scale: float) -> tuple[int, ...]:
    return workload.sizes[: draw.scaled(len(workload.sizes), min(scale, 1), LEAST_SIZES)]


def _configuration(workload: Workload, size: int) -> dict[str, object]:
    return {
        "dataset": workload.dataset,
        "network": workload.network,
        "batch_size": size,
        "optimizer": workload.optimizer,
    }


def _results(workload: Workload, size: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return the epoch in which a run reached each target, or None."""
    steps = len(workload.targets)
    reached = steps if size == workload.sizes[0] else rng.integers(steps // 2, steps + 1)
    hardest = workload.epochs * rng.lognormal(0.2, 0.2)
    rate = "1e-1" if workload.optimizer == "adadelta" else f"{1e-5 * size**0.5:.2e}"
    return [
        _configuration(workload, size)
        | {
            "learning_rate": rate if workload.dataset == "librispeech" else rate.replace("e-0", "e-"),
            "target_metric": target,
            "target_epoch": max(1, round(hardest * (step / steps) ** 2.5)) if step <= reached else None,
        }
        for step, target in enumerate(workload.targets, 1)
    ]


def _measurements(gpu: str, scale: float, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return the time of an epoch (s) and the mean power (W) of each workload at each power limit (W)."""
    limits, speed, largest = GPUS[gpu]
    found = []
    for workload in WORKLOADS:
        sizes = [size for size in _sizes(workload, scale) if size <= largest * max(workload.sizes)]
        sizes += [size for dataset, size in (POWER_ONLY,) if dataset == workload.dataset]
        watts = workload.watts * limits[-1] / 250
        for size in sizes:
            for limit in () if (workload.dataset, size) == TRAIN_ONLY else limits:
                # Small batches take longer, and so do epochs that a limit slows down.
                slower = 1 + 1 / np.log2(size) + max(0.0, watts / limit - 1) / 2
                found.append(
                    _configuration(workload, size)
                    | {
                        "power_limit": limit,
                        "time_per_epoch": workload.epoch_s / speed * slower * rng.uniform(0.99, 1.01),
                        "average_power": min(watts, limit) * rng.uniform(0.94, 1.01),
                    }
                )
    return found

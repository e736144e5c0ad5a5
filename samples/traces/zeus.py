"""Synthetic Zeus: training runs, power measurements on four GPUs, and a schedule of recurring jobs.

The sample has the properties of the original that views and caveats are about:

- Six workloads have their batch sizes, and different numbers of repetitions.
- Some runs did not reach a target. The targets of librispeech are word error rates: lower ones are harder.
- Learning rates have several notations.
- Only the name of a file says which GPU was measured. Some power limits are missing.
- The average power can exceed the limit.
- Some measurements have no run, and some runs have no measurement. Only small batches fit on small GPUs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.files import OnBytes, write_csv, write_csv_xz

BYTES = 2_000_000
# With fewer batch sizes, the sample would not have all of these properties.
LEAST_BATCH_SIZES = 3
REPETITIONS = 5
# The standard deviation of the share of targets that runs reach, and the loss of this share for each factor
# of two between the batch size and the best one.
REACH_SPREAD, REACH_LOSS = 0.06, 0.02
# A GPU cannot keep a power limit that would cut its power by more than this share.
UNHOLDABLE_CUT = 0.55

GROUPS, GROUP_JOBS = 400, 20_000
FIRST_START_S, LAST_START_S = 494_319, 6_455_919


@dataclass(frozen=True)
class Workload:
    """A data set and network, its training parameters, and the targets that runs reach.

    `batch_sizes` begin with the one that the publisher compares others with, followed by those with an
    unusual number of repetitions. `reach` is the share of the targets that a typical run reaches; runs with
    the first batch size always reach `sure_target`. `epochs` is the number of epochs to the hardest target at
    the best batch size, `epoch_s` the time of such an epoch on a V100 at full power, and `watts` its power.
    """

    dataset: str
    network: str
    optimizer: str
    batch_sizes: tuple[int, ...]
    targets: tuple[float, ...]
    sure_target: float
    reach: float
    epochs: float
    best_batch_size: int
    epoch_s: float
    watts: float
    learning_rate: float
    repetitions: dict[int, int] = field(default_factory=dict)


_ACCURACIES = tuple(round(0.05 * step, 2) for step in range(1, 20))

# fmt: off
WORKLOADS = (
    Workload(
        "cifar100", "shufflenetv2", "adadelta",
        (1024, 8, 128, 16, 2048, 256, 32, 4096, 512, 64),
        _ACCURACIES, 0.60, 0.80, 60, 128, 9.0, 180, 1e-1, {1024: 10, 8: 4},
    ),
    Workload(
        "imagenet", "resnet50", "adadelta",
        (256, 64, 512, 1024, 128, 192, 360),
        _ACCURACIES, 0.65, 0.78, 30, 256, 4_700.0, 235, 1e-1, {64: 4, 512: 1, 1024: 1},
    ),
    Workload(
        "librispeech", "deepspeech2", "adamw",
        (192, 32, 2, 256, 512, 12, 128, 156, 16, 24, 4, 48, 56, 64, 72, 8, 96),
        (65.0, 60.0, 55.0, 50.0, 45.0, 40.0, 35.0), 40.0, 0.97, 12, 48, 2_900.0, 190, 2.6e-4,
        {2: 2, 256: 2, 512: 3, 16: 4, 4: 4, 8: 4},
    ),
    Workload(
        "movielens-1m", "ncf", "adam",
        (1024, 4, 16384, 128, 16, 2048, 256, 32, 4096, 512, 64, 8, 8192),
        (0.3, 0.325, 0.35, 0.375, 0.4, 0.41, 0.42), 0.41, 1.02, 14, 16384, 7.0, 75, 2e-3, {4: 3},
    ),
    Workload(
        "squad", "bert_base_uncased", "adamw",
        (32, 12, 8, 16, 24, 4, 48, 56),
        (82.5, 83.0, 83.5, 84.0, 84.5, 85.0, 85.5, 86.0), 84.0, 0.93, 4, 12, 2_400.0, 228, 4.9e-6,
        dict.fromkeys((32, 12, 8, 16, 24, 4, 48, 56), 10),
    ),
    Workload(
        "sentiment140", "bert_base_uncased", "adamw",
        (128, 64, 32, 16, 40, 48, 56, 8),
        (0.82, 0.825, 0.83, 0.835, 0.84, 0.845, 0.85, 0.852), 0.84, 0.95, 5, 64, 2_700.0, 224, 4e-7,
        dict.fromkeys((128, 64, 32, 16, 40, 48, 56, 8), 10),
    ),
)
# fmt: on
# Batch sizes whose power was measured, but which have no run.
POWER_ONLY = {"imagenet": (8, 16, 32)}
ADAM_DATASET = "cifar100"


@dataclass(frozen=True)
class Gpu:
    """A GPU: its power limits (W), its speed relative to a V100, and the batch sizes measured on it.

    `overshoot` is the largest share by which power exceeds a limit that the GPU cannot keep. `largest` is the
    largest batch size that fits, by data set. `unmeasured` are smaller batch sizes that were not measured,
    and `more` are additional ones. `short` is the number of configurations that were measured only at the
    first limits, and the number of these limits.
    """

    name: str
    limits: tuple[int, ...]
    speed: float
    overshoot: float
    largest: dict[str, int]
    unmeasured: dict[str, tuple[int, ...]]
    more: dict[str, tuple[int, ...]] = field(default_factory=dict)
    short: tuple[int, int] = (0, 0)
    has_adam: bool = False


GPUS = (
    Gpu(
        "a40",
        tuple(range(100, 301, 25)),
        1.5,
        0.2,
        {"imagenet": 512, "librispeech": 192},
        {
            "librispeech": (2, 4, 12, 24, 48, 56, 72, 96, 156),
            "movielens-1m": (4,),
            "squad": (4,),
            "sentiment140": (40, 48, 56),
        },
        {"cifar100": (8192,), "movielens-1m": (32768,), "squad": (72,), "sentiment140": (256,)},
        short=(6, 5),
    ),
    Gpu(
        "p100",
        tuple(range(125, 251, 25)),
        0.55,
        0.0,
        {"imagenet": 128, "squad": 24, "librispeech": 72, "sentiment140": 64},
        {"sentiment140": (40, 48, 56), "librispeech": (2, 56), "squad": (4,)},
    ),
    Gpu(
        "rtx6000",
        (*range(100, 251, 25), 260),
        0.9,
        0.0,
        {"imagenet": 256, "librispeech": 128, "cifar100": 2048, "sentiment140": 64},
        {"squad": (4, 56), "sentiment140": (40, 48, 56)},
        short=(1, 2),
    ),
    Gpu(
        "v100",
        tuple(range(100, 251, 25)),
        1.0,
        0.021,
        {"imagenet": 360, "librispeech": 192, "sentiment140": 128},
        {"squad": (4,), "sentiment140": (40, 48, 56)},
        has_adam=True,
    ),
)

CONFIG = ("dataset", "network", "batch_size", "optimizer")
TRAIN_COLUMNS = (*CONFIG, "learning_rate", "run", "target_metric", "target_epoch")
POWER_COLUMNS = (*CONFIG, "power_limit", "time_per_epoch", "average_power")


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the summaries and the schedule below `folder`, and return the paths."""
    return [
        write_csv(folder / "summary_train.csv", _train(scale, rng), on_bytes),
        *(
            write_csv(folder / f"summary_power_{gpu.name}.csv", _power(gpu, scale, rng), on_bytes)
            for gpu in GPUS
        ),
        write_csv_xz(folder / "alibaba_groups.csv.xz", _alibaba_groups(scale, rng), on_bytes),
    ]


def _batch_sizes(workload: Workload, scale: float) -> tuple[int, ...]:
    """Return the batch sizes of a sample at this scale, in the order of the published files."""
    count = min(draw.scaled(len(workload.batch_sizes), scale, LEAST_BATCH_SIZES), len(workload.batch_sizes))
    return tuple(sorted(workload.batch_sizes[:count], key=str))


def _train(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    rows = [
        (
            workload.dataset,
            workload.network,
            size,
            workload.optimizer,
            _learning_rate(workload, size),
            *result,
        )
        for workload in WORKLOADS
        for size in _batch_sizes(workload, scale)
        for run in range(1, workload.repetitions.get(size, REPETITIONS) + 1)
        for result in _results(workload, size, run, rng)
    ]
    return pl.DataFrame(rows, schema=TRAIN_COLUMNS, orient="row")


def _learning_rate(workload: Workload, size: int) -> str:
    if workload.optimizer == "adadelta":
        return "1e-1"
    rate = workload.learning_rate * (size / workload.batch_sizes[0]) ** 0.5
    text = f"{rate:.2e}"
    return text if workload.dataset == "librispeech" else text.replace("e-0", "e-")


def _results(
    workload: Workload, size: int, run: int, rng: np.random.Generator
) -> Iterator[tuple[int, float, str]]:
    """Yield for each target: the number of the run, the target, and the epoch that reached it, or `nan`."""
    distance = abs(np.log2(size / workload.best_batch_size))
    steps = len(workload.targets)
    reach = steps * (rng.normal(workload.reach, REACH_SPREAD) - REACH_LOSS * distance)
    if size == workload.batch_sizes[0]:
        reach = max(reach, workload.targets.index(workload.sure_target) + 1)
    hardest = workload.epochs * (1 + 0.12 * distance**1.5) * rng.lognormal(0.0, 0.12)
    for step, target in enumerate(workload.targets, 1):
        epoch = max(1, round(hardest * (step / steps) ** 2.5))
        yield run, target, str(epoch) if step <= reach else "nan"


def _measured_configs(gpu: Gpu, workload: Workload, scale: float) -> list[tuple[int, str]]:
    """Return the batch sizes and optimizers of a workload that were measured on a GPU."""
    dataset = workload.dataset
    fits = [
        size
        for size in _batch_sizes(workload, scale)
        if size <= gpu.largest.get(dataset, size) and size not in gpu.unmeasured.get(dataset, ())
    ]
    fits += [*POWER_ONLY.get(dataset, ()), *gpu.more.get(dataset, ())]
    rows = [(size, workload.optimizer) for size in sorted(fits, key=str)]
    if gpu.has_adam and dataset == ADAM_DATASET:
        rows += [(size, "adam") for size in sorted(fits, key=str)]
    return rows


def _power(gpu: Gpu, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    configs = [
        (workload, size, optimizer)
        for workload in WORKLOADS
        for size, optimizer in _measured_configs(gpu, workload, scale)
    ]
    short_configs, short_limits = gpu.short
    rows = []
    for number, (workload, size, optimizer) in enumerate(configs):
        few = number >= len(configs) - short_configs
        for limit in gpu.limits[: short_limits if few else None]:
            name = (workload.dataset, workload.network, size, optimizer, limit)
            rows.append((*name, *_measurement(gpu, workload, size, limit, rng)))
    return pl.DataFrame(rows, schema=POWER_COLUMNS, orient="row", infer_schema_length=None)


def _measurement(
    gpu: Gpu, workload: Workload, size: int, limit: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw the time of an epoch (s) and the average power (W) at a power limit (W)."""
    most = gpu.limits[-1]
    distance = np.log2(workload.best_batch_size / size)
    wanted = min(workload.watts * most / 250 * (1 - 0.05 * max(distance, 0.0)), most)
    throttled = max(0.0, 1 - limit / wanted)
    small_batch = 1 + 0.35 * max(distance, 0.0)
    seconds = workload.epoch_s / gpu.speed * small_batch * (1 + 1.1 * throttled**1.6)
    held = rng.uniform(0.97, 0.999)
    if gpu.overshoot and throttled > UNHOLDABLE_CUT:
        held = 1 + gpu.overshoot * rng.uniform(0.05, 1.0)
    watts = min(wanted * rng.uniform(0.94, 0.99), limit * held)
    return float(seconds * rng.uniform(0.99, 1.01)), float(watts)


def _alibaba_groups(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return the schedule of recurring jobs (times in s); all jobs of a group have the same data set."""
    jobs = draw.scaled(GROUP_JOBS, scale, 60)
    groups = draw.scaled(GROUPS, scale, 2 * len(WORKLOADS))
    group = np.sort(draw.heavy_users(rng, jobs, groups))
    dataset = draw.spread(rng, groups, np.ones(len(WORKLOADS)))[group]
    start = rng.permutation(draw.arrivals(rng, jobs, FIRST_START_S, LAST_START_S, utc_offset_h=8))
    ratio = draw.lognormal(rng, jobs, 0.9, 0.35)
    duration = (3_000.0 * (1 + dataset) * ratio).astype(np.int64)
    mean = np.bincount(dataset, duration) / np.bincount(dataset)
    names = pl.Series([workload.dataset for workload in WORKLOADS])
    return pl.DataFrame(
        {
            "group": draw.hex_ids(group, int(rng.integers(2**63)), 32),
            "start_time": draw.floats(start),
            "end_time": draw.floats(start + duration),
            "dataset": names.gather(dataset),
            "runtime_ratio": draw.floats(duration / mean[dataset]),
        }
    ).sort("group", "start_time")


SAMPLER = Sampler(write, lambda scale: round(BYTES * scale))

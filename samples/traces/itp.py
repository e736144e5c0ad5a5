"""Synthetic ITP: job traces of ten clusters, and the same jobs with made-up models and deadlines.

The sample has the properties of the original that views and caveats are about:

- There are two archives, with files that do not end in a newline.
- Each cluster has its jobs, GPU-hours, job sizes and arrival times. The shortest duration is 600 s.
- A deadline is submission + λ·duration, truncated to whole seconds, with λ uniform from 0.5 to 1.5.
- Iterations are duration × throughput, which depends on model, batch size and GPUs.
- The jobs of `195job.csv` are also in cluster02, with the same submission, duration and GPUs, and with other
  values in the other columns.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import Ints
from tracehouse.samples.files import Member, OnBytes, csv_bytes, write_tar_gz

BYTES = 9_000_000
SHORTEST_S, LONGEST_S = 600, 1_573_360
LEAST_JOBS = 25
TESTBED_CLUSTER = "02"
TESTBED_JOBS, LEAST_TESTBED_JOBS = 195, 12
TESTBED_FIRST_SHARE = 0.6

# Larger jobs run longer, so that a few large jobs hold most of the GPU-hours.
LARGER_RUN_LONGER = 0.6

TIGHTNESS = (0.5, 1.5)

LICENSE_TEXT = b"    Synthetic data, made up by tracehouse.\r\n\r\n    No publisher's licence applies.\r\n"


@dataclass(frozen=True)
class Cluster:
    """One cluster: its jobs, their GPU-hours, first and last submission (s), and jobs by requested GPUs."""

    name: str
    jobs: int
    gpu_hours: float
    first_s: int
    last_s: int
    jobs_by_gpus: dict[int, int]


# fmt: off
CLUSTERS = (
    Cluster("01", 1_595, 22_740.1, 1_932_025, 4_848_400,
            {1: 1530, 2: 11, 4: 6, 8: 5, 16: 6, 32: 11, 64: 26}),
    Cluster("02", 5_778, 123_748.4, 5_010, 5_166_386,
            {1: 4937, 2: 102, 4: 301, 8: 352, 16: 36, 32: 36, 64: 14}),
    Cluster("03", 3_011, 165_442.5, 911_907, 5_175_336,
            {1: 1014, 2: 85, 8: 1777, 16: 94, 32: 24, 64: 17}),
    Cluster("04", 15_802, 705_682.9, 5_810, 5_142_627,
            {1: 11924, 2: 125, 4: 532, 8: 2779, 16: 182, 32: 254, 64: 6}),
    Cluster("05", 3_629, 14_303.1, 9_940, 5_130_398, {1: 3465, 2: 50, 4: 37, 8: 77}),
    Cluster("06", 2_396, 123_878.7, 16_566, 5_168_464,
            {1: 1073, 2: 6, 4: 148, 8: 1082, 16: 59, 32: 20, 64: 8}),
    Cluster("07", 12_699, 366_799.8, 1_999, 5_137_938, {1: 9854, 2: 836, 4: 1071, 8: 936, 16: 2}),
    Cluster("08", 13_047, 67_100.0, 3_793, 3_667_158, {1: 12558, 2: 217, 4: 262, 8: 1, 32: 9}),
    Cluster("09", 11_134, 39_000.8, 2_816, 4_534_015, {1: 11134}),
    Cluster("10", 260, 4_023.5, 2_266_747, 5_104_565, {1: 193, 2: 51, 4: 14, 16: 2}),
)
# fmt: on

MODELS = ("bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16")
# Invented iterations per second of each model at its smallest batch size on one GPU.
BASE_RATE = np.array([6.4, 3.3, 4.1, 9.2, 11.8, 7.5])
SMALLEST_BATCH = np.array([64, 32, 128, 64, 64, 64])
BATCH_DOUBLINGS = 3


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both archives below `folder`, and return the paths."""
    salt = int(rng.integers(2**63))
    raw: list[Member] = []
    extended: list[Member] = []
    first_id = 0
    for cluster in CLUSTERS:
        jobs = _jobs(cluster, scale, rng, first_id, salt)
        first_id += jobs.height
        with_models = _with_models(jobs, rng)
        raw.append(_member(f"cluster{cluster.name}.csv", jobs))
        extended.append(_member(f"cluster{cluster.name}.csv", with_models))
        if cluster.name == TESTBED_CLUSTER:
            extended.append(_member("195job.csv", _testbed(jobs, with_models, scale, rng)))
    licence = Member("LICENSE", LICENSE_TEXT)
    archives = (("raw-traces.tar.gz", raw), ("elasticflow-traces.tar.gz", extended))
    on_bytes(sum(len(member.content) for member in (*raw, *extended) if isinstance(member.content, bytes)))
    return [write_tar_gz(folder / "data" / name, [*members, licence]) for name, members in archives]


def _member(name: str, frame: pl.DataFrame) -> Member:
    # The published files have no newline at the end.
    return Member(name, csv_bytes(frame).removesuffix(b"\n"))


def _jobs(cluster: Cluster, scale: float, rng: np.random.Generator, first_id: int, salt: int) -> pl.DataFrame:
    count = draw.scaled(cluster.jobs, scale, LEAST_JOBS)
    gpus = draw.shares(rng, cluster.jobs_by_gpus, count)
    gpu_seconds = cluster.gpu_hours * 3600 * count / cluster.jobs
    return pl.DataFrame(
        {
            "job_id": draw.uuids(np.arange(first_id, first_id + count), salt),
            "submission_time": draw.arrivals(rng, count, cluster.first_s, cluster.last_s),
            "duration": _durations(rng, gpus, gpu_seconds),
            "num_gpu": gpus,
        }
    )


def _durations(rng: np.random.Generator, gpus: Ints, gpu_seconds: float) -> Ints:
    """Draw durations (s); the sum of duration × GPUs is about `gpu_seconds`."""
    tail = draw.lognormal(rng, len(gpus), gpus**LARGER_RUN_LONGER, 1.2)
    mean = gpu_seconds / gpus.sum()
    factor = max(mean - SHORTEST_S, 60.0) / np.average(tail, weights=gpus)
    durations = (SHORTEST_S + factor * tail).astype(np.int64).clip(SHORTEST_S, LONGEST_S)
    durations[rng.integers(len(durations))] = SHORTEST_S
    return durations


def _with_models(jobs: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    count = jobs.height
    model = rng.integers(0, len(MODELS), count)
    doublings = rng.integers(0, BATCH_DOUBLINGS, count)
    duration = jobs["duration"].to_numpy()
    # Invented iterations per second: fewer with larger batches, sublinear in the number of GPUs.
    rate = BASE_RATE[model] * 0.62**doublings * jobs["num_gpu"].to_numpy() ** 0.78
    tightness = rng.uniform(*TIGHTNESS, count)
    # One odd duration gets λ = 0.5, so that truncation gives a λ below 0.5.
    tightness[np.argmax(duration % 2)] = TIGHTNESS[0]
    deadline = (jobs["submission_time"].to_numpy() + tightness * duration).astype(np.int64)
    return jobs.select(
        "job_id",
        "submission_time",
        pl.Series("num_iteration", (duration * rate).astype(np.int64)),
        pl.Series("model_name", MODELS).gather(model),
        pl.Series("deadline", deadline),
        pl.Series("batch_size", SMALLEST_BATCH[model] << doublings),
        "num_gpu",
        "duration",
    )


def _testbed(
    jobs: pl.DataFrame, with_models: pl.DataFrame, scale: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Return consecutive jobs of a cluster, with redrawn models, batch sizes, iterations and deadlines."""
    count = draw.scaled(TESTBED_JOBS, scale, LEAST_TESTBED_JOBS)
    first = int((jobs.height - count) * TESTBED_FIRST_SHARE)
    redrawn = _with_models(jobs.slice(first, count), rng)
    same = redrawn["deadline"] == with_models["deadline"].slice(first, count)
    return redrawn.with_columns(pl.col("deadline") + same.cast(pl.Int64))


SAMPLER = Sampler(write, lambda scale: round(BYTES * scale))

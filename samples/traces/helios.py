"""Synthetic Helios: jobs of four clusters, and the GPUs of their virtual clusters (VC) on each day.

The sample has the properties of the original that views and caveats are about:

- Folders, columns and formats are those of the publisher. Times have no zone.
- Each cluster has the published numbers of jobs with and without a GPU, and of their states. Uranus has one
  SUSPENDED job.
- Several clusters use the same job ids, and some names of VCs and users.
- Most jobs do not wait.
- GPUs move between VCs. Some VCs have no GPU for months. The last column of their table is the total.

Everything else is invented.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import DAY_S, Ints
from tracehouse.samples.files import OnBytes, write_csv

FIRST_S, LAST_S = 1_585_699_200, 1_601_337_599  # 2020-04-01 to 2020-09-28, in local time
BYTES_PER_JOB = 110
FIRST_JOB_ID = 1_000_000
LEAST_JOBS = 40
USERS = 400
SHARED_VCS, OWN_VCS = 10, 12
GPUS_PER_NODE = 8
LONGEST_S = 4_320_009
JOBS_BY_GPUS = {1: 722, 2: 80, 4: 60, 8: 85, 16: 25, 32: 15, 64: 8, 128: 3, 256: 1.5, 512: 0.5}
AT_ONCE = 0.62
LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"))
STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "SUSPENDED")
SUSPENDED = STATES.index("SUSPENDED")


@dataclass(frozen=True)
class Cluster:
    """One cluster. States are given as completed, cancelled and failed jobs of 1,000."""

    name: str
    cpu_jobs: int
    gpu_jobs: int
    gpus: int
    cpu_states: tuple[int, int, int]
    gpu_states: tuple[int, int, int]
    cpu_run_median_s: float
    gpu_run_median_s: float
    has_suspended: bool = False


CLUSTERS = (
    Cluster("Earth", 445_738, 427_148, 997, (885, 5, 110), (735, 136, 129), 1, 234),
    Cluster("Saturn", 1_054_182, 698_896, 2_080, (943, 19, 38), (582, 272, 146), 2, 124),
    Cluster("Uranus", 161_192, 329_117, 2_119, (791, 116, 93), (607, 201, 192), 32, 280, True),
    Cluster("Venus", 121_405, 125_303, 1_022, (860, 97, 43), (526, 272, 202), 21, 204),
)


def _expected_bytes(scale: float) -> int:
    return round(sum(each.cpu_jobs + each.gpu_jobs for each in CLUSTERS) * BYTES_PER_JOB * scale) + 60_000


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both CSVs of each cluster below `folder`, and return the paths."""
    users = _names(rng, "u", 4, USERS)
    vcs = _names(rng, "vc", 3, SHARED_VCS + OWN_VCS * len(CLUSTERS))
    paths = []
    for number, cluster in enumerate(CLUSTERS):
        own = SHARED_VCS + OWN_VCS * number
        names = vcs[:SHARED_VCS] + vcs[own : own + OWN_VCS]
        of_cluster = folder / "data" / cluster.name
        jobs = _jobs(cluster, scale, users, names, rng)
        paths.append(write_csv(of_cluster / "cluster_log.csv", jobs, on_bytes))
        counts = _gpu_counts(cluster, names, rng)
        paths.append(write_csv(of_cluster / "cluster_gpu_number.csv", counts, on_bytes))
    return paths


def _names(rng: np.random.Generator, prefix: str, length: int, count: int) -> list[str]:
    """Draw `count` distinct names, each a prefix and `length` random letters."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[prefix + "".join(rng.choice(LETTERS, length))] = None
    return list(found)


def _jobs(
    cluster: Cluster, scale: float, users: list[str], vcs: list[str], rng: np.random.Generator
) -> pl.DataFrame:
    gpu_jobs = draw.scaled(cluster.gpu_jobs, scale, LEAST_JOBS)
    count = gpu_jobs + draw.scaled(cluster.cpu_jobs, scale, LEAST_JOBS)
    has_gpu = rng.permutation(count) < gpu_jobs
    gpus = np.zeros(count, dtype=np.int64)
    gpus[has_gpu] = draw.shares(rng, JOBS_BY_GPUS, gpu_jobs)
    state = np.empty(count, dtype=np.int64)
    state[has_gpu] = _states(cluster.gpu_states, gpu_jobs, rng)
    state[~has_gpu] = _states(cluster.cpu_states, count - gpu_jobs, rng)
    if cluster.has_suspended:
        state[count // 2] = SUSPENDED
    median = np.where(has_gpu, cluster.gpu_run_median_s, cluster.cpu_run_median_s)
    run = draw.lognormal(rng, count, median, 2.4).clip(0, LONGEST_S).astype(np.int64)
    wait = draw.lognormal(rng, count, 200, 2.0).astype(np.int64) * (rng.random(count) >= AT_ONCE)
    submit = draw.arrivals(rng, count, FIRST_S, LAST_S)
    start = submit + wait
    return pl.DataFrame(
        {
            "job_id": FIRST_JOB_ID + np.arange(count),
            "user": draw.labels(draw.heavy_users(rng, count, len(users)), users),
            "vc": draw.labels(draw.heavy_users(rng, count, len(vcs)), vcs),
            "gpu_num": gpus,
            "cpu_num": np.where(has_gpu, np.maximum(gpus * 4, 1), rng.choice((1, 2, 8), count)),
            "node_num": np.maximum(-(-gpus // GPUS_PER_NODE), 1),
            "state": draw.labels(state, STATES),
            "submit_time": draw.local_times(submit),
            "start_time": draw.local_times(start),
            "end_time": draw.local_times(start + run),
            "duration": run,
            "queue": wait,
        }
    )


def _states(shares: tuple[int, int, int], count: int, rng: np.random.Generator) -> Ints:
    """Draw the state of each job; of the failures, 5 % are timeouts and 1 % node failures."""
    completed, cancelled, failed = shares
    return draw.spread(rng, count, (completed, cancelled, 0.94 * failed, 0.05 * failed, 0.01 * failed))


def _gpu_counts(cluster: Cluster, vcs: list[str], rng: np.random.Generator) -> pl.DataFrame:
    """Return the GPUs of each VC and day. Every 30 days some move to another VC, and the cluster grows."""
    days = (LAST_S - FIRST_S) // DAY_S + 1
    nodes = draw.spread(rng, cluster.gpus // GPUS_PER_NODE, 1 / np.arange(2.0, len(vcs) + 2))
    held = np.bincount(nodes, minlength=len(vcs))
    held[-3:] = 0
    rows = np.empty((days, len(vcs)), dtype=np.int64)
    for day in range(days):
        if day % 30 == 29:
            giver, taker = int(np.argmax(held)), len(vcs) - 1 - day // 60
            moved = held[giver] // 4
            held[giver] -= moved
            held[taker] += moved + day // 90
        rows[day] = held * GPUS_PER_NODE
    dates = draw.local_times(FIRST_S + np.arange(days) * DAY_S).str.head(10)
    columns = {name: rows[:, place] for place, name in enumerate(vcs)}
    total = {"total": rows.sum(axis=1)}
    return pl.DataFrame({"date": dates, **columns, **total})


SAMPLER = Sampler(write, _expected_bytes)

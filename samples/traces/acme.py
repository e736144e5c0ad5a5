"""Synthetic Acme: the jobs of two clusters for large language models, the publisher's summary, telemetry.

Reproduced: Seren's times at +08:00 and Kalos' at +00:00; Kalos' four more columns and its own way
of writing numbers; a `duration` that is end - start in Seren and end - submit, the queue included, in
Kalos; `gpu_time` as duration × GPUs; the jobs with and without a GPU; the states, with preempted
ones in Seren only and running ones, which have no end, in Kalos only; timeouts and node failures; jobs
that were cancelled before they started; the kinds of job in their published shares of jobs and GPU
time, a few pretraining jobs holding most of it; evaluation jobs, though the smallest, waiting the longest.

`cluster_summary.csv` has the published columns, and values that were computed from these very jobs; all
that neither completed nor was cancelled counts as failed there. The telemetry is `acme_telemetry`'s matter.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples.declare import Sampler
from tracehouse.samples.draw import (
    Bools,
    Floats,
    Ints,
    arrivals,
    floats,
    hex_ids,
    labels,
    lognormal,
    mask_of,
    pick,
    scaled,
    spread,
    whole,
)
from tracehouse.samples.files import OnBytes, write_csv
from tracehouse.samples.traces import acme_telemetry

FIRST_SUBMIT_S, LAST_SUBMIT_S = 1_677_600_000, 1_693_497_599  # 2023-03-01 to 2023-08-31, +08:00
UTC_OFFSET_H = 8
# The fewest jobs of a kind among which every state and size occurs.
LEAST_GPU_JOBS, LEAST_CPU_JOBS = 200, 60
CANCELLED_BEFORE_START_SHARE = 0.03
# Long jobs are more often cancelled: a job's likelihood is its GPU time to this power.
LONG_JOBS_CANCELLED = 0.24
GPUS_PER_NODE = 8
RUN_SIGMA = 1.7
# Within a node, jobs of more GPUs run longer.
LARGER_RUN_LONGER = 0.5
CPU_AT_ONCE = 0.75

STATES = ("COMPLETED", "FAILED", "CANCELLED", "PREEMPTED", "TIMEOUT", "NODE_FAIL", "RUNNING")
COMPLETED, FAILED, CANCELLED, PREEMPTED, TIMEOUT, NODE_FAIL, RUNNING = range(7)
CPU_TYPE = "CPU"


@dataclass(frozen=True)
class Kind:
    """One type of GPU job: how many, their share of the GPU time, GPUs asked for, and how it waits.

    `at_once` is the share that waits no more than moments; the others wait `wait_median_s` or so.
    """

    name: str
    jobs: int
    gpu_time_share: float
    jobs_by_gpus: dict[int, float]
    run_median_s: float
    at_once: float
    wait_median_s: float


@dataclass(frozen=True)
class Cluster:
    """One cluster: its jobs by kind, GPU-hours, states of GPU and of CPU jobs, and how it writes them."""

    name: str
    kinds: tuple[Kind, ...]
    gpu_hours: float
    states: dict[int, float]
    cpu_jobs: int
    cpu_states: dict[int, float]
    cpu_run_median_s: float
    cpu_run_sigma: float
    cpu_wait_median_s: float
    shortest_wait_s: int
    moments_s: int
    longest_run_s: int
    users: int
    utc_offset_h: int
    duration_has_queue: bool


# fmt: off
SEREN = Cluster(
    name="Seren",
    kinds=(
        Kind("Eval", 292_433, 0.062, {1: 74, 2: 6, 4: 6, 8: 14}, 110, 0.476, 400),
        Kind("SFT", 67_138, 0.064, {1: 6, 2: 6, 4: 8, 8: 76, 16: 3, 32: 1}, 150, 0.605, 120),
        Kind("Other", 65_786, 0.076, {1: 36, 2: 6, 4: 8, 8: 45, 16: 3, 64: 2}, 150, 0.65, 90),
        Kind("MLLM", 13_067, 0.086, {1: 15, 8: 55, 16: 15, 32: 10, 64: 5}, 160, 0.727, 60),
        Kind("Debug", 8_561, 0.017, {1: 25, 8: 50, 16: 10, 64: 12, 256: 3}, 90, 0.848, 40),
        Kind("Pretrain", 3_605, 0.695, {8: 8, 64: 20, 128: 22, 256: 30, 512: 15, 1024: 5}, 300, 0.72, 60),
    ),
    gpu_hours=5_626_520,
    states={COMPLETED: 46.1, FAILED: 33.5, CANCELLED: 10.2, PREEMPTED: 9.7, TIMEOUT: 0.3, NODE_FAIL: 0.1},
    cpu_jobs=367_737,
    cpu_states={COMPLETED: 85.8, FAILED: 10.0, CANCELLED: 3.9, TIMEOUT: 0.3},
    cpu_run_median_s=14,
    cpu_run_sigma=2.8,
    cpu_wait_median_s=1,
    shortest_wait_s=0,
    moments_s=1,
    longest_run_s=1_209_604,
    users=160,
    utc_offset_h=8,
    duration_has_queue=False,
)
KALOS = Cluster(
    name="Kalos",
    kinds=(
        Kind("Eval", 18_474, 0.004, {1: 92.5, 2: 2, 4: 2, 8: 3.5}, 45, 0.473, 90),
        Kind("Pretrain", 637, 0.955, {8: 4, 64: 4, 128: 6, 256: 16, 512: 35, 1024: 35}, 900, 0.676, 90),
        Kind("Debug", 537, 0.016, {1: 20, 8: 30, 32: 20, 64: 15, 128: 10, 256: 5}, 150, 0.663, 90),
        Kind("Other", 253, 0.025, {1: 20, 8: 40, 32: 20, 128: 20}, 200, 0.764, 60),
        Kind("SFT", 6, 0.0002, {8: 1}, 600, 0.7, 60),
    ),
    gpu_hours=1_481_439,
    states={COMPLETED: 10_756, FAILED: 7_927, CANCELLED: 1_221, RUNNING: 3},
    cpu_jobs=42_506,
    cpu_states={COMPLETED: 36_555, FAILED: 5_909, CANCELLED: 42},
    cpu_run_median_s=10,
    cpu_run_sigma=2.0,
    cpu_wait_median_s=9,
    shortest_wait_s=3,
    moments_s=16,
    longest_run_s=625_740,
    users=90,
    utc_offset_h=0,
    duration_has_queue=True,
)
# fmt: on


@dataclass(frozen=True)
class Jobs:
    """The jobs of a cluster, in order of submission; times in Unix seconds.

    `queue` and `duration` in s are what the table says; `start` and `end` are NaN where it says nothing.
    """

    kind: Ints
    state: Ints
    gpus: Ints
    user: Ints
    submit: Ints
    start: Floats
    end: Floats
    queue: Floats
    duration: Ints

    @property
    def gpu_time(self) -> Ints:
        """GPU-seconds, by the published rule."""
        return self.duration * self.gpus


def expected_bytes(scale: float) -> int:
    """About how many bytes of text a sample has."""
    return round(112_000_000 * scale) + acme_telemetry.expected_bytes(scale)


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both job traces, the summary and the telemetry below `folder`."""
    return [
        *write_jobs(folder, scale, rng, on_bytes),
        *acme_telemetry.write_telemetry(folder / "data" / "utilization", scale, rng, on_bytes),
    ]


def write_jobs(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both job traces and the summary below `folder`."""
    salts = [int(salt) for salt in rng.integers(2**63, size=2)]
    seren, kalos = _jobs(SEREN, scale, rng), _jobs(KALOS, scale, rng)
    traces = folder / "data" / "job_trace"
    summary = pl.DataFrame([_summary(SEREN, seren), _summary(KALOS, kalos)])
    return [
        write_csv(traces / "trace_seren.csv", _seren_rows(seren, salts[0]), on_bytes),
        write_csv(traces / "trace_kalos.csv", _kalos_rows(kalos, salts[1], rng), on_bytes),
        write_csv(folder / "data" / "cluster_summary.csv", summary, on_bytes),
    ]


def _jobs(cluster: Cluster, scale: float, rng: np.random.Generator) -> Jobs:
    gpu_jobs = scaled(sum(kind.jobs for kind in cluster.kinds), scale, LEAST_GPU_JOBS)
    cpu_jobs = scaled(cluster.cpu_jobs, scale, LEAST_CPU_JOBS)
    count = gpu_jobs + cpu_jobs
    no_kind = len(cluster.kinds)
    kind = np.full(count, no_kind)
    on_gpu = mask_of(count, rng.permutation(count)[:gpu_jobs])
    kind[on_gpu] = spread(rng, gpu_jobs, [each.jobs for each in cluster.kinds])
    gpus, run, wait = _work(cluster, kind, rng)
    run = _to_gpu_hours(cluster, kind, gpus, run)
    state = np.full(count, COMPLETED)
    state[on_gpu] = _states(cluster.states, gpus[on_gpu] * run[on_gpu], rng)
    state[~on_gpu] = _states(cluster.cpu_states, run[~on_gpu], rng)
    submit = arrivals(rng, count, FIRST_SUBMIT_S, LAST_SUBMIT_S, UTC_OFFSET_H)
    user = spread(rng, count, 1 / np.arange(1, cluster.users + 1))
    start = submit + wait
    return _told(cluster, Jobs(kind, state, gpus, user, submit, start, start + run, wait, run), rng)


def _work(cluster: Cluster, kind: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """GPUs, run (s) and wait (s) of each job."""
    gpus = np.zeros(len(kind), dtype=np.int64)
    run = np.zeros(len(kind))
    wait = np.zeros(len(kind))
    for code, each in enumerate(cluster.kinds):
        mine = kind == code
        jobs = int(mine.sum())
        gpus[mine] = np.array(list(each.jobs_by_gpus))[spread(rng, jobs, list(each.jobs_by_gpus.values()))]
        longer = np.minimum(gpus[mine], GPUS_PER_NODE) ** LARGER_RUN_LONGER
        run[mine] = lognormal(rng, jobs, each.run_median_s * longer / longer.mean(), RUN_SIGMA)
        wait[mine] = _waits(cluster, each.at_once, each.wait_median_s, jobs, rng)
    cpu = kind == len(cluster.kinds)
    jobs = int(cpu.sum())
    run[cpu] = lognormal(rng, jobs, cluster.cpu_run_median_s, cluster.cpu_run_sigma)
    wait[cpu] = _waits(cluster, CPU_AT_ONCE, 4 * cluster.cpu_wait_median_s, jobs, rng)
    return gpus, run.clip(0, cluster.longest_run_s).astype(np.int64), wait


def _waits(cluster: Cluster, at_once: float, median_s: float, jobs: int, rng: np.random.Generator) -> Floats:
    moments = rng.integers(cluster.shortest_wait_s, cluster.moments_s + 1, jobs)
    longer = cluster.moments_s + 1 + lognormal(rng, jobs, median_s, 1.4)
    return np.floor(np.where(rng.random(jobs) < at_once, moments, longer))


def _to_gpu_hours(cluster: Cluster, kind: Ints, gpus: Ints, run: Ints) -> Ints:
    """Runs (s) stretched, the longer the more, so that each kind has its share of the GPU time."""
    stretched = run.astype(np.float64)
    for code, each in enumerate(cluster.kinds):
        mine = kind == code
        wanted = cluster.gpu_hours * 3600 * each.gpu_time_share * mine.sum() / each.jobs
        stretched[mine] = _stretched(run[mine], gpus[mine], wanted, cluster.longest_run_s)
    return stretched.astype(np.int64)


def _stretched(run: Ints, gpus: Ints, wanted: float, longest_s: int) -> Floats:
    """Runs above their median raised to the power that makes them sum to the wanted GPU-seconds."""
    median = max(float(np.median(run)), 1.0)
    ratio = np.maximum(run / median, 1e-9)

    def raised(power: float) -> Floats:
        longer = median * ratio**power
        return np.where(ratio > 1, longer, run).clip(max=longest_s)

    low, high = 0.2, 6.0
    for _ in range(30):
        power = (low + high) / 2
        low, high = (power, high) if (raised(power) * gpus).sum() < wanted else (low, power)
    return raised(low)


def _states(shares: dict[int, float], gpu_time: Ints, rng: np.random.Generator) -> Ints:
    """The state of each job; the jobs are in order of submission."""
    count = len(gpu_time)
    state = np.array(list(shares))[spread(rng, count, list(shares.values()))]
    likelier = pick(rng, (gpu_time + 1.0) ** LONG_JOBS_CANCELLED, int((state == CANCELLED).sum()))
    _move(state, CANCELLED, likelier)
    # What still runs when the trace ends was submitted last.
    _move(state, RUNNING, np.arange(count - int((state == RUNNING).sum()), count))
    return state


def _move(state: Ints, code: int, to: Ints) -> None:
    """Move a state to the jobs at `to`; the jobs that had it get theirs, so that all counts stay."""
    was = np.flatnonzero(state == code)
    leaving = was[~np.isin(was, to)]
    coming = to[state[to] != code]
    state[leaving], state[coming] = state[coming].copy(), code


def _told(cluster: Cluster, jobs: Jobs, rng: np.random.Generator) -> Jobs:
    """The jobs as the published table shows them: start, end, queue and duration follow the state."""
    cancelled = jobs.state == CANCELLED
    unstarted = mask_of(
        len(cancelled),
        pick(rng, cancelled, max(1, round(cancelled.sum() * CANCELLED_BEFORE_START_SHARE))),
    )
    running = jobs.state == RUNNING
    now = LAST_SUBMIT_S + 1
    end = np.where(unstarted, jobs.submit + jobs.queue, np.where(running, now, jobs.end))
    start = np.where(unstarted, np.nan, np.minimum(jobs.start, end))
    if cluster.duration_has_queue:
        duration = end - jobs.submit
        queue = start - jobs.submit
    else:
        duration = np.where(unstarted, 0, end - start)
        queue = np.where(unstarted, end, start) - jobs.submit
    return Jobs(
        kind=jobs.kind,
        state=jobs.state,
        gpus=jobs.gpus,
        user=jobs.user,
        submit=jobs.submit,
        start=start,
        end=np.where(running, np.nan, end),
        queue=np.asarray(queue, dtype=np.float64),
        duration=np.nan_to_num(duration).astype(np.int64),
    )


def _stamps(seconds: Ints | Floats, utc_offset_h: int) -> pl.Series:
    """Unix seconds as local time with its offset; NaN is a null."""
    missing = np.isnan(seconds)
    shifted = np.nan_to_num(np.asarray(seconds, dtype=np.float64)).astype(np.int64)
    local = whole((shifted + utc_offset_h * 3600) * 1_000_000, null=missing)
    return local.cast(pl.Datetime("us")).dt.strftime(f"%Y-%m-%d %H:%M:%S+{utc_offset_h:02}:00")


def _common_columns(cluster: Cluster, jobs: Jobs, salt: int) -> dict[str, pl.Series]:
    kinds = [*(kind.name for kind in cluster.kinds), CPU_TYPE]
    cores = np.where(jobs.gpus > 0, jobs.gpus * 16, 1 + jobs.user % 8)
    return {
        "user": "u" + hex_ids(jobs.user, salt, 6),
        "node_num": whole(np.maximum(-(-jobs.gpus // GPUS_PER_NODE), 1)),
        "gpu_num": whole(jobs.gpus),
        "cpu_num": whole(cores),
        "type": labels(jobs.kind, kinds),
        "state": labels(jobs.state, STATES),
        "submit_time": _stamps(jobs.submit, cluster.utc_offset_h),
        "start_time": _stamps(jobs.start, cluster.utc_offset_h),
        "end_time": _stamps(jobs.end, cluster.utc_offset_h),
        "duration": whole(jobs.duration),
        "gpu_time": floats(jobs.gpu_time),
    }


def _seren_rows(jobs: Jobs, salt: int) -> pl.DataFrame:
    first_id = 5_000_000
    columns = _common_columns(SEREN, jobs, salt)
    columns["job_id"] = whole(first_id + np.arange(len(jobs.submit)))
    columns["queue"] = whole(jobs.queue)
    return pl.DataFrame(columns).select(
        "job_id",
        *("user", "node_num", "gpu_num", "cpu_num", "type", "state"),
        *("submit_time", "start_time", "end_time", "duration", "queue", "gpu_time"),
    )


def _kalos_rows(jobs: Jobs, salt: int, rng: np.random.Generator) -> pl.DataFrame:
    count = len(jobs.submit)
    columns = _common_columns(KALOS, jobs, salt)
    columns["job_id"] = "dlc" + hex_ids(np.arange(count), salt, 14)
    columns["queue"] = floats(jobs.queue)
    columns["mem_per_pod_GB"] = whole(np.where(jobs.gpus >= GPUS_PER_NODE, 1000, 8 + 120 * jobs.gpus))
    columns["shared_mem_per_pod"] = floats(np.where(jobs.gpus > 0, rng.choice((50, 100), count), np.nan))
    columns["fail_time"] = _only(columns["end_time"], jobs.state == FAILED)
    columns["stop_time"] = _only(columns["end_time"], jobs.state == CANCELLED)
    return pl.DataFrame(columns).select(
        *("job_id", "user", "node_num", "gpu_num", "cpu_num"),
        *("mem_per_pod_GB", "shared_mem_per_pod", "type", "state"),
        *("submit_time", "start_time", "end_time", "fail_time", "stop_time"),
        *("duration", "queue", "gpu_time"),
    )


def _only(stamps: pl.Series, where: Bools) -> pl.Series:
    return pl.select(pl.when(pl.Series(where)).then(stamps)).to_series()


def _summary(cluster: Cluster, jobs: Jobs) -> dict[str, str | int | float]:
    """One row of the summary; times in s, GPU time in GPU-seconds."""
    on_gpu = jobs.gpus > 0
    gpu_time = {name: float(jobs.gpu_time[on_gpu & where].sum()) for name, where in _outcomes(jobs)}
    total = sum(gpu_time.values())
    row: dict[str, str | int | float] = {
        "id": cluster.name,
        "job_num": len(on_gpu),
        "cpu_job_num": int((~on_gpu).sum()),
        "gpu_job_num": int(on_gpu.sum()),
        "avg_run_time_gpu": _rounded(jobs.duration[on_gpu].mean()),
        "avg_que_time_gpu": _rounded(np.nanmean(jobs.queue[on_gpu])),
        "avg_gpu_num": _rounded(jobs.gpus[on_gpu].mean()),
        "med_run_time_gpu": float(np.median(jobs.duration[on_gpu])),
        "med_que_time_gpu": float(np.nanmedian(jobs.queue[on_gpu])),
        "med_gpu_num": float(np.median(jobs.gpus[on_gpu])),
        "max_run_time_gpu": float(jobs.duration[on_gpu].max()),
        "max_gpu": float(jobs.gpus.max()),
    }
    for name, where in _outcomes(jobs):
        row[f"{name}_rate_gpu"] = _rounded(where[on_gpu].mean())
    for name, seconds in gpu_time.items():
        row[f"{name}_gpu_time"] = seconds
    for name, seconds in gpu_time.items():
        row[f"{name}_rate_gpu_time"] = _rounded(seconds / total)
    row["avg_run_time_cpu"] = _rounded(jobs.duration[~on_gpu].mean())
    row["avg_que_time_cpu"] = _rounded(np.nanmean(jobs.queue[~on_gpu]))
    row["med_run_time_cpu"] = float(np.median(jobs.duration[~on_gpu]))
    row["med_que_time_cpu"] = float(np.nanmedian(jobs.queue[~on_gpu]))
    for name, where in _outcomes(jobs):
        row[f"{name}_rate_cpu"] = _rounded(where[~on_gpu].mean())
    return row


def _outcomes(jobs: Jobs) -> tuple[tuple[str, Bools], ...]:
    completed, cancelled = jobs.state == COMPLETED, jobs.state == CANCELLED
    return ("complete", completed), ("cancel", cancelled), ("fail", ~completed & ~cancelled)


def _rounded(value: np.floating | float) -> float:
    return round(float(value), 3)


SAMPLER = Sampler(write, expected_bytes)

"""Synthetic Acme: the jobs of two clusters for large language models, the publisher's summary, telemetry.

The sample has the properties of the original that views and caveats are about:

- Seren's times have the offset +08:00, Kalos' times +00:00. Kalos has four more columns.
- `duration` is end - start in Seren and end - submit in Kalos. `gpu_time` is duration × GPUs.
- The state PREEMPTED occurs only in Seren. The state RUNNING, without an end, occurs only in Kalos.
- Some jobs have no GPU, and some were cancelled before they started.
- Each kind of job has its published share of jobs and GPU time. Evaluation jobs are small and wait longest.

`cluster_summary.csv` is computed from these jobs; jobs that neither completed nor were cancelled count as
failed. The module `acme_telemetry` writes the telemetry.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.ingest.traces.acme import JOB_TRACE
from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import Floats, Ints
from tracehouse.samples.files import OnBytes, write_csv
from tracehouse.samples.traces import acme_telemetry

BYTES_OF_JOBS = 112_000_000
FIRST_SUBMIT_S, LAST_SUBMIT_S = 1_677_600_000, 1_693_497_599  # 2023-03-01 to 2023-08-31, +08:00
UTC_OFFSET_H = 8
# With fewer jobs, some states and sizes would not occur.
LEAST_GPU_JOBS, LEAST_CPU_JOBS = 200, 60
CANCELLED_BEFORE_START_SHARE = 0.03
# Long jobs are cancelled more often: the probability is proportional to the GPU time to this exponent.
LONG_JOBS_CANCELLED = 0.24
GPUS_PER_NODE = 8
RUN_SIGMA = 1.7
# Jobs with more GPUs run longer: the run time is proportional to min(GPUs, GPUS_PER_NODE) to this exponent.
LARGER_RUN_LONGER = 0.5
CPU_AT_ONCE = 0.75

STATES = ("COMPLETED", "FAILED", "CANCELLED", "PREEMPTED", "TIMEOUT", "NODE_FAIL", "RUNNING")
COMPLETED, FAILED, CANCELLED, PREEMPTED, TIMEOUT, NODE_FAIL, RUNNING = range(7)
CPU_TYPE = "CPU"


@dataclass(frozen=True)
class Kind:
    """One kind of GPU job.

    `at_once` is the share of jobs that start within `Cluster.moments_s` seconds. `wait_median_s` is the
    median of the additional wait of the other jobs.
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
    """One cluster: its jobs, their states and times, and the notation of its file."""

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
    """The jobs of a cluster in order of submission; times in Unix seconds, NaN if the field is empty."""

    kind: Ints
    state: Ints
    gpus: Ints
    user: Ints
    submit: Ints
    start: Floats
    end: Floats
    queue: Floats
    duration: Ints


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both job traces, the summary and the telemetry below `folder`, and return the paths."""
    return [
        *write_jobs(folder, scale, rng, on_bytes),
        *acme_telemetry.write_telemetry(folder / "data" / "utilization", scale, rng, on_bytes),
    ]


def write_jobs(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write both job traces and the summary below `folder`, and return the paths."""
    salts = [int(salt) for salt in rng.integers(2**63, size=2)]
    seren, kalos = _jobs(SEREN, scale, rng), _jobs(KALOS, scale, rng)
    traces = folder / "data" / "job_trace"
    summary = pl.DataFrame([_summary(SEREN, seren), _summary(KALOS, kalos)])
    return [
        write_csv(traces / "trace_seren.csv", _rows(SEREN, seren, salts[0], rng), on_bytes),
        write_csv(traces / "trace_kalos.csv", _rows(KALOS, kalos, salts[1], rng), on_bytes),
        write_csv(folder / "data" / "cluster_summary.csv", summary, on_bytes),
    ]


def _jobs(cluster: Cluster, scale: float, rng: np.random.Generator) -> Jobs:
    gpu_jobs = draw.scaled(sum(kind.jobs for kind in cluster.kinds), scale, LEAST_GPU_JOBS)
    count = gpu_jobs + draw.scaled(cluster.cpu_jobs, scale, LEAST_CPU_JOBS)
    kind = np.full(count, len(cluster.kinds))
    on_gpu = draw.mask_of(count, rng.permutation(count)[:gpu_jobs])
    kind[on_gpu] = draw.spread(rng, gpu_jobs, [each.jobs for each in cluster.kinds])
    gpus, run, wait = _work(cluster, kind, rng)
    run = _to_gpu_hours(cluster, kind, gpus, run)
    state = np.full(count, COMPLETED)
    state[on_gpu] = _states(cluster.states, gpus[on_gpu] * run[on_gpu], rng)
    state[~on_gpu] = _states(cluster.cpu_states, run[~on_gpu], rng)
    submit = draw.arrivals(rng, count, FIRST_SUBMIT_S, LAST_SUBMIT_S, UTC_OFFSET_H)
    user = draw.heavy_users(rng, count, cluster.users)

    # Start, end, queue and duration depend on the state.
    cancelled, running = state == CANCELLED, state == RUNNING
    never = max(1, round(cancelled.sum() * CANCELLED_BEFORE_START_SHARE))
    unstarted = draw.mask_of(count, draw.pick(rng, cancelled, never))
    end = np.where(unstarted, submit + wait, np.where(running, LAST_SUBMIT_S + 1, submit + wait + run))
    start = np.where(unstarted, np.nan, np.minimum(submit + wait, end))
    if cluster.duration_has_queue:
        queue, duration = start - submit, end - submit
    else:
        queue = np.where(unstarted, end, start) - submit
        duration = np.where(unstarted, 0, end - start)
    whole_duration = np.nan_to_num(duration).astype(np.int64)
    end = np.where(running, np.nan, end)
    return Jobs(kind, state, gpus, user, submit, start, end, np.asarray(queue, np.float64), whole_duration)


def _work(cluster: Cluster, kind: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """Draw the GPUs, run time (s) and wait (s) of each job."""
    gpus = np.zeros(len(kind), dtype=np.int64)
    run = np.zeros(len(kind))
    wait = np.zeros(len(kind))
    for code, each in enumerate(cluster.kinds):
        mine = kind == code
        jobs = int(mine.sum())
        gpus[mine] = draw.shares(rng, each.jobs_by_gpus, jobs)
        longer = np.minimum(gpus[mine], GPUS_PER_NODE) ** LARGER_RUN_LONGER
        run[mine] = draw.lognormal(rng, jobs, each.run_median_s * longer / longer.mean(), RUN_SIGMA)
        wait[mine] = _waits(cluster, each.at_once, each.wait_median_s, jobs, rng)
    cpu = kind == len(cluster.kinds)
    jobs = int(cpu.sum())
    run[cpu] = draw.lognormal(rng, jobs, cluster.cpu_run_median_s, cluster.cpu_run_sigma)
    wait[cpu] = _waits(cluster, CPU_AT_ONCE, 4 * cluster.cpu_wait_median_s, jobs, rng)
    return gpus, run.clip(0, cluster.longest_run_s).astype(np.int64), wait


def _waits(cluster: Cluster, at_once: float, median_s: float, jobs: int, rng: np.random.Generator) -> Floats:
    moments = rng.integers(cluster.shortest_wait_s, cluster.moments_s + 1, jobs)
    longer = cluster.moments_s + 1 + draw.lognormal(rng, jobs, median_s, 1.4)
    return np.floor(np.where(rng.random(jobs) < at_once, moments, longer))


def _to_gpu_hours(cluster: Cluster, kind: Ints, gpus: Ints, run: Ints) -> Ints:
    """Stretch long run times (s) so that each kind of job has its share of the GPU time."""
    stretched = run.astype(np.float64)
    for code, each in enumerate(cluster.kinds):
        mine = kind == code
        wanted = cluster.gpu_hours * 3600 * each.gpu_time_share * mine.sum() / each.jobs
        stretched[mine] = _stretch_group(run[mine], gpus[mine], wanted, cluster.longest_run_s)
    return stretched.astype(np.int64)


def _stretch_group(run: Ints, gpus: Ints, wanted: float, longest_s: int) -> Floats:
    """Stretch the run times of one kind of job (s) so that they sum to the wanted GPU-seconds.

    The ratio of a run time above the median to the median is raised to a power.
    """
    median = max(float(np.median(run)), 1.0)
    ratio = np.maximum(run / median, 1e-9)

    def raise_to(power: float) -> Floats:
        longer = median * ratio**power
        return np.where(ratio > 1, longer, run).clip(max=longest_s)

    low, high = 0.2, 6.0
    for _ in range(30):
        power = (low + high) / 2
        low, high = (power, high) if (raise_to(power) * gpus).sum() < wanted else (low, power)
    return raise_to(low)


def _states(of_jobs: dict[int, float], gpu_time: Ints, rng: np.random.Generator) -> Ints:
    """Draw the state of each job, in order of submission."""
    count = len(gpu_time)
    state = draw.shares(rng, of_jobs, count)
    likelier = draw.pick(rng, (gpu_time + 1.0) ** LONG_JOBS_CANCELLED, int((state == CANCELLED).sum()))
    _exchange_states(state, CANCELLED, likelier)
    # The last jobs are those that still run at the end of the trace.
    _exchange_states(state, RUNNING, np.arange(count - int((state == RUNNING).sum()), count))
    return state


def _exchange_states(state: Ints, code: int, to: Ints) -> None:
    """Exchange states so that the jobs at `to` have the state `code`; its count stays the same."""
    was = np.flatnonzero(state == code)
    leaving = was[~np.isin(was, to)]
    coming = to[state[to] != code]
    state[leaving], state[coming] = state[coming].copy(), code


def _stamps(seconds: Ints | Floats, utc_offset_h: int) -> pl.Series:
    """Format Unix seconds as local times with their offset; NaN is NULL."""
    local = np.nan_to_num(np.asarray(seconds, dtype=np.float64)).astype(np.int64) + utc_offset_h * 3600
    return draw.set_nulls(draw.local_times(local) + f"+{utc_offset_h:02}:00", np.isnan(seconds))


def _rows(cluster: Cluster, jobs: Jobs, salt: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rows of a job trace with the published columns; four of them exist in Kalos only."""
    count, kinds = len(jobs.submit), [*(kind.name for kind in cluster.kinds), CPU_TYPE]
    end = _stamps(jobs.end, cluster.utc_offset_h)
    columns = {
        "user": "u" + draw.hex_ids(jobs.user, salt, 6),
        "node_num": draw.whole(np.maximum(-(-jobs.gpus // GPUS_PER_NODE), 1)),
        "gpu_num": draw.whole(jobs.gpus),
        "cpu_num": draw.whole(np.where(jobs.gpus > 0, jobs.gpus * 16, 1 + jobs.user % 8)),
        "type": draw.labels(jobs.kind, kinds),
        "state": draw.labels(jobs.state, STATES),
        "submit_time": _stamps(jobs.submit, cluster.utc_offset_h),
        "start_time": _stamps(jobs.start, cluster.utc_offset_h),
        "end_time": end,
        "duration": draw.whole(jobs.duration),
        "gpu_time": draw.floats(jobs.duration * jobs.gpus),
    }
    if cluster is SEREN:
        columns |= {"job_id": draw.whole(5_000_000 + np.arange(count)), "queue": draw.whole(jobs.queue)}
    else:
        columns |= {
            "job_id": "dlc" + draw.hex_ids(np.arange(count), salt, 14),
            "queue": draw.floats(jobs.queue),
            "mem_per_pod_GB": draw.whole(np.where(jobs.gpus >= GPUS_PER_NODE, 1000, 8 + 120 * jobs.gpus)),
            "shared_mem_per_pod": draw.floats(np.where(jobs.gpus > 0, rng.choice((50, 100), count), np.nan)),
            "fail_time": draw.set_nulls(end, jobs.state != FAILED),
            "stop_time": draw.set_nulls(end, jobs.state != CANCELLED),
        }
    order = [column.name_in_file for column in JOB_TRACE.columns if column.name_in_file in columns]
    return pl.DataFrame(columns).select(order)


def _summary(cluster: Cluster, jobs: Jobs) -> dict[str, str | float]:
    """Return the row of a cluster in the summary, by column; times in s, GPU time in GPU-seconds."""
    gpu, cpu = jobs.gpus > 0, jobs.gpus == 0
    run, queue, gpu_time = jobs.duration, jobs.queue, jobs.duration * jobs.gpus
    complete, cancel = jobs.state == COMPLETED, jobs.state == CANCELLED
    outcomes = {"complete": complete, "cancel": cancel, "fail": ~complete & ~cancel}
    gpu_times = {name: float(gpu_time[gpu & where].sum()) for name, where in outcomes.items()}
    return {
        "id": cluster.name,
        "job_num": len(gpu),
        "cpu_job_num": int(cpu.sum()),
        "gpu_job_num": int(gpu.sum()),
        "avg_run_time_gpu": _round(run[gpu].mean()),
        "avg_que_time_gpu": _round(np.nanmean(queue[gpu])),
        "avg_gpu_num": _round(jobs.gpus[gpu].mean()),
        "med_run_time_gpu": float(np.median(run[gpu])),
        "med_que_time_gpu": float(np.nanmedian(queue[gpu])),
        "med_gpu_num": float(np.median(jobs.gpus[gpu])),
        "max_run_time_gpu": float(run[gpu].max()),
        "max_gpu": float(jobs.gpus.max()),
        **{f"{name}_rate_gpu": _round(where[gpu].mean()) for name, where in outcomes.items()},
        **{f"{name}_gpu_time": seconds for name, seconds in gpu_times.items()},
        **{
            f"{name}_rate_gpu_time": _round(seconds / sum(gpu_times.values()))
            for name, seconds in gpu_times.items()
        },
        "avg_run_time_cpu": _round(run[cpu].mean()),
        "avg_que_time_cpu": _round(np.nanmean(queue[cpu])),
        "med_run_time_cpu": float(np.median(run[cpu])),
        "med_que_time_cpu": float(np.nanmedian(queue[cpu])),
        **{f"{name}_rate_cpu": _round(where[cpu].mean()) for name, where in outcomes.items()},
    }


def _round(value: np.floating | float) -> float:
    return round(float(value), 3)


def _expected_bytes(scale: float) -> int:
    return round(BYTES_OF_JOBS * scale) + acme_telemetry.expected_bytes(scale)


SAMPLER = Sampler(write, _expected_bytes)

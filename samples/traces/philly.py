"""Synthetic Philly: a job log with attempts, a machine list that disagrees with it, and use per minute.

Known pitfalls: files without extensions in an archive; a job log that is one JSON list on one line; jobs
without an attempt; attempts without a start or end (null, an empty string, or None), on several machines, or
still running; a machine list with spaces, and fewer GPUs than some machines have; minutes in PDT and PST, of
which one hour occurs twice; lines of GPU use that end in a comma; NA for missing GPUs, and 0 for memory.

Both machines and minutes are scaled, so the number of lines of use grows with the square of the scale.
"""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from tracehouse.ingest.traces.philly import ARCHIVE, CPU_UTIL, GPU_UTIL, JOB, MACHINE, MEM_UTIL
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

MACHINES, LEAST_MACHINES, MINUTES, LEAST_MINUTES = 552, 24, 81_069, 180
# The last minute of use, and the end of daylight saving time. Every sample contains both.
LAST_MINUTE_S = int(datetime(2017, 12, 15, 8, tzinfo=UTC).timestamp())
FALL_BACK_S = int(datetime(2017, 11, 5, 9, tzinfo=UTC).timestamp())
PDT_S, PST_S = -7 * draw.HOUR_S, -8 * draw.HOUR_S
GPUS = 8
JOBS_BY_GPUS = {1: 824, 2: 60, 4: 55, 8: 50, 16: 8, 32: 2, 64: 0.8, 128: 0.2}
ATTEMPTS = {0: 37, 1: 800, 2: 110, 3: 40, 5: 13}
# GPUs of a machine, and in the machine list, where one in five has too few; memory of a GPU.
SHAPES = ((2, 2, " 12GB"), (8, 8, " 24GB"), (2, 2, " 12GB"), (8, 2, " 12GB"), (8, 8, " 24GB"))
NOT_LOGGED, STILL_RUNNING, SPREAD, IDLE, OFFLINE = 0.01, 0.01, 0.15, 0.32, 0.004
MEM_TOTAL = 528_272_672.0
LINES_AT_ONCE = 400_000


def expected_bytes(scale: float) -> int:
    """Estimate the bytes of raw text in a sample."""
    lines = draw.scaled(MINUTES, scale, LEAST_MINUTES) * draw.scaled(MACHINES, scale, LEAST_MACHINES)
    return 330 * row_count(JOB, scale, 150) + 145 * lines


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the archive."""
    shapes = pl.DataFrame(SHAPES, ("gpus", "number_of_gpus", "single_gpu_mem"), orient="row")
    count, minutes = draw.scaled(MACHINES, scale, LEAST_MACHINES), draw.scaled(MINUTES, scale, LEAST_MINUTES)
    machines = shapes[np.arange(count) % len(SHAPES)].with_row_index("number")
    machines = machines.with_columns(machine_id="m" + pl.col("number").cast(pl.String))
    first_s = min(FALL_BACK_S - 5_400, LAST_MINUTE_S - 60 * minutes)
    times = first_s + 60 * np.arange(minutes)

    jobs = sampled(JOB, row_count(JOB, scale, 150), rng)
    # A third of the jobs are submitted during the minutes of use, even if these are few.
    in_use = rng.permutation(jobs.height) < jobs.height // 3
    submit = np.where(
        in_use, rng.integers(times[0] + PDT_S, times[-1] + PST_S, jobs.height), jobs["submitted_time"]
    )
    log = _job_log(jobs.with_columns(submitted_time=pl.Series(submit)), machines, rng)
    out.write("trace-data/cluster_job_log", json.dumps(log).encode(), ARCHIVE)
    out.add(MACHINE, machines, in_archive="trace-data")
    at_once = max(1, LINES_AT_ONCE // minutes)
    for some in machines.iter_slices(at_once):
        lines = _lines(some, times)
        offline = pl.Series(rng.random(lines.height) < OFFLINE)
        uses = [
            pl.when(offline | (pl.col("gpus") <= gpu))
            .then(None)
            .otherwise(pl.Series(_use(lines.height, rng)))
            for gpu in range(GPUS)
        ]
        use = {f"gpu{gpu}_util": use for gpu, use in enumerate(uses)}
        out.add(GPU_UTIL, lines.with_columns(**use), in_archive="trace-data")
        cpu = pl.Series(np.round(100 * rng.beta(2, 5, lines.height), 3))
        cpu_use = pl.when(offline).then(None).otherwise(cpu)
        out.add(CPU_UTIL, lines.with_columns(cpu_util=cpu_use), in_archive="trace-data")
        total = pl.Series(np.where(rng.random(lines.height) < OFFLINE, 0, MEM_TOTAL))
        free = (total * pl.Series(rng.beta(5, 2, lines.height))).round(4)
        memory = {"mem_total": total, "mem_free": free}
        columns = {name: pl.when(offline).then(None).otherwise(one) for name, one in memory.items()}
        out.add(MEM_UTIL, lines.with_columns(**columns), in_archive="trace-data")


def _lines(machines: pl.DataFrame, times: draw.Ints) -> pl.DataFrame:
    """Return a row per machine and minute, with the time in the notation of the files."""
    is_summer = times < FALL_BACK_S
    zone = pl.Series(np.where(is_summer, " PDT", " PST"))
    local = draw.local_times(times + np.where(is_summer, PDT_S, PST_S)) + zone
    return machines.select("machine_id", "gpus").join(pl.DataFrame({"time": local}), how="cross")


def _use(count: int, rng: np.random.Generator) -> draw.Floats:
    """Draw the use of GPUs in percent: a third are 0, and many are 100."""
    use = np.round(100 * rng.beta(1.2, 0.9, count), 9)
    return np.where(rng.random(count) < IDLE, 0.0, np.where(use > 92, 100.0, use))


def _job_log(jobs: pl.DataFrame, machines: pl.DataFrame, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the objects of the job log."""
    count = jobs.height
    places = {
        gpus: machines.filter(pl.col("gpus") >= gpus)["machine_id"].to_list() for gpus in range(1, GPUS + 1)
    }
    largest = GPUS * len(places[GPUS])
    sizes = np.minimum(draw.shares(rng, JOBS_BY_GPUS, count), largest).tolist()
    attempts = draw.shares(rng, ATTEMPTS, count).tolist()
    wait = draw.lognormal(rng, count, 189, 2.2).astype(np.int64)
    start = (jobs["submitted_time"].to_numpy() + wait).tolist()
    return [
        {
            "status": job["status"],
            "vc": f"{job['vc']:06x}",
            "jobid": f"application_{1_506_638_472_019 + number // 30_000}_{number}",
            "attempts": _attempts(attempts[number], sizes[number], start[number], places, rng),
            "submitted_time": _local(job["submitted_time"]),
            "user": f"{job['user']:06x}",
        }
        for number, job in enumerate(jobs.iter_rows(named=True))
    ]


def _attempts(
    count: int, gpus: int, start: int, places: dict[int, list[str]], rng: np.random.Generator
) -> list[dict[str, Any]]:
    found = []
    for number in range(count):
        end = start + int(rng.lognormal(np.log(874), 2.6))
        luck = rng.random()
        is_lost, runs_on = luck < NOT_LOGGED, number == count - 1 and luck > 1 - STILL_RUNNING
        no_time = (None, "", "None")[int(rng.integers(3))]
        times = {
            "start_time": no_time if is_lost else _local(start),
            "end_time": no_time if is_lost or runs_on else _local(end),
        }
        found.append(times | {"detail": _detail(gpus, places, rng)})
        start = end + int(rng.integers(5, 60))
    return found


def _detail(gpus: int, places: dict[int, list[str]], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the machines and GPUs of an attempt; some small attempts use two machines."""
    count = 2 if 1 < gpus < GPUS and rng.random() < SPREAD else max(1, -(-gpus // GPUS))
    parts = draw.apportion(gpus, np.ones(count)).tolist()
    machines = places[max(parts)]
    chosen = rng.choice(len(machines), count, replace=False).tolist()
    return [
        {"ip": machines[place], "gpus": [f"gpu{gpu}" for gpu in range(part)]}
        for place, part in zip(chosen, parts, strict=True)
    ]


def _local(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")

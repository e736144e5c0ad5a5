"""Synthetic Philly: a job log with attempts, a machine list that disagrees with it, and use per minute.

The sample has the properties of the original that views and caveats are about:

- An archive contains files without extensions. The job log is one JSON list on one line.
- Some jobs have no attempt. Some attempts have no start or end (null, an empty string, or None), run on
  several machines, or still run when the log ends.
- The machine list contains spaces, and fewer GPUs than some machines have.
- Minutes are in PDT and PST; one hour occurs twice. Lines of GPU use end in a comma. NA stands for missing
  GPUs, and 0 for unknown memory.

Everything else is invented. Both machines and minutes are scaled, so the number of lines of use grows with
the square of the scale.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import Floats, Ints
from tracehouse.samples.files import Member, OnBytes, atomic_file, csv_bytes, scratch, write_tar_gz

JOBS, LEAST_JOBS = 117_325, 150
MACHINES, LEAST_MACHINES = 552, 24
MINUTES, LEAST_MINUTES = 81_069, 180
BYTES_PER_JOB, BYTES_PER_MACHINE_MINUTE = 330, 65 + 31 + 49
FIRST_S, LAST_S = 1_502_064_000, 1_513_987_199  # 2017-08-07 to 2017-12-22, on the log's own clock
# The last minute of use, and the end of daylight saving time. Every sample contains both.
LAST_MINUTE_S = int(datetime(2017, 12, 15, 8, tzinfo=UTC).timestamp())
FALL_BACK_S = int(datetime(2017, 11, 5, 9, tzinfo=UTC).timestamp())
PDT_S, PST_S = -7 * 3_600, -8 * 3_600
# A third of the jobs are submitted during the minutes of use, even if these are few.
JOBS_WITH_USE = 1 / 3
GPUS = 8
JOBS_BY_GPUS = {1: 824, 2: 60, 4: 55, 8: 50, 16: 8, 32: 2, 64: 0.8, 128: 0.2}
ATTEMPTS = {0: 37, 1: 800, 2: 110, 3: 40, 5: 13}
STATUS = {"Pass": 604, "Killed": 90, "Failed": 306}
USERS, VCS = 319, 15
RUN_MEDIAN_S, RUN_SIGMA, WAIT_MEDIAN_S, WAIT_SIGMA = 874, 2.6, 189, 2.2
NO_TIMES = (None, "", "None")
NOT_LOGGED, STILL_RUNNING, SPREAD, IDLE, OFFLINE = 0.01, 0.01, 0.15, 0.32, 0.004
MEM_TOTAL = 528_272_672.0
LINES_AT_ONCE = 400_000


@dataclass(frozen=True)
class Machine:
    """A machine: name, number of GPUs, number of GPUs in the machine list, and memory of a GPU."""

    name: str
    gpus: int
    listed_gpus: int
    memory: str


def _expected_bytes(scale: float) -> int:
    lines = _minutes(scale) * _machine_count(scale)
    return round(draw.scaled(JOBS, scale, LEAST_JOBS) * BYTES_PER_JOB + lines * BYTES_PER_MACHINE_MINUTE)


def _machine_count(scale: float) -> int:
    return draw.scaled(MACHINES, scale, LEAST_MACHINES)


def _minutes(scale: float) -> int:
    return draw.scaled(MINUTES, scale, LEAST_MINUTES)


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write ``trace-data.tar.gz`` below `folder`, and return its path in a list."""
    machines = _machines(_machine_count(scale))
    first_s = min(FALL_BACK_S - 5_400, LAST_MINUTE_S - 60 * _minutes(scale))
    minutes = first_s + 60 * np.arange(_minutes(scale))
    in_use = (int(minutes[0]) + PDT_S, int(minutes[-1]) + PST_S)
    log = _job_log(draw.scaled(JOBS, scale, LEAST_JOBS), machines, in_use, rng)
    listed = _machine_list(machines)
    contents: dict[str, bytes | Path] = {"cluster_job_log": log, "cluster_machine_list": listed}
    on_bytes(len(log) + len(listed))
    drawn = {"cluster_gpu_util": _gpu_lines, "cluster_cpu_util": _cpu_lines, "cluster_mem_util": _mem_lines}
    with ExitStack() as files:
        for name, lines_of in drawn.items():
            contents[name] = path = files.enter_context(scratch(folder / f"{name}.tmp"))
            with atomic_file(path) as file:
                for text in lines_of(machines, minutes, rng):
                    on_bytes(file.write(text))
        members = [Member(f"trace-data/{name}", content) for name, content in contents.items()]
        return [write_tar_gz(folder / "trace-data.tar.gz", members)]


def _machines(count: int) -> list[Machine]:
    """Return machines with 2 and 8 GPUs. One in five has 8 GPUs but appears with 2 in the machine list."""
    shapes = ((2, 2, "12GB"), (8, 8, "24GB"), (2, 2, "12GB"), (8, 2, "12GB"), (8, 8, "24GB"))
    return [Machine(f"m{number}", *shapes[number % len(shapes)]) for number in range(count)]


def _machine_list(machines: list[Machine]) -> bytes:
    lines = [f"{each.name},{each.listed_gpus}, {each.memory}\n" for each in machines]
    return "".join(["machineId, number of GPUs, single GPU mem\n", *lines]).encode()


def _job_log(count: int, machines: list[Machine], in_use: tuple[int, int], rng: np.random.Generator) -> bytes:
    with_use = round(count * JOBS_WITH_USE)
    everywhere = draw.arrivals(rng, count - with_use, FIRST_S, LAST_S)
    submit = np.sort(np.concatenate([everywhere, rng.integers(in_use[0], in_use[1], with_use)]))
    status = draw.shares(rng, STATUS, count).tolist()
    users = draw.hex_ids(draw.heavy_users(rng, count, USERS), int(rng.integers(2**63)), 6).to_list()
    vcs = draw.hex_ids(draw.heavy_users(rng, count, VCS), int(rng.integers(2**63)), 6).to_list()
    attempts = draw.shares(rng, ATTEMPTS, count)
    # The sizes are limited below, because the largest jobs do not fit on the machines of a small sample.
    sizes = draw.shares(rng, JOBS_BY_GPUS, count)
    largest = sum(each.gpus for each in machines if each.gpus == GPUS)
    wait = draw.lognormal(rng, count, WAIT_MEDIAN_S, WAIT_SIGMA).astype(np.int64)
    jobs: list[dict[str, Any]] = [
        {
            "status": status[number],
            "vc": vcs[number],
            "jobid": f"application_{1_506_638_472_019 + number // 30_000}_{number}",
            "attempts": _attempts(
                int(attempts[number]),
                min(int(sizes[number]), largest),
                int(submit[number] + wait[number]),
                machines,
                rng,
            ),
            "submitted_time": _local(int(submit[number])),
            "user": users[number],
        }
        for number in range(count)
    ]
    return json.dumps(jobs).encode()


def _attempts(
    count: int, gpus: int, start: int, machines: list[Machine], rng: np.random.Generator
) -> list[dict[str, Any]]:
    found = []
    for number in range(count):
        end = start + int(draw.lognormal(rng, 1, RUN_MEDIAN_S, RUN_SIGMA)[0])
        luck = rng.random()
        is_lost, runs_on = luck < NOT_LOGGED, number == count - 1 and luck > 1 - STILL_RUNNING
        no_time = NO_TIMES[int(rng.integers(len(NO_TIMES)))]
        found.append(
            {
                "start_time": no_time if is_lost else _local(start),
                "end_time": no_time if is_lost or runs_on else _local(end),
                "detail": _detail(gpus, machines, rng),
            }
        )
        start = end + int(rng.integers(5, 60))
    return found


def _detail(gpus: int, machines: list[Machine], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the machines and GPUs of an attempt; some small attempts use two machines."""
    places = max(1, -(-gpus // GPUS))
    if 1 < gpus < GPUS and rng.random() < SPREAD:
        places = 2
    shares = draw.apportion(gpus, np.ones(places)).tolist()
    large_enough = [each for each in machines if each.gpus >= max(shares)]
    chosen = rng.choice(len(large_enough), places, replace=False)
    return [
        {
            "ip": large_enough[place].name,
            "gpus": [
                f"gpu{gpu}"
                for gpu in sorted(rng.choice(large_enough[place].gpus, share, replace=False).tolist())
            ],
        }
        for place, share in zip(chosen.tolist(), shares, strict=True)
    ]


def _local(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _lines(machines: list[Machine], minutes: Ints) -> Iterator[tuple[list[Machine], pl.DataFrame]]:
    """Yield blocks of machines, each with a data frame of the time and the machine of its lines."""
    at_once = max(1, LINES_AT_ONCE // len(minutes))
    is_summer = minutes < FALL_BACK_S
    zone = draw.labels(is_summer.astype(np.int64), [" PST", " PDT"])
    times = draw.local_times(minutes + np.where(is_summer, PDT_S, PST_S)) + zone
    for start in range(0, len(machines), at_once):
        some = machines[start : start + at_once]
        each = np.repeat(np.arange(len(some)), len(minutes))
        names = draw.labels(each, [machine.name for machine in some])
        yield (
            some,
            pl.DataFrame({"time": times.gather(np.tile(np.arange(len(minutes)), len(some))), "id": names}),
        )


def _gpu_lines(machines: list[Machine], minutes: Ints, rng: np.random.Generator) -> Iterator[bytes]:
    names = [f"gpu{gpu}_util" for gpu in range(GPUS)]
    yield f"time,machineId,{','.join(names)}\n".encode()
    for some, lines in _lines(machines, minutes):
        is_offline = rng.random(lines.height) < OFFLINE
        gpus = np.repeat([machine.gpus for machine in some], len(minutes))
        columns = [
            _texts(_use(lines.height, rng), is_offline | (gpus <= gpu)).alias(name)
            for gpu, name in enumerate(names)
        ]
        # An empty last column produces the comma at the end of a line.
        end = pl.Series("end", [None], dtype=pl.String).extend_constant(None, lines.height - 1)
        yield csv_bytes(lines.with_columns(*columns, end), header=False)


def _cpu_lines(machines: list[Machine], minutes: Ints, rng: np.random.Generator) -> Iterator[bytes]:
    yield b"time,machine_id,cpu_util\n"
    for _, lines in _lines(machines, minutes):
        use = _texts(np.round(100 * rng.beta(2, 5, lines.height), 3), rng.random(lines.height) < OFFLINE)
        yield csv_bytes(lines.with_columns(use.alias("cpu_util")), header=False)


def _mem_lines(machines: list[Machine], minutes: Ints, rng: np.random.Generator) -> Iterator[bytes]:
    yield b"time,machine_id,mem_total,mem_free\n"
    for _, lines in _lines(machines, minutes):
        luck = rng.random(lines.height)
        is_offline, is_unknown = luck < OFFLINE, luck > 1 - OFFLINE
        total = np.where(is_unknown, 0, MEM_TOTAL)
        free = np.round(total * rng.beta(5, 2, lines.height), 4)
        yield csv_bytes(
            lines.with_columns(
                _texts(total, is_offline).alias("mem_total"), _texts(free, is_offline).alias("mem_free")
            ),
            header=False,
        )


def _use(count: int, rng: np.random.Generator) -> Floats:
    """Draw `count` values of GPU use in percent: a third of them are 0, and many are 100."""
    use = np.round(np.clip(100 * rng.beta(1.2, 0.9, count), 0, 100), 9)
    return np.where(rng.random(count) < IDLE, 0.0, np.where(use > 92, 100.0, use))


def _texts(values: Floats, is_missing: np.ndarray) -> pl.Series:
    missing = pl.Series(["NA"], dtype=pl.String)
    return pl.Series(values).cast(pl.String).zip_with(pl.Series(~is_missing), missing)


SAMPLER = Sampler(write, _expected_bytes)

"""Synthetic PAI: seven tables of jobs, their tasks and instances, and the machines under them.

Reproduced: archives of one CSV without a header, the names apart, two of them cut into parts, and one
with a file that macOS left behind; identifiers of the published lengths; times on a shifted clock
whose hours and weekdays hold, written as floats in four tables and as whole numbers in one.

- Statuses of jobs and of tasks in the published counts, failures growing towards the end of the
  trace and rare among tasks without a GPU; ends that are missing on most failed jobs and present on
  some running and waiting ones; starts missing on waiting rows only; times of 0 that never happened.
- A job's start is always its first task's start: waits show only in the instances, where they are
  of another magnitude for each GPU type and longer for whole GPUs than for shared ones.
- Gangs: most instances are in few large tasks. Tasks without instances. Users of whom few have most.
- Workers that ran again under the same name, some of them waiting after they had terminated; workers
  without a name; failed instances in tasks that terminated.
- Sensors for two in five workers, none in the first weeks and on some machines, a few on
  machines that nobody specified; values above 100 % and above the plan; missing values.
- Group tags and jobs without each other; tags of a workload on 9.78 %; groups that recur.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from tracehouse.samples.declare import Sampler
from tracehouse.samples.draw import (
    HOUR_S,
    Bools,
    Floats,
    Ints,
    apportion,
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
from tracehouse.samples.files import (
    Member,
    OnBytes,
    append_csv,
    scratch,
    split,
    write_headerless_csv,
    write_tar_gz,
    write_text,
)

# A smaller dump could not hold every property at once.
LEAST_SCALE = 0.0005
CHUNK_ROWS = 200_000

HEADERS = {
    "pai_job_table": "job_name,inst_id,user,status,start_time,end_time",
    "pai_task_table": (
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
    ),
    "pai_instance_table": (
        "job_name,task_name,inst_name,worker_name,inst_id,status,start_time,end_time,machine"
    ),
    "pai_sensor_table": (
        "job_name,task_name,worker_name,inst_id,machine,gpu_name,cpu_usage,gpu_wrk_util,avg_mem,max_mem,"
        "avg_gpu_wrk_mem,max_gpu_wrk_mem,read,write,read_count,write_count"
    ),
    "pai_group_tag_table": "inst_id,user,gpu_type_spec,group,workload",
    "pai_machine_spec": "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
    "pai_machine_metric": (
        "worker_name,machine,start_time,end_time,machine_cpu_iowait,machine_cpu_kernel,machine_cpu_usr,"
        "machine_gpu,machine_load_1,machine_net_receive,machine_num_worker,machine_cpu"
    ),
}
IN_PARTS = ("pai_job_table", "pai_group_tag_table")
PARTS = 2
WITH_MACOS_MEMBER = "pai_sensor_table"
# What macOS's tar adds beside a file: an AppleDouble header and a Finder attribute.
MACOS_CONTENT = bytes.fromhex("00051607000200004d6163204f532058") + bytes(147)

JOBS, TASKS, INSTANCES, SENSORS, METRICS = 1_055_501, 1_261_050, 7_522_002, 3_033_232, 2_009_423
USERS, LEAST_USERS = 1_430, 40

STATUSES = ("Failed", "Running", "Terminated", "Waiting")
FAILED, RUNNING, TERMINATED, WAITING = range(4)
JOBS_BY_STATUS = (256_555, 62_928, 732_355, 3_663)
# Of the tasks beyond the first of a job.
MORE_FAILED, MORE_RUNNING, MORE_TERMINATED, MORE_WAITING = 207, 52_573, 152_718, 51
JOBS_OF_THREE_TASKS = 15_549
JOBS_WITH_END = {FAILED: 25_620, RUNNING: 1_061, WAITING: 45}
# Of the ends that are missing, those written as 0 and not as nothing.
ZERO_ENDS = 120
FAILED_TASK_WITH_END_SHARE = 0.1

LAST_QUARTER_FAILS_MORE, CPU_ONLY_FAILS_LESS = 2.6, 0.3
CPU_ONLY_TASKS, CPU_ONLY_LATER_TASKS = 223_965, 177_965
CPU_ONLY_TASKS_WITH_TYPE = 5_965
TASKS_WITHOUT_CPU_PLAN = 400
FAILED_TASKS_WITHOUT_INSTANCES = 300

# fmt: off
TASK_NAMES = (
    "tensorflow", "worker", "PyTorchWorker", "OpenmpiWorker", "xComputeWorker",
    "ps", "evaluator", "chief",
)
# fmt: on
ONLY_TASK_NAMES, FIRST_OF_SEVERAL, FIRST_LATER_NAME = (0, 2, 3, 4), 1, 5
ONLY_TASK_WEIGHTS = (62, 22, 9, 7)

GPU_TYPES = ("MISC", "T4", "P100", "V100", "V100M32")
GPU_TYPE_TASKS = (696_000, 227_000, 73_000, 29_000, 19_000)
NO_TYPE = len(GPU_TYPES)
TWO_GPU_TYPES = (1, 2)
WAIT_MEDIAN_S = np.array([9.0, 11.0, 15.0, 80.0, 100.0, 6.0])
WAIT_SIGMA = np.array([2.6, 2.7, 2.8, 3.6, 3.6, 2.0])
WHOLE_GPU_WAITS_LONGER, LONGEST_WAIT_S = 2.2, 259_200
SPEC_SHARE = np.array([0.03, 0.15, 0.15, 0.4, 0.6, 0.0])

RUN_MEDIAN_S, RUN_SIGMA, LONGEST_RUN_S = 480.0, 2.1, 626_371
FIRST_START_S, LAST_START_S, UTC_OFFSET_H = 494_319, 6_455_919, 8
SENSORS_FROM_S = 672 * HOUR_S

# Percent of one GPU, and tasks out of 10,000 that ask for it.
# fmt: off
PLAN_GPU = {
    100.0: 4268, 25.0: 2625, 50.0: 1318, 10.0: 1125, 5.0: 200, 20.0: 110, 15.0: 35,
    30.0: 20, 33.0: 6, 75.0: 10, 80.0: 8, 200.0: 130, 400.0: 75, 800.0: 70,
}
# fmt: on
PLAN_CPU = np.array([200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0, 2400.0])
PLAN_CPU_WEIGHTS = np.array([10, 15, 50, 8, 6, 8, 3])
# Asked for in thousands of MiB, published in GiB.
PLAN_MEM = np.array([4, 8, 10, 16, 30, 50, 60, 100]) * 1000 / 1024
PLAN_MEM_WEIGHTS = np.array([4, 8, 12, 16, 45, 9, 4, 2])

# Instances of a task, and tasks out of 100,000.
# fmt: off
GANG_SIZES = {
    1: 87_500, 2: 1_700, 4: 1_450, 10: 1_150, 20: 1_700, 40: 2_850, 64: 2_650, 100: 640,
    150: 230, 300: 100, 1000: 14,
}
# fmt: on
FITTED_GANGS = (40, 64)

RERUNS = 75_000
FAILED_FIRST, WAITING_ZERO, WAITING_EMPTY = range(3)
RERUN_WEIGHTS = (70, 20, 10)
RERUN_SHARE_OF_RUN = 0.4
INSTANCE_STATUS_SHARES = {
    FAILED: (0.62, 0.11, 0.24, 0.03),
    RUNNING: (0.01, 0.95, 0.02, 0.02),
    TERMINATED: (0.005, 0.003, 0.99, 0.002),
    WAITING: (0.0, 0.0, 0.0, 1.0),
}

# Logarithms of use over plan: medians and spreads that leave the published shares above the plan.
CPU_USE, GPU_USE, MEM_USE = (-1.0145, 1.0), (-1.854, 0.9), (-1.216, 0.7)
IDLE_GPU_SHARE = 0.1
MOST_CPU_PERCENT, MOST_MEM_GB = 9_600.0, 256.0
SENSORS_WITHOUT_CPU, SENSORS_WITHOUT_MEM, UNKNOWN_MACHINES = 5_829, 1_217, 9
METRICS_WITHOUT_LOAD = 900

JOBS_WITHOUT_TAG, TAGS_WITHOUT_JOB = 1_530, 1_061
TAGS_WITHOUT_GROUP_SHARE = 0.01
SINGLE_GROUP_SHARE, JOBS_PER_GROUP = 0.25, 12
TAGGED_SHARE = 0.0978
# fmt: off
WORKLOADS = ("graphlearn", "ctr", "bert", "nmt", "inception", "resnet", "rl", "vgg", "xlnet")
# fmt: on


@dataclass(frozen=True)
class MachineShape:
    """Machines that are alike: how many, their cores, GB of memory and GPUs."""

    gpu_type: str
    machines: int
    cores: int
    memory_gb: int
    gpus: int


MACHINES = (
    MachineShape("CPU", 83, 96, 512, 0),
    MachineShape("MISC", 280, 96, 512, 8),
    MachineShape("P100", 798, 64, 512, 2),
    MachineShape("T4", 497, 96, 512, 2),
    MachineShape("V100", 45, 96, 384, 8),
    MachineShape("V100", 59, 96, 512, 8),
    MachineShape("V100M32", 135, 96, 384, 8),
)
UNWATCHED_GPU_MACHINES = 77


@dataclass(frozen=True)
class Salts:
    """Salts, by which identifiers of different kinds differ although they are made from the same number."""

    job: int
    inst_id: int
    user: int
    worker: int
    instance: int
    machine: int
    unknown_machine: int
    group: int
    stray_tag: int


@dataclass(frozen=True)
class Fleet:
    """The machines by number: shape, GPUs, whether sensors watch them, and the numbers of each GPU type."""

    shape: Ints
    gpus: Ints
    watched: Bools
    by_type: tuple[Ints, ...]


@dataclass(frozen=True)
class Jobs:
    """The jobs by number; times in s, NaN where the table has nothing."""

    status: Ints
    user: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True)
class Tasks:
    """The tasks by number, in the order of their jobs.

    `launched` and `ended` are when the task really started and stopped, known even where the table does
    not say; `wait` is from launch to the first instance, all in s. `rerun` is how one of its
    workers ran again, or -1; `rows` is how many rows it has in the instance table.
    """

    job: Ints
    name: Ints
    inst_num: Ints
    status: Ints
    launched: Ints
    wait: Ints
    ended: Ints
    plan_cpu: Floats
    plan_mem: Floats
    plan_gpu: Floats
    gpu_type: Ints
    rerun: Ints
    rows: Ints


@dataclass
class Quota:
    """Spreads `wanted` choices evenly over `among` candidates that come in chunks."""

    wanted: int
    among: int
    seen: int = 0
    taken: int = 0

    def take(self, rng: np.random.Generator, candidates: Ints, seen: int) -> Ints:
        """Choose from a chunk's candidates; `seen` is how many of `among` the chunk accounts for."""
        self.seen += seen
        due = round(self.wanted * self.seen / max(self.among, 1)) - self.taken
        chosen = rng.permutation(candidates)[: max(due, 0)]
        self.taken += len(chosen)
        chosen.sort()
        return chosen


def expected_bytes(scale: float) -> int:
    """About how many bytes of text a sample has."""
    return round(4_015_000_000 * scale)


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the seven tables below `folder`."""
    scale = max(scale, LEAST_SCALE)
    data = folder / "data"
    salts = Salts(*(int(salt) for salt in rng.integers(2**63, size=9)))
    fleet = _fleet(scale, rng)
    jobs, tasks = _jobs_and_tasks(scale, rng)
    tags = _group_tags(jobs, tasks, scale, rng, salts)
    written = [
        *_write_table(data, "pai_machine_spec", iter([_machine_spec(fleet, salts)]), on_bytes),
        *_write_table(data, "pai_job_table", _job_rows(jobs, salts), on_bytes),
        *_write_table(data, "pai_task_table", _task_rows(tasks, scale, rng, salts), on_bytes),
        *_write_table(data, "pai_group_tag_table", tags, on_bytes),
        *_write_instance_tables(data, Run(scale, rng, salts, fleet, tasks), on_bytes),
    ]
    for stem, header in HEADERS.items():
        written.append(write_text(data / f"{stem}.header", header + "\n", on_bytes))
    return written


# Archives.


def _write_table(data: Path, stem: str, frames: Iterator[pl.DataFrame], on_bytes: OnBytes) -> list[Path]:
    with scratch(data / f"{stem}.csv.writing") as csv:
        write_headerless_csv(csv, frames, on_bytes)
        return _archive(data, stem, csv)


def _archive(data: Path, stem: str, csv: Path) -> list[Path]:
    macos = [Member(f"._{stem}.csv", MACOS_CONTENT)] if stem == WITH_MACOS_MEMBER else []
    archive = write_tar_gz(data / f"{stem}.tar.gz", [*macos, Member(f"{stem}.csv", csv)])
    if stem in IN_PARTS:
        return split(archive, -(-archive.stat().st_size // PARTS))
    return [archive]


def _slices(count: int) -> Iterator[slice]:
    for start in range(0, count, CHUNK_ROWS):
        yield slice(start, min(start + CHUNK_ROWS, count))


# Machines.


def _fleet(scale: float, rng: np.random.Generator) -> Fleet:
    counts = [scaled(shape.machines, scale) for shape in MACHINES]
    shape = np.repeat(np.arange(len(MACHINES)), counts)
    gpus = np.array([machine.gpus for machine in MACHINES])[shape]
    names = np.array([machine.gpu_type for machine in MACHINES])[shape]
    spare = [np.flatnonzero(names == name)[1:] for name in GPU_TYPES]
    unwatched = pick(
        rng,
        np.ones(sum(map(len, spare))),
        min(round(UNWATCHED_GPU_MACHINES * scale), sum(map(len, spare)) // 4),
    )
    watched = gpus > 0
    watched[np.concatenate(spare)[unwatched]] = False
    by_type = (*(np.flatnonzero(names == name) for name in GPU_TYPES), np.arange(len(shape)))
    return Fleet(shape, gpus, watched, by_type)


def _machine_spec(fleet: Fleet, salts: Salts) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "machine": hex_ids(np.arange(len(fleet.shape)), salts.machine, 24),
            "gpu_type": labels(fleet.shape, [shape.gpu_type for shape in MACHINES]),
            "cap_cpu": np.array([shape.cores for shape in MACHINES])[fleet.shape],
            "cap_mem": np.array([shape.memory_gb for shape in MACHINES])[fleet.shape],
            "cap_gpu": fleet.gpus,
        }
    )


# Jobs and tasks.


def _jobs_and_tasks(scale: float, rng: np.random.Generator) -> tuple[Jobs, Tasks]:
    job_count = scaled(JOBS, scale)
    submitted = rng.permutation(arrivals(rng, job_count, FIRST_START_S, LAST_START_S, UTC_OFFSET_H))
    cpu_only_first = mask_of(
        job_count,
        pick(rng, np.ones(job_count), scaled(CPU_ONLY_TASKS - CPU_ONLY_LATER_TASKS, scale)),
    )
    status = _job_statuses(submitted, cpu_only_first, rng)
    tasks = _tasks(status, submitted, cpu_only_first, scale, rng)
    users = scaled(USERS, scale, LEAST_USERS)
    # Few users have most of the jobs.
    weight = lognormal(rng, users, 1.0, 2.5)
    jobs = Jobs(
        status=status,
        user=spread(rng, job_count, weight),
        start=np.where(status == WAITING, np.nan, submitted),
        end=_job_ends(status, tasks, scale, rng),
    )
    return jobs, tasks


def _job_statuses(submitted: Ints, cpu_only: Bools, rng: np.random.Generator) -> Ints:
    count = len(submitted)
    by_status = apportion(count, JOBS_BY_STATUS)
    late = submitted > np.quantile(submitted, 0.75)
    failing = np.where(late, LAST_QUARTER_FAILS_MORE, 1.0) * np.where(cpu_only, CPU_ONLY_FAILS_LESS, 1.0)
    status = np.full(count, TERMINATED)
    failed = pick(rng, failing, int(by_status[FAILED]))
    status[failed] = FAILED
    others = rng.permutation(np.flatnonzero(status != FAILED))
    running, waiting = int(by_status[RUNNING]), int(by_status[WAITING])
    status[others[:running]] = RUNNING
    status[others[running : running + waiting]] = WAITING
    return status


def _job_ends(status: Ints, tasks: Tasks, scale: float, rng: np.random.Generator) -> Floats:
    """Ends (s): of every terminated job, of some others, and a few that are 0."""
    first_tasks = np.flatnonzero(np.diff(tasks.job, prepend=-1))
    last_end = np.maximum.reduceat(tasks.ended, first_tasks)
    shown = status == TERMINATED
    for code, count in JOBS_WITH_END.items():
        shown[pick(rng, status == code, scaled(count, scale))] = True
    ends = np.where(shown, last_end, np.nan)
    ends[pick(rng, (status == FAILED) & ~shown, scaled(ZERO_ENDS, scale))] = 0.0
    return ends


def _tasks(
    job_status: Ints, submitted: Ints, cpu_only_first: Bools, scale: float, rng: np.random.Generator
) -> Tasks:
    job, order, status = _tasks_of_jobs(job_status, scale, rng)
    count = len(job)
    first = order == 0
    cpu_only = np.where(first, cpu_only_first[job], False)
    cpu_only[pick(rng, ~first, scaled(CPU_ONLY_LATER_TASKS, scale))] = True
    plan_gpu = np.full(count, np.nan)
    plan_gpu[~cpu_only] = np.array(list(PLAN_GPU))[
        spread(rng, int((~cpu_only).sum()), list(PLAN_GPU.values()))
    ]
    gpu_type = _gpu_types(plan_gpu, scale, rng)
    plan_cpu = rng.choice(PLAN_CPU, count, p=PLAN_CPU_WEIGHTS / PLAN_CPU_WEIGHTS.sum())
    plan_mem = rng.choice(PLAN_MEM, count, p=PLAN_MEM_WEIGHTS / PLAN_MEM_WEIGHTS.sum())
    unplanned = pick(rng, cpu_only, scaled(TASKS_WITHOUT_CPU_PLAN, scale))
    plan_cpu[unplanned] = plan_mem[unplanned] = np.nan
    inst_num, rerun, rows = _instance_counts(status, scale, rng)
    longer = np.where(plan_gpu >= 100, WHOLE_GPU_WAITS_LONGER, 1.0)
    waits = lognormal(rng, count, WAIT_MEDIAN_S[gpu_type] * longer, WAIT_SIGMA[gpu_type])
    wait = waits.clip(max=LONGEST_WAIT_S).astype(np.int64)
    run = lognormal(rng, count, RUN_MEDIAN_S, RUN_SIGMA).clip(1, LONGEST_RUN_S).astype(np.int64)
    launched = submitted[job] + np.where(first, 0, rng.integers(0, 30, count))
    return Tasks(
        job=job,
        name=_task_names(job, order, rng),
        inst_num=inst_num,
        status=status,
        launched=launched,
        wait=wait,
        ended=launched + wait + run,
        plan_cpu=plan_cpu,
        plan_mem=plan_mem,
        plan_gpu=plan_gpu,
        gpu_type=gpu_type,
        rerun=rerun,
        rows=rows,
    )


def _tasks_of_jobs(job_status: Ints, scale: float, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Of every task, its job, its place in the job and its status."""
    job_count = len(job_status)
    more = scaled(TASKS - JOBS, scale)
    more_waiting = scaled(MORE_WAITING, scale)
    of_three = scaled(JOBS_OF_THREE_TASKS, scale)
    waiting = pick(rng, job_status == WAITING, more_waiting)
    others = pick(rng, job_status != WAITING, more - more_waiting - of_three)
    tasks_of = np.ones(job_count, dtype=np.int64)
    tasks_of[waiting] = 2
    tasks_of[others] = 2
    tasks_of[others[:of_three]] = 3
    job = np.repeat(np.arange(job_count), tasks_of)
    order = np.arange(len(job)) - np.repeat(np.cumsum(tasks_of) - tasks_of, tasks_of)
    status = job_status[job]
    later = (order > 0) & (status != WAITING)
    shares = (MORE_FAILED, MORE_RUNNING, MORE_TERMINATED)
    status[later] = spread(rng, int(later.sum()), shares)
    return job, order, status


def _task_names(job: Ints, order: Ints, rng: np.random.Generator) -> Ints:
    alone = np.bincount(job)[job] == 1
    only = np.array(ONLY_TASK_NAMES)[spread(rng, len(job), ONLY_TASK_WEIGHTS)]
    several = np.where(order == 0, FIRST_OF_SEVERAL, FIRST_LATER_NAME + order - 1)
    return np.where(alone, only, several)


def _gpu_types(plan_gpu: Floats, scale: float, rng: np.random.Generator) -> Ints:
    """The type of GPU that each task was given."""
    typed = ~np.isnan(plan_gpu)
    typed[pick(rng, ~typed, scaled(CPU_ONLY_TASKS_WITH_TYPE, scale))] = True
    gpu_type = np.full(len(plan_gpu), NO_TYPE)
    gpu_type[typed] = spread(rng, int(typed.sum()), GPU_TYPE_TASKS)
    # More GPUs than a machine of the type has: change places with tasks that fit anywhere.
    misfits = np.flatnonzero((plan_gpu > 200) & np.isin(gpu_type, TWO_GPU_TYPES))
    partners = pick(rng, (plan_gpu <= 200) & (gpu_type == 0), len(misfits))
    misfits = misfits[: len(partners)]
    gpu_type[partners], gpu_type[misfits] = gpu_type[misfits].copy(), gpu_type[partners].copy()
    return gpu_type


def _instance_counts(status: Ints, scale: float, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Of every task, its planned instances, how a worker ran again, and its rows in the instance table."""
    wanted = scaled(INSTANCES, scale)
    sizes = {size: tasks for size, tasks in GANG_SIZES.items() if size * 15 <= wanted}
    inst_num = np.array(list(sizes))[spread(rng, len(status), list(sizes.values()))]
    launched = status != WAITING
    never = pick(rng, (status == FAILED) & (inst_num == 1), scaled(FAILED_TASKS_WITHOUT_INSTANCES, scale))
    launched[never] = False
    rerun = np.full(len(status), -1)
    again = pick(rng, launched & (status == TERMINATED), scaled(RERUNS, scale, len(RERUN_WEIGHTS)))
    rerun[again] = spread(rng, len(again), RERUN_WEIGHTS)
    fitted = np.flatnonzero(launched & np.isin(inst_num, FITTED_GANGS))
    spare = wanted - len(again) - int(inst_num[launched].sum())
    change, rest = divmod(spare, len(fitted))
    inst_num[fitted] = np.maximum(inst_num[fitted] + change + (np.arange(len(fitted)) < rest), 2)
    return inst_num, rerun, np.where(launched, inst_num + (rerun >= 0), 0)


def _job_rows(jobs: Jobs, salts: Salts) -> Iterator[pl.DataFrame]:
    number = np.arange(len(jobs.status))
    for rows in _slices(len(number)):
        yield pl.DataFrame(
            {
                "job_name": hex_ids(number[rows], salts.job, 24),
                "inst_id": hex_ids(number[rows], salts.inst_id, 60),
                "user": hex_ids(jobs.user[rows], salts.user, 12),
                "status": labels(jobs.status[rows], STATUSES),
                "start_time": floats(jobs.start[rows]),
                "end_time": floats(jobs.end[rows]),
            }
        )


def _task_rows(tasks: Tasks, scale: float, rng: np.random.Generator, salts: Salts) -> Iterator[pl.DataFrame]:
    ends = _task_ends(tasks, scale, rng)
    starts = np.where(tasks.status == WAITING, np.nan, tasks.launched)
    for rows in _slices(len(tasks.job)):
        yield pl.DataFrame(
            {
                "job_name": hex_ids(tasks.job[rows], salts.job, 24),
                "task_name": labels(tasks.name[rows], TASK_NAMES),
                "inst_num": floats(tasks.inst_num[rows]),
                "status": labels(tasks.status[rows], STATUSES),
                "start_time": floats(starts[rows]),
                "end_time": floats(ends[rows]),
                "plan_cpu": floats(tasks.plan_cpu[rows]),
                "plan_mem": floats(tasks.plan_mem[rows]),
                "plan_gpu": floats(tasks.plan_gpu[rows]),
                "gpu_type": labels(tasks.gpu_type[rows], (*GPU_TYPES, None)),
            }
        )


def _task_ends(tasks: Tasks, scale: float, rng: np.random.Generator) -> Floats:
    failed = tasks.status == FAILED
    shown = (tasks.status == TERMINATED) | (failed & (rng.random(len(failed)) < FAILED_TASK_WITH_END_SHARE))
    ends = np.where(shown, tasks.ended, np.nan)
    ends[pick(rng, failed & ~shown, scaled(ZERO_ENDS, scale))] = 0.0
    return ends


# Group tags.


def _group_tags(
    jobs: Jobs, tasks: Tasks, scale: float, rng: np.random.Generator, salts: Salts
) -> Iterator[pl.DataFrame]:
    """The tags in no order: of all jobs but a few, and some of no job."""
    count = len(jobs.user)
    untagged = mask_of(count, pick(rng, np.ones(count), scaled(JOBS_WITHOUT_TAG, scale)))
    tagged = np.flatnonzero(~untagged)
    stray = scaled(TAGS_WITHOUT_JOB, scale)
    job = rng.permutation(np.concatenate((tagged, np.full(stray, -1))))
    is_stray = job < 0
    # A stray tag borrows the user and group of some job, but not its id.
    like = np.where(is_stray, rng.integers(0, count, len(job)), job)
    group = _groups(jobs.user, rng)[like]
    workload = _workloads(group, rng)
    spec = _gpu_type_specs(tasks, rng)[like]
    no_group = rng.random(len(job)) < TAGS_WITHOUT_GROUP_SHARE
    no_group[0] = True
    for rows in _slices(len(job)):
        known = hex_ids(job[rows].clip(min=0), salts.inst_id, 60, null=is_stray[rows])
        strays = hex_ids(np.arange(rows.start, rows.stop), salts.stray_tag, 60)
        yield pl.DataFrame(
            {
                "inst_id": known.fill_null(strays),
                "user": hex_ids(jobs.user[like[rows]], salts.user, 12),
                "gpu_type_spec": labels(spec[rows], (*GPU_TYPES, None)),
                "group": hex_ids(group[rows], salts.group, 32, null=no_group[rows]),
                "workload": labels(workload[rows], (*WORKLOADS, None)),
            }
        )


def _groups(user: Ints, rng: np.random.Generator) -> Ints:
    """The group of each job: one of its user's, the first ones more often, or one of its own."""
    groups_of_user = -(-np.bincount(user) // JOBS_PER_GROUP)
    first_group = np.cumsum(groups_of_user) - groups_of_user
    nth = (groups_of_user[user] * rng.random(len(user)) ** 2).astype(np.int64)
    alone = rng.random(len(user)) < SINGLE_GROUP_SHARE
    return np.where(alone, int(groups_of_user.sum()) + np.arange(len(user)), first_group[user] + nth)


def _workloads(group: Ints, rng: np.random.Generator) -> Ints:
    """The workload of each tag: the same all through a group, and none for most."""
    numbers, group_of = np.unique(group, return_inverse=True)
    rank = rng.permutation(len(numbers))[group_of]
    workload = np.full(len(group), len(WORKLOADS))
    chosen = np.argsort(rank, kind="stable")[: max(len(WORKLOADS), round(len(group) * TAGGED_SHARE))]
    workload[chosen] = rank[chosen] % len(WORKLOADS)
    return workload


def _gpu_type_specs(tasks: Tasks, rng: np.random.Generator) -> Ints:
    """The GPU type that each job insisted on; it is then what its first task was given."""
    first = np.flatnonzero(np.diff(tasks.job, prepend=-1))
    given = tasks.gpu_type[first]
    insists = rng.random(len(first)) < SPEC_SHARE[given]
    for gpu_type in range(NO_TYPE):
        insists[np.flatnonzero(given == gpu_type)[:1]] = True
    return np.where(insists, given, NO_TYPE)


# Instances, and what was measured of them.


@dataclass(frozen=True)
class Run:
    """What the tables of instances are made from."""

    scale: float
    rng: np.random.Generator
    salts: Salts
    fleet: Fleet
    tasks: Tasks


@dataclass(frozen=True)
class Quotas:
    """How many instances get a row elsewhere, and how many of these rows lack something."""

    sensors: Quota
    metrics: Quota
    without_cpu: Quota
    without_mem: Quota
    unknown_machines: Quota
    without_load: Quota


@dataclass(frozen=True)
class Chunk:
    """Some rows of the instance table; times in s, NaN where the table has nothing.

    `task` counts from `first_task`. `worker` names the row's worker, of which a rerun has the same.
    `machine` is -1 where the instance was never placed.
    """

    first_task: int
    task: Ints
    number: Ints
    worker: Ints
    nameless: Bools
    again: Bools
    status: Ints
    start: Floats
    end: Floats
    machine: Ints


def _write_instance_tables(data: Path, run: Run, on_bytes: OnBytes) -> list[Path]:
    """Write the three tables in one pass, for a sensor's row must agree with the instance's."""
    makers: dict[str, Callable[[Run, Quotas, Chunk], pl.DataFrame]] = {
        "pai_instance_table": _instance_rows,
        "pai_sensor_table": _sensor_rows,
        "pai_machine_metric": _metric_rows,
    }
    quotas = _quotas(run)
    with ExitStack() as stack:
        paths = {stem: stack.enter_context(scratch(data / f"{stem}.csv.writing")) for stem in makers}
        with ExitStack() as writing:
            csvs: dict[str, IO[bytes]] = {
                stem: writing.enter_context(path.open("wb")) for stem, path in paths.items()
            }
            for chunk in _chunks(run):
                for stem, rows_of in makers.items():
                    append_csv(csvs[stem], rows_of(run, quotas, chunk), on_bytes)
        written: list[Path] = []
        for stem, path in paths.items():
            written += _archive(data, stem, path)
            path.unlink()
    return written


def _quotas(run: Run) -> Quotas:
    sensors, metrics = scaled(SENSORS, run.scale), scaled(METRICS, run.scale)
    eligible = int(run.tasks.rows[_late_enough(run.tasks)].sum())
    return Quotas(
        sensors=Quota(sensors, eligible),
        metrics=Quota(metrics, eligible),
        without_cpu=Quota(scaled(SENSORS_WITHOUT_CPU, run.scale), sensors),
        without_mem=Quota(scaled(SENSORS_WITHOUT_MEM, run.scale), sensors),
        unknown_machines=Quota(scaled(UNKNOWN_MACHINES, run.scale), sensors),
        without_load=Quota(scaled(METRICS_WITHOUT_LOAD, run.scale), metrics),
    )


def _late_enough(tasks: Tasks) -> Bools:
    late: Bools = tasks.launched + tasks.wait >= SENSORS_FROM_S
    return late


def _chunks(run: Run) -> Iterator[Chunk]:
    ends = np.cumsum(run.tasks.rows)
    first_task = 0
    while first_task < len(ends):
        done = int(ends[first_task - 1]) if first_task else 0
        stop = max(int(np.searchsorted(ends, done + CHUNK_ROWS, side="right")), first_task + 1)
        yield _chunk(run, first_task, stop, done)
        first_task = stop


def _chunk(run: Run, first_task: int, stop: int, done: int) -> Chunk:
    rng, tasks = run.rng, run.tasks
    rows = tasks.rows[first_task:stop]
    task = np.repeat(np.arange(len(rows)), rows)
    number = done + np.arange(len(task))
    first_row = done + (np.cumsum(rows) - rows)[task]
    place = number - first_row
    of = first_task + task
    again = place == tasks.inst_num[of]
    status = _instance_statuses(tasks.status[of], place, again, tasks.rerun[of], rng)
    start, end = _instance_times(tasks, of, place, again, status, rng)
    pools = [run.fleet.by_type[gpu_type] for gpu_type in range(NO_TYPE + 1)]
    sizes = np.array([len(pool) for pool in pools])
    offsets = np.cumsum(sizes) - sizes
    gpu_type = tasks.gpu_type[of]
    drawn = (rng.random(len(of)) * sizes[gpu_type]).astype(np.int64)
    machine = np.concatenate(pools)[offsets[gpu_type] + drawn]
    # An instance that waited has no worker yet; one that ran before keeps it.
    nameless = (status == WAITING) & ~again
    return Chunk(
        first_task=first_task,
        task=task,
        number=number,
        worker=np.where(again, first_row, number),
        nameless=nameless,
        again=again,
        status=status,
        start=start,
        end=end,
        machine=np.where(status == WAITING, -1, machine),
    )


def _instance_statuses(
    task_status: Ints, place: Ints, again: Bools, rerun: Ints, rng: np.random.Generator
) -> Ints:
    luck = rng.random(len(place))
    status = np.empty(len(place), dtype=np.int64)
    for code, shares in INSTANCE_STATUS_SHARES.items():
        mine = task_status == code
        status[mine] = np.searchsorted(np.cumsum(shares)[:-1], luck[mine], side="right")
    # The first instance has the status of its task.
    status[place == 0] = task_status[place == 0]
    return np.where(again, np.where(rerun == FAILED_FIRST, FAILED, WAITING), status)


def _instance_times(
    tasks: Tasks, of: Ints, place: Ints, again: Bools, status: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Starts and ends (s): the first instance waits as its task did, the last ends it."""
    count = len(of)
    first_start = tasks.launched[of] + tasks.wait[of]
    run = tasks.ended[of] - first_start
    early = (rng.random(count) * np.minimum(0.05 * run, 60.0)).astype(np.int64)
    late = (rng.random(count) * 0.05 * run).astype(np.int64)
    start = (first_start + np.where((place == 0) | again, 0, early)).astype(np.float64)
    end = (tasks.ended[of] - np.where(place >= tasks.inst_num[of] - 1, 0, late)).astype(np.float64)

    failed_before = tasks.rerun[of] == FAILED_FIRST
    broke_off = np.floor(first_start + RERUN_SHARE_OF_RUN * run)
    end = np.where(again, broke_off, end)
    start = np.where(failed_before & (place == 0), broke_off, start)

    luck = rng.random(count)
    unfinished = (status == RUNNING) | ((status == FAILED) & ~again & (luck < 0.4))
    end = np.where(unfinished, np.where(luck < 0.02, 0.0, np.nan), end)
    nothing = np.where(luck < 0.5, 0.0, np.nan)
    nothing = np.where(again, np.where(tasks.rerun[of] == WAITING_ZERO, 0.0, np.nan), nothing)
    never = status == WAITING
    return np.where(never, nothing, start), np.where(never, nothing, end)


def _instance_rows(run: Run, quotas: Quotas, chunk: Chunk) -> pl.DataFrame:
    job = run.tasks.job[chunk.first_task + chunk.task]
    return pl.DataFrame(
        {
            "job_name": hex_ids(job, run.salts.job, 24),
            "task_name": labels(run.tasks.name[chunk.first_task + chunk.task], TASK_NAMES),
            "inst_name": hex_ids(chunk.worker, run.salts.instance, 60),
            "worker_name": hex_ids(chunk.worker, run.salts.worker, 60, null=chunk.nameless),
            "inst_id": hex_ids(job, run.salts.inst_id, 60),
            "status": labels(chunk.status, STATUSES),
            "start_time": floats(chunk.start),
            "end_time": floats(chunk.end),
            "machine": hex_ids(chunk.machine, run.salts.machine, 24, null=chunk.machine < 0),
        }
    )


def _sensor_rows(run: Run, quotas: Quotas, chunk: Chunk) -> pl.DataFrame:
    rng, tasks, fleet = run.rng, run.tasks, run.fleet
    of = chunk.first_task + chunk.task
    late = _late_enough(tasks)[of]
    placed = late & ~chunk.again & (chunk.machine >= 0) & ~chunk.nameless
    watched = placed & fleet.watched[chunk.machine.clip(min=0)]
    rows = quotas.sensors.take(rng, np.flatnonzero(watched), int(late.sum()))
    task, machine = of[rows], chunk.machine[rows]
    count = len(rows)
    unknown = quotas.unknown_machines.take(rng, np.arange(count), count)
    plan_cpu = np.nan_to_num(tasks.plan_cpu[task], nan=PLAN_CPU[0])
    plan_mem = np.nan_to_num(tasks.plan_mem[task], nan=PLAN_MEM[0])
    cpu = (plan_cpu * _use(rng, chunk.task[rows], CPU_USE)).clip(max=MOST_CPU_PERCENT)
    gpu = tasks.plan_gpu[task] * _use(rng, chunk.task[rows], GPU_USE)
    gpu = np.minimum(gpu, 100.0 * fleet.gpus[machine])
    gpu[rng.random(count) < IDLE_GPU_SHARE] *= 0.0
    mem = (plan_mem * _use(rng, chunk.task[rows], MEM_USE)).clip(max=MOST_MEM_GB)
    cpu[quotas.without_cpu.take(rng, np.arange(count), count)] = np.nan
    mem[quotas.without_mem.take(rng, np.arange(count), count)] = np.nan
    gpu_mem = np.where(np.isnan(gpu), np.nan, lognormal(rng, count, 2.0, 0.9).clip(max=32.0))
    known_machine = hex_ids(machine, run.salts.machine, 24, null=mask_of(count, unknown))
    device = (rng.random(count) * fleet.gpus[machine].clip(min=1)).astype(np.int64)
    devices = [f"/dev/nvidia{number}" for number in range(8)]
    return pl.DataFrame(
        {
            "job_name": hex_ids(tasks.job[task], run.salts.job, 24),
            "task_name": labels(tasks.name[task], TASK_NAMES),
            "worker_name": hex_ids(chunk.worker[rows], run.salts.worker, 60),
            "inst_id": hex_ids(tasks.job[task], run.salts.inst_id, 60),
            "machine": known_machine.fill_null(hex_ids(machine, run.salts.unknown_machine, 24)),
            "gpu_name": labels(np.where(np.isnan(gpu), len(devices), device), [*devices, None]),
            "cpu_usage": floats(cpu),
            "gpu_wrk_util": floats(gpu),
            "avg_mem": floats(mem),
            "max_mem": floats(mem * (1 + rng.exponential(0.3, count))),
            "avg_gpu_wrk_mem": floats(gpu_mem),
            "max_gpu_wrk_mem": floats(gpu_mem * (1 + rng.exponential(0.2, count))),
            "read": floats(lognormal(rng, count, 6e6, 2.2)),
            "write": floats(lognormal(rng, count, 3e6, 2.2)),
            "read_count": floats(lognormal(rng, count, 900.0, 1.8)),
            "write_count": floats(lognormal(rng, count, 800.0, 1.8)),
        }
    )


def _use(rng: np.random.Generator, task: Ints, use: tuple[float, float]) -> Floats:
    """Use over plan of each row: much the same for the instances of one task."""
    if not len(task):
        return np.empty(0)
    median, sigma = use
    of_task = rng.normal(median, sigma, int(task[-1]) + 1)[task]
    return np.asarray(np.exp(of_task + rng.normal(0.0, 0.08, len(task))))


def _metric_rows(run: Run, quotas: Quotas, chunk: Chunk) -> pl.DataFrame:
    rng = run.rng
    late = _late_enough(run.tasks)[chunk.first_task + chunk.task]
    happened = (chunk.start > 0) & (chunk.end > 0)
    finished = late & happened & ~chunk.again & (chunk.machine >= 0) & ~chunk.nameless
    rows = quotas.metrics.take(rng, np.flatnonzero(finished), int(late.sum()))
    machine = chunk.machine[rows]
    count = len(rows)
    iowait, kernel = lognormal(rng, count, 0.02, 1.5), lognormal(rng, count, 2.5, 0.6)
    usr = rng.beta(1.3, 4.0, count) * (100 - iowait - kernel).clip(min=0)
    gpus = run.fleet.gpus[machine]
    gpu = np.where(gpus > 0, rng.beta(1.1, 2.5, count) * 100 * gpus, np.nan)
    load = lognormal(rng, count, 18.0, 0.8)
    load[quotas.without_load.take(rng, np.arange(count), count)] = np.nan
    return pl.DataFrame(
        {
            "worker_name": hex_ids(chunk.worker[rows], run.salts.worker, 60),
            "machine": hex_ids(machine, run.salts.machine, 24),
            "start_time": whole(chunk.start[rows]),
            "end_time": whole(chunk.end[rows]),
            "machine_cpu_iowait": floats(iowait),
            "machine_cpu_kernel": floats(kernel),
            "machine_cpu_usr": floats(usr),
            "machine_gpu": floats(gpu),
            "machine_load_1": floats(load),
            "machine_net_receive": floats(lognormal(rng, count, 5e7, 1.0)),
            "machine_num_worker": floats(1 + lognormal(rng, count, 3.0, 0.8)),
            "machine_cpu": floats(iowait + kernel + usr + rng.normal(0.0, 1e-3, count)),
        }
    )


SAMPLER = Sampler(write, expected_bytes)

"""Synthetic PAI: jobs, their tasks and instances, the resources that workers use, and the machines.

The sample has the properties of the original that views and caveats are about:

- Each archive has one CSV without a header, and a `.header` file next to it. Two archives are split into
  parts, and one contains a file of macOS.
- Jobs, tasks, statuses, GPU types, plans and gang sizes have the published numbers.
- More jobs fail towards the end of the trace, and few tasks without a GPU fail.
- Ends of failed jobs and starts of waiting rows are missing, and some times are 0.
- A job starts with its first task, so only instances show waiting times. These depend on the GPU type.
- Some workers ran again under the same name. Some instances have no worker, and some tasks have no instances.
- Two in five workers have sensor rows, none in the first weeks or on some machines. Some workers use more
  than their plan, and more than 100 %.
- Some group tags have no job, and some jobs no tag. Groups recur, and few tags have a workload.

Everything else is invented.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tracehouse.ingest.declarations import Table
from tracehouse.ingest.traces import pai
from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import HOUR_S, Bools, Floats, Ints
from tracehouse.samples.files import Member, OnBytes, scratch, split, write_bytes, write_tar_gz
from tracehouse.samples.tables import Ids, Text, Values, names, write_table

BYTES = 4_015_000_000
# A smaller sample would not have all of these properties.
LEAST_SCALE = 0.0005
BLOCK_TASKS = 50_000
IN_PARTS, PARTS = ("pai_job_table", "pai_group_tag_table"), 2
WITH_MACOS_MEMBER = "pai_sensor_table"
# The content of macOS's `._` files: an AppleDouble header and a Finder attribute.
MACOS_CONTENT = bytes.fromhex("00051607000200004d6163204f532058") + bytes(147)

INSTANCES, SENSORS, METRICS = 7_522_002, 3_033_232, 2_009_423
USERS, LEAST_USERS, USER_SIGMA = 1_430, 40, 2.5
FIRST_START_S, LAST_START_S, UTC_OFFSET_H = 494_319, 6_455_919, 8
SENSORS_FROM_S = 672 * HOUR_S

STATUSES = ("Failed", "Running", "Terminated", "Waiting")
FAILED, RUNNING, TERMINATED, WAITING = range(4)
JOBS_BY_STATUS = (256_555, 62_928, 732_355, 3_663)
JOBS_WITH_END = {FAILED: 25_620, RUNNING: 1_061, WAITING: 45}
# The number of ends that are 0 instead of empty.
ZERO_ENDS = 120
LATE_JOBS_FAIL_MORE, CPU_ONLY_FAILS_LESS = 2.6, 0.3

# The number of second and third tasks of jobs, by status. The tasks of waiting jobs wait.
LATER_TASKS_BY_STATUS = {FAILED: 207, RUNNING: 52_573, TERMINATED: 152_718}
LATER_WAITING_TASKS, JOBS_OF_THREE_TASKS = 51, 15_549
CPU_ONLY_FIRST_TASKS, CPU_ONLY_LATER_TASKS, CPU_ONLY_TASKS_WITH_TYPE = 46_000, 177_965, 5_965
FAILED_TASKS_WITH_END_SHARE, FAILED_TASKS_WITHOUT_INSTANCES = 0.1, 300
TASKS_WITHOUT_CPU_PLAN = 400
ONLY_TASK_NAMES = {"tensorflow": 62, "PyTorchWorker": 22, "OpenmpiWorker": 9, "xComputeWorker": 7}
NAMES_OF_SEVERAL = ("worker", "ps", "evaluator", "chief")

# By GPU type, at last without a type: the waits of tasks, and the share of jobs that request the type.
GPU_TYPES = ("MISC", "T4", "P100", "V100", "V100M32")
NO_TYPE = len(GPU_TYPES)
GPU_TYPE_TASKS = (696_000, 227_000, 73_000, 29_000, 19_000)
WAIT_MEDIAN_S = np.array([9.0, 11.0, 15.0, 80.0, 100.0, 6.0])
WAIT_SIGMA = np.array([2.6, 2.7, 2.8, 3.6, 3.6, 2.0])
REQUEST_SHARE = np.array([0.03, 0.15, 0.15, 0.4, 0.6, 0.0])
WHOLE_GPUS_WAIT_LONGER, LONGEST_WAIT_S = 2.2, 259_200
RUN_MEDIAN_S, RUN_SIGMA, LONGEST_RUN_S = 480.0, 2.1, 626_371

# fmt: off
# Percent of one GPU, percent of one core and GB, each with the number of tasks that request them.
PLAN_GPU = {
    100.0: 4268, 25.0: 2625, 50.0: 1318, 10.0: 1125, 5.0: 200, 20.0: 110, 15.0: 35,
    30.0: 20, 33.0: 6, 75.0: 10, 80.0: 8, 200.0: 130, 400.0: 75, 800.0: 70,
}
PLAN_CPU = {200.0: 10, 400.0: 15, 600.0: 50, 800.0: 8, 1000.0: 6, 1200.0: 8, 2400.0: 3}
# Requested in thousands of MiB, published in GiB.
PLAN_MEM = {
    thousand_mib * 1000 / 1024: tasks
    for thousand_mib, tasks in {4: 4, 8: 8, 10: 12, 16: 16, 30: 45, 50: 9, 60: 4, 100: 2}.items()
}
# Instances of a task, and the number of tasks. The tasks of two sizes are adjusted to reach `INSTANCES`.
GANG_SIZES = {
    1: 87_500, 2: 1_700, 4: 1_450, 10: 1_150, 20: 1_700, 40: 2_850, 64: 2_650, 100: 640,
    150: 230, 300: 100, 1000: 14,
}
ADJUSTED_GANGS = (40, 64)
# GPU type and number of machines; cores, GB of memory and GPUs of a machine.
MACHINES = (
    ("CPU", 83, 96, 512, 0), ("MISC", 280, 96, 512, 8), ("P100", 798, 64, 512, 2), ("T4", 497, 96, 512, 2),
    ("V100", 45, 96, 384, 8), ("V100", 59, 96, 512, 8), ("V100M32", 135, 96, 384, 8),
)
# fmt: on
MACHINES_WITHOUT_SENSORS = 77

# Workers that ran twice: the first run failed, or the second run waits with a start of 0 or an empty start.
FAILED_FIRST, WAITING_ZERO, WAITING_EMPTY = range(3)
RERUNS = {FAILED_FIRST: 52_500, WAITING_ZERO: 15_000, WAITING_EMPTY: 7_500}
RERUN_AFTER_SHARE = 0.4
# By status of a task: the probabilities of the statuses of all instances but the first.
INSTANCE_STATUSES = {
    FAILED: (0.62, 0.11, 0.24, 0.03),
    RUNNING: (0.01, 0.95, 0.02, 0.02),
    TERMINATED: (0.005, 0.003, 0.99, 0.002),
    WAITING: (0.0, 0.0, 0.0, 1.0),
}

# Mean and standard deviation of the logarithm of use over plan, for the published shares above the plan.
CPU_USE, GPU_USE, MEM_USE = (-1.0145, 1.0), (-1.854, 0.9), (-1.216, 0.7)
IDLE_GPU_SHARE, MOST_CPU_PERCENT, MOST_MEM_GB = 0.1, 9_600.0, 256.0
SENSORS_WITHOUT_CPU, SENSORS_WITHOUT_MEM, SENSORS_ON_UNKNOWN_MACHINES = 5_829, 1_217, 9
METRICS_WITHOUT_LOAD = 900

JOBS_WITHOUT_TAG, TAGS_WITHOUT_JOB, TAGS_WITHOUT_GROUP_SHARE = 1_530, 1_061, 0.01
GROUPS_OF_ONE_SHARE, JOBS_PER_GROUP, TAGS_WITH_WORKLOAD_SHARE = 0.25, 12, 0.0978
WORKLOADS = ("graphlearn", "ctr", "bert", "nmt", "inception", "resnet", "rl", "vgg", "xlnet")


@dataclass(frozen=True)
class Machines:
    """The machines by number; `by_type` has the machines of each GPU type, and at last all machines."""

    shape: Ints
    gpus: Ints
    has_sensors: Bools
    by_type: tuple[Ints, ...]


@dataclass(frozen=True)
class Tasks:
    """The tasks by number, in the order of their jobs; times in s.

    `launched` and `ended` are the times of start and end, even if the fields of the table are empty. `wait`
    is the time from the launch to the first instance. `rerun` is a key of `RERUNS` if one of the workers ran
    twice, and else -1. `rows` is the number of rows in the instance table.
    """

    job: Ints
    name: Text
    inst_num: Ints
    rows: Ints
    rerun: Ints
    status: Ints
    launched: Ints
    wait: Ints
    ended: Ints
    plan_cpu: Floats
    plan_mem: Floats
    plan_gpu: Floats
    gpu_type: Ints


@dataclass(frozen=True)
class Instances:
    """The rows of the instance table; times in s, NaN for empty fields.

    `worker` is the number of the worker, and `again` marks its second run. `machine` is -1 if there is none.
    """

    task: Ints
    worker: Ints
    again: Bools
    status: Ints
    start: Floats
    end: Floats
    machine: Ints


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the seven tables and their headers below `folder`, and return the paths."""
    data, scale = folder / "data", max(scale, LEAST_SCALE)
    ids = Ids(int(rng.integers(2**62)))
    machines = _machines(scale, rng)
    status, submitted, cpu_only = _jobs(scale, rng)
    tasks = _tasks(status, submitted, cpu_only, scale, rng)
    users = draw.scaled(USERS, scale, LEAST_USERS)
    user = draw.spread(rng, len(status), draw.lognormal(rng, users, 1.0, USER_SIGMA))
    instances = _instances(tasks, machines, rng)
    # The columns of only one table are in memory at a time.
    written: list[Path] = []
    for table, columns_of in (
        (pai.MACHINE_SPEC, lambda: _machine_spec(machines, ids)),
        (pai.JOB, lambda: _job_columns(status, submitted, user, tasks, scale, rng, ids)),
        (pai.TASK, lambda: _task_columns(tasks, scale, rng, ids)),
        (pai.GROUP_TAG, lambda: _group_tag_columns(user, tasks, scale, rng, ids)),
        (pai.INSTANCE, lambda: _instance_columns(tasks, instances, ids)),
        (pai.SENSOR, lambda: _sensor_columns(tasks, instances, machines, scale, rng, ids)),
        (pai.MACHINE_METRIC, lambda: _metric_columns(tasks, instances, machines, scale, rng, ids)),
    ):
        written += _write_archive(data, table, columns_of(), on_bytes)
        header = ",".join(column.name_in_file for column in table.columns) + "\n"
        written.append(write_bytes(data / f"{table.archive_stem}.header", header.encode(), on_bytes))
    return written


def _write_archive(data: Path, table: Table, columns: dict[str, Values], on_bytes: OnBytes) -> list[Path]:
    stem = table.archive_stem
    macos = [Member(f"._{stem}.csv", MACOS_CONTENT)] if stem == WITH_MACOS_MEMBER else []
    with scratch(data / f"{stem}.csv.writing") as csv:
        write_table(csv, table, columns, on_bytes)
        archive = write_tar_gz(data / f"{stem}.tar.gz", [*macos, Member(f"{stem}.csv", csv)])
    return split(archive, -(-archive.stat().st_size // PARTS)) if stem in IN_PARTS else [archive]


def _machines(scale: float, rng: np.random.Generator) -> Machines:
    counts = [draw.scaled(machines, scale) for _, machines, *_ in MACHINES]
    shape = np.repeat(np.arange(len(MACHINES)), counts)
    types = np.array([gpu_type for gpu_type, *_ in MACHINES])[shape]
    gpus = np.array([each[-1] for each in MACHINES])[shape]
    # The first machine of each GPU type always has sensors.
    spare = np.concatenate([np.flatnonzero(types == name)[1:] for name in GPU_TYPES])
    without = min(round(MACHINES_WITHOUT_SENSORS * scale), len(spare) // 4)
    has_sensors = gpus > 0
    has_sensors[spare[draw.pick(rng, np.ones(len(spare)), without)]] = False
    by_type = (*(np.flatnonzero(types == name) for name in GPU_TYPES), np.arange(len(shape)))
    return Machines(shape, gpus, has_sensors, by_type)


def _jobs(scale: float, rng: np.random.Generator) -> tuple[Ints, Ints, Bools]:
    """Draw for each job its status, its start (s), and whether its first task has no GPU."""
    count = draw.scaled(sum(JOBS_BY_STATUS), scale)
    submitted = rng.permutation(draw.arrivals(rng, count, FIRST_START_S, LAST_START_S, UTC_OFFSET_H))
    cpu_only = draw.mask_of(count, draw.pick(rng, np.ones(count), draw.scaled(CPU_ONLY_FIRST_TASKS, scale)))
    failed, running, _, waiting = draw.apportion(count, JOBS_BY_STATUS).tolist()
    late = submitted > np.quantile(submitted, 0.75)
    fails = np.where(late, LATE_JOBS_FAIL_MORE, 1.0) * np.where(cpu_only, CPU_ONLY_FAILS_LESS, 1.0)
    status = np.full(count, TERMINATED)
    status[draw.pick(rng, fails, failed)] = FAILED
    others = rng.permutation(np.flatnonzero(status != FAILED))
    status[others[:running]] = RUNNING
    status[others[running : running + waiting]] = WAITING
    return status, submitted, cpu_only


def _tasks(
    job_status: Ints, submitted: Ints, cpu_only_first: Bools, scale: float, rng: np.random.Generator
) -> Tasks:
    tasks_of = np.ones(len(job_status), dtype=np.int64)
    later_tasks = draw.scaled(sum(LATER_TASKS_BY_STATUS.values()), scale)
    of_three = draw.scaled(JOBS_OF_THREE_TASKS, scale)
    several = draw.pick(rng, job_status != WAITING, later_tasks - of_three)
    tasks_of[several] = 2
    tasks_of[several[:of_three]] = 3
    tasks_of[draw.pick(rng, job_status == WAITING, draw.scaled(LATER_WAITING_TASKS, scale))] = 2
    job = np.repeat(np.arange(len(job_status)), tasks_of)
    count = len(job)
    order = np.arange(count) - np.repeat(np.cumsum(tasks_of) - tasks_of, tasks_of)
    first = order == 0

    status = job_status[job]
    later = ~first & (status != WAITING)
    status[later] = draw.shares(rng, LATER_TASKS_BY_STATUS, int(later.sum()))
    cpu_only = first & cpu_only_first[job]
    cpu_only[draw.pick(rng, ~first, draw.scaled(CPU_ONLY_LATER_TASKS, scale))] = True
    plan_gpu = np.full(count, np.nan)
    plan_gpu[~cpu_only] = draw.shares(rng, PLAN_GPU, int((~cpu_only).sum()))
    plan_cpu, plan_mem = draw.shares(rng, PLAN_CPU, count), draw.shares(rng, PLAN_MEM, count)
    unplanned = draw.pick(rng, cpu_only, draw.scaled(TASKS_WITHOUT_CPU_PLAN, scale))
    plan_cpu[unplanned] = plan_mem[unplanned] = np.nan

    only = draw.spread(rng, count, list(ONLY_TASK_NAMES.values()))
    name = np.where(tasks_of[job] == 1, only, len(ONLY_TASK_NAMES) + order)
    gpu_type = _gpu_types(plan_gpu, scale, rng)
    inst_num, rerun, rows = _instance_counts(status, scale, rng)
    longer = np.where(plan_gpu >= 100, WHOLE_GPUS_WAIT_LONGER, 1.0)
    waits = draw.lognormal(rng, count, WAIT_MEDIAN_S[gpu_type] * longer, WAIT_SIGMA[gpu_type])
    wait = waits.clip(max=LONGEST_WAIT_S).astype(np.int64)
    run = draw.lognormal(rng, count, RUN_MEDIAN_S, RUN_SIGMA).clip(1, LONGEST_RUN_S).astype(np.int64)
    launched = submitted[job] + np.where(first, 0, rng.integers(0, 30, count))
    return Tasks(
        job, names(name, (*ONLY_TASK_NAMES, *NAMES_OF_SEVERAL)), inst_num, rows, rerun, status,
        launched, wait, launched + wait + run, plan_cpu, plan_mem, plan_gpu, gpu_type,
    )  # fmt: skip


def _gpu_types(plan_gpu: Floats, scale: float, rng: np.random.Generator) -> Ints:
    """Draw the GPU type of each task, as a position in `GPU_TYPES` or `NO_TYPE`."""
    typed = ~np.isnan(plan_gpu)
    typed[draw.pick(rng, ~typed, draw.scaled(CPU_ONLY_TASKS_WITH_TYPE, scale))] = True
    gpu_type = np.full(len(plan_gpu), NO_TYPE)
    gpu_type[typed] = draw.spread(rng, int(typed.sum()), GPU_TYPE_TASKS)
    # T4 and P100 machines have two GPUs: exchange the types of larger tasks with those of small MISC tasks.
    misfits = np.flatnonzero((plan_gpu > 200) & np.isin(gpu_type, (1, 2)))
    partners = draw.pick(rng, (plan_gpu <= 200) & (gpu_type == 0), len(misfits))
    misfits = misfits[: len(partners)]
    gpu_type[partners], gpu_type[misfits] = gpu_type[misfits].copy(), gpu_type[partners].copy()
    return gpu_type


def _instance_counts(status: Ints, scale: float, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Draw for each task its planned instances, its `rerun`, and its rows in the instance table."""
    wanted = draw.scaled(INSTANCES, scale)
    sizes = {size: tasks for size, tasks in GANG_SIZES.items() if size * 15 <= wanted}
    inst_num = draw.shares(rng, sizes, len(status))
    launched = status != WAITING
    never = (status == FAILED) & (inst_num == 1)
    launched[draw.pick(rng, never, draw.scaled(FAILED_TASKS_WITHOUT_INSTANCES, scale))] = False
    rerun = np.full(len(status), -1)
    reruns = draw.scaled(sum(RERUNS.values()), scale, len(RERUNS))
    again = draw.pick(rng, launched & (status == TERMINATED), reruns)
    rerun[again] = draw.shares(rng, RERUNS, len(again))
    adjusted = np.flatnonzero(launched & np.isin(inst_num, ADJUSTED_GANGS))
    change, rest = divmod(wanted - len(again) - int(inst_num[launched].sum()), len(adjusted))
    inst_num[adjusted] = np.maximum(inst_num[adjusted] + change + (np.arange(len(adjusted)) < rest), 2)
    return inst_num, rerun, np.where(launched, inst_num + (rerun >= 0), 0)


def _instances(tasks: Tasks, machines: Machines, rng: np.random.Generator) -> Instances:
    """Draw the instances of all tasks, in blocks of tasks to save memory."""
    blocks = [
        _block_of_instances(tasks, first, min(first + BLOCK_TASKS, len(tasks.rows)), machines, rng)
        for first in range(0, len(tasks.rows), BLOCK_TASKS)
    ]
    return Instances(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _block_of_instances(
    tasks: Tasks, first: int, stop: int, machines: Machines, rng: np.random.Generator
) -> tuple[Any, ...]:
    """Draw the instances of the tasks from `first` to `stop`; return the fields of `Instances`."""
    rows = tasks.rows[first:stop]
    task = np.repeat(np.arange(first, stop, dtype=np.int32), rows)
    number = tasks.rows[:first].sum() + np.arange(len(task))
    place = np.arange(len(task)) - np.repeat(np.cumsum(rows) - rows, rows)
    size, task_status, rerun = tasks.inst_num[task], tasks.status[task], tasks.rerun[task]
    again = place == size

    status = task_status.astype(np.int8)
    luck = rng.random(len(task))
    for code, weights in INSTANCE_STATUSES.items():
        # The first instance has the status of its task.
        others = (task_status == code) & (place > 0)
        status[others] = np.searchsorted(np.cumsum(weights)[:-1], luck[others], side="right")
    status[again] = np.where(rerun[again] == FAILED_FIRST, FAILED, WAITING)

    start, end = _instance_times(tasks, task, place, size, again, status, rng)
    pool_sizes = np.array([len(pool) for pool in machines.by_type])
    of_type = tasks.gpu_type[task]
    drawn = (rng.random(len(task)) * pool_sizes[of_type]).astype(np.int64)
    machine = np.concatenate(machines.by_type)[(np.cumsum(pool_sizes) - pool_sizes)[of_type] + drawn]
    machine[status == WAITING] = -1
    worker = np.where(again, number - place, number)
    return task, worker.astype(np.int32), again, status, start, end, machine.astype(np.int32)


def _instance_times(
    tasks: Tasks, task: Ints, place: Ints, size: Ints, again: Bools, status: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw starts and ends (s): the first starts after the wait of the task, the last ends with the task."""
    first_start = (tasks.launched + tasks.wait)[task].astype(np.float64)
    end = tasks.ended[task].astype(np.float64)
    run = end - first_start
    early = np.floor(rng.random(len(task)) * np.minimum(0.05 * run, 60.0))
    start = first_start + np.where((place == 0) | again, 0.0, early)
    end -= np.where(place >= size - 1, 0, np.floor(rng.random(len(task)) * 0.05 * run))

    rerun = tasks.rerun[task]
    broke_off = np.floor(first_start + RERUN_AFTER_SHARE * run)
    end[again] = broke_off[again]
    second = (rerun == FAILED_FIRST) & (place == 0)
    start[second] = broke_off[second]

    luck = rng.random(len(task))
    unfinished = (status == RUNNING) | ((status == FAILED) & ~again & (luck < 0.4))
    end[unfinished] = np.where(luck[unfinished] < 0.02, 0.0, np.nan)
    is_zero = np.where(again, rerun == WAITING_ZERO, luck < 0.5)
    never = status == WAITING
    start[never] = end[never] = np.where(is_zero[never], 0.0, np.nan)
    return start, end


def _machine_spec(machines: Machines, ids: Ids) -> dict[str, Values]:
    types, _, cores, memory_gb, gpus = zip(*MACHINES, strict=True)
    return {
        "machine": ids("machine", 24, np.arange(len(machines.shape))),
        "gpu_type": names(machines.shape, types),
        "cap_cpu": np.array(cores)[machines.shape],
        "cap_mem": np.array(memory_gb)[machines.shape],
        "cap_gpu": np.array(gpus)[machines.shape],
    }


def _job_columns(
    status: Ints, submitted: Ints, user: Ints, tasks: Tasks, scale: float, rng: np.random.Generator, ids: Ids
) -> dict[str, Values]:
    shown = status == TERMINATED
    for code, jobs in JOBS_WITH_END.items():
        shown[draw.pick(rng, status == code, draw.scaled(jobs, scale))] = True
    last_end = np.maximum.reduceat(tasks.ended, np.flatnonzero(np.diff(tasks.job, prepend=-1)))
    end = np.where(shown, last_end, np.nan)
    end[draw.pick(rng, (status == FAILED) & ~shown, draw.scaled(ZERO_ENDS, scale))] = 0.0
    number = np.arange(len(status))
    return {
        "job_name": ids("job", 24, number),
        "inst_id": ids("inst_id", 60, number),
        "user": ids("user", 12, user),
        "status": names(status, STATUSES),
        "start_time": np.where(status == WAITING, np.nan, submitted),
        "end_time": end,
    }


def _task_columns(tasks: Tasks, scale: float, rng: np.random.Generator, ids: Ids) -> dict[str, Values]:
    failed = tasks.status == FAILED
    shown = (tasks.status == TERMINATED) | (failed & (rng.random(len(failed)) < FAILED_TASKS_WITH_END_SHARE))
    end = np.where(shown, tasks.ended, np.nan)
    end[draw.pick(rng, failed & ~shown, draw.scaled(ZERO_ENDS, scale))] = 0.0
    return {
        "job_name": ids("job", 24, tasks.job),
        "task_name": tasks.name,
        "inst_num": tasks.inst_num,
        "status": names(tasks.status, STATUSES),
        "start_time": np.where(tasks.status == WAITING, np.nan, tasks.launched),
        "end_time": end,
        "plan_cpu": tasks.plan_cpu,
        "plan_mem": tasks.plan_mem,
        "plan_gpu": tasks.plan_gpu,
        "gpu_type": names(tasks.gpu_type, (*GPU_TYPES, None)),
    }


def _group_tag_columns(
    user: Ints, tasks: Tasks, scale: float, rng: np.random.Generator, ids: Ids
) -> dict[str, Values]:
    """Draw tags in random order: for most jobs, and some without a job."""
    count, stray = len(user), draw.scaled(TAGS_WITHOUT_JOB, scale)
    untagged = draw.pick(rng, np.ones(count), draw.scaled(JOBS_WITHOUT_TAG, scale))
    tagged = np.flatnonzero(~draw.mask_of(count, untagged))
    # A tag without a job has the user and the group of a random job, but its own id.
    job = rng.permutation(np.concatenate((tagged, count + np.arange(stray))))
    like = np.where(job < count, job, rng.integers(0, count, len(job)))
    group = _groups(user, rng)[like]
    no_group = rng.random(len(job)) < TAGS_WITHOUT_GROUP_SHARE
    no_group[0] = True
    given = tasks.gpu_type[np.flatnonzero(np.diff(tasks.job, prepend=-1))]
    is_requested = rng.random(count) < REQUEST_SHARE[given]
    for gpu_type in range(NO_TYPE):
        is_requested[np.flatnonzero(given == gpu_type)[:1]] = True
    return {
        "inst_id": ids("inst_id", 60, job),
        "user": ids("user", 12, user[like]),
        "gpu_type_spec": names(np.where(is_requested, given, NO_TYPE)[like], (*GPU_TYPES, None)),
        "group": ids("group", 32, group, no_group),
        "workload": names(_workloads(group, rng), (*WORKLOADS, None)),
    }


def _groups(user: Ints, rng: np.random.Generator) -> Ints:
    """Draw the group of each job: one of the user's groups, or a group with this job only."""
    groups_of_user = -(-np.bincount(user) // JOBS_PER_GROUP)
    first_group = np.cumsum(groups_of_user) - groups_of_user
    nth = (groups_of_user[user] * rng.random(len(user)) ** 2).astype(np.int64)
    alone = rng.random(len(user)) < GROUPS_OF_ONE_SHARE
    return np.where(alone, int(groups_of_user.sum()) + np.arange(len(user)), first_group[user] + nth)


def _workloads(group: Ints, rng: np.random.Generator) -> Ints:
    """Draw the workload of each tag, the same for all tags of a group; most tags have none."""
    numbers, group_of = np.unique(group, return_inverse=True)
    rank = rng.permutation(len(numbers))[group_of]
    workload = np.full(len(group), len(WORKLOADS))
    tags = max(len(WORKLOADS), round(len(group) * TAGS_WITH_WORKLOAD_SHARE))
    chosen = np.argsort(rank, kind="stable")[:tags]
    workload[chosen] = rank[chosen] % len(WORKLOADS)
    return workload


def _instance_columns(tasks: Tasks, instances: Instances, ids: Ids) -> dict[str, Values]:
    # A waiting instance has no worker yet, unless it ran before.
    nameless = (instances.status == WAITING) & ~instances.again
    return {
        **_task_ids(tasks, instances.task, ids),
        "inst_name": ids("instance", 60, instances.worker),
        "worker_name": ids("worker", 60, instances.worker, nameless),
        "status": names(instances.status, STATUSES),
        "start_time": instances.start,
        "end_time": instances.end,
        "machine": ids("machine", 24, instances.machine, instances.machine < 0),
    }


def _task_ids(tasks: Tasks, task: Ints, ids: Ids) -> dict[str, Values]:
    job = tasks.job[task]
    return {
        "job_name": ids("job", 24, job),
        "task_name": names(tasks.name.numbers[task], (*ONLY_TASK_NAMES, *NAMES_OF_SEVERAL)),
        "inst_id": ids("inst_id", 60, job),
    }


def _pick_workers(
    tasks: Tasks, instances: Instances, eligible: Bools, wanted: int, rng: np.random.Generator
) -> Ints:
    """Draw positions of eligible instances that ran on a machine, late enough to be measured; sorted."""
    late = (tasks.launched + tasks.wait >= SENSORS_FROM_S)[instances.task]
    candidates = np.flatnonzero(late & ~instances.again & (instances.machine >= 0) & eligible)
    return np.sort(rng.permutation(candidates)[:wanted])


def _sensor_columns(
    tasks: Tasks, instances: Instances, machines: Machines, scale: float, rng: np.random.Generator, ids: Ids
) -> dict[str, Values]:
    watched = machines.has_sensors[instances.machine]
    rows = _pick_workers(tasks, instances, watched, draw.scaled(SENSORS, scale), rng)
    task, machine, count = instances.task[rows], instances.machine[rows], len(rows)

    def used(plan: Floats, use: tuple[float, float]) -> Floats:
        """Draw the use of each worker; workers of the same task use similar amounts."""
        of_task = rng.normal(*use, len(tasks.job))[task]
        return plan[task] * np.exp(of_task + rng.normal(0.0, 0.08, count))

    def without(column: Floats, missing: int) -> Floats:
        column[draw.pick(rng, np.ones(count), draw.scaled(missing, scale))] = np.nan
        return column

    cpu = used(np.nan_to_num(tasks.plan_cpu, nan=200.0), CPU_USE).clip(max=MOST_CPU_PERCENT)
    mem = used(np.nan_to_num(tasks.plan_mem, nan=4.0), MEM_USE).clip(max=MOST_MEM_GB)
    mem = without(mem, SENSORS_WITHOUT_MEM)
    gpu = np.minimum(used(tasks.plan_gpu, GPU_USE), 100.0 * machines.gpus[machine])
    gpu[rng.random(count) < IDLE_GPU_SHARE] *= 0.0
    gpu_mem = np.where(np.isnan(gpu), np.nan, draw.lognormal(rng, count, 2.0, 0.9).clip(max=32.0))
    device = (rng.random(count) * machines.gpus[machine].clip(min=1)).astype(np.int64)
    # Higher numbers than those of all machines are machines that are missing in the specification.
    elsewhere = draw.pick(rng, np.ones(count), draw.scaled(SENSORS_ON_UNKNOWN_MACHINES, scale))
    unknown = draw.mask_of(count, elsewhere)
    devices = [f"/dev/nvidia{number}" for number in range(8)]
    return {
        **_task_ids(tasks, task, ids),
        "worker_name": ids("worker", 60, instances.worker[rows]),
        "machine": ids("machine", 24, machine + np.where(unknown, len(machines.shape), 0)),
        "gpu_name": names(np.where(np.isnan(gpu), len(devices), device), (*devices, None)),
        "cpu_usage": without(cpu, SENSORS_WITHOUT_CPU),
        "gpu_wrk_util": gpu,
        "avg_mem": mem,
        "max_mem": mem * (1 + rng.exponential(0.3, count)),
        "avg_gpu_wrk_mem": gpu_mem,
        "max_gpu_wrk_mem": gpu_mem * (1 + rng.exponential(0.2, count)),
        "read": draw.lognormal(rng, count, 6e6, 2.2),
        "write": draw.lognormal(rng, count, 3e6, 2.2),
        "read_count": draw.lognormal(rng, count, 900.0, 1.8),
        "write_count": draw.lognormal(rng, count, 800.0, 1.8),
    }


def _metric_columns(
    tasks: Tasks, instances: Instances, machines: Machines, scale: float, rng: np.random.Generator, ids: Ids
) -> dict[str, Values]:
    finished = (instances.start > 0) & (instances.end > 0)
    rows = _pick_workers(tasks, instances, finished, draw.scaled(METRICS, scale), rng)
    machine, count = instances.machine[rows], len(rows)
    gpus = machines.gpus[machine]
    iowait, kernel = draw.lognormal(rng, count, 0.02, 1.5), draw.lognormal(rng, count, 2.5, 0.6)
    usr = rng.beta(1.3, 4.0, count) * (100 - iowait - kernel).clip(min=0)
    load = draw.lognormal(rng, count, 18.0, 0.8)
    load[draw.pick(rng, np.ones(count), draw.scaled(METRICS_WITHOUT_LOAD, scale))] = np.nan
    return {
        "worker_name": ids("worker", 60, instances.worker[rows]),
        "machine": ids("machine", 24, machine),
        # Times are whole numbers in this table, and floats in the others.
        "start_time": draw.whole(instances.start[rows]),
        "end_time": draw.whole(instances.end[rows]),
        "machine_cpu_iowait": iowait,
        "machine_cpu_kernel": kernel,
        "machine_cpu_usr": usr,
        "machine_gpu": np.where(gpus > 0, rng.beta(1.1, 2.5, count) * 100 * gpus, np.nan),
        "machine_load_1": load,
        "machine_net_receive": draw.lognormal(rng, count, 5e7, 1.0),
        "machine_num_worker": 1 + draw.lognormal(rng, count, 3.0, 0.8),
        "machine_cpu": iowait + kernel + usr + rng.normal(0.0, 1e-3, count),
    }


SAMPLER = Sampler(write, lambda scale: round(BYTES * scale))

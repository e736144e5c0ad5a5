"""Synthetic PAI: jobs, their tasks and instances, the resources that workers use, and the machines.

Known pitfalls: CSVs without a header, with a `.header` file next to them; archives in parts, and one with a
file of macOS; ends of failed jobs and starts of waiting rows that are missing or 0; a job that starts with
its first task, so that only instances show waits; failed instances with a start or an end, and interrupted
ones with an end only; most running instances without a start; waiting ones without a worker and a machine;
instances that were tried again, workers that ran two instances, and tasks without instances; sensors for
two in five workers, none in the first weeks; use above the plan and above 100 %; tags without a job, and
jobs without a tag.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.pai import tables
from tracehouse.samples import draw
from tracehouse.samples.draw import Bools, Floats, Ints
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

IN_PARTS = {"pai_job_table": 2, "pai_group_tag_table": 2}
# A smaller sample would not have all of these pitfalls.
LEAST_SCALE = 0.0005
# The content of macOS's `._` files: an AppleDouble header and a Finder attribute.
MACOS_CONTENT = bytes.fromhex("00051607000200004d6163204f532058") + bytes(147)
SENSORS_FROM_S, LONGEST_WAIT_S, LONGEST_RUN_S = 672 * draw.HOUR_S, 259_200, 626_371

TASKS_OF_JOB = {1: 864_400, 2: 175_500, 3: 15_600}
LATER_STATUS = {"Failed": 207, "Running": 52_573, "Terminated": 152_718}
ONLY_TASK_NAMES = {"tensorflow": 62, "PyTorchWorker": 22, "OpenmpiWorker": 9, "xComputeWorker": 7}
NAMES_OF_SEVERAL = np.array(["worker", "ps", "evaluator"])
# By GPU type, "" without a type: median (s) and sigma of waits, and the share of jobs that request the type.
WAITS = {
    "MISC": (9, 2.6, 0.03),
    "T4": (11, 2.7, 0.15),
    "P100": (15, 2.8, 0.15),
    "V100": (80, 3.6, 0.4),
    "V100M32": (100, 3.6, 0.6),
    "": (6, 2.0, 0.0),
}
# GPU type and number of machines; cores, GB of memory and GPUs of a machine.
MACHINES = (
    ("CPU", 83, 96, 512, 0),
    ("MISC", 280, 96, 512, 8),
    ("P100", 798, 64, 512, 2),
    ("T4", 497, 96, 512, 2),
    ("V100", 45, 96, 384, 8),
    ("V100", 59, 96, 512, 8),
    ("V100M32", 135, 96, 384, 8),
)
# By status of a task: the weights of the statuses of all its instances but the first.
INSTANCE_STATUS = {
    "Failed": {"Failed": 20, "Interrupted": 47, "Running": 1, "Terminated": 26, "Waiting": 6},
    "Running": {"Interrupted": 2, "Running": 76, "Terminated": 20, "Waiting": 2},
    "Terminated": {"Failed": 4, "Interrupted": 2, "Terminated": 990, "Waiting": 4},
}
# As in 12,000 rows of the end of the published table: the shares of failed instances that have an end and no
# start, and of running ones without a start.
FAILED_WITHOUT_START, RUNNING_WITHOUT_START = 0.24, 0.76
# The share of tasks whose first instance was tried before, by status, and the mean number of those attempts.
TRIED_BEFORE, MEAN_ATTEMPTS = {"Failed": 0.3, "Running": 0.03, "Terminated": 0.03}, 2.0
# The share of tasks with a worker that ran a second instance.
RAN_TWICE = 0.005
# Mean and standard deviation of the logarithm of use over plan.
CPU_USE, GPU_USE, MEM_USE = (-1.0145, 1.0), (-1.854, 0.9), (-1.216, 0.7)


def expected_bytes(scale: float) -> int:
    """Estimate the bytes of raw text in a sample: most are identifiers of 60 digits."""
    return round(4_015_000_000 * scale)


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the seven tables and their headers."""
    scale = max(scale, LEAST_SCALE)
    out.write("._pai_sensor_table.csv", MACOS_CONTENT, "data/pai_sensor_table")
    shapes = pl.DataFrame(MACHINES, ("gpu_type", "count", "cap_cpu", "cap_mem", "cap_gpu"), orient="row")
    machines = shapes[np.repeat(np.arange(len(MACHINES)), [draw.scaled(each[1], scale) for each in MACHINES])]
    machines = machines.with_row_index("machine")
    out.add(tables.MACHINE_SPEC, machines, "data")

    jobs = _jobs(scale, rng)
    tasks = _tasks(jobs, rng)
    ends = tasks.group_by("job_name").agg(pl.col("ended").max()).sort("job_name")["ended"].to_numpy()
    out.add(tables.JOB, jobs.with_columns(_ends(jobs["status"], ends, 0.1, rng), _starts(jobs)), "data")
    task_ends = _ends(tasks["status"], tasks["ended"].to_numpy(), 0.1, rng)
    out.add(tables.TASK, tasks.with_columns(task_ends, _starts(tasks)), "data")
    out.add(tables.GROUP_TAG, _group_tags(jobs, tasks, scale, rng), "data")
    instances = _instances(tasks, machines, rng)
    out.add(tables.INSTANCE, instances, "data")
    late = (instances["launched"] >= SENSORS_FROM_S) & ~instances["again"] & (instances["machine"] >= 0)
    workers = instances.filter(late)
    out.add(tables.SENSOR, _sensors(workers, tasks, machines, scale, rng), "data")
    ran = workers.filter((pl.col("start_time") > 0) & (pl.col("end_time") > 0))
    out.add(tables.MACHINE_METRIC, _metrics(ran, machines, scale, rng), "data")


def _starts(rows: pl.DataFrame) -> pl.Series:
    start = np.where(rows["status"].to_numpy() == "Waiting", np.nan, rows["start_time"])
    return pl.Series("start_time", start)


def _ends(status: pl.Series, ended: Ints, share: float, rng: np.random.Generator) -> pl.Series:
    """Return the ends of jobs or tasks: missing unless they terminated, except for a share; a few are 0."""
    luck = rng.random(len(status))
    failed = status.to_numpy() == "Failed"
    end = np.where((status.to_numpy() == "Terminated") | (failed & (luck < share)), ended, np.nan)
    end[np.flatnonzero(failed & np.isnan(end))[: 1 + len(end) // 10_000]] = 0
    return pl.Series("end_time", end)


def _jobs(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    rows = sampled(tables.JOB, row_count(tables.JOB, scale), rng)
    # More jobs fail towards the end of the trace. The rows are in the order of their starts.
    status = rows["status"].to_numpy().copy()
    others = rng.permutation(status[status != "Failed"])
    late = np.arange(len(status)) > 0.75 * len(status)
    fails = draw.pick(rng, np.where(late, 2.6, 1.0), len(status) - len(others))
    status[fails], status[~fails] = "Failed", others
    order = rng.permutation(len(status))
    rows = rows.with_columns(status=pl.Series(status))[order]
    return rows.with_columns(job_name=pl.int_range(pl.len()), inst_id=pl.int_range(pl.len()))


def _tasks(jobs: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    count_of_job = draw.shares(rng, TASKS_OF_JOB, jobs.height)
    job = np.repeat(np.arange(jobs.height), count_of_job)
    order = np.arange(len(job)) - np.repeat(np.cumsum(count_of_job) - count_of_job, count_of_job)
    first, count = order == 0, len(job)
    rows = sampled(tables.TASK, count, rng)

    status = jobs["status"].to_numpy()[job]
    later = ~first & (status != "Waiting")
    status[later] = draw.shares(rng, LATER_STATUS, int(later.sum()))
    only = draw.shares(rng, ONLY_TASK_NAMES, count)
    name = np.where(count_of_job[job] == 1, only, NAMES_OF_SEVERAL[order])
    # Most later tasks have no GPU, and few of these tasks fail.
    cpu_only = rng.random(count) < np.where(first, np.where(status == "Failed", 0.01, 0.05), 0.86)
    plan_gpu = np.where(cpu_only, np.nan, rows["plan_gpu"])
    # T4 and P100 machines have two GPUs.
    gpu_type = rows["gpu_type"].to_numpy().copy()
    gpu_type[(plan_gpu > 200) & np.isin(gpu_type, ("T4", "P100"))] = "MISC"
    gpu_type[cpu_only & (rng.random(count) > 0.03)] = ""

    wanted = tables.INSTANCE.about_rows * jobs.height / tables.JOB.about_rows
    size = np.where(rows["inst_num"].to_numpy() * 15 <= wanted, rows["inst_num"], 1)
    never = (status == "Failed") & (size == 1) & (rng.random(count) < 0.003)
    never[np.flatnonzero((status == "Failed") & (size == 1))[:1]] = True
    launched = (status != "Waiting") & ~never
    second = np.full(count, "", dtype="U10")
    ran_twice = draw.pick(rng, launched & (status == "Terminated"), max(6, round(RAN_TWICE * count)))
    second[ran_twice] = draw.shares(rng, {"Terminated": 14, "Running": 1}, int(ran_twice.sum()))
    tried = launched & (rng.random(count) < np.array([TRIED_BEFORE.get(each, 0) for each in status]))
    attempts = np.where(tried, rng.geometric(1 / MEAN_ATTEMPTS, count), 0)

    median, sigma, _ = np.array([WAITS[each] for each in gpu_type]).T
    wait = draw.lognormal(rng, count, median * np.where(plan_gpu >= 100, 2.2, 1), sigma)
    run = draw.lognormal(rng, count, 480, 2.1).clip(1, LONGEST_RUN_S)
    start = jobs["start_time"].to_numpy()[job] + np.where(first, 0, rng.integers(0, 30, count))
    began = start + wait.clip(max=LONGEST_WAIT_S).astype(np.int64)
    return rows.with_columns(
        job_name=pl.Series(job),
        task_name=pl.Series(name),
        status=pl.Series(status),
        inst_num=pl.Series(size.astype(np.int64)),
        start_time=pl.Series(start),
        began=pl.Series(began),
        ended=pl.Series(began + run.astype(np.int64)),
        plan_gpu=pl.Series(plan_gpu),
        gpu_type=pl.Series([each or None for each in gpu_type], dtype=pl.String),
        rows=pl.Series(np.where(launched, size + (second != "") + attempts, 0).astype(np.int64)),
        attempts=pl.Series(attempts),
        second=pl.Series(second, dtype=pl.String),
    )


def _group_tags(
    jobs: pl.DataFrame, tasks: pl.DataFrame, scale: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Return tags in random order: for most jobs, and some without a job."""
    count = jobs.height
    stray = count + np.arange(draw.scaled(1_061, scale))
    job = rng.permutation(np.append(np.flatnonzero(rng.random(count) > 0.0015), stray))
    like = np.where(job < count, job, rng.integers(0, count, len(job)))
    user = jobs["user"].to_numpy()
    # A quarter of the jobs are alone in their group; the others are in one of the groups of their user.
    number = user * 1_000 + (np.bincount(user)[user] / 12 * rng.random(count) ** 2).astype(np.int64)
    group = np.where(rng.random(count) < 0.25, 10_000_000 + np.arange(count), number)
    group_of_tag = np.where(rng.random(len(job)) < 0.01, -1, group[like])
    group_of_tag[0] = -1
    given = tasks.group_by("job_name").agg(pl.col("gpu_type").first()).sort("job_name")["gpu_type"]
    gpu_type = given.fill_null("").to_numpy()
    requests = rng.random(count) < np.array([WAITS[each][2] for each in gpu_type])
    for each in tables.GPU_TYPES:
        requests[np.flatnonzero(gpu_type == each)[:1]] = True
    # All tags of a group have the same workload; most have none.
    which = group[like] * 7_919 % 83
    workload = pl.Series(np.append(tables.WORKLOADS, "")[np.minimum(which, len(tables.WORKLOADS))])
    spec = np.where(requests, gpu_type, "")[like]
    return pl.DataFrame(
        {
            "inst_id": job,
            "user": user[like],
            "gpu_type_spec": pl.Series([each or None for each in spec], dtype=pl.String),
            "group": group_of_tag,
            "workload": workload.replace("", None),
        }
    )


def _instances(tasks: pl.DataFrame, machines: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rows of the instance table, with the number of the task and whether its worker ran before.

    The rows of a task are failed attempts at its first instance, its instances, and the second instance of
    the worker that ran the first one.
    """
    rows = tasks["rows"].to_numpy()
    task = np.repeat(np.arange(tasks.height), rows)
    row = np.arange(len(task)) - np.repeat(np.cumsum(rows) - rows, rows)
    numbers = ("start_time", "began", "ended", "inst_num", "attempts")
    texts = ("job_name", "task_name", "gpu_type", "status", "second")
    of_task = tasks.select(*numbers, *texts)[task]
    launched, began, ended, size, attempts = (of_task[name].to_numpy() for name in numbers)
    place = row - attempts
    is_attempt, again = place < 0, place == size
    task_status, second = of_task["status"].to_numpy(), of_task["second"].to_numpy()
    status = task_status.copy()
    for of_this, weights in INSTANCE_STATUS.items():
        # The first instance has the status of its task.
        others = (task_status == of_this) & (place > 0)
        if others.any():
            status[others] = draw.shares(rng, weights, int(others.sum()))
    status[again], status[is_attempt] = second[again], "Failed"

    # The first starts after the wait of the task, the last ends with the task.
    run = ended - began
    early = np.floor(rng.random(len(task)) * np.minimum(0.05 * run, 60))
    start = began + np.where(place == 0, 0.0, early)
    end = ended - np.where(place >= size - 1, 0, np.floor(rng.random(len(task)) * 0.05 * run))
    # The second instance of a worker starts when the first one ends.
    changed = np.floor(began + 0.4 * run)
    start[again] = changed[again]
    first_of_two = (second != "") & (place == 0)
    end[first_of_two] = changed[first_of_two]
    # Attempts fail one after the other, before the first instance starts.
    tried = np.floor(launched + (began - launched) * (row + 1) / (attempts + 1))
    start[is_attempt] = end[is_attempt] = tried[is_attempt]

    luck = rng.random(len(task))
    failed, running, waiting = (status == each for each in ("Failed", "Running", "Waiting"))
    # What failed before an instance that terminated never started.
    tried_again = is_attempt & (task_status != "Failed")
    only_end = tried_again | (failed & (luck < FAILED_WITHOUT_START)) | (status == "Interrupted")
    # A few missing times are 0.
    missing = np.where(rng.random(len(task)) < 0.005, 0.0, np.nan)
    without_start = only_end | waiting | (running & ~again & (luck < RUNNING_WITHOUT_START))
    without_end = (failed & ~only_end) | running | waiting
    start[without_start], end[without_end] = missing[without_start], missing[without_end]

    number = np.arange(len(task))
    machine = rng.integers(0, machines.height, len(task))
    for name in tables.GPU_TYPES:
        pool = np.flatnonzero(machines["gpu_type"].to_numpy() == name)
        typed = of_task["gpu_type"].fill_null("").to_numpy() == name
        machine[typed] = pool[rng.integers(0, len(pool), int(typed.sum()))]
    worker = np.where(again, number - place, number)
    machine = machine[worker]
    return of_task.select("job_name", "task_name", launched="start_time").with_columns(
        inst_id=pl.col("job_name"),
        inst_name=pl.Series(np.where(is_attempt, number - place, number)),
        worker_name=pl.Series(np.where(waiting, -1, worker)),
        status=pl.Series(status),
        start_time=pl.Series(start, nan_to_null=True),
        end_time=pl.Series(end, nan_to_null=True),
        machine=pl.Series(np.where(waiting, -1, machine)),
        task=pl.Series(task),
        again=pl.Series(again),
    )


def _some(workers: pl.DataFrame, count: int, rng: np.random.Generator) -> pl.DataFrame:
    return workers[np.sort(rng.permutation(workers.height)[:count])]


def _sensors(
    workers: pl.DataFrame, tasks: pl.DataFrame, machines: pl.DataFrame, scale: float, rng: np.random.Generator
) -> pl.DataFrame:
    # One machine of each type in twenty has no sensors.
    watched = workers.filter(pl.col("machine") % 20 != 19)
    workers = _some(watched, row_count(tables.SENSOR, scale), rng)
    task, machine, count = workers["task"].to_numpy(), workers["machine"].to_numpy(), workers.height
    plans = tasks.select("plan_cpu", "plan_mem", "plan_gpu")[task]

    def used(plan: str, use: tuple[float, float]) -> Floats:
        """Draw the use of each worker; workers of the same task use similar amounts."""
        of_task = rng.normal(*use, tasks.height)[task]
        return plans[plan].to_numpy() * np.exp(of_task + rng.normal(0, 0.08, count))

    def without(values: Floats, missing: float) -> pl.Series:
        return pl.Series(np.where(_few(count, missing, rng), np.nan, values))

    gpus = machines["cap_gpu"].to_numpy()[machine]
    gpu = np.minimum(used("plan_gpu", GPU_USE), 100.0 * gpus) * (rng.random(count) > 0.1)
    mem = without(used("plan_mem", MEM_USE).clip(max=256), 0.0004)
    rows = sampled(tables.SENSOR, count, rng)
    gpu_mem = pl.when(pl.Series(np.isnan(gpu))).then(None).otherwise("avg_gpu_wrk_mem")
    device = "/dev/nvidia" + pl.Series((rng.random(count) * gpus.clip(1)).astype(np.int64)).cast(pl.String)
    # Some machines are missing in the specification.
    unknown = np.where(_few(count, 3e-6, rng), machines.height, 0)
    return rows.with_columns(
        *workers.select("job_name", "task_name", "inst_id", "worker_name"),
        machine=pl.Series(machine + unknown),
        gpu_name=pl.when(pl.Series(np.isnan(gpu))).then(None).otherwise(device),
        cpu_usage=without(used("plan_cpu", CPU_USE).clip(max=9_600), 0.002),
        gpu_wrk_util=pl.Series(gpu),
        avg_mem=mem,
        max_mem=mem * (1 + pl.Series(rng.exponential(0.3, count))),
        avg_gpu_wrk_mem=gpu_mem,
        max_gpu_wrk_mem=gpu_mem * (1 + pl.Series(rng.exponential(0.2, count))),
    )


def _metrics(
    workers: pl.DataFrame, machines: pl.DataFrame, scale: float, rng: np.random.Generator
) -> pl.DataFrame:
    workers = _some(workers, row_count(tables.MACHINE_METRIC, scale), rng)
    count, gpus = workers.height, machines["cap_gpu"].to_numpy()[workers["machine"].to_numpy()]
    cpu = pl.sum_horizontal("machine_cpu_iowait", "machine_cpu_kernel", "machine_cpu_usr")
    return sampled(tables.MACHINE_METRIC, count, rng).with_columns(
        *workers.select("worker_name", "machine"),
        # Times are whole numbers in this table, and floats in the others.
        *workers.select(pl.col("start_time", "end_time").cast(pl.Int64).cast(pl.String)),
        machine_gpu=pl.Series(np.where(gpus > 0, rng.beta(1.1, 2.5, count) * 100 * gpus, np.nan)),
        machine_load_1=pl.when(pl.Series(_few(count, 0.0005, rng))).then(None).otherwise("machine_load_1"),
        machine_cpu=cpu + pl.Series(rng.exponential(1e-3, count)),
    )


def _few(count: int, share: float, rng: np.random.Generator) -> Bools:
    """Return a mask of a share of the rows, and of at least one."""
    mask = rng.random(count) < share
    mask[rng.integers(count)] = True
    return mask

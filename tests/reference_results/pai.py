"""PAI's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

TASK_KEY = ["job_name", "task_name"]


def jobs_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_job_table")


def tasks_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_task_table")


def instances_of(raw: Path) -> pd.DataFrame:
    """Return launches with start and end, NaN for 0. An end is kept even if there is no start."""
    instances = raw_frames.pai_table(raw, "pai_instance_table")
    instances["start_s"] = raw_frames.happened(instances["start_time"])
    instances["end_s"] = raw_frames.happened(instances["end_time"])
    return instances


def sensors_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_sensor_table")


def tags_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_group_tag_table")


def machines_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_machine_spec")


def keyed(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Drop rows without a key, because pandas joins missing keys with each other and SQL does not."""
    return rows.dropna(subset=key)


# Views.


def task_span(raw: Path) -> pd.DataFrame:
    rows = instances_of(raw)
    rows["started"] = rows["start_s"].notna()
    rows["ended"] = rows["started"] & rows["end_s"].notna()
    rows["last_end"] = rows["end_s"].where(rows["ended"])
    rows["run"] = rows["last_end"] - rows["start_s"]
    rows["held"] = rows["run"].where(rows["run"] > 0)
    spans = rows.groupby(TASK_KEY).agg(
        launched_instances=("started", "size"),
        started_instances=("started", "sum"),
        ended_instances=("ended", "sum"),
        first_start_s=("start_s", "min"),
        last_end_s=("last_end", "max"),
        instance_run_s=("run", "mean"),
    )
    spans["held_s"] = rows.groupby(TASK_KEY)["held"].sum(min_count=1)
    tasks = tasks_of(raw).merge(spans.reset_index(), on=TASK_KEY, how="left", validate="many_to_one")
    counts = ["launched_instances", "started_instances", "ended_instances"]
    tasks[counts] = tasks[counts].fillna(0)
    launched = tasks["launched_instances"]
    submits = raw_frames.happened(tasks["start_time"])
    tagged = tagged_tasks(raw)
    assert tagged[TASK_KEY].equals(tasks[TASK_KEY])
    return pd.DataFrame(
        {
            "job_name": tasks["job_name"],
            "task_name": tasks["task_name"],
            "status": tasks["status"],
            "gpu_type": tasks["gpu_type"],
            "instances": tasks["inst_num"],
            **{name: tasks[name] for name in counts},
            "first_start_s": tasks["first_start_s"],
            "last_end_s": tasks["last_end_s"],
            "run_s": tasks["last_end_s"] - tasks["first_start_s"],
            "instance_run_s": tasks["instance_run_s"],
            "held_s": tasks["held_s"],
            "is_run_whole": (launched > 0) & (tasks["ended_instances"] == launched),
            "requested_gpus_per_instance": tasks["plan_gpu"] / 100,
            "submit_s": submits,
            "wait_s": tasks["first_start_s"] - submits,
            **{name: tagged[name] for name in ("user_id", "group_id", "workload")},
            "requested_gpu_type": tagged["gpu_type_spec"],
        }
    )


def task_run(raw: Path) -> pd.DataFrame:
    """Only terminated and failed tasks have a run time; others are observed as long as their instances."""
    runs = task_span(raw)
    runs.insert(runs.columns.get_loc("run_s") + 1, "observed_run_s", runs["run_s"])
    return runs.assign(run_s=runs["run_s"].where(runs["status"].isin(["Terminated", "Failed"])))


def task_wait(raw: Path) -> pd.DataFrame:
    columns = [
        *TASK_KEY,
        "status",
        "gpu_type",
        "instances",
        "requested_gpus_per_instance",
        "submit_s",
        "wait_s",
    ]
    return task_span(raw).loc[lambda tasks: tasks["wait_s"].notna(), columns]


def standard_job_v1(raw: Path) -> pd.DataFrame:
    tasks, runs = tasks_of(raw), task_run(raw)
    assert runs[TASK_KEY].equals(tasks[TASK_KEY])
    instances, gpus, status = tasks["inst_num"], tasks["plan_gpu"].fillna(0) / 100, tasks["status"]
    return raw_frames.standard_jobs(
        job_id=tasks["job_name"] + "/" + tasks["task_name"],
        user_id=runs["user_id"],
        group_id=runs["group_id"],
        submit_s=runs["submit_s"],
        local_submit_s=runs["submit_s"] + 8 * 3_600,
        wait_s=runs["wait_s"],
        observed_wait_s=runs["wait_s"],
        observed_start_s=runs["first_start_s"],
        run_s=runs["run_s"],
        observed_run_s=runs["observed_run_s"],
        end_s=(runs["first_start_s"] + runs["run_s"]).fillna(raw_frames.happened(tasks["end_time"])),
        requested_cpus=instances * tasks["plan_cpu"] / 100,
        requested_gpus=instances * gpus,
        requested_gpus_per_instance=gpus,
        requested_memory_gib=instances * tasks["plan_mem"],
        held_gpu_s=gpus * runs["held_s"],
        status=status.map({"Terminated": "completed", "Failed": "failed"}).fillna("unknown"),
        is_right_censored=status == "Running",
        is_left_censored=False,
        workload=runs["workload"],
        partition_name=tasks["gpu_type"],
    )


def tagged_tasks(raw: Path) -> pd.DataFrame:
    """Return all tasks with the user and the tag of their job."""
    jobs = keyed(jobs_of(raw), ["job_name"])[["job_name", "inst_id", "user"]]
    tags = keyed(tags_of(raw), ["inst_id"])[["inst_id", "gpu_type_spec", "group", "workload"]]
    tasks = tasks_of(raw).merge(jobs, on="job_name", how="left", validate="many_to_one")
    tasks = tasks.merge(tags, on="inst_id", how="left", validate="many_to_one")
    return tasks.rename(columns={"user": "user_id", "group": "group_id"})


def measured_workers(raw: Path) -> pd.DataFrame:
    """Return workers with a run time and measured GPU use, with planned and used GPU time."""
    workers = keyed(raw_frames.pai_worker(raw), TASK_KEY)
    workers = workers[workers["end_s"] > workers["start_s"]]
    uses = keyed(sensors_of(raw), ["worker_name", "gpu_wrk_util"])[["worker_name", "gpu_wrk_util"]]
    plans = keyed(tasks_of(raw), TASK_KEY)
    plans = plans.loc[plans["plan_gpu"] > 0, [*TASK_KEY, "plan_gpu"]]
    rows = workers.merge(uses, on="worker_name", validate="one_to_one")
    rows = rows.merge(plans, on=TASK_KEY, validate="many_to_one")
    rows["measured_gpu_s"] = rows["plan_gpu"] / 100 * rows["run_s"]
    rows["used_gpu_s"] = rows["gpu_wrk_util"] / 100 * rows["run_s"]
    unused = rows["measured_gpu_s"] - rows["used_gpu_s"]
    return rows.assign(wasted_gpu_s=unused.clip(lower=0), over_plan_gpu_s=(-unused).clip(lower=0))


MEASURED = ["measured_gpu_s", "used_gpu_s", "wasted_gpu_s", "over_plan_gpu_s"]


def task_gpu_time(raw: Path) -> pd.DataFrame:
    tasks = tagged_tasks(raw).assign(held_s=task_span(raw)["held_s"])
    tasks = tasks[tasks["plan_gpu"] > 0]
    tasks["held_gpu_s"] = tasks["plan_gpu"] / 100 * tasks["held_s"]
    workers = measured_workers(raw).groupby(TASK_KEY)
    measured = workers[MEASURED].sum().assign(measured_workers=workers.size()).reset_index()
    tasks = tasks.merge(measured, on=TASK_KEY, how="left", validate="one_to_one")
    launched = keyed(raw_frames.pai_worker(raw), TASK_KEY).groupby(TASK_KEY).size().rename("workers")
    tasks = tasks.merge(launched.reset_index(), on=TASK_KEY, how="left", validate="one_to_one")
    counts = ["workers", "measured_workers"]
    tasks[counts] = tasks[counts].fillna(0)
    whose = [*TASK_KEY, "gpu_type", "user_id", "group_id", "workload"]
    return tasks[[*whose, "held_gpu_s", *counts, *MEASURED]]


def cluster_capacity(raw: Path) -> pd.DataFrame:
    specified = machines_of(raw)
    types = specified[specified["cap_gpu"] > 0].groupby("gpu_type")
    rows = types.agg(gpus=("cap_gpu", "sum"), nodes=("machine", "size"), cpus=("cap_cpu", "sum"))
    rows = rows.rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


# Named queries.


# The most instances of each band.
GANG_BANDS = {"2": 2, "3 to 8": 8, "9 to 32": 32, "33 to 128": 128, "over 128": math.inf}


def gang_start_skew(raw: Path) -> pd.DataFrame:
    """Return how far apart the instances of a task start, and what they hold until the last one has started.

    Only an instance with an end after its start is known to hold GPUs.
    """
    rows = instances_of(raw)
    rows["last_start_s"] = rows.groupby(TASK_KEY)["start_s"].transform("max")
    rows["skew_s"] = rows["last_start_s"] - rows["start_s"]
    early_s = rows[["end_s", "last_start_s"]].min(axis=1) - rows["start_s"]
    rows["early_s"] = early_s.where(rows["end_s"] > rows["start_s"])
    spans = rows.groupby(TASK_KEY).agg(skew_s=("skew_s", "max"))
    spans["early_s"] = rows.groupby(TASK_KEY)["early_s"].sum(min_count=1)
    gangs = task_span(raw).merge(spans.reset_index(), on=TASK_KEY, how="left")
    counts = gangs[["launched_instances", "started_instances"]]
    gangs["is_covered"] = counts.eq(gangs["instances"], axis=0).all(axis=1)
    gangs["gpus"] = gangs["requested_gpus_per_instance"].fillna(0)
    gangs["band"] = pd.cut(gangs["instances"], [1, *GANG_BANDS.values()], labels=list(GANG_BANDS))
    found = []
    for band, mine in gangs.groupby("band", observed=True):
        covered = mine[mine["is_covered"]]
        skew_s, on_gpus = covered["skew_s"], covered[covered["gpus"] > 0]
        early_gpu_h, held_gpu_h = (
            (on_gpus["gpus"] * on_gpus[name]).sum(min_count=1) / 3600 for name in ("early_s", "held_s")
        )
        row = {"gang_band": band, "tasks": len(mine), "covered_pct": 100 * mine["is_covered"].mean()}
        row |= {
            "median_skew_s": skew_s.median(),
            "p90_skew_s": skew_s.quantile(0.9),
            "max_skew_s": skew_s.max(),
        }
        row |= {
            "over_minute_pct": 100 * (skew_s > 60).mean(),
            "gpu_tasks_pct": 100 * (mine["gpus"] > 0).mean(),
        }
        found.append(row | {"early_gpu_h": early_gpu_h, "early_of_held_pct": 100 * early_gpu_h / held_gpu_h})
    return pd.DataFrame(found)


def scarcest_resource(raw: Path) -> pd.DataFrame:
    """Compare what the running instances plan with what all machines have, in each hour."""
    plans = keyed(tasks_of(raw), TASK_KEY)[[*TASK_KEY, "plan_cpu", "plan_gpu", "plan_mem"]].fillna(0)
    launches = instances_of(raw)
    started = launches[launches["start_s"].notna()].merge(plans, on=TASK_KEY)
    ended = started[started["end_s"] > started["start_s"]]
    times = pd.concat([started["start_s"], ended["end_s"]]) // 3600
    hours = range(int(times.min()), int(times.max()) + 1)
    weights = {"cpu": ended["plan_cpu"] / 100, "gpu": ended["plan_gpu"] / 100, "memory": ended["plan_mem"]}
    held = {
        name: raw_frames.hourly_means(ended["start_s"], ended["end_s"], weight, hours)
        for name, weight in weights.items()
    }
    return raw_frames.scarcest_resource(held, machines_of(raw)[["cap_cpu", "cap_gpu", "cap_mem"]].sum(), "GB")


def machine_use_by_gpus(raw: Path) -> pd.DataFrame:
    """Return percentiles over machines of the mean use of their CPUs and of each of their GPUs."""
    metrics = raw_frames.pai_table(raw, "pai_machine_metric")
    is_counted = (metrics["start_time"] > 0) & (metrics["end_time"] > metrics["start_time"])
    metrics = metrics[is_counted & metrics["worker_name"].isin(instances_of(raw)["worker_name"].dropna())]
    rows = [machine_use(machine, workers) for machine, workers in metrics.groupby("machine")]
    machines = pd.DataFrame(rows).merge(machines_of(raw), on="machine", how="left")
    machines["gpu_pct"] /= machines["cap_gpu"].where(machines["cap_gpu"] > 0)
    shares = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95)
    rows = []
    for gpus, mine in machines.groupby("cap_gpu", dropna=False):
        quantiles = [mine[name].quantile(share) for name in ("gpu_pct", "cpu_pct") for share in shares]
        rows.append((gpus, len(mine), mine["workers"].sum(), *quantiles))
    names = [
        f"{at}_{name}_pct" for name in ("gpu", "cpu") for at in ("p5", "p25", "median", "p75", "p90", "p95")
    ]
    return pd.DataFrame(rows, columns=["machine_gpus", "machines", "workers", *names])


def machine_use(machine: str, workers: pd.DataFrame) -> dict[str, object]:
    """Return a machine's means over the time in which workers ran. Workers share each second equally."""
    starts, ends = workers["start_time"].to_numpy(), workers["end_time"].to_numpy()
    times = np.unique(np.concatenate([starts, ends]))
    is_running = (starts[:, None] <= times[:-1]) & (times[1:] <= ends[:, None])
    weights = (is_running * np.diff(times) / is_running.sum(axis=0).clip(min=1)).sum(axis=1)
    uses = workers[["machine_cpu", "machine_gpu"]]
    means = uses.mul(weights, axis=0).sum() / uses.notna().mul(weights, axis=0).sum()
    return {"machine": machine, "workers": len(workers), "cpu_pct": means.iloc[0], "gpu_pct": means.iloc[1]}


# In VIEWS and QUERIES, each name has its function and the key columns of its rows.
VIEWS = {
    "pai.standard_job_v1": (standard_job_v1, ["job_id"]),
    "pai.scheduling_latency_v1": (raw_frames.pai_scheduling_latency, ["job_name"]),
    "pai.task_wait_v1": (task_wait, TASK_KEY),
    "pai.task_usage_v1": (raw_frames.pai_task_usage, ["job_name", "task_name"]),
    "pai.task_run_v2": (task_run, ["job_name", "task_name"]),
    "pai.task_gpu_time_v1": (task_gpu_time, ["job_name", "task_name"]),
    "pai.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "pai.gang_start_skew()": (gang_start_skew, (), None),
    "pai.scarcest_resource()": (scarcest_resource, (), None),
    "pai.machine_use_by_gpus()": (machine_use_by_gpus, (), ["machine_gpus"]),
}

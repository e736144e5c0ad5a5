"""PAI's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

HOUR_S = 3600
UTC_OFFSET_H = 8
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


def metrics_of(raw: Path) -> pd.DataFrame:
    return raw_frames.pai_table(raw, "pai_machine_metric")


def keyed(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Drop rows without a key, because pandas joins missing keys with each other and SQL does not."""
    return rows.dropna(subset=key)


def ratio(part: pd.Series, whole: pd.Series) -> pd.Series:
    return part / whole.where(whole != 0)


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def same(left: pd.Series, right: pd.Series) -> pd.Series:
    return (left == right).fillna(False) | (left.isna() & right.isna())


# Views.


def worker_by_outcome(raw: Path) -> pd.DataFrame:
    """Return the row with the best outcome of each worker, even if a later row has another one."""
    rows = keyed(instances_of(raw), ["worker_name"])
    rows["runs"] = rows.groupby("worker_name")["worker_name"].transform("size")
    ranks = {"Terminated": 0, "Failed": 1, "Running": 2, "Waiting": 3}
    rows["rank"] = rows["status"].map(ranks).astype(float).fillna(len(ranks))
    rows = rows.sort_values(["rank", "start_s", "end_s", "inst_name"], ascending=[True, False, False, True])
    rows = rows.drop_duplicates("worker_name", keep="first")
    rows["run_s"] = rows["end_s"] - rows["start_s"]
    choice = raw_frames.pai_worker(raw)[["worker_name", "status", "start_s", "end_s"]]
    rows = rows.merge(choice, on="worker_name", suffixes=("", "_chosen"), validate="one_to_one")
    rows["is_publishers_choice"] = (
        same(rows["status"], rows["status_chosen"])
        & same(rows["start_s"], rows["start_s_chosen"])
        & same(rows["end_s"], rows["end_s_chosen"])
    )
    names = ["worker_name", *TASK_KEY, "inst_name", "inst_id", "machine", "status"]
    return rows[[*names, "start_s", "end_s", "run_s", "runs", "is_publishers_choice"]]


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


def standard_job_v1(raw: Path) -> pd.DataFrame:
    jobs = raw_frames.standard_jobs(raw, "pai")
    runs = task_run(raw)
    of_tasks = runs.set_index(runs["job_name"] + "/" + runs["task_name"])
    return raw_frames.as_observed(
        jobs,
        observed_wait_s=jobs["wait_s"],
        observed_start_s=jobs["job_id"].map(of_tasks["first_start_s"]),
        observed_run_s=jobs["job_id"].map(of_tasks["observed_run_s"]),
        is_right_censored=jobs["is_censored"],
        is_left_censored=False,
    )


def task_run_v1(raw: Path) -> pd.DataFrame:
    return task_span(raw).loc[:, :"is_run_whole"].drop(columns="held_s")


def worker_usage(raw: Path) -> pd.DataFrame:
    sensors = keyed(sensors_of(raw), ["worker_name"]).drop(columns=[*TASK_KEY, "inst_id"])
    workers = raw_frames.pai_worker(raw)[["worker_name", *TASK_KEY, "status", "run_s"]]
    rows = workers.merge(sensors, on="worker_name", validate="one_to_one")
    plans = keyed(tasks_of(raw), TASK_KEY)
    plans = plans[[*TASK_KEY, "plan_cpu", "plan_gpu", "plan_mem", "gpu_type"]]
    rows = rows.merge(plans, on=TASK_KEY, how="left", validate="many_to_one")
    caps = keyed(machines_of(raw), ["machine"]).drop(columns="gpu_type").assign(is_specified=True)
    rows = rows.merge(caps, on="machine", how="left", validate="many_to_one")
    return pd.DataFrame(
        {
            "worker_name": rows["worker_name"],
            "job_name": rows["job_name"],
            "task_name": rows["task_name"],
            "machine": rows["machine"],
            "gpu_name": rows["gpu_name"],
            "status": rows["status"],
            "gpu_type": rows["gpu_type"],
            "run_s": rows["run_s"],
            "requested_cpus": rows["plan_cpu"] / 100,
            "used_cpus": rows["cpu_usage"] / 100,
            "cpu_use_of_plan": ratio(rows["cpu_usage"], rows["plan_cpu"]),
            "cpu_margin_of_capacity": ratio(rows["plan_cpu"] - rows["cpu_usage"], 100 * rows["cap_cpu"]),
            "requested_gpus": rows["plan_gpu"] / 100,
            "used_gpus": rows["gpu_wrk_util"] / 100,
            "gpu_use_of_plan": ratio(rows["gpu_wrk_util"], rows["plan_gpu"]),
            "gpu_margin_of_capacity": ratio(rows["plan_gpu"] - rows["gpu_wrk_util"], 100 * rows["cap_gpu"]),
            "requested_memory_gb": rows["plan_mem"],
            "used_memory_gb": rows["avg_mem"],
            "max_memory_gb": rows["max_mem"],
            "memory_use_of_plan": ratio(rows["avg_mem"], rows["plan_mem"]),
            "memory_margin_of_capacity": ratio(rows["plan_mem"] - rows["avg_mem"], rows["cap_mem"]),
            "used_gpu_memory_gb": rows["avg_gpu_wrk_mem"],
            "max_gpu_memory_gb": rows["max_gpu_wrk_mem"],
            "is_machine_specified": rows["is_specified"].notna(),
        }
    )


def sensed_worker(raw: Path) -> pd.DataFrame:
    numbers = {"cpu_usage": "cpu_pct", "gpu_wrk_util": "gpu_pct", "avg_mem": "memory_gb"}
    numbers |= {"avg_gpu_wrk_mem": "gpu_memory_gb", "max_gpu_wrk_mem": "peak_gpu_memory_gb"}
    numbers |= {"read": "read_bytes", "write": "write_bytes"}
    sensors = raw_frames.with_numbers(keyed(sensors_of(raw), ["worker_name"]), list(numbers))
    sensors = sensors[["worker_name", "machine", "gpu_name", *numbers]]
    workers = raw_frames.pai_worker(raw)[["worker_name", *TASK_KEY, "status", "run_s"]]
    plans = {"plan_cpu": "plan_cpu_pct", "plan_gpu": "plan_gpu_pct", "plan_mem": "plan_memory_gb"}
    tasks = keyed(tasks_of(raw), TASK_KEY)[[*TASK_KEY, "gpu_type", *plans]]
    rows = workers.merge(sensors, on="worker_name", validate="one_to_one")
    rows = rows.merge(tasks, on=TASK_KEY, how="left", validate="many_to_one")
    rows["is_device_known"] = rows["gpu_name"].notna()
    rows["is_gpu_shared_at_start"] = rows["worker_name"].isin(workers_with_company(raw))
    names = [*TASK_KEY, "gpu_type", "machine", "is_device_known", "status", "run_s", "is_gpu_shared_at_start"]
    return rows.rename(columns=plans | numbers)[[*names, *plans.values(), *numbers.values()]]


def gpu_launch_hours(raw: Path) -> pd.DataFrame:
    tasks = keyed(tasks_of(raw), TASK_KEY)
    tasks = tasks.loc[tasks["plan_gpu"] > 0, [*TASK_KEY, "gpu_type", "plan_gpu"]]
    rows = instances_of(raw).merge(tasks, on=TASK_KEY, validate="many_to_one")
    rows = rows[rows["start_s"].notna()]
    ends = rows["end_s"].where(rows["end_s"] > rows["start_s"])
    rows["start_hour"], rows["end_hour"] = rows["start_s"] // HOUR_S, ends // HOUR_S
    rows["gpus"] = rows["plan_gpu"] / 100
    next_hours = (rows["start_hour"] + 1) * HOUR_S
    rows["first_gpu_s"] = rows["gpus"] * (ends.clip(upper=next_hours) - rows["start_s"])
    rows["last_gpu_s"] = rows["gpus"] * (ends - rows["end_hour"] * HOUR_S)
    rows.loc[rows["end_hour"] == rows["start_hour"], "last_gpu_s"] = 0
    groups = rows.groupby(["gpu_type", "start_hour", "end_hour"], dropna=False)
    sums = groups[["gpus", "first_gpu_s", "last_gpu_s"]].sum(min_count=1)
    counts = groups.size().rename("instances")
    return pd.concat([counts, sums], axis=1).reset_index()


def workers_on_devices(raw: Path) -> pd.DataFrame:
    """Return the workers whose GPU and time on the GPU are known."""
    devices = keyed(sensors_of(raw), ["worker_name", "machine", "gpu_name"])
    workers = raw_frames.pai_worker(raw).drop(columns="machine")
    rows = workers.merge(devices[["worker_name", "machine", "gpu_name"]], on="worker_name")
    return rows[rows["end_s"] > rows["start_s"]]


def workers_with_company(raw: Path) -> set[str]:
    """Return the workers on whose GPU a worker of another job runs when they start."""
    found: set[str] = set()
    for _, mine in workers_on_devices(raw).groupby(["machine", "gpu_name"]):
        start_s, end_s = mine["start_s"].to_numpy(), mine["end_s"].to_numpy()
        # factorize returns -1 for an unknown job.
        job = pd.factorize(mine["job_name"])[0]
        of_others = (job[:, None] != job) & (job[:, None] >= 0) & (job >= 0)
        runs_then = (start_s <= start_s[:, None]) & (end_s > start_s[:, None])
        found.update(mine["worker_name"][(of_others & runs_then).any(axis=1)])
    return found


SHARING = ["machine", "gpu_name", "worker_name", "other_worker_name", "job_name", "other_job_name"]
SHARING += ["overlap_start_s", "overlap_end_s", "overlap_s", "is_same_job"]


def gpu_sharing(raw: Path) -> pd.DataFrame:
    """Compare every pair of workers of every device."""
    pairs = []
    for (machine, gpu_name), workers in workers_on_devices(raw).groupby(["machine", "gpu_name"]):
        by_name = sorted(workers.to_dict("records"), key=lambda worker: worker["worker_name"])
        for one, other in combinations(by_name, 2):
            start, end = max(one["start_s"], other["start_s"]), min(one["end_s"], other["end_s"])
            if start < end:
                names = one["job_name"], other["job_name"]
                is_same_job = None if pd.isna(list(names)).any() else names[0] == names[1]
                whose = one["worker_name"], other["worker_name"], *names
                pairs.append((machine, gpu_name, *whose, start, end, end - start, is_same_job))
    return pd.DataFrame(pairs, columns=SHARING)


def planned_launches(raw: Path) -> pd.DataFrame:
    """Return started launches with the task's request per instance."""
    plans = keyed(tasks_of(raw), TASK_KEY)[[*TASK_KEY, "plan_cpu", "plan_mem", "plan_gpu"]]
    rows = instances_of(raw).merge(plans, on=TASK_KEY, validate="many_to_one")
    return rows[rows["start_s"].notna()]


def hour_of(times: pd.Series) -> pd.Series:
    return (times // HOUR_S).astype("int64")


def demand_hourly(raw: Path) -> pd.DataFrame:
    """Split each launch at full hours and weight each interval by its length."""
    rows = planned_launches(raw)
    is_counted = rows["end_s"] > rows["start_s"]
    counted, unended = rows[is_counted], rows[~is_counted]
    plan_gpu = counted["plan_gpu"].fillna(0)
    held = pd.DataFrame(
        {
            "running_instances": 1.0,
            "requested_cpus": counted["plan_cpu"].fillna(0) / 100,
            "requested_memory_gb": counted["plan_mem"].fillna(0),
            "requested_gpus": plan_gpu / 100,
            "sharing_gpus": plan_gpu.where((plan_gpu > 0) & (plan_gpu < 100), 0) / 100,
            "whole_gpus": plan_gpu.where(plan_gpu >= 100, 0) / 100,
            "requested_gpus_if_whole": np.ceil(plan_gpu / 100),
        },
        index=counted.index,
    )
    first, last, unended_in = (
        hour_of(counted["start_s"]),
        hour_of(counted["end_s"]),
        hour_of(unended["start_s"]),
    )
    pieces = (last - first + 1).to_numpy()
    cut = held.assign(start=counted["start_s"], end=counted["end_s"], hour=first)
    cut = cut.loc[cut.index.repeat(pieces)].reset_index(drop=True)
    cut["hour"] += np.concatenate([np.arange(count) for count in pieces] or [np.arange(0)])
    begin, finish = cut["hour"] * HOUR_S, (cut["hour"] + 1) * HOUR_S
    seconds = np.minimum(cut["end"], finish) - np.maximum(cut["start"], begin)
    means = cut[list(held)].mul(seconds / HOUR_S, axis=0).groupby(cut["hour"]).sum()
    seen = [*first, *last, *unended_in]
    hours = np.arange(min(seen), max(seen) + 1) if seen else np.arange(0)
    means = means.reindex(hours, fill_value=0)
    local = hours + UTC_OFFSET_H
    calendar = {
        "hour": hours,
        "hour_start_s": hours * HOUR_S,
        # Day 0 of the clock, 1 January 1970, is a Thursday.
        "weekday": (local // 24 + 3) % 7 + 1,
        "hour_of_day": local % 24,
    }
    table = pd.DataFrame(calendar | {name: means[name].to_numpy() for name in means})
    return table.assign(unended_instances=unended_in.value_counts().reindex(hours, fill_value=0).to_numpy())


def user_load(raw: Path) -> pd.DataFrame:
    jobs = keyed(jobs_of(raw), ["user"])
    user_of = keyed(jobs, ["job_name"]).set_index("job_name")["user"]
    tasks, instances, launches = tasks_of(raw), instances_of(raw), planned_launches(raw)
    launches = launches[launches["end_s"] > launches["start_s"]]
    gpu_h = launches["plan_gpu"] / 100 * (launches["end_s"] - launches["start_s"]) / HOUR_S
    users = pd.DataFrame({"jobs": jobs.groupby("user").size()})
    users["tasks"] = tasks["job_name"].map(user_of).value_counts()
    users["gpu_tasks"] = tasks.loc[tasks["plan_gpu"] > 0, "job_name"].map(user_of).value_counts()
    users["instances"] = instances["job_name"].map(user_of).value_counts()
    users["gpu_h"] = gpu_h.groupby(launches["job_name"].map(user_of)).sum()
    users["failed_jobs"] = jobs[jobs["status"] == "Failed"].groupby("user").size()
    users = users.fillna(0).rename_axis("user_id").reset_index()
    users = users.sort_values(["instances", "user_id"], ascending=[False, True])
    return users.assign(instance_rank=range(1, len(users) + 1))


def gang(raw: Path) -> pd.DataFrame:
    tasks = tasks_of(raw).assign(requests_gpu=lambda rows: rows["plan_gpu"].fillna(0) > 0)
    groups = tasks.groupby(["requests_gpu", "inst_num"], dropna=False)["inst_num"]
    gangs = pd.DataFrame({"tasks": groups.size(), "instances": groups.sum()}).reset_index()
    return gangs.rename(columns={"inst_num": "gang_size"})


def status_by_level(raw: Path) -> pd.DataFrame:
    levels = []
    for level, rows in (("job", jobs_of(raw)), ("task", tasks_of(raw)), ("instance", instances_of(raw))):
        entries = rows.groupby("status", dropna=False).size().rename("entries").reset_index()
        entries.insert(0, "level", level)
        levels.append(entries.assign(share_pct=100 * entries["entries"] / len(rows)))
    return pd.concat(levels, ignore_index=True)


JOINS = (
    ("job_task", "job", "task", ["job_name"], "1:N"),
    ("job_group_tag", "job", "group_tag", ["inst_id"], "1:1"),
    ("task_instance", "task", "instance", TASK_KEY, "1:N"),
    ("instance_sensor", "instance", "sensor", ["worker_name"], "N:0..1"),
    ("worker_sensor", "worker", "sensor", ["worker_name"], "1:0..1"),
    ("instance_machine_metric", "instance", "machine_metric", ["worker_name"], "N:0..1"),
    ("worker_machine_metric", "worker", "machine_metric", ["worker_name"], "1:0..1"),
    ("instance_machine_spec", "instance", "machine_spec", ["machine"], "N:1"),
    ("sensor_machine_spec", "sensor", "machine_spec", ["machine"], "N:1"),
)


def join_coverage(raw: Path) -> pd.DataFrame:
    tables = {
        "job": jobs_of(raw),
        "task": tasks_of(raw),
        "instance": instances_of(raw),
        "worker": raw_frames.pai_worker(raw),
        "sensor": sensors_of(raw),
        "group_tag": tags_of(raw),
        "machine_spec": machines_of(raw),
        "machine_metric": metrics_of(raw),
    }
    rows = []
    for name, left, right, key, cardinality in JOINS:
        row = {
            "join_name": name,
            "left_table": f"pai.{left}",
            "right_table": f"pai.{right}",
            "join_key": ", ".join(key),
            "documented_cardinality": cardinality,
        }
        row |= count_matches("left", tables[left][key], tables[right][key])
        row |= count_matches("right", tables[right][key], tables[left][key])
        row["joined_rows"] = len(keyed(tables[left][key], key).merge(keyed(tables[right][key], key), on=key))
        rows.append(row)
    return pd.DataFrame(rows)


def count_matches(side: str, rows: pd.DataFrame, others: pd.DataFrame) -> dict[str, int]:
    key = list(rows)
    partners = keyed(others, key).value_counts().rename("partners").reset_index()
    found = keyed(rows, key).merge(partners, on=key, how="left")["partners"].fillna(0)
    return {
        f"{side}_rows": len(rows),
        f"{side}_without_key": len(rows) - len(found),
        f"{side}_matched": int((found > 0).sum()),
        f"{side}_unmatched": int((found == 0).sum()),
        f"{side}_multiply_matched": int((found > 1).sum()),
    }


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


def job_utilization(raw: Path) -> pd.DataFrame:
    sums = measured_workers(raw).groupby(TASK_KEY)[["measured_gpu_s", "used_gpu_s"]].sum().reset_index()
    sums["job_id"] = sums["job_name"] + "/" + sums["task_name"]
    sums["sampled_per"] = "lives of workers"
    return sums[["job_id", "sampled_per", "measured_gpu_s", "used_gpu_s"]]


# Named queries.


def machines(raw: Path, min_gpus: int, with_total: bool) -> pd.DataFrame:
    specified = machines_of(raw)
    specified = specified[specified["cap_gpu"] >= min_gpus]
    types = specified.groupby("gpu_type").agg(
        machines=("machine", "size"),
        gpus=("cap_gpu", "sum"),
        cpus=("cap_cpu", "sum"),
        memory_gb=("cap_mem", "sum"),
    )
    sums = {"machines": len(specified)} | types.drop(columns="machines").sum(min_count=1).to_dict()
    total = pd.DataFrame([{"gpu_type": "all", **sums}])
    # The total row follows the rows that it sums. An empty result has none.
    has_total = with_total and len(types)
    rows = pd.concat([types.reset_index(), *([total] if has_total else [])], ignore_index=True)
    rows["gpus_per_machine"] = ratio(rows["gpus"], rows["machines"])
    rows["cpus_per_gpu"] = ratio(rows["cpus"], rows["gpus"])
    return rows


WORKER_BANDS = {"under 2": 2, "2 to 4": 4, "4 to 8": 8, "8 to 16": 16, "16 to 32": 32}


def host_use_by_workers(raw: Path, on_gpu_type: str) -> pd.DataFrame:
    rows = metrics_of(raw).merge(machines_of(raw)[["machine", "gpu_type"]], on="machine", how="left")
    counts = keyed(sensors_of(raw), ["worker_name"])[["worker_name", "read_count", "write_count"]]
    rows = rows.merge(counts, on="worker_name", how="left", validate="many_to_one")
    rows = rows[(rows["start_time"] > 0) & (rows["end_time"] > rows["start_time"])]
    texts = ["read_count", "write_count", "machine_cpu_usr", "machine_cpu_kernel", "machine_cpu_iowait"]
    rows[texts] = rows[texts].astype(float)
    if on_gpu_type != "all":
        rows = rows[rows["gpu_type"] == on_gpu_type]
    found = []
    for band, mine in rows.groupby(rows["machine_num_worker"].map(band_of_workers), dropna=False):
        lives = mine["end_time"] - mine["start_time"]

        def mean(column: str, mine: pd.DataFrame = mine, lives: pd.Series = lives) -> float:
            return (mine[column] * lives).sum() / lives[mine[column].notna()].sum()

        row = {"worker_band": band, "workers": len(mine), "observed_worker_h": lives.sum() / HOUR_S}
        row |= {f"mean_{part}_pct": mean(f"machine_cpu_{part}") for part in ("usr", "kernel", "iowait")}
        row |= {"mean_load": mean("machine_load_1"), "mean_received_bytes": mean("machine_net_receive")}
        row |= {"sensed_workers": mine["read_count"].count(), "median_reads": mine["read_count"].median()}
        found.append(row | {"median_writes": mine["write_count"].median()})
    return pd.DataFrame(found)


def band_of_workers(workers: float) -> str | None:
    if math.isnan(workers):
        return None
    return next((band for band, below in WORKER_BANDS.items() if workers < below), "32 and more")


def colocation_slowdown(raw: Path, min_workers: int) -> pd.DataFrame:
    """A worker shares its GPU if a worker of another job runs on the GPU when it starts."""
    rows = workers_on_devices(raw)
    rows = rows[rows["status"] == "Terminated"]
    rows = rows.assign(is_sharing=rows["worker_name"].isin(workers_with_company(raw)))
    rows = rows.merge(keyed(tasks_of(raw), TASK_KEY)[[*TASK_KEY, "gpu_type"]], on=TASK_KEY, how="left")
    groups = raw_frames.pai_job_group(raw)[["job_name", "group_id"]]
    rows = rows.merge(groups, on="job_name", how="left")
    found = []
    for gpu_type, of_type in rows.groupby("gpu_type", dropna=False):
        runs = of_type.groupby(["group_id", "task_name", "is_sharing"])["run_s"]
        workers, medians = (
            part.unstack().reindex(columns=[False, True]) for part in (runs.size(), runs.median())
        )
        is_compared = (workers >= min_workers).all(axis=1)
        ratios = (medians[True] / medians[False])[is_compared]
        row = {
            "gpu_type": gpu_type,
            "workers": len(of_type),
            "sharing_workers": of_type["is_sharing"].sum(),
            "compared_workers": int(workers[is_compared].sum().sum()),
            "groups": len(ratios),
            "slower_pct": 100 * (ratios > 1).mean(),
        }
        found.append(row | raw_frames.percentiles(ratios, "slowdown", raw_frames.BOX_PERCENTILES))
    return pd.DataFrame(found)


def tasks_with_waits(raw: Path) -> pd.DataFrame:
    """Return all tasks with their wait, which is missing if the task or all its instances never started."""
    waits = raw_frames.pai_task_wait(raw)[[*TASK_KEY, "wait_s"]]
    return tasks_of(raw).merge(waits, on=TASK_KEY, how="left", validate="one_to_one")


def waits_by(tasks: pd.DataFrame, by: pd.Series) -> pd.DataFrame:
    waits = tasks["wait_s"].groupby(by, dropna=False)
    columns = {"tasks": waits.count(), "never_started_tasks": waits.size() - waits.count()}
    columns |= raw_frames.percentiles(waits, "wait_s", raw_frames.BOX_PERCENTILES)
    return pd.DataFrame(columns).reset_index()


def wait_by_gpu_type(raw: Path, min_gpus: float) -> pd.DataFrame:
    tasks = tasks_with_waits(raw)
    tasks = tasks[tasks["plan_gpu"] / 100 >= min_gpus]
    return waits_by(tasks, tasks["gpu_type"])


def plan_against_usage(raw: Path, min_workers: int) -> pd.DataFrame:
    usage = raw_frames.pai_task_usage(raw)
    usage = usage[usage["workers"] >= min_workers]
    rows = []
    for resource in ("cpu", "gpu", "memory"):
        margins = usage[f"{resource}_margin_of_capacity"].dropna()
        less, more = 100 * (margins > 0).mean(), 100 * (margins < 0).mean()
        rows.append((resource, len(margins), less, more, margins.median()))
    names = ["resource", "tasks", "used_less_pct", "used_more_pct", "median_margin_of_capacity"]
    return pd.DataFrame(rows, columns=names)


def gpu_request_bands(raw: Path, with_status: str) -> pd.DataFrame:
    tasks = tasks_of(raw)
    plans = tasks.loc[(tasks["status"] == with_status) | (with_status == "any"), "plan_gpu"]
    bands = {
        "under 25 %": (plans > 0) & (plans < 25),
        "25 to 50 %": (plans >= 25) & (plans < 50),
        "50 to 100 %": (plans >= 50) & (plans < 100),
        "1 GPU": plans == 100,
        "over 1 GPU": plans > 100,
    }
    everything = int((plans > 0).sum())
    rows = [(band, int(inside.sum()), percent(inside.sum(), everything)) for band, inside in bands.items()]
    return pd.DataFrame(rows, columns=["band", "tasks", "share_pct"])


def tasks_by_gpu_type(raw: Path, gpu_only: bool) -> pd.DataFrame:
    tasks = keyed(tasks_of(raw), ["gpu_type"])
    if gpu_only:
        tasks = tasks[tasks["plan_gpu"] > 0]
    types = tasks.assign(failed=tasks["status"].eq("Failed")).groupby("gpu_type")["failed"]
    rows = pd.DataFrame({"tasks": types.size(), "share_pct": 100 * types.size() / len(tasks)})
    rows["failed_pct"] = 100 * types.sum() / types.size()
    return rows.reset_index().sort_values(["tasks", "gpu_type"], ascending=[False, True])


def gang_sizes(raw: Path, gpu_only: bool) -> pd.DataFrame:
    tasks = keyed(tasks_of(raw), ["inst_num"])
    sizes = tasks.loc[tasks["plan_gpu"] > 0, "inst_num"] if gpu_only else tasks["inst_num"]
    rows = []
    for at_least in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        large = sizes[sizes >= at_least]
        shares = percent(len(large), len(sizes)), percent(large.sum(), sizes.sum())
        rows.append((at_least, len(large), int(large.sum()), *shares))
    return pd.DataFrame(rows, columns=["at_least", "tasks", "instances", "tasks_pct", "instances_pct"])


def totals(raw: Path) -> pd.DataFrame:
    jobs, tasks, instances = jobs_of(raw), tasks_of(raw), instances_of(raw)
    tagged = keyed(jobs, ["inst_id"])
    tagged = tagged[tagged["inst_id"].isin(tags_of(raw)["inst_id"].dropna())]
    entries = {
        "job": len(jobs),
        "task": len(tasks),
        "gpu_task": int((tasks["plan_gpu"] > 0).sum()),
        "instance": len(instances),
        "worker": instances["worker_name"].nunique(),
        "sensor_worker": len(sensors_of(raw)),
        "user": jobs["user"].nunique(),
        "tagged_user": tagged["user"].nunique(),
        "machine": len(machines_of(raw)),
        "gpu": int(machines_of(raw)["cap_gpu"].sum()),
    }
    return pd.DataFrame({"level": list(entries), "entries": [count or None for count in entries.values()]})


def user_concentration(raw: Path, top_pct: float) -> pd.DataFrame:
    instances = user_load(raw)["instances"].sort_values(ascending=False)
    users = len(instances)
    top_users = math.ceil(users * top_pct / 100)
    fewest = instances.tail(users // 2)
    row = {
        "users": users,
        "top_users": top_users,
        "top_instances_pct": percent(instances.head(top_users).sum(), instances.sum()),
        "bottom_half_max_instances": fewest.max() if len(fewest) else None,
    }
    return pd.DataFrame([row])


def group_recurrence(raw: Path, with_flagged: bool) -> pd.DataFrame:
    groups = raw_frames.pai_job_group(raw)
    if not with_flagged:
        groups = groups[~groups["is_group_from_user"]]
    tasks = keyed(tasks_of(raw), ["job_name"]).merge(groups[["job_name", "group_id"]], on="job_name")
    tasks = keyed(tasks, ["group_id"])
    times = tasks.groupby("group_id")["group_id"].transform("size")
    counts = {at_least: int((times >= at_least).sum()) for at_least in (1, 2, 5, 10, 50, 100, 1000)}
    rows = [(at_least, count, percent(count, len(tasks))) for at_least, count in counts.items()]
    return pd.DataFrame(rows, columns=["at_least", "tasks", "tasks_pct"])


def request_percentiles(raw: Path, at_pct: float) -> pd.DataFrame:
    tasks = tasks_of(raw)
    requests = {
        "cpu": (tasks["plan_cpu"].dropna() / 100, "CPU cores"),
        "gpu": (tasks.loc[tasks["plan_gpu"] > 0, "plan_gpu"] / 100, "GPUs"),
        "memory": (tasks["plan_mem"].dropna(), "GB"),
    }
    rows = [
        (resource, len(values), unit, values.median(), values.quantile(at_pct / 100))
        for resource, (values, unit) in requests.items()
    ]
    return pd.DataFrame(rows, columns=["resource", "requests", "unit", "median", "at_percentile"])


def wait_share(raw: Path, short_below_s: float, over_half: float) -> pd.DataFrame:
    every = tasks_with_waits(raw).merge(task_run(raw)[[*TASK_KEY, "run_s"]], on=TASK_KEY)
    left_out = every["wait_s"].isna().sum(), (every["wait_s"].notna() & every["run_s"].isna()).sum()
    tasks = every[every["wait_s"] + every["run_s"] > 0]
    shares = tasks["wait_s"] / (tasks["wait_s"] + tasks["run_s"])
    is_short = tasks["run_s"] < short_below_s
    rows = []
    for run_class, mine in (("short", shares[is_short]), ("long", shares[~is_short])):
        shares_of_class = percent((mine > over_half).sum(), len(mine)), mine.median()
        rows.append((run_class, len(mine), *left_out, *shares_of_class))
    counts = ["tasks", "never_started_tasks", "unended_tasks"]
    return pd.DataFrame(rows, columns=["run_class", *counts, "waited_over_pct", "median_wait_share"])


def wait_by_sharing(raw: Path) -> pd.DataFrame:
    tasks = tasks_with_waits(raw)
    tasks = tasks[tasks["plan_gpu"] > 0]
    is_shared = tasks["plan_gpu"] < 100
    return waits_by(tasks, is_shared.map({True: "shared GPU", False: "whole GPUs"}).rename("request"))


def sharing_savings(raw: Path, from_hour: int, to_hour: int) -> pd.DataFrame:
    hours = demand_hourly(raw)
    hours = hours[hours["hour"].between(from_hour, to_hour)]
    requested, if_whole = hours["requested_gpus"], hours["requested_gpus_if_whole"]
    saved = if_whole - requested
    # Equal savings of two hours may differ in the last digits.
    is_peak = saved >= saved.max() - raw_frames.RELATIVE
    row = {
        "hours": len(hours),
        "mean_requested_gpus": requested.mean(),
        "mean_gpus_if_whole": if_whole.mean(),
        "mean_saved_gpus": saved.mean(),
        "saved_pct": percent(saved.sum(), if_whole.sum()),
        "peak_saved_gpus": saved.max(),
        "peak_hour": hours.loc[is_peak, "hour"].min(),
    }
    return pd.DataFrame([row])


def status_counts(raw: Path, at_level: str) -> pd.DataFrame:
    rows = status_by_level(raw)
    if at_level != "any":
        rows = rows[rows["level"] == at_level]
    rows["place"] = rows["level"].map({"job": 0, "task": 1, "instance": 2})
    return rows.sort_values(["place", "entries", "status"], ascending=[True, False, True]).drop(
        columns="place"
    )


CDF_AT_S = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)


def thinned(values: pd.Series) -> list[float]:
    """Return the smallest value in each fifth of a percent of the values."""
    shares = values.value_counts(normalize=True).sort_index().cumsum() * 500
    fifths = shares.round(6).apply(math.floor)
    return list(fifths.index[~fifths.duplicated(keep="first")])


def wait_cdf(raw: Path, every_value: bool = False) -> pd.DataFrame:
    tasks = tasks_with_waits(raw)
    tasks = tasks[tasks["plan_gpu"] > 0]
    rows = []
    for gpu_type, waits in tasks.groupby("gpu_type")["wait_s"]:
        for wait_s in thinned(waits.dropna()) if every_value else CDF_AT_S:
            count, never_started = int((waits <= wait_s).sum()), int(waits.isna().sum())
            rows.append((gpu_type, wait_s, count, never_started, percent(count, waits.count())))
    return pd.DataFrame(rows, columns=["gpu_type", "wait_s", "tasks", "never_started_tasks", "share_pct"])


def demand_by(raw: Path, place: list[str], names: list[str], span: tuple[int, int]) -> pd.DataFrame:
    hours = demand_hourly(raw)
    groups = hours[hours["hour"].between(*span)].groupby(place)
    means = groups[names].mean().add_prefix("mean_")
    return means.assign(
        hours=groups.size(), unended_instances=groups["unended_instances"].sum()
    ).reset_index()


def demand_by_hour_of_day(raw: Path, from_hour: int, to_hour: int) -> pd.DataFrame:
    names = ["requested_cpus", "requested_gpus", "requested_memory_gb", "sharing_gpus", "whole_gpus"]
    return demand_by(raw, ["hour_of_day"], names, (from_hour, to_hour))


def demand_by_week_hour(raw: Path, from_hour: int, to_hour: int) -> pd.DataFrame:
    names = ["requested_cpus", "requested_gpus"]
    return demand_by(raw, ["weekday", "hour_of_day"], names, (from_hour, to_hour))


def gpu_sharing_by_type(raw: Path) -> pd.DataFrame:
    types = keyed(machines_of(raw), ["machine"])[["machine", "gpu_type"]]
    workers = workers_on_devices(raw).merge(types, on="machine", how="left", validate="many_to_one")
    pairs = gpu_sharing(raw).merge(types, on="machine", how="left", validate="many_to_one")
    in_pairs = {*pairs["worker_name"], *pairs["other_worker_name"]}
    rows = []
    for gpu_type, mine in workers.groupby("gpu_type", dropna=False):
        overlaps = pairs.loc[pairs["gpu_type"].isna() if pd.isna(gpu_type) else pairs["gpu_type"] == gpu_type]
        sharing = int(mine["worker_name"].isin(in_pairs).sum())
        counts = len(mine), sharing, percent(sharing, len(mine)), len(overlaps)
        rows.append((gpu_type, *counts, overlaps["overlap_s"].astype(float).median()))
    names = ["gpu_type", "workers", "sharing_workers", "sharing_pct", "pairs", "median_overlap_s"]
    return pd.DataFrame(rows, columns=names)


def usage_by_gpu_type(raw: Path) -> pd.DataFrame:
    groups = worker_usage(raw).groupby("gpu_type", dropna=False)
    columns = {"workers": groups.size()}
    columns["median_cpu_use_of_plan"] = groups["cpu_use_of_plan"].median()
    columns |= raw_frames.percentiles(groups["gpu_use_of_plan"], "gpu_use_of_plan")
    columns["median_memory_use_of_plan"] = groups["memory_use_of_plan"].median()
    return pd.DataFrame(columns).reset_index()


def shares_of_time(workers: pd.DataFrame) -> np.ndarray:
    """Return each worker's share of one machine's time. Overlapping workers share it equally."""
    starts, ends = workers["start_time"].to_numpy(), workers["end_time"].to_numpy()
    edges = np.unique(np.concatenate([starts, ends]))
    sees = (starts[:, None] <= edges[:-1]) & (ends[:, None] >= edges[1:])
    return (sees * np.diff(edges) / sees.sum(axis=0).clip(min=1)).sum(axis=1)


def machine_use_by_type(raw: Path) -> pd.DataFrame:
    metrics = metrics_of(raw)
    launched = set(instances_of(raw)["worker_name"].dropna())
    is_seen = (metrics["start_time"] > 0) & (metrics["end_time"] > metrics["start_time"])
    rows = metrics[is_seen & metrics["worker_name"].isin(launched)].copy()
    rows["weight"] = 0.0
    for _, workers in rows.groupby("machine"):
        rows.loc[workers.index, "weight"] = shares_of_time(workers)
    rows = rows.merge(machines_of(raw), on="machine", how="left", validate="many_to_one")
    # The GPUs of a machine are observed as long as the machine.
    rows["gpu_weight"] = rows["weight"] * rows["cap_gpu"].where(rows["cap_gpu"] > 0)
    rows["per_gpu"] = rows["machine_gpu"] / rows["cap_gpu"].where(rows["cap_gpu"] > 0)
    types = []
    for gpu_type, mine in rows.groupby("gpu_type", dropna=False):
        means = []
        for name, weight in (
            ("machine_cpu", "weight"),
            ("per_gpu", "gpu_weight"),
            ("machine_load_1", "weight"),
        ):
            known = mine[mine[name].notna()]
            means.append((known[name] * known[weight]).sum() / known[weight].sum() if len(known) else None)
        counts = mine["machine"].nunique(), len(mine), mine["weight"].sum() / HOUR_S
        types.append((gpu_type, *counts, *means))
    names = ["gpu_type", "machines", "workers", "observed_machine_h"]
    return pd.DataFrame(types, columns=[*names, "mean_cpu_pct", "mean_gpu_pct", "mean_load"])


def run_by_status(raw: Path, gpu_only: bool) -> pd.DataFrame:
    plans = tasks_of(raw)[[*TASK_KEY, "plan_gpu"]]
    tasks = task_run(raw).assign(plan_gpu=plans["plan_gpu"])
    assert tasks[TASK_KEY].equals(plans[TASK_KEY])
    if gpu_only:
        tasks = tasks[tasks["plan_gpu"] > 0]
    tasks["held_gpu_h"] = tasks["held_s"] * tasks["plan_gpu"] / 100 / HOUR_S
    tasks["span_gpu_h"] = tasks["run_s"] * tasks["instances"] * tasks["plan_gpu"] / 100 / HOUR_S
    groups = tasks.groupby("status", dropna=False)
    columns = {
        "tasks": groups.size(),
        "tasks_with_run": groups["run_s"].count(),
        "mean_run_s": groups["run_s"].mean(),
        **raw_frames.percentiles(groups["run_s"], "run_s"),
        "held_gpu_h": groups["held_gpu_h"].sum(min_count=1),
        "span_gpu_h": groups["span_gpu_h"].sum(min_count=1),
    }
    return pd.DataFrame(columns).reset_index()


def coverage(raw: Path) -> pd.DataFrame:
    joins = join_coverage(raw)
    return pd.DataFrame(
        {
            "join_name": joins["join_name"],
            "left_table": joins["left_table"],
            "right_table": joins["right_table"],
            "left_matched_pct": 100 * ratio(joins["left_matched"], joins["left_rows"]),
            "right_matched_pct": 100 * ratio(joins["right_matched"], joins["right_rows"]),
            "left_multiply_matched": joins["left_multiply_matched"],
            "right_multiply_matched": joins["right_multiply_matched"],
        }
    )


def failures_over_time(raw: Path, in_parts: int, by_time: bool) -> pd.DataFrame:
    """Split the trace by time, or else by the number of tasks that started before a task."""
    tasks = tasks_of(raw)
    tasks = tasks[tasks["start_time"] > 0]
    first, last = tasks["start_time"].min(), tasks["start_time"].max()
    if by_time:
        part = ((tasks["start_time"] - first) * in_parts // (last - first) + 1).clip(upper=in_parts)
    else:
        started_before = tasks["start_time"].rank(method="min") - 1
        part = started_before * in_parts // len(tasks) + 1
    is_failed, is_gpu = tasks["status"] == "Failed", tasks["plan_gpu"] > 0
    rows = []
    for number in range(1, in_parts + 1):
        inside = part == number
        groups = inside, inside & is_gpu, inside & ~is_gpu
        shares = [percent((group & is_failed).sum(), group.sum()) for group in groups]
        rows.append((number, int(inside.sum()), int((inside & is_failed).sum()), *shares))
    names = ["part", "tasks", "failed_tasks", "failed_pct", "gpu_failed_pct", "cpu_failed_pct"]
    return pd.DataFrame(rows, columns=names)


CLASSES = {"user": "user_id", "group": "group_id", "gpu_type": "gpu_type", "workload": "workload"}


def waste(raw: Path, per: str, top: int) -> pd.DataFrame:
    groups = task_gpu_time(raw).groupby(CLASSES[per], dropna=False)
    rows = pd.DataFrame({"tasks": groups.size(), "measured_workers": groups["measured_workers"].sum()})
    for name in ("held_gpu_s", *MEASURED):
        rows[name.replace("_s", "_h")] = groups[name].sum(min_count=1) / HOUR_S
    rows["measured_gpu_h"] = rows["measured_gpu_h"].fillna(0)
    rows["wasted_pct"] = 100 * ratio(rows["wasted_gpu_h"], rows["measured_gpu_h"])
    rows["wasted_of_all_pct"] = 100 * rows["wasted_gpu_h"] / (rows["wasted_gpu_h"].sum() or np.nan)
    rows["measured_pct"] = 100 * ratio(rows["measured_gpu_h"], rows["held_gpu_h"])
    rows = rows.rename_axis("class").reset_index()
    place = rows.assign(wasted=rows["wasted_gpu_h"].round(6)).sort_values(
        ["wasted", "class"], ascending=[False, True]
    )
    return rows.loc[place.index].head(top)


def with_runs(raw: Path) -> pd.DataFrame:
    """Return all tasks with tags, waits, run times (of ended tasks only) and held GPU-hours."""
    tasks, runs = tagged_tasks(raw), task_run(raw)
    return tasks.assign(
        wait_s=tasks_with_waits(raw)["wait_s"],
        run_s=runs["run_s"],
        held_gpu_h=runs["held_s"] * tasks["plan_gpu"] / 100 / HOUR_S,
    )


def roles(raw: Path) -> pd.DataFrame:
    tasks = with_runs(raw)
    tasks["tasks_of_job"] = tasks.groupby("job_name")["job_name"].transform("size")
    tasks["requested"] = tasks["inst_num"] * tasks["plan_gpu"].fillna(0) / 100
    groups = tasks.groupby("task_name", dropna=False)
    several = tasks[tasks["tasks_of_job"] > 1].groupby("task_name", dropna=False)
    columns = {
        "tasks": groups.size(),
        "jobs": groups["job_name"].nunique(),
        "multi_task_jobs": several["job_name"].nunique(),
        "gpu_tasks": tasks[tasks["plan_gpu"] > 0].groupby("task_name", dropna=False).size(),
        "tasks_with_size": groups["inst_num"].count(),
        "instances": groups["inst_num"].sum(),
        "mean_instances": groups["inst_num"].mean(),
        "median_instances": groups["inst_num"].median(),
        "requested_gpus": groups["requested"].sum(),
        "tasks_with_wait": groups["wait_s"].count(),
        "median_wait_s": groups["wait_s"].median(),
        "tasks_with_run": groups["run_s"].count(),
        "median_run_s": groups["run_s"].median(),
        "held_gpu_h": groups["held_gpu_h"].sum(min_count=1),
    }
    rows = pd.DataFrame({name: column.reindex(groups.size().index) for name, column in columns.items()})
    counts = ["multi_task_jobs", "gpu_tasks"]
    rows[counts] = rows[counts].fillna(0)
    rows["held_gpu_h_pct"] = 100 * rows["held_gpu_h"] / (rows["held_gpu_h"].sum() or np.nan)
    return rows.reset_index()


def requested_against_assigned_type(raw: Path, gpu_only: bool) -> pd.DataFrame:
    tasks = tagged_tasks(raw)
    if gpu_only:
        tasks = tasks[tasks["plan_gpu"] > 0]
    tasks = tasks[[*TASK_KEY, "gpu_type_spec"]].reset_index(names="task")
    types = keyed(machines_of(raw), ["machine"]).set_index("machine")["gpu_type"]
    launches = keyed(instances_of(raw), TASK_KEY)
    launches["machine_gpu_type"] = launches["machine"].map(types)
    launches = launches[[*TASK_KEY, "machine_gpu_type"]].assign(launch=1)
    pairs = tasks.merge(launches, on=TASK_KEY, how="left")
    place = ["gpu_type_spec", "machine_gpu_type"]
    groups = pairs.groupby(place, dropna=False)
    rows = groups.agg(tasks=("task", "nunique"), instances=("launch", "count")).reset_index()
    of_request = pairs.groupby("gpu_type_spec", dropna=False)
    of_request = of_request.agg(all_tasks=("task", "nunique"), all_instances=("launch", "count"))
    # Missing requests are joined with each other on purpose.
    rows = rows.merge(of_request.reset_index(), on="gpu_type_spec", validate="many_to_one")
    return pd.DataFrame(
        {
            "requested_gpu_type": rows["gpu_type_spec"],
            "machine_gpu_type": rows["machine_gpu_type"],
            "tasks": rows["tasks"],
            "tasks_pct": 100 * rows["tasks"] / rows["all_tasks"],
            "instances": rows["instances"],
            "instances_pct": 100 * ratio(rows["instances"], rows["all_instances"]),
        }
    )


PERIODS_S = {"day": 24 * HOUR_S, "hour": HOUR_S}


def period_of(times: pd.Series, length_s: int) -> pd.Series:
    offset_s = UTC_OFFSET_H * HOUR_S
    return ((times + offset_s) // length_s * length_s - offset_s).astype("int64")


def held_by_period(launches: pd.DataFrame, length_s: int) -> pd.Series:
    """Return the mean of held GPUs in each period. Launches are split at the periods' starts."""
    first, last = period_of(launches["start_s"], length_s), period_of(launches["end_s"], length_s)
    held = [
        (begin, (min(end_s, begin + length_s) - max(start_s, begin)) / length_s * plan / 100)
        for start_s, end_s, plan, begin_first, begin_last in zip(
            launches["start_s"], launches["end_s"], launches["plan_gpu"], first, last, strict=True
        )
        for begin in range(begin_first, begin_last + 1, length_s)
    ]
    return pd.DataFrame(held, columns=["period", "gpus"]).groupby("period")["gpus"].sum()


def load_of_type(
    tasks: pd.DataFrame, launches: pd.DataFrame, periods: range, length_s: int, capacity: float | None
) -> pd.DataFrame:
    submitted = tasks[tasks["start_time"] > 0]
    submitted = submitted.assign(requested=submitted["inst_num"] * submitted["plan_gpu"] / 100)
    groups = submitted.groupby(period_of(submitted["start_time"], length_s))
    started = launches[launches["start_s"].notna()]
    is_held = started["end_s"] > started["start_s"]
    counts = {
        "tasks": groups.size(),
        "tasks_with_size": groups["inst_num"].count(),
        "submitted_gpus": groups["requested"].sum(),
        "held_gpus": held_by_period(started[is_held], length_s),
        "unended_instances": period_of(started.loc[~is_held, "start_s"], length_s).value_counts(),
        "never_started_tasks": groups.size() - groups["wait_s"].count(),
    }
    waits = raw_frames.percentiles(groups["wait_s"], "wait_s")
    rows = pd.DataFrame({name: column.reindex(periods, fill_value=0) for name, column in counts.items()})
    rows = rows.assign(**{name: column.reindex(periods) for name, column in waits.items()})
    rows["capacity_gpus"] = capacity
    rows["held_pct"] = 100 * rows["held_gpus"] / (capacity or np.nan)
    return rows.rename_axis("period_start_s").reset_index()


LOAD = ["tasks", "tasks_with_size", "submitted_gpus", "held_gpus", "unended_instances", "capacity_gpus"]
LOAD += ["held_pct", "never_started_tasks", *(f"{part}_wait_s" for part in raw_frames.PERCENTILES)]


def load_over_time(raw: Path, every: str, on_gpu_type: str, hours: tuple[int, int]) -> pd.DataFrame:
    length_s = PERIODS_S[every]
    tasks = tasks_with_waits(raw)
    tasks = tasks[tasks["plan_gpu"] > 0]
    if on_gpu_type != "any":
        tasks = tasks[tasks["gpu_type"] == on_gpu_type]
    plans = keyed(tasks, TASK_KEY)[[*TASK_KEY, "plan_gpu", "gpu_type"]]
    launches = instances_of(raw).merge(plans, on=TASK_KEY, validate="many_to_one")
    started = launches[launches["start_s"].notna()]
    later = started["end_s"].where(started["end_s"] > started["start_s"])
    seen = pd.concat([raw_frames.happened(tasks["start_time"]), started["start_s"], later])
    seen = period_of(seen.dropna(), length_s)
    periods = range(seen.min(), seen.max() + 1, length_s) if len(seen) else range(0)
    machines = machines_of(raw)
    capacities = machines[machines["cap_gpu"] > 0].groupby("gpu_type")["cap_gpu"].sum()
    types = []
    for gpu_type in tasks["gpu_type"].unique() if on_gpu_type == "any" else [on_gpu_type]:
        is_mine = [
            rows["gpu_type"].isna() if pd.isna(gpu_type) else rows["gpu_type"] == gpu_type
            for rows in (tasks, launches)
        ]
        mine = tasks[is_mine[0]], launches[is_mine[1]]
        load = load_of_type(*mine, periods, length_s, capacities.get(gpu_type, np.nan))
        types.append(load.assign(gpu_type=gpu_type))
    rows = pd.concat(types, ignore_index=True)
    rows = rows[(rows["period_start_s"] // HOUR_S).between(*hours)]
    local_hour = rows["period_start_s"] // HOUR_S + UTC_OFFSET_H
    rows["weekday"] = (local_hour // 24 + 3) % 7 + 1
    rows["hour_of_day"] = local_hour % 24 if every == "hour" else None
    return rows[["period_start_s", "weekday", "hour_of_day", "gpu_type", *LOAD]]


WORKER_FIGURES = {
    "gpu_memory": ("avg_gpu_wrk_mem", "gpu_memory_gb"),
    "peak_gpu_memory": ("max_gpu_wrk_mem", "peak_gpu_memory_gb"),
    "read": ("read", "read_bytes"),
    "write": ("write", "write_bytes"),
}


def worker_memory_and_network(raw: Path, per: str) -> pd.DataFrame:
    sensors = keyed(sensors_of(raw), ["worker_name"])
    sensors = raw_frames.with_numbers(sensors, ["read", "write"])
    names = [name for name, _ in WORKER_FIGURES.values()]
    tasks = keyed(tagged_tasks(raw), TASK_KEY)
    tasks = tasks.loc[tasks["plan_gpu"] > 0, [*TASK_KEY, CLASSES[per]]]
    workers = raw_frames.pai_worker(raw)[["worker_name", *TASK_KEY]]
    workers = workers.merge(tasks, on=TASK_KEY, validate="many_to_one")
    workers = workers.merge(
        sensors[["worker_name", *names]], on="worker_name", how="left", validate="one_to_one"
    )
    groups = workers.groupby(CLASSES[per], dropna=False)
    columns = {"workers": groups.size()}
    for known, (name, answered) in WORKER_FIGURES.items():
        figures = groups[name]
        columns[f"{known}_known_pct"] = 100 * figures.count() / groups.size()
        columns |= raw_frames.percentiles(figures, answered)
    return pd.DataFrame(columns).rename_axis("class").reset_index()


def workload_classes(raw: Path, gpu_only: bool) -> pd.DataFrame:
    measured = task_gpu_time(raw)[[*TASK_KEY, *MEASURED]]
    tasks = with_runs(raw).merge(measured, on=TASK_KEY, how="left", validate="one_to_one")
    if gpu_only:
        tasks = tasks[tasks["plan_gpu"] > 0]
    tasks["known"] = tasks["status"].isin(["Terminated", "Failed"])
    tasks["failed"] = tasks["status"].eq("Failed")
    groups = tasks.groupby("workload", dropna=False)
    jobs, size, known = groups["job_name"].nunique(), groups.size(), groups["known"].sum()
    held_gpu_h = groups["held_gpu_h"].sum(min_count=1)
    planned, used = groups["measured_gpu_s"].sum(), groups["used_gpu_s"].sum()
    tagged = tasks.loc[tasks["workload"].notna(), "job_name"].nunique()
    columns = {
        "jobs": jobs,
        "jobs_pct": 100 * jobs / tasks["job_name"].nunique(),
        "tagged_jobs_pct": percent(tagged, tasks["job_name"].nunique()),
        "tasks": size,
        "known_pct": 100 * known / size,
        "failed_of_known_pct": 100 * ratio(groups["failed"].sum(), known),
        "held_gpu_h": held_gpu_h,
        "held_gpu_h_pct": 100 * held_gpu_h / (held_gpu_h.sum() or np.nan),
        "measured_pct": 100 * ratio(planned / HOUR_S, held_gpu_h),
        "used_of_plan_pct": 100 * ratio(used, planned),
        "tasks_with_run": groups["run_s"].count(),
        "median_run_s": groups["run_s"].median(),
        "tasks_with_wait": groups["wait_s"].count(),
        **raw_frames.percentiles(groups["wait_s"], "wait_s"),
    }
    return pd.DataFrame(columns).reset_index()


# In VIEWS and QUERIES, each name has its function and the key columns of its rows.


def cluster_capacity(raw: Path) -> pd.DataFrame:
    specified = machines_of(raw)
    types = specified[specified["cap_gpu"] > 0].groupby("gpu_type")
    rows = types.agg(gpus=("cap_gpu", "sum"), nodes=("machine", "size"))
    rows = rows.rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


VIEWS = {
    "pai.scheduling_latency_v1": (raw_frames.pai_scheduling_latency, ["job_name"]),
    "pai.task_wait_v1": (raw_frames.pai_task_wait, ["job_name", "task_name"]),
    "pai.task_usage_v1": (raw_frames.pai_task_usage, ["job_name", "task_name"]),
    "pai.worker_v1": (raw_frames.pai_worker, ["worker_name"]),
    "pai.worker_machine_v1": (raw_frames.pai_worker_machine, ["worker_name"]),
    "pai.job_group_v1": (raw_frames.pai_job_group, ["job_name"]),
    "pai.worker_by_outcome_v1": (worker_by_outcome, ["worker_name"]),
    "pai.task_run_v1": (task_run_v1, ["job_name", "task_name"]),
    "pai.task_run_v2": (task_run, ["job_name", "task_name"]),
    "pai.worker_usage_v1": (worker_usage, ["worker_name"]),
    "pai.gpu_sharing_v1": (gpu_sharing, ["worker_name", "other_worker_name"]),
    "pai.demand_hourly_v1": (demand_hourly, ["hour"]),
    "pai.user_load_v1": (user_load, ["user_id"]),
    "pai.gang_v1": (gang, ["requests_gpu", "gang_size"]),
    "pai.status_by_level_v1": (status_by_level, ["level", "status"]),
    "pai.join_coverage_v1": (join_coverage, ["join_name"]),
    "pai.job_utilization_v1": (job_utilization, ["job_id"]),
    "pai.task_gpu_time_v1": (task_gpu_time, ["job_name", "task_name"]),
    "pai.gpu_launch_hours_v1": (gpu_launch_hours, ["gpu_type", "start_hour", "end_hour"]),
    "pai.machine_use_v1": (machine_use_by_type, ["gpu_type"]),
    "pai.sensed_worker_v1": (sensed_worker, ["job_name", "task_name", "machine", "cpu_pct", "memory_gb"]),
    "pai.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}

EVER = (0, 100_000)
OF_TYPE_THEN = ["period_start_s", "gpu_type"]
REQUESTED_ASSIGNED = ["requested_gpu_type", "machine_gpu_type"]
# From 1970-01-25 00:00 in China, 25 days into the year, to the end of a Saturday.
SEVEN_WEEKS = (24 * 24 - UTC_OFFSET_H, 24 * 24 - UTC_OFFSET_H + 7 * 7 * 24 - 1)
MACHINE_QUERIES = {
    "pai.machines()": (machines, (0, False), None),
    "pai.machines(with_total := true)": (machines, (0, True), None),
    "pai.machines(min_gpus := 8, with_total := true)": (machines, (8, True), None),
}
QUERIES = MACHINE_QUERIES | {
    "pai.wait_by_gpu_type()": (wait_by_gpu_type, (0.01,), ["gpu_type"]),
    "pai.wait_by_gpu_type(min_gpus := 1)": (wait_by_gpu_type, (1,), ["gpu_type"]),
    "pai.plan_against_usage()": (plan_against_usage, (1,), ["resource"]),
    "pai.plan_against_usage(min_workers := 2)": (plan_against_usage, (2,), ["resource"]),
    "pai.gpu_request_bands()": (gpu_request_bands, ("any",), None),
    "pai.gpu_request_bands(with_status := 'Failed')": (gpu_request_bands, ("Failed",), None),
    "pai.tasks_by_gpu_type()": (tasks_by_gpu_type, (True,), None),
    "pai.tasks_by_gpu_type(gpu_only := false)": (tasks_by_gpu_type, (False,), None),
    "pai.gang_sizes()": (gang_sizes, (False,), None),
    "pai.gang_sizes(gpu_only := true)": (gang_sizes, (True,), None),
    "pai.totals()": (totals, (), None),
    "pai.user_concentration()": (user_concentration, (5,), None),
    "pai.user_concentration(top_pct := 12.1)": (user_concentration, (12.1,), None),
    "pai.user_concentration(top_pct := 100)": (user_concentration, (100,), None),
    "pai.group_recurrence()": (group_recurrence, (True,), None),
    "pai.group_recurrence(with_flagged := false)": (group_recurrence, (False,), None),
    "pai.request_percentiles()": (request_percentiles, (95,), None),
    "pai.request_percentiles(at_pct := 12.5)": (request_percentiles, (12.5,), None),
    "pai.wait_share()": (wait_share, (3600, 0.5), None),
    "pai.wait_share(short_below_s := 600)": (wait_share, (600, 0.5), None),
    "pai.wait_share(over_half := 0.1)": (wait_share, (3600, 0.1), None),
    "pai.wait_by_sharing()": (wait_by_sharing, (), None),
    "pai.sharing_savings()": (sharing_savings, (0, 100_000), None),
    "pai.sharing_savings(from_hour := 672)": (sharing_savings, (672, 100_000), None),
    "pai.sharing_savings(to_hour := 300)": (sharing_savings, (0, 300), None),
    "pai.status_counts()": (status_counts, ("any",), None),
    "pai.status_counts(at_level := 'job')": (status_counts, ("job",), None),
    "pai.status_counts(at_level := 'instance')": (status_counts, ("instance",), None),
    "pai.wait_cdf()": (wait_cdf, (), None),
    "pai.wait_cdf(every_value := true)": (wait_cdf, (True,), None),
    "pai.demand_by_hour_of_day()": (demand_by_hour_of_day, SEVEN_WEEKS, None),
    "pai.demand_by_hour_of_day(from_hour := 0)": (demand_by_hour_of_day, (0, 1743), None),
    "pai.demand_by_week_hour()": (demand_by_week_hour, SEVEN_WEEKS, None),
    "pai.demand_by_week_hour(from_hour := 0, to_hour := 100000)": (
        demand_by_week_hour,
        (0, 100_000),
        None,
    ),
    "pai.host_use_by_workers()": (host_use_by_workers, ("all",), ["worker_band"]),
    "pai.host_use_by_workers(on_gpu_type := 'T4')": (host_use_by_workers, ("T4",), ["worker_band"]),
    "pai.colocation_slowdown()": (colocation_slowdown, (5,), ["gpu_type"]),
    "pai.colocation_slowdown(min_workers := 1)": (colocation_slowdown, (1,), ["gpu_type"]),
    "pai.gpu_sharing_by_type()": (gpu_sharing_by_type, (), None),
    "pai.usage_by_gpu_type()": (usage_by_gpu_type, (), ["gpu_type"]),
    "pai.machine_use_by_type()": (machine_use_by_type, (), ["gpu_type"]),
    "pai.run_by_status()": (run_by_status, (True,), ["status"]),
    "pai.run_by_status(gpu_only := false)": (run_by_status, (False,), ["status"]),
    "pai.coverage()": (coverage, (), ["join_name"]),
    "pai.failures_over_time()": (failures_over_time, (4, False), None),
    "pai.failures_over_time(in_parts := 1)": (failures_over_time, (1, False), None),
    "pai.failures_over_time(in_parts := 30)": (failures_over_time, (30, False), None),
    "pai.failures_over_time(by_time := true)": (failures_over_time, (4, True), None),
    "pai.failures_over_time(in_parts := 30, by_time := true)": (failures_over_time, (30, True), None),
    "pai.waste()": (waste, ("user", 20), None),
    "pai.waste(top := 3)": (waste, ("user", 3), None),
    "pai.waste(per := 'group')": (waste, ("group", 20), None),
    "pai.waste(per := 'group', top := 1000000)": (waste, ("group", 1_000_000), None),
    "pai.waste(per := 'gpu_type')": (waste, ("gpu_type", 20), None),
    "pai.waste(per := 'workload')": (waste, ("workload", 20), None),
    "pai.roles()": (roles, (), ["task_name"]),
    "pai.requested_against_assigned_type()": (
        requested_against_assigned_type,
        (True,),
        REQUESTED_ASSIGNED,
    ),
    "pai.requested_against_assigned_type(gpu_only := false)": (
        requested_against_assigned_type,
        (False,),
        REQUESTED_ASSIGNED,
    ),
    "pai.load_over_time()": (load_over_time, ("day", "any", EVER), OF_TYPE_THEN),
    "pai.load_over_time(every := 'hour')": (load_over_time, ("hour", "any", EVER), OF_TYPE_THEN),
    "pai.load_over_time(on_gpu_type := 'T4')": (load_over_time, ("day", "T4", EVER), OF_TYPE_THEN),
    "pai.load_over_time(from_hour := 672)": (
        load_over_time,
        ("day", "any", (672, 100_000)),
        OF_TYPE_THEN,
    ),
    "pai.load_over_time(to_hour := 300)": (load_over_time, ("day", "any", (0, 300)), OF_TYPE_THEN),
    "pai.load_over_time(every := 'hour', on_gpu_type := 'MISC', from_hour := 600, to_hour := 700)": (
        load_over_time,
        ("hour", "MISC", (600, 700)),
        OF_TYPE_THEN,
    ),
    "pai.worker_memory_and_network()": (worker_memory_and_network, ("gpu_type",), ["class"]),
    "pai.worker_memory_and_network(per := 'workload')": (
        worker_memory_and_network,
        ("workload",),
        ["class"],
    ),
    "pai.workload_classes()": (workload_classes, (True,), ["workload"]),
    "pai.workload_classes(gpu_only := false)": (workload_classes, (False,), ["workload"]),
}

ON_REAL_FILES = {*MACHINE_QUERIES, "pai.cluster_capacity_v1"}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"from_hour": 1000, "min_gpus": 16, "min_workers": 2, "to_hour": 1000}

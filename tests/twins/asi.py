"""The views and queries of ASI, computed by pandas from the raw Parquet files alone."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames
from twins import unified

HOUR = ["day", "hour_of_day"]
SERVER_HOUR = [*HOUR, "server_id"]
POD_HOUR = [*HOUR, "pod_id", "server_id"]

SHORTENED_MODELS = ["A10", "L20", "H20", "A100", "H800", "XPU-A"]
DAILY_MODELS = ["A10", "A100", "H20", "L20", "XPU-A"]
JOB_TYPES = ["training", "online_inference", "offline_inference", "dev"]
MODEL_TYPES = ["genai", "rec", "cv", "embedding", "dev"]
PRIORITIES = ["HP", "LP"]
# GPUs and CPU cores.
JOBS = [(1, 8), (1, 12), (4, 32), (4, 48), (4, 64), (8, 64), (8, 96), (8, 128)]


@raw_frames.remembered
def hourly(raw: Path, table: str) -> pd.DataFrame:
    """The rows of all hourly files of a table, with the day and the hour from the path."""
    frames = {}
    for path in (raw / "asi").rglob(f"asi_opensource_{table}/day=*/hour=*/*.parquet"):
        day, hour = map(int, re.fullmatch(r"day=(\d+)/hour=(\d+)", "/".join(path.parts[-3:-1])).groups())
        frames[day, hour, path.name] = pd.read_parquet(path, partitioning=None).assign(
            day=day, hour_of_day=hour
        )
    return pd.concat([frames[key] for key in sorted(frames)], ignore_index=True)


def spans(raw: Path) -> pd.DataFrame:
    [path] = (raw / "asi").rglob("asi_opensource_job_execution_summary/*.parquet")
    return pd.read_parquet(path, partitioning=None)


def shown_model(models: pd.Series) -> pd.Series:
    """Model names as the publisher's figures shorten them: H20-141GB is H20."""
    first = models.str.split("-").str[0]
    return first.where(first.isin(SHORTENED_MODELS), models)


def known_delay(delays: pd.Series) -> pd.Series:
    return delays.astype(float).where(delays != -1)


@raw_frames.remembered
def pod_hour_v1(raw: Path) -> pd.DataFrame:
    found = hourly(raw, "pod_hourly").sort_values(POD_HOUR, kind="stable", ignore_index=True)
    gpus = found["gpu_request"].fillna(0)
    columns = {
        "day": found["day"],
        "hour_of_day": found["hour_of_day"],
        "pod_id": found["pod_id"],
        "workload_id": found["workload_id"],
        "server_id": found["server_id"],
        "cluster": found["cluster_id"],
        "gpu_model": found["gpu_spec_public"],
        "shown_model": shown_model(found["gpu_spec_public"]),
        "priority": found["priority_class"],
        "job_type": found["job_type_public"],
        "model_type": found["model_type_public"],
        "is_standby": found["state_public"] == "Standby",
        "is_ready": found["ready_status"].eq(True),
        "requested_gpus": gpus,
        "requested_gpu_memory_gib": found["gpu_mem_request"].fillna(0) / 2**30,
        "requested_cpus": found["cpu_request_cores"].fillna(0),
        "held_gpu_h": found["used_gpu_hours"].fillna(0),
        "gpu_pct": found["avg_gpu_sm_util"] / gpus.where(gpus != 0),
        "gpu_memory_gib": found["avg_gpu_mem_gib"],
        "cpu_pct": 100 * found["avg_cpu_request_util"],
        "memory_pct": 100 * found["avg_memory_util"],
        "wait_s": known_delay(found["schedule_delay_sec"]),
        "ready_wait_s": known_delay(found["ready_delay_sec"]),
    }
    return pd.DataFrame(columns)


@raw_frames.remembered
def server_hour_v1(raw: Path) -> pd.DataFrame:
    servers = hourly(raw, "server_hourly")
    servers = servers[servers["gpu_count"] > 0]
    pods = pod_hour_v1(raw)
    has_gpu, is_standby = pods["requested_gpus"] > 0, pods["is_standby"]
    is_hp, is_lp = pods["priority"] == "HP", pods["priority"] == "LP"
    held = {
        "hp_gpu_h": is_hp & ~is_standby,
        "hp_standby_gpu_h": is_hp & is_standby,
        "lp_gpu_h": is_lp,
        "active_gpu_h": (is_hp | is_lp) & ~is_standby,
    }
    parts = {
        **{name: pods["held_gpu_h"].where(has_gpu & counts, 0) for name, counts in held.items()},
        "hp_requested_cpus": pods["requested_cpus"].where(is_hp, 0),
        "hp_requested_gpus": pods["requested_gpus"].where(has_gpu & is_hp, 0),
        "gpu_pods": has_gpu.astype(int),
    }
    sums = pods[SERVER_HOUR].assign(**parts).groupby(SERVER_HOUR).sum()
    rows = servers[SERVER_HOUR].assign(
        cluster=servers["cluster_id"],
        switch=servers["asw_id"],
        gpu_model=servers["gpu_spec_public"],
        shown_model=shown_model(servers["gpu_spec_public"]),
        gpus=servers["gpu_count"],
        cpus=servers["cpu_capacity_cores"],
    )
    rows = rows.join(sums, on=SERVER_HOUR)
    rows[list(parts)] = rows[list(parts)].fillna(0)
    return rows.sort_values(SERVER_HOUR, kind="stable", ignore_index=True)


def between(rows: pd.DataFrame, from_day: int, to_day: int) -> pd.DataFrame:
    return rows[rows["day"].between(from_day, to_day)]


def pods_between(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """The hours of pods that request a GPU."""
    pods = between(pod_hour_v1(raw), from_day, to_day)
    return pods[pods["requested_gpus"] > 0]


def requesting_pods(raw: Path, gpu_pods_by: str) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    request = {"memory": "requested_gpu_memory_gib", "gpus": "requested_gpus"}[gpu_pods_by]
    return pods[pods[request] > 0]


def typed_pods(raw: Path, from_day: int, to_day: int, gpu_pods_by: str) -> pd.DataFrame:
    pods = between(requesting_pods(raw, gpu_pods_by), from_day, to_day)
    return pods[pods["job_type"].notna() & (pods["job_type"] != "unknown")]


def gpu_time_by_job_type(raw: Path, from_day: int, to_day: int, gpu_pods_by: str) -> pd.DataFrame:
    pods = typed_pods(raw, from_day, to_day, gpu_pods_by)
    rows = pods.groupby("job_type")[["held_gpu_h"]].sum().reset_index()
    return rows.assign(held_gpu_h_pct=100 * rows["held_gpu_h"] / rows["held_gpu_h"].sum())


def gpu_time_by_priority(raw: Path, from_day: int, to_day: int, gpu_pods_by: str) -> pd.DataFrame:
    pods = typed_pods(raw, from_day, to_day, gpu_pods_by)
    pods = pods[pods["priority"].isin(PRIORITIES)]
    return with_share_of_class(pods.groupby(["priority", "job_type"])[["held_gpu_h"]].sum().reset_index())


def with_share_of_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Adds the percentage of the GPU time of all rows with the same value in the first column."""
    of_class = rows.groupby(rows.columns[0])["held_gpu_h"].transform("sum")
    return rows.assign(held_gpu_h_pct=100 * rows["held_gpu_h"] / of_class)


def gpus_by_model(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw).sort_values(HOUR, kind="stable")
    last = servers.drop_duplicates(["server_id", "shown_model"], keep="last")
    rows = last.groupby("shown_model")["gpus"].agg(servers="size", gpus="sum")
    rows["gpus_pct"] = 100 * rows["gpus"] / rows["gpus"].sum()
    return rows.rename_axis("gpu_model").reset_index()


def pods_by_model(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    pods = pods_between(raw, from_day, to_day)
    pods = pods[pods["priority"].isin(PRIORITIES) & pods["shown_model"].isin(SHORTENED_MODELS)]
    counts = pods.groupby(["shown_model", "priority"]).size().rename_axis(["gpu_model", "priority"])
    return pd.DataFrame({"pod_hours": counts, "pod_hours_pct": 100 * counts / len(pods)}).reset_index()


def gpu_time_by_day(raw: Path, gpu_pods_by: str) -> pd.DataFrame:
    pods = requesting_pods(raw, gpu_pods_by)
    pods = pods[pods["gpu_model"].isin(DAILY_MODELS)]
    held = pods["held_gpu_h"]
    columns = {
        "hp_gpu_h": held.where(pods["priority"] == "HP", 0),
        "lp_gpu_h": held.where(pods["priority"] == "LP", 0),
        "held_gpu_h": held,
    }
    return pd.DataFrame(columns).groupby([pods["day"], pods["gpu_model"]]).sum().reset_index()


def gpu_time_by_model_type(raw: Path, from_day: int, to_day: int, per: str) -> pd.DataFrame:
    column, classes = {
        "job_type": ("job_type", JOB_TYPES),
        "gpu_model": ("shown_model", SHORTENED_MODELS),
    }[per]
    pods = pods_between(raw, from_day, to_day)
    pods = pods[pods[column].isin(classes) & pods["model_type"].isin(MODEL_TYPES)]
    held = pods.groupby([column, "model_type"])[["held_gpu_h"]].sum()
    return with_share_of_class(held.rename_axis(["class", "model_type"]).reset_index())


def utilization_by_hour(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    pods = pods_between(raw, from_day, to_day)
    counts = (pods["priority"] == "HP") & pods["is_ready"] & ~pods["is_standby"]
    groups = pods[counts & pods["job_type"].isin(JOB_TYPES)].groupby([*HOUR, "job_type"])
    columns = {
        "mean_gpu_pct": groups["gpu_pct"].mean(),
        "measured_pods": groups["gpu_pct"].count(),
        "requested_gpus": groups["requested_gpus"].sum(),
    }
    return with_hour(pd.DataFrame(columns).reset_index())


def with_hour(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the hour since the start of the trace."""
    rows.insert(2, "hour", 24 * rows["day"] + rows["hour_of_day"])
    return rows


def unused_standby(servers: pd.DataFrame) -> pd.Series:
    """GPU-hours on standby that low-priority pods do not use."""
    return (servers["hp_standby_gpu_h"] - servers["lp_gpu_h"]).clip(lower=0)


def allocation_by_model(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """The publisher rounds the ratios of servers, averages them per hour, then averages the hours."""
    servers = between(server_hour_v1(raw), from_day, to_day)
    servers = servers[(servers["hour_of_day"] % 2 == 0) | (servers["hour_of_day"] == 23)]
    gpus, unused = servers["gpus"], unused_standby(servers)
    ratios = {
        "hp_allocated_pct": (servers["hp_gpu_h"] + unused) / gpus,
        "allocated_pct": (np.minimum(servers["active_gpu_h"], gpus) + unused) / gpus,
    }
    rounded = pd.DataFrame(ratios).round(6)
    hours = rounded.groupby([servers["day"], servers["hour_of_day"], servers["shown_model"]]).mean()
    rows = 100 * hours.groupby("shown_model").mean()
    rows.insert(0, "server_hours", servers.groupby("shown_model").size())
    return rows.rename_axis("gpu_model").reset_index()


@raw_frames.remembered
def idle_hour_v1(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw)
    idle = servers["gpus"] - (servers["hp_gpu_h"] + unused_standby(servers))
    idle_cpus = servers["cpus"] - servers["hp_requested_cpus"]
    rows = servers[[*SERVER_HOUR, "gpu_model", "gpus"]]
    return rows.assign(idle_gpus=idle.clip(lower=0), idle_cpus=idle_cpus.clip(lower=0))


def idle_fragmentation(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    servers = between(idle_hour_v1(raw), from_day, to_day)
    servers = servers[(servers["hour_of_day"] % 2 == 0) & (servers["gpus"] != 16)]
    idle, idle_cpus = servers["idle_gpus"], servers["idle_cpus"]
    whole = np.floor(idle)

    def mean_of_hours(values: pd.Series) -> float:
        return values.groupby([servers["day"], servers["hour_of_day"]]).sum().mean()

    idle_gpus = mean_of_hours(idle)
    rows = []
    for gpus, cpus in JOBS:
        has_cpus = idle_cpus >= cpus
        parts = [
            (idle - whole).where(has_cpus & (whole >= gpus), 0),
            whole.where(has_cpus & (whole > 0) & (whole < gpus), 0),
            idle.clip(upper=gpus).where(idle_cpus < cpus, 0),
        ]
        rows.append((gpus, cpus, idle_gpus, *(100 * mean_of_hours(part) / idle_gpus for part in parts)))
    columns = ["job_gpus", "job_cpus", "idle_gpus", "fractional_pct", "too_few_gpus_pct", "too_few_cpus_pct"]
    return pd.DataFrame(rows, columns=columns)


def fragmentation_by_hour(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """F_n(M) of FGD, server by server and class by class, with one GPU of a server in use in part."""
    pods = between(pod_day_v1(raw), from_day, to_day)
    pods = pods[(pods["priority"] == "HP") & (pods["requested_gpus"] > 0)]
    classes = {}
    for model, of_model in pods.groupby("gpu_model"):
        counts = of_model.groupby(["requested_cpus", "requested_gpus"]).size()
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        before = np.cumsum([0, *(count for _, count in ranked)])
        kept = [one for one, up_to in zip(ranked, before, strict=False) if 100 * up_to < 95 * before[-1]]
        total = sum(count for _, count in kept)
        classes[model] = [(cpus, gpus, count / total) for (cpus, gpus), count in kept]
    servers = between(idle_hour_v1(raw), from_day, to_day)
    servers["free"] = servers["idle_gpus"].round(6)
    fragmented = pd.Series(math.nan, servers.index)
    for at, model, free, idle_cpus in servers[["gpu_model", "free", "idle_cpus"]].itertuples():
        rest = round(free - math.floor(free), 6)
        if model in classes:
            fragmented[at] = 0.0
        for cpus, gpus, popularity in classes.get(model, ()):
            share = gpus / math.ceil(gpus)
            fitting = math.floor(free) + (rest >= share)
            can_run = fitting >= math.ceil(gpus) and idle_cpus >= cpus
            fragmented[at] += popularity * ((rest if rest < share else 0) if can_run else free)
    groups = servers.assign(fragmented=fragmented).groupby([*HOUR, "gpu_model"])
    columns = {
        "capacity_gpus": groups["gpus"].sum(),
        "free_gpus": groups["free"].sum(),
        "fragmented_gpus": groups["fragmented"].sum(min_count=1),
    }
    rows = with_hour(pd.DataFrame(columns).reset_index())
    return rows.assign(fragmented_pct=100 * rows["fragmented_gpus"] / rows["capacity_gpus"])


def standby_by_hour(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    servers = between(server_hour_v1(raw), from_day, to_day)
    standby = servers["hp_standby_gpu_h"]
    ratio = servers["lp_gpu_h"] / standby.where(standby > 0)
    hours = servers[HOUR].assign(standby_gpu_h=standby, used_by_lp_ratio=ratio).groupby(HOUR)
    columns = {
        "standby_gpu_h": hours["standby_gpu_h"].sum(),
        "used_by_lp_ratio": hours["used_by_lp_ratio"].mean(),
    }
    return with_hour(pd.DataFrame(columns).reset_index())


def fractional_requests(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    pods = pods_between(raw, from_day, to_day)
    pods = pods[(pods["hour_of_day"] % 2 == 0) & (pods["priority"] == "HP")]
    gpus, hours = pods["requested_gpus"], [pods["day"], pods["hour_of_day"]]
    is_fractional = gpus < 1
    pods_pct = 100 * is_fractional.groupby(hours).mean()
    gpus_pct = 100 * gpus.where(is_fractional, 0).groupby(hours).sum() / gpus.groupby(hours).sum()
    return pd.DataFrame(
        {"hours": [len(pods_pct)], "pods_pct": [pods_pct.mean()], "gpus_pct": [gpus_pct.mean()]}
    )


def run_by_type(raw: Path, per: str) -> pd.DataFrame:
    found = spans(raw)
    found = found[(found["gpu_request"] > 0) & (found["duration_hours"] >= 0)]
    column, classes = {
        "job_type": ("job_type_public", JOB_TYPES),
        "model_type": ("model_type_public", MODEL_TYPES),
    }[per]
    found = found[found[column].isin(classes)]
    run_s = (3_600 * found["duration_hours"]).groupby(found[column])
    rows = pd.DataFrame(
        {"spans": run_s.size(), **raw_frames.percentiles(run_s, "run_s", raw_frames.BOX_PERCENTILES)}
    )
    return rows.rename_axis("class").reset_index()


CLASS = [
    *(*HOUR, "gpu_model", "shown_model", "priority", "job_type", "model_type"),
    *("is_standby", "is_ready", "requests_gpus", "requests_gpu_memory"),
]


@raw_frames.remembered
def class_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    gpus = pods["requested_gpus"]
    is_fractional = (gpus > 0) & (gpus < 1)
    pods = pods.assign(
        requests_gpus=gpus > 0,
        requests_gpu_memory=pods["requested_gpu_memory_gib"] > 0,
        fractional_pods=is_fractional.astype(int),
        fractional_gpus=gpus.where(is_fractional, 0),
    )
    groups = pods.groupby(CLASS, dropna=False)
    columns = {
        "pod_hours": groups.size(),
        "requested_gpus": groups["requested_gpus"].sum(),
        "held_gpu_h": groups["held_gpu_h"].sum(),
        "fractional_pods": groups["fractional_pods"].sum(),
        "fractional_gpus": groups["fractional_gpus"].sum(),
        "measured_pods": groups["gpu_pct"].count(),
        "mean_gpu_pct": groups["gpu_pct"].mean(),
    }
    return pd.DataFrame(columns).reset_index()


@raw_frames.remembered
def server_day_v1(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw).sort_values(HOUR, kind="stable")
    last = servers.drop_duplicates(["day", "server_id", "shown_model"], keep="last")
    return last[["day", "server_id", "shown_model", "gpus"]]


def first_known(values: pd.Series) -> object:
    """The smallest value, missing ones left out."""
    return min(values.dropna(), default=None)


# Of a pod's rows of a day, or of its days, the smallest value counts where they differ.
POD_COLUMNS = [
    *("workload_id", "cluster", "gpu_model", "priority", "job_type", "model_type"),
    *("requested_cpus", "wait_s"),
]
POD = ["pod_id", "requested_gpus"]


@raw_frames.remembered
def pod_day_v1(raw: Path) -> pd.DataFrame:
    pods = with_hour(pod_hour_v1(raw))
    groups = pods.groupby(["day", *POD])
    columns = {
        **{name: groups[name].agg(first_known) for name in POD_COLUMNS},
        "first_hour": groups["hour"].min(),
        "last_hour": groups["hour"].max(),
        "hours": groups["hour"].nunique(),
        "held_gpu_h": groups["held_gpu_h"].sum(),
    }
    return pd.DataFrame(columns).reset_index()


@raw_frames.remembered
def pod_life_v1(raw: Path) -> pd.DataFrame:
    """Hours without any pod are not loaded: what a pod did in them, and before and after, is unknown."""
    pods = with_hour(pod_hour_v1(raw))
    loaded = set(pods["hour"])
    groups = pods.groupby(POD)
    first, last, seen = groups["hour"].min(), groups["hour"].max(), groups["hour"].nunique()
    spans = zip(first, last, strict=True)
    columns = {
        **{name: groups[name].agg(first_known) for name in POD_COLUMNS},
        "first_hour": first,
        "last_hour": last,
        "hours": seen,
        "gap_hours": pd.Series([len(loaded & set(range(a, z + 1))) for a, z in spans], first.index) - seen,
        "lifetime_h": last - first + 1,
        "held_gpu_h": groups["held_gpu_h"].sum(),
        "is_left_censored": ~(first - 1).isin(loaded),
        "is_right_censored": ~(last + 1).isin(loaded),
    }
    return pd.DataFrame(columns).reset_index()


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """Pods with a GPU, which run while they hold it; the rest of their first and last hour is halved."""
    pods = pod_life_v1(raw)
    pods = pods[pods["requested_gpus"] > 0].reset_index(drop=True)
    left, right = pods["is_left_censored"], pods["is_right_censored"]
    ran_h = (pods["held_gpu_h"] / pods["requested_gpus"]).clip(upper=pods["lifetime_h"])
    ran_h = ran_h.where(pods["held_gpu_h"] > 0)
    before = np.select([left, right], [0.0, 1.0], 0.5)
    start_s = (3_600 * (pods["first_hour"] + before * (pods["lifetime_h"] - ran_h))).round(3)
    # Equal times should be equal, although they are sums of fractions.
    run_s = (3_600 * ran_h).round(3)
    wait_s = pods["wait_s"].where(~left)
    columns = {
        "cluster": None,
        "job_id": pods["pod_id"],
        "user_id": None,
        "group_id": pods["workload_id"],
        "submit_time": None,
        "submit_s": None,
        "local_submit_s": None,
        "wait_s": wait_s,
        "run_s": run_s.where(~left & ~right),
        "end_s": (start_s + run_s).where(~right),
        "requested_cpus": pods["requested_cpus"],
        "allocated_cpus": None,
        "requested_gpus": pods["requested_gpus"],
        "requested_gpus_per_instance": pods["requested_gpus"],
        "allocated_gpus": pods["requested_gpus"].where(ran_h.notna()),
        "requested_memory_gib": None,
        "allocated_memory_gib": None,
        "status": "unknown",
        "workload": pods["job_type"].where(pods["job_type"] != "unknown"),
        "partition_name": pods["gpu_model"],
    }
    return raw_frames.as_observed(
        pd.DataFrame(columns, index=pods.index),
        observed_wait_s=wait_s,
        observed_start_s=start_s,
        observed_run_s=run_s,
        held_gpu_s=3_600 * pods["held_gpu_h"],
        is_right_censored=right,
        is_left_censored=left,
    )


@raw_frames.remembered
def cluster_capacity_hour(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw)
    hour = 24 * servers["day"] + servers["hour_of_day"]
    groups = servers.groupby([hour.rename("hour"), servers["gpu_model"].rename("partition_name")])
    rows = pd.DataFrame({"gpus": groups["gpus"].sum(), "nodes": groups.size()}).reset_index()
    rows.insert(1, "cluster", None)
    return rows


def cluster_capacity(raw: Path) -> pd.DataFrame:
    """The capacity in the hour with the most GPUs, the latest of equals."""
    rows = cluster_capacity_hour(raw)
    gpus = rows.groupby("hour")["gpus"].sum()
    peak = gpus[gpus == gpus.max()].index.max()
    return rows[rows["hour"] == peak].drop(columns="hour")


def lifetimes(raw: Path, per: str, gpu_only: bool, every_value: bool) -> pd.DataFrame:
    pods = pod_life_v1(raw)
    pods = pods[(pods["requested_gpus"] > 0) | (not gpu_only)]
    frames = []
    for name, mine in pods.groupby(per):
        counted = mine[~mine["is_left_censored"]]
        has_ended = ~counted["is_right_censored"]
        points = unified.survival_points(counted["lifetime_h"], has_ended, unified.PERCENTILES, every_value)
        columns = ["percentile", "lifetime_h", "low_lifetime_h", "high_lifetime_h", "low_pct", "high_pct"]
        rows = pd.DataFrame(points, columns=columns).astype(float)
        rows.insert(0, "class", name)
        frames.append(
            rows.assign(
                pods=len(counted),
                left_censored_pct=100 * mine["is_left_censored"].mean(),
                censored_pct=100 * (1 - has_ended.mean()),
                gap_pct=100 * (counted["gap_hours"] > 0).mean(),
            )
        )
    return pd.concat(frames, ignore_index=True)


def waits(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    pods = between(pod_day_v1(raw), from_day, to_day)
    first = pods[pods["requested_gpus"] > 0].sort_values("day", kind="stable").drop_duplicates(POD)
    wait_s = first.groupby("priority")["wait_s"]
    columns = {
        "pods": wait_s.size(),
        "unknown_wait_pods": wait_s.size() - wait_s.count(),
        **raw_frames.percentiles(wait_s, "wait_s", raw_frames.BOX_PERCENTILES),
    }
    return pd.DataFrame(columns).reset_index()


VIEWS = {
    # A pod can have two rows in an hour.
    "asi.pod_hour_v1": (pod_hour_v1, POD_HOUR),
    "asi.server_hour_v1": (server_hour_v1, SERVER_HOUR),
    "asi.class_hour_v1": (class_hour_v1, CLASS),
    "asi.idle_hour_v1": (idle_hour_v1, SERVER_HOUR),
    "asi.server_day_v1": (server_day_v1, ["day", "server_id", "shown_model"]),
    "asi.pod_day_v1": (pod_day_v1, ["day", *POD]),
    "asi.pod_life_v1": (pod_life_v1, POD),
    "asi.standard_job_v1": (standard_job_v1, ["job_id"]),
    "asi.cluster_capacity_hour_v1": (cluster_capacity_hour, ["hour", "partition_name"]),
    "asi.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}

J, P = (109, 184), (109, 115)
PRIORITY_AND_TYPE = ["priority", "job_type"]
HOUR_AND_TYPE = [*HOUR, "job_type"]
JOB = ["job_gpus", "job_cpus"]
QUERIES = {
    "asi.gpu_time_by_job_type()": (gpu_time_by_job_type, (*J, "memory"), ["job_type"]),
    "asi.gpu_time_by_job_type(from_day := 110)": (gpu_time_by_job_type, (110, 184, "memory"), ["job_type"]),
    "asi.gpu_time_by_job_type(to_day := 109, gpu_pods_by := 'gpus')": (
        gpu_time_by_job_type,
        (109, 109, "gpus"),
        ["job_type"],
    ),
    "asi.gpu_time_by_priority()": (gpu_time_by_priority, (*J, "memory"), PRIORITY_AND_TYPE),
    "asi.gpu_time_by_priority(from_day := 110)": (
        gpu_time_by_priority,
        (110, 184, "memory"),
        PRIORITY_AND_TYPE,
    ),
    "asi.gpu_time_by_priority(to_day := 109, gpu_pods_by := 'gpus')": (
        gpu_time_by_priority,
        (109, 109, "gpus"),
        PRIORITY_AND_TYPE,
    ),
    "asi.gpus_by_model()": (gpus_by_model, (), ["gpu_model"]),
    "asi.pods_by_model()": (pods_by_model, P, ["gpu_model", "priority"]),
    "asi.pods_by_model(from_day := 110)": (pods_by_model, (110, 115), ["gpu_model", "priority"]),
    "asi.pods_by_model(to_day := 109)": (pods_by_model, (109, 109), ["gpu_model", "priority"]),
    "asi.gpu_time_by_day()": (gpu_time_by_day, ("memory",), ["day", "gpu_model"]),
    "asi.gpu_time_by_day(gpu_pods_by := 'gpus')": (gpu_time_by_day, ("gpus",), ["day", "gpu_model"]),
    "asi.gpu_time_by_model_type()": (gpu_time_by_model_type, (*P, "job_type"), ["class", "model_type"]),
    "asi.gpu_time_by_model_type(per := 'gpu_model')": (
        gpu_time_by_model_type,
        (*P, "gpu_model"),
        ["class", "model_type"],
    ),
    "asi.gpu_time_by_model_type(from_day := 110, to_day := 110)": (
        gpu_time_by_model_type,
        (110, 110, "job_type"),
        ["class", "model_type"],
    ),
    "asi.utilization_by_hour()": (utilization_by_hour, P, HOUR_AND_TYPE),
    "asi.utilization_by_hour(from_day := 110)": (utilization_by_hour, (110, 115), HOUR_AND_TYPE),
    "asi.utilization_by_hour(to_day := 109)": (utilization_by_hour, (109, 109), HOUR_AND_TYPE),
    "asi.allocation_by_model()": (allocation_by_model, P, ["gpu_model"]),
    "asi.allocation_by_model(from_day := 110)": (allocation_by_model, (110, 115), ["gpu_model"]),
    "asi.allocation_by_model(to_day := 109)": (allocation_by_model, (109, 109), ["gpu_model"]),
    "asi.idle_fragmentation()": (idle_fragmentation, P, JOB),
    "asi.idle_fragmentation(from_day := 110)": (idle_fragmentation, (110, 115), JOB),
    "asi.idle_fragmentation(to_day := 109)": (idle_fragmentation, (109, 109), JOB),
    "asi.fragmentation_by_hour()": (fragmentation_by_hour, P, [*HOUR, "gpu_model"]),
    "asi.fragmentation_by_hour(from_day := 110)": (
        fragmentation_by_hour,
        (110, 115),
        [*HOUR, "gpu_model"],
    ),
    "asi.fragmentation_by_hour(to_day := 109)": (fragmentation_by_hour, (109, 109), [*HOUR, "gpu_model"]),
    "asi.standby_by_hour()": (standby_by_hour, P, HOUR),
    "asi.standby_by_hour(from_day := 110)": (standby_by_hour, (110, 115), HOUR),
    "asi.standby_by_hour(to_day := 109)": (standby_by_hour, (109, 109), HOUR),
    "asi.fractional_requests()": (fractional_requests, P, None),
    "asi.fractional_requests(from_day := 110)": (fractional_requests, (110, 115), None),
    "asi.fractional_requests(to_day := 109)": (fractional_requests, (109, 109), None),
    "asi.run_by_type()": (run_by_type, ("job_type",), ["class"]),
    "asi.run_by_type(per := 'model_type')": (run_by_type, ("model_type",), ["class"]),
    "asi.lifetimes()": (lifetimes, ("priority", True, False), ["class", "percentile"]),
    "asi.lifetimes(per := 'job_type', gpu_only := false)": (
        lifetimes,
        ("job_type", False, False),
        ["class", "percentile"],
    ),
    "asi.lifetimes(every_value := true)": (lifetimes, ("priority", True, True), ["class", "lifetime_h"]),
    "asi.waits()": (waits, J, ["priority"]),
    "asi.waits(from_day := 110)": (waits, (110, 184), ["priority"]),
    "asi.waits(to_day := 109)": (waits, (109, 109), ["priority"]),
}

# The real files are not available.
ON_REAL_FILES: set[str] = set()

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
# Where a parameter has choices, that test picks another one itself: `per` differs between queries.
OTHER_VALUES = {"from_day": 110, "to_day": 109, "gpu_pods_by": "gpus"}

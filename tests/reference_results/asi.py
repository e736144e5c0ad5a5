"""The views and queries of ASI, computed by pandas from the raw Parquet files alone."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

HOUR = ["day", "hour_of_day"]
SERVER_HOUR = [*HOUR, "server_id"]
POD_HOUR = [*HOUR, "pod_id", "server_id"]

SHORTENED_MODELS = ["A10", "L20", "H20", "A100", "H800", "XPU-A"]
PRIORITIES = ["HP", "LP"]
ALL_PRIORITIES = [*PRIORITIES, "Other"]


@raw_frames.remembered
def hourly(raw: Path, table: str) -> pd.DataFrame:
    """Return the rows of all hourly files of a table, with day and hour from the path."""
    frames = {}
    for path in (raw / "asi").rglob(f"asi_opensource_{table}/day=*/hour=*/*.parquet"):
        day, hour = map(int, re.fullmatch(r"day=(\d+)/hour=(\d+)", "/".join(path.parts[-3:-1])).groups())
        frames[day, hour, path.name] = pd.read_parquet(path, partitioning=None).assign(
            day=day, hour_of_day=hour
        )
    return pd.concat([frames[key] for key in sorted(frames)], ignore_index=True)


def shown_model(models: pd.Series) -> pd.Series:
    """Shorten model names as the publisher's figures do: H20-141GB becomes H20."""
    first = models.str.split("-").str[0]
    return first.where(first.isin(SHORTENED_MODELS), models)


def known_delay(delays: pd.Series) -> pd.Series:
    return delays.astype(float).where(delays != -1)


def has_states(rows: pd.DataFrame) -> pd.Series:
    """Return which rows have a state: the publisher gives it for the days 109 to 115 only (issue 258)."""
    return rows["day"].between(109, 115)


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
        "is_genai": found["is_genai_request"].eq(True),
        "is_standby": (found["state_public"] == "Standby").astype("boolean").where(has_states(found)),
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
    has_gpu, is_standby = pods["requested_gpus"] > 0, pods["is_standby"].fillna(False).astype(bool)
    is_hp, is_lp = pods["priority"] == "HP", pods["priority"] == "LP"
    held = {
        "hp_gpu_h": is_hp & ~is_standby,
        "hp_standby_gpu_h": is_hp & is_standby,
        "lp_gpu_h": is_lp,
        "active_gpu_h": (is_hp | is_lp) & ~is_standby,
    }
    requested = {
        "hp_requested_gpus": is_hp,
        "hp_standby_requested_gpus": is_hp & is_standby,
        "lp_requested_gpus": is_lp,
        "active_requested_gpus": (is_hp | is_lp) & ~is_standby,
    }
    parts = {
        **{name: pods["held_gpu_h"].where(has_gpu & counts, 0) for name, counts in held.items()},
        "hp_requested_cpus": pods["requested_cpus"].where(is_hp, 0),
        **{name: pods["requested_gpus"].where(counts, 0) for name, counts in requested.items()},
        "gpu_pods": has_gpu.astype(int),
        "hp_pods": is_hp.astype(int),
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
    of_states = [name for name in parts if name.startswith(("hp_gpu", "hp_standby", "active"))]
    rows[of_states] = rows[of_states].where(has_states(rows))
    idle = (rows["hp_standby_gpu_h"] - rows["lp_gpu_h"]).clip(lower=0)
    rows.insert(rows.columns.get_loc("lp_gpu_h"), "idle_standby_gpu_h", idle)
    return rows.sort_values(SERVER_HOUR, kind="stable", ignore_index=True)


def with_hour(rows: pd.DataFrame) -> pd.DataFrame:
    """Insert the hour since the start of the trace."""
    rows.insert(2, "hour", 24 * rows["day"] + rows["hour_of_day"])
    return rows


PLACE = [*HOUR, "shown_model", "cluster", "switch", "priority"]


def gpu_time_of_servers(pods: pd.DataFrame) -> pd.DataFrame:
    """Return the GPU time that pods of each priority hold on each server in each hour, and its busy part."""
    is_standby = pods["is_standby"].fillna(False).astype(bool)
    held = pods["held_gpu_h"].where(~is_standby, 0)
    measured = held.where(pods["gpu_pct"].notna(), 0)
    parts = {
        "held_gpu_h": held,
        "standby_gpu_h": pods["held_gpu_h"].where(is_standby, 0),
        "measured_gpu_h": measured,
        "busy_gpu_h": measured * pods["gpu_pct"].fillna(0) / 100,
    }
    return pods[[*SERVER_HOUR, "priority"]].assign(**parts).groupby([*SERVER_HOUR, "priority"]).sum()


def allocation_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    sums = gpu_time_of_servers(pods[pods["requested_gpus"] > 0].fillna({"priority": "Other"}))
    servers = server_hour_v1(raw).merge(pd.DataFrame({"priority": ALL_PRIORITIES}), how="cross")
    rows = servers.rename(columns={"gpus": "capacity_gpu_h"}).join(sums, on=[*SERVER_HOUR, "priority"])
    rows = rows.groupby(PLACE, dropna=False)[["capacity_gpu_h", *sums]].sum().reset_index()
    rows[list(sums)] = rows[list(sums)].where(has_states(rows))
    return rows


def smallest_known(rows: pd.DataFrame, by: list[str]) -> dict[str, pd.Series]:
    """Return the smallest known value of each of POD_COLUMNS in each group."""
    return {name: rows.sort_values(name).groupby(by)[name].first() for name in POD_COLUMNS}


# If a pod's rows of a day, or its days, differ in these columns, the smallest value counts.
POD_COLUMNS = [
    *("workload_id", "cluster", "gpu_model", "shown_model", "priority", "job_type", "model_type"),
    *("requested_cpus", "wait_s"),
]
POD = ["pod_id", "requested_gpus"]


@raw_frames.remembered
def pod_life_v1(raw: Path) -> pd.DataFrame:
    """Hours without any pod are not loaded, so a pod next to one is censored."""
    pods = with_hour(pod_hour_v1(raw))
    loaded = set(pods["hour"])
    groups = pods.groupby(POD)
    first, last, seen = groups["hour"].min(), groups["hour"].max(), groups["hour"].nunique()
    spans = zip(first, last, strict=True)
    columns = {
        **smallest_known(pods, POD),
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
    """Pods run while they hold GPUs. Time without GPUs is halved between before and after the run."""
    pods = pod_life_v1(raw)
    pods = pods[pods["requested_gpus"] > 0].reset_index(drop=True)
    left, right = pods["is_left_censored"], pods["is_right_censored"]
    ran_h = (pods["held_gpu_h"] / pods["requested_gpus"]).clip(upper=pods["lifetime_h"])
    ran_h = ran_h.where(pods["held_gpu_h"] > 0)
    before = np.select([left, right], [0.0, 1.0], 0.5)
    start_s = (3_600 * (pods["first_hour"] + before * (pods["lifetime_h"] - ran_h))).round(3)
    # Rounded, so that equal sums of fractions are equal.
    run_s = (3_600 * ran_h).round(3)
    wait_s = pods["wait_s"].where(~left)
    return raw_frames.standard_jobs(
        job_id=pods["pod_id"],
        group_id=pods["workload_id"],
        wait_s=wait_s,
        observed_wait_s=wait_s,
        observed_start_s=start_s,
        run_s=run_s.where(~left & ~right),
        observed_run_s=run_s,
        end_s=(start_s + run_s).where(~right),
        requested_cpus=pods["requested_cpus"],
        requested_gpus=pods["requested_gpus"],
        requested_gpus_per_instance=pods["requested_gpus"],
        allocated_gpus=pods["requested_gpus"].where(ran_h.notna()),
        held_gpu_s=3_600 * pods["held_gpu_h"],
        status="unknown",
        is_right_censored=right,
        is_left_censored=left,
        workload=pods["job_type"].where(pods["job_type"] != "unknown"),
        partition_name=pods["gpu_model"],
    )


@raw_frames.remembered
def cluster_capacity_hour(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw)
    hour = 24 * servers["day"] + servers["hour_of_day"]
    groups = servers.groupby([hour.rename("hour"), servers["gpu_model"].rename("partition_name")])
    sums = {"gpus": groups["gpus"].sum(), "nodes": groups.size(), "cpus": groups["cpus"].sum()}
    rows = pd.DataFrame(sums).reset_index()
    rows.insert(1, "cluster", None)
    return rows


def cluster_capacity(raw: Path) -> pd.DataFrame:
    """Return the capacity in the hour with the most GPUs, the latest such hour."""
    rows = cluster_capacity_hour(raw)
    gpus = rows.groupby("hour")["gpus"].sum()
    peak = gpus[gpus == gpus.max()].index.max()
    return rows[rows["hour"] == peak].drop(columns="hour")


VIEWS = {
    "asi.server_hour_v1": (server_hour_v1, SERVER_HOUR),
    "asi.allocation_hour_v1": (allocation_hour_v1, PLACE),
    "asi.standard_job_v1": (standard_job_v1, ["job_id"]),
    "asi.cluster_capacity_hour_v1": (cluster_capacity_hour, ["hour", "partition_name"]),
    "asi.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}

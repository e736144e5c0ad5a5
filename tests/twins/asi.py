"""The views and queries of ASI, computed by pandas from the raw Parquet files alone."""

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames
from twins import unified

HOUR = ["day", "hour_of_day"]
SERVER_HOUR = [*HOUR, "server_id"]
POD_HOUR = [*HOUR, "pod_id", "server_id"]
WORKLOAD_HOUR = [*HOUR, "workload_id"]
HOUR_AND_TYPE = [*HOUR, "job_type"]
USES = ["gpu_pct", "cpu_pct", "memory_pct", "gpu_memory_gib"]
USE = ["day", "job_type", "measure", "value"]

SHORTENED_MODELS = ["A10", "L20", "H20", "A100", "H800", "XPU-A"]
DAILY_MODELS = ["A10", "A100", "H20", "L20", "XPU-A"]
JOB_TYPES = ["training", "online_inference", "offline_inference", "dev"]
MODEL_TYPES = ["genai", "rec", "cv", "embedding", "dev"]
PRIORITIES = ["HP", "LP"]
ALL_PRIORITIES = [*PRIORITIES, "Other"]
CLASSES_OF_NETWORK = ["training", "online", "offline", "dev", "offline+online", "offline+training"]
SLOT_MODELS = ["H20", "XPU-A", "L20", "A100"]
SET_SIZES = [8, 16, 32, 64, 128, 256]
# GPUs and CPU cores.
JOBS = [(1, 8), (1, 12), (4, 32), (4, 48), (4, 64), (8, 64), (8, 96), (8, 128)]


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


def spans(raw: Path) -> pd.DataFrame:
    [path] = (raw / "asi").rglob("asi_opensource_job_execution_summary/*.parquet")
    return pd.read_parquet(path, partitioning=None)


def shown_model(models: pd.Series) -> pd.Series:
    """Shorten model names as the publisher's figures do: H20-141GB becomes H20."""
    first = models.str.split("-").str[0]
    return first.where(first.isin(SHORTENED_MODELS), models)


def known_delay(delays: pd.Series) -> pd.Series:
    return delays.astype(float).where(delays != -1)


def shown_model_v1(raw: Path) -> pd.DataFrame:
    return pd.DataFrame({"shown_model": SHORTENED_MODELS})


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
    return rows.sort_values(SERVER_HOUR, kind="stable", ignore_index=True)


@raw_frames.remembered
def workload_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    pods = pods[(pods["requested_gpus"] > 0) & pods["workload_id"].notna()]
    pods = pods.merge(server_hour_v1(raw)[[*SERVER_HOUR, "switch"]], on=SERVER_HOUR, how="left")
    pods = pods.assign(has_no_switch=pods["switch"].isna())
    return (
        pods.groupby(WORKLOAD_HOUR)
        .agg(
            is_genai=("is_genai", "any"),
            requested_gpus=("requested_gpus", "sum"),
            requested_cpus=("requested_cpus", "sum"),
            gpu_pods=("pod_id", "size"),
            servers=("server_id", "nunique"),
            switches=("switch", "nunique"),
            clusters=("cluster", "nunique"),
            unknown_switch_pods=("has_no_switch", "sum"),
        )
        .reset_index()
    )


@raw_frames.remembered
def network_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    pods = pods[(pods["requested_gpus"] > 0) & pods["job_type"].isin(JOB_TYPES)]
    pods["job_type"] = pods["job_type"].str.removesuffix("_inference")
    job_types = pods.groupby(SERVER_HOUR)["job_type"].agg(lambda found: "+".join(sorted(set(found))))
    rows = hourly(raw, "network_hourly").join(job_types.rename("job_types"), on=SERVER_HOUR)
    rows = rows.merge(server_hour_v1(raw)[[*SERVER_HOUR, "gpus"]], on=SERVER_HOUR, how="left")
    rows = rows.rename(columns={"rx_gibps_avg": "received_gibps", "tx_gibps_avg": "sent_gibps"})
    return rows[[*SERVER_HOUR, "gpus", "job_types", "received_gibps", "sent_gibps"]]


def between(rows: pd.DataFrame, from_day: int, to_day: int) -> pd.DataFrame:
    return rows[rows["day"].between(from_day, to_day)]


def pods_between(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """Return the hourly rows of pods that request a GPU."""
    pods = between(pod_hour_v1(raw), from_day, to_day)
    return pods[pods["requested_gpus"] > 0]


def requesting_pods(raw: Path, gpu_pods_by: str) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    request = {"memory": "requested_gpu_memory_gib", "gpus": "requested_gpus"}[gpu_pods_by]
    return pods[pods[request] > 0]


def typed_pods(raw: Path, from_day: int, to_day: int, gpu_pods_by: str) -> pd.DataFrame:
    pods = between(requesting_pods(raw, gpu_pods_by), from_day, to_day)
    return pods[pods["job_type"].notna() & (pods["job_type"] != "unknown")]


def gpu_time_by_job_type(
    raw: Path, from_day: int, to_day: int, gpu_pods_by: str, by_priority: bool
) -> pd.DataFrame:
    pods = typed_pods(raw, from_day, to_day, gpu_pods_by)
    pods = pods[pods["priority"].isin(PRIORITIES)] if by_priority else pods.assign(priority="all")
    return with_share_of_class(pods.groupby(["priority", "job_type"])[["held_gpu_h"]].sum().reset_index())


def with_share_of_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Add each row's percentage of the GPU time of all rows with the same first column."""
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
    """Insert the hour since the start of the trace."""
    rows.insert(2, "hour", 24 * rows["day"] + rows["hour_of_day"])
    return rows


def unused_standby(servers: pd.DataFrame) -> pd.Series:
    """Return the GPU-hours on standby that low-priority pods do not use."""
    return (servers["hp_standby_gpu_h"] - servers["lp_gpu_h"]).clip(lower=0)


def allocation_by_model(raw: Path, from_day: int, to_day: int, gpus_by: str) -> pd.DataFrame:
    """The publisher rounds the ratios of servers, averages them per hour, then averages the hours."""
    servers = between(server_hour_v1(raw), from_day, to_day)
    servers = servers[(servers["hour_of_day"] % 2 == 0) | (servers["hour_of_day"] == 23)]
    gpus = servers["gpus"]
    if gpus_by == "held":
        of_hp, active, unused = servers["hp_gpu_h"], servers["active_gpu_h"], unused_standby(servers)
    else:
        standby = servers["hp_standby_requested_gpus"]
        of_hp, active = servers["hp_requested_gpus"] - standby, servers["active_requested_gpus"]
        unused = (standby - servers["lp_requested_gpus"]).clip(lower=0)
    ratios = pd.DataFrame(
        {
            "hp_allocated_pct": (of_hp + unused) / gpus,
            "allocated_pct": (np.minimum(active, gpus) + unused) / gpus,
        }
    )
    ratios = ratios.round(6) if gpus_by == "held" else ratios
    hours = ratios.groupby([servers["day"], servers["hour_of_day"], servers["shown_model"]]).mean()
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
        parts = {
            "fraction of a GPU": (idle - whole).where(has_cpus & (whole >= gpus), 0),
            "too few GPUs": whole.where(has_cpus & (whole > 0) & (whole < gpus), 0),
            "too few CPU cores": idle.clip(upper=gpus).where(idle_cpus < cpus, 0),
        }
        for reason, part in parts.items():
            unusable = mean_of_hours(part)
            rows.append((f"{gpus} / {cpus}", gpus, cpus, reason, unusable, 100 * unusable / idle_gpus))
    columns = ["job_gpus_and_cpus", *JOB, "unusable_gpus", "idle_gpus_pct"]
    return pd.DataFrame(rows, columns=columns)


def fragmentation_by_hour(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """F_n(M) of FGD, by server and class. At most one GPU of a server is partly in use."""
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
    parts = {
        "standby_gpu_h": standby,
        "idle_standby_gpu_h": unused_standby(servers),
        "used_by_lp_ratio": ratio,
    }
    hours = servers[HOUR].assign(**parts).groupby(HOUR)
    columns = {
        "standby_gpu_h": hours["standby_gpu_h"].sum(),
        "idle_standby_gpu_h": hours["idle_standby_gpu_h"].sum(),
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


REQUEST = [*HOUR_AND_TYPE, "requested_gpus", "requested_cpus"]


def request_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    counts = pods[pods["requested_gpus"] > 0].groupby(REQUEST).size()
    return counts.rename("pod_hours").reset_index()


def utilization_day_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    pods = pods[(pods["requested_gpus"] > 0) & pods["is_ready"]]
    used = pods.melt(["day", "job_type"], USES, "measure", "value").dropna(subset=["value"])
    used = used.assign(value=used["value"].map(rounded_up))
    return used.groupby(USE).size().rename("pod_hours").reset_index()


PLACE = [*HOUR, "shown_model", "cluster", "switch", "priority"]


def gpu_time_of_servers(pods: pd.DataFrame) -> pd.DataFrame:
    """Return the GPU time that pods of each priority hold on each server in each hour, and its busy part."""
    held = pods["held_gpu_h"].where(~pods["is_standby"], 0)
    measured = held.where(pods["gpu_pct"].notna(), 0)
    parts = {
        "held_gpu_h": held,
        "standby_gpu_h": pods["held_gpu_h"].where(pods["is_standby"], 0),
        "measured_gpu_h": measured,
        "busy_gpu_h": measured * pods["gpu_pct"].fillna(0) / 100,
    }
    return pods[[*SERVER_HOUR, "priority"]].assign(**parts).groupby([*SERVER_HOUR, "priority"]).sum()


def allocation_hour_v1(raw: Path) -> pd.DataFrame:
    pods = pod_hour_v1(raw)
    sums = gpu_time_of_servers(pods[pods["requested_gpus"] > 0].fillna({"priority": "Other"}))
    servers = server_hour_v1(raw).merge(pd.DataFrame({"priority": ALL_PRIORITIES}), how="cross")
    rows = servers.rename(columns={"gpus": "capacity_gpu_h"}).join(sums, on=[*SERVER_HOUR, "priority"])
    return rows.groupby(PLACE, dropna=False)[["capacity_gpu_h", *sums]].sum().reset_index()


@raw_frames.remembered
def server_day_v1(raw: Path) -> pd.DataFrame:
    servers = server_hour_v1(raw).sort_values(HOUR, kind="stable")
    last = servers.drop_duplicates(["day", "server_id", "shown_model"], keep="last")
    return last[["day", "server_id", "shown_model", "gpus"]]


def smallest_known(rows: pd.DataFrame, by: list[str]) -> dict[str, pd.Series]:
    """Return the smallest known value of each of POD_COLUMNS in each group."""
    return {name: rows.sort_values(name).groupby(by)[name].first() for name in POD_COLUMNS}


# If a pod's rows of a day, or its days, differ in these columns, the smallest value counts.
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
        **smallest_known(pods, ["day", *POD]),
        "first_hour": groups["hour"].min(),
        "last_hour": groups["hour"].max(),
        "hours": groups["hour"].nunique(),
        "held_gpu_h": groups["held_gpu_h"].sum(),
    }
    return pd.DataFrame(columns).reset_index()


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
    """Return the capacity in the hour with the most GPUs, the latest such hour."""
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


SIZES = {1: "below 1", 2: "1", 8: "2 to 7", 9: "8", np.inf: "9 and more"}


def band(gpus: float, bands: dict[float, str]) -> str:
    return next(name for end, name in bands.items() if gpus < end)


def waits(raw: Path, from_day: int, to_day: int, by_size: bool) -> pd.DataFrame:
    pods = between(pod_day_v1(raw), from_day, to_day)
    first = pods[pods["requested_gpus"] > 0].sort_values("day", kind="stable").drop_duplicates(POD)
    gpu_band = first["requested_gpus"].map(lambda gpus: band(gpus, SIZES)) if by_size else "all"
    wait_s = first.assign(gpu_band=gpu_band).groupby(["priority", "gpu_band"])["wait_s"]
    columns = {
        "pods": wait_s.size(),
        "unknown_wait_pods": wait_s.size() - wait_s.count(),
        **raw_frames.percentiles(wait_s, "wait_s", raw_frames.BOX_PERCENTILES),
    }
    return pd.DataFrame(columns).reset_index()


def rounded_up(used: float) -> float:
    """Round up to three significant digits, but not to tens."""
    exact = Decimal(str(float(used)))
    digits = max(2 - exact.adjusted(), 0) if used else 0
    return float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING))


def cdf_points(
    rows: pd.DataFrame, key: str, value: str, at: Callable[[float], float] = float
) -> pd.DataFrame:
    """Return the smallest point in each fifth of a percent of a group, and the share of values up to it.

    `at` gives the point for a value.
    """
    found = []
    for name, values in rows.dropna(subset=[value]).groupby(key)[value]:
        ordered = np.sort(values.to_numpy(float))
        points = np.array([at(one) for one in ordered])
        percentile = 100 * np.searchsorted(ordered, points, side="right") / len(ordered)
        _, first = np.unique(np.floor(np.round(5 * percentile, 6)), return_index=True)
        found.append(pd.DataFrame({key: name, value: points[first], "percentile": percentile[first]}))
    return pd.concat(found, ignore_index=True)


def kept_network(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    rows = between(network_hour_v1(raw), from_day, to_day)
    return rows[rows["job_types"].isin(CLASSES_OF_NETWORK)]


def network_cdf(raw: Path, from_day: int, to_day: int, direction: str, above_gibps: float) -> pd.DataFrame:
    rows = kept_network(raw, from_day, to_day)
    rows = rows[rows["gpus"] == 8].rename(columns={f"{direction}_gibps": "traffic_gibps"})
    return cdf_points(rows[rows["traffic_gibps"] > above_gibps], "job_types", "traffic_gibps")


def network_by_job_type(raw: Path, from_day: int, to_day: int, per_gpu: bool) -> pd.DataFrame:
    rows = kept_network(raw, from_day, to_day)
    rows = rows[rows["gpus"] > 0] if per_gpu else rows[rows["gpus"] == 8]
    parts = []
    for direction in ("received", "sent"):
        traffic = rows[f"{direction}_gibps"]
        part = rows.assign(direction=direction, traffic_gibps=traffic / rows["gpus"] if per_gpu else traffic)
        parts.append(part[traffic > 0.001])
    gibps = pd.concat(parts).groupby(["direction", "job_types"])["traffic_gibps"]
    columns = {
        "server_hours": gibps.size(),
        **raw_frames.percentiles(gibps, "traffic_gibps", raw_frames.BOX_PERCENTILES),
    }
    return pd.DataFrame(columns).reset_index()


def gpu_sets(raw: Path, from_day: int, to_day: int, at_hour: int, min_set_gpus: int) -> pd.DataFrame:
    """A slot is a GPU that HP pods leave free, with twelve CPU cores that they leave free."""
    servers = between(server_hour_v1(raw), from_day, to_day)
    servers = servers[servers["hour_of_day"] == at_hour]
    days = servers["day"].nunique()
    servers = servers[
        (servers["hp_pods"] > 0) & servers["switch"].notna() & servers["shown_model"].isin(SLOT_MODELS)
    ]
    gpus = (servers["gpus"] - np.floor(servers["hp_requested_gpus"])).clip(lower=0)
    by_cpus = np.floor((servers["cpus"] - servers["hp_requested_cpus"]) / 12).clip(lower=0)
    servers = servers.assign(slots=np.minimum(gpus, by_cpus))
    rows = []
    for model in [*SLOT_MODELS, "any of the four"]:
        of_model = servers if model == "any of the four" else servers[servers["shown_model"] == model]
        for place in ("cluster", "switch"):
            slots = of_model.groupby(["day", place])["slots"].sum()
            for size in SET_SIZES:
                if size >= min_set_gpus and len(slots):
                    rows.append((model, size, place, slots.sum() / days, (slots // size).sum() / days))
    return pd.DataFrame(rows, columns=["gpu_model", "set_gpus", "fits_in", "free_slots", "sets"])


def cpus_per_gpu_cdf(raw: Path, from_day: int, to_day: int, is_rounded: bool) -> pd.DataFrame:
    pods = pods_between(raw, from_day, to_day)
    pods = pods[(pods["hour_of_day"] % 2 == 0) & pods["job_type"].isin(JOB_TYPES)]
    cpus, gpus = pods["requested_cpus"], pods["requested_gpus"]
    ratio = np.ceil(cpus / np.ceil(gpus)) if is_rounded else cpus / gpus
    return cdf_points(pods.assign(cpus_per_gpu=ratio), "job_type", "cpus_per_gpu")


def utilization_cdf(raw: Path, from_day: int, to_day: int, quantity: str) -> pd.DataFrame:
    pods = pods_between(raw, from_day, to_day)
    pods = pods[pods["is_ready"] & pods["job_type"].isin(JOB_TYPES)]
    return cdf_points(pods.assign(value=pods[quantity]), "job_type", "value", rounded_up)


def peaks(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    """Return the hour in which each workload requests most GPUs, the first such hour.

    A workload is a genai workload if any of its pods in these days is one.
    """
    rows = between(workload_hour_v1(raw), from_day, to_day)
    # Rounded, because equal sums of fractions may differ in their last digits.
    rows["rounded"] = rows["requested_gpus"].round(6)
    is_genai = rows.groupby("workload_id")["is_genai"].any()
    rows = rows.sort_values([*HOUR, "workload_id"]).sort_values("rounded", ascending=False, kind="stable")
    first = rows.drop_duplicates("workload_id").drop(columns="is_genai")
    return first.join(is_genai, on="workload_id")


def workload_peaks(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    rows = peaks(raw, from_day, to_day)
    rows["kind"] = np.where(rows["is_genai"], "genai", "other")
    parts = []
    for resource, column in (("GPUs", "requested_gpus"), ("CPU cores", "requested_cpus")):
        requested = rows.groupby("kind")[column]
        columns = {
            "workloads": requested.size(),
            **raw_frames.percentiles(requested, "requested", raw_frames.BOX_PERCENTILES),
        }
        parts.append(pd.DataFrame(columns).reset_index().assign(resource=resource))
    found = pd.concat(parts, ignore_index=True)
    return found[["resource", *found.columns.drop("resource")]]


WORKLOAD_SIZES = {8: "below 8", 9: "8", 65: "9 to 64", 513: "65 to 512", np.inf: "above 512"}


def spread_of(row: pd.Series) -> str:
    if row["servers"] == 1:
        return "one server"
    if row["clusters"] > 1:
        return "several clusters"
    if row["unknown_switch_pods"] > 0:
        return "unknown switch"
    return "one switch" if row["switches"] == 1 else "several switches"


def workload_spread(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    rows = peaks(raw, from_day, to_day)
    rows["gpu_band"] = [band(gpus, WORKLOAD_SIZES) for gpus in rows["requested_gpus"]]
    rows["spread"] = rows.apply(spread_of, axis=1)
    found = rows.groupby(["gpu_band", "spread"]).agg(
        workloads=("workload_id", "size"),
        requested_gpus=("requested_gpus", "sum"),
        mean_servers=("servers", "mean"),
    )
    found.insert(
        1, "workloads_pct", 100 * found["workloads"] / found.groupby("gpu_band")["workloads"].transform("sum")
    )
    return found.reset_index()


def servers_by(raw: Path, from_day: int, to_day: int, per: str) -> pd.DataFrame:
    """Return the servers with a column `class_`, the text by which `per` groups them."""
    servers = between(server_hour_v1(raw), from_day, to_day)
    column = {"gpu_model": "shown_model", "cluster": "cluster", "hour_of_day": "hour_of_day"}[per]
    return servers.assign(class_=servers[column].astype(str))


def idle_standby(raw: Path, from_day: int, to_day: int, per: str) -> pd.DataFrame:
    servers = servers_by(raw, from_day, to_day, per)
    sums = (
        servers.assign(idle_standby_gpu_h=unused_standby(servers))
        .groupby("class_")[["gpus", "hp_standby_gpu_h", "idle_standby_gpu_h"]]
        .sum()
    )
    standby = sums["hp_standby_gpu_h"]
    columns = {
        "standby_gpu_h": standby,
        "idle_standby_gpu_h": sums["idle_standby_gpu_h"],
        "idle_pct": 100 * sums["idle_standby_gpu_h"] / standby.where(standby > 0),
        "idle_of_all_pct": 100 * sums["idle_standby_gpu_h"] / sums["gpus"],
    }
    return pd.DataFrame(columns).rename_axis("class").reset_index()


def left_by_hp(raw: Path, from_day: int, to_day: int, per: str) -> pd.DataFrame:
    servers = servers_by(raw, from_day, to_day, per)
    of_hp = np.minimum(servers["hp_gpu_h"], servers["gpus"])
    left = servers["gpus"] - of_hp
    by_lp = np.minimum(servers["lp_gpu_h"], left)
    idle_standby = np.minimum(unused_standby(servers), left - by_lp)
    parts = {
        "HP": of_hp,
        "LP": by_lp,
        "idle standby": idle_standby,
        "free": left - by_lp - idle_standby,
    }
    sums = pd.DataFrame(parts).groupby(servers["class_"]).sum()
    of_all, of_left = sums.sum(axis=1), sums.drop(columns="HP").sum(axis=1)
    rows = []
    for part in parts:
        columns = {
            "use": part,
            "gpu_h": sums[part],
            "gpu_h_pct": 100 * sums[part] / of_all,
            "left_pct": np.nan if part == "HP" else 100 * sums[part] / of_left,
        }
        rows.append(pd.DataFrame(columns).rename_axis("class").reset_index())
    return pd.concat(rows, ignore_index=True)


def fleet_by_day(raw: Path, from_day: int, to_day: int) -> pd.DataFrame:
    servers = server_hour_v1(raw)
    first_day = servers.groupby("server_id")["day"].min()
    servers = between(servers, from_day, to_day)
    hours = servers.groupby("day")["hour_of_day"].nunique()
    by = servers.groupby(["day", "shown_model"])
    is_new = servers["day"] == servers["server_id"].map(first_day)
    columns = {
        "servers": by["server_id"].nunique(),
        "new_servers": servers[is_new].groupby(["day", "shown_model"])["server_id"].nunique(),
        "gpus": by["gpus"].sum() / hours,
    }
    rows = pd.DataFrame(columns).fillna({"new_servers": 0})
    return rows.rename_axis(["day", "gpu_model"]).reset_index()


def use_over_time(
    raw: Path, from_day: int, to_day: int, per: str, by_day: bool, most_classes: int
) -> pd.DataFrame:
    servers = between(server_hour_v1(raw), from_day, to_day)
    column = {"gpu_model": "shown_model", "cluster": "cluster", "switch": "switch"}.get(per)
    if per == "priority":
        servers = pd.concat(
            [servers.assign(priority=priority, class_=priority) for priority in ALL_PRIORITIES]
        )
    else:
        servers = servers.assign(priority="any", class_=servers[column].fillna("unknown"))
        largest = servers.groupby("class_")["gpus"].sum().reset_index()
        largest = largest.sort_values(["gpus", "class_"], ascending=[False, True])["class_"].head(
            most_classes
        )
        servers["class_"] = servers["class_"].where(servers["class_"].isin(largest), "others")
    pods = pods_between(raw, from_day, to_day)
    pods = pods.fillna({"priority": "Other"}) if per == "priority" else pods.assign(priority="any")
    held = gpu_time_of_servers(pods)
    rows = servers.join(held, on=[*SERVER_HOUR, "priority"])
    rows["hour"] = 24 * rows["day"] + (0 if by_day else rows["hour_of_day"])
    sums = rows.groupby(["hour", "day", "class_"])[["gpus", *held]].sum()
    columns = {
        "capacity_gpu_h": sums["gpus"],
        "held_gpu_h": sums["held_gpu_h"],
        "standby_gpu_h": sums["standby_gpu_h"],
        "allocated_pct": 100 * sums["held_gpu_h"] / sums["gpus"],
        "measured_pct": 100 * sums["measured_gpu_h"] / sums["held_gpu_h"].where(sums["held_gpu_h"] > 0),
        "used_pct": 100
        * sums["busy_gpu_h"]
        / sums["measured_gpu_h"].where(sums["measured_gpu_h"] > 0)
        * (sums["held_gpu_h"] / sums["gpus"]),
    }
    rows = pd.DataFrame(columns).rename_axis(["hour", "day", "class"]).reset_index()
    return rows[["day", "hour", *rows.columns.drop(["day", "hour"])]]


VIEWS = {
    "asi.shown_model_v1": (shown_model_v1, ["shown_model"]),
    # A pod can have two rows in an hour.
    "asi.pod_hour_v1": (pod_hour_v1, POD_HOUR),
    "asi.server_hour_v1": (server_hour_v1, SERVER_HOUR),
    "asi.class_hour_v1": (class_hour_v1, CLASS),
    "asi.request_hour_v1": (request_hour_v1, REQUEST),
    "asi.utilization_day_v1": (utilization_day_v1, USE),
    "asi.allocation_hour_v1": (allocation_hour_v1, PLACE),
    "asi.idle_hour_v1": (idle_hour_v1, SERVER_HOUR),
    "asi.server_day_v1": (server_day_v1, ["day", "server_id", "shown_model"]),
    "asi.pod_day_v1": (pod_day_v1, ["day", *POD]),
    "asi.pod_life_v1": (pod_life_v1, POD),
    "asi.standard_job_v1": (standard_job_v1, ["job_id"]),
    "asi.cluster_capacity_hour_v1": (cluster_capacity_hour, ["hour", "partition_name"]),
    "asi.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
    "asi.workload_hour_v1": (workload_hour_v1, WORKLOAD_HOUR),
    "asi.network_hour_v1": (network_hour_v1, SERVER_HOUR),
}

J, P = (109, 184), (109, 115)
WITHOUT_DAY_109 = (110, 115)
DAY_109 = (109, 109)
PRIORITY_AND_TYPE = ["priority", "job_type"]
CLASS_AND_TYPE = ["class", "model_type"]
MODEL_AND_PRIORITY = ["gpu_model", "priority"]
BAND = ["priority", "gpu_band"]
JOB = ["job_gpus", "job_cpus", "reason"]
NETWORK = ["direction", "job_types"]
SETS = ["gpu_model", "set_gpus", "fits_in"]
SPREAD = ["gpu_band", "spread"]
CLASS_AND_HOUR = ["hour", "class"]


def of_other_days(name: str, compute: object, keys: list[str] | None, *others: object) -> dict[str, tuple]:
    """Return calls of a query for all days of the week P, for all but the first, and for the first."""
    return {
        f"asi.{name}()": (compute, (*P, *others), keys),
        f"asi.{name}(from_day := 110)": (compute, (*WITHOUT_DAY_109, *others), keys),
        f"asi.{name}(to_day := 109)": (compute, (*DAY_109, *others), keys),
    }


QUERIES = {
    "asi.gpu_time_by_job_type()": (gpu_time_by_job_type, (*J, "memory", False), PRIORITY_AND_TYPE),
    "asi.gpu_time_by_job_type(from_day := 110)": (
        gpu_time_by_job_type,
        (110, 184, "memory", False),
        PRIORITY_AND_TYPE,
    ),
    "asi.gpu_time_by_job_type(to_day := 109, gpu_pods_by := 'gpus')": (
        gpu_time_by_job_type,
        (*DAY_109, "gpus", False),
        PRIORITY_AND_TYPE,
    ),
    "asi.gpu_time_by_job_type(by_priority := true)": (
        gpu_time_by_job_type,
        (*J, "memory", True),
        PRIORITY_AND_TYPE,
    ),
    "asi.gpus_by_model()": (gpus_by_model, (), ["gpu_model"]),
    **of_other_days("pods_by_model", pods_by_model, MODEL_AND_PRIORITY),
    "asi.gpu_time_by_day()": (gpu_time_by_day, ("memory",), ["day", "gpu_model"]),
    "asi.gpu_time_by_day(gpu_pods_by := 'gpus')": (gpu_time_by_day, ("gpus",), ["day", "gpu_model"]),
    **of_other_days("gpu_time_by_model_type", gpu_time_by_model_type, CLASS_AND_TYPE, "job_type"),
    "asi.gpu_time_by_model_type(per := 'gpu_model')": (
        gpu_time_by_model_type,
        (*P, "gpu_model"),
        CLASS_AND_TYPE,
    ),
    **of_other_days("utilization_by_hour", utilization_by_hour, HOUR_AND_TYPE),
    **of_other_days("allocation_by_model", allocation_by_model, ["gpu_model"], "held"),
    "asi.allocation_by_model(gpus_by := 'requested')": (
        allocation_by_model,
        (*P, "requested"),
        ["gpu_model"],
    ),
    **of_other_days("idle_fragmentation", idle_fragmentation, JOB),
    **of_other_days("fragmentation_by_hour", fragmentation_by_hour, [*HOUR, "gpu_model"]),
    **of_other_days("standby_by_hour", standby_by_hour, HOUR),
    **of_other_days("network_cdf", network_cdf, None, "received", 0.001),
    "asi.network_cdf(direction := 'sent', above_gibps := 0.3)": (network_cdf, (*P, "sent", 0.3), None),
    **of_other_days("network_by_job_type", network_by_job_type, NETWORK, False),
    "asi.network_by_job_type(per_gpu := true)": (network_by_job_type, (*P, True), NETWORK),
    **of_other_days("gpu_sets", gpu_sets, SETS, 10, 128),
    "asi.gpu_sets(at_hour := 20, min_set_gpus := 8)": (gpu_sets, (*P, 20, 8), SETS),
    **of_other_days("fractional_requests", fractional_requests, None),
    **of_other_days("cpus_per_gpu_cdf", cpus_per_gpu_cdf, None, True),
    "asi.cpus_per_gpu_cdf(is_rounded := false)": (cpus_per_gpu_cdf, (*P, False), None),
    **of_other_days("utilization_cdf", utilization_cdf, None, "gpu_pct"),
    **{
        f"asi.utilization_cdf(quantity := '{quantity}')": (utilization_cdf, (*P, quantity), None)
        for quantity in USES[1:]
    },
    "asi.run_by_type()": (run_by_type, ("job_type",), ["class"]),
    "asi.run_by_type(per := 'model_type')": (run_by_type, ("model_type",), ["class"]),
    "asi.lifetimes()": (lifetimes, ("priority", True, False), ["class", "percentile"]),
    "asi.lifetimes(per := 'job_type', gpu_only := false)": (
        lifetimes,
        ("job_type", False, False),
        ["class", "percentile"],
    ),
    "asi.lifetimes(every_value := true)": (lifetimes, ("priority", True, True), ["class", "lifetime_h"]),
    **of_other_days("workload_peaks", workload_peaks, ["resource", "kind"]),
    **of_other_days("workload_spread", workload_spread, SPREAD),
    "asi.waits()": (waits, (*J, True), BAND),
    "asi.waits(from_day := 110, by_size := false)": (waits, (110, 184, False), BAND),
    "asi.waits(to_day := 109)": (waits, (*DAY_109, True), BAND),
    **of_other_days("idle_standby", idle_standby, ["class"], "gpu_model"),
    **of_other_days("left_by_hp", left_by_hp, ["class", "use"], "gpu_model"),
    **{
        f"asi.{name}(per := '{per}')": (compute, (*P, per), keys)
        for name, compute, keys in (
            ("idle_standby", idle_standby, ["class"]),
            ("left_by_hp", left_by_hp, ["class", "use"]),
        )
        for per in ("cluster", "hour_of_day")
    },
    "asi.fleet_by_day()": (fleet_by_day, (0, 184), ["day", "gpu_model"]),
    "asi.fleet_by_day(from_day := 110)": (fleet_by_day, (110, 184), ["day", "gpu_model"]),
    "asi.fleet_by_day(to_day := 109)": (fleet_by_day, (0, 109), ["day", "gpu_model"]),
    **of_other_days("use_over_time", use_over_time, CLASS_AND_HOUR, "gpu_model", False, 12),
    "asi.use_over_time(by_day := true, most_classes := 2)": (
        use_over_time,
        (*P, "gpu_model", True, 2),
        CLASS_AND_HOUR,
    ),
    **{
        f"asi.use_over_time(per := '{per}')": (use_over_time, (*P, per, False, 12), CLASS_AND_HOUR)
        for per in ("cluster", "priority", "switch")
    },
}

# No queries run on real files, because these are not available.
ON_REAL_FILES: set[str] = set()

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
# The test itself picks another value of a parameter with choices, as `per` differs between queries.
OTHER_VALUES = {
    "from_day": 110,
    "to_day": 109,
    "gpu_pods_by": "gpus",
    "at_hour": 20,
    "min_set_gpus": 8,
    "above_gibps": 0.3,
    "most_classes": 2,
}
# The default, sets of 128 GPUs, does not occur in the smallest sample.
TOGETHER = {
    ("asi.gpu_sets", parameter): {"min_set_gpus": 8} for parameter in ("from_day", "to_day", "at_hour")
}

"""The spot trace's views and queries, computed by pandas from the raw CSVs alone."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

HOUR_S, DAY_S = 3_600, 86_400


def nodes(raw: Path) -> pd.DataFrame:
    return pd.read_csv(raw / "spot" / "node_info_df.csv")


def job_demand(raw: Path) -> pd.DataFrame:
    found = pd.read_csv(raw / "spot" / "job_info_df.csv")
    gpus = found["gpu_request"] * found["worker_num"]
    columns = {
        "job_id": found["job_name"].astype(str),
        "organization": found["organization"].astype(str),
        "gpu_model": found["gpu_model"],
        "job_type": found["job_type"],
        "submit_s": found["submit_time"].astype(float),
        "run_s": found["duration"].astype(float),
        "instances": found["worker_num"],
        "requested_gpus_per_instance": found["gpu_request"],
        "requested_gpus": gpus,
        "requested_cpus": found["cpu_request"] * found["worker_num"],
        "gpu_h": gpus * found["duration"] / HOUR_S,
    }
    return pd.DataFrame(columns, index=found.index)


def recorded_job(raw: Path) -> pd.DataFrame:
    found = job_demand(raw)
    columns = {
        "cluster": None,
        "job_id": found["job_id"],
        "user_id": None,
        "group_id": found["organization"],
        "submit_time": None,
        "submit_s": found["submit_s"],
        "local_submit_s": None,
        "wait_s": None,
        "run_s": found["run_s"],
        "end_s": None,
        "requested_cpus": found["requested_cpus"],
        "allocated_cpus": None,
        "requested_gpus": found["requested_gpus"],
        "requested_gpus_per_instance": found["requested_gpus"],
        "allocated_gpus": None,
        "requested_memory_gib": None,
        "allocated_memory_gib": None,
        "held_gpu_s": found["requested_gpus"] * found["run_s"],
        "status": "unknown",
        "is_censored": None,
        "workload": None,
        "partition_name": found["gpu_model"],
    }
    return pd.DataFrame(columns, index=found.index)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """Jobs of the first second may have begun before the trace, so their left-censoring is unknown."""
    found = recorded_job(raw)
    return raw_frames.as_observed(
        found,
        observed_wait_s=None,
        observed_start_s=None,
        observed_run_s=found["run_s"],
        is_right_censored=None,
        is_left_censored=pd.Series(False, index=found.index, dtype=object).where(found["submit_s"] > 0, None),
    )


def cluster_capacity(raw: Path) -> pd.DataFrame:
    models = nodes(raw).groupby("gpu_model")["gpu_capacity_num"].agg(gpus="sum", nodes="size")
    rows = models.rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


def capacity_by_model(raw: Path, with_total: bool = False) -> pd.DataFrame:
    found = nodes(raw)
    frames = [found, found.assign(gpu_model="all")] if with_total else [found]
    models = pd.concat(frames).groupby("gpu_model")
    columns = {
        "nodes": models.size(),
        "whole_nodes": models["gpu_capacity_num"].agg(lambda gpus: (gpus == 8).sum()),
        "gpus": models["gpu_capacity_num"].sum(),
        "cpus": models["cpu_num"].sum(),
    }
    return pd.DataFrame(columns).reset_index()


def gpu_time_by_type(raw: Path) -> pd.DataFrame:
    found = job_demand(raw)
    types = found.groupby(["gpu_model", "job_type"])
    columns = {
        "jobs": types.size(),
        "jobs_pct": 100 * types.size() / len(found),
        "organizations": types["organization"].nunique(),
        "gpu_h": types["gpu_h"].sum(),
        "gpu_h_pct": 100 * types["gpu_h"].sum() / found["gpu_h"].sum(),
    }
    return pd.DataFrame(columns).reset_index()


def arrivals_by_hour(raw: Path, from_hour: int) -> pd.DataFrame:
    found = job_demand(raw)
    hour = (found["submit_s"] // HOUR_S).astype(int)
    counted = found.groupby([hour, "job_type"])["requested_gpus"].agg(jobs="size", requested_gpus="sum")
    every = pd.MultiIndex.from_product([range(hour.min(), hour.max() + 1), sorted(set(found["job_type"]))])
    rows = counted.reindex(every, fill_value=0).rename_axis(["hour", "job_type"]).reset_index()
    rows.insert(0, "hour_start_s", rows["hour"] * HOUR_S)
    return rows[rows.pop("hour") >= from_hour].reset_index(drop=True)


def size_cdf(raw: Path, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for job_type, found in job_demand(raw).groupby("job_type"):
        sizes = sorted(set(found["requested_gpus"])) if every_value else [2.0**power for power in range(11)]
        for size in sizes:
            within = found[found["requested_gpus"] <= size]
            share = 100 * within["gpu_h"].sum() / found["gpu_h"].sum()
            rows.append((job_type, size, len(within), 100 * len(within) / len(found), share))
    return pd.DataFrame(rows, columns=["job_type", "at_most_gpus", "jobs", "jobs_pct", "gpu_h_pct"])


def demand_by_day(raw: Path, job_types: list[str]) -> pd.DataFrame:
    capacity = nodes(raw).groupby("gpu_model")["gpu_capacity_num"].sum()
    found = job_demand(raw)
    found = found[found["job_type"].isin(job_types) & (found["run_s"] > 0)]
    start, end = found["submit_s"], found["submit_s"] + found["run_s"]
    rows = []
    for day in range(int(start.min() // DAY_S), math.ceil(end.max() / DAY_S)):
        within = np.minimum(end, DAY_S * (day + 1)) - np.maximum(start, DAY_S * day)
        demanded = (found["requested_gpus"] * within.clip(lower=0) / DAY_S).groupby(found["gpu_model"]).sum()
        for model, gpus in demanded.items():
            rows.append((day * DAY_S, model, gpus, capacity[model], 100 * gpus / capacity[model]))
    columns = ["day_start_s", "gpu_model", "demanded_gpus", "capacity_gpus", "demanded_pct"]
    return pd.DataFrame(rows, columns=columns)


VIEWS = {
    "spot.job_demand_v1": (job_demand, ["job_id"]),
    "spot.standard_job_v1": (standard_job_v1, ["job_id"]),
    "spot.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "spot.capacity_by_model()": (capacity_by_model, (), ["gpu_model"]),
    "spot.capacity_by_model(with_total := true)": (capacity_by_model, (True,), ["gpu_model"]),
    "spot.gpu_time_by_type()": (gpu_time_by_type, (), ["gpu_model", "job_type"]),
    "spot.arrivals_by_hour()": (arrivals_by_hour, (1,), ["hour_start_s", "job_type"]),
    "spot.arrivals_by_hour(from_hour := 0)": (arrivals_by_hour, (0,), ["hour_start_s", "job_type"]),
    "spot.size_cdf()": (size_cdf, (), ["job_type", "at_most_gpus"]),
    "spot.size_cdf(every_value := true)": (
        size_cdf,
        (True,),
        ["job_type", "at_most_gpus"],
    ),
    "spot.demand_by_day()": (demand_by_day, (["HP", "Spot"],), ["day_start_s", "gpu_model"]),
    "spot.demand_by_day(on_job_type := 'Spot')": (demand_by_day, (["Spot"],), ["day_start_s", "gpu_model"]),
}
# Queries on jobs do not run on real files, because the real jobs are not available.
ON_REAL_FILES = ["spot.cluster_capacity_v1", "spot.capacity_by_model()"]
ON_REAL_FILES += ["spot.capacity_by_model(with_total := true)"]

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"from_hour": 1000}

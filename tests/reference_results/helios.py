"""Helios's views and queries, computed by pandas from the raw CSVs alone."""

import math
from pathlib import Path

import pandas as pd
import raw_frames
from raw_frames import remembered

OUTCOMES = {
    "COMPLETED": "completed",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
    "TIMEOUT": "failed",
    "NODE_FAIL": "failed",
}
TIMES = ["submit_time", "start_time", "end_time"]


@remembered
def jobs(raw: Path) -> pd.DataFrame:
    paths = sorted((raw / "helios").rglob("cluster_log.csv"))
    frames = [pd.read_csv(path, parse_dates=TIMES).assign(cluster=path.parent.name) for path in paths]
    return pd.concat(frames, ignore_index=True)


@remembered
def gpu_counts(raw: Path) -> pd.DataFrame:
    """Return the GPUs by cluster, date and column of the files, including the column `total`."""
    frames = []
    for path in sorted((raw / "helios").rglob("cluster_gpu_number.csv")):
        wide = pd.read_csv(path, parse_dates=["date"]).assign(cluster=path.parent.name)
        frames.append(wide.melt(id_vars=["cluster", "date"], var_name="vc", value_name="gpus"))
    return pd.concat(frames, ignore_index=True)


def seconds(times: pd.Series) -> pd.Series:
    return (times - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1)


def recorded_job(raw: Path) -> pd.DataFrame:
    found = jobs(raw)
    submit, start, end = (seconds(found[name]) for name in TIMES)
    columns = {
        "cluster": found["cluster"],
        "job_id": found["job_id"].astype(str),
        "user_id": found["user"],
        "group_id": None,
        "submit_time": found["submit_time"].dt.tz_localize("Asia/Shanghai"),
        "submit_s": submit,
        "local_submit_s": submit,
        "wait_s": start - submit,
        "run_s": end - start,
        "end_s": end,
        "requested_cpus": found["cpu_num"].astype(float),
        "allocated_cpus": None,
        "requested_gpus": found["gpu_num"].astype(float),
        "requested_gpus_per_instance": found["gpu_num"].astype(float),
        "allocated_gpus": None,
        "requested_memory_gib": None,
        "allocated_memory_gib": None,
        "held_gpu_s": found["gpu_num"] * (end - start),
        "status": found["state"].map(OUTCOMES).fillna("unknown"),
        "is_censored": end.isna(),
        "workload": None,
        "partition_name": found["vc"],
    }
    return pd.DataFrame(columns, index=found.index)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    found = jobs(raw)
    submit, start, end = (seconds(found[name]) for name in TIMES)
    trace_ends = (
        pd.concat([submit, start, end], axis=1).max(axis=1).groupby(found["cluster"]).transform("max")
    )
    seen_s = end.fillna(trace_ends) - start
    return raw_frames.as_observed(
        recorded_job(raw),
        observed_wait_s=start.fillna(end) - submit,
        observed_start_s=start,
        observed_run_s=seen_s,
        held_gpu_s=found["gpu_num"] * seen_s,
        is_right_censored=start.notna() & end.isna(),
        is_left_censored=False,
    )


def cluster_capacity(raw: Path) -> pd.DataFrame:
    found = gpu_counts(raw)
    means = found[found["vc"] != "total"].groupby(["cluster", "vc"])["gpus"].mean()
    rows = means.map(lambda mean: math.floor(mean + 0.5)).reset_index()
    return rows.rename(columns={"vc": "partition_name"}).assign(nodes=None)


VIEWS = {
    "helios.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "helios.cluster_capacity_v1": (cluster_capacity, ["cluster", "partition_name"]),
}

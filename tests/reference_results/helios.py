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


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A job without an end is observed until the last time of its cluster."""
    found = jobs(raw)
    submit, start, end = (seconds(found[name]) for name in TIMES)
    last = pd.concat([submit, start, end], axis=1).max(axis=1).groupby(found["cluster"]).transform("max")
    gpus, seen_s = found["gpu_num"].astype(float), end.fillna(last) - start
    return raw_frames.standard_jobs(
        cluster=found["cluster"],
        job_id=found["job_id"].astype(str),
        user_id=found["user"],
        submit_time=found["submit_time"].dt.tz_localize("Asia/Shanghai"),
        submit_s=submit,
        local_submit_s=submit,
        wait_s=start - submit,
        observed_wait_s=start.fillna(end) - submit,
        observed_start_s=start,
        run_s=end - start,
        observed_run_s=seen_s,
        end_s=end,
        requested_cpus=found["cpu_num"].astype(float),
        requested_gpus=gpus,
        requested_gpus_per_instance=gpus,
        held_gpu_s=gpus * seen_s,
        status=found["state"].map(OUTCOMES).fillna("unknown"),
        is_right_censored=start.notna() & end.isna(),
        is_left_censored=False,
        partition_name=found["vc"],
    )


def cluster_capacity(raw: Path) -> pd.DataFrame:
    found = gpu_counts(raw)
    means = found[found["vc"] != "total"].groupby(["cluster", "vc"])["gpus"].mean()
    rows = means.map(lambda mean: math.floor(mean + 0.5)).reset_index()
    return rows.rename(columns={"vc": "partition_name"}).assign(nodes=None, cpus=None)


OF_VC = ["cluster", "vc"]
FULL_SHARE = 0.95


def vc_load(raw: Path, on_cluster: str = "all") -> pd.DataFrame:
    """Return the load of each virtual cluster in the hours of days on which it has GPUs, and the waits."""
    counts = gpu_counts(raw)
    counts = counts[(counts["vc"] != "total") & (counts["gpus"] > 0)]
    found = standard_job_v1(raw).rename(columns={"partition_name": "vc"})
    jobs_by_vc = dict(list(found[found["requested_gpus"] > 0].groupby(OF_VC)))
    days_by_vc = dict(list(counts.groupby(OF_VC)))
    none = found.head(0), counts.head(0)
    rows = []
    for cluster, vc in sorted({*jobs_by_vc, *days_by_vc}):
        jobs, days = jobs_by_vc.get((cluster, vc), none[0]), days_by_vc.get((cluster, vc), none[1])
        if on_cluster in ("all", cluster):
            row = {"cluster": cluster, "vc": vc, "capacity_gpus": days["gpus"].mean(), "jobs": len(jobs)}
            rows.append(row | load_of_vc(jobs, days))
    return pd.DataFrame(rows)


def load_of_vc(jobs: pd.DataFrame, days: pd.DataFrame) -> dict[str, float | None]:
    first_hours = seconds(days["date"]) // 3_600
    gpus = pd.Series(dict(zip(first_hours, days["gpus"], strict=True)), dtype=float)
    gpus = pd.Series({first + hour: gpus[first] for first in gpus.index for hour in range(24)}, dtype=float)
    start_s, end_s = jobs["submit_s"] + jobs["wait_s"], jobs["end_s"]
    times_s = pd.concat([start_s, end_s, gpus.index.to_series() * 3_600])
    hours = range(int(times_s.min() // 3_600), int(times_s.max() // 3_600) + 1)
    held = raw_frames.hourly_means(start_s, end_s, jobs["requested_gpus"], hours)
    held = pd.Series(held, hours).reindex(gpus.index)
    is_full = (held / gpus).round(9) >= FULL_SHARE
    hour = jobs["submit_s"] // 3_600
    in_full, is_counted = hour.isin(gpus.index[is_full]), hour.isin(gpus.index)
    row = {
        "held_gpu_h": held.sum() if len(gpus) else None,
        "held_of_capacity_pct": 100 * held.sum() / gpus.sum() if len(gpus) else None,
        "full_hours_pct": 100 * is_full.mean(),
        "full_jobs_pct": 100 * in_full[is_counted].mean(),
    }
    for name, waits in {
        "full": jobs.loc[in_full, "wait_s"],
        "else": jobs.loc[is_counted & ~in_full, "wait_s"],
    }.items():
        row |= {f"median_wait_{name}_s": waits.median(), f"p90_wait_{name}_s": waits.quantile(0.9)}
    return row


VIEWS = {
    "helios.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "helios.cluster_capacity_v1": (cluster_capacity, ["cluster", "partition_name"]),
}
QUERIES = {
    "helios.vc_load()": (vc_load, (), OF_VC),
    "helios.vc_load('Venus')": (vc_load, ("Venus",), OF_VC),
}

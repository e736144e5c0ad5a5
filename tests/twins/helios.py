"""Helios's views and queries, computed by pandas from the raw CSVs alone."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames
from raw_frames import BOX_PERCENTILES, percentiles, remembered

OUTCOMES = {
    "COMPLETED": "completed",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
    "TIMEOUT": "failed",
    "NODE_FAIL": "failed",
}
CLUSTERS = ["Earth", "Saturn", "Uranus", "Venus"]
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


def on_gpus(raw: Path) -> pd.DataFrame:
    """Return the GPU jobs, with GPU-hours from the publisher's duration."""
    found = jobs(raw)
    found["gpu_h"] = found["gpu_num"] * found["duration"] / 3600
    return found[found["gpu_num"] > 0]


def totals(raw: Path, with_total: bool = False) -> pd.DataFrame:
    every = jobs(raw)
    groups = [(name, every[every["cluster"] == name]) for name in CLUSTERS]
    rows = []
    for name, found in [*groups, ("all", every)] if with_total else groups:
        gpu_jobs = found[found["gpu_num"] > 0]
        row = {
            "cluster": name,
            "jobs": len(found),
            "cpu_jobs": len(found) - len(gpu_jobs),
            "gpu_jobs": len(gpu_jobs),
            "users": found["user"].nunique(),
            "gpu_h": (found["gpu_num"] * found["duration"]).sum() / 3600,
            "mean_gpus": gpu_jobs["gpu_num"].mean(),
            "median_gpus": gpu_jobs["gpu_num"].median(),
            "max_gpus": gpu_jobs["gpu_num"].max(),
            "mean_run_s": gpu_jobs["duration"].mean(),
            "median_run_s": gpu_jobs["duration"].median(),
            "max_run_s": gpu_jobs["duration"].max(),
            "mean_wait_s": gpu_jobs["queue"].mean(),
            "median_wait_s": gpu_jobs["queue"].median(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def by_vc(raw: Path, cluster: str, column: str, name: str) -> pd.DataFrame:
    found = on_gpus(raw)
    of_vcs = found[found["cluster"] == cluster].groupby("vc")[column]
    quantiles = percentiles(of_vcs, name, BOX_PERCENTILES)
    rows = pd.DataFrame({"jobs": of_vcs.size(), f"mean_{name}": of_vcs.mean(), **quantiles}).reset_index()
    return rows.sort_values([f"mean_{name}", "vc"], ascending=[False, True], ignore_index=True)


def wait_by_vc(raw: Path, cluster: str) -> pd.DataFrame:
    return by_vc(raw, cluster, "queue", "wait_s")


def run_by_vc(raw: Path, cluster: str) -> pd.DataFrame:
    return by_vc(raw, cluster, "duration", "run_s")


def states(raw: Path, clusters: list[str], gpu_only: bool = True) -> pd.DataFrame:
    found = jobs(raw)
    found = found[found["cluster"].isin(clusters) & ((found["gpu_num"] > 0) | (not gpu_only))]
    final_state = found["state"].map(OUTCOMES).fillna("unknown").rename("final_state")
    gpu_h = found["gpu_num"] * found["duration"] / 3600
    rows = gpu_h.groupby(final_state).agg(jobs="size", gpu_h="sum")
    rows.insert(1, "jobs_pct", 100 * rows["jobs"] / len(found))
    rows["gpu_h_pct"] = 100 * rows["gpu_h"] / gpu_h.sum()
    return rows.reset_index()


def user_concentration(raw: Path, percentages: list[float]) -> pd.DataFrame:
    found = on_gpus(raw)
    rows = []
    for cluster, mine in found.groupby("cluster"):
        of_users = mine.groupby("user")["gpu_h"].agg(["size", "sum"])
        by_jobs = of_users["size"].sort_values(ascending=False)
        by_gpu_h = of_users["sum"].sort_values(ascending=False)
        for heaviest_pct in percentages:
            top = math.ceil(len(of_users) * heaviest_pct / 100)
            row = {
                "cluster": cluster,
                "users": len(of_users),
                "heaviest_pct": heaviest_pct,
                "top_users": top,
                "top_jobs_pct": 100 * by_jobs.head(top).sum() / by_jobs.sum(),
                "top_gpu_h_pct": 100 * by_gpu_h.head(top).sum() / by_gpu_h.sum(),
                "single_job_users": (by_jobs == 1).sum(),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def load_by_day(raw: Path, clusters: list[str]) -> pd.DataFrame:
    """Add up, for each day, the time of each job within the day."""
    counts, found = gpu_counts(raw), on_gpus(raw)
    rows = []
    for cluster in clusters:
        mine = found[found["cluster"] == cluster]
        total = counts[(counts["cluster"] == cluster) & (counts["vc"] == "total")]
        gpus_of_day = dict(zip(total["date"], total["gpus"], strict=True))
        submitted = mine.groupby(mine["submit_time"].dt.floor("D"))["gpu_num"].agg(["size", "sum"])
        runs = mine[mine["end_time"] > mine["start_time"]]
        start, end, gpus = seconds(runs["start_time"]), seconds(runs["end_time"]), runs["gpu_num"]
        first = min(submitted.index.min(), runs["start_time"].min().floor("D"))
        last = max(submitted.index.max(), runs["end_time"].max().ceil("D") - pd.Timedelta(days=1))
        for date in pd.date_range(first, last):
            from_s = (date - pd.Timestamp("1970-01-01")).total_seconds()
            within = np.minimum(end, from_s + 86_400) - np.maximum(start, from_s)
            held = (gpus * within.clip(lower=0)).sum() / 86_400
            jobs_of_day, gpus_submitted = submitted.loc[date] if date in submitted.index else (0, 0)
            capacity = gpus_of_day.get(date)
            row = {
                "cluster": cluster,
                "day": date.date(),
                "jobs": int(jobs_of_day),
                "submitted_gpus": float(gpus_submitted),
                "held_gpus": held,
                "capacity_gpus": capacity,
                "held_pct": 100 * held / capacity if capacity else None,
            }
            rows.append(row)
    return pd.DataFrame(rows)


EVERY_PCT = [float(number) for number in range(101)]
VIEWS = {
    "helios.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "helios.cluster_capacity_v1": (cluster_capacity, ["cluster", "partition_name"]),
}
QUERIES = {
    "helios.totals()": (totals, (), ["cluster"]),
    "helios.totals(with_total := true)": (totals, (True,), ["cluster"]),
    "helios.wait_by_vc()": (wait_by_vc, ("Venus",), None),
    "helios.wait_by_vc(on_cluster := 'Earth')": (wait_by_vc, ("Earth",), None),
    "helios.run_by_vc()": (run_by_vc, ("Venus",), None),
    "helios.run_by_vc(on_cluster := 'Uranus')": (run_by_vc, ("Uranus",), None),
    "helios.states()": (states, (CLUSTERS,), ["final_state"]),
    "helios.states(on_cluster := 'Uranus', gpu_only := false)": (
        states,
        (["Uranus"], False),
        ["final_state"],
    ),
    "helios.user_concentration()": (user_concentration, ([5.0],), ["cluster", "heaviest_pct"]),
    "helios.user_concentration(every_pct := true)": (
        user_concentration,
        (EVERY_PCT,),
        ["cluster", "heaviest_pct"],
    ),
    "helios.load_by_day()": (load_by_day, (CLUSTERS,), ["cluster", "day"]),
    "helios.load_by_day(on_cluster := 'Venus')": (load_by_day, (["Venus"],), ["cluster", "day"]),
}

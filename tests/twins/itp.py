"""ITP's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import datetime as dt
import math
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

HOUR_S = 3600
DAY_S = 24 * HOUR_S
WEEK_S = 7 * DAY_S
COLLECTED_FROM = dt.date(2021, 3, 4)
TESTBED = "195job"
TESTBED_CLUSTER = "cluster02"


def ratio(part: pd.Series, whole: pd.Series) -> pd.Series:
    return part / whole.where(whole != 0)


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


@lru_cache(maxsize=2)
def jobs_of(raw: Path) -> pd.DataFrame:
    return raw_frames.itp_job(raw)


def jobs_on(raw: Path, on_cluster: str) -> pd.DataFrame:
    jobs = jobs_of(raw)
    return jobs if on_cluster == "all" else jobs[jobs["cluster"] == on_cluster]


def each_cluster(raw: Path, with_total: bool) -> list[tuple[str, pd.DataFrame]]:
    jobs = jobs_of(raw)
    return [*jobs.groupby("cluster"), *([("all", jobs)] if with_total and len(jobs) else [])]


# Views.


def testbed_job(raw: Path) -> pd.DataFrame:
    """Look up each job in cluster02 twice: among the collected jobs, and by its generated values."""
    collected = raw_frames.itp_table(raw, "raw-traces.tar.gz")
    collected = collected[collected["csv"] == TESTBED_CLUSTER]
    names = ["job_id", "submission_time", "duration", "num_gpu"]
    is_there = set(collected[names].itertuples(index=False, name=None))
    generated = raw_frames.itp_table(raw, "elasticflow-traces.tar.gz")
    drawn = ["model_name", "batch_size", "num_iteration", "deadline"]
    in_simulation = generated[generated["csv"] == TESTBED_CLUSTER].set_index("job_id")[drawn]
    simulated = {row[0]: row[1:] for row in in_simulation.itertuples(name=None)}
    jobs = generated[generated["csv"] == TESTBED].reset_index(drop=True)
    differs = [
        simulated[job_id] != tuple(values) if job_id in simulated else None
        for job_id, *values in jobs[["job_id", *drawn]].itertuples(index=False, name=None)
    ]
    run, allowed = jobs["duration"], jobs["deadline"] - jobs["submission_time"]
    return pd.DataFrame(
        {
            "job_id": jobs["job_id"],
            "submit_s": jobs["submission_time"],
            "run_s": run,
            "requested_gpus": jobs["num_gpu"],
            "gpu_h": jobs["num_gpu"] * run / HOUR_S,
            "model_name": jobs["model_name"],
            "batch_size": jobs["batch_size"],
            "num_iteration": jobs["num_iteration"],
            "iterations_per_s": ratio(jobs["num_iteration"], run),
            "deadline_s": jobs["deadline"],
            "slack_s": allowed - run,
            "tightness": ratio(allowed, run),
            "is_feasible_as_requested": allowed >= run,
            "needed_speedup": ratio(run, allowed),
            "is_in_cluster02": [row in is_there for row in jobs[names].itertuples(index=False, name=None)],
            "generated_differs": pd.Series(differs, dtype=object),
        }
    )


SIMULATED_GPUS = {
    "cluster01": 512,
    "cluster02": 512,
    "cluster03": 512,
    "cluster04": 1024,
    "cluster05": 512,
    "cluster06": 512,
    "cluster07": 1024,
    "cluster08": 1024,
    "cluster09": 1024,
    "cluster10": 256,
}


def simulated_capacity(_: Path) -> pd.DataFrame:
    return pd.DataFrame(SIMULATED_GPUS.items(), columns=["cluster", "simulated_gpus"])


LOAD = ["cluster", "from_s", "to_s", "jobs", "offered_gpus"]


def offered_load(raw: Path) -> pd.DataFrame:
    """Starts and ends in the same second are summed before the load is taken."""
    frames = [pd.DataFrame(columns=LOAD)]
    for cluster, jobs in jobs_of(raw).groupby("cluster"):
        gpus = jobs["requested_gpus"]
        starts = pd.DataFrame({"from_s": jobs["submit_s"], "jobs": 1, "offered_gpus": gpus})
        ends = pd.DataFrame({"from_s": jobs["submit_s"] + jobs["run_s"], "jobs": -1, "offered_gpus": -gpus})
        levels = pd.concat([starts, ends]).groupby("from_s").sum().cumsum().reset_index()
        frames.append(levels.assign(cluster=cluster, to_s=levels["from_s"].shift(-1))[LOAD].astype(object))
    return pd.concat(frames, ignore_index=True)


def cluster_load(raw: Path) -> pd.DataFrame:
    levels = offered_load(raw)
    rows = []
    for cluster, jobs in jobs_of(raw).groupby("cluster"):
        offered = levels[levels["cluster"] == cluster].set_index("from_s")["offered_gpus"].astype(int)
        first, last = jobs["submit_s"].min(), jobs["submit_s"].max()
        mean = (jobs["requested_gpus"] * jobs["run_s"]).sum() / (last - first) if last > first else None
        capacity = SIMULATED_GPUS.get(cluster)
        is_known = mean is not None and capacity is not None
        rows.append(
            {
                "cluster": cluster,
                "jobs": len(jobs),
                "gpu_h": jobs["gpu_h"].sum(),
                "first_submit_s": first,
                "last_submit_s": last,
                "arrival_span_s": last - first,
                "last_end_s": (jobs["submit_s"] + jobs["run_s"]).max(),
                "peak_offered_gpus": offered.max(),
                "peak_at_s": offered.idxmax(),
                "mean_offered_gpus": mean,
                "simulated_gpus": capacity,
                "offered_utilization": mean / capacity if is_known else None,
                "exceeds_capacity": bool(offered.max() > capacity) if capacity else None,
            }
        )
    return pd.DataFrame(rows).astype({"exceeds_capacity": object})


def standard_job_v1(raw: Path) -> pd.DataFrame:
    jobs = raw_frames.standard_jobs(raw, "itp")
    return raw_frames.as_observed(
        jobs,
        observed_wait_s=None,
        observed_start_s=None,
        observed_run_s=jobs["run_s"],
        is_right_censored=None,
        is_left_censored=False,
    )


# Named queries.


def gpu_hours(raw: Path, min_gpus: int, with_total: bool) -> pd.DataFrame:
    jobs = jobs_of(raw)
    jobs = jobs[jobs["requested_gpus"] >= min_gpus]
    columns = {
        "jobs": ("job_id", "size"),
        "gpu_h": ("gpu_h", "sum"),
        "mean_gpus": ("requested_gpus", "mean"),
        "max_gpus": ("requested_gpus", "max"),
        "median_run_s": ("run_s", "median"),
    }
    clusters = jobs.groupby("cluster").agg(**columns).reset_index()
    everything = jobs.assign(cluster="all").groupby("cluster").agg(**columns).reset_index()
    return pd.concat([clusters, everything], ignore_index=True) if with_total else clusters


def deadline_tightness(raw: Path, bin_width: str) -> pd.DataFrame:
    """Compute bins with integers, so that rounding moves no job to another bin."""
    jobs = jobs_of(raw)
    jobs = jobs[jobs["deadline_s"].notna()].copy()
    width = Fraction(bin_width)
    allowed = (jobs["deadline_s"] - jobs["submit_s"]).astype("int64")
    jobs["bin"] = (allowed * width.denominator) // (jobs["run_s"].astype("int64") * width.numerator)
    jobs["feasible"] = (allowed >= jobs["run_s"]).astype(int)
    bins = jobs.groupby("bin").agg(
        jobs=("bin", "size"), feasible_jobs=("feasible", "sum"), gpu_h=("gpu_h", "sum")
    )
    bins.insert(0, "tightness_from", [float(index * width) for index in bins.index])
    return bins.reset_index(drop=True)


def durations(raw: Path, with_total: bool) -> pd.DataFrame:
    rows = []
    for cluster, jobs in each_cluster(raw, with_total):
        runs = jobs["run_s"]
        row = {"cluster": cluster, "jobs": len(jobs), "min_run_s": runs.min(), "mean_run_s": runs.mean()}
        rows.append(row | raw_frames.percentiles(runs, "run_s") | {"max_run_s": runs.max()})
    return pd.DataFrame(rows)


def size_mix(raw: Path, on_cluster: str) -> pd.DataFrame:
    jobs = jobs_on(raw, on_cluster)
    sizes = jobs.groupby("requested_gpus")["gpu_h"].agg(["size", "sum"])
    counts, hours = sizes["size"], sizes["sum"]
    shares = {"jobs_pct": 100 * counts / len(jobs), "gpu_h": hours, "gpu_h_pct": 100 * hours / hours.sum()}
    return pd.DataFrame({"jobs": counts, **shares}).reset_index()


def load(raw: Path) -> pd.DataFrame:
    return cluster_load(raw).sort_values("cluster")


DAYS = ["day", "on_date", "mean_offered_gpus", "peak_offered_gpus", "arrivals", "simulated_gpus"]


def load_by_day(raw: Path, on_cluster: str) -> pd.DataFrame:
    """The mean of a day adds up the jobs' time in it. The peak is the highest load level within the day."""
    jobs = jobs_on(raw, on_cluster)
    if not len(jobs):
        return pd.DataFrame(columns=DAYS)
    start, end = jobs["submit_s"], jobs["submit_s"] + jobs["run_s"]
    loads = cluster_load(raw)
    [capacity] = loads.loc[loads["cluster"] == on_cluster, "simulated_gpus"]
    levels = offered_load(raw)
    levels = levels[levels["cluster"] == on_cluster]
    holds_from, holds_to = levels["from_s"].astype(float), levels["to_s"].astype(float).fillna(np.inf)
    rows = []
    for day in range(start.min() // DAY_S, end.max() // DAY_S + 1):
        begin, finish = day * DAY_S, (day + 1) * DAY_S
        seconds = (np.minimum(end, finish) - np.maximum(start, begin)).clip(lower=0)
        mean = (jobs["requested_gpus"] * seconds).sum() / DAY_S
        peak = levels.loc[(holds_from < finish) & (holds_to > begin), "offered_gpus"].max()
        on_date = COLLECTED_FROM + dt.timedelta(days=int(day))
        rows.append((day, on_date, mean, peak, int((start // DAY_S == day).sum()), capacity))
    return pd.DataFrame(rows, columns=DAYS)


def arrivals_by_week(raw: Path) -> pd.DataFrame:
    weeks = (jobs_of(raw)["submit_s"] // WEEK_S).rename("week")
    rows = weeks.groupby(weeks).size().rename("jobs").reset_index()
    starts = [COLLECTED_FROM + dt.timedelta(weeks=week) for week in rows["week"]]
    rows.insert(1, "from_date", pd.Series(starts, dtype=object))
    return rows


def throughput(raw: Path) -> pd.DataFrame:
    groups = jobs_of(raw).groupby(["model_name", "batch_size", "requested_gpus"])["iterations_per_s"]
    columns = {f"{name}_iterations_per_s": name for name in ("min", "median", "max")}
    return groups.agg(jobs="size", **columns).reset_index()


def top_jobs(raw: Path, top_pct: float) -> pd.DataFrame:
    hours = jobs_of(raw)["gpu_h"].sort_values(ascending=False)
    top = math.ceil(len(hours) * top_pct / 100)
    share = percent(hours.head(top).sum(), hours.sum())
    return pd.DataFrame([(len(hours), top, share)], columns=["jobs", "top_jobs", "top_gpu_h_pct"])


def feasibility(raw: Path, with_total: bool) -> pd.DataFrame:
    rows = []
    for cluster, jobs in each_cluster(raw, with_total):
        tightness, feasible = jobs["tightness"], int((jobs["tightness"] >= 1).sum())
        rows.append(
            {
                "cluster": cluster,
                "jobs": len(jobs),
                "feasible_jobs": feasible,
                "feasible_pct": percent(feasible, len(jobs)),
                "min_tightness": tightness.min(),
                "mean_tightness": tightness.mean(),
                "max_tightness": tightness.max(),
                "median_slack_s": jobs["slack_s"].median(),
                "median_needed_speedup": jobs["needed_speedup"].median(),
            }
        )
    return pd.DataFrame(rows)


def testbed(raw: Path) -> pd.DataFrame:
    jobs = testbed_job(raw)
    row = {
        "jobs": len(jobs),
        "gpu_h": jobs["gpu_h"].sum(),
        "arrival_span_h": (jobs["submit_s"].max() - jobs["submit_s"].min()) / HOUR_S,
        "in_cluster02": int(jobs["is_in_cluster02"].sum()),
        "generated_differs": int(jobs["generated_differs"].eq(True).sum()),
    }
    return pd.DataFrame([row])


def testbed_sizes(raw: Path) -> pd.DataFrame:
    return testbed_job(raw).groupby("requested_gpus").size().rename("jobs").reset_index()


def cluster_capacity(_: Path) -> pd.DataFrame:
    rows = [(name, name, gpus, None) for name, gpus in SIMULATED_GPUS.items()]
    return pd.DataFrame(rows, columns=["cluster", "partition_name", "gpus", "nodes"])


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "itp.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "itp.job_v1": (raw_frames.itp_job, ["cluster", "job_id"]),
    "itp.testbed_job_v1": (testbed_job, ["job_id"]),
    "itp.simulated_capacity_v1": (simulated_capacity, ["cluster"]),
    "itp.offered_load_v1": (offered_load, ["cluster", "from_s"]),
    "itp.cluster_load_v1": (cluster_load, ["cluster"]),
    "itp.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}

QUERIES = {
    "itp.gpu_hours()": (gpu_hours, (1, False), ["cluster"]),
    "itp.gpu_hours(with_total := true)": (gpu_hours, (1, True), ["cluster"]),
    "itp.gpu_hours(min_gpus := 8, with_total := true)": (gpu_hours, (8, True), ["cluster"]),
    "itp.deadline_tightness()": (deadline_tightness, ("0.1",), None),
    "itp.deadline_tightness(bin_width := 0.25)": (deadline_tightness, ("0.25",), None),
    "itp.durations()": (durations, (False,), None),
    "itp.durations(with_total := true)": (durations, (True,), None),
    "itp.size_mix()": (size_mix, ("all",), None),
    "itp.size_mix(on_cluster := 'cluster03')": (size_mix, ("cluster03",), None),
    "itp.size_mix(on_cluster := 'cluster09')": (size_mix, ("cluster09",), None),
    "itp.load()": (load, (), None),
    "itp.load_by_day()": (load_by_day, ("cluster04",), None),
    "itp.load_by_day(on_cluster := 'cluster10')": (load_by_day, ("cluster10",), None),
    "itp.arrivals_by_week()": (arrivals_by_week, (), None),
    "itp.throughput()": (throughput, (), ["model_name", "batch_size", "requested_gpus"]),
    "itp.top_jobs()": (top_jobs, (1,), None),
    "itp.top_jobs(top_pct := 12.5)": (top_jobs, (12.5,), None),
    "itp.top_jobs(top_pct := 100)": (top_jobs, (100,), None),
    "itp.feasibility()": (feasibility, (False,), None),
    "itp.feasibility(with_total := true)": (feasibility, (True,), None),
    "itp.testbed()": (testbed, (), None),
    "itp.testbed_sizes()": (testbed_sizes, (), None),
}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"min_gpus": 16}

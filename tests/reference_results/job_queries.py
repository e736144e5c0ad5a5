"""Named queries on queueing, failures and requests of the jobs of all traces, computed by pandas.

Each function takes the folder of the raw dump and the parameters of the query, and returns the expected rows.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from reference_results import asi, openb, pai, spot
from reference_results.unified import (
    CLUSTER,
    HOUR_S,
    allocation_hourly,
    first_hour,
    gpu_jobs_of,
    hour_of,
    percent,
)

HOURLY = ["capacity_gpus", "held_gpus", "queued_jobs", "queued_gpus"]
OUTCOMES = ("failed", "completed", "cancelled")
AGES_S = (60, 600, 3600)
# Columns of cpus_per_gpu by quantile.
CPU_QUANTILES = {f"p{p}_cpus_per_gpu".replace("p50", "median"): p / 100 for p in (5, 25, 50, 75, 90, 95)}


def jobs_in(raw: Path, in_trace: str | None) -> pd.DataFrame:
    jobs = gpu_jobs_of(raw)
    return jobs if in_trace is None else jobs[jobs["trace"] == in_trace]


def idle_while_queued(raw: Path, in_trace: str | None = None, from_hour: int | None = None) -> pd.DataFrame:
    hours = allocation_hourly(raw, in_trace, False, from_hour, False)
    hours = hours.dropna(subset=["capacity_gpus", "queued_gpus"]).astype(dict.fromkeys(HOURLY, float))
    free_gpus = (hours["capacity_gpus"] - hours["held_gpus"]).clip(lower=0)
    idle_gpus = np.minimum(free_gpus, hours["queued_gpus"])
    hours = hours[[*CLUSTER, "trace_cluster", "hour", "hour_start_s", *HOURLY, "placed_pct"]]
    return hours.assign(free_gpus=free_gpus, idle_while_queued_gpus=idle_gpus)


def without_placed_pct(*arguments: object) -> pd.DataFrame:
    return idle_while_queued(*arguments).drop(columns="placed_pct")


def idle_while_queued_share(raw: Path, in_trace: str | None = None) -> pd.DataFrame:
    rows = []
    for names, hours in idle_while_queued(raw, in_trace).groupby(CLUSTER, dropna=False):
        idle_gpu_h = hours["idle_while_queued_gpus"].sum()
        with_both = (hours["idle_while_queued_gpus"].round(9) >= 1).sum()
        counts = len(hours), (hours["queued_jobs"] > 0).sum(), with_both, percent(with_both, len(hours))
        shares = [percent(idle_gpu_h, hours[name].sum()) for name in ("capacity_gpus", "queued_gpus")]
        rows.append((*names, *counts, idle_gpu_h, *shares, hours["placed_pct"].iloc[0]))
    counts = ["hours", "hours_with_queue", "hours_with_both", "hours_with_both_pct"]
    shares = ["idle_while_queued_gpu_h", "of_capacity_pct", "of_queued_pct", "placed_pct"]
    return pd.DataFrame(rows, columns=[*CLUSTER, *counts, *shares])


def turnaround_by_size(raw: Path, in_trace: str | None = None, bound_s: float = 10) -> pd.DataFrame:
    """Return turnaround and bounded slowdown, as in Feitelson and Rudolph (1998), in the order of sizes."""
    rows = []
    jobs = jobs_in(raw, in_trace)
    jobs = jobs.assign(turnaround_s=jobs["wait_s"] + jobs["run_s"])
    jobs["slowdown"] = (jobs["turnaround_s"] / jobs["run_s"].clip(lower=bound_s)).clip(lower=1)
    sizes = jobs.groupby(["trace", "size_band"])["requested_gpus"].transform("min")
    for (trace, _, band), mine in jobs.groupby(["trace", sizes, "size_band"]):
        if not jobs.loc[jobs["trace"] == trace, "turnaround_s"].count():
            continue
        is_censored, turnaround, slowdown = mine["is_right_censored"], mine["turnaround_s"], mine["slowdown"]
        censored_pct = percent(is_censored.eq(True).sum(), len(mine)) if is_censored.notna().all() else None
        shares = len(mine), percent(turnaround.count(), len(mine)), censored_pct
        slowdowns = slowdown.median(), slowdown.mean(), slowdown.quantile(0.9)
        rows.append((trace, band, *shares, turnaround.median(), turnaround.quantile(0.9), *slowdowns))
    columns = ["trace", "size_band", "jobs", "covered_pct", "censored_pct"]
    columns += ["median_turnaround_s", "p90_turnaround_s", "median_bounded_slowdown"]
    return pd.DataFrame(rows, columns=[*columns, "mean_bounded_slowdown", "p90_bounded_slowdown"])


def wait_by_load(raw: Path, in_trace: str | None = None) -> pd.DataFrame:
    hours = allocation_hourly(raw, in_trace, False, 0, False)
    loads = {
        tuple(key): load for *key, load in hours[["trace", "cluster", "hour", "held_of_capacity_pct"]].values
    }
    rows = []
    for names, jobs in jobs_in(raw, in_trace).groupby(CLUSTER, dropna=False):
        before = jobs["submit_s"] // HOUR_S - 1
        cluster = None if pd.isna(names[1]) else names[1]
        load = pd.Series([loads.get((names[0], cluster, hour)) for hour in before], jobs.index, dtype=float)
        load = load.where(jobs["observed_wait_s"].notna())
        unknown_pct = percent(load.isna().sum(), len(jobs))
        bands = (load.round(6) // 10 * 10).clip(lower=0, upper=100)
        for band, wait_s in jobs["wait_s"].groupby(bands):
            shares = 100 * wait_s.notna().mean(), 100 * (wait_s <= 60).mean()
            waits = wait_s.median(), wait_s.quantile(0.9)
            rows.append(
                (*names, band, len(wait_s), load[wait_s.index].median(), *shares, *waits, unknown_pct)
            )
    columns = [*CLUSTER, "load_band_start_pct", "jobs", "median_load_pct", "started_pct", "immediate_pct"]
    return pd.DataFrame(rows, columns=[*columns, "median_wait_s", "p90_wait_s", "unknown_pct"])


def failures_by_age(raw: Path, in_trace: str | None = None, preempted_fails: bool = False) -> pd.DataFrame:
    rows = []
    jobs = jobs_in(raw, in_trace)
    failed_jobs = jobs[jobs["status"].isin(["failed", *(["preempted"] if preempted_fails else [])])]
    for trace, failed in failed_jobs.groupby("trace"):
        covered = failed[failed["run_s"].notna()]
        for within_s in AGES_S:
            early = covered[covered["run_s"] <= within_s]
            held_gpu_h = covered["held_gpu_s"].sum(min_count=1) / HOUR_S
            lost_gpu_h = early["held_gpu_s"].sum() / HOUR_S if covered["held_gpu_s"].count() else None
            shares = percent(len(covered), len(failed)), percent(len(early), len(covered))
            rows.append((trace, within_s, len(failed), *shares, lost_gpu_h, percent(lost_gpu_h, held_gpu_h)))
    columns = ["trace", "within_s", "failed_jobs", "covered_pct", "failed_within_pct"]
    return pd.DataFrame(rows, columns=[*columns, "lost_gpu_h", "lost_gpu_h_pct"])


def job_pairs(jobs: pd.DataFrame, owner: str) -> pd.DataFrame:
    """Return the jobs of one trace that have a previous job of the same owner, with its outcome."""
    known = jobs[jobs["status"].isin(OUTCOMES)].dropna(subset=["submit_s", owner])
    known = known.sort_values(["submit_s", "job_id"])
    previous = known.groupby(["cluster", owner], dropna=False)[["status", "submit_s"]].shift()
    pairs = known.assign(previous=previous["status"], gap_s=known["submit_s"] - previous["submit_s"])
    pairs["has_failed"] = pairs["status"] == "failed"
    # Without the previous job, each of the owner's other jobs is as likely to follow.
    by_owner = pairs.groupby(["cluster", owner], dropna=False)["has_failed"]
    others = by_owner.transform("sum") - (pairs["previous"] == "failed")
    pairs["expected"] = others / (by_owner.transform("size") - 1)
    return pairs.dropna(subset="previous")


def failure_repeats(
    raw: Path, in_trace: str | None = None, per: str = "user", within_s: float = math.inf
) -> pd.DataFrame:
    """Return how often a job fails by the outcome of the previous job of its owner.

    `test_intervals.py` compares the intervals.
    """
    rows = []
    for trace, jobs in jobs_in(raw, in_trace).groupby("trace"):
        pairs = job_pairs(jobs, f"{per}_id")
        unknown_pct = percent(len(jobs) - len(pairs), len(jobs))
        pairs = pairs[pairs["gap_s"] <= within_s]
        baseline_pct = 100 * pairs["has_failed"].mean()
        for outcome, following in pairs.groupby("previous"):
            failed_pct, expected_pct = 100 * following[["has_failed", "expected"]].mean()
            times = [failed_pct / pct if pct else None for pct in (baseline_pct, expected_pct)]
            row = (trace, outcome, len(following), failed_pct, baseline_pct, times[0], expected_pct, times[1])
            rows.append((*row, unknown_pct))
    columns = ["trace", "previous_outcome", "jobs", "failed_pct", "baseline_failed_pct", "times_baseline"]
    return pd.DataFrame(rows, columns=[*columns, "expected_failed_pct", "times_expected", "unknown_pct"])


WITH_MACHINE_CPUS = {"asi": asi, "openb": openb, "pai": pai, "spot": spot}


def machine_cpus_per_gpu(raw: Path, trace: str) -> float | None:
    """Return the CPU cores per GPU of the machines that have GPUs."""
    if trace not in WITH_MACHINE_CPUS:
        return None
    machines = WITH_MACHINE_CPUS[trace].cluster_capacity(raw)
    return machines["cpus"].sum() / machines["gpus"].sum()


def cpus_per_gpu(raw: Path, in_trace: str | None = None) -> pd.DataFrame:
    rows = []
    for trace, jobs in jobs_in(raw, in_trace).groupby("trace"):
        cpus = jobs["requested_cpus"].astype(float)
        gpus = jobs["requested_gpus"].where(cpus.notna())
        if cpus.count():
            row = {"trace": trace, "jobs": len(jobs), "covered_pct": percent(cpus.count(), len(jobs))}
            row |= {name: (cpus / gpus).quantile(share) for name, share in CPU_QUANTILES.items()}
            row |= {"cpus_per_gpu": cpus.sum() / gpus.sum()}
            rows.append(row | {"capacity_cpus_per_gpu": machine_cpus_per_gpu(raw, trace)})
    return pd.DataFrame(rows)


def correlation(hourly: np.ndarray, lag: int) -> float | None:
    """Return the autocorrelation of complete hours; None for less than twice the lag."""
    if len(hourly) < 2 * lag or not np.ptp(hourly):
        return None
    distances = hourly - hourly.mean()
    return float((distances[lag:] * distances[:-lag]).sum() / (distances**2).sum())


def arrival_burstiness(raw: Path, in_trace: str | None = None, burst_s: float = 60) -> pd.DataFrame:
    """Count jobs in the complete hours between the first and the last submission of a cluster."""
    rows = []
    for names, jobs in jobs_in(raw, in_trace).groupby(CLUSTER, dropna=False):
        known = jobs[jobs["is_left_censored"].eq(False)].dropna(subset="submit_s")
        counted = known[hour_of(known["submit_s"]) >= first_hour(str(names[0]), None)]
        if counted.empty:
            continue
        submit_s = counted["submit_s"]
        edges = (
            np.arange(math.ceil(submit_s.min() / HOUR_S), math.floor(submit_s.max() / HOUR_S) + 1) * HOUR_S
        )
        inside = submit_s[(submit_s >= edges[0]) & (submit_s < edges[-1])] if len(edges) > 1 else submit_s[:0]
        hourly = np.histogram(inside, edges)[0] if len(inside) else np.array([])
        of_users = counted.dropna(subset="user_id").sort_values("submit_s")
        user_gaps_s = of_users.groupby("user_id")["submit_s"].diff()
        per_hour = (None,) * 6
        if len(hourly):
            mean, deviation = hourly.mean(), hourly.std()
            lags = correlation(hourly, 24), correlation(hourly, 168)
            per_hour = (mean, hourly.max(), deviation**2 / mean, deviation / mean, *lags)
        rows.append(
            (
                *names,
                *(len(counted), len(known) - len(counted), max(len(edges) - 1, 0)),
                *per_hour,
                percent((user_gaps_s <= burst_s).sum(), len(of_users)),
                percent(len(of_users), len(counted)),
                percent(len(known), len(jobs)),
            )
        )
    columns = ["jobs", "skipped_jobs", "hours", "mean_hourly_jobs", "max_hourly_jobs", "dispersion"]
    columns += ["cv_hourly_jobs", "autocorrelation_24h", "autocorrelation_168h"]
    columns += ["user_burst_pct", "with_user_pct", "with_submission_pct"]
    return pd.DataFrame(rows, columns=[*CLUSTER, *columns])


VIEWS: dict[str, tuple] = {}
OF_HOUR = [*CLUSTER, "hour"]
OF_BAND = [*CLUSTER, "load_band_start_pct"]
OF_AGE = ["trace", "within_s"]
OF_OUTCOME = ["trace", "previous_outcome"]
NO_BOUNDS = "select * exclude (low_pct, high_pct, effective_units)"
QUERIES = {
    "unified.idle_while_queued()": (without_placed_pct, (), OF_HOUR),
    "unified.idle_while_queued('openb', from_hour := 0)": (without_placed_pct, ("openb", 0), OF_HOUR),
    "unified.idle_while_queued_share()": (idle_while_queued_share, (), CLUSTER),
    "unified.turnaround_by_size()": (turnaround_by_size, (), None),
    "unified.turnaround_by_size('helios', bound_s := 60)": (turnaround_by_size, ("helios", 60), None),
    "unified.wait_by_load()": (wait_by_load, (), OF_BAND),
    "unified.failures_by_age()": (failures_by_age, (), OF_AGE),
    "unified.failures_by_age('acme', preempted_fails := true)": (failures_by_age, ("acme", True), OF_AGE),
    f"unified.failure_repeats() {NO_BOUNDS}": (failure_repeats, (), OF_OUTCOME),
    f"unified.failure_repeats(per := 'group') {NO_BOUNDS}": (failure_repeats, (None, "group"), OF_OUTCOME),
    f"unified.failure_repeats(within_s := 3600) {NO_BOUNDS}": (
        failure_repeats,
        (None, "user", 3600),
        OF_OUTCOME,
    ),
    "unified.arrival_burstiness()": (arrival_burstiness, (), CLUSTER),
    "unified.arrival_burstiness(in_trace := 'helios', burst_s := 600)": (
        arrival_burstiness,
        ("helios", 600),
        CLUSTER,
    ),
    "unified.cpus_per_gpu()": (cpus_per_gpu, (), ["trace"]),
}

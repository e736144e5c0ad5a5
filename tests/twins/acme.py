"""Acme's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. The module has the raw telemetry
as rows, then the views in the order of their dependencies, then the named queries, which read the frames of
the views and never the database.
"""

import csv
import datetime as dt
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

CURVES = Path(__file__).parents[2] / "ingest" / "traces" / "acme_curves.csv"
LOCAL = pd.Timedelta(hours=8)
INSTANT = "datetime64[us, UTC]"
FAILURES = ("FAILED", "TIMEOUT", "NODE_FAIL")


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def in_seconds(spans: pd.Series) -> pd.Series:
    return spans / pd.Timedelta(seconds=1)


# The raw telemetry.

METRIC_FILE = re.compile(r"(?P<metric>[A-Z_]+?)(?:-2023-[^/]*)?\.csv")
ADDRESS = r"(?P<node>\d{1,3}(?:\.\d{1,3}){3})"
GPU_NAME = re.compile(ADDRESS + r"(?:-(?P<gpu>\d))?")
NODE_NAME = re.compile(ADDRESS + r"(?:-mlx5_\d)?")
DEVICE = ["cluster", "node", "gpu"]
SERIES = ["cluster", "metric"]
NO_CELLS = pd.DataFrame(
    {name: pd.Series(dtype=str) for name in ("source_table", "cluster", "metric", "node", "device")}
    | {"gpu": pd.Series(dtype=float), "time": pd.Series(dtype=INSTANT)}
    | {"value": pd.Series(dtype=float)}
)


@lru_cache(maxsize=2)
def cells(raw: Path) -> pd.DataFrame:
    """Return every cell of the wide files, empty ones included, without lines whose time was already read."""
    files = (raw / "acme" / "data" / "utilization").glob("*/*.csv")
    read: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for path in sorted(files, key=lambda path: path.name):
        named = METRIC_FILE.fullmatch(path.name)
        if named and path.parent.name in ("seren", "kalos"):
            read.setdefault((path.parent.name, named["metric"]), []).append(wide_lines(path))
    frames = [
        as_rows(*series, lines) for series, pieces in read.items() for lines in drop_repeated_times(pieces)
    ]
    return pd.concat(frames, ignore_index=True) if frames else NO_CELLS


def wide_lines(path: Path) -> pd.DataFrame:
    """Return a file's lines by time. The columns keep repeated names, which pandas would rename."""
    with path.open(newline="") as file:
        names = next(csv.reader(file))
    numbered = list(range(len(names)))
    place = names.index("Time")
    lines = pd.read_csv(
        path,
        header=None,
        skiprows=1,
        names=numbered,
        dtype={number: str if number == place else float for number in numbered},
        keep_default_na=False,
        na_values=[""],
    )
    lines.index = pd.DatetimeIndex(pd.to_datetime(lines.pop(place), utc=True), name="time")
    lines.columns = names[:place] + names[place + 1 :]
    return lines


def drop_repeated_times(pieces: list[pd.DataFrame]) -> list[pd.DataFrame]:
    seen = pd.Series(np.concatenate([piece.index for piece in pieces])).duplicated().to_numpy()
    ends = np.cumsum([len(piece) for piece in pieces])
    return [piece[~seen[end - len(piece) : end]] for piece, end in zip(pieces, ends.tolist(), strict=True)]


def as_rows(cluster: str, metric: str, lines: pd.DataFrame) -> pd.DataFrame:
    is_of_node = metric.startswith("NODE_")
    rows = lines.reset_index().melt(id_vars="time", var_name="device", value_name="value")
    names = {name: (NODE_NAME if is_of_node else GPU_NAME).fullmatch(name) for name in lines.columns}
    parts = {name: match.groupdict() if match else {} for name, match in names.items()}
    gpus = {name: float(part["gpu"]) for name, part in parts.items() if part.get("gpu")}
    return pd.DataFrame(
        {
            "source_table": "node_metric" if is_of_node else "gpu_metric",
            "cluster": cluster,
            "metric": metric,
            "node": rows["device"].map({name: part.get("node") for name, part in parts.items()}),
            "gpu": rows["device"].map(gpus).astype(float),
            "device": rows["device"],
            "time": rows["time"],
            "value": rows["value"],
        }
    )


def attributed(raw: Path) -> pd.DataFrame:
    """Return the cells whose column names a device."""
    rows = cells(raw)
    return rows[rows["node"].notna()]


def sampled(raw: Path) -> pd.DataFrame:
    rows = attributed(raw)
    return rows[rows["value"].notna()]


def of_metric(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    return rows[rows["metric"] == metric].copy()


def grid(raw: Path, cluster: str, metric: str) -> list[pd.Timestamp]:
    """Return the sampling times of a metric in order."""
    rows = cells(raw)
    return sorted(rows.loc[(rows["cluster"] == cluster) & (rows["metric"] == metric), "time"].unique())


def distinct(rows: pd.DataFrame, names: list[str]) -> int:
    return len(rows[names].drop_duplicates())


@lru_cache(maxsize=2)
def server_samples(raw: Path) -> pd.DataFrame:
    frames = []
    for server_group in ("GPU_AB", "GPU_C", "CPU_D"):
        path = raw / "acme" / "data" / "utilization" / "ipmi" / f"{server_group}_Power.csv"
        if path.exists():
            frames.append(raw_frames.read_text_table(path.read_bytes()).assign(server_group=server_group))
    names = ["server_group", "Time", "Sys_Total_Power", "CPU_Power", "MEM_Power", "Memory_Power"]
    rows = pd.concat([pd.DataFrame(columns=names, dtype=object), *frames], ignore_index=True)
    rows["Time"] = pd.to_datetime(rows["Time"], utc=True)
    return raw_frames.with_numbers(rows, names[2:])


# Views of the jobs.


def duration_audit(raw: Path) -> pd.DataFrame:
    jobs = raw_frames.acme_job(raw)
    products = raw_frames.acme_jobs(raw).eval("duration * gpu_num - gpu_time").abs()
    queue_error = (jobs["published_queue_s"] - jobs["wait_s"]).abs()
    rule = jobs["duration_rule"]
    counted = pd.DataFrame(
        {
            "cluster": jobs["cluster"],
            "state": jobs["state"],
            "jobs": 1,
            "duration_is_run": rule == "end - start",
            "duration_is_turnaround": rule == "end - submit",
            "duration_is_both": rule == "both",
            "duration_is_neither": rule == "neither",
            "not_comparable": rule.isna(),
            "queue_is_wait": queue_error <= 0.5,
            "queue_differs": queue_error > 0.5,
            "gpu_time_is_product": products <= 0.5,
            "gpu_time_differs": products > 0.5,
        }
    )
    return counted.groupby(["cluster", "state"], dropna=False).sum().astype(int).reset_index()


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A running job is observed until the last time of its cluster. A job with an end only was withdrawn."""
    jobs, found = raw_frames.standard_jobs(raw, "acme"), raw_frames.acme_job(raw)
    times = found[["submit_time", "start_time", "end_time"]]
    trace_ends = times.max(axis=1).groupby(found["cluster"]).transform("max")
    is_running = found["state"] == "RUNNING"
    seen_s = found["run_s"].mask(is_running, (trace_ends - found["start_time"]).dt.total_seconds())
    return raw_frames.as_observed(
        jobs,
        observed_wait_s=jobs["wait_s"].fillna(jobs["end_s"] - jobs["submit_s"]),
        observed_start_s=jobs["submit_s"] + jobs["wait_s"],
        observed_run_s=seen_s,
        held_gpu_s=found["requested_gpus"] * seen_s,
        is_right_censored=is_running.astype(object).where(found["state"].notna() | found["end_time"].notna()),
        is_left_censored=False,
    )


# Views of the telemetry.


def gpu_memory_used(raw: Path) -> pd.DataFrame:
    rows = of_metric(sampled(raw), "FB_USED")
    rows["used_mib"] = rows["value"]
    rows["used_pct"] = 100 * rows["value"] / (80 * 1024)
    return rows[[*DEVICE, "time", "used_mib", "used_pct"]]


def gpu_memory_used_count(raw: Path) -> pd.DataFrame:
    counts = gpu_memory_used(raw).value_counts(["cluster", "used_mib", "used_pct"])
    return counts.rename("samples").reset_index()


def to_four_digits(values: pd.Series) -> pd.Series:
    """Round to four significant digits, halves away from 0, except whole numbers below a million."""
    sizes = values.abs()
    is_kept = (values % 1 == 0) & (sizes < 1e6)
    digits = 3 - np.floor(np.log10(sizes.where(~is_kept, 1)))
    more, fewer = 10.0 ** digits.clip(lower=0), 10.0 ** (-digits).clip(lower=0)
    rounded = np.floor(sizes / fewer * more + 0.5) / more * fewer
    return values.where(is_kept, np.sign(values) * rounded)


@lru_cache(maxsize=2)
def metric_histogram(raw: Path) -> pd.DataFrame:
    rows = sampled(raw)
    # Adding 0.0 turns -0.0 into 0.0.
    rounded = rows.assign(value=to_four_digits(rows["value"].astype(float)) + 0.0)
    return rounded.groupby([*SERIES, "value"]).size().rename("samples").reset_index()


def metric_cdf(raw: Path) -> pd.DataFrame:
    """Compare counts as integers, so that percentiles do not depend on rounding."""
    rows = []
    for (cluster, metric), values in metric_histogram(raw).groupby(SERIES):
        samples = int(values["samples"].sum())
        parts = (values["samples"].cumsum() * 200).tolist()
        for half_percent in range(201):
            value = values["value"].iloc[bisect_left(parts, half_percent * samples)]
            rows.append((cluster, metric, half_percent / 2, value, samples))
    return pd.DataFrame(rows, columns=[*SERIES, "percentile", "value", "samples"])


IN_PERCENT = (
    "GPU_UTIL",
    "MEM_COPY_UTIL",
    "SM_ACTIVE",
    "SM_OCCUPANCY",
    "PIPE_TENSOR_ACTIVE",
    "DRAM_ACTIVE",
    "NODE_CPU_UTILIZATION",
    "NODE_MEMORY_UTILIZATION",
)


def utilization_hourly(raw: Path) -> pd.DataFrame:
    rows = attributed(raw)
    rows = rows[rows["metric"].isin(list(IN_PERCENT))]
    rows = rows.assign(hour=rows["time"].dt.floor("h"))
    hours = []
    for key, mine in rows.groupby([*SERIES, "hour"]):
        values = mine[mine["value"].notna()]
        in_percent = values["value"]
        counts = distinct(values, ["node", "gpu"]), len(values), len(mine) - len(values)
        zero_pct = percent((in_percent == 0).sum(), len(values))
        hours.append((*key, *counts, in_percent.mean(), in_percent.max(), zero_pct))
    names = ["hour", "devices", "samples", "empty_samples", "mean_pct", "max_pct", "zero_pct"]
    return pd.DataFrame(hours, columns=[*SERIES, *names]).astype({"hour": INSTANT})


def power_hourly(raw: Path) -> pd.DataFrame:
    hours = []
    power = of_metric(attributed(raw), "POWER_USAGE")
    for cluster, rows in power.groupby("cluster"):
        times = pd.Series(grid(raw, cluster, "POWER_USAGE"))
        holds = in_seconds(times.shift(-1) - times).clip(upper=300).fillna(0)
        covered = holds.groupby(times.dt.floor("h")).sum()
        held = dict(zip(times, holds, strict=True))
        rows["joules"] = rows["value"] * rows["time"].map(held)
        for hour, mine in rows.groupby(rows["time"].dt.floor("h")):
            values = mine[mine["value"].notna()]
            kwh = values["joules"].sum(min_count=1) / 3.6e6
            means = values["value"].mean(), covered[hour], kwh
            hours.append((cluster, hour, distinct(values, ["node", "gpu"]), len(values), *means))
    names = ["cluster", "hour", "gpus", "samples", "mean_power_w", "covered_s", "energy_kwh"]
    return pd.DataFrame(hours, columns=names).astype({"hour": INSTANT})


def tdp_exceedance(raw: Path) -> pd.DataFrame:
    clusters = []
    for cluster, rows in of_metric(sampled(raw), "POWER_USAGE").groupby("cluster"):
        over = int((rows["value"] > 400).sum())
        clusters.append((cluster, len(rows), over, percent(over, len(rows)), rows["value"].max()))
    names = ["cluster", "samples", "over_tdp_samples", "over_tdp_pct", "max_power_w"]
    return pd.DataFrame(clusters, columns=names)


def server_power_share(raw: Path) -> pd.DataFrame:
    rows = server_samples(raw).copy()
    total, cpu = rows["Sys_Total_Power"], rows["CPU_Power"]
    memory = rows["MEM_Power"].fillna(rows["Memory_Power"])
    rows["has_memory_power"] = memory.notna()
    rows["memory"] = memory
    rows["rest"] = (100 * (total - cpu - memory.fillna(0)) / total).where(total > 0)
    columns = {
        "samples": ("Time", "size"),
        "mean_total_w": ("Sys_Total_Power", "mean"),
        "median_total_w": ("Sys_Total_Power", "median"),
        "max_total_w": ("Sys_Total_Power", "max"),
        "mean_cpu_w": ("CPU_Power", "mean"),
        "mean_memory_w": ("memory", "mean"),
        "mean_rest_pct": ("rest", "mean"),
        "median_rest_pct": ("rest", "median"),
    }
    return rows.groupby(["server_group", "has_memory_power"]).agg(**columns).reset_index()


def xid_onset(raw: Path) -> pd.DataFrame:
    """An error is new if its device had no error at the previous sampling time of the cluster."""
    onsets = []
    for (cluster, node, gpu), rows in of_metric(attributed(raw), "XID_ERRORS").groupby(DEVICE, dropna=False):
        values = dict(zip(rows["time"], rows["value"], strict=True))
        first = min(values)
        before = None
        for time in grid(raw, cluster, "XID_ERRORS"):
            value = values.get(time, math.nan)
            if value > 0 and time != first and not (before is not None and before > 0):
                onsets.append((cluster, node, gpu, time, int(value)))
            before = value
    return pd.DataFrame(onsets, columns=[*DEVICE, "onset_time", "xid"])


BURST = ["cluster", "burst_start", "burst_end", "onsets", "gpus", "nodes", "most_frequent_xid", "xids"]


def xid_burst(raw: Path) -> pd.DataFrame:
    bursts = []
    for cluster, onsets in xid_onset(raw).groupby("cluster"):
        in_order = onsets.sort_values("onset_time", kind="stable")
        is_first = in_order["onset_time"].diff() > pd.Timedelta(seconds=60)
        for _, mine in in_order.groupby(is_first.cumsum()):
            codes = mine["xid"].value_counts()
            span = mine["onset_time"].min(), mine["onset_time"].max()
            sizes = len(mine), distinct(mine, ["node", "gpu"]), mine["node"].nunique()
            bursts.append((cluster, *span, *sizes, codes[codes == codes.max()].index.min(), len(codes)))
    return pd.DataFrame(bursts, columns=BURST)


PUBLISHED_DEVICES = {
    ("gpu_metric", "seren"): 2_288,
    ("gpu_metric", "kalos"): 2_416,
    ("node_metric", "seren"): 286,
    ("node_metric", "kalos"): 302,
}


COMPARED_BY_DAY = (
    *("GPU_UTIL", "MEM_COPY_UTIL", "SM_ACTIVE", "SM_OCCUPANCY", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE"),
    *("NODE_IB_SEND", "NODE_IB_RECEIVE"),
)


def telemetry_time(raw: Path) -> pd.DataFrame:
    rows = cells(raw)
    has_value, has_node = rows["value"].notna(), rows["node"].notna()
    rows = rows[["cluster", "source_table", "metric", "time"]].assign(
        cells=1, samples=has_value, device_cells=has_node, device_samples=has_value & has_node
    )
    return rows.groupby(["cluster", "source_table", "metric", "time"], as_index=False).sum()


def device_daily(raw: Path) -> pd.DataFrame:
    rows = attributed(raw)
    rows = rows[rows["metric"].isin(COMPARED_BY_DAY)]
    by = [*SERIES, "node", "gpu", (rows["time"] + LOCAL).dt.date.rename("day")]
    return pd.DataFrame(
        {
            "cluster": cluster,
            "metric": metric,
            "node": node,
            "gpu": gpu,
            "day": day,
            "first_time": cells_of["time"].min(),
            "last_time": cells_of["time"].max(),
            "cells": len(cells_of),
            "samples": int(cells_of["value"].notna().sum()),
            "zero_samples": int((cells_of["value"] == 0).sum()),
            "total": math.fsum(cells_of["value"].dropna()) if cells_of["value"].notna().any() else None,
            "max_value": cells_of["value"].max(),
        }
        for (cluster, metric, node, gpu, day), cells_of in rows.groupby(by, dropna=False)
    )


def telemetry_coverage(raw: Path) -> pd.DataFrame:
    coverage = []
    for (source_table, *series), rows in cells(raw).groupby(["source_table", *SERIES]):
        cluster, metric = series
        named = rows[rows["node"].notna()]
        devices = distinct(named, DEVICE)
        published = PUBLISHED_DEVICES[source_table, cluster]
        coverage.append(
            {
                "cluster": cluster,
                "source_table": source_table,
                "metric": metric,
                **times_covered(rows["time"]),
                "devices": devices,
                "unattributed_devices": rows.loc[rows["node"].isna(), "device"].nunique(),
                "samples": int(rows["value"].notna().sum()),
                "empty_samples": int(rows["value"].isna().sum()),
                "published_devices": published,
                "devices_pct": percent(devices, published),
            }
        )
    for server_group, rows in server_samples(raw).groupby("server_group"):
        coverage.append(
            {
                "cluster": "seren",
                "source_table": "server_power",
                "metric": server_group,
                **times_covered(rows["Time"]),
                "devices": None,
                "unattributed_devices": None,
                "samples": len(rows),
                "empty_samples": 0,
                "published_devices": None,
                "devices_pct": None,
            }
        )
    return pd.DataFrame(coverage)


def times_covered(times: pd.Series) -> dict[str, object]:
    in_order = pd.Series(sorted(times.unique()))
    gaps = in_seconds(in_order.diff().dropna())
    return {
        "first_time": in_order.min(),
        "last_time": in_order.max(),
        "times": len(in_order),
        "median_gap_s": gaps.median(),
        "max_gap_s": gaps.max(),
    }


def job_telemetry_overlap(raw: Path) -> pd.DataFrame:
    clusters = []
    telemetry = attributed(raw)
    for cluster, jobs in raw_frames.acme_job(raw).groupby("cluster"):
        mine = telemetry[telemetry["cluster"] == cluster]
        first, last = mine["time"].min(), mine["time"].max()
        inside = int(((jobs["start_time"] < last) & (jobs["end_time"] > first)).sum())
        failed = jobs[jobs["state"] == "FAILED"]
        errors = of_metric(mine, "XID_ERRORS")["time"]
        in_errors = failed["end_time"].between(errors.min(), errors.max())
        clusters.append(
            {
                "cluster": cluster,
                "jobs": len(jobs),
                "first_submit": jobs["submit_time"].min(),
                "last_end": jobs["end_time"].max(),
                "telemetry_first": first,
                "telemetry_last": last,
                "jobs_in_telemetry": inside,
                "jobs_in_telemetry_pct": percent(inside, len(jobs)),
                "failed_jobs": len(failed),
                "failed_jobs_in_xid": int(in_errors.sum()),
                "joinable_on": "cluster and time",
                "not_joinable_on": "node: no job names one",
            }
        )
    return pd.DataFrame(clusters)


# Named queries on the jobs.


def gpu_jobs(raw: Path) -> pd.DataFrame:
    jobs = raw_frames.acme_job(raw)
    return jobs[jobs["requested_gpus"] > 0]


def gpu_jobs_on(raw: Path, on_cluster: str) -> pd.DataFrame:
    jobs = gpu_jobs(raw)
    return jobs[jobs["cluster"] == on_cluster]


def shares(jobs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return jobs and GPU-hours of each group, also as a percentage of the sum over all groups."""
    groups = jobs.groupby(by, dropna=False)
    rows = pd.DataFrame({"jobs": groups.size(), "gpu_h": groups["gpu_h"].sum(min_count=1)})
    gpu_h = jobs["gpu_h"].sum()
    rows.insert(1, "jobs_pct", 100 * rows["jobs"] / len(jobs))
    rows["gpu_h_pct"] = 100 * rows["gpu_h"] / gpu_h if gpu_h else math.nan
    return rows.reset_index()


def type_shares(raw: Path, on_cluster: str) -> pd.DataFrame:
    rows = shares(gpu_jobs_on(raw, on_cluster), ["workload_type"])
    return rows.sort_values(["gpu_h", "workload_type"], ascending=[False, True])


def jobs_with_outcome(raw: Path, on_cluster: str, gpu_only: bool, preempted_fails: bool) -> pd.DataFrame:
    """Return a cluster's jobs with their outcome. Preempted jobs count as failed if `preempted_fails`."""
    jobs = raw_frames.acme_job(raw)
    jobs = jobs[(jobs["cluster"] == on_cluster) & (jobs["requested_gpus"] >= int(gpu_only))]
    preempted = "failed" if preempted_fails else "preempted"
    return jobs.assign(outcome=jobs["outcome"].mask(jobs["state"] == "PREEMPTED", preempted))


def states(
    raw: Path, on_cluster: str, gpu_only: bool, by_outcome: bool = False, preempted_fails: bool = False
) -> pd.DataFrame:
    jobs = jobs_with_outcome(raw, on_cluster, gpu_only, preempted_fails)
    rows = shares(jobs, ["outcome" if by_outcome else "state"])
    rows = rows.rename(columns={rows.columns[0]: "final_state"})
    rows["is_unknown"] = rows["final_state"].isna()
    order = ["is_unknown", "jobs", "final_state"]
    return rows.sort_values(order, ascending=[True, False, True]).drop(columns="is_unknown")


def type_state_shares(raw: Path, on_cluster: str, gpu_only: bool, preempted_fails: bool) -> pd.DataFrame:
    jobs = jobs_with_outcome(raw, on_cluster, gpu_only, preempted_fails)
    rows = shares(jobs, ["workload_type", "outcome"])
    return rows.sort_values(["workload_type", "outcome"])


def gpu_count_cdf(raw: Path, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for cluster, jobs in gpu_jobs(raw).groupby("cluster"):
        gpus, gpu_h = jobs["requested_gpus"], jobs["gpu_h"]
        for at_most in sorted(gpus.unique()) if every_value else [2**power for power in range(12)]:
            is_small, is_large = gpus <= at_most, gpus >= at_most
            counts = int(is_small.sum()), percent(is_small.sum(), len(jobs))
            hours = (percent(gpu_h[which].sum(), gpu_h.sum()) for which in (is_small, is_large))
            rows.append((cluster, at_most, *counts, *hours))
    names = ["cluster", "at_most_gpus", "jobs", "jobs_pct", "gpu_h_pct", "larger_or_equal_gpu_h_pct"]
    return pd.DataFrame(rows, columns=names)


def counts_up_to(values: pd.Series, at: list[int]) -> list[tuple[object, ...]]:
    known = values.dropna()
    return [(most, int((known <= most).sum()), percent((known <= most).sum(), len(known))) for most in at]


def thinned(values: pd.Series) -> list[float]:
    """Return the smallest value in each fifth of a percent of the values."""
    shares = values.value_counts(normalize=True).sort_index().cumsum() * 500
    fifths = shares.round(6).apply(math.floor)
    return list(fifths.index[~fifths.duplicated(keep="first")])


def duration_cdf(raw: Path, by_publisher: bool, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for cluster, jobs in gpu_jobs(raw).groupby("cluster"):
        runs = jobs["published_duration_s" if by_publisher else "run_s"]
        at = thinned(runs) if every_value else [2**power for power in range(21)]
        rows += [(cluster, *counts) for counts in counts_up_to(runs, at)]
    return pd.DataFrame(rows, columns=["cluster", "run_s", "jobs", "jobs_pct"])


def wait_cdf(raw: Path, on_cluster: str, by_publisher: bool, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for workload_type, jobs in gpu_jobs_on(raw, on_cluster).groupby("workload_type", dropna=False):
        waits = jobs["published_queue_s" if by_publisher else "wait_s"]
        at = thinned(waits) if every_value else [0, *(2**power for power in range(18))]
        unknown = waits.isna().sum()
        rows += [(workload_type, at_s, jobs, unknown, pct) for at_s, jobs, pct in counts_up_to(waits, at)]
    return pd.DataFrame(rows, columns=["workload_type", "wait_s", "jobs", "jobs_without_wait", "jobs_pct"])


SIZES = {
    "1": (1, 1),
    "2 to 7": (2, 7),
    "8": (8, 8),
    "9 to 63": (9, 63),
    "64 to 511": (64, 511),
    "512 and more": (512, math.inf),
}


def wait_by_size(raw: Path, by_publisher: bool) -> pd.DataFrame:
    rows = []
    for cluster, jobs in gpu_jobs(raw).groupby("cluster"):
        for gpus, (least, most) in SIZES.items():
            mine = jobs[jobs["requested_gpus"].between(least, most)]
            waits = mine["published_queue_s" if by_publisher else "wait_s"]
            row = {
                "cluster": cluster,
                "gpu_band": gpus,
                "jobs": waits.count(),
                "jobs_without_wait": waits.isna().sum(),
                "mean_wait_s": waits.mean(),
            }
            rows.append(row | raw_frames.percentiles(waits, "wait_s", raw_frames.BOX_PERCENTILES))
    return pd.DataFrame(rows)


def failures(raw: Path, gpu_only: bool, preempted_fails: bool) -> pd.DataFrame:
    rows = []
    states = [*FAILURES, "PREEMPTED"] if preempted_fails else list(FAILURES)
    all_jobs = gpu_jobs(raw) if gpu_only else raw_frames.acme_job(raw)
    for cluster, jobs in all_jobs.groupby("cluster"):
        failed = jobs[jobs["state"].isin(states)]
        gpu_h = failed["published_gpu_h"].sum()
        shares_of_all = percent(len(failed), len(jobs)), percent(gpu_h, jobs["published_gpu_h"].sum())
        rows.append((cluster, len(failed), shares_of_all[0], gpu_h, shares_of_all[1]))
    names = ["cluster", "failed_jobs", "failed_jobs_pct", "failed_gpu_h", "failed_gpu_h_pct"]
    return pd.DataFrame(rows, columns=names)


def short_jobs(raw: Path, under_s: float, by_publisher: bool) -> pd.DataFrame:
    lasted_s = "published_duration_s" if by_publisher else "run_s"
    rows = []
    for cluster, jobs in raw_frames.acme_job(raw).groupby("cluster"):
        counts = []
        for mine in (jobs[jobs["requested_gpus"] > 0], jobs):
            short = int((mine[lasted_s] < under_s).sum())
            counts += [len(mine), short, percent(short, len(mine))]
        rows.append((cluster, *counts))
    names = ["gpu_jobs", "short_jobs", "short_pct", "all_jobs", "all_short_jobs", "all_short_pct"]
    return pd.DataFrame(rows, columns=["cluster", *names])


def arrivals(raw: Path, on_cluster: str) -> pd.DataFrame:
    times = gpu_jobs_on(raw, on_cluster)["submit_time"].sort_values()
    gaps = in_seconds(times.diff().dropna())
    seconds, hours = times.dt.floor("s"), times.dt.floor("h")
    hours_between = (hours.max() - hours.min()) / pd.Timedelta(hours=1) + 1
    row = {
        "jobs": len(times),
        "first_submit": times.min(),
        "last_submit": times.max(),
        "mean_gap_s": gaps.mean(),
        "cv_gap": gaps.std(ddof=0) / gaps.mean() if gaps.mean() else None,
        "same_second_pct": percent(seconds.duplicated(keep=False).sum(), len(times)),
        "busiest_hour_jobs": hours.value_counts().max(),
        "mean_hour_jobs": len(times) / hours_between,
    }
    return pd.DataFrame([row])


def arrivals_by_hour(raw: Path, on_cluster: str) -> pd.DataFrame:
    local = gpu_jobs_on(raw, on_cluster)["submit_time"] + LOCAL
    counts = pd.Series(1, index=[local.dt.hour, local.dt.day_of_week + 1]).groupby(level=[0, 1]).sum()
    rows = [(hour, day, counts.get((hour, day), 0)) for hour in range(24) for day in range(1, 8)]
    return pd.DataFrame(rows, columns=["hour_of_day", "weekday", "jobs"])


def user_concentration(raw: Path, *cuts: float) -> pd.DataFrame:
    rows = []
    for top_pct, (cluster, jobs) in product(cuts, gpu_jobs(raw).groupby("cluster")):
        groups = jobs.groupby("user_id")
        users = pd.DataFrame({"jobs": groups.size(), "gpu_h": groups["gpu_h"].sum(min_count=1)})
        users = users.reset_index()
        top_users = math.ceil(len(users) * top_pct / 100)
        tops = []
        for name in ("jobs", "gpu_h"):
            ranked = users.sort_values([name, "user_id"], ascending=[False, True])[name]
            tops.append(percent(ranked.head(top_users).sum(), ranked.sum()))
        rows.append((cluster, len(users), top_pct, top_users, *tops, int((users["jobs"] == 1).sum())))
    names = ["users", "heaviest_pct", "top_users", "top_jobs_pct", "top_gpu_h_pct", "single_job_users"]
    return pd.DataFrame(rows, columns=["cluster", *names])


def totals(raw: Path, by_publisher: bool, with_total: bool) -> pd.DataFrame:
    gpu_h, lasted_s = ("published_gpu_h", "published_duration_s") if by_publisher else ("gpu_h", "run_s")
    every = raw_frames.acme_job(raw)
    rows = []
    for cluster in ("seren", "kalos", *(["all"] if with_total else [])):
        jobs = every if cluster == "all" else every[every["cluster"] == cluster]
        on_gpus = jobs[jobs["requested_gpus"] > 0]
        rows.append(
            {
                "cluster": cluster,
                "jobs": len(jobs),
                "gpu_jobs": len(on_gpus),
                "cpu_jobs": int((jobs["requested_gpus"] == 0).sum()),
                "gpu_h": on_gpus[gpu_h].sum(),
                "mean_gpus": on_gpus["requested_gpus"].mean(),
                "median_run_s": on_gpus[lasted_s].median(),
                "users": on_gpus["user_id"].nunique(),
            }
        )
    return pd.DataFrame(rows)


OUTCOMES = {"complete": "completed", "cancel": "cancelled", "fail": "failed"}
Measure = Callable[[pd.DataFrame], float]


def share_of_jobs(outcome: str) -> Measure:
    return lambda jobs: (jobs["outcome"] == outcome).mean()


def share_of_gpu_time(outcome: str) -> Measure:
    return lambda jobs: (
        jobs.loc[jobs["outcome"] == outcome, "published_gpu_s"].sum() / jobs["published_gpu_s"].sum()
    )


AVERAGES: dict[str, Measure] = {
    "avg_run_time": lambda jobs: jobs["published_duration_s"].mean(),
    "avg_que_time": lambda jobs: jobs["published_queue_s"].mean(),
    "med_run_time": lambda jobs: jobs["published_duration_s"].median(),
    "med_que_time": lambda jobs: jobs["published_queue_s"].median(),
}
RATES = {f"{verb}_rate": share_of_jobs(outcome) for verb, outcome in OUTCOMES.items()}
ON_GPU_JOBS: dict[str, Measure] = {
    "avg_run_time_gpu": AVERAGES["avg_run_time"],
    "avg_que_time_gpu": AVERAGES["avg_que_time"],
    "avg_gpu_num": lambda jobs: jobs["requested_gpus"].mean(),
    "med_run_time_gpu": AVERAGES["med_run_time"],
    "med_que_time_gpu": AVERAGES["med_que_time"],
    "med_gpu_num": lambda jobs: jobs["requested_gpus"].median(),
    "max_run_time_gpu": lambda jobs: jobs["published_duration_s"].max(),
    "max_gpu": lambda jobs: jobs["requested_gpus"].max(),
    **{f"{name}_gpu": rate for name, rate in RATES.items()},
    **{f"{verb}_rate_gpu_time": share_of_gpu_time(outcome) for verb, outcome in OUTCOMES.items()},
}
ON_CPU_JOBS = {f"{name}_cpu": measure for name, measure in (AVERAGES | RATES).items()}


def summary_against_jobs(raw: Path) -> pd.DataFrame:
    summary = raw_frames.acme_summary(raw)
    summary = summary.assign(id=summary["id"].str.lower()).set_index("id")
    every = raw_frames.acme_job(raw)
    rows = []
    for cluster in ("seren", "kalos"):
        jobs = every[every["cluster"] == cluster]
        on_gpus, on_cpus = jobs[jobs["requested_gpus"] > 0], jobs[jobs["requested_gpus"] == 0]
        measured = {"job_num": len(jobs), "cpu_job_num": len(on_cpus), "gpu_job_num": len(on_gpus)}
        measured |= {name: measure(on_gpus) for name, measure in ON_GPU_JOBS.items()}
        measured |= {name: measure(on_cpus) for name, measure in ON_CPU_JOBS.items()}
        for measure, from_jobs in measured.items():
            from_summary = summary.at[cluster, measure]
            rows.append((cluster, measure, from_summary, from_jobs, from_jobs - from_summary))
    return pd.DataFrame(rows, columns=["cluster", "measure", "from_summary", "from_jobs", "difference"])


# Named queries on the telemetry.


def gpu_series(raw: Path, on_cluster: str, on_metric: str) -> pd.DataFrame:
    rows = of_metric(attributed(raw), on_metric)
    return rows[(rows["cluster"] == on_cluster) & (rows["source_table"] == "gpu_metric")]


def gpu_day(
    raw: Path, on_cluster: str, on_metric: str, on_node: str | None, on_gpu: int, on_day: date | None
) -> pd.DataFrame:
    rows = gpu_series(raw, on_cluster, on_metric)
    days = (rows["time"] + LOCAL).dt.date
    node, day = on_node or rows["node"].min(), on_day or days.min()
    rows = rows[(rows["node"] == node) & (rows["gpu"] == on_gpu) & (days == day)]
    return rows.sort_values("time")[["time", "value"]]


def fleet_hour(raw: Path, on_cluster: str, on_metric: str, from_time: str | None) -> pd.DataFrame:
    rows = gpu_series(raw, on_cluster, on_metric)
    start = pd.Timestamp(from_time) if from_time else rows["time"].min().ceil("h")
    rows = rows[(rows["time"] >= start) & (rows["time"] < start + pd.Timedelta(hours=1))]
    columns = {
        "samples": ("value", "count"),
        "empty_samples": ("value", lambda values: values.isna().sum()),
        "mean_value": ("value", "mean"),
        "max_value": ("value", "max"),
    }
    return rows.groupby(["node", "gpu"], dropna=False).agg(**columns).reset_index()


def weighted_mean(rows: pd.DataFrame, name: str) -> float:
    samples = rows["samples"].sum()
    return (rows[name].fillna(0) * rows["samples"]).sum() / samples if samples else math.nan


def utilization_by_hour_of_day(raw: Path, on_metric: str) -> pd.DataFrame:
    hours = of_metric(utilization_hourly(raw), on_metric)
    rows = [
        (cluster, hour, weighted_mean(mine, "mean_pct"))
        for (cluster, hour), mine in hours.groupby(["cluster", (hours["hour"] + LOCAL).dt.hour])
    ]
    return pd.DataFrame(rows, columns=["cluster", "hour_of_day", "mean_pct"])


def metric_percentiles(raw: Path, on_metric: str, every_value: bool = False) -> pd.DataFrame:
    rows = of_metric(metric_cdf(raw), on_metric)
    if every_value:
        return rows[[*SERIES, "percentile", "value"]]
    rows = rows[rows["percentile"].isin([0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100])]
    return rows[[*SERIES, "percentile", "value"]]


def share_where(
    raw: Path, on_metric: str, is_meant: Callable[[pd.Series], pd.Series], word: str
) -> pd.DataFrame:
    rows = []
    for (cluster, metric), values in of_metric(metric_histogram(raw), on_metric).groupby(SERIES):
        samples = values["samples"].sum()
        meant = values.loc[is_meant(values["value"]), "samples"].sum()
        rows.append((cluster, metric, samples, meant, percent(meant, samples)))
    return pd.DataFrame(rows, columns=[*SERIES, "samples", f"{word}_samples", f"{word}_pct"])


def share_over(raw: Path, on_metric: str, over_value: float) -> pd.DataFrame:
    return share_where(raw, on_metric, lambda values: values > over_value, "over")


def share_at(raw: Path, on_metric: str, at_value: float) -> pd.DataFrame:
    return share_where(raw, on_metric, lambda values: values == at_value, "at")


def memory_used_percentiles(raw: Path) -> pd.DataFrame:
    rows = [
        (cluster, used.median(), percent((used > 75).sum(), len(used)))
        for cluster, used in gpu_memory_used(raw).groupby("cluster")["used_pct"]
    ]
    return pd.DataFrame(rows, columns=["cluster", "median_used_pct", "over_75_pct"])


def power_by_day(raw: Path) -> pd.DataFrame:
    hours = power_hourly(raw)
    rows = [
        (cluster, day, mine["energy_kwh"].sum(min_count=1), weighted_mean(mine, "mean_power_w"))
        for (cluster, day), mine in hours.groupby(["cluster", (hours["hour"] + LOCAL).dt.date])
    ]
    return pd.DataFrame(rows, columns=["cluster", "day", "energy_kwh", "mean_power_w"])


def server_power_by_group(raw: Path) -> pd.DataFrame:
    return server_power_share(raw).sort_values(["server_group", "has_memory_power"])


def xid_counts(raw: Path, on_cluster: str) -> pd.DataFrame:
    onsets = xid_onset(raw)
    rows = [
        (xid, len(mine), distinct(mine, ["node", "gpu"]))
        for xid, mine in onsets[onsets["cluster"] == on_cluster].groupby("xid")
    ]
    counts = pd.DataFrame(rows, columns=["xid", "onsets", "gpus"])
    return counts.sort_values(["onsets", "xid"], ascending=[False, True])


def xid_bursts(raw: Path, min_gpus: int) -> pd.DataFrame:
    bursts = xid_burst(raw)
    return bursts[bursts["gpus"] >= min_gpus].sort_values(["cluster", "burst_start"])


def coverage(raw: Path) -> pd.DataFrame:
    return telemetry_coverage(raw).sort_values(["cluster", "source_table", "metric"])


# The metric of each curve, and the factor from the unit of the metric to that of the curve.
CURVE_METRICS = {
    "gpu_power_w": ("POWER_USAGE", 1),
    "gpu_temp_c": ("GPU_TEMP", 1),
    "memory_temp_c": ("MEMORY_TEMP", 1),
    "gpu_util_pct": ("GPU_UTIL", 1),
    "gpu_memory_used_pct": ("FB_USED", 1 / 819.2),
    "sm_active_pct": ("SM_ACTIVE", 1),
    "sm_occupancy_pct": ("SM_OCCUPANCY", 1),
    "curve4_pct": ("PIPE_TENSOR_ACTIVE", 1),
    "node_cpu_util_pct": ("NODE_CPU_UTILIZATION", 1),
    "node_memory_util_pct": ("NODE_MEMORY_UTILIZATION", 1),
    "ib_send": ("NODE_IB_SEND", 1),
    "ib_receive": ("NODE_IB_RECEIVE", 1),
}
CURVE_SERVERS = {"gpu_server_power_w": ("GPU_AB", "GPU_C"), "cpu_server_power_w": ("CPU_D",)}


def measured_of_curve(raw: Path, on_curve: str) -> pd.Series:
    """Return the number of samples by value, in rising order and in the unit of the curve."""
    cluster, quantity = on_curve.split(".")
    if quantity in CURVE_SERVERS:
        rows = server_samples(raw)
        rows = rows[rows["server_group"].isin(CURVE_SERVERS[quantity])]
        values, samples = rows["Sys_Total_Power"].dropna(), 1
    else:
        # Stays empty if the files lack the metric or the cluster.
        metric, factor = CURVE_METRICS.get(quantity, ("", 1))
        rows = of_metric(metric_histogram(raw), metric)
        rows = rows[rows["cluster"] == cluster]
        values, samples = rows["value"] * factor, rows["samples"]
    return pd.Series(samples, index=values.index).groupby(to_four_digits(values.astype(float))).sum()


def curve_distance(raw: Path, on_curve: str) -> pd.DataFrame:
    """Compare values with four digits, because measured values have no more (published ones have five)."""
    points = pd.read_csv(CURVES)
    points = points[points["curve"] == on_curve]
    counts = measured_of_curve(raw, on_curve)
    values, up_to = counts.index.tolist(), [0, *counts.cumsum().tolist()]
    distances = []
    for value, percentile in zip(to_four_digits(points["value"]), points["percentile"], strict=True):
        below, at_most = (
            percent(up_to[count(values, value)], up_to[-1]) for count in (bisect_left, bisect_right)
        )
        if up_to[-1]:
            distances.append(max(below - percentile, percentile - at_most, 0))
    row = (on_curve, len(points), max(distances) if distances else None)
    return pd.DataFrame([row], columns=["curve", "published_points", "largest_difference_pct"])


# Later views and queries. In VIEWS and QUERIES, each name has its function and the key columns of its rows.


def wait_by_type(raw: Path, on_cluster: str, by_publisher: bool = False) -> pd.DataFrame:
    groups = gpu_jobs_on(raw, on_cluster).groupby("workload_type", dropna=False)
    waits = groups["published_queue_s" if by_publisher else "wait_s"]
    columns = {
        "jobs": waits.count(),
        "jobs_without_wait": groups.size() - waits.count(),
        "mean_wait_s": waits.mean(),
        **raw_frames.percentiles(waits, "wait_s", raw_frames.BOX_PERCENTILES),
        "gpu_h": groups["published_gpu_h" if by_publisher else "gpu_h"].sum(),
    }
    return pd.DataFrame(columns).reset_index()


def published_summary(raw: Path) -> pd.DataFrame:
    summary = raw_frames.acme_summary(raw)
    return pd.DataFrame(
        {
            "cluster": summary["id"],
            "jobs": summary["job_num"],
            "gpu_jobs": summary["gpu_job_num"],
            "mean_run_s": summary["avg_run_time_gpu"],
            "median_run_s": summary["med_run_time_gpu"],
            "mean_wait_s": summary["avg_que_time_gpu"],
            "median_wait_s": summary["med_que_time_gpu"],
            "mean_gpus": summary["avg_gpu_num"],
            "max_gpus": summary["max_gpu"],
        }
    )


GPUS_BY_PAPER = {"seren": 2288, "kalos": 2416}
GPUS_PER_NODE = 8


def cluster_capacity(_: Path) -> pd.DataFrame:
    rows = [(name, name, gpus, gpus // GPUS_PER_NODE) for name, gpus in GPUS_BY_PAPER.items()]
    return pd.DataFrame(rows, columns=["cluster", "partition_name", "gpus", "nodes"])


VIEWS = {
    "acme.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "acme.job_v1": (raw_frames.acme_job, ["cluster", "job_id"]),
    "acme.duration_audit_v1": (duration_audit, ["cluster", "state"]),
    "acme.gpu_memory_used_v1": (gpu_memory_used, [*DEVICE, "time"]),
    "acme.gpu_memory_used_count_v1": (gpu_memory_used_count, ["cluster", "used_mib"]),
    "acme.metric_histogram_v1": (metric_histogram, [*SERIES, "value"]),
    "acme.metric_cdf_v1": (metric_cdf, [*SERIES, "percentile"]),
    "acme.utilization_hourly_v1": (utilization_hourly, [*SERIES, "hour"]),
    "acme.power_hourly_v1": (power_hourly, ["cluster", "hour"]),
    "acme.tdp_exceedance_v1": (tdp_exceedance, ["cluster"]),
    "acme.server_power_share_v1": (server_power_share, ["server_group", "has_memory_power"]),
    "acme.xid_onset_v1": (xid_onset, [*DEVICE, "onset_time"]),
    "acme.xid_burst_v1": (xid_burst, ["cluster", "burst_start"]),
    "acme.telemetry_time_v1": (telemetry_time, ["cluster", "source_table", "metric", "time"]),
    "acme.device_daily_v1": (device_daily, [*SERIES, "node", "gpu", "day"]),
    "acme.telemetry_coverage_v1": (telemetry_coverage, ["cluster", "source_table", "metric"]),
    "acme.job_telemetry_overlap_v1": (job_telemetry_overlap, ["cluster"]),
    "acme.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}

JOB_QUERIES = {
    "acme.type_shares()": (type_shares, ("seren",), None),
    "acme.type_shares(on_cluster := 'kalos')": (type_shares, ("kalos",), None),
    "acme.states()": (states, ("seren", True), None),
    "acme.states(on_cluster := 'kalos')": (states, ("kalos", True), None),
    "acme.states(on_cluster := 'kalos', gpu_only := false)": (states, ("kalos", False), None),
    "acme.states(by_outcome := true)": (states, ("seren", True, True), None),
    "acme.states(gpu_only := false, by_outcome := true, preempted_fails := true)": (
        states,
        ("seren", False, True, True),
        None,
    ),
    "acme.type_state_shares()": (type_state_shares, ("seren", True, False), None),
    "acme.type_state_shares(on_cluster := 'kalos', gpu_only := false, preempted_fails := true)": (
        type_state_shares,
        ("kalos", False, True),
        None,
    ),
    "acme.gpu_count_cdf()": (gpu_count_cdf, (), None),
    "acme.gpu_count_cdf(every_value := true)": (gpu_count_cdf, (True,), None),
    "acme.duration_cdf()": (duration_cdf, (False,), ["cluster", "run_s"]),
    "acme.duration_cdf(by_publisher := true)": (duration_cdf, (True,), ["cluster", "run_s"]),
    "acme.duration_cdf(every_value := true)": (duration_cdf, (False, True), ["cluster", "run_s"]),
    "acme.wait_cdf(every_value := true)": (wait_cdf, ("seren", False, True), ["workload_type", "wait_s"]),
    "acme.wait_cdf()": (wait_cdf, ("seren", False), ["workload_type", "wait_s"]),
    "acme.wait_cdf(on_cluster := 'kalos')": (wait_cdf, ("kalos", False), ["workload_type", "wait_s"]),
    "acme.wait_cdf(by_publisher := true)": (wait_cdf, ("seren", True), ["workload_type", "wait_s"]),
    "acme.wait_by_size()": (wait_by_size, (False,), None),
    "acme.wait_by_size(by_publisher := true)": (wait_by_size, (True,), None),
    "acme.failures()": (failures, (True, False), ["cluster"]),
    "acme.failures(gpu_only := false, preempted_fails := true)": (failures, (False, True), ["cluster"]),
    "acme.short_jobs()": (short_jobs, (300, False), ["cluster"]),
    "acme.short_jobs(under_s := 18.5)": (short_jobs, (18.5, False), ["cluster"]),
    "acme.short_jobs(by_publisher := true)": (short_jobs, (300, True), ["cluster"]),
    "acme.arrivals()": (arrivals, ("seren",), None),
    "acme.arrivals(on_cluster := 'kalos')": (arrivals, ("kalos",), None),
    "acme.arrivals_by_hour()": (arrivals_by_hour, ("seren",), ["hour_of_day", "weekday"]),
    "acme.arrivals_by_hour(on_cluster := 'kalos')": (
        arrivals_by_hour,
        ("kalos",),
        ["hour_of_day", "weekday"],
    ),
    "acme.user_concentration()": (user_concentration, (5,), ["cluster"]),
    "acme.user_concentration(top_pct := 37.5)": (user_concentration, (37.5,), ["cluster"]),
    "acme.user_concentration(every_pct := true)": (
        user_concentration,
        tuple(range(101)),
        ["cluster", "heaviest_pct"],
    ),
    "acme.user_concentration(top_pct := 100)": (user_concentration, (100,), ["cluster"]),
    "acme.totals()": (totals, (False, False), None),
    "acme.totals(with_total := true)": (totals, (False, True), None),
    "acme.totals(by_publisher := true, with_total := true)": (totals, (True, True), None),
    "acme.summary_against_jobs()": (summary_against_jobs, (), None),
}
TELEMETRY_QUERIES = {
    "acme.gpu_day()": (gpu_day, ("kalos", "GPU_UTIL", None, 0, None), None),
    "acme.gpu_day(on_cluster := 'seren', on_metric := 'POWER_USAGE', on_gpu := 3)": (
        gpu_day,
        ("seren", "POWER_USAGE", None, 3, None),
        None,
    ),
    "acme.gpu_day(on_node := '172.31.0.3', on_gpu := 7, on_day := date '2023-08-16')": (
        gpu_day,
        ("kalos", "GPU_UTIL", "172.31.0.3", 7, date(2023, 8, 16)),
        None,
    ),
    "acme.fleet_hour()": (fleet_hour, ("kalos", "GPU_UTIL", None), None),
    "acme.fleet_hour(on_cluster := 'seren', on_metric := 'XID_ERRORS')": (
        fleet_hour,
        ("seren", "XID_ERRORS", None),
        None,
    ),
    "acme.fleet_hour(from_time := timestamptz '2023-08-16 19:30:00+08')": (
        fleet_hour,
        ("kalos", "GPU_UTIL", "2023-08-16 19:30:00+08"),
        None,
    ),
    "acme.utilization_by_hour_of_day()": (
        utilization_by_hour_of_day,
        ("GPU_UTIL",),
        ["cluster", "hour_of_day"],
    ),
    "acme.utilization_by_hour_of_day(on_metric := 'NODE_CPU_UTILIZATION')": (
        utilization_by_hour_of_day,
        ("NODE_CPU_UTILIZATION",),
        ["cluster", "hour_of_day"],
    ),
    "acme.metric_percentiles()": (metric_percentiles, ("GPU_UTIL",), [*SERIES, "percentile"]),
    "acme.metric_percentiles(every_value := true)": (
        metric_percentiles,
        ("GPU_UTIL", True),
        [*SERIES, "percentile"],
    ),
    "acme.metric_percentiles(on_metric := 'POWER_USAGE')": (
        metric_percentiles,
        ("POWER_USAGE",),
        [*SERIES, "percentile"],
    ),
    "acme.share_over()": (share_over, ("GPU_TEMP", 65), SERIES),
    "acme.share_over(over_value := 34.5)": (share_over, ("GPU_TEMP", 34.5), SERIES),
    "acme.share_over(on_metric := 'POWER_USAGE', over_value := 400)": (
        share_over,
        ("POWER_USAGE", 400),
        SERIES,
    ),
    "acme.share_over(on_metric := 'SM_ACTIVE', over_value := 0.5)": (share_over, ("SM_ACTIVE", 0.5), SERIES),
    "acme.share_at()": (share_at, ("GPU_UTIL", 0), SERIES),
    "acme.share_at(at_value := 100)": (share_at, ("GPU_UTIL", 100), SERIES),
    "acme.share_at(on_metric := 'NODE_IB_SEND')": (share_at, ("NODE_IB_SEND", 0), SERIES),
    "acme.memory_used_percentiles()": (memory_used_percentiles, (), ["cluster"]),
    "acme.power_by_day()": (power_by_day, (), ["cluster", "day"]),
    "acme.tdp()": (tdp_exceedance, (), ["cluster"]),
    "acme.server_power_by_group()": (server_power_by_group, (), None),
    "acme.xid_counts()": (xid_counts, ("kalos",), None),
    "acme.xid_counts(on_cluster := 'seren')": (xid_counts, ("seren",), None),
    "acme.xid_bursts()": (xid_bursts, (10,), None),
    "acme.xid_bursts(min_gpus := 1)": (xid_bursts, (1,), None),
    "acme.coverage()": (coverage, (), None),
    "acme.overlap()": (job_telemetry_overlap, (), None),
    "acme.curve_distance()": (curve_distance, ("kalos.gpu_util_pct",), None),
    **{
        f"acme.curve_distance(on_curve := '{curve}')": (curve_distance, (curve,), None)
        for curve in (
            "seren.gpu_power_w",
            "kalos.gpu_memory_used_pct",
            "seren.sm_active_pct",
            "kalos.node_memory_util_pct",
            "seren.ib_send",
            "seren.gpu_server_power_w",
            "seren.cpu_server_power_w",
        )
    },
}
SUMMARY_QUERIES = {"acme.published_summary()": (published_summary, (), ["cluster"])}
STATE_QUERIES = {
    "acme.wait_by_type()": (wait_by_type, ("seren",), ["workload_type"]),
    "acme.wait_by_type(by_publisher := true)": (wait_by_type, ("seren", True), ["workload_type"]),
    "acme.wait_by_type(on_cluster := 'kalos')": (wait_by_type, ("kalos",), ["workload_type"]),
}
QUERIES = JOB_QUERIES | STATE_QUERIES | TELEMETRY_QUERIES | SUMMARY_QUERIES
ON_REAL_FILES = {*SUMMARY_QUERIES, "acme.cluster_capacity_v1"}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {
    "at_value": 100,
    "from_time": dt.datetime(2023, 7, 10, 1, tzinfo=dt.UTC),
    "min_gpus": 16,
    "on_day": dt.date(2023, 7, 10),
    "on_gpu": 1,
    "on_node": "172.31.0.2",
}
# Parameters that change the answer only if other parameters, listed as values, are set too.
TOGETHER = {("acme.states", "preempted_fails"): {"by_outcome": True}}

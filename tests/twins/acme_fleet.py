"""More of Acme's views and named queries: fleet, hours, failures and published curves.

They are computed by pandas from the raw files alone, with functions of `acme`.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames
from twins import acme
from twins.acme import percent

CLUSTERS = ("seren", "kalos")
FLEET_GPUS = {"seren": 2_288, "kalos": 2_416}
FLEET_NODES = {"seren": 286, "kalos": 302}
XID_MEANINGS = {
    8: "GPU stopped processing",
    13: "Graphics engine exception",
    31: "GPU memory page fault",
    32: "Invalid or corrupted push buffer stream",
    38: "Driver firmware error",
    43: "GPU stopped processing",
    45: "Preemptive cleanup, due to previous errors",
    48: "Double bit ECC error",
    61: "Internal micro-controller breakpoint/warning",
    62: "Internal micro-controller halt",
    63: "ECC page retirement or row remapping recording event",
    64: "ECC page retirement or row remapper recording failure",
    68: "NVDEC0 exception",
    69: "Graphics engine class error",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "High single-bit ECC error rate",
    94: "Contained ECC error",
    95: "Uncontained ECC error",
    109: "Context switch timeout error",
    119: "GSP RPC timeout",
    120: "GSP error",
}
HOUR = pd.Timedelta(hours=1)
NO_HELD = pd.Series(dtype=float, index=pd.DatetimeIndex([], tz="UTC"))


# Views.


def xid_code(raw: Path) -> pd.DataFrame:
    return pd.DataFrame(list(XID_MEANINGS.items()), columns=["xid", "meaning"])


# Jobs and telemetry by the hour.


def held_by_hour(jobs: pd.DataFrame) -> pd.Series:
    """Return the mean of held GPUs in each hour in which a job ran."""
    if jobs.empty:
        return NO_HELD
    jobs = jobs.reset_index(drop=True)
    first, last = jobs["start_time"].dt.floor("h"), jobs["end_time"].dt.ceil("h")
    hours = ((last - first) // HOUR).to_numpy()
    each = pd.DataFrame({"first": first, **jobs[["start_time", "end_time", "requested_gpus"]]})
    # One row for each hour of each job. Row n of a job begins n hours after its first row.
    each = each.loc[each.index.repeat(hours)].reset_index(drop=True)
    nth = np.arange(len(each)) - np.repeat(hours.cumsum() - hours, hours)
    each["hour"] = each["first"] + nth * HOUR
    held_from = each["start_time"].where(each["start_time"] > each["hour"], each["hour"])
    held_until = each["end_time"].where(each["end_time"] < each["hour"] + HOUR, each["hour"] + HOUR)
    seconds = (held_until - held_from).dt.total_seconds()
    return (each["requested_gpus"] * seconds / 3600).groupby(each["hour"]).sum()


def minutes_pct(times: pd.Series, minutes: int) -> float:
    return 100 * times.dt.floor("min").nunique() / minutes


def cells_by_hour(cells: pd.DataFrame) -> pd.DataFrame:
    """Return, for each hour with cells, their mean, the devices, and the percentage of minutes with cells."""
    cells = cells.assign(hour=cells["time"].dt.floor("h"), minute=cells["time"].dt.floor("min"))
    return pd.DataFrame(
        {
            "mean": cells.groupby("hour")["value"].mean(),
            "devices": cells.drop_duplicates(["hour", "node", "gpu"]).groupby("hour").size(),
            "covered_pct": 100 * cells.groupby("hour")["minute"].nunique() / 60,
        }
    )


def fleet_hourly(raw: Path, on_cluster: str) -> pd.DataFrame:
    jobs = acme.gpu_jobs_on(raw, on_cluster)
    jobs = jobs[jobs["start_time"].notna()]
    held = held_by_hour(jobs[jobs["end_time"] > jobs["start_time"]])
    unended = jobs[jobs["end_time"].isna() | (jobs["end_time"] < jobs["start_time"])]
    unended_jobs = unended["start_time"].dt.floor("h").value_counts()
    listed = acme.attributed(raw)
    listed = listed[listed["cluster"] == on_cluster]
    is_sample = listed["value"].notna()
    util = cells_by_hour(listed[(listed["metric"] == "GPU_UTIL") & is_sample])
    power = cells_by_hour(listed[(listed["metric"] == "POWER_USAGE") & is_sample])
    errors = cells_by_hour(listed[listed["metric"] == "XID_ERRORS"])
    onsets = acme.xid_onset(raw)
    # Sets the type of the column, which pandas does not know if there are no onsets.
    onset_times = pd.to_datetime(onsets.loc[onsets["cluster"] == on_cluster, "onset_time"], utc=True)
    onset_hours = onset_times.dt.floor("h").value_counts()
    hours = sorted({*held.index, *unended_jobs.index, *util.index, *power.index, *errors.index})
    fleet = FLEET_GPUS[on_cluster]
    util, power = util.reindex(hours), power.reindex(hours)
    held_gpus = held.reindex(hours, fill_value=0)
    # In an hour without error cells the number of onsets is unknown.
    known_onsets = onset_hours.reindex(errors.index, fill_value=0)
    columns = {
        "held_gpus": held_gpus,
        "held_gpus_pct": 100 * held_gpus / fleet,
        "unended_jobs": unended_jobs.reindex(hours, fill_value=0),
        "mean_gpu_util_pct": util["mean"],
        "util_gpus_pct": 100 * util["devices"].fillna(0) / fleet,
        "util_covered_pct": util["covered_pct"].fillna(0),
        "mean_power_w": power["mean"],
        "power_gpus_pct": 100 * power["devices"].fillna(0) / fleet,
        "power_covered_pct": power["covered_pct"].fillna(0),
        "onsets": known_onsets.reindex(hours),
        "xid_covered_pct": errors["covered_pct"].reindex(hours, fill_value=0),
    }
    return pd.DataFrame(columns, index=pd.Index(hours, name="hour")).reset_index()


# Jobs.

RATE_KEY = ["workload_type", "size_band"]
KNOWN_STATES = ["COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"]


def failure_rate(
    raw: Path, on_cluster: str, gpu_only: bool, preempted_fails: bool, by_type: bool
) -> pd.DataFrame:
    failures = [*acme.FAILURES, "PREEMPTED"] if preempted_fails else list(acme.FAILURES)
    jobs = raw_frames.acme_job(raw)
    jobs = jobs[(jobs["cluster"] == on_cluster) & (jobs["requested_gpus"] >= int(gpu_only))]
    jobs = jobs.assign(size_band=jobs["requested_gpus"].map(raw_frames.size_band))
    jobs = jobs if by_type else jobs.assign(workload_type="all")
    rows = []
    for key, mine in jobs.groupby(RATE_KEY, dropna=False):
        failed = int(mine["state"].isin(failures).sum())
        gpu_h = mine["gpu_h"].sum(min_count=1)
        rows.append(
            {
                "workload_type": key[0],
                "size_band": key[1],
                "jobs": len(mine),
                "failed_jobs": failed,
                "failed_jobs_pct": percent(failed, len(mine)),
                "held_gpu_h": gpu_h,
                "gpu_h_per_failure": gpu_h / failed if failed and gpu_h else None,
                "covered_pct": percent(mine["run_s"].notna().sum(), len(mine)),
                "known_pct": percent(mine["state"].isin(KNOWN_STATES).sum(), len(mine)),
            }
        )
    return pd.DataFrame(rows)


SUMMED = ("complete_gpu_time", "cancel_gpu_time", "fail_gpu_time")


def published_clusters(raw: Path) -> list[dict[str, object]]:
    rows = []
    for printed in raw_frames.acme_summary(raw).to_dict("records"):
        adds_up = printed["cpu_job_num"] + printed["gpu_job_num"] == printed["job_num"]
        outcomes = {
            f"{outcome}_{kind}_pct": 100 * printed[f"{verb}_rate_{name}"]
            for kind, name in (("jobs", "gpu"), ("gpu_h", "gpu_time"))
            for verb, outcome in acme.OUTCOMES.items()
        }
        rows.append(
            {
                "cluster": printed["id"].lower(),
                "origin": "published",
                "jobs": printed["job_num"],
                "cpu_jobs": printed["cpu_job_num"] if adds_up else None,
                "gpu_jobs": printed["gpu_job_num"],
                "covered_pct": None,
                "mean_run_s": printed["avg_run_time_gpu"],
                "median_run_s": printed["med_run_time_gpu"],
                "max_run_s": printed["max_run_time_gpu"],
                "mean_wait_s": printed["avg_que_time_gpu"],
                "median_wait_s": printed["med_que_time_gpu"],
                "mean_gpus": printed["avg_gpu_num"],
                "median_gpus": printed["med_gpu_num"],
                "max_gpus": printed["max_gpu"],
                "gpu_h": sum(printed[name] for name in SUMMED) / 3600,
                **outcomes,
            }
        )
    return rows


def measured_cluster(cluster: str, jobs: pd.DataFrame, by_publisher: bool) -> dict[str, object]:
    on_gpus = jobs[jobs["requested_gpus"] > 0]
    run = on_gpus["published_duration_s" if by_publisher else "run_s"]
    wait = on_gpus["published_queue_s" if by_publisher else "wait_s"]
    gpu_h = on_gpus["published_gpu_h" if by_publisher else "gpu_h"]
    outcomes = {name: on_gpus["outcome"] == name for name in acme.OUTCOMES.values()}
    job_shares = {f"{name}_jobs_pct": percent(mine.sum(), len(mine)) for name, mine in outcomes.items()}
    gpu_h_shares = {
        f"{name}_gpu_h_pct": percent(gpu_h[mine].sum(), gpu_h.sum()) for name, mine in outcomes.items()
    }
    return {
        "cluster": cluster,
        "origin": "measured",
        "jobs": len(jobs),
        "cpu_jobs": len(jobs) - len(on_gpus),
        "gpu_jobs": len(on_gpus),
        "covered_pct": percent(run.notna().sum(), len(on_gpus)),
        "mean_run_s": run.mean(),
        "median_run_s": run.median(),
        "max_run_s": run.max(),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "mean_gpus": on_gpus["requested_gpus"].mean(),
        "median_gpus": on_gpus["requested_gpus"].median(),
        "max_gpus": on_gpus["requested_gpus"].max(),
        "gpu_h": gpu_h.sum(min_count=1),
        **job_shares,
        **gpu_h_shares,
    }


def clusters_compared(raw: Path, by_publisher: bool) -> pd.DataFrame:
    measured = []
    if (raw / "acme" / "data" / "job_trace").is_dir():
        measured = [
            measured_cluster(cluster, jobs, by_publisher)
            for cluster, jobs in raw_frames.acme_job(raw).groupby("cluster")
        ]
    return pd.DataFrame([*published_clusters(raw), *measured])


# Telemetry.


def observed_gpu_h(errors: pd.DataFrame, times: list[pd.Timestamp]) -> float:
    """Return GPU-hours with error samples. A sample lasts until the next time, at most five minutes."""
    in_order = pd.Series(times)
    seconds = acme.in_seconds(in_order.shift(-1) - in_order).clip(upper=300).fillna(0)
    lasting = dict(zip(in_order, seconds, strict=True))
    return float(errors.drop_duplicates(["node", "gpu", "time"])["time"].map(lasting).sum() / 3600)


def burst_of(onset_time: pd.Timestamp, bursts: pd.DataFrame) -> pd.Timestamp:
    around = bursts[(bursts["burst_start"] <= onset_time) & (bursts["burst_end"] >= onset_time)]
    return around["burst_start"].item()


CODE_COLUMNS = ["xid", "meaning", "onsets", "onsets_pct", "bursts", "gpus", "nodes"]
CODE_COLUMNS += ["observed_gpu_h", "onsets_per_gpu_day"]


def onsets_by_code(raw: Path, on_cluster: str) -> pd.DataFrame:
    errors = acme.of_metric(acme.attributed(raw), "XID_ERRORS")
    errors = errors[errors["cluster"] == on_cluster]
    gpu_h = observed_gpu_h(errors, acme.grid(raw, on_cluster, "XID_ERRORS"))
    onsets, bursts = (
        rows[rows["cluster"] == on_cluster] for rows in (acme.xid_onset(raw), acme.xid_burst(raw))
    )
    onsets = onsets.assign(burst=[burst_of(time, bursts) for time in onsets["onset_time"]])
    rows = [
        {
            "xid": xid,
            "meaning": XID_MEANINGS.get(xid),
            "onsets": len(mine),
            "onsets_pct": percent(len(mine), len(onsets)),
            "bursts": mine["burst"].nunique(),
            "gpus": acme.distinct(mine, ["node", "gpu"]),
            "nodes": mine["node"].nunique(),
            "observed_gpu_h": gpu_h,
            "onsets_per_gpu_day": len(mine) / (gpu_h / 24) if gpu_h else None,
        }
        for xid, mine in onsets.groupby("xid")
    ]
    return pd.DataFrame(rows, columns=CODE_COLUMNS)


DAY_COLUMNS = ["cluster", "day", "mean_pct", "median_gpu_pct", "zero_pct", "gpus_over_pct"]
DAY_COLUMNS += ["devices", "devices_pct", "samples", "day_covered_pct"]


def utilization_by_day(raw: Path, on_metric: str, over_pct: float) -> pd.DataFrame:
    samples = acme.of_metric(acme.sampled(raw), on_metric)
    samples["day"] = (samples["time"] + acme.LOCAL).dt.date
    rows = []
    for (cluster, day), mine in samples.groupby(["cluster", "day"]):
        gpu_means = mine.groupby(["node", "gpu"], dropna=False)["value"].mean()
        rows.append(
            {
                "cluster": cluster,
                "day": day,
                "mean_pct": mine["value"].mean(),
                "median_gpu_pct": gpu_means.median(),
                "zero_pct": percent((mine["value"] == 0).sum(), len(mine)),
                "gpus_over_pct": percent((gpu_means > over_pct).sum(), len(gpu_means)),
                "devices": len(gpu_means),
                "devices_pct": percent(len(gpu_means), FLEET_GPUS[cluster]),
                "samples": len(mine),
                "day_covered_pct": minutes_pct(mine["time"], 1_440),
            }
        )
    return pd.DataFrame(rows, columns=DAY_COLUMNS)


def not_exceeded(values: pd.Series, pct: int) -> float:
    """Return the smallest value that at least `pct` percent of the samples do not exceed."""
    in_order = sorted(acme.to_four_digits(values.astype(float)))
    return in_order[max(0, -(-pct * len(in_order) // 100) - 1)] if in_order else math.nan


def network_traffic(cluster: str, metric: str, listed: pd.DataFrame) -> dict[str, object]:
    samples = listed[listed["value"].notna()]
    values = samples["value"]
    node_means = samples.groupby("node")["value"].mean()
    return {
        "cluster": cluster,
        "metric": metric,
        "nodes": len(node_means),
        "nodes_pct": percent(len(node_means), FLEET_NODES[cluster]),
        "first_time": listed["time"].min(),
        "last_time": listed["time"].max(),
        "samples": len(samples),
        "empty_samples": len(listed) - len(samples),
        "zero_pct": percent((values == 0).sum(), len(values)),
        "mean_value": values.mean(),
        "mean_busy_value": values[values != 0].mean(),
        "median_value": not_exceeded(values, 50),
        "p75_value": not_exceeded(values, 75),
        "p90_value": not_exceeded(values, 90),
        "p95_value": not_exceeded(values, 95),
        "p99_value": not_exceeded(values, 99),
        "max_value": values.max(),
        "median_node_value": node_means.median(),
        "busiest_node_value": node_means.max(),
    }


def infiniband(raw: Path) -> pd.DataFrame:
    listed = acme.attributed(raw)
    rows = [
        network_traffic(
            cluster, metric, listed[(listed["cluster"] == cluster) & (listed["metric"] == metric)]
        )
        for cluster in CLUSTERS
        for metric in ("NODE_IB_SEND", "NODE_IB_RECEIVE")
    ]
    return pd.DataFrame(rows)


def to_significant_four(values: pd.Series) -> pd.Series:
    """Round all values to four significant digits, halves away from 0."""
    digits = 3 - np.floor(np.log10(values.abs().where(values != 0, 1)))
    more, fewer = 10.0 ** digits.clip(lower=0), 10.0 ** (-digits).clip(lower=0)
    return np.sign(values) * np.floor(values.abs() / fewer * more + 0.5) / more * fewer


def published_against_cdf(raw: Path, on_curve: str) -> pd.DataFrame:
    points = pd.read_csv(acme.CURVES)
    points = points[points["curve"] == on_curve]
    published = points["percentile"].groupby(to_significant_four(points["value"])).max()
    counts = acme.measured_of_curve(raw, on_curve)
    counts = counts.groupby(to_significant_four(counts.index.to_series())).sum()
    samples = int(counts.sum())
    rows = []
    for value, percentile in published.items():
        at_most = percent(counts[counts.index <= value].sum(), samples)
        rows.append(("published", value, percentile, None))
        rows.append(("measured", value, at_most, samples))
    frame = pd.DataFrame(rows, columns=["origin", "value", "samples_pct", "samples"])
    frame.insert(0, "cluster", on_curve.split(".")[0])
    frame.insert(0, "curve", on_curve)
    return frame


VIEWS = {
    "acme.xid_code_v1": (xid_code, ["xid"]),
}

CURVE_KEY = ["curve", "origin", "value"]
CURVES_COMPARED = (
    *(f"kalos.{name}" for name in ("gpu_memory_used_pct", "gpu_power_w", "gpu_temp_c", "memory_temp_c")),
    *(f"kalos.{name}" for name in ("sm_active_pct", "sm_occupancy_pct", "curve4_pct", "node_cpu_util_pct")),
    *(f"seren.{name}" for name in ("gpu_util_pct", "node_memory_util_pct", "ib_send", "ib_receive")),
    *(f"seren.{name}" for name in ("gpu_server_power_w", "cpu_server_power_w")),
)
ANYWHERE = {
    "acme.infiniband()": (infiniband, (), ["cluster", "metric"]),
    "acme.clusters_compared()": (clusters_compared, (False,), ["cluster", "origin"]),
    "acme.clusters_compared(by_publisher := true)": (clusters_compared, (True,), ["cluster", "origin"]),
    "acme.published_against_cdf()": (published_against_cdf, ("kalos.gpu_util_pct",), CURVE_KEY),
    **{
        f"acme.published_against_cdf(on_curve := '{curve}')": (published_against_cdf, (curve,), CURVE_KEY)
        for curve in CURVES_COMPARED
    },
}
DAY_KEY = ["cluster", "day"]
QUERIES = ANYWHERE | {
    "acme.fleet_hourly()": (fleet_hourly, ("kalos",), ["hour"]),
    "acme.fleet_hourly(on_cluster := 'seren')": (fleet_hourly, ("seren",), ["hour"]),
    "acme.failure_rate()": (failure_rate, ("seren", True, False, True), RATE_KEY),
    "acme.failure_rate(on_cluster := 'kalos')": (failure_rate, ("kalos", True, False, True), RATE_KEY),
    "acme.failure_rate(gpu_only := false)": (failure_rate, ("seren", False, False, True), RATE_KEY),
    "acme.failure_rate(preempted_fails := true)": (failure_rate, ("seren", True, True, True), RATE_KEY),
    "acme.failure_rate(on_cluster := 'kalos', gpu_only := false, by_type := false)": (
        failure_rate,
        ("kalos", False, False, False),
        RATE_KEY,
    ),
    "acme.onsets_by_code()": (onsets_by_code, ("kalos",), ["xid"]),
    "acme.onsets_by_code(on_cluster := 'seren')": (onsets_by_code, ("seren",), ["xid"]),
    "acme.utilization_by_day()": (utilization_by_day, ("GPU_UTIL", 50), DAY_KEY),
    "acme.utilization_by_day(on_metric := 'SM_ACTIVE', over_pct := 12.5)": (
        utilization_by_day,
        ("SM_ACTIVE", 12.5),
        DAY_KEY,
    ),
    "acme.utilization_by_day(on_metric := 'DRAM_ACTIVE', over_pct := 0)": (
        utilization_by_day,
        ("DRAM_ACTIVE", 0),
        DAY_KEY,
    ),
}
ON_REAL_FILES = {*VIEWS, *ANYWHERE}

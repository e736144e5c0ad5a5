"""The views and named queries on all traces, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import importlib
import math
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import ModuleType

import pandas as pd
import raw_frames

HOUR_S = 3600
DAY_S = 24 * HOUR_S
CLUSTER = ["trace", "cluster"]
NUMBERS = ["submit_s", "wait_s", "run_s", "end_s", "requested_gpus", "span_gpu_s", "held_gpu_s"]
OBSERVED = ["observed_wait_s", "observed_start_s", "observed_run_s"]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def traces_with(name: str, raw: Path) -> Iterator[tuple[str, ModuleType]]:
    """Yield the traces that have raw files and whose reference implementations define a name."""
    for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
        module = importlib.import_module(f"reference_results.{found.name}")
        if hasattr(module, name) and (raw / found.name).is_dir():
            yield found.name, module


def of_trace(trace: str, jobs: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that are computed in the same way for all traces."""
    hours = pd.to_numeric(jobs["local_submit_s"]) // 3_600
    return jobs.assign(
        trace=trace,
        span_gpu_s=jobs["requested_gpus"] * jobs["run_s"],
        size_band=jobs["requested_gpus"].map(raw_frames.size_band),
        hour_of_day=hours % 24,
        weekday=(hours // 24 + 3) % 7 + 1,
    ).astype(object)


def all_jobs(raw: Path) -> pd.DataFrame:
    frames = [
        of_trace(trace, module.standard_job_v1(raw))[raw_frames.UNIFIED_V2]
        for trace, module in traces_with("standard_job_v1", raw)
        if raw_frames.has_jobs(raw, trace)
    ]
    return pd.concat(frames, ignore_index=True)


@lru_cache(maxsize=2)
def jobs_of(raw: Path) -> pd.DataFrame:
    return all_jobs(raw).astype(dict.fromkeys([*NUMBERS, *OBSERVED], float))


def gpu_jobs_of(raw: Path) -> pd.DataFrame:
    jobs = jobs_of(raw)
    return jobs[jobs["requested_gpus"] > 0]


# Views.


@raw_frames.remembered
def capacity(raw: Path) -> pd.DataFrame:
    frames = []
    for trace, module in traces_with("cluster_capacity", raw):
        rows = module.cluster_capacity(raw)
        rows.insert(0, "trace", trace)
        frames.append(rows.astype(object))
    return pd.concat(frames, ignore_index=True)


@raw_frames.remembered
def capacity_hour(raw: Path) -> pd.DataFrame:
    frames = []
    for trace, module in traces_with("cluster_capacity_hour", raw):
        rows = module.cluster_capacity_hour(raw)
        rows.insert(0, "trace", trace)
        frames.append(rows.astype(object))
    columns = ["trace", "hour", "cluster", "partition_name", "gpus", "nodes"]
    return pd.concat([pd.DataFrame(columns=columns), *frames], ignore_index=True)


# Named queries.


PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def first_of_each_fifth(ranks: pd.Series, with_last: bool = True) -> pd.Series:
    """Return the first of sorted percentages in each fifth of a percent, and the last one if `with_last`."""
    fifths = [math.floor(round(5 * rank, 6)) for rank in ranks]
    last = len(fifths) - 1
    return ranks[
        [i == 0 or (with_last and i == last) or fifth > fifths[i - 1] for i, fifth in enumerate(fifths)]
    ]


def survival_curve(times: pd.Series, has_ended: pd.Series) -> pd.DataFrame:
    """Return the Kaplan-Meier estimate, in percent, at each time of an end, with its 95 % interval."""
    survival, variance = 1.0, 0.0
    points = []
    known = times.notna()
    ends = has_ended[known].groupby(times[known]).agg(["size", "sum"])
    at_risks = ends["size"][::-1].cumsum()[::-1]
    for time, at_risk, events in zip(ends.index, at_risks.tolist(), ends["sum"].tolist(), strict=True):
        if not events:
            continue
        survival *= 1 - events / at_risk
        variance += events / (at_risk * (at_risk - events)) if at_risk > events else 0
        low = high = survival
        if 0 < survival < 1:
            deviation = 1.959963984540054 * math.sqrt(variance) / -math.log(survival)
            high, low = survival ** math.exp(-deviation), survival ** math.exp(deviation)
        points.append((time, *(round(100 * (1 - share), 9) for share in (survival, high, low))))
    return pd.DataFrame(points, columns=["time", "percentile", "low_pct", "high_pct"])


def survival_points(
    times: pd.Series, has_ended: pd.Series, percentiles: tuple[int, ...], every_value: bool
) -> list[tuple]:
    """Return percentiles with confidence intervals, or the curve in steps of a fifth of a percent."""
    curve = survival_curve(times.astype(float), has_ended)
    if every_value:
        ranks = first_of_each_fifth(pd.Series(curve["percentile"].values, curve["time"]), with_last=False)
        bounds = curve.set_index("time")
        return [
            (rank, time, None, None, *bounds.loc[time, ["low_pct", "high_pct"]])
            for time, rank in ranks.items()
        ]
    if curve.empty:
        return []
    sought = ("percentile", "high_pct", "low_pct")
    return [
        (p, *(curve.loc[curve[column] >= p, "time"].min() for column in sought), None, None)
        for p in percentiles
    ]


def run_cdf(raw: Path, min_run_s: float, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for trace, jobs in gpu_jobs_of(raw).groupby("trace"):
        observed = jobs["observed_run_s"].where(~jobs["is_left_censored"].eq(True))
        counted = observed >= min_run_s
        has_ended = jobs["run_s"].notna()
        shares = (
            counted.sum(),
            percent(observed.isna().sum(), len(jobs)),
            percent((observed < min_run_s).sum(), observed.count()),
            percent((counted & ~has_ended).sum(), counted.sum())
            if jobs["is_right_censored"].notna().any()
            else None,
        )
        points = survival_points(observed[counted], has_ended[counted], PERCENTILES, every_value)
        rows += [(trace, *point, *shares) for point in points]
    columns = ["trace", "percentile", "run_s", "low_run_s", "high_run_s", "low_pct", "high_pct"]
    return pd.DataFrame(rows, columns=[*columns, "jobs", "unknown_pct", "excluded_pct", "censored_pct"])


WAIT_PERCENTILES = (10, 25, 50, 75, 90, 95, 99)


def first_hour(trace: str, from_hour: int | None) -> int:
    """Return the first hour that counts: 2640 for openb unless given."""
    if from_hour is None:
        return 2640 if trace == "openb" else 0
    return from_hour


def wait_cdf(raw: Path, every_value: bool) -> pd.DataFrame:
    """Return percentiles without their bounds, which `test_intervals.py` compares, or the curve."""
    rows = []
    counted_jobs = gpu_jobs_of(raw)
    for trace, band in product(sorted(counted_jobs["trace"].unique()), raw_frames.BANDS.values()):
        jobs = counted_jobs[(counted_jobs["trace"] == trace) & (counted_jobs["size_band"] == band)]
        observed, has_started = jobs["observed_wait_s"], jobs["wait_s"].notna()
        shares = (
            observed.count(),
            percent(observed.isna().sum(), len(jobs)),
            percent((observed.notna() & ~has_started).sum(), observed.count()),
        )
        points = survival_points(observed, has_started, WAIT_PERCENTILES, every_value)
        rows += [(trace, band, *shares, *point) for point in points]
    columns = ["trace", "size_band", "jobs", "unknown_pct", "never_started_pct", "percentile"]
    columns += ["wait_s", "low_wait_s", "high_wait_s", "low_pct", "high_pct"]
    found = pd.DataFrame(rows, columns=columns)
    found.insert(columns.index("low_pct"), "effective_units", None)
    return found if every_value else found.drop(columns=["low_wait_s", "high_wait_s", "effective_units"])


def hour_of(times: pd.Series) -> pd.Series:
    return (times // HOUR_S).astype("int64")


def named(names: dict[str, str | None]) -> dict[str, str | None]:
    return {**names, "trace_cluster": " ".join(filter(None, [names["trace"], names["cluster"]]))}


def placed_in_time(raw: Path, in_trace: str, offered: bool) -> pd.DataFrame:
    """Return GPU jobs of a trace with observed start and stop, and the end of their wait."""
    jobs = gpu_jobs_of(raw)
    jobs = jobs[jobs["trace"] == in_trace].copy()
    jobs["start"] = jobs["observed_start_s"]
    if offered:
        jobs["start"] = jobs["start"].where(jobs["is_left_censored"].eq(True), jobs["submit_s"])
    jobs["stop"] = jobs["start"] + jobs["observed_run_s"]
    jobs["waits_to"] = jobs["submit_s"] + jobs["observed_wait_s"]
    jobs["gpus"] = (jobs["held_gpu_s"] / jobs["observed_run_s"].where(jobs["observed_run_s"] > 0)).fillna(0)
    jobs["is_unended"] = jobs["start"].notna() & jobs["stop"].isna()
    jobs["is_placed"] = jobs["stop"].notna() | (jobs["start"].isna() & jobs["waits_to"].notna())
    return jobs


def hours_of_events(jobs: pd.DataFrame) -> range:
    """Return the hours from the first to the last submission, start or end in all clusters."""
    events = jobs[["submit_s", "start", "stop", "waits_to"]]
    return range(int(events.min(axis=None) // HOUR_S), int(events.max(axis=None) // HOUR_S) + 1)


def gpus_there(raw: Path, names: dict[str, str | None], by_partition: bool, hours: range) -> pd.Series:
    """Return the capacity in each hour. A job partition without a name has no capacity.

    In a cluster with a capacity of some hours, that of the others is not known.
    """

    def of_names(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.fillna({"cluster": ""})
        rows = rows[(rows["trace"] == names["trace"]) & (rows["cluster"] == (names["cluster"] or ""))]
        return rows[rows["partition_name"] == names["partition_name"]] if by_partition else rows

    always, hourly = of_names(capacity(raw)), of_names(capacity_hour(raw))
    gpus = hourly.groupby("hour")["gpus"].sum().astype(float).reindex(hours)
    changing = capacity_hour(raw).fillna({"cluster": ""})
    changes = {*zip(changing["trace"], changing["cluster"], strict=True)}
    if len(always) and (names["trace"], names["cluster"] or "") not in changes:
        return gpus.fillna(float(always["gpus"].sum()))
    return gpus


ALLOCATION = [
    *CLUSTER,
    "partition_name",
    "trace_cluster",
    "hour",
    "hour_start_s",
    "running_jobs",
    "held_gpus",
]
ALLOCATION += ["queued_jobs", "queued_gpus", "unended_jobs", "placed_pct"]
ALLOCATION += ["capacity_gpus", "held_of_capacity_pct"]


def allocation_hourly(
    raw: Path, in_trace: str | None, by_partition: bool, from_hour: int | None, offered: bool
) -> pd.DataFrame:
    traces = [in_trace] if in_trace else sorted(gpu_jobs_of(raw)["trace"].unique())
    return pd.concat(
        [
            allocation_of_trace(raw, trace, by_partition, first_hour(trace, from_hour), offered)
            for trace in traces
        ],
        ignore_index=True,
    )


def allocation_of_trace(
    raw: Path, trace: str, by_partition: bool, from_hour: int, offered: bool
) -> pd.DataFrame:
    frames = [pd.DataFrame(columns=ALLOCATION)]
    jobs = placed_in_time(raw, trace, offered)
    if not jobs["start"].count() or (offered and not jobs["submit_s"].count()):
        return frames[0]
    has_queue = not offered and jobs["waits_to"].notna().any()
    if not by_partition:
        jobs["partition_name"] = None
    hours = hours_of_events(jobs)
    for keys, mine in jobs.groupby([*CLUSTER, "partition_name"], dropna=False):
        names = {
            key: None if pd.isna(name) else name
            for key, name in zip([*CLUSTER, "partition_name"], keys, strict=True)
        }
        frames.append(
            allocation_of(mine, names, hours, gpus_there(raw, names, by_partition, hours), has_queue)
        )
    rows = pd.concat(frames, ignore_index=True)
    return rows[rows["hour"] >= from_hour]


def allocation_of(
    jobs: pd.DataFrame,
    names: dict[str, str | None],
    hours: range,
    gpus: pd.Series,
    has_queue: bool,
) -> pd.DataFrame:
    one_each = pd.Series(1.0, index=jobs.index)
    starts = hour_of(jobs.loc[jobs["is_unended"], "start"]).value_counts()
    held = raw_frames.hourly_means(jobs["start"], jobs["stop"], jobs["gpus"], hours)
    waits = jobs["submit_s"], jobs["waits_to"]
    rows = {
        "hour": hours,
        "hour_start_s": [hour * HOUR_S for hour in hours],
        "running_jobs": raw_frames.hourly_means(jobs["start"], jobs["stop"], one_each, hours),
        "held_gpus": held,
        "queued_jobs": raw_frames.hourly_means(*waits, one_each, hours) if has_queue else None,
        "queued_gpus": raw_frames.hourly_means(*waits, jobs["requested_gpus"], hours) if has_queue else None,
        "unended_jobs": [int(starts.get(hour, 0)) for hour in hours],
        "placed_pct": percent(jobs["is_placed"].sum(), len(jobs)),
        "capacity_gpus": gpus.to_numpy(),
        "held_of_capacity_pct": 100 * held / gpus.where(gpus > 0).to_numpy(),
    }
    return pd.DataFrame(rows).assign(**named(names))[ALLOCATION].astype(object)


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "unified.jobs_v2": (all_jobs, ["trace", "cluster", "job_id"]),
    "unified.capacity_v1": (capacity, [*CLUSTER, "partition_name"]),
    "unified.capacity_hour_v1": (capacity_hour, ["trace", "hour", "partition_name"]),
}

BY_PARTITION = [*CLUSTER, "partition_name", "hour"]


def allocated(in_trace: str | None, by_partition: bool, from_hour: int | None, offered: bool) -> tuple:
    return allocation_hourly, (in_trace, by_partition, from_hour, offered), BY_PARTITION


QUERIES = {
    "unified.run_cdf()": (run_cdf, (0,), ["trace", "percentile"]),
    "unified.run_cdf(min_run_s := 600)": (run_cdf, (600,), ["trace", "percentile"]),
    "unified.run_cdf(every_value := true)": (run_cdf, (0, True), ["trace", "run_s"]),
    "unified.wait_cdf() select * exclude (low_wait_s, high_wait_s, effective_units)": (
        wait_cdf,
        (False,),
        None,
    ),
    "unified.wait_cdf(every_value := true)": (wait_cdf, (True,), None),
    "unified.allocation_hourly()": allocated(None, False, None, False),
    "unified.allocation_hourly(offered := true)": allocated(None, False, None, True),
    "unified.allocation_hourly('openb', from_hour := 0)": allocated("openb", False, 0, False),
    "unified.allocation_hourly('asi', by_partition := true)": allocated("asi", True, 0, False),
    "unified.allocation_hourly('pai', by_partition := true)": allocated("pai", True, 0, False),
    "unified.allocation_hourly('dlrm', by_partition := true)": allocated("dlrm", True, 0, False),
}
QUERIES_AT_DEPTH = {
    "unified.allocation_hourly(from_hour := 2640, by_partition := true)": allocated(None, True, 2640, False),
}

"""The views and named queries on all traces, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import hashlib
import importlib
import math
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import raw_frames
from twins import pai

HOUR_S = 3600
DAY_S = 24 * HOUR_S
OUTCOMES = ("completed", "cancelled", "failed")
KNOWN = (*OUTCOMES, "preempted")
CLUSTER = ["trace", "cluster"]
NUMBERS = ["submit_s", "wait_s", "run_s", "end_s", "requested_gpus", "span_gpu_s", "held_gpu_s"]
OBSERVED = ["observed_wait_s", "observed_start_s", "observed_run_s"]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def twins_with(name: str, raw: Path) -> Iterator[tuple[str, ModuleType]]:
    """Yield the traces that have raw files and whose reference implementations define a name."""
    for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
        twin = importlib.import_module(f"twins.{found.name}")
        if hasattr(twin, name) and (raw / found.name).is_dir():
            yield found.name, twin


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


@lru_cache(maxsize=2)
def jobs_of_first_traces(raw: Path) -> pd.DataFrame:
    """Return the jobs of the traces in the first versions of the summary."""
    return raw_frames.unclipped_jobs(raw).astype(dict.fromkeys(NUMBERS, float))


def all_jobs(raw: Path) -> pd.DataFrame:
    frames = [
        of_trace(trace, twin.standard_job_v1(raw))[raw_frames.UNIFIED_V2]
        for trace, twin in twins_with("standard_job_v1", raw)
        if raw_frames.has_jobs(raw, trace)
    ]
    return pd.concat(frames, ignore_index=True)


@lru_cache(maxsize=2)
def jobs_of(raw: Path) -> pd.DataFrame:
    return all_jobs(raw).astype(dict.fromkeys([*NUMBERS, *OBSERVED], float))


def gpu_jobs_of(raw: Path) -> pd.DataFrame:
    jobs = jobs_of(raw)
    return jobs[jobs["requested_gpus"] > 0]


def by_cluster(jobs: pd.DataFrame) -> Iterator[tuple[dict[str, str | None], pd.DataFrame]]:
    """Yield the names and jobs of each cluster. A trace without clusters has one cluster named None."""
    for names, mine in jobs.groupby(CLUSTER, dropna=False):
        yield {key: None if pd.isna(name) else name for key, name in zip(CLUSTER, names, strict=True)}, mine


def known_of(jobs: pd.DataFrame) -> pd.DataFrame:
    return jobs[jobs["status"].isin(KNOWN)]


def as_printed(jobs: pd.DataFrame) -> pd.DataFrame:
    """Count preempted jobs as failed, as the published table does."""
    return jobs.assign(status=jobs["status"].replace("preempted", "failed"))


def has_failed(jobs: pd.DataFrame, preempted_fails: bool) -> pd.Series:
    return jobs["status"].isin(["failed", "preempted"] if preempted_fails else ["failed"])


def coverage_of(jobs: pd.DataFrame) -> dict[str, float | None]:
    """Return the percentage of jobs with GPU time, and the censored percentages of that GPU time."""
    held = jobs["held_gpu_s"]
    return {"covered_pct": percent(held.notna().sum(), len(jobs))} | censored_shares(
        jobs, held, "gpu_time_pct"
    )


def censored_shares(jobs: pd.DataFrame, weights: pd.Series, name: str) -> dict[str, float | None]:
    """Return the percentages of the weights of right- and left-censored jobs, None if unknown for any job."""
    shares = {}
    for prefix, flag in (("censored", "is_right_censored"), ("left_censored", "is_left_censored")):
        is_known = jobs[flag].notna().all()
        part = weights[jobs[flag].eq(True)].sum() if is_known else None
        shares[f"{prefix}_{name}"] = percent(part, weights.sum()) if is_known else None
    return shares


# Views.


def gpus_per_instance(raw: Path) -> dict[str, float]:
    """Return the GPUs of one instance of each PAI task, which the published table counts."""
    if not any((raw / "pai" / "data").glob("pai_task_table.*z*")):
        return {}
    tasks = raw_frames.pai_table(raw, "pai_task_table")
    return dict(zip(tasks["job_name"] + "/" + tasks["task_name"], tasks["plan_gpu"] / 100, strict=True))


def spread_of(jobs: pd.DataFrame, name: str, ending: str = "") -> dict[str, float]:
    return {f"mean_{name}{ending}": jobs[name].mean(), f"median_{name}{ending}": jobs[name].median()}


def shares_of_jobs(jobs: pd.DataFrame, ending: str = "") -> dict[str, float | None]:
    known = known_of(jobs)["status"]
    return {f"{name}_share{ending}": share((known == name).sum(), len(known)) for name in KNOWN}


def gpu_time_of(jobs: pd.DataFrame, gpu_s: str) -> dict[str, float | None]:
    """Return the GPU time by outcome; None, not 0, if no outcome is known."""
    known = known_of(jobs).dropna(subset=gpu_s)
    sums = {name: known.loc[known["status"] == name, gpu_s].sum() for name in KNOWN}
    row = {f"{name}_gpu_s": seconds if len(known) else None for name, seconds in sums.items()}
    return row | {f"{name}_gpu_time_share": share(sums[name], known[gpu_s].sum()) for name in KNOWN}


SUMMARY = ["trace", "cluster", "jobs", "cpu_jobs", "gpu_jobs", "mean_run_s", "mean_wait_s", "mean_gpus"]
SUMMARY += ["median_run_s", "median_wait_s", "median_gpus", "max_run_s", "max_gpus"]
SUMMARY += [f"{name}_share" for name in OUTCOMES]
SUMMARY += [f"{name}_gpu_s" for name in OUTCOMES]
SUMMARY += [f"{name}_gpu_time_share" for name in OUTCOMES]
SUMMARY += ["mean_run_s_cpu", "mean_wait_s_cpu", "median_run_s_cpu", "median_wait_s_cpu"]
SUMMARY += [f"{name}_share_cpu" for name in OUTCOMES]
COVERAGE = ["gpu_jobs_with_run", "gpu_jobs_with_gpu_time", "censored_gpu_jobs"]


def with_whole_traces(jobs: pd.DataFrame) -> pd.DataFrame:
    """Repeat the jobs of traces with several clusters as jobs of the cluster "all"."""
    clusters = jobs.groupby("trace")["cluster"].transform("nunique")
    return pd.concat([jobs, jobs[clusters > 1].assign(cluster="all")], ignore_index=True)


def summary_rows(raw: Path, every_job: pd.DataFrame, gpu_s: str = "held_gpu_s") -> list[dict[str, object]]:
    per_instance = gpus_per_instance(raw)
    rows = []
    for names, jobs in by_cluster(every_job):
        on_gpus, on_cpus = jobs[jobs["requested_gpus"] > 0], jobs[jobs["requested_gpus"] == 0]
        is_pai = names["trace"] == "pai"
        gpus = on_gpus["job_id"].map(per_instance) if is_pai else on_gpus["requested_gpus"]
        on_gpus = on_gpus.assign(gpus=gpus)
        row = names | {"jobs": len(jobs), "cpu_jobs": len(on_cpus), "gpu_jobs": len(on_gpus)}
        for name in ("run_s", "wait_s", "gpus"):
            row |= spread_of(on_gpus, name)
        row |= {"max_run_s": on_gpus["run_s"].max(), "max_gpus": gpus.max()}
        row |= shares_of_jobs(on_gpus) | gpu_time_of(on_gpus, gpu_s)
        row |= spread_of(on_cpus, "run_s", "_cpu") | spread_of(on_cpus, "wait_s", "_cpu")
        row |= shares_of_jobs(on_cpus, "_cpu")
        row |= {"gpu_jobs_with_run": on_gpus["run_s"].count()}
        row |= {"gpu_jobs_with_gpu_time": on_gpus["held_gpu_s"].count()}
        rows.append(row | {name: count_of(on_gpus, flag) for name, flag in CENSORED.items() if flag in jobs})
    return rows


CENSORED = {"censored_gpu_jobs": "is_right_censored", "left_censored_gpu_jobs": "is_left_censored"}


def count_of(jobs: pd.DataFrame, flag: str) -> int | None:
    return int(jobs[flag].eq(True).sum()) if jobs[flag].notna().all() else None


def summary(raw: Path) -> pd.DataFrame:
    rows = pd.DataFrame(summary_rows(raw, with_whole_traces(jobs_of(raw))))
    return rows[with_preempted(SUMMARY) + COVERAGE + ["left_censored_gpu_jobs"]]


def with_preempted(names: list[str]) -> list[str]:
    """Insert a column of preempted jobs after each column of failed jobs."""
    return [new for name in names for new in dict.fromkeys([name, name.replace("failed", "preempted")])]


@raw_frames.remembered
def capacity(raw: Path) -> pd.DataFrame:
    frames = []
    for trace, twin in twins_with("cluster_capacity", raw):
        rows = twin.cluster_capacity(raw)
        rows.insert(0, "trace", trace)
        frames.append(rows.astype(object))
    return pd.concat(frames, ignore_index=True)


@raw_frames.remembered
def capacity_hour(raw: Path) -> pd.DataFrame:
    frames = []
    for trace, twin in twins_with("cluster_capacity_hour", raw):
        rows = twin.cluster_capacity_hour(raw)
        rows.insert(0, "trace", trace)
        frames.append(rows.astype(object))
    columns = ["trace", "hour", "cluster", "partition_name", "gpus", "nodes"]
    return pd.concat([pd.DataFrame(columns=columns), *frames], ignore_index=True)


def job_utilization(raw: Path) -> pd.DataFrame:
    frames = []
    for trace, twin in twins_with("job_utilization", raw):
        rows = twin.job_utilization(raw)
        rows.insert(0, "trace", trace)
        frames.append(rows)
    return pd.concat(frames, ignore_index=True)


# Named queries.


def utilization_by_outcome(raw: Path) -> pd.DataFrame:
    use = job_utilization(raw)
    jobs = gpu_jobs_of(raw).merge(use.drop(columns="sampled_per"), on=["trace", "job_id"], how="left")
    jobs = jobs[jobs["trace"].isin(use["trace"])]
    of_outcome = jobs.groupby(["trace", "status"])
    sums = of_outcome[["held_gpu_s", "measured_gpu_s", "used_gpu_s"]].sum(min_count=1)
    columns = {
        "jobs": of_outcome.size(),
        "measured_jobs": of_outcome["measured_gpu_s"].count(),
        "gpu_h": sums["held_gpu_s"] / 3600,
        "measured_gpu_h": sums["measured_gpu_s"] / 3600,
        "measured_pct": 100 * sums["measured_gpu_s"] / sums["held_gpu_s"],
        "mean_gpu_pct": 100 * sums["used_gpu_s"] / sums["measured_gpu_s"],
    }
    rows = pd.DataFrame(columns).reset_index()
    samples = use.groupby("trace")["sampled_per"].first()
    rows.insert(1, "sampled_per", rows["trace"].map(samples))
    return rows


PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def traces(raw: Path, gpu_only: bool, preempted_fails: bool) -> pd.DataFrame:
    rows = []
    for names, jobs in by_cluster(gpu_jobs_of(raw) if gpu_only else jobs_of(raw)):
        row = {
            "jobs": len(jobs),
            "held_gpu_h": jobs["held_gpu_s"].sum(min_count=1) / HOUR_S,
            **coverage_of(jobs),
            "mean_gpus": jobs["requested_gpus"].mean(),
            "median_run_s": jobs["run_s"].median(),
            "whole_run_pct": percent(jobs["run_s"].count(), len(jobs)),
            "median_wait_s": jobs["wait_s"].median(),
            "without_wait_pct": percent(jobs["wait_s"].isna().sum(), len(jobs)),
            **failures_of(jobs, preempted_fails),
        }
        rows.append(names | row)
    return pd.DataFrame(rows)


def failures_of(jobs: pd.DataFrame, preempted_fails: bool) -> dict[str, float | None]:
    known, failed = len(known_of(jobs)), has_failed(jobs, preempted_fails).sum()
    return {
        "known_pct": percent(known, len(jobs)),
        "failed_of_all_pct": percent(failed, len(jobs)) if known else None,
        "failed_of_known_pct": percent(failed, known),
    }


def bounded(failures: dict[str, float | None], interval: dict[str, float | None]) -> dict[str, float | None]:
    """Add a confidence interval, and the share of failed jobs if all jobs of unknown outcome failed."""
    at_least = failures["failed_of_all_pct"]
    at_most = None if at_least is None else at_least + 100 - failures["known_pct"]
    found = {**failures, **interval, "failed_at_most_pct": at_most}
    names = ("known_pct", "failed_of_all_pct", *interval, "failed_at_most_pct", "failed_of_known_pct")
    return {name: found[name] for name in names}


def first_of_each_fifth(ranks: pd.Series, with_last: bool = True) -> pd.Series:
    """Return the first of sorted percentages in each fifth of a percent, and the last one if `with_last`."""
    fifths = [math.floor(round(5 * rank, 6)) for rank in ranks]
    last = len(fifths) - 1
    return ranks[
        [i == 0 or (with_last and i == last) or fifth > fifths[i - 1] for i, fifth in enumerate(fifths)]
    ]


def shares_up_to(values: pd.Series) -> pd.Series:
    """Return, by value, the percentage of values that do not exceed it; unknown values count as larger."""
    return 100 * values.value_counts().sort_index().cumsum() / len(values)


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


# Cumulative Poisson distribution with mean 1, scaled to 32 bits: how often a unit counts in a replicate.
TIMES = [
    int(sum(1 / math.factorial(fewer) for fewer in range(times + 1)) / math.e * 2**32) for times in range(5)
]


@lru_cache(maxsize=100)
def draw_counts(units: tuple[str, ...]) -> np.ndarray:
    """Return how often each unit counts in each of 200 replicates."""
    texts = (f"{unit} {replicate}" for replicate in range(1, 201) for unit in units)
    hashed = [int(hashlib.md5(text.encode()).hexdigest()[:8], 16) for text in texts]
    return np.searchsorted(TIMES, np.array(hashed).reshape(200, -1), side="right").astype(float)


def bootstrap(jobs: pd.DataFrame, sampled_by: str, part: pd.Series, whole: pd.Series) -> tuple:
    """Return low bound, high bound (95 %) and estimate of the sum of `part` in percent of that of `whole`."""
    days = (jobs["submit_s"].astype(float) // DAY_S).map("{:.0f}".format, na_action="ignore")
    unit = jobs["user_id"] if sampled_by == "user" else days
    sums = pd.DataFrame({"part": part.astype(float), "whole": whole.astype(float)}).fillna(0)
    of_units = sums.groupby(unit).sum()
    unknown = sums[unit.isna()].sum()
    total = of_units.sum() + unknown
    estimate = percent(total["part"], total["whole"])
    if len(of_units) < 10 or not total["whole"] or unknown["whole"] > 0.05 * total["whole"]:
        return None, None, estimate
    drawn = draw_counts(tuple(of_units.index)) @ of_units.to_numpy() + unknown.to_numpy()
    drawn = drawn[drawn[:, 1] > 0]
    return *np.quantile(100 * drawn[:, 0] / drawn[:, 1], [0.025, 0.975]), estimate


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


def summary_v1(raw: Path) -> pd.DataFrame:
    """The first version has four traces only, and GPU time from span_gpu_s."""
    jobs = as_printed(jobs_of_first_traces(raw))
    rows = pd.DataFrame(summary_rows(raw, jobs, "span_gpu_s"), columns=SUMMARY)
    return rows[rows["trace"].isin(["acme", "itp", "openb", "pai"])]


# The columns of the published table, in the order of the summary's columns.
PUBLISHED = (
    "job_num",
    "cpu_job_num",
    "gpu_job_num",
    "avg_run_time_gpu",
    "avg_que_time_gpu",
    "avg_gpu_num",
    "med_run_time_gpu",
    "med_que_time_gpu",
    "med_gpu_num",
    "max_run_time_gpu",
    "max_gpu",
    "complete_rate_gpu",
    "cancel_rate_gpu",
    "fail_rate_gpu",
    "complete_gpu_time",
    "cancel_gpu_time",
    "fail_gpu_time",
    "complete_rate_gpu_time",
    "cancel_rate_gpu_time",
    "fail_rate_gpu_time",
    "avg_run_time_cpu",
    "avg_que_time_cpu",
    "med_run_time_cpu",
    "med_que_time_cpu",
    "complete_rate_cpu",
    "cancel_rate_cpu",
    "fail_rate_cpu",
)
ROWS = {
    "Seren": ("acme", "seren"),
    "Kalos": ("acme", "kalos"),
    "Philly": ("philly", None),
    "Helios": ("helios", "all"),
    "PAI": ("pai", None),
}
AGAINST = ["trace", "cluster", "measure", "measured", "published", "difference"]


def summary_against_published(raw: Path) -> pd.DataFrame:
    """Return the lines of the published table whose jobs are loaded, next to the measured values."""
    printed = raw_frames.acme_summary(raw).set_index("id")
    rows = []
    jobs = as_printed(with_whole_traces(jobs_of(raw)))
    mine = {(row["trace"], row["cluster"]): row for row in summary_rows(raw, jobs)}
    for line in printed.index.intersection(list(ROWS)):
        for measure, column in zip(SUMMARY[2:], PUBLISHED, strict=True):
            names = ROWS[line]
            if names not in mine:
                continue
            measured, published = mine.get(names, {}).get(measure), printed.at[line, column]
            is_pair = not pd.isna(measured) and not pd.isna(published)
            named = measure.replace("failed", "failed_or_preempted")
            rows.append((*names, named, measured, published, measured - published if is_pair else None))
    return pd.DataFrame(rows, columns=AGAINST)


SIZES = (0.25, 0.5, *(2**power for power in range(11)))


def size_cdf(raw: Path, every_value: bool = False) -> pd.DataFrame:
    rows = []
    for trace, jobs in gpu_jobs_of(raw).groupby("trace"):
        occurring = first_of_each_fifth(shares_up_to(jobs["requested_gpus"].astype(float))).index
        for at_most in occurring if every_value else SIZES:
            small = jobs[jobs["requested_gpus"] <= at_most]
            row = {"trace": trace, "at_most_gpus": at_most, "jobs_pct": percent(len(small), len(jobs))}
            row |= {"gpu_time_pct": percent(small["held_gpu_s"].sum(), jobs["held_gpu_s"].sum())}
            rows.append(row | coverage_of(jobs))
    return pd.DataFrame(rows)


def top_share(held: pd.Series, top_pct: float) -> tuple[int, int, float | None]:
    """Return the number of items, of top items, and the percentage of all GPU time of the top items."""
    ranked = held.fillna(0).sort_values(ascending=False)
    top = math.ceil(len(ranked) * top_pct / 100)
    return len(ranked), top, percent(ranked.head(top).sum(), ranked.sum())


EVERY_PCT = tuple(range(101))


def concentration(jobs: pd.DataFrame, held: pd.Series, cuts: tuple[float, ...]) -> Iterator[tuple]:
    covered = coverage_of(jobs).values()
    for cut_pct in cuts:
        count, top, share_pct = top_share(held, cut_pct)
        yield count, cut_pct, top, share_pct, *covered


def gpu_time_concentration(raw: Path, *cuts: float, sampled_by: str = "day") -> pd.DataFrame:
    rows = []
    for trace, jobs in gpu_jobs_of(raw).groupby("trace"):
        held = jobs["held_gpu_s"]
        bounds: tuple = (None, None)
        if len(cuts) == 1:
            top = held.sort_values(ascending=False).head(math.ceil(len(held) * cuts[0] / 100))
            added = (held - top.min()).clip(lower=0) + top.min() * cuts[0] / 100
            bounds = bootstrap(jobs, sampled_by, added, held)[:2]
        rows += [(trace, *row, *bounds) for row in concentration(jobs, held, cuts)]
    columns = ["trace", "gpu_jobs", "heaviest_pct", "top_jobs", *CONCENTRATION]
    bounds_of = ["low_top_gpu_time_pct", "high_top_gpu_time_pct"]
    found = pd.DataFrame(rows, columns=[*columns, *bounds_of])
    return found[[*columns[:5], *bounds_of, *columns[5:]]]


def user_concentration(raw: Path, *cuts: float) -> pd.DataFrame:
    rows = []
    for trace, jobs in gpu_jobs_of(raw).dropna(subset="user_id").groupby("trace"):
        held = jobs.groupby("user_id")["held_gpu_s"].sum()
        rows += [(trace, *row) for row in concentration(jobs, held, cuts)]
    return pd.DataFrame(rows, columns=["trace", "users", "heaviest_pct", "top_users", *CONCENTRATION])


CONCENTRATION = ["top_gpu_time_pct", "covered_pct", "censored_gpu_time_pct", "left_censored_gpu_time_pct"]


def failure_share(raw: Path, gpu_only: bool, preempted_fails: bool, sampled_by: str = "day") -> pd.DataFrame:
    rows = []
    for names, jobs in by_cluster(gpu_jobs_of(raw) if gpu_only else jobs_of(raw)):
        known = known_of(jobs)
        is_failed = has_failed(jobs, preempted_fails)
        failed, held = jobs[is_failed], jobs["held_gpu_s"]
        intervals = {
            "failed_of_all_pct": bootstrap(jobs, sampled_by, is_failed, is_failed | True),
            "failed_gpu_time_pct": bootstrap(
                jobs, sampled_by, held.where(is_failed), held.where(jobs["status"] != "unknown")
            ),
        }
        bounds = {
            name: dict(
                zip((f"low_{name}", f"high_{name}"), interval[:2] if len(known) else [None] * 2, strict=True)
            )
            for name, interval in intervals.items()
        }
        row = {
            "jobs": len(jobs),
            **bounded(failures_of(jobs, preempted_fails), bounds["failed_of_all_pct"]),
            "cancelled_of_known_pct": percent((known["status"] == "cancelled").sum(), len(known)),
            "failed_gpu_time_pct": percent(failed["held_gpu_s"].sum(), known["held_gpu_s"].sum()),
            **bounds["failed_gpu_time_pct"],
            "covered_failed_pct": percent(failed["held_gpu_s"].count(), len(failed)),
            **censored_shares(jobs, jobs["held_gpu_s"], "gpu_time_pct"),
        }
        rows.append(names | row)
    return pd.DataFrame(rows)


def run_by_size(raw: Path, preempted_fails: bool) -> pd.DataFrame:
    rows = []
    for trace, of_trace in gpu_jobs_of(raw).groupby("trace"):
        for band in raw_frames.BANDS.values():
            jobs = of_trace[of_trace["size_band"] == band]
            if not len(jobs):
                continue
            row = {
                "trace": trace,
                "size_band": band,
                "jobs": len(jobs),
                "jobs_pct": percent(len(jobs), len(of_trace)),
                "held_gpu_h": jobs["held_gpu_s"].sum(min_count=1) / HOUR_S,
                "median_run_s": jobs["run_s"].median(),
                "median_wait_s": jobs["wait_s"].median(),
                "covered_pct": percent(jobs["run_s"].count(), len(jobs)),
                **censored_shares(jobs, pd.Series(1, index=jobs.index), "pct"),
            }
            failed = failures_of(jobs, preempted_fails)
            rows.append(row | {name: failed[name] for name in ("known_pct", "failed_of_known_pct")})
    return pd.DataFrame(rows)


def size_correlation(raw: Path, preempted_fails: bool) -> pd.DataFrame:
    rows = []
    for trace, jobs in gpu_jobs_of(raw).groupby("trace"):
        known = jobs["status"] != "unknown"
        is_failed = jobs["status"].isin(["failed", "preempted"] if preempted_fails else ["failed"])
        measures = {
            "failed": is_failed[known].astype(float),
            "run_s": jobs["run_s"].dropna(),
            "wait_s": jobs["wait_s"].dropna(),
        }
        for measure, values in measures.items():
            if len(values):
                sizes = jobs.loc[values.index, "requested_gpus"].rank()
                covered = percent(len(values), len(jobs))
                rows.append((trace, measure, len(values), covered, sizes.corr(values.rank())))
    return pd.DataFrame(rows, columns=["trace", "measure", "jobs", "covered_pct", "rank_correlation"])


WAIT_PERCENTILES = (10, 25, 50, 75, 90, 95, 99)


def of_traces(jobs: pd.DataFrame, in_trace: str | None) -> pd.DataFrame:
    return jobs if in_trace is None else jobs[jobs["trace"] == in_trace]


def first_hour(trace: str, from_hour: int | None) -> int:
    """Return the first hour that counts: 2640 for openb unless given."""
    if from_hour is None:
        return 2640 if trace == "openb" else 0
    return from_hour


def wait_cdf(
    raw: Path, in_trace: str | None, every_value: bool = False, sampled_by: str = "day"
) -> pd.DataFrame:
    rows = []
    counted_jobs = of_traces(gpu_jobs_of(raw), in_trace)
    for trace, band in product(sorted(counted_jobs["trace"].unique()), raw_frames.BANDS.values()):
        jobs = counted_jobs[(counted_jobs["trace"] == trace) & (counted_jobs["size_band"] == band)]
        observed, has_started = jobs["observed_wait_s"], jobs["wait_s"].notna()
        shares = (
            observed.count(),
            percent(observed.isna().sum(), len(jobs)),
            percent((observed.notna() & ~has_started).sum(), observed.count()),
        )
        points = survival_points(observed, has_started, WAIT_PERCENTILES, every_value)
        if not every_value:
            counted = jobs[observed.notna()]
            curve = survival_curve(observed.astype(float), has_started)
            points = [
                (p, wait, *woodruff(counted, curve, p, wait, sampled_by), None, None)
                for p, wait, *_ in points
            ]
        rows += [(trace, band, *shares, *point) for point in points]
    columns = ["trace", "size_band", "jobs", "unknown_pct", "never_started_pct", "percentile"]
    columns += ["wait_s", "low_wait_s", "high_wait_s", "low_pct", "high_pct"]
    return pd.DataFrame(rows, columns=columns)


def woodruff(
    jobs: pd.DataFrame, curve: pd.DataFrame, percentile: int, wait_s: float, sampled_by: str
) -> Iterator[float | None]:
    """Yield the waits at which the curve reaches the bounds of the share of jobs that started by `wait_s`."""
    has_started = jobs["wait_s"].notna() & (jobs["observed_wait_s"] <= wait_s)
    *bounds, share_pct = bootstrap(jobs, sampled_by, has_started, has_started | True)
    for bound in bounds:
        if bound is None:
            yield None
        else:
            yield curve.loc[curve["percentile"] >= percentile + bound - share_pct, "time"].min()


def arrived(raw: Path, gpu_only: bool) -> pd.DataFrame:
    """Return all jobs. The submission is NaN if it may have been before the trace."""
    jobs = counted_jobs(raw, gpu_only)
    return jobs.assign(submit_s=jobs["submit_s"].where(jobs["is_left_censored"].eq(False)))


def arrivals(raw: Path, gpu_only: bool, skip_first_pct: float) -> pd.DataFrame:
    rows = []
    for names, every in by_cluster(arrived(raw, gpu_only)):
        jobs = every.dropna(subset="submit_s")
        if not len(jobs):
            continue
        skipped = math.floor(len(jobs) * skip_first_pct / 100)
        times = jobs["submit_s"].sort_values().iloc[skipped:]
        gaps = times.diff().dropna()
        days = (times.max() - times.min()) / DAY_S
        in_one_second = (times // 1).duplicated(keep=False).sum()
        row = {
            "jobs": len(times),
            "skipped_jobs": skipped,
            "span_days": days,
            "jobs_per_day": share(len(times), days),
            "mean_gap_s": gaps.mean(),
            "cv_gap": share(gaps.std(ddof=0), gaps.mean()),
            "same_second_pct": percent(in_one_second, len(times)),
            "with_submission_pct": percent(len(jobs), len(every)),
        }
        rows.append(names | row)
    return pd.DataFrame(rows)


def local_hours(raw: Path, gpu_only: bool) -> pd.DataFrame:
    """Return each job's local hour since 1970, for clocks with true hours and weekdays."""
    jobs = counted_jobs(raw, gpu_only).dropna(subset="local_submit_s")
    hours = (jobs["local_submit_s"].astype(float) // HOUR_S).astype("int64")
    return pd.DataFrame({"trace": jobs["trace"], "hour": hours})


def profile(jobs: pd.DataFrame, name: str, places: range) -> pd.DataFrame:
    rows = []
    for trace, mine in jobs.groupby("trace"):
        for place in places:
            count = int((mine[name] == place).sum())
            rows.append((trace, place, count, percent(count, len(mine))))
    return pd.DataFrame(rows, columns=["trace", name, "jobs", "jobs_pct"])


def hour_profile(raw: Path, gpu_only: bool) -> pd.DataFrame:
    jobs = local_hours(raw, gpu_only)
    return profile(jobs.assign(hour_of_day=jobs["hour"] % 24), "hour_of_day", range(24))


def weekday_profile(raw: Path, gpu_only: bool) -> pd.DataFrame:
    """Count all days from a trace's first to its last. Day 0, 1 January 1970, is a Thursday."""
    jobs = local_hours(raw, gpu_only)
    rows = profile(jobs.assign(weekday=(jobs["hour"] // 24 + 3) % 7 + 1), "weekday", range(1, 8))
    days = {}
    for trace, hours in jobs.groupby("trace")["hour"]:
        every_day = np.arange(hours.min() // 24, hours.max() // 24 + 1)
        for weekday, count in pd.Series((every_day + 3) % 7 + 1).value_counts().items():
            days[trace, weekday] = count
    found = [days.get(place, 0) for place in zip(rows["trace"], rows["weekday"], strict=True)]
    rows.insert(2, "days", found)
    rows = rows[rows["days"] > 0]
    rows.insert(4, "jobs_per_day", rows["jobs"] / rows["days"])
    return rows


def counted_jobs(raw: Path, gpu_only: bool) -> pd.DataFrame:
    return gpu_jobs_of(raw) if gpu_only else jobs_of(raw)


def hour_of(times: pd.Series) -> pd.Series:
    return (times // HOUR_S).astype("int64")


def jobs_per_hour(submitted: pd.Series) -> pd.Series:
    """Return the jobs of every hour from the first to the last, 0 for hours without jobs."""
    hours = hour_of(submitted)
    return hours.value_counts().reindex(range(hours.min(), hours.max() + 1), fill_value=0)


def named(names: dict[str, str | None]) -> dict[str, str | None]:
    return {**names, "trace_cluster": " ".join(filter(None, [names["trace"], names["cluster"]]))}


SERIES = ["trace_cluster", "hour", "hour_start_s", "jobs", "submitted_gpus", "with_submission_pct"]


def arrival_series(raw: Path, in_trace: str | None, from_hour: int | None, gpu_only: bool) -> pd.DataFrame:
    frames = [pd.DataFrame(columns=[*CLUSTER, *SERIES])]
    jobs = arrived(raw, gpu_only)
    for names, mine in by_cluster(of_traces(jobs, in_trace)):
        counted = mine[mine["submit_s"] >= first_hour(names["trace"], from_hour) * HOUR_S]
        if not len(counted):
            continue
        counts = jobs_per_hour(counted["submit_s"])
        gpus = counted.groupby(hour_of(counted["submit_s"]))["requested_gpus"].sum()
        rows = pd.DataFrame(
            {
                "hour": counts.index,
                "hour_start_s": counts.index * HOUR_S,
                "jobs": counts.to_numpy(),
                "submitted_gpus": gpus.reindex(counts.index, fill_value=0).to_numpy(),
                "with_submission_pct": percent(mine["submit_s"].count(), len(mine)),
            }
        )
        frames.append(rows.assign(**named(names))[[*CLUSTER, *SERIES]].astype(object))
    return pd.concat(frames, ignore_index=True)


def autocorrelation(counts: np.ndarray, lag: int) -> float | None:
    deviations = counts - counts.mean()
    squares = (deviations**2).sum()
    if len(counts) < 2 * lag or counts.min() == counts.max():
        return None
    return (deviations[lag:] * deviations[:-lag]).sum() / squares


def burst_pct(jobs: pd.DataFrame, burst_s: float) -> float | None:
    of_users = jobs.dropna(subset="user_id").sort_values("submit_s")
    gaps = of_users.groupby("user_id")["submit_s"].diff()
    return percent((gaps <= burst_s).sum(), len(of_users))


def arrival_burstiness(raw: Path, gpu_only: bool, skip_first_pct: float, burst_s: float) -> pd.DataFrame:
    rows = []
    for names, mine in by_cluster(arrived(raw, gpu_only)):
        submitted = mine.dropna(subset="submit_s").sort_values(["submit_s", "job_id"])
        if not len(submitted):
            continue
        skipped = math.floor(len(submitted) * skip_first_pct / 100)
        jobs = submitted.iloc[skipped:]
        counts = jobs_per_hour(jobs["submit_s"]).to_numpy()
        row = {
            "jobs": len(jobs),
            "skipped_jobs": skipped,
            "hours": len(counts),
            "mean_hourly_jobs": counts.mean(),
            "max_hourly_jobs": counts.max(),
            "dispersion": counts.var() / counts.mean(),
            "cv_hourly_jobs": counts.std() / counts.mean(),
            "autocorrelation_24h": autocorrelation(counts, 24),
            "autocorrelation_168h": autocorrelation(counts, 168),
            "user_burst_pct": burst_pct(jobs, burst_s),
            "with_user_pct": percent(jobs["user_id"].count(), len(jobs)),
            "with_submission_pct": percent(len(submitted), len(mine)),
        }
        rows.append(names | row)
    return pd.DataFrame(rows)


def failure_cost(raw: Path, gpu_only: bool, preempted_fails: bool, by_workload: bool = False) -> pd.DataFrame:
    rows = []
    for trace, of_trace in counted_jobs(raw, gpu_only).groupby("trace"):
        outcomes = as_printed(of_trace) if preempted_fails else of_trace
        total_gpu_s = of_trace["held_gpu_s"].sum()
        kinds = outcomes["workload"] if by_workload else pd.Series(None, index=outcomes.index, dtype=object)
        for (kind, outcome, band), jobs in outcomes.groupby([kinds, "status", "size_band"], dropna=False):
            held_gpu_s = jobs["held_gpu_s"].sum(min_count=1)
            row = {
                "trace": trace,
                "workload": None if pd.isna(kind) else kind,
                "outcome": outcome,
                "size_band": band,
                "jobs": len(jobs),
                "jobs_pct": percent(len(jobs), len(of_trace)),
                "held_gpu_h": held_gpu_s / HOUR_S,
                "gpu_time_pct": percent(held_gpu_s, total_gpu_s),
                "uncovered_pct": percent(jobs["held_gpu_s"].isna().sum(), len(jobs)),
                **censored_shares(jobs, pd.Series(1, index=jobs.index), "pct"),
            }
            rows.append(row)
    return pd.DataFrame(rows)


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


def hourly_means(begins: pd.Series, ends: pd.Series, weights: pd.Series, hours: range) -> np.ndarray:
    """Return the sum of the weights in each hour, each weighted by the job's time in the hour."""
    sums = np.zeros(len(hours))
    there = ends > begins
    for begin, end, weight in zip(begins[there], ends[there], weights[there], strict=True):
        first, last = int(begin // HOUR_S) - hours.start, int(end // HOUR_S) - hours.start
        if first == last:
            sums[first] += weight * (end - begin) / HOUR_S
            continue
        sums[first] += weight * (1 - begin % HOUR_S / HOUR_S)
        sums[first + 1 : last] += weight
        sums[last] += weight * (end % HOUR_S) / HOUR_S
    return sums


def gpus_there(raw: Path, names: dict[str, str | None], by_partition: bool, hours: range) -> pd.Series:
    """Return the capacity in each hour. A job partition without a name has no capacity."""

    def of_names(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.fillna({"cluster": ""})
        rows = rows[(rows["trace"] == names["trace"]) & (rows["cluster"] == (names["cluster"] or ""))]
        return rows[rows["partition_name"] == names["partition_name"]] if by_partition else rows

    always, hourly = of_names(capacity(raw)), of_names(capacity_hour(raw))
    gpus = hourly.groupby("hour")["gpus"].sum().astype(float).reindex(hours)
    return gpus.fillna(float(always["gpus"].sum())) if len(always) else gpus


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
    held = hourly_means(jobs["start"], jobs["stop"], jobs["gpus"], hours)
    waits = jobs["submit_s"], jobs["waits_to"]
    rows = {
        "hour": hours,
        "hour_start_s": [hour * HOUR_S for hour in hours],
        "running_jobs": hourly_means(jobs["start"], jobs["stop"], one_each, hours),
        "held_gpus": held,
        "queued_jobs": hourly_means(*waits, one_each, hours) if has_queue else None,
        "queued_gpus": hourly_means(*waits, jobs["requested_gpus"], hours) if has_queue else None,
        "unended_jobs": [int(starts.get(hour, 0)) for hour in hours],
        "placed_pct": percent(jobs["is_placed"].sum(), len(jobs)),
        "capacity_gpus": gpus.to_numpy(),
        "held_of_capacity_pct": 100 * held / gpus.where(gpus > 0).to_numpy(),
    }
    return pd.DataFrame(rows).assign(**named(names))[ALLOCATION].astype(object)


PREDICTORS = {
    "last of user": ("user_id", False),
    "median of user": ("user_id", True),
    "last of group": ("group_id", False),
    "median of group": ("group_id", True),
    "last of trace": ("trace", False),
    "median of trace": ("trace", True),
}


def predictions_of(jobs: pd.DataFrame, last_jobs: int) -> np.ndarray:
    """Return, for each job, the median run time of the last `last_jobs` jobs that ended before it came.

    The jobs must be sorted by their ends.
    """
    medians = jobs["run_s"].rolling(last_jobs, min_periods=1).median().to_numpy()
    before = np.searchsorted(jobs["ended_s"].to_numpy(), jobs["submit_s"].to_numpy(), side="left")
    return np.concatenate([[math.nan], medians])[before]


def errors_of(jobs: pd.DataFrame, by: str, last_jobs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return run times and their predictions, without jobs that have no prediction."""
    predicted = [(np.empty(0), np.empty(0))]
    for _, mine in jobs.dropna(subset=by).groupby(by):
        predicted.append((mine["run_s"].to_numpy(), predictions_of(mine, last_jobs)))
    runs, found = (np.concatenate(column) for column in zip(*predicted, strict=True))
    return runs[~np.isnan(found)], found[~np.isnan(found)]


def duration_predictability(raw: Path, gpu_only: bool, last_jobs: int) -> pd.DataFrame:
    rows = []
    for trace, jobs in counted_jobs(raw, gpu_only).groupby("trace"):
        is_whole = jobs["submit_s"].notna() & (jobs["run_s"] > 0)
        whole = jobs[is_whole]
        ended_s = whole["end_s"].fillna(whole["submit_s"] + whole["run_s"])
        whole = whole.assign(ended_s=ended_s).sort_values(["ended_s", "submit_s", "run_s"])
        for predictor, (by, is_median) in PREDICTORS.items():
            runs, found = errors_of(whole, by, last_jobs if is_median else 1)
            errors = np.abs(found - runs) / runs
            is_near = (2 * found >= runs) & (found <= 2 * runs)
            row = {
                "trace": trace,
                "predictor": predictor,
                "jobs": len(jobs),
                "whole_run_pct": percent(len(whole), len(jobs)),
                "predicted_jobs": len(runs),
                "covered_pct": percent(len(runs), len(whole)),
                **raw_frames.percentiles(pd.Series(errors), "error"),
                "within_factor_2_pct": percent(is_near.sum(), len(runs)),
            }
            rows.append(row)
    return pd.DataFrame(rows)


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "unified.jobs_v1": (raw_frames.unified_jobs, ["trace", "cluster", "job_id"]),
    # Not in pai.VIEWS, which are also compared on tables with repeated keys, where job_id is no key.
    "pai.standard_job_v1": (pai.standard_job_v1, ["job_id"]),
    "unified.jobs_v2": (all_jobs, ["trace", "cluster", "job_id"]),
    "unified.summary_v1": (summary_v1, CLUSTER),
    "unified.summary_v3": (summary, CLUSTER),
    "unified.capacity_v1": (capacity, [*CLUSTER, "partition_name"]),
    "unified.capacity_hour_v1": (capacity_hour, ["trace", "hour", "partition_name"]),
    "unified.utilization_v1": (job_utilization, ["trace", "job_id"]),
}

BY_HOUR = [*CLUSTER, "hour"]
BY_PARTITION = [*CLUSTER, "partition_name", "hour"]
BY_OUTCOME = ["trace", "workload", "outcome", "size_band"]
BY_PREDICTOR = ["trace", "predictor"]

QUERIES = {
    "unified.traces()": (traces, (True, False), CLUSTER),
    "unified.traces(gpu_only := false, preempted_fails := true)": (traces, (False, True), CLUSTER),
    "unified.run_cdf()": (run_cdf, (0,), ["trace", "percentile"]),
    "unified.run_cdf(min_run_s := 600)": (run_cdf, (600,), ["trace", "percentile"]),
    "unified.run_cdf(every_value := true)": (run_cdf, (0, True), ["trace", "run_s"]),
    "unified.summary_against_published()": (summary_against_published, (), [*CLUSTER, "measure"]),
    "unified.size_cdf()": (size_cdf, (), ["trace", "at_most_gpus"]),
    "unified.size_cdf(every_value := true)": (size_cdf, (True,), ["trace", "at_most_gpus"]),
    "unified.gpu_time_concentration()": (gpu_time_concentration, (1,), ["trace"]),
    "unified.gpu_time_concentration(top_pct := 12.5)": (gpu_time_concentration, (12.5,), ["trace"]),
    "unified.gpu_time_concentration(top_pct := 100)": (gpu_time_concentration, (100,), ["trace"]),
    "unified.gpu_time_concentration(every_pct := true)": (
        gpu_time_concentration,
        EVERY_PCT,
        ["trace", "heaviest_pct"],
    ),
    "unified.user_concentration()": (user_concentration, (5,), ["trace"]),
    "unified.user_concentration(top_pct := 37.5)": (user_concentration, (37.5,), ["trace"]),
    "unified.user_concentration(every_pct := true)": (
        user_concentration,
        EVERY_PCT,
        ["trace", "heaviest_pct"],
    ),
    "unified.failure_share()": (failure_share, (True, False), CLUSTER),
    "unified.failure_share(sampled_by := 'user')": (failure_share, (True, False, "user"), CLUSTER),
    "unified.failure_share(gpu_only := false, preempted_fails := true)": (
        failure_share,
        (False, True),
        CLUSTER,
    ),
    "unified.utilization_by_outcome()": (utilization_by_outcome, (), ["trace", "status"]),
    "unified.run_by_size()": (run_by_size, (False,), None),
    "unified.size_correlation()": (size_correlation, (False,), ["trace", "measure"]),
    "unified.size_correlation(preempted_fails := true)": (size_correlation, (True,), ["trace", "measure"]),
    "unified.run_by_size(preempted_fails := true)": (run_by_size, (True,), None),
    "unified.wait_cdf()": (wait_cdf, (None,), None),
    "unified.wait_cdf('pai')": (wait_cdf, ("pai",), None),
    "unified.wait_cdf('philly', sampled_by := 'user')": (wait_cdf, ("philly", False, "user"), None),
    "unified.wait_cdf(every_value := true)": (wait_cdf, (None, True), None),
    "unified.wait_cdf('acme', every_value := true)": (wait_cdf, ("acme", True), None),
    "unified.arrivals()": (arrivals, (True, 0), CLUSTER),
    "unified.arrivals(gpu_only := false)": (arrivals, (False, 0), CLUSTER),
    "unified.arrivals(skip_first_pct := 33.5)": (arrivals, (True, 33.5), CLUSTER),
    "unified.hour_profile()": (hour_profile, (True,), ["trace", "hour_of_day"]),
    "unified.hour_profile(gpu_only := false)": (hour_profile, (False,), ["trace", "hour_of_day"]),
    "unified.weekday_profile()": (weekday_profile, (True,), ["trace", "weekday"]),
    "unified.weekday_profile(gpu_only := false)": (weekday_profile, (False,), ["trace", "weekday"]),
    "unified.arrival_series()": (arrival_series, (None, None, True), BY_HOUR),
    "unified.arrival_series('openb', from_hour := 0)": (arrival_series, ("openb", 0, True), BY_HOUR),
    "unified.arrival_series('openb')": (arrival_series, ("openb", None, True), BY_HOUR),
    "unified.arrival_series(gpu_only := false)": (arrival_series, (None, None, False), BY_HOUR),
    "unified.arrival_series(in_trace := 'itp', from_hour := 100)": (
        arrival_series,
        ("itp", 100, True),
        BY_HOUR,
    ),
    "unified.arrival_burstiness()": (arrival_burstiness, (True, 0, 60), CLUSTER),
    "unified.arrival_burstiness(gpu_only := false)": (arrival_burstiness, (False, 0, 60), CLUSTER),
    "unified.arrival_burstiness(skip_first_pct := 1)": (arrival_burstiness, (True, 1, 60), CLUSTER),
    "unified.arrival_burstiness(skip_first_pct := 33.5)": (arrival_burstiness, (True, 33.5, 60), CLUSTER),
    "unified.arrival_burstiness(burst_s := 0)": (arrival_burstiness, (True, 0, 0), CLUSTER),
    "unified.arrival_burstiness(burst_s := 86400)": (arrival_burstiness, (True, 0, 86_400), CLUSTER),
    "unified.failure_cost()": (failure_cost, (True, False), BY_OUTCOME),
    "unified.failure_cost(gpu_only := false)": (failure_cost, (False, False), BY_OUTCOME),
    "unified.failure_cost(by_workload := true)": (failure_cost, (True, False, True), BY_OUTCOME),
    "unified.failure_cost(preempted_fails := true)": (failure_cost, (True, True), BY_OUTCOME),
    "unified.allocation_hourly('asi', by_partition := true)": (
        allocation_hourly,
        ("asi", True, 0, False),
        BY_PARTITION,
    ),
    "unified.allocation_hourly()": (allocation_hourly, (None, False, None, False), BY_PARTITION),
    "unified.allocation_hourly('openb', from_hour := 0)": (
        allocation_hourly,
        ("openb", False, 0, False),
        BY_PARTITION,
    ),
    "unified.allocation_hourly(from_hour := 2640, by_partition := true)": (
        allocation_hourly,
        (None, True, 2640, False),
        BY_PARTITION,
    ),
    "unified.allocation_hourly(offered := true)": (
        allocation_hourly,
        (None, False, None, True),
        BY_PARTITION,
    ),
    "unified.allocation_hourly(in_trace := 'pai', by_partition := true)": (
        allocation_hourly,
        ("pai", True, 0, False),
        BY_PARTITION,
    ),
    "unified.allocation_hourly(in_trace := 'dlrm', by_partition := true)": (
        allocation_hourly,
        ("dlrm", True, 0, False),
        BY_PARTITION,
    ),
    "unified.duration_predictability()": (duration_predictability, (True, 5), BY_PREDICTOR),
    "unified.duration_predictability(gpu_only := false)": (
        duration_predictability,
        (False, 5),
        BY_PREDICTOR,
    ),
    "unified.duration_predictability(last_jobs := 2)": (duration_predictability, (True, 2), BY_PREDICTOR),
}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"from_hour": 3000, "in_trace": "pai", "skip_first_pct": 10, "min_run_s": 600}

# Utilisation needs the sensors and the job log, which the real files lack.
ON_REAL_FILES = {*VIEWS, *QUERIES} - {"unified.utilization_v1", "unified.utilization_by_outcome()"}

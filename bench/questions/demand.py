"""What instances hold by the hour: each its task's plan, from its start to its end."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, listed, percent, read, scan

HOUR_S = 3600
HOURS_OF_ZONE = 8
# The first day of the clock was a Thursday.
DAYS_AFTER_MONDAY = 3
ROUNDED = 6
# Seven weeks, from the Sunday that the publisher's weekly plots begin with.
FROM_HOUR, TO_HOUR = 568, 1743

HELD = {
    "requested_cpus": pl.col("plan_cpu").fill_null(0) / 100,
    "requested_memory_gb": pl.col("plan_mem").fill_null(0),
    "requested_gpus": pl.col("plan_gpu").fill_null(0) / 100,
    "sharing_gpus": pl.when(pl.col("plan_gpu") > 0, pl.col("plan_gpu") < 100)
    .then(pl.col("plan_gpu") / 100)
    .otherwise(0),
    "whole_gpus": pl.when(pl.col("plan_gpu") >= 100).then(pl.col("plan_gpu") / 100).otherwise(0),
    "requested_gpus_if_whole": (pl.col("plan_gpu").fill_null(0) / 100).ceil(),
}

OF_DAY = ["requested_cpus", "requested_gpus", "requested_memory_gb", "sharing_gpus", "whole_gpus"]
OF_WEEK = ["requested_cpus", "requested_gpus"]

SAVINGS = [
    "hours",
    "mean_requested_gpus",
    "mean_gpus_if_whole",
    "mean_saved_gpus",
    "saved_pct",
    "peak_saved_gpus",
    "peak_hour",
]


def pandas_demand_hourly(parquet: Path, held: list[str]) -> pd.DataFrame:
    """Mean demand in each hour, from the first that an instance started in to the last that one ended in."""
    tasks = read(parquet, "task", [*TASK, "plan_cpu", "plan_mem", "plan_gpu"])
    gpu = tasks["plan_gpu"].fillna(0)
    plans = pd.DataFrame(
        {
            "requested_cpus": tasks["plan_cpu"].fillna(0) / 100,
            "requested_memory_gb": tasks["plan_mem"].fillna(0),
            "requested_gpus": gpu / 100,
            "sharing_gpus": (gpu / 100).where(gpu < 100, 0),
            "whole_gpus": (gpu / 100).where(gpu >= 100, 0),
            "requested_gpus_if_whole": np.ceil(gpu / 100),
        }
    )[held]
    instances = read(parquet, "instance", [*TASK, "start_time", "end_time"])
    instances = instances[instances["start_time"] > 0]
    instances = instances.merge(tasks[TASK].join(plans), on=TASK)
    is_counted = instances["end_time"] > instances["start_time"]
    counted, unended = instances[is_counted], instances["start_time"][~is_counted]
    # A change at some time counts for the rest of its hour, and for all of every later one.
    times = pd.concat([counted["start_time"], counted["end_time"]], ignore_index=True)
    changes = pd.concat([counted[held], -counted[held]], ignore_index=True)
    hours = (times // HOUR_S).astype("int64")
    rest = changes.mul((hours + 1) * HOUR_S - times, axis=0).groupby(hours).sum() / HOUR_S
    whole = changes.groupby(hours).sum()
    first, last = hours.min(), hours.max()
    if len(unended):
        first, last = min(first, unended.min() // HOUR_S), max(last, unended.max() // HOUR_S)
    every = pd.RangeIndex(int(first), int(last) + 1, name="hour")
    before = whole.reindex(every, fill_value=0).cumsum().shift(fill_value=0)
    demand = before + rest.reindex(every, fill_value=0)
    started = (unended // HOUR_S).astype("int64").value_counts()
    return demand.assign(unended_instances=started.reindex(every, fill_value=0)).reset_index()


def polars_demand_hourly(parquet: Path, held: list[str]) -> pl.DataFrame:
    """Mean demand in each hour, from the first that an instance started in to the last that one ended in."""
    tasks = scan(parquet, "task").select(*TASK, **{name: HELD[name] for name in held})
    instances = (
        scan(parquet, "instance")
        .filter(pl.col("start_time") > 0)
        .select(*TASK, "start_time", "end_time")
        .join(tasks, on=TASK)
    )
    is_counted = (pl.col("end_time") > pl.col("start_time")).fill_null(False)
    counted = instances.filter(is_counted)
    # A change at some time counts for the rest of its hour, and for all of every later one.
    starts = polars_changes(counted, "start_time", held, 1)
    ends = polars_changes(counted, "end_time", held, -1)
    span = instances.select(
        first=pl.col("start_time").min() // HOUR_S,
        last=pl.max_horizontal(
            pl.col("end_time").filter(is_counted).max(), pl.col("start_time").filter(~is_counted).max()
        )
        // HOUR_S,
    )
    unended = (
        instances.filter(~is_counted)
        .group_by(hour=(pl.col("start_time") // HOUR_S).cast(pl.Int64))
        .agg(unended_instances=pl.len())
    )
    started, ended, spanned, unended_in = pl.collect_all([starts, ends, span, unended])
    first, last = (int(value) for value in spanned.row(0))
    return (
        pl.DataFrame({"hour": range(first, last + 1)})
        .join(
            pl.concat([started, ended]).group_by("hour").sum(), on="hour", how="left", maintain_order="left"
        )
        .join(unended_in, on="hour", how="left", maintain_order="left")
        .fill_null(0)
        .select(
            "hour",
            "unended_instances",
            *(
                (pl.col(f"{name}_whole").cum_sum().shift(fill_value=0) + pl.col(f"{name}_rest")).alias(name)
                for name in held
            ),
        )
    )


def polars_changes(instances: pl.LazyFrame, time: str, held: list[str], sign: int) -> pl.LazyFrame:
    """The change of demand by instances that start, or end, in each hour: in full, and for its remainder."""
    rest_h = 1 + pl.col(time) // HOUR_S - pl.col(time) / HOUR_S
    return instances.group_by(hour=(pl.col(time) // HOUR_S).cast(pl.Int64)).agg(
        *((sign * pl.col(name).sum()).alias(f"{name}_whole") for name in held),
        *((sign * (pl.col(name) * rest_h).sum()).alias(f"{name}_rest") for name in held),
    )


def sharing_savings_pandas(parquet: Path) -> pd.DataFrame:
    hours = pandas_demand_hourly(parquet, ["requested_gpus", "requested_gpus_if_whole"])
    saved = hours["requested_gpus_if_whole"] - hours["requested_gpus"]
    # Rounded, so that of equal hours the first one is found, whatever the sums leave in the last digits.
    peak = saved.round(ROUNDED).idxmax()
    row = (
        len(hours),
        hours["requested_gpus"].mean(),
        hours["requested_gpus_if_whole"].mean(),
        saved.mean(),
        percent(saved.sum(), hours["requested_gpus_if_whole"].sum()),
        saved[peak],
        hours["hour"][peak],
    )
    return listed(SAVINGS, [row])


def sharing_savings_polars(parquet: Path) -> pl.DataFrame:
    hours = polars_demand_hourly(parquet, ["requested_gpus", "requested_gpus_if_whole"])
    requested, if_whole = hours["requested_gpus"], hours["requested_gpus_if_whole"]
    saved = if_whole - requested
    peak = saved.round(ROUNDED).arg_max()
    row = (
        len(hours),
        requested.mean(),
        if_whole.mean(),
        saved.mean(),
        percent(saved.sum(), if_whole.sum()),
        saved[peak],
        hours["hour"][peak],
    )
    return pl.DataFrame([row], schema=SAVINGS, orient="row")


def demand_by_hour_of_day_pandas(parquet: Path) -> pd.DataFrame:
    hours = pandas_demand_hourly(parquet, OF_DAY)
    hours = hours[hours["hour"].between(FROM_HOUR, TO_HOUR)]
    groups = hours.groupby((hours["hour"] + HOURS_OF_ZONE).rename("hour_of_day") % 24)
    means = groups[OF_DAY].mean().add_prefix("mean_")
    unended = groups["unended_instances"].sum()
    return means.assign(hours=groups.size(), unended_instances=unended).reset_index()


def demand_by_hour_of_day_polars(parquet: Path) -> pl.DataFrame:
    return (
        polars_demand_hourly(parquet, OF_DAY)
        .filter(pl.col("hour").is_between(FROM_HOUR, TO_HOUR))
        .group_by(hour_of_day=(pl.col("hour") + HOURS_OF_ZONE) % 24)
        .agg(
            pl.col(OF_DAY).mean().name.prefix("mean_"),
            hours=pl.len(),
            unended_instances=pl.col("unended_instances").sum(),
        )
        .sort("hour_of_day")
    )


def demand_by_week_hour_pandas(parquet: Path) -> pd.DataFrame:
    hours = pandas_demand_hourly(parquet, OF_WEEK)
    hours = hours[hours["hour"].between(FROM_HOUR, TO_HOUR)]
    local = hours["hour"] + HOURS_OF_ZONE
    hours["weekday"] = (local // 24 + DAYS_AFTER_MONDAY) % 7 + 1
    hours["hour_of_day"] = local % 24
    groups = hours.groupby(["weekday", "hour_of_day"])
    means = groups[OF_WEEK].mean().add_prefix("mean_")
    unended = groups["unended_instances"].sum()
    return means.assign(hours=groups.size(), unended_instances=unended).reset_index()


def demand_by_week_hour_polars(parquet: Path) -> pl.DataFrame:
    local = pl.col("hour") + HOURS_OF_ZONE
    return (
        polars_demand_hourly(parquet, OF_WEEK)
        .filter(pl.col("hour").is_between(FROM_HOUR, TO_HOUR))
        .group_by(weekday=(local // 24 + DAYS_AFTER_MONDAY) % 7 + 1, hour_of_day=local % 24)
        .agg(
            pl.col(OF_WEEK).mean().name.prefix("mean_"),
            hours=pl.len(),
            unended_instances=pl.col("unended_instances").sum(),
        )
        .sort("weekday", "hour_of_day")
    )

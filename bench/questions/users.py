"""Who runs what: users with the most instances, groups of tasks that come again."""

import math
from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import listed, percent, read, scan

TOP_PCT = 5
AT_LEAST = [1, 2, 5, 10, 50, 100, 1000]


def user_concentration_pandas(parquet: Path) -> pd.DataFrame:
    jobs = read(parquet, "job", ["job_name", "user"]).dropna(subset="user")
    runs = read(parquet, "instance", ["job_name"])["job_name"].value_counts()
    jobs["instances"] = jobs["job_name"].map(runs).fillna(0)
    instances = jobs.groupby("user")["instances"].sum().sort_values(ascending=False)
    users = len(instances)
    top = math.ceil(users * TOP_PCT / 100)
    bottom = instances.tail(users // 2)
    row = (users, top, percent(instances.head(top).sum(), instances.sum()), bottom.max())
    return listed(["users", "top_users", "top_instances_pct", "bottom_half_max_instances"], [row])


def user_concentration_polars(parquet: Path) -> pl.DataFrame:
    runs = scan(parquet, "instance").group_by("job_name").agg(instances=pl.len())
    instances = pl.col("instances")
    users = pl.len()
    top = (users * TOP_PCT / 100).ceil().cast(pl.UInt32)
    return (
        scan(parquet, "job")
        .filter(pl.col("user").is_not_null())
        .join(runs, on="job_name", how="left")
        .group_by("user")
        .agg(instances.cast(pl.Int64).sum())
        .sort("instances", descending=True)
        .select(
            users=users,
            top_users=top,
            top_instances_pct=100.0 * instances.head(top).sum() / instances.sum(),
            bottom_half_max_instances=instances.tail(users // 2).max(),
        )
        .collect()
    )


def group_recurrence_pandas(parquet: Path) -> pd.DataFrame:
    jobs = read(parquet, "job", ["job_name", "inst_id", "user"])
    tags = read(parquet, "group_tag", ["inst_id", "group"])
    jobs = jobs.merge(tags, on="inst_id", how="left")
    jobs["key"] = jobs["group"].fillna(jobs["user"])
    tasks = read(parquet, "task", ["job_name"]).merge(jobs[["job_name", "key"]], on="job_name")
    sizes = tasks["key"].value_counts()
    rows = []
    for at_least in AT_LEAST:
        found = sizes[sizes >= at_least].sum()
        rows.append((at_least, found, percent(found, sizes.sum())))
    return listed(["at_least", "tasks", "tasks_pct"], rows)


def group_recurrence_polars(parquet: Path) -> pl.DataFrame:
    tags = scan(parquet, "group_tag").select("inst_id", "group")
    keys = (
        scan(parquet, "job")
        .join(tags, on="inst_id", how="left")
        .select("job_name", key=pl.coalesce("group", "user"))
    )
    sizes = (
        scan(parquet, "task")
        .select("job_name")
        .join(keys, on="job_name")
        .drop_nulls("key")
        .group_by("key")
        .agg(size=pl.len())
        .collect()["size"]
    )
    rows = []
    for at_least in AT_LEAST:
        found = sizes.filter(sizes >= at_least).sum()
        rows.append((at_least, found, percent(found, sizes.sum())))
    return pl.DataFrame(rows, schema=["at_least", "tasks", "tasks_pct"], orient="row")

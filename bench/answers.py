"""Answer seven of PAI's named queries in pandas and in Polars, for comparison with the warehouse.

The seven queries cover all kinds of PAI's 29 queries: scan a small table, group by one column, count distinct
values, rank, join two or three tables, and select one row per worker. Each `<query>_<library>` function reads
the Parquet files of the warehouse. It returns the columns and rows of the query with default parameters, in
the query's order. The functions read only the columns that they need, as an experienced user would do.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl

LIBRARIES = ("pandas", "polars")
TASK = ["job_name", "task_name"]
PARTS = 4
TOP_PCT = 5
PERCENTILES = {"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
QUANTILES = {f"{part}_wait_s": at for part, at in {"p5": 0.05, "p25": 0.25, **PERCENTILES}.items()}
# Polars' in-memory engine is faster than its streaming engine where a query sorts or joins many workers.
IN_MEMORY: Literal["in-memory"] = "in-memory"


def answers(library: str) -> dict[str, Callable[[Path], Any]]:
    """Return the functions of one library by the full name of their query."""
    ending = f"_{library}"
    return {
        f"pai.{name.removesuffix(ending)}": function
        for name, function in globals().items()
        if name.endswith(ending)
    }


def read(parquet: Path, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Read some columns of a table with pandas."""
    return pd.read_parquet(parquet / "pai" / table, columns=list(columns))


def scan(parquet: Path, table: str) -> pl.LazyFrame:
    """Scan a table lazily with Polars."""
    return pl.scan_parquet(parquet / "pai" / table / "*.parquet")


def percent(part: Any, whole: Any) -> Any:
    """Return `part` as a percentage of `whole`, or None if `whole` is 0."""
    return 100.0 * part / whole if whole else None


def nonzero(column: str) -> pl.Expr:
    """Return a column with NULL instead of 0, so that a division by it gives NULL."""
    return pl.when(pl.col(column) != 0).then(pl.col(column))


def happened(column: str) -> pl.Expr:
    """Return a column of times with NULL instead of 0, which means "did not happen"."""
    return pl.when(pl.col(column) > 0).then(pl.col(column))


def quantile(column: str, at: float) -> pl.Expr:
    """Return the quantile `at` (0 to 1) of a column, with linear interpolation."""
    return pl.col(column).quantile(at, interpolation="linear")


def machines_pandas(parquet: Path) -> pd.DataFrame:
    """Sum machines and their capacity by GPU type."""
    spec = read(parquet, "machine_spec", ["gpu_type", "cap_cpu", "cap_mem", "cap_gpu"])
    sums = {"machines": ("cap_gpu", "size"), "gpus": ("cap_gpu", "sum"), "cpus": ("cap_cpu", "sum")}
    groups = spec.groupby("gpu_type").agg(**sums, memory_gb=("cap_mem", "sum")).reset_index()
    groups["gpus_per_machine"] = groups["gpus"] / groups["machines"]
    groups["cpus_per_gpu"] = groups["cpus"] / groups["gpus"].where(groups["gpus"] > 0)
    return groups


def machines_polars(parquet: Path) -> pl.DataFrame:
    """Sum machines and their capacity by GPU type."""
    return (
        scan(parquet, "machine_spec")
        .group_by("gpu_type")
        .agg(
            machines=pl.len(),
            gpus=pl.col("cap_gpu").sum(),
            cpus=pl.col("cap_cpu").sum(),
            memory_gb=pl.col("cap_mem").sum(),
        )
        .with_columns(
            gpus_per_machine=pl.col("gpus") / pl.col("machines"),
            cpus_per_gpu=pl.col("cpus") / nonzero("gpus"),
        )
        .sort("gpu_type")
        .collect()
    )


def totals_pandas(parquet: Path) -> pd.DataFrame:
    """Count the rows and the distinct values of each level."""
    job = read(parquet, "job", ["inst_id", "user"])
    plan_gpu = read(parquet, "task", ["plan_gpu"])["plan_gpu"]
    worker_name = read(parquet, "instance", ["worker_name"])["worker_name"]
    cap_gpu = read(parquet, "machine_spec", ["cap_gpu"])["cap_gpu"]
    # For strings, a merge is faster than `isin`.
    tagged = job.merge(read(parquet, "group_tag", ["inst_id"]), on="inst_id")
    rows = [
        ("job", len(job)),
        ("task", len(plan_gpu)),
        ("gpu_task", int((plan_gpu > 0).sum())),
        ("instance", len(worker_name)),
        ("worker", worker_name.nunique()),
        ("sensor_worker", len(read(parquet, "sensor", ["worker_name"]))),
        ("user", job["user"].nunique()),
        ("tagged_user", tagged["user"].nunique()),
        ("machine", len(cap_gpu)),
        ("gpu", int(cap_gpu.sum())),
    ]
    return pd.DataFrame(rows, columns=["level", "entries"])


def totals_polars(parquet: Path) -> pl.DataFrame:
    """Count the rows and the distinct values of each level."""
    job, task, instance = scan(parquet, "job"), scan(parquet, "task"), scan(parquet, "instance")
    spec = scan(parquet, "machine_spec")
    tagged = job.join(scan(parquet, "group_tag"), on="inst_id", how="semi")
    entries = {
        "job": job.select(pl.len()),
        "task": task.select(pl.len()),
        "gpu_task": task.select((pl.col("plan_gpu") > 0).sum()),
        "instance": instance.select(pl.len()),
        "worker": instance.select(pl.col("worker_name").drop_nulls().n_unique()),
        "sensor_worker": scan(parquet, "sensor").select(pl.len()),
        "user": job.select(pl.col("user").drop_nulls().n_unique()),
        "tagged_user": tagged.select(pl.col("user").drop_nulls().n_unique()),
        "machine": spec.select(pl.len()),
        "gpu": spec.select(pl.col("cap_gpu").sum()),
    }
    counts = pl.collect_all(entries.values())
    return pl.DataFrame({"level": list(entries), "entries": [count.item() for count in counts]})


def failures_over_time_pandas(parquet: Path) -> pd.DataFrame:
    """Compute the share of failed tasks in each quarter of the tasks, by start time."""
    tasks = read(parquet, "task", ["start_time", "status", "plan_gpu"])
    tasks = tasks[tasks["start_time"] > 0]
    started_before = tasks["start_time"].rank(method="min") - 1
    part = started_before * PARTS // len(tasks) + 1
    is_gpu, is_failed = tasks["plan_gpu"] > 0, tasks["status"] == "Failed"
    rows = []
    for number in range(1, PARTS + 1):
        failed, gpu = is_failed[part == number], is_gpu[part == number]
        rows.append(
            (
                number,
                len(failed),
                failed.sum(),
                percent(failed.sum(), len(failed)),
                percent(failed[gpu].sum(), gpu.sum()),
                percent(failed[~gpu].sum(), (~gpu).sum()),
            )
        )
    names = ["part", "tasks", "failed_tasks", "failed_pct", "gpu_failed_pct", "cpu_failed_pct"]
    return pd.DataFrame(rows, columns=names)


def failures_over_time_polars(parquet: Path) -> pl.DataFrame:
    """Compute the share of failed tasks in each quarter of the tasks, by start time."""
    start = pl.col("start_time")
    started_before = start.rank("min").cast(pl.Int64) - 1
    part = started_before * PARTS // pl.len() + 1
    is_gpu, is_failed = pl.col("plan_gpu").fill_null(0) > 0, (pl.col("status") == "Failed").fill_null(False)
    parts = (
        scan(parquet, "task")
        .filter(start > 0)
        .select(part=part.cast(pl.Int64), is_gpu=is_gpu, is_failed=is_failed)
        .group_by("part")
        .agg(
            tasks=pl.len(),
            failed_tasks=pl.col("is_failed").sum(),
            failed_pct=100.0 * pl.col("is_failed").mean(),
            gpu_failed_pct=100.0 * pl.col("is_failed").filter("is_gpu").mean(),
            cpu_failed_pct=100.0 * pl.col("is_failed").filter(~pl.col("is_gpu")).mean(),
        )
        .collect()
    )
    every = pl.DataFrame({"part": range(1, PARTS + 1)})
    return every.join(parts, on="part", how="left", maintain_order="left").with_columns(
        pl.col("tasks", "failed_tasks").fill_null(0)
    )


def tasks_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
    """Count GPU tasks and failed ones by GPU type."""
    tasks = read(parquet, "task", ["gpu_type", "plan_gpu", "status"])
    tasks = tasks[tasks["plan_gpu"] > 0]
    tasks["is_failed"] = tasks["status"] == "Failed"
    types = tasks.groupby("gpu_type")["is_failed"].agg(["size", "mean"]).reset_index()
    types.columns = ["gpu_type", "tasks", "failed_pct"]
    types["failed_pct"] *= 100
    types["share_pct"] = 100.0 * types["tasks"] / types["tasks"].sum()
    types = types.sort_values(["tasks", "gpu_type"], ascending=[False, True])
    return types[["gpu_type", "tasks", "share_pct", "failed_pct"]]


def tasks_by_gpu_type_polars(parquet: Path) -> pl.DataFrame:
    """Count GPU tasks and failed ones by GPU type."""
    tasks = pl.col("tasks")
    return (
        scan(parquet, "task")
        .filter(pl.col("gpu_type").is_not_null() & (pl.col("plan_gpu") > 0))
        .group_by("gpu_type")
        .agg(tasks=pl.len(), failed_pct=100.0 * (pl.col("status") == "Failed").fill_null(False).mean())
        .select("gpu_type", "tasks", (100.0 * tasks / tasks.sum()).alias("share_pct"), "failed_pct")
        .sort("tasks", "gpu_type", descending=[True, False])
        .collect()
    )


def wait_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
    """Compute percentiles of the time that GPU tasks wait for their first instance, by GPU type."""
    tasks = read(parquet, "task", [*TASK, "start_time", "gpu_type", "plan_gpu"])
    instances = read(parquet, "instance", [*TASK, "start_time"])
    instances = instances[instances["start_time"] > 0]
    first = instances.groupby(TASK, sort=False)["start_time"].min().rename("first_start")
    tasks = tasks.merge(first.reset_index(), on=TASK, how="left")
    tasks["wait_s"] = tasks["first_start"] - tasks["start_time"].where(tasks["start_time"] > 0)
    waits = tasks[tasks["plan_gpu"] / 100 >= 0.01].groupby("gpu_type", dropna=False)["wait_s"]
    return pd.DataFrame(
        {
            "tasks": waits.count(),
            "never_started_tasks": waits.size() - waits.count(),
            **{name: waits.quantile(share) for name, share in QUANTILES.items()},
        }
    ).reset_index()


def wait_by_gpu_type_polars(parquet: Path) -> pl.DataFrame:
    """Compute percentiles of the time that GPU tasks wait for their first instance, by GPU type."""
    first = (
        scan(parquet, "instance")
        .filter(pl.col("start_time") > 0)
        .group_by(TASK)
        .agg(first_start=pl.col("start_time").min())
    )
    return (
        scan(parquet, "task")
        .join(first, on=TASK, how="left")
        .with_columns(wait_s=pl.col("first_start") - happened("start_time"))
        .filter(pl.col("plan_gpu") / 100 >= 0.01)
        .group_by("gpu_type")
        .agg(
            tasks=pl.col("wait_s").count(),
            never_started_tasks=pl.col("wait_s").null_count(),
            **{name: quantile("wait_s", share) for name, share in QUANTILES.items()},
        )
        .sort("gpu_type", nulls_last=True)
        .collect()
    )


def user_concentration_pandas(parquet: Path) -> pd.DataFrame:
    """Compute the share of instances that the top 5 % of the users run."""
    jobs = read(parquet, "job", ["job_name", "user"]).dropna(subset="user")
    runs = read(parquet, "instance", ["job_name"])["job_name"].value_counts()
    jobs["instances"] = jobs["job_name"].map(runs).fillna(0)
    instances = jobs.groupby("user")["instances"].sum().sort_values(ascending=False)
    users = len(instances)
    top = math.ceil(users * TOP_PCT / 100)
    bottom = instances.tail(users // 2)
    row = (users, top, percent(instances.head(top).sum(), instances.sum()), bottom.max())
    names = ["users", "top_users", "top_instances_pct", "bottom_half_max_instances"]
    return pd.DataFrame([row], columns=names)


def user_concentration_polars(parquet: Path) -> pl.DataFrame:
    """Compute the share of instances that the top 5 % of the users run."""
    runs = scan(parquet, "instance").group_by("job_name").agg(instances=pl.len())
    instances, users = pl.col("instances"), pl.len()
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


def usage_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
    """Compare what workers use with their task's plan, by GPU type.

    A worker that ran several times counts once, by the publisher's rule: sort by status, start and end, and
    keep the last row.
    """
    used, plans = ["cpu_usage", "gpu_wrk_util", "avg_mem"], ["plan_cpu", "plan_gpu", "plan_mem"]
    by = ["status", "start_time", "end_time", "inst_name"]
    workers = read(parquet, "instance", ["worker_name", *TASK, *by])
    workers = workers[workers["worker_name"].notna()]
    for time in ("start_time", "end_time"):
        workers[time] = workers[time].where(workers[time] > 0)
    workers = workers.sort_values(by, ascending=[True, True, True, False])
    workers = workers.drop_duplicates("worker_name", keep="last")[["worker_name", *TASK]]
    workers = workers.merge(read(parquet, "sensor", ["worker_name", *used]), on="worker_name")
    workers = workers.merge(read(parquet, "task", [*TASK, "gpu_type", *plans]), on=TASK, how="left")
    for use, plan in zip(used, plans, strict=True):
        workers[use] = workers[use] / workers[plan].where(workers[plan] != 0)
    groups = workers.groupby("gpu_type", dropna=False)
    return pd.DataFrame(
        {
            "workers": groups.size(),
            "median_cpu_use_of_plan": groups["cpu_usage"].median(),
            **{
                f"{part}_gpu_use_of_plan": groups["gpu_wrk_util"].quantile(at)
                for part, at in PERCENTILES.items()
            },
            "median_memory_use_of_plan": groups["avg_mem"].median(),
        }
    ).reset_index()


def usage_by_gpu_type_polars(parquet: Path) -> pl.DataFrame:
    """Compare what workers use with their task's plan, by GPU type; see `usage_by_gpu_type_pandas`."""
    sensor = scan(parquet, "sensor")
    by = [pl.col("status"), happened("start_time"), happened("end_time"), pl.col("inst_name")]
    descending, nulls_last = [True, True, True, False], [False, False, False, True]
    workers = (
        scan(parquet, "instance")
        .filter(pl.col("worker_name").is_not_null())
        .join(sensor, on="worker_name", how="semi")
        .group_by("worker_name")
        .agg(pl.col(TASK).sort_by(by, descending=descending, nulls_last=nulls_last).first())
    )
    plans = scan(parquet, "task").select(*TASK, "gpu_type", "plan_cpu", "plan_gpu", "plan_mem")
    return (
        workers.join(sensor.select("worker_name", "cpu_usage", "gpu_wrk_util", "avg_mem"), on="worker_name")
        .join(plans, on=TASK, how="left")
        .select(
            "gpu_type",
            cpu=pl.col("cpu_usage") / nonzero("plan_cpu"),
            gpu=pl.col("gpu_wrk_util") / nonzero("plan_gpu"),
            memory=pl.col("avg_mem") / nonzero("plan_mem"),
        )
        .group_by("gpu_type")
        .agg(
            workers=pl.len(),
            median_cpu_use_of_plan=pl.col("cpu").median(),
            **{f"{part}_gpu_use_of_plan": quantile("gpu", at) for part, at in PERCENTILES.items()},
            median_memory_use_of_plan=pl.col("memory").median(),
        )
        .sort("gpu_type", nulls_last=True)
        .collect(engine=IN_MEMORY)
    )

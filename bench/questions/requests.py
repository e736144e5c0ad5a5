"""What tasks ask for: bands and types of GPUs, sizes of gangs, percentiles."""

from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import listed, percent, quantile, read, scan, share_of

BANDS = ["under 25 %", "25 to 50 %", "50 to 100 %", "1 GPU", "over 1 GPU"]
GANGS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


def gpu_request_bands_pandas(parquet: Path) -> pd.DataFrame:
    plan = read(parquet, "task", ["plan_gpu"])["plan_gpu"]
    plan = plan[plan > 0]
    counts = [
        int((plan < 25).sum()),
        int(((plan >= 25) & (plan < 50)).sum()),
        int(((plan >= 50) & (plan < 100)).sum()),
        int((plan == 100).sum()),
        int((plan > 100).sum()),
    ]
    rows = [(band, tasks, percent(tasks, len(plan))) for band, tasks in zip(BANDS, counts, strict=True)]
    return listed(["band", "tasks", "share_pct"], rows)


def gpu_request_bands_polars(parquet: Path) -> pl.DataFrame:
    plan = pl.col("plan_gpu")
    bands = [plan < 25, (plan >= 25) & (plan < 50), (plan >= 50) & (plan < 100), plan == 100, plan > 100]
    return (
        scan(parquet, "task")
        .filter(plan > 0)
        .select(band.sum().alias(name) for name, band in zip(BANDS, bands, strict=True))
        .unpivot(variable_name="band", value_name="tasks")
        .with_columns(share_pct=share_of("tasks"))
        .collect()
    )


def tasks_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
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
    return (
        scan(parquet, "task")
        .filter(pl.col("gpu_type").is_not_null() & (pl.col("plan_gpu") > 0))
        .group_by("gpu_type")
        .agg(tasks=pl.len(), failed_pct=100.0 * (pl.col("status") == "Failed").fill_null(False).mean())
        .select("gpu_type", "tasks", share_of("tasks").alias("share_pct"), "failed_pct")
        .sort("tasks", "gpu_type", descending=[True, False])
        .collect()
    )


def gang_sizes_pandas(parquet: Path) -> pd.DataFrame:
    size = read(parquet, "task", ["inst_num"])["inst_num"].dropna()
    rows = []
    for at_least in GANGS:
        large = size[size >= at_least]
        shares = percent(len(large), len(size)), percent(large.sum(), size.sum())
        rows.append((at_least, len(large), large.sum(), *shares))
    return listed(["at_least", "tasks", "instances", "tasks_pct", "instances_pct"], rows)


def gang_sizes_polars(parquet: Path) -> pl.DataFrame:
    size = pl.col("inst_num")
    sizes = scan(parquet, "task").filter(size.is_not_null()).group_by(size).agg(tasks=pl.len()).collect()
    sizes = sizes.with_columns(instances=size * pl.col("tasks"))
    return (
        pl.LazyFrame({"at_least": GANGS})
        .join(sizes.lazy(), how="cross")
        .group_by("at_least")
        .agg(pl.col("tasks", "instances").filter(size >= pl.col("at_least")).sum())
        .with_columns(
            tasks_pct=100.0 * pl.col("tasks") / sizes["tasks"].sum(),
            instances_pct=100.0 * pl.col("instances") / sizes["instances"].sum(),
        )
        .sort("at_least")
        .collect()
    )


def request_percentiles_pandas(parquet: Path) -> pd.DataFrame:
    tasks = read(parquet, "task", ["plan_cpu", "plan_gpu", "plan_mem"])
    plans = [
        ("cpu", "CPU cores", tasks["plan_cpu"].dropna() / 100),
        ("gpu", "GPUs", tasks["plan_gpu"][tasks["plan_gpu"] > 0] / 100),
        ("memory", "GB", tasks["plan_mem"].dropna()),
    ]
    rows = [(name, len(plan), unit, plan.median(), plan.quantile(0.95)) for name, unit, plan in plans]
    return listed(["resource", "requests", "unit", "median", "at_percentile"], rows)


def request_percentiles_polars(parquet: Path) -> pl.DataFrame:
    task = scan(parquet, "task")
    plans = {
        ("cpu", "CPU cores"): task.select(plan=pl.col("plan_cpu") / 100),
        ("gpu", "GPUs"): task.filter(pl.col("plan_gpu") > 0).select(plan=pl.col("plan_gpu") / 100),
        ("memory", "GB"): task.select(plan=pl.col("plan_mem")),
    }
    return pl.concat(
        pl.collect_all(
            plan.drop_nulls().select(
                resource=pl.lit(resource),
                requests=pl.len(),
                unit=pl.lit(unit),
                median=pl.col("plan").median(),
                at_percentile=quantile("plan", 0.95),
            )
            for (resource, unit), plan in plans.items()
        )
    )

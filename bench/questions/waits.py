"""How long tasks wait for their first instance."""

from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, happened, listed, percent, quantile, read, scan

AT_WAITS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]


def pandas_task_wait(parquet: Path, columns: list[str]) -> pd.DataFrame:
    """Tasks with what they waited for their first instance, nothing where neither it nor they started."""
    tasks = read(parquet, "task", [*TASK, "start_time", *columns])
    instances = read(parquet, "instance", [*TASK, "start_time"])
    instances = instances[instances["start_time"] > 0]
    first = instances.groupby(TASK, sort=False)["start_time"].min().rename("first_start")
    tasks = tasks.merge(first.reset_index(), on=TASK, how="left")
    tasks["wait_s"] = tasks["first_start"] - tasks["start_time"].where(tasks["start_time"] > 0)
    return tasks


def polars_task_wait(parquet: Path) -> pl.LazyFrame:
    """Tasks with what they waited for their first instance, nothing where neither it nor they started."""
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
    )


QUANTILES = {
    "p5_wait_s": 0.05,
    "p25_wait_s": 0.25,
    "median_wait_s": 0.5,
    "p75_wait_s": 0.75,
    "p90_wait_s": 0.9,
    "p95_wait_s": 0.95,
    "p99_wait_s": 0.99,
}
WAITS = {
    "tasks": pl.col("wait_s").count(),
    "never_started_tasks": pl.col("wait_s").null_count(),
    **{name: quantile("wait_s", share) for name, share in QUANTILES.items()},
}


def wait_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
    tasks = pandas_task_wait(parquet, ["gpu_type", "plan_gpu"])
    tasks = tasks[tasks["plan_gpu"] / 100 >= 0.01]
    waits = tasks.groupby("gpu_type", dropna=False)["wait_s"]
    return pd.DataFrame(
        {
            "tasks": waits.count(),
            "never_started_tasks": waits.size() - waits.count(),
            **{name: waits.quantile(share) for name, share in QUANTILES.items()},
        }
    ).reset_index()


def wait_by_gpu_type_polars(parquet: Path) -> pl.DataFrame:
    return (
        polars_task_wait(parquet)
        .filter(pl.col("plan_gpu") / 100 >= 0.01)
        .group_by("gpu_type")
        .agg(**WAITS)
        .sort("gpu_type", nulls_last=True)
        .collect()
    )


def wait_by_sharing_pandas(parquet: Path) -> pd.DataFrame:
    tasks = pandas_task_wait(parquet, ["plan_gpu"])
    rows = []
    for request, asked in (
        ("shared GPU", (tasks["plan_gpu"] > 0) & (tasks["plan_gpu"] < 100)),
        ("whole GPUs", tasks["plan_gpu"] >= 100),
    ):
        waits = tasks["wait_s"][asked]
        rows.append((request, waits.count(), waits.isna().sum(), *waits.quantile([*QUANTILES.values()])))
    return listed(["request", *WAITS], rows)


def wait_by_sharing_polars(parquet: Path) -> pl.DataFrame:
    is_whole = pl.col("plan_gpu") >= 100
    return (
        polars_task_wait(parquet)
        .filter(pl.col("plan_gpu") > 0)
        .group_by(request=pl.when(is_whole).then(pl.lit("whole GPUs")).otherwise(pl.lit("shared GPU")))
        .agg(**WAITS)
        .sort("request")
        .collect()
    )


def wait_cdf_pandas(parquet: Path) -> pd.DataFrame:
    tasks = pandas_task_wait(parquet, ["gpu_type", "plan_gpu"])
    tasks = tasks[tasks["plan_gpu"] > 0]
    rows = []
    for gpu_type, waits in tasks.groupby("gpu_type")["wait_s"]:
        never_started = int(waits.isna().sum())
        counts = [int((waits <= at).sum()) for at in AT_WAITS]
        rows += [
            (gpu_type, at, count, never_started, percent(count, waits.count()))
            for at, count in zip(AT_WAITS, counts, strict=True)
        ]
    return listed(["gpu_type", "wait_s", "tasks", "never_started_tasks", "share_pct"], rows)


def wait_cdf_polars(parquet: Path) -> pl.DataFrame:
    return (
        polars_task_wait(parquet)
        .filter((pl.col("plan_gpu") > 0) & pl.col("gpu_type").is_not_null())
        .group_by("gpu_type")
        .agg(
            pl.col("wait_s").count().alias("of"),
            pl.col("wait_s").null_count().alias("never_started_tasks"),
            *((pl.col("wait_s") <= at).sum().alias(str(at)) for at in AT_WAITS),
        )
        .unpivot(index=["gpu_type", "of", "never_started_tasks"], variable_name="wait_s", value_name="tasks")
        .select(
            "gpu_type",
            pl.col("wait_s").cast(pl.Int64),
            "tasks",
            "never_started_tasks",
            share_pct=100.0 * pl.col("tasks") / pl.col("of"),
        )
        .sort("gpu_type", "wait_s")
        .collect()
    )


WAIT_SHARE = ["run_class", "tasks", "never_started_tasks", "unended_tasks"]
WAIT_SHARE += ["waited_over_pct", "median_wait_share"]


def wait_share_pandas(parquet: Path) -> pd.DataFrame:
    tasks = read(parquet, "task", [*TASK, "start_time"])
    instances = read(parquet, "instance", [*TASK, "start_time", "end_time"])
    instances = instances[instances["start_time"] > 0]
    instances["end_time"] = instances["end_time"].where(instances["end_time"] > 0)
    spans = instances.groupby(TASK, sort=False).agg(first=("start_time", "min"), last=("end_time", "max"))
    tasks = tasks.merge(spans.reset_index(), on=TASK, how="left")
    tasks["wait_s"] = tasks["first"] - tasks["start_time"].where(tasks["start_time"] > 0)
    tasks["run_s"] = tasks["last"] - tasks["first"]
    never_started = tasks["wait_s"].isna()
    left_out = never_started.sum(), (~never_started & tasks["run_s"].isna()).sum()
    tasks["completion_s"] = tasks["wait_s"] + tasks["run_s"]
    tasks = tasks[tasks["completion_s"] > 0]
    tasks["wait_share"] = tasks["wait_s"] / tasks["completion_s"]
    rows = []
    for run_class, chosen in (("short", tasks["run_s"] < 3600), ("long", tasks["run_s"] >= 3600)):
        shares = tasks["wait_share"][chosen]
        over = percent(int((shares > 0.5).sum()), len(shares))
        rows.append((run_class, len(shares), *left_out, over, shares.median()))
    return listed(WAIT_SHARE, rows)


def wait_share_polars(parquet: Path) -> pl.DataFrame:
    spans = (
        scan(parquet, "instance")
        .filter(pl.col("start_time") > 0)
        .group_by(TASK)
        .agg(first=pl.col("start_time").min(), last=happened("end_time").max())
    )
    tasks = (
        scan(parquet, "task")
        .join(spans, on=TASK, how="left")
        .select(wait_s=pl.col("first") - happened("start_time"), run_s=pl.col("last") - pl.col("first"))
        .collect()
    )
    classes = (
        tasks.lazy()
        .filter(pl.col("wait_s") + pl.col("run_s") > 0)
        .select(
            pl.when(pl.col("run_s") < 3600)
            .then(pl.lit("short"))
            .otherwise(pl.lit("long"))
            .alias("run_class"),
            wait_share=pl.col("wait_s") / (pl.col("wait_s") + pl.col("run_s")),
        )
        .group_by("run_class")
        .agg(
            tasks=pl.len(),
            waited_over_pct=100.0 * (pl.col("wait_share") > 0.5).mean(),
            median_wait_share=pl.col("wait_share").median(),
        )
        .collect()
    )
    started = tasks.filter(pl.col("wait_s").is_not_null())
    return (
        pl.DataFrame({"run_class": ["short", "long"]})
        .join(classes, on="run_class", how="left", maintain_order="left")
        .with_columns(
            pl.col("tasks").fill_null(0),
            never_started_tasks=tasks["wait_s"].null_count(),
            unended_tasks=started["run_s"].null_count(),
        )
        .select(WAIT_SHARE)
    )

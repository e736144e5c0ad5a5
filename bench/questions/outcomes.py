"""How tasks end, and when they fail."""

from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, happened, listed, percent, read, scan

PARTS = 4


def run_by_status_pandas(parquet: Path) -> pd.DataFrame:
    tasks = read(parquet, "task", [*TASK, "status", "inst_num", "plan_gpu"])
    instances = read(parquet, "instance", [*TASK, "start_time", "end_time"])
    instances = instances[instances["start_time"] > 0]
    instances["end_time"] = instances["end_time"].where(instances["end_time"] > 0)
    run = instances["end_time"] - instances["start_time"]
    instances["held"] = run.where(run > 0)
    groups = instances.groupby(TASK, sort=False)
    spans = groups.agg(first=("start_time", "min"), last=("end_time", "max"))
    spans["held_s"] = groups["held"].sum(min_count=1)
    tasks = tasks[tasks["plan_gpu"] > 0].merge(spans.reset_index(), on=TASK, how="left")
    tasks["run_s"] = tasks["last"] - tasks["first"]
    gpu_h = tasks["plan_gpu"] / 100 / 3600
    tasks["held_gpu_h"] = gpu_h * tasks["held_s"]
    tasks["span_gpu_h"] = gpu_h * tasks["inst_num"] * tasks["run_s"]
    groups = tasks.groupby("status", dropna=False)
    return pd.DataFrame(
        {
            "tasks": groups.size(),
            "tasks_with_run": groups["run_s"].count(),
            "median_run_s": groups["run_s"].median(),
            "mean_run_s": groups["run_s"].mean(),
            "held_gpu_h": groups["held_gpu_h"].sum(min_count=1),
            "span_gpu_h": groups["span_gpu_h"].sum(min_count=1),
        }
    ).reset_index()


def run_by_status_polars(parquet: Path) -> pl.DataFrame:
    held = happened("end_time") - pl.col("start_time")
    held = held.filter(held > 0)
    spans = (
        scan(parquet, "instance")
        .filter(pl.col("start_time") > 0)
        .group_by(TASK)
        .agg(
            first=pl.col("start_time").min(),
            last=happened("end_time").max(),
            held_s=pl.when(held.count() > 0).then(held.sum()),
        )
    )
    gpu_h = pl.col("plan_gpu") / 100 / 3600
    held_gpu_h, span_gpu_h = gpu_h * pl.col("held_s"), gpu_h * pl.col("inst_num") * pl.col("run_s")
    return (
        scan(parquet, "task")
        .filter(pl.col("plan_gpu") > 0)
        .join(spans, on=TASK, how="left")
        .with_columns(run_s=pl.col("last") - pl.col("first"))
        .group_by("status")
        .agg(
            tasks=pl.len(),
            tasks_with_run=pl.col("run_s").count(),
            median_run_s=pl.col("run_s").median(),
            mean_run_s=pl.col("run_s").mean(),
            held_gpu_h=pl.when(held_gpu_h.count() > 0).then(held_gpu_h.sum()),
            span_gpu_h=pl.when(span_gpu_h.count() > 0).then(span_gpu_h.sum()),
        )
        .sort("status", nulls_last=True)
        .collect()
    )


def failures_over_time_pandas(parquet: Path) -> pd.DataFrame:
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
    return listed(["part", "tasks", "failed_tasks", "failed_pct", "gpu_failed_pct", "cpu_failed_pct"], rows)


def failures_over_time_polars(parquet: Path) -> pl.DataFrame:
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

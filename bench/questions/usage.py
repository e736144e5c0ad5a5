"""What workers and machines use: beside the plan, by type of GPU, and of GPUs that they share."""

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, happened, listed, nonzero, percent, quantile, read, scan

# Where many workers are sorted or looked up this was the quicker one; elsewhere the streaming engine is.
IN_MEMORY: Literal["in-memory"] = "in-memory"

MARGINS = ["cpu", "gpu", "memory"]


def plan_against_usage_pandas(parquet: Path) -> pd.DataFrame:
    used = ["cpu_usage", "gpu_wrk_util", "avg_mem"]
    workers = read(parquet, "sensor", [*TASK, "machine", *used])
    tasks = read(parquet, "task", [*TASK, "plan_cpu", "plan_gpu", "plan_mem"])
    spec = read(parquet, "machine_spec", ["machine", "cap_cpu", "cap_gpu", "cap_mem"])
    workers = workers.merge(tasks, on=TASK).merge(spec, on="machine", how="left")
    workers["cpu"] = (workers["plan_cpu"] - workers["cpu_usage"]) / (100 * workers["cap_cpu"])
    cards = workers["cap_gpu"].where(workers["cap_gpu"] > 0)
    workers["gpu"] = (workers["plan_gpu"] - workers["gpu_wrk_util"]) / (100 * cards)
    workers["memory"] = (workers["plan_mem"] - workers["avg_mem"]) / workers["cap_mem"]
    margins = workers.groupby(TASK, sort=False)[MARGINS].mean()
    rows = []
    for resource in MARGINS:
        margin = margins[resource].dropna()
        less, more = int((margin > 0).sum()), int((margin < 0).sum())
        shares = percent(less, len(margin)), percent(more, len(margin))
        rows.append((resource, len(margin), *shares, margin.median()))
    names = ["resource", "tasks", "used_less_pct", "used_more_pct", "median_margin_of_capacity"]
    return listed(names, rows)


def plan_against_usage_polars(parquet: Path) -> pl.DataFrame:
    tasks = scan(parquet, "task").select(*TASK, "plan_cpu", "plan_gpu", "plan_mem").with_row_index("task")
    spec = scan(parquet, "machine_spec").select("machine", "cap_cpu", "cap_gpu", "cap_mem")
    margins = (
        scan(parquet, "sensor")
        .join(spec, on="machine", how="left")
        .join(tasks, on=TASK)
        # By the task's number, which is quicker to group by than its names.
        .group_by("task")
        .agg(
            cpu=((pl.col("plan_cpu") - pl.col("cpu_usage")) / (100 * nonzero("cap_cpu"))).mean(),
            gpu=((pl.col("plan_gpu") - pl.col("gpu_wrk_util")) / (100 * nonzero("cap_gpu"))).mean(),
            memory=((pl.col("plan_mem") - pl.col("avg_mem")) / nonzero("cap_mem")).mean(),
        )
        .collect()
    )
    rows = []
    for resource in MARGINS:
        margin = margins[resource].drop_nulls()
        shares = percent((margin > 0).sum(), len(margin)), percent((margin < 0).sum(), len(margin))
        rows.append((resource, len(margin), *shares, margin.median()))
    names = ["resource", "tasks", "used_less_pct", "used_more_pct", "median_margin_of_capacity"]
    return pl.DataFrame(rows, schema=names, orient="row")


def pandas_workers(parquet: Path, columns: list[str]) -> pd.DataFrame:
    """The publisher's cleaning: sort by status, start and end, and keep the last row of each worker."""
    rows = read(parquet, "instance", ["worker_name", "status", "start_time", "end_time", *columns])
    rows = rows[rows["worker_name"].notna()]
    for time in ("start_time", "end_time"):
        rows[time] = rows[time].where(rows[time] > 0)
    by = ["status", "start_time", "end_time"]
    if "inst_name" in columns:
        rows = rows.sort_values([*by, "inst_name"], ascending=[True, True, True, False])
    else:
        rows = rows.sort_values(by)
    return rows.drop_duplicates("worker_name", keep="last")


def polars_workers(parquet: Path, columns: list[str], among: pl.LazyFrame) -> pl.LazyFrame:
    """The workers that are also in another table, by the publisher's rule."""
    rows = (
        scan(parquet, "instance")
        .filter(pl.col("worker_name").is_not_null())
        .join(among, on="worker_name", how="semi")
        .select("worker_name", "status", happened("start_time"), happened("end_time"), *columns)
    )
    by = ["status", "start_time", "end_time", *(["inst_name"] if "inst_name" in columns else [])]
    descending = [True, True, True, False][: len(by)]
    nulls_last = [False, False, False, True][: len(by)]
    kept = [
        pl.col(column).sort_by(by, descending=descending, nulls_last=nulls_last).first()
        for column in ("start_time", "end_time", *columns)
    ]
    return rows.group_by("worker_name").agg(*kept)


def usage_by_gpu_type_pandas(parquet: Path) -> pd.DataFrame:
    used = ["cpu_usage", "gpu_wrk_util", "avg_mem"]
    plans = ["plan_cpu", "plan_gpu", "plan_mem"]
    workers = pandas_workers(parquet, ["inst_name", *TASK])[["worker_name", *TASK]]
    workers = workers.merge(read(parquet, "sensor", ["worker_name", *used]), on="worker_name")
    workers = workers.merge(read(parquet, "task", [*TASK, "gpu_type", *plans]), on=TASK, how="left")
    for use, plan in zip(used, plans, strict=True):
        workers[use] = workers[use] / workers[plan].where(workers[plan] != 0)
    groups = workers.groupby("gpu_type", dropna=False)
    return pd.DataFrame(
        {
            "workers": groups.size(),
            "median_cpu_use_of_plan": groups["cpu_usage"].median(),
            "median_gpu_use_of_plan": groups["gpu_wrk_util"].median(),
            "median_memory_use_of_plan": groups["avg_mem"].median(),
            "p90_gpu_use_of_plan": groups["gpu_wrk_util"].quantile(0.9),
        }
    ).reset_index()


def usage_by_gpu_type_polars(parquet: Path) -> pl.DataFrame:
    sensor = scan(parquet, "sensor")
    return (
        polars_workers(parquet, ["inst_name", *TASK], sensor)
        .join(sensor.select("worker_name", "cpu_usage", "gpu_wrk_util", "avg_mem"), on="worker_name")
        .join(
            scan(parquet, "task").select(*TASK, "gpu_type", "plan_cpu", "plan_gpu", "plan_mem"),
            on=TASK,
            how="left",
        )
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
            median_gpu_use_of_plan=pl.col("gpu").median(),
            median_memory_use_of_plan=pl.col("memory").median(),
            p90_gpu_use_of_plan=quantile("gpu", 0.9),
        )
        .sort("gpu_type", nulls_last=True)
        .collect(engine=IN_MEMORY)
    )


def machine_use_by_type_pandas(parquet: Path) -> pd.DataFrame:
    used = ["machine_cpu", "machine_gpu", "machine_load_1"]
    metric = read(parquet, "machine_metric", ["worker_name", "machine", "start_time", "end_time", *used])
    metric = metric[(metric["start_time"] > 0) & (metric["end_time"] > metric["start_time"])]
    # A merge is quicker than `isin` is for texts.
    metric = metric.merge(read(parquet, "instance", ["worker_name"]).drop_duplicates(), on="worker_name")
    metric["weight"] = pandas_parts_of_time(metric)
    spec = read(parquet, "machine_spec", ["machine", "gpu_type", "cap_gpu"])
    metric = metric.merge(spec, on="machine", how="left")
    cards = metric["cap_gpu"].where(metric["cap_gpu"] > 0)
    metric["machine_gpu"] = metric["machine_gpu"] / cards
    groups = metric.groupby("gpu_type", dropna=False)
    answer = {
        "machines": groups["machine"].nunique(),
        "workers": groups.size(),
        "observed_machine_h": groups["weight"].sum() / 3600,
    }
    for name, column in zip(["mean_cpu_pct", "mean_gpu_pct", "mean_load"], used, strict=True):
        seen = metric["weight"] * (cards if column == "machine_gpu" else 1)
        weighted = (metric[column] * seen).groupby(metric["gpu_type"], dropna=False)
        weight = seen.where(metric[column].notna()).groupby(metric["gpu_type"], dropna=False)
        answer[name] = weighted.sum(min_count=1) / weight.sum()
    return pd.DataFrame(answer).reset_index()


def pandas_parts_of_time(metric: pd.DataFrame) -> pd.Series:
    """What falls to each worker of its machine's time, where workers that overlap part it equally."""
    machine = metric["machine"].astype("category").cat.codes
    starts = pd.DataFrame({"machine": machine, "at": metric["start_time"], "change": 1})
    ends = pd.DataFrame({"machine": machine, "at": metric["end_time"], "change": -1})
    times = pd.concat([starts, ends]).groupby(["machine", "at"], as_index=False)["change"].sum()
    of_machine = times.groupby("machine")
    workers = of_machine["change"].cumsum()
    lasted = of_machine["at"].shift(-1) - times["at"]
    parts = (lasted / workers.where(workers > 0)).fillna(0.0)
    times["before"] = parts.groupby(times["machine"]).cumsum() - parts
    since = starts.merge(times, on=["machine", "at"], how="left")["before"]
    until = ends.merge(times, on=["machine", "at"], how="left")["before"]
    return pd.Series((until - since).to_numpy(), index=metric.index)


def machine_use_by_type_polars(parquet: Path) -> pl.DataFrame:
    def mean(column: str, weight: pl.Expr) -> pl.Expr:
        whole = weight.filter(pl.col(column).is_not_null()).sum()
        return (pl.col(column) * weight).sum() / pl.when(whole > 0).then(whole)

    metric = (
        scan(parquet, "machine_metric")
        .filter((pl.col("start_time") > 0) & (pl.col("end_time") > pl.col("start_time")))
        .join(scan(parquet, "instance").select("worker_name"), on="worker_name", how="semi")
    )
    cards = pl.when(pl.col("cap_gpu") > 0).then(pl.col("cap_gpu"))
    return (
        polars_parts_of_time(metric)
        .join(
            scan(parquet, "machine_spec").select("machine", "gpu_type", "cap_gpu"), on="machine", how="left"
        )
        .with_columns(machine_gpu=pl.col("machine_gpu") / cards)
        .group_by("gpu_type")
        .agg(
            machines=pl.col("machine").n_unique(),
            workers=pl.len(),
            observed_machine_h=pl.col("weight").sum() / 3600,
            mean_cpu_pct=mean("machine_cpu", pl.col("weight")),
            mean_gpu_pct=mean("machine_gpu", pl.col("weight") * cards),
            mean_load=mean("machine_load_1", pl.col("weight")),
        )
        .sort("gpu_type", nulls_last=True)
        .collect(engine=IN_MEMORY)
    )


def polars_parts_of_time(metric: pl.LazyFrame) -> pl.LazyFrame:
    """Workers with what falls to each of its machine's time, where workers that overlap part it equally."""
    workers = pl.col("change").cum_sum()
    lasted = pl.col("at").shift(-1) - pl.col("at")
    part = pl.when(workers > 0).then(lasted / workers).fill_null(0.0)
    times = (
        pl.concat(
            [
                metric.select("machine", at="start_time", change=pl.lit(1)),
                metric.select("machine", at="end_time", change=pl.lit(-1)),
            ]
        )
        .group_by("machine", "at")
        .agg(pl.col("change").sum())
        .sort("machine", "at")
        .select("machine", "at", before=(part.cum_sum() - part).over("machine"))
    )
    return (
        metric.join(times, left_on=["machine", "start_time"], right_on=["machine", "at"])
        .join(times, left_on=["machine", "end_time"], right_on=["machine", "at"], suffix="_end")
        .with_columns(weight=pl.col("before_end") - pl.col("before"))
    )


def gpu_sharing_by_type_pandas(parquet: Path) -> pd.DataFrame:
    sensor = read(parquet, "sensor", ["worker_name", "machine", "gpu_name"]).dropna()
    workers = pandas_workers(parquet, []).merge(sensor, on="worker_name")
    workers = workers[workers["end_time"] > workers["start_time"]]
    workers["gpu"] = workers.groupby(["machine", "gpu_name"], sort=False).ngroup()
    workers = workers.sort_values(["gpu", "start_time"], ignore_index=True)
    # All GPUs on one time axis, one after another: who starts before a worker ends comes right after it.
    length = workers["end_time"].max() + 1
    start = (workers["gpu"] * length + workers["start_time"]).to_numpy()
    end = (workers["gpu"] * length + workers["end_time"]).to_numpy()
    places = np.arange(len(workers))
    later = np.searchsorted(start, end, side="left") - places - 1
    first = np.repeat(places, later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    spec = read(parquet, "machine_spec", ["machine", "gpu_type"])
    workers = workers.merge(spec, on="machine", how="left")
    workers["shares"] = False
    workers.loc[first, "shares"] = True
    workers.loc[second, "shares"] = True
    pairs = pd.DataFrame(
        {
            "gpu_type": workers["gpu_type"].take(first).array,
            "overlap_s": np.minimum(end[first], end[second]) - start[second],
        }
    )
    groups = workers.groupby("gpu_type", dropna=False)["shares"]
    answer = pd.DataFrame(
        {
            "workers": groups.size(),
            "sharing_workers": groups.sum(),
            "sharing_pct": 100.0 * groups.mean(),
        }
    )
    overlaps = pairs.groupby("gpu_type", dropna=False)["overlap_s"]
    answer["pairs"] = overlaps.size()
    answer["pairs"] = answer["pairs"].fillna(0)
    answer["median_overlap_s"] = overlaps.median()
    return answer.reset_index()


def gpu_sharing_by_type_polars(parquet: Path) -> pl.DataFrame:
    sensor = scan(parquet, "sensor").select("worker_name", "machine", "gpu_name").drop_nulls()
    gpus = sensor.select("machine", "gpu_name").unique().with_row_index("gpu")
    spec = scan(parquet, "machine_spec").select("machine", "gpu_type")
    gpus = gpus.join(spec, on="machine", how="left")
    # All GPUs on one time axis, one after another: who starts before a worker ends comes right after it.
    workers = (
        polars_workers(parquet, [], sensor)
        .filter(pl.col("end_time") > pl.col("start_time"))
        .join(sensor, on="worker_name")
        .join(gpus, on=["machine", "gpu_name"])
        .with_columns(origin=pl.col("gpu") * (pl.col("end_time").max() + 1))
        .select(
            "gpu_type",
            start=pl.col("origin") + pl.col("start_time"),
            end=pl.col("origin") + pl.col("end_time"),
        )
        .sort("start")
        .with_row_index("place")
        .collect(engine=IN_MEMORY)
    )
    until = workers["start"].search_sorted(workers["end"], side="left")
    pairs = (
        workers.lazy()
        .select(
            "place",
            "gpu_type",
            "end",
            other=pl.int_ranges(pl.col("place") + 1, pl.lit(until), dtype=pl.UInt32),
        )
        .explode("other", empty_as_null=False)
        .with_columns(
            overlap_s=pl.min_horizontal("end", pl.lit(workers["end"]).gather(pl.col("other")))
            - pl.lit(workers["start"]).gather(pl.col("other"))
        )
        .collect()
    )
    in_a_pair = pl.concat([pairs["place"].unique(), pairs["other"].unique()]).unique()
    sharing = workers.select("gpu_type", shares=pl.col("place").is_in(in_a_pair.implode()))
    types = sharing.group_by("gpu_type").agg(
        workers=pl.len(), sharing_workers=pl.col("shares").sum(), sharing_pct=100.0 * pl.col("shares").mean()
    )
    overlaps = pairs.group_by("gpu_type").agg(pairs=pl.len(), median_overlap_s=pl.col("overlap_s").median())
    return (
        types.join(overlaps, on="gpu_type", how="left", nulls_equal=True)
        .with_columns(pl.col("pairs").fill_null(0))
        .sort("gpu_type", nulls_last=True)
    )

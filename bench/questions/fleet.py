"""How much there is: machines, entries of each level, their statuses, and how the tables meet."""

from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, listed, nonzero, percent, read, scan

JOINS = [
    ("job_task", "pai.job", "pai.task", ["job_name"]),
    ("job_group_tag", "pai.job", "pai.group_tag", ["inst_id"]),
    ("task_instance", "pai.task", "pai.instance", TASK),
    ("instance_sensor", "pai.instance", "pai.sensor", ["worker_name"]),
    ("worker_sensor", "pai.worker", "pai.sensor", ["worker_name"]),
    ("instance_machine_metric", "pai.instance", "pai.machine_metric", ["worker_name"]),
    ("worker_machine_metric", "pai.worker", "pai.machine_metric", ["worker_name"]),
    ("instance_machine_spec", "pai.instance", "pai.machine_spec", ["machine"]),
    ("sensor_machine_spec", "pai.sensor", "pai.machine_spec", ["machine"]),
]

COVERAGE = [
    "join_name",
    "left_table",
    "right_table",
    "left_matched_pct",
    "right_matched_pct",
    "left_multiply_matched",
    "right_multiply_matched",
]


def machines_pandas(parquet: Path) -> pd.DataFrame:
    spec = read(parquet, "machine_spec", ["gpu_type", "cap_cpu", "cap_mem", "cap_gpu"])
    sums = {"machines": ("cap_gpu", "size"), "gpus": ("cap_gpu", "sum"), "cpus": ("cap_cpu", "sum")}
    groups = spec.groupby("gpu_type").agg(**sums, memory_gb=("cap_mem", "sum")).reset_index()
    groups = pd.concat([groups, groups.sum(numeric_only=True).to_frame().T.assign(gpu_type="all")])
    groups["gpus_per_machine"] = groups["gpus"] / groups["machines"]
    groups["cpus_per_gpu"] = groups["cpus"] / groups["gpus"].where(groups["gpus"] > 0)
    return groups


def machines_polars(parquet: Path) -> pl.DataFrame:
    groups = (
        scan(parquet, "machine_spec")
        .group_by("gpu_type")
        .agg(
            machines=pl.len(),
            gpus=pl.col("cap_gpu").sum(),
            cpus=pl.col("cap_cpu").sum(),
            memory_gb=pl.col("cap_mem").sum(),
        )
        .sort("gpu_type")
        .collect()
    )
    total = groups.select(pl.lit("all").alias("gpu_type"), pl.exclude("gpu_type").sum())
    return pl.concat([groups, total]).with_columns(
        gpus_per_machine=pl.col("gpus") / pl.col("machines"),
        cpus_per_gpu=pl.col("cpus") / pl.when(pl.col("gpus") > 0).then(pl.col("gpus")),
    )


def totals_pandas(parquet: Path) -> pd.DataFrame:
    job = read(parquet, "job", ["inst_id", "user"])
    plan_gpu = read(parquet, "task", ["plan_gpu"])["plan_gpu"]
    worker_name = read(parquet, "instance", ["worker_name"])["worker_name"]
    cap_gpu = read(parquet, "machine_spec", ["cap_gpu"])["cap_gpu"]
    tagged = job[job["inst_id"].isin(read(parquet, "group_tag", ["inst_id"])["inst_id"])]
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
    return listed(["level", "entries"], rows)


def totals_polars(parquet: Path) -> pl.DataFrame:
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


def status_counts_pandas(parquet: Path) -> pd.DataFrame:
    levels = []
    for level in ("job", "task", "instance"):
        counts = read(parquet, level, ["status"])["status"].value_counts(dropna=False)
        entries = counts.rename("entries").reset_index()
        entries["share_pct"] = 100.0 * entries["entries"] / entries["entries"].sum()
        entries = entries.sort_values(["entries", "status"], ascending=[False, True])
        levels.append(entries.assign(level=level))
    return pd.concat(levels)[["level", "status", "entries", "share_pct"]]


def status_counts_polars(parquet: Path) -> pl.DataFrame:
    levels = [
        scan(parquet, level)
        .group_by("status")
        .agg(entries=pl.len())
        .select(
            pl.lit(level).alias("level"),
            "status",
            "entries",
            share_pct=100.0 * pl.col("entries") / pl.col("entries").sum(),
        )
        .sort("entries", "status", descending=[True, False], nulls_last=True)
        for level in ("job", "task", "instance")
    ]
    return pl.concat(pl.collect_all(levels))


def coverage_pandas(parquet: Path) -> pd.DataFrame:
    counted: dict[tuple[str, ...], pd.Series] = {}

    def counts(table: str, key: list[str]) -> pd.Series:
        """How many rows each key has; the size of the table stands in `attrs`."""
        name = (table, *key)
        if name not in counted:
            if table == "pai.worker":
                found = counts("pai.instance", key) * 0 + 1
                found.attrs["rows"] = len(found)
            else:
                rows = read(parquet, table.removeprefix("pai."), key)
                found = rows.groupby(key, sort=False).size()
                found.attrs["rows"] = len(rows)
            counted[name] = found
        return counted[name]

    answer = []
    for join_name, left_table, right_table, key in sorted(JOINS):
        left, right = counts(left_table, key), counts(right_table, key)
        common = pd.concat([left.rename("left"), right.rename("right")], axis=1, join="inner")
        answer.append(
            (
                join_name,
                left_table,
                right_table,
                percent(common["left"].sum(), left.attrs["rows"]),
                percent(common["right"].sum(), right.attrs["rows"]),
                common["left"][common["right"] > 1].sum(),
                common["right"][common["left"] > 1].sum(),
            )
        )
    return listed(COVERAGE, answer)


def coverage_polars(parquet: Path) -> pl.DataFrame:
    def rows(table: str, key: list[str]) -> pl.LazyFrame:
        if table == "pai.worker":
            return scan(parquet, "instance").select(pl.col(key).drop_nulls().unique())
        return scan(parquet, table.removeprefix("pai.")).select(key)

    def counts(table: str, key: list[str], name: str) -> pl.LazyFrame:
        return rows(table, key).drop_nulls().group_by(key).agg(pl.len().alias(name))

    joins = []
    for join_name, left_table, right_table, key in sorted(JOINS):
        left, right = counts(left_table, key, "left"), counts(right_table, key, "right")
        common = left.join(right, on=key).select(
            left_matched=pl.col("left").cast(pl.Int64).sum(),
            right_matched=pl.col("right").cast(pl.Int64).sum(),
            left_multiply_matched=pl.col("left").filter(pl.col("right") > 1).cast(pl.Int64).sum(),
            right_multiply_matched=pl.col("right").filter(pl.col("left") > 1).cast(pl.Int64).sum(),
        )
        sizes = [
            rows(left_table, key).select(left_rows=pl.len()),
            rows(right_table, key).select(right_rows=pl.len()),
        ]
        names = [
            pl.lit(text).alias(name)
            for name, text in zip(COVERAGE, (join_name, left_table, right_table), strict=False)
        ]
        joins.append(pl.concat([common, *sizes], how="horizontal").with_columns(*names))
    return pl.concat(pl.collect_all(joins)).select(
        *COVERAGE[:3],
        left_matched_pct=100.0 * pl.col("left_matched") / nonzero("left_rows"),
        right_matched_pct=100.0 * pl.col("right_matched") / nonzero("right_rows"),
        left_multiply_matched=pl.col("left_multiply_matched"),
        right_multiply_matched=pl.col("right_multiply_matched"),
    )

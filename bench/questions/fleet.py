"""How much there is: machines, entries of each level, their statuses, and how the tables meet."""

from pathlib import Path

import pandas as pd
import polars as pl

from tracehouse.bench.questions.parquet import TASK, listed, percent, read, scan

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
    groups["gpus_per_machine"] = groups["gpus"] / groups["machines"]
    groups["cpus_per_gpu"] = groups["cpus"] / groups["gpus"].where(groups["gpus"] > 0)
    return groups


def machines_polars(parquet: Path) -> pl.DataFrame:
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
            cpus_per_gpu=pl.col("cpus") / pl.when(pl.col("gpus") > 0).then(pl.col("gpus")),
        )
        .sort("gpu_type")
        .collect()
    )


def totals_pandas(parquet: Path) -> pd.DataFrame:
    job = read(parquet, "job", ["inst_id", "user"])
    plan_gpu = read(parquet, "task", ["plan_gpu"])["plan_gpu"]
    worker_name = read(parquet, "instance", ["worker_name"])["worker_name"]
    cap_gpu = read(parquet, "machine_spec", ["cap_gpu"])["cap_gpu"]
    # A merge is quicker than `isin` is for texts.
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
    counted: dict[tuple[str, ...], tuple[int, pd.DataFrame]] = {}

    def counts(table: str, key: list[str]) -> tuple[int, pd.DataFrame]:
        """The rows of a table, and how many of them each key has."""
        name = (table, *key)
        if name not in counted:
            if table == "pai.worker":
                _, found = counts("pai.instance", key)
                counted[name] = len(found), found.assign(rows=1)
            else:
                keys = read(parquet, table.removeprefix("pai."), key)
                counted[name] = len(keys), keys.groupby(key, sort=False).size().reset_index(name="rows")
        return counted[name]

    answer = []
    for join_name, left_table, right_table, key in sorted(JOINS):
        (left_rows, left), (right_rows, right) = counts(left_table, key), counts(right_table, key)
        common = left.merge(right, on=key)
        answer.append(
            (
                join_name,
                left_table,
                right_table,
                percent(common["rows_x"].sum(), left_rows),
                percent(common["rows_y"].sum(), right_rows),
                common["rows_x"][common["rows_y"] > 1].sum(),
                common["rows_y"][common["rows_x"] > 1].sum(),
            )
        )
    return listed(COVERAGE, answer)


def coverage_polars(parquet: Path) -> pl.DataFrame:
    sides = {(table, *key): key for _, *tables, key in JOINS for table in tables if table != "pai.worker"}
    tables = {name: scan(parquet, name[0].removeprefix("pai.")) for name in sides}
    found = pl.collect_all(
        [
            *(tables[name].drop_nulls(key).group_by(key).agg(rows=pl.len()) for name, key in sides.items()),
            *(tables[name].select(pl.len()) for name in sides),
        ]
    )
    counts, sizes = dict(zip(sides, found, strict=False)), dict(zip(sides, found[len(sides) :], strict=True))
    workers = counts["pai.instance", "worker_name"].with_columns(rows=pl.lit(1, pl.UInt32))
    counts["pai.worker", "worker_name"] = workers
    sizes["pai.worker", "worker_name"] = workers.select(pl.len())

    joins = []
    for join_name, left_table, right_table, key in sorted(JOINS):
        left, right = (left_table, *key), (right_table, *key)
        rows, partners = pl.col("rows").cast(pl.Int64), pl.col("rows_right").cast(pl.Int64)
        common = counts[left].lazy().join(counts[right].lazy(), on=key)
        joins.append(
            common.select(
                pl.lit(join_name).alias("join_name"),
                pl.lit(left_table).alias("left_table"),
                pl.lit(right_table).alias("right_table"),
                left_matched_pct=100.0 * rows.sum() / sizes[left].item(),
                right_matched_pct=100.0 * partners.sum() / sizes[right].item(),
                left_multiply_matched=rows.filter(partners > 1).sum(),
                right_multiply_matched=partners.filter(rows > 1).sum(),
            )
        )
    return pl.concat(pl.collect_all(joins))

"""Reference values, read and computed from the raw files by pandas only.

This module does not use Tracehouse. It first reads the publishers' formats, then computes the rows of each
view as its comments and the publishers' descriptions define them.
"""

import gzip
import io
import math
import tarfile
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from functools import lru_cache, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

RELATIVE = 1e-9
ABSOLUTE = 1e-12
RELATIVE_OF_KEYS = 1e-12


def read_text_table(data: bytes, names: list[str] | None = None) -> pd.DataFrame:
    """Read a CSV with all cells as text. Only an empty cell is a missing value."""
    return pd.read_csv(
        io.BytesIO(data),
        header=None if names else 0,
        names=names,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
    )


def with_numbers(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return frame.assign(**{column: pd.to_numeric(frame[column]) for column in columns})


def joined_bytes(folder: Path, name: str) -> bytes:
    """Return the bytes of a file. If it was split into parts, join them in the order of their names."""
    parts = [folder / name] if (folder / name).exists() else sorted(folder.glob(f"{name}.part*"))
    return b"".join(part.read_bytes() for part in parts)


def csv_members(archive: bytes) -> dict[str, bytes]:
    """Return the CSVs of a gzip'ed tar by stem, without the metadata files that macOS adds."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as members:
        return {
            Path(member.name).stem: members.extractfile(member).read()
            for member in members
            if member.isfile()
            and member.name.endswith(".csv")
            and not Path(member.name).name.startswith("._")
        }


def remembered(read: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Cache the results of a function, and return a copy on each call, so that callers may change it."""
    cached = lru_cache(maxsize=8)(read)

    @wraps(read)
    def copied(*arguments: object) -> pd.DataFrame:
        return cached(*arguments).copy()

    return copied


@remembered
def itp_table(raw: Path, archive: str) -> pd.DataFrame:
    members = csv_members((raw / "itp" / "data" / archive).read_bytes())
    frames = [read_text_table(data).assign(csv=stem) for stem, data in members.items()]
    frame = pd.concat(frames, ignore_index=True)
    return with_numbers(frame, [name for name in frame if name not in ("csv", "job_id", "model_name")])


@remembered
def openb_nodes(raw: Path) -> pd.DataFrame:
    frames = []
    for path in (raw / "openb" / "csv").glob("openb_node_list_*.csv"):
        node_list = path.stem.removeprefix("openb_node_list_")
        frames.append(read_text_table(path.read_bytes()).assign(node_list=node_list))
    return with_numbers(pd.concat(frames, ignore_index=True), ["cpu_milli", "memory_mib", "gpu"])


@remembered
def openb_pods(raw: Path) -> pd.DataFrame:
    frames = []
    for path in (raw / "openb" / "csv").glob("openb_pod_list_*.csv"):
        variant = path.stem.removeprefix("openb_pod_list_")
        frames.append(read_text_table(path.read_bytes()).assign(variant=variant))
    pods = pd.concat(frames, ignore_index=True)
    text = ("variant", "name", "gpu_spec", "qos", "pod_phase")
    return with_numbers(pods, [name for name in pods if name not in text])


@remembered
def zeus_train(raw: Path) -> pd.DataFrame:
    """Runs and their targets. `nan` as the epoch means that the run never reached the target."""
    train = read_text_table((raw / "zeus" / "summary_train.csv").read_bytes())
    train["target_epoch"] = train["target_epoch"].where(train["target_epoch"] != "nan")
    return with_numbers(train, ["batch_size", "run", "target_metric", "target_epoch"])


@remembered
def zeus_power(raw: Path) -> pd.DataFrame:
    frames = []
    for path in (raw / "zeus").glob("summary_power_*.csv"):
        gpu = path.stem.removeprefix("summary_power_")
        frames.append(read_text_table(path.read_bytes()).assign(gpu=gpu))
    power = pd.concat(frames, ignore_index=True)
    return with_numbers(power, ["batch_size", "power_limit", "time_per_epoch", "average_power"])


@remembered
def pai_table(raw: Path, stem: str) -> pd.DataFrame:
    folder = raw / "pai" / "data"
    names = (folder / f"{stem}.header").read_text(encoding="utf-8").strip().split(",")
    archive = joined_bytes(folder, f"{stem}.tar.gz")
    data = csv_members(archive)[stem] if archive else joined_bytes(folder, f"{stem}.csv")
    frame = read_text_table(data, names)
    numbers = {
        *("inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu", "cpu_usage"),
        *("gpu_wrk_util", "avg_mem", "max_mem", "avg_gpu_wrk_mem", "max_gpu_wrk_mem", "cap_cpu", "cap_mem"),
        *("cap_gpu", "machine_cpu", "machine_gpu", "machine_load_1", "machine_net_receive"),
        "machine_num_worker",
    }
    return with_numbers(frame, [name for name in names if name in numbers])


@remembered
def acme_jobs(raw: Path) -> pd.DataFrame:
    frames = []
    for path in (raw / "acme" / "data" / "job_trace").glob("trace_*.csv"):
        cluster = path.stem.removeprefix("trace_")
        frames.append(read_text_table(path.read_bytes()).assign(cluster=cluster))
    jobs = pd.concat(frames, ignore_index=True)
    times = {name: pd.to_datetime(jobs[name], utc=True) for name in ("submit_time", "start_time", "end_time")}
    numbers = ["node_num", "gpu_num", "cpu_num", "duration", "queue", "gpu_time"]
    offsets = jobs["submit_time"].str.extract(r"([+-]\d\d:\d\d)$", expand=False)
    return with_numbers(jobs.assign(**times, utc_offset=offsets), numbers)


@remembered
def itp_job(raw: Path) -> pd.DataFrame:
    """Jobs of the ten clusters with their generated columns. 195job is omitted: its jobs are in cluster02."""
    collected = itp_table(raw, "raw-traces.tar.gz")
    generated = itp_table(raw, "elasticflow-traces.tar.gz")
    generated = generated[["csv", "job_id", "model_name", "batch_size", "num_iteration", "deadline"]]
    jobs = collected.merge(generated, on=["csv", "job_id"], how="left", validate="one_to_one")
    allowed = jobs["deadline"] - jobs["submission_time"]
    return pd.DataFrame(
        {
            "cluster": jobs["csv"],
            "job_id": jobs["job_id"],
            "submit_s": jobs["submission_time"],
            "run_s": jobs["duration"],
            "requested_gpus": jobs["num_gpu"],
            "gpu_h": jobs["num_gpu"] * jobs["duration"] / 3600,
            "model_name": jobs["model_name"],
            "batch_size": jobs["batch_size"],
            "num_iteration": jobs["num_iteration"],
            "iterations_per_s": jobs["num_iteration"] / jobs["duration"],
            "deadline_s": jobs["deadline"],
            "slack_s": allowed - jobs["duration"],
            "tightness": allowed / jobs["duration"],
            "is_feasible_as_requested": (allowed >= jobs["duration"]).where(allowed.notna()),
            "needed_speedup": jobs["duration"] / allowed,
        }
    )


def openb_capacity(raw: Path) -> pd.DataFrame:
    nodes = openb_nodes(raw)
    groups = nodes.groupby(["node_list", "model"], dropna=False)
    capacity = groups.agg(
        nodes=("sn", "size"), gpus=("gpu", "sum"), cpus=("cpu_milli", "sum"), memory_gib=("memory_mib", "sum")
    ).reset_index()
    capacity["gpu_milli"] = capacity["gpus"] * 1000
    capacity["cpus"] /= 1000
    capacity["memory_gib"] /= 1024
    return capacity[["node_list", "model", "nodes", "gpus", "gpu_milli", "cpus", "memory_gib"]]


def gpu_tier(num_gpu: int, gpu_milli: int) -> str:
    if num_gpu == 0:
        return "no GPU"
    if gpu_milli == 1000:
        return "whole GPUs"
    if gpu_milli > 500:
        return "501 to 999 milli"
    return "251 to 500 milli" if gpu_milli > 250 else "up to 250 milli"


@remembered
def openb_pod_lifecycle(raw: Path) -> pd.DataFrame:
    pods = openb_pods(raw)
    requests = zip(pods["num_gpu"], pods["gpu_milli"], strict=True)
    return pd.DataFrame(
        {
            "variant": pods["variant"],
            "name": pods["name"],
            "qos": pods["qos"],
            "pod_phase": pods["pod_phase"],
            "gpu_spec": pods["gpu_spec"],
            "requested_cpus": pods["cpu_milli"] / 1000,
            "requested_memory_gib": pods["memory_mib"] / 1024,
            "requested_gpu_milli": pods["num_gpu"] * pods["gpu_milli"],
            "requested_gpus": pods["num_gpu"] * pods["gpu_milli"] / 1000,
            "gpu_tier": [gpu_tier(num_gpu, gpu_milli) for num_gpu, gpu_milli in requests],
            "residual_gpu_milli": (1000 - pods["gpu_milli"]).where(pods["num_gpu"] > 0),
            "submit_s": pods["creation_time"],
            "end_s": pods["deletion_time"],
            "wait_s": pods["scheduled_time"] - pods["creation_time"],
            "run_s": pods["deletion_time"] - pods["scheduled_time"],
        }
    )


def zeus_energy_to_accuracy(raw: Path) -> pd.DataFrame:
    config = ["dataset", "network", "optimizer", "batch_size"]
    groups = zeus_train(raw).groupby([*config, "target_metric"])["target_epoch"]
    epochs = groups.agg(runs="size", runs_reached="count", mean_epochs="mean").reset_index()
    epochs["mean_epochs"] = epochs["mean_epochs"].where(epochs["runs"] == epochs["runs_reached"])
    rows = epochs.merge(zeus_power(raw), on=config)
    time_to_accuracy = rows["mean_epochs"] * rows["time_per_epoch"]
    return pd.DataFrame(
        {
            "gpu": rows["gpu"],
            **{name: rows[name] for name in config},
            "power_limit_w": rows["power_limit"],
            "target_metric": rows["target_metric"],
            "is_lower_better": rows["dataset"] == "librispeech",
            "runs": rows["runs"],
            "runs_reached": rows["runs_reached"],
            "mean_epochs": rows["mean_epochs"],
            "time_per_epoch_s": rows["time_per_epoch"],
            "average_power_w": rows["average_power"],
            "time_to_accuracy_s": time_to_accuracy,
            "energy_to_accuracy_j": time_to_accuracy * rows["average_power"],
        }
    )


def happened(times: pd.Series) -> pd.Series:
    """Return PAI's times of events. 0 and an empty field both mean that the event did not happen."""
    return times.where(times > 0)


def pai_scheduling_latency(raw: Path) -> pd.DataFrame:
    tasks = pai_table(raw, "pai_task_table")
    first = tasks[tasks["start_time"] > 0].groupby("job_name")["start_time"].min().rename("first_start")
    jobs = pai_table(raw, "pai_job_table").merge(first.reset_index(), on="job_name", validate="one_to_one")
    jobs = jobs[jobs["start_time"] > 0]
    return pd.DataFrame(
        {
            "job_name": jobs["job_name"],
            "status": jobs["status"],
            "submit_s": jobs["start_time"],
            "scheduling_latency_s": jobs["first_start"] - jobs["start_time"],
        }
    )


def pai_task_usage(raw: Path) -> pd.DataFrame:
    key = ["job_name", "task_name"]
    tasks = pai_table(raw, "pai_task_table")
    machines = pai_table(raw, "pai_machine_spec").drop(columns="gpu_type")
    # Pandas would join two rows whose names are both missing.
    workers = pai_table(raw, "pai_sensor_table").dropna(subset=key)
    workers = workers.merge(tasks, on=key, validate="many_to_one")
    workers = workers.merge(machines, on="machine", how="left", validate="many_to_one")
    caps = {name: workers[name].where(workers[name] > 0) for name in ("cap_cpu", "cap_gpu", "cap_mem")}
    workers["cpu_margin"] = (workers["plan_cpu"] - workers["cpu_usage"]) / (100 * caps["cap_cpu"])
    workers["gpu_margin"] = (workers["plan_gpu"] - workers["gpu_wrk_util"]) / (100 * caps["cap_gpu"])
    workers["memory_margin"] = (workers["plan_mem"] - workers["avg_mem"]) / caps["cap_mem"]
    means = ["cpu_usage", "gpu_wrk_util", "avg_mem", "cpu_margin", "gpu_margin", "memory_margin"]
    groups = workers.groupby(key)
    used = groups[means].mean().assign(workers=groups.size()).reset_index()
    used = used.merge(tasks, on=key, validate="one_to_one")
    return pd.DataFrame(
        {
            "job_name": used["job_name"],
            "task_name": used["task_name"],
            "gpu_type": used["gpu_type"],
            "workers": used["workers"],
            "requested_cpus": used["plan_cpu"] / 100,
            "used_cpus": used["cpu_usage"] / 100,
            "requested_gpus": used["plan_gpu"] / 100,
            "used_gpus": used["gpu_wrk_util"] / 100,
            "requested_memory_gb": used["plan_mem"],
            "used_memory_gb": used["avg_mem"],
            "cpu_use_of_plan": used["cpu_usage"] / used["plan_cpu"].where(used["plan_cpu"] != 0),
            "gpu_use_of_plan": used["gpu_wrk_util"] / used["plan_gpu"].where(used["plan_gpu"] != 0),
            "memory_use_of_plan": used["avg_mem"] / used["plan_mem"].where(used["plan_mem"] != 0),
            "cpu_margin_of_capacity": used["cpu_margin"],
            "gpu_margin_of_capacity": used["gpu_margin"],
            "memory_margin_of_capacity": used["memory_margin"],
        }
    )


def pai_worker(raw: Path) -> pd.DataFrame:
    """The publisher's cleaning: sort by status, start and end, keep the last row of each worker."""
    rows = pai_table(raw, "pai_instance_table")
    rows = rows[rows["worker_name"].notna()]
    rows["start_s"], rows["end_s"] = happened(rows["start_time"]), happened(rows["end_time"])
    groups = rows.groupby("worker_name")["status"]
    rows["runs"] = groups.transform("size")
    rows["terminated"] = rows["status"].eq("Terminated").groupby(rows["worker_name"]).transform("any")
    rows = rows.sort_values(["status", "start_s", "end_s", "inst_name"], ascending=[True, True, True, False])
    rows = rows.drop_duplicates("worker_name", keep="last")
    rows["run_s"] = rows["end_s"] - rows["start_s"]
    rows["is_waiting_over_terminated"] = rows["status"].eq("Waiting") & rows["terminated"]
    names = ["worker_name", "job_name", "task_name", "inst_name", "inst_id", "machine", "status"]
    return rows[[*names, "start_s", "end_s", "run_s", "runs", "is_waiting_over_terminated"]]


ACME_OUTCOMES = {
    "COMPLETED": "completed",
    "CANCELLED": "cancelled",
    **dict.fromkeys(("FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"), "failed"),
}


def duration_rule(published: float, wait: float, run: float) -> str | None:
    if math.isnan(published) or math.isnan(run):
        return None
    from_start, from_submit = published == run, published == wait + run
    if from_start and from_submit:
        return "both"
    if from_start:
        return "end - start"
    return "end - submit" if from_submit else "neither"


@remembered
def acme_job(raw: Path) -> pd.DataFrame:
    jobs = acme_jobs(raw)
    wait = (jobs["start_time"] - jobs["submit_time"]).dt.total_seconds()
    run = (jobs["end_time"] - jobs["start_time"]).dt.total_seconds()
    return pd.DataFrame(
        {
            "cluster": jobs["cluster"],
            "job_id": jobs["job_id"],
            "user_id": jobs["user"],
            "workload_type": jobs["type"],
            "state": jobs["state"],
            "outcome": jobs["state"].map(ACME_OUTCOMES),
            "submit_time": jobs["submit_time"],
            "start_time": jobs["start_time"],
            "end_time": jobs["end_time"],
            "utc_offset": jobs["utc_offset"],
            "requested_nodes": jobs["node_num"],
            "requested_gpus": jobs["gpu_num"],
            "requested_cpus": jobs["cpu_num"],
            "wait_s": wait,
            "run_s": run,
            "gpu_s": jobs["gpu_num"] * run,
            "gpu_h": jobs["gpu_num"] * run / 3600,
            "published_queue_s": jobs["queue"],
            "published_duration_s": jobs["duration"],
            "published_gpu_s": jobs["gpu_time"],
            "published_gpu_h": jobs["gpu_time"] / 3600,
            "duration_rule": [
                duration_rule(*values) for values in zip(jobs["duration"], wait, run, strict=True)
            ],
        }
    )


# The columns of `unified.jobs_v2`, and those that each trace's `standard_job_v1` has of them.
UNIFIED_V2 = [
    *("trace", "cluster", "job_id", "user_id", "group_id", "submit_time", "submit_s", "local_submit_s"),
    *("hour_of_day", "weekday", "wait_s", "observed_wait_s", "observed_start_s", "run_s", "observed_run_s"),
    *("end_s", "requested_cpus", "allocated_cpus", "requested_gpus", "requested_gpus_per_instance"),
    *("size_band", "allocated_gpus", "requested_memory_gib", "allocated_memory_gib", "span_gpu_s"),
    *("held_gpu_s", "status", "is_right_censored", "is_left_censored", "workload", "partition_name"),
]
COMPUTED = {"trace", "span_gpu_s", "hour_of_day", "weekday", "size_band"}
STANDARD = [name for name in UNIFIED_V2 if name not in COMPUTED]


BANDS = {1: "below 1", 2: "1", 8: "2 to 7", 9: "8", 64: "9 to 63", 512: "64 to 511", math.inf: "512 and more"}


def size_band(gpus: float | None) -> str | None:
    if gpus is None or math.isnan(gpus):
        return None
    return "no GPU" if gpus == 0 else next(band for end, band in BANDS.items() if gpus < end)


def standard_jobs(**columns: object) -> pd.DataFrame:
    """Return the jobs of a trace in the standard columns. Columns that are not given have no values."""
    return pd.DataFrame(columns).reindex(columns=STANDARD)


def has_jobs(raw: Path, trace: str) -> bool:
    if trace == "pai":
        return bool(list((raw / "pai" / "data").glob("pai_task_table.*z*")))
    return trace != "acme" or (raw / "acme" / "data" / "job_trace").is_dir()


def hourly_means(begins: pd.Series, ends: pd.Series, weights: pd.Series, hours: range) -> np.ndarray:
    """Return the sum of the weights in each hour, each weighted by the job's time in the hour."""
    sums = np.zeros(len(hours))
    there = ends > begins
    for begin, end, weight in zip(begins[there], ends[there], weights[there], strict=True):
        first, last = int(begin // 3600) - hours.start, int(end // 3600) - hours.start
        if first == last:
            sums[first] += weight * (end - begin) / 3600
            continue
        sums[first] += weight * (1 - begin % 3600 / 3600)
        sums[first + 1 : last] += weight
        sums[last] += weight * (end % 3600) / 3600
    return sums


def scarcest_resource(
    held: dict[str, np.ndarray], capacity: Iterable[float], memory_unit: str
) -> pd.DataFrame:
    """Compare hourly means of held CPU cores, GPUs and memory, in this order, with the capacity of each.

    An hour in which nothing is held has no scarcest resource, and a tie counts for each.
    """
    held_pct = 100 * pd.DataFrame(held) / list(capacity)
    rounded = held_pct.round(9)
    is_scarcest = rounded.eq(rounded.max(axis=1), axis=0) & (rounded > 0)
    return pd.DataFrame(
        {
            "resource": list(held),
            "unit": ["CPU cores", "GPUs", memory_unit],
            "capacity": list(capacity),
            "hours": len(held_pct),
            "mean_held_pct": held_pct.mean().to_list(),
            "peak_held_pct": held_pct.max().to_list(),
            "hours_scarcest": is_scarcest.sum().to_list(),
            "hours_scarcest_pct": (100 * is_scarcest.mean()).to_list(),
        }
    )


def plain_values(column: pd.Series) -> list[object]:
    values = column.astype(object)
    return values.where(column.notna(), None).tolist()


def is_same(answered: object, expected: object, relative: float = RELATIVE) -> bool:
    if isinstance(expected, str | bool | date | list) or expected is None or answered is None:
        return type(answered) is not float and answered == expected
    return math.isclose(float(answered), float(expected), rel_tol=relative, abs_tol=ABSOLUTE)


def assert_same_rows(table: pa.Table, expected: pd.DataFrame, keys: list[str] | None) -> None:
    """Assert equal columns, rows and values. Rows are matched by unique `keys`, or else by position.

    Numbers are equal if they are close, also in keys. NaN in pandas is NULL in SQL. An expected table without
    rows and columns is equal to any empty answer.
    """
    if expected.empty and not len(expected.columns):
        expected = pd.DataFrame(columns=table.column_names)
    names = list(expected.columns)
    assert table.column_names == names, f"SQL has {table.column_names}, pandas has {names}"
    answered = {name: table.column(name).to_pylist() for name in expected}
    wanted = {name: plain_values(expected[name]) for name in expected}
    pairs = pair_rows(row_positions(answered, keys), row_positions(wanted, keys))
    differences = []
    for name in expected:
        ours, theirs = answered[name], wanted[name]
        differences += [
            (key, name, ours[a], theirs[b]) for key, a, b in pairs if not is_same(ours[a], theirs[b])
        ]
    assert not differences, f"{len(differences)} cells (key, column, answered, expected): {differences[:5]}"


Key = tuple[object, ...]


def row_positions(columns: dict[str, list[object]], keys: list[str] | None) -> dict[Key, int]:
    rows = list(zip(*(columns[name] for name in keys or columns), strict=True))
    if not keys:
        return {(position,): position for position in range(len(rows))}
    positions = {key: position for position, key in enumerate(rows)}
    assert len(positions) == len(rows), f"{len(rows) - len(positions)} rows repeat the key {keys}"
    return positions


def pair_rows(answered_at: dict[Key, int], wanted_at: dict[Key, int]) -> list[tuple[Key, int, int]]:
    """Return the keys, the positions of the answered rows and those of the expected rows."""
    extra = sorted(answered_at.keys() - wanted_at.keys(), key=sort_key)
    missing = sorted(wanted_at.keys() - answered_at.keys(), key=sort_key)
    # Times and shares may differ in the last digit; a billionth of a Unix time is more than a second.
    are_close = len(extra) == len(missing) and all(
        all(is_same(*values, relative=RELATIVE_OF_KEYS) for values in zip(ours, theirs, strict=True))
        for ours, theirs in zip(extra, missing, strict=True)
    )
    assert are_close, f"missing: {missing[:3]}, extra: {extra[:3]}"
    partners = dict(zip(extra, missing, strict=True))
    return [(key, at, wanted_at[partners.get(key, key)]) for key, at in answered_at.items()]


def sort_key(key: Key) -> list[tuple[str, float, str]]:
    """Return what sorts keys of numbers, texts, times and NULLs. Close numbers stay next to each other."""
    return [
        ("number", float(value), "")
        if isinstance(value, int | float | Decimal)
        else (type(value).__name__, 0, str(value))
        for value in key
    ]

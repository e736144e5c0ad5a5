"""openb's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, then the named
queries, which read the frames of the views and never the database. The capacity and the pods' lifecycles and
phases are in raw_frames.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import fsum
from pathlib import Path

import numpy as np
import pandas as pd
import raw_frames

WHOLE_GPU = 1000
KEPT_PCT = 95
CLASS_KEY = ["cpu_milli", "gpu_milli", "num_gpu", "gpu_spec"]


def pods_of(raw: Path) -> pd.DataFrame:
    pods = raw_frames.openb_pods(raw)
    pods["milli"] = pods["num_gpu"] * pods["gpu_milli"]
    pods["is_gpu_pod"] = pods["num_gpu"] > 0
    pods["run_s"] = pods["deletion_time"] - pods["scheduled_time"]
    return pods


def gpu_nodes(raw: Path) -> pd.DataFrame:
    nodes = raw_frames.openb_nodes(raw)
    nodes = nodes[nodes["node_list"] == "gpu_node"].drop(columns="node_list")
    return nodes.rename(columns={"gpu": "gpus"}).reset_index(drop=True)


def capacity_gpus(raw: Path) -> int:
    return int(gpu_nodes(raw)["gpus"].sum())


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


# Views.


def allocation(raw: Path, with_total: bool) -> pd.DataFrame:
    pods, capacity = pods_of(raw), capacity_gpus(raw) * WHOLE_GPU
    rows = []
    for variant, mine in pods.groupby("variant"):
        # A list without phases forms one group, whose phase is missing.
        phases = [*mine.groupby("pod_phase", dropna=False), *([("all", mine)] if with_total else [])]
        for phase, group in phases:
            gpu_pods = group[group["is_gpu_pod"]]
            by_card, milli = gpu_pods["gpu_milli"].sum(), gpu_pods["milli"].sum()
            shares = percent(by_card, capacity), percent(milli, capacity)
            rows.append((variant, phase, len(gpu_pods), by_card, milli, capacity, *shares))
    names = ["variant", "pod_phase", "gpu_pods", "milli_by_card", "milli", "capacity_milli"]
    return pd.DataFrame(rows, columns=[*names, "by_card_pct", "pct"])


def sum_begun(times: np.ndarray, begun: pd.Series, weights: pd.Series) -> np.ndarray:
    """Return, for each time, the sum of the weights of the items that began at or before it."""
    order = begun.to_numpy().argsort(kind="stable")
    sums = np.concatenate([[0], weights.to_numpy()[order].cumsum()])
    return sums[begun.to_numpy()[order].searchsorted(times, side="right")]


def concurrency(raw: Path) -> pd.DataFrame:
    pods = pods_of(raw)
    ran = pods[pods["run_s"].notna()]
    variants = []
    for variant, mine in ran.groupby("variant"):
        starts, ends = mine["scheduled_time"].astype("int64"), mine["deletion_time"].astype("int64")
        times = np.unique(np.concatenate([starts, ends]))
        weights = {"pods": mine["run_s"].notna().astype(int), "gpu_pods": mine["is_gpu_pod"].astype(int)}
        weights["used_gpus"] = mine["milli"]
        held = {
            name: sum_begun(times, starts, weight) - sum_begun(times, ends, weight)
            for name, weight in weights.items()
        }
        held["used_gpus"] = held["used_gpus"] / WHOLE_GPU
        until = [*times[1:].tolist(), None]
        variants.append(pd.DataFrame({"variant": variant, "from_s": times, "to_s": until, **held}))
    return pd.concat(variants, ignore_index=True)


def task_class(raw: Path) -> pd.DataFrame:
    rows = []
    for variant, mine in pods_of(raw).groupby("variant"):
        counts = mine.groupby(CLASS_KEY, dropna=False).size().rename("pods").reset_index()
        counts["gpu_spec"] = counts["gpu_spec"].astype(object).where(counts["gpu_spec"].notna(), None)
        classes = sorted(counts.itertuples(index=False), key=by_popularity)
        before, kept = 0, []
        for one in classes:
            if 100 * before < KEPT_PCT * len(mine):
                kept.append(one)
            before += one.pods
        covered = sum(one.pods for one in kept)
        rows += [(variant, number, *one, one.pods / covered) for number, one in enumerate(kept, 1)]
    return pd.DataFrame(rows, columns=["variant", "class_number", *CLASS_KEY, "pods", "popularity"])


def by_popularity(one: tuple) -> tuple[object, ...]:
    has_spec = one.gpu_spec is not None
    return (-one.pods, one.cpu_milli, one.gpu_milli, one.num_gpu, has_spec, one.gpu_spec or "")


def empty_residual(raw: Path) -> pd.DataFrame:
    rows = [
        (node.sn, node.model, number, node.cpu_milli, WHOLE_GPU)
        for node in gpu_nodes(raw).itertuples()
        for number in range(node.gpus)
    ]
    return pd.DataFrame(rows, columns=["sn", "model", "gpu_number", "free_cpu_milli", "free_gpu_milli"])


@dataclass(frozen=True)
class Residual:
    """Free CPU and GPU capacity of a node, in thousandths."""

    model: str
    cpu_milli: int
    gpu_milli: tuple[int, ...]

    def can_run(self, task: tuple) -> bool:
        """Return whether a pod of the class fits on the node; False for a class without GPUs."""
        fitting = sum(free >= task.gpu_milli for free in self.gpu_milli)
        allowed = task.gpu_spec is None or self.model in task.gpu_spec.split("|")
        return task.num_gpu > 0 and fitting >= task.num_gpu and self.cpu_milli >= task.cpu_milli and allowed

    def fragmented_gpus(self, task: tuple) -> float:
        """Return the free GPUs that the class cannot use: all of them, or those with too little left."""
        least = min(task.num_gpu * task.gpu_milli, WHOLE_GPU)
        useless = [free for free in self.gpu_milli if free < least or not self.can_run(task)]
        return sum(useless) / WHOLE_GPU


def classes_by_variant(raw: Path) -> Iterator[tuple[str, list[tuple]]]:
    classes = task_class(raw)
    classes["gpu_spec"] = classes["gpu_spec"].astype(object).where(classes["gpu_spec"].notna(), None)
    for variant, mine in classes.groupby("variant"):
        yield variant, list(mine.itertuples(index=False))


def fragmentation_left_by(residual: pd.DataFrame, variant: str, classes: list[tuple]) -> pd.DataFrame:
    """Return, for each node, the expected number of GPUs that the next pod cannot use."""
    known: dict[Residual, float] = {}
    rows = []
    for sn, gpus in residual.groupby("sn"):
        model, cpu_milli = gpus["model"].iloc[0], gpus["free_cpu_milli"].iloc[0]
        free = Residual(model, cpu_milli, tuple(gpus["free_gpu_milli"]))
        if free not in known:
            known[free] = fsum(task.popularity * free.fragmented_gpus(task) for task in classes)
        free_gpus = sum(free.gpu_milli) / WHOLE_GPU
        rate = known[free] / free_gpus if free_gpus else None
        rows.append((variant, sn, model, free_gpus, known[free], rate))
    names = ["variant", "sn", "model", "free_gpus", "fragmented_gpus", "fragmentation_rate"]
    return pd.DataFrame(rows, columns=names)


def fragmentation(raw: Path) -> pd.DataFrame:
    residual = empty_residual(raw)
    variants = [fragmentation_left_by(residual, *variant) for variant in classes_by_variant(raw)]
    return pd.concat(variants, ignore_index=True)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A pod that ran until the last deletion of the trace is censored. A pending pod was withdrawn.

    The other lists are samples of the default one.
    """
    pods = pods_of(raw)
    pods = pods[pods["variant"] == "default"].reset_index(drop=True)
    submit, start, end = pods["creation_time"], pods["scheduled_time"], pods["deletion_time"]
    gpus, is_cut_off = pods["milli"] / WHOLE_GPU, (pods["pod_phase"] == "Running") & (end == end.max())
    return raw_frames.standard_jobs(
        job_id=pods["name"],
        submit_s=submit,
        wait_s=start - submit,
        observed_wait_s=start.fillna(end) - submit,
        observed_start_s=start,
        run_s=pods["run_s"].where(~is_cut_off),
        observed_run_s=pods["run_s"],
        end_s=end.where(~is_cut_off),
        requested_cpus=pods["cpu_milli"] / 1000,
        requested_gpus=gpus,
        requested_gpus_per_instance=gpus,
        requested_memory_gib=pods["memory_mib"] / 1024,
        held_gpu_s=gpus * pods["run_s"],
        status=pods["pod_phase"].map({"Succeeded": "completed", "Failed": "failed"}).fillna("unknown"),
        is_right_censored=is_cut_off,
        is_left_censored=False,
        partition_name=pods["gpu_spec"],
    )


def cluster_capacity(raw: Path) -> pd.DataFrame:
    nodes = gpu_nodes(raw)
    nodes = nodes[nodes["gpus"] > 0].assign(cpus=nodes["cpu_milli"] / 1000)
    sums = {"gpus": ("gpus", "sum"), "nodes": ("sn", "size"), "cpus": ("cpus", "sum")}
    rows = nodes.groupby("model").agg(**sums).rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


# Named queries.


def scarcest_resource(raw: Path, from_hour: int = 2640) -> pd.DataFrame:
    """Compare what running pods of the default list request with what all nodes have, in each hour."""
    pods = pods_of(raw)
    pods = pods[pods["variant"] == "default"]
    ran = pods.dropna(subset=["scheduled_time", "deletion_time"])
    hours = range(int(pods["deletion_time"].max() // 3600) + 1)
    weights = {"cpu": ran["cpu_milli"] / 1000, "gpu": ran["milli"] / 1000, "memory": ran["memory_mib"] / 1024}
    held = {
        name: raw_frames.hourly_means(ran["scheduled_time"], ran["deletion_time"], weight, hours)[from_hour:]
        for name, weight in weights.items()
    }
    nodes = raw_frames.openb_nodes(raw)
    of_all = nodes.loc[nodes["node_list"] == "all_node", ["cpu_milli", "memory_mib"]].sum()
    capacity = [of_all["cpu_milli"] / 1000, capacity_gpus(raw), of_all["memory_mib"] / 1024]
    return raw_frames.scarcest_resource(held, capacity, "GiB")


# In VIEWS and QUERIES, each name has its function and the key columns of its rows.
VIEWS = {
    "openb.capacity_v1": (raw_frames.openb_capacity, ["node_list", "model"]),
    "openb.pod_lifecycle_v1": (raw_frames.openb_pod_lifecycle, ["variant", "name"]),
    "openb.standard_job_v1": (standard_job_v1, ["job_id"]),
    "openb.allocation_v2": (partial(allocation, with_total=False), ["variant", "pod_phase"]),
    "openb.concurrency_v1": (concurrency, ["variant", "from_s"]),
    "openb.fragmentation_v1": (fragmentation, ["variant", "sn"]),
    "openb.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "openb.scarcest_resource()": (scarcest_resource, (), None),
    "openb.scarcest_resource(from_hour := 0)": (scarcest_resource, (0,), None),
}

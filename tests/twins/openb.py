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

HOUR_S = 3600
WHOLE_GPU = 1000
KEPT_PCT = 95
CLASS_KEY = ["cpu_milli", "gpu_milli", "num_gpu", "gpu_spec"]
NODE_TYPE = ["model", "gpus", "cpu_milli"]


def pods_of(raw: Path) -> pd.DataFrame:
    pods = raw_frames.openb_pods(raw)
    pods["milli"] = pods["num_gpu"] * pods["gpu_milli"]
    pods["is_gpu_pod"] = pods["num_gpu"] > 0
    pods["run_s"] = pods["deletion_time"] - pods["scheduled_time"]
    return pods


def pods_in(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = pods_of(raw)
    pods = pods[pods["variant"] == in_variant]
    return pods[pods["is_gpu_pod"]] if gpu_only else pods


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


def allocation_with_totals(raw: Path) -> pd.DataFrame:
    return allocation(raw, True).dropna(subset=["pod_phase"])


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


MEMORY_GB = {"A10": 16, "G2": 24, "G3": 40, "P100": 16, "T4": 16, "V100M16": 16, "V100M32": 32}


def gpu_memory(_: Path) -> pd.DataFrame:
    return pd.DataFrame(MEMORY_GB.items(), columns=["model", "assumed_memory_gb"])


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


def node_class(raw: Path) -> pd.DataFrame:
    types = gpu_nodes(raw).groupby(NODE_TYPE, dropna=False).size()
    rows = []
    for variant, classes in classes_by_variant(raw):
        for (model, gpus, cpu_milli), nodes in types.items():
            free = Residual(model, cpu_milli, (WHOLE_GPU,) * gpus)
            rows += [
                (
                    *(variant, task.class_number, model, gpus, cpu_milli, nodes),
                    *(free.can_run(task), free.fragmented_gpus(task)),
                )
                for task in classes
            ]
    names = ["variant", "class_number", *NODE_TYPE, "nodes", "can_run", "fragmented_gpus_per_node"]
    return pd.DataFrame(rows, columns=names)


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


REQUEST = ["num_gpu", "gpu_milli", "gpu_spec", "cpu_milli", "memory_mib"]


def all_nodes(raw: Path) -> pd.DataFrame:
    nodes = raw_frames.openb_nodes(raw)
    return nodes[nodes["node_list"] == "all_node"].rename(columns={"gpu": "gpus"}).reset_index(drop=True)


def unscheduled(pods: pd.DataFrame) -> pd.DataFrame:
    """Count pods that were created and never scheduled, by request."""
    pending = pods[pods["creation_time"].notna() & pods["scheduled_time"].isna()]
    classes = pending.groupby(["variant", *REQUEST], dropna=False).size().rename("pods").reset_index()
    classes["gpu_spec"] = classes["gpu_spec"].astype(object).where(classes["gpu_spec"].notna(), None)
    return classes


def takes(nodes: pd.DataFrame, one: tuple) -> pd.Series:
    """Return for each node whether a pod of the class fits on it while it is empty."""
    fits = nodes["gpus"].ge(one.num_gpu) & nodes["cpu_milli"].ge(one.cpu_milli)
    fits &= nodes["memory_mib"].ge(one.memory_mib)
    return fits if one.gpu_spec is None else fits & nodes["model"].isin(one.gpu_spec.split("|"))


def unscheduled_fit(raw: Path) -> pd.DataFrame:
    nodes = all_nodes(raw)
    rows = []
    for one in unscheduled(pods_of(raw)).itertuples(index=False):
        request = [getattr(one, name) for name in REQUEST]
        for model, fits in takes(nodes, one).groupby(nodes["model"], dropna=False):
            rows.append((one.variant, *request, model, one.pods, len(fits), fits.sum()))
    names = ["variant", *REQUEST, "model", "unscheduled_pods", "nodes", "fitting_nodes"]
    return pd.DataFrame(rows, columns=names)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A pod that ran until the last deletion of the trace is censored. A pending pod was withdrawn."""
    jobs = raw_frames.standard_jobs(raw, "openb")
    has_ended = ~jobs["is_censored"].astype(bool)
    return raw_frames.as_observed(
        jobs,
        observed_wait_s=jobs["wait_s"].fillna(jobs["end_s"] - jobs["submit_s"]),
        observed_start_s=jobs["submit_s"] + jobs["wait_s"],
        run_s=jobs["run_s"].where(has_ended),
        observed_run_s=jobs["run_s"],
        end_s=jobs["end_s"].where(has_ended),
        is_right_censored=jobs["is_censored"],
        is_left_censored=False,
    )


# Named queries.


def phases_by_qos(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    rows = []
    for qos, mine in pods_in(raw, in_variant, gpu_only).groupby("qos", dropna=False):
        phases = mine.groupby("pod_phase", dropna=False).size()
        rows += [(qos, phase, pods, percent(pods, len(mine))) for phase, pods in phases.items()]
    return pd.DataFrame(rows, columns=["qos", "pod_phase", "pods", "pods_pct"])


def gpu_request(num_gpu: int, gpu_milli: int) -> str:
    return "below 1" if num_gpu == 1 and gpu_milli < WHOLE_GPU else str(num_gpu)


def requests_by_gpus(raw: Path, in_variant: str) -> pd.DataFrame:
    pods = pods_in(raw, in_variant, False)
    requests = zip(pods["num_gpu"], pods["gpu_milli"], strict=True)
    pods["gpu_request"] = [gpu_request(num_gpu, gpu_milli) for num_gpu, gpu_milli in requests]
    rows = [
        (
            *(request, len(mine), percent(len(mine), len(pods))),
            *(mine["milli"].sum(), percent(mine["milli"].sum(), pods["milli"].sum())),
        )
        for request, mine in pods.groupby("gpu_request")
    ]
    rows.sort(key=lambda row: 0.5 if row[0] == "below 1" else float(row[0]))
    return pd.DataFrame(rows, columns=["gpu_request", "pods", "pods_pct", "milli", "milli_pct"])


def waits(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = pods_in(raw, in_variant, gpu_only)
    wait = (pods["scheduled_time"] - pods["creation_time"]).dropna()
    row = {
        "pods": len(wait),
        "never_scheduled_pods": (pods["scheduled_time"].isna() & pods["creation_time"].notna()).sum(),
        "p5_wait_s": wait.quantile(0.05),
        "p25_wait_s": wait.quantile(0.25),
        **raw_frames.percentiles(wait, "wait_s"),
        "max_wait_s": wait.max(),
    }
    return pd.DataFrame([row])


def lifetimes(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = pods_in(raw, in_variant, gpu_only)
    pods["unscheduled_s"] = pods["deletion_time"] - pods["creation_time"]
    pods["unscheduled_s"] = pods["unscheduled_s"].where(pods["scheduled_time"].isna())
    phases = pods.groupby("pod_phase", dropna=False)
    columns = {
        "pods": phases.size(),
        "mean_run_s": phases["run_s"].mean(),
        **raw_frames.percentiles(phases["run_s"], "run_s"),
        "median_unscheduled_s": phases["unscheduled_s"].median(),
        "mean_unscheduled_s": phases["unscheduled_s"].mean(),
        "max_unscheduled_s": phases["unscheduled_s"].max(),
    }
    return pd.DataFrame(columns).reset_index()


def sharing(raw: Path, in_variant: str) -> pd.DataFrame:
    milli = pods_in(raw, in_variant, True)["gpu_milli"]
    below_whole = milli[milli < WHOLE_GPU]
    row = {
        "gpu_pods": len(milli),
        "sharing_pods": len(below_whole),
        "sharing_pods_pct": percent(len(below_whole), len(milli)),
        "mean_sharing_milli": below_whole.mean(),
        "mean_milli": milli.mean(),
        "half_or_less_pods": (milli <= WHOLE_GPU / 2).sum(),
    }
    return pd.DataFrame([row])


def demand_by_variant(raw: Path) -> pd.DataFrame:
    capacity = capacity_gpus(raw) * WHOLE_GPU
    rows = []
    for variant, pods in pods_of(raw).groupby("variant"):
        gpu_pods = pods[pods["is_gpu_pod"]]
        milli = gpu_pods["milli"]
        rows.append(
            {
                "variant": variant,
                "pods": len(pods),
                "gpu_pods": len(gpu_pods),
                "cpu_only_pct": percent((pods["num_gpu"] == 0).sum(), len(pods)),
                "sharing_demand_pct": percent(milli[gpu_pods["gpu_milli"] < WHOLE_GPU].sum(), milli.sum()),
                "multi_gpu_demand_pct": percent(milli[gpu_pods["num_gpu"] > 1].sum(), milli.sum()),
                "constrained_pct": percent(gpu_pods["gpu_spec"].notna().sum(), len(gpu_pods)),
                "milli": milli.sum(),
                "capacity_pct": percent(milli.sum(), capacity),
            }
        )
    return pd.DataFrame(rows)


def allocation_share(raw: Path, in_variant: str, with_total: bool) -> pd.DataFrame:
    rows = allocation(raw, with_total)
    return rows[rows["variant"] == in_variant].reset_index(drop=True)


PEAK = ["peak_used_gpus", "peak_at_s", "capacity_pct", "mean_used_gpus", "gpu_h", "running_at_end"]


def peak_concurrency(raw: Path, in_variant: str) -> pd.DataFrame:
    """Peak and mean of the GPUs in use, and the number of pods that still ran at the end."""
    pods, sweep = pods_in(raw, in_variant, False), concurrency(raw)
    sweep = sweep[sweep["variant"] == in_variant]
    if sweep.empty:
        return pd.DataFrame([(None,) * 6], columns=PEAK)
    peak = sweep.loc[sweep["used_gpus"].idxmax()]
    last = pods["deletion_time"].max()
    is_running = pods["pod_phase"] == "Running"
    gpu_s = fsum((pods["milli"] * pods["run_s"]).dropna()) / WHOLE_GPU
    row = {
        "peak_used_gpus": peak["used_gpus"],
        "peak_at_s": peak["from_s"],
        "capacity_pct": percent(peak["used_gpus"], capacity_gpus(raw)),
        "mean_used_gpus": gpu_s / (last - pods["creation_time"].min()),
        "gpu_h": gpu_s / HOUR_S,
        "running_at_end": (is_running & (pods["deletion_time"] == last)).sum(),
    }
    return pd.DataFrame([row])


def share_of_capacity(raw: Path, nodes: pd.DataFrame, variant: str, classes: int) -> tuple[object, ...]:
    fragmented, capacity = fsum(nodes["fragmented_gpus"]), capacity_gpus(raw)
    return variant, classes, fragmented, capacity, percent(fragmented, capacity)


SHARE = ["variant", "classes", "fragmented_gpus", "capacity_gpus", "fragmented_pct"]


def fragmentation_share(raw: Path) -> pd.DataFrame:
    classes, nodes = task_class(raw), fragmentation(raw)
    rows = [
        share_of_capacity(raw, mine, variant, (classes["variant"] == variant).sum())
        for variant, mine in nodes.groupby("variant")
    ]
    return pd.DataFrame(rows, columns=SHARE)


def fragmentation_of(raw: Path, residual: pd.DataFrame, in_variant: str) -> pd.DataFrame:
    classes = dict(classes_by_variant(raw))[in_variant]
    nodes = fragmentation_left_by(residual, in_variant, classes)
    return pd.DataFrame([share_of_capacity(raw, nodes, in_variant, len(classes))], columns=SHARE)


def fragmentation_when_empty(raw: Path, in_variant: str) -> pd.DataFrame:
    return fragmentation_of(raw, empty_residual(raw), in_variant)


def memory(raw: Path, with_total: bool) -> pd.DataFrame:
    models = gpu_nodes(raw).groupby("model").agg(nodes=("sn", "size"), gpus=("gpus", "sum")).reset_index()
    models["assumed_memory_gb"] = models["model"].map(MEMORY_GB)
    models["memory_gb"] = models["gpus"] * models["assumed_memory_gb"]
    return with_total_of(models, ["nodes", "gpus", "memory_gb"]) if with_total else models


# Later queries. In VIEWS and QUERIES, each name has its function and the key columns of its rows.


def with_total_of(models: pd.DataFrame, summed: list[str]) -> pd.DataFrame:
    total = {"model": "all", **models[summed].sum().to_dict()}
    return pd.concat([models.astype(object), pd.DataFrame([total])], ignore_index=True)


def capacity_by_model(raw: Path, in_list: str, with_total: bool) -> pd.DataFrame:
    capacity = raw_frames.openb_capacity(raw)
    models = capacity[capacity["node_list"] == in_list].drop(columns="node_list")
    models["model"] = models["model"].fillna("no GPU")
    return with_total_of(models, [*models.columns.drop("model")]) if with_total else models


def lifecycles_of(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = raw_frames.openb_pod_lifecycle(raw)
    pods = pods[pods["variant"] == in_variant]
    return pods[pods["requested_gpu_milli"] > 0] if gpu_only else pods


def phases(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = lifecycles_of(raw, in_variant, gpu_only)
    phases = pods.groupby("pod_phase", dropna=False).agg(
        pods=("name", "size"),
        requested_gpus=("requested_gpus", "sum"),
        median_wait_s=("wait_s", "median"),
        median_run_s=("run_s", "median"),
    )
    phases.insert(1, "pods_pct", 100 * phases["pods"] / len(pods))
    return phases.reset_index()


def request_tiers(raw: Path, in_variant: str) -> pd.DataFrame:
    pods = lifecycles_of(raw, in_variant, True)
    tiers = pods.groupby("gpu_tier").agg(
        pods=("name", "size"),
        requested_gpus=("requested_gpus", "sum"),
        mean_residual_gpu_milli=("residual_gpu_milli", "mean"),
    )
    tiers.insert(1, "pods_pct", 100 * tiers["pods"] / len(pods))
    return tiers.reset_index()


def by_model(nodes: pd.DataFrame, with_total: bool) -> Iterator[tuple[str, pd.DataFrame]]:
    yield from nodes.groupby(nodes["model"].fillna("no GPU"))
    if with_total:
        yield "all", nodes


def pending_fit(raw: Path, in_variant: str, gpu_only: bool, min_pods: int, with_total: bool) -> pd.DataFrame:
    nodes, classes = all_nodes(raw), unscheduled(pods_in(raw, in_variant, gpu_only))
    rows = [
        (*[getattr(one, name) for name in REQUEST], one.pods, model, len(mine), takes(mine, one).sum())
        for one in classes[classes["pods"] >= min_pods].itertuples(index=False)
        for model, mine in by_model(nodes, with_total)
    ]
    return pd.DataFrame(rows, columns=[*REQUEST, "unscheduled_pods", "model", "nodes", "fitting_nodes"])


def pending_fit_by_model(raw: Path, in_variant: str, gpu_only: bool, with_total: bool) -> pd.DataFrame:
    classes = unscheduled(pods_in(raw, in_variant, gpu_only))
    rows = []
    for model, mine in by_model(all_nodes(raw), with_total):
        fitting = [one.pods for one in classes.itertuples(index=False) if takes(mine, one).any()]
        pods, fit = classes["pods"].sum(), sum(fitting)
        rows.append((model, len(mine), len(classes), len(fitting), pods, fit, pods - fit, percent(fit, pods)))
    names = ["model", "nodes", "unscheduled_classes", "fitting_classes", "unscheduled_pods"]
    return pd.DataFrame(rows, columns=[*names, "fitting_pods", "unfit_pods", "fitting_pct"])


DAY_S = 86_400
MIB_PER_GIB = 1_024


@dataclass(frozen=True)
class Resource:
    """A resource that pods hold: the column of a pod's share, shares per unit, and capacity in units."""

    name: str
    of_pods: str
    per_unit: int
    capacity: float


def held_resources(raw: Path) -> list[Resource]:
    nodes = all_nodes(raw)
    return [
        Resource("pods", "one", 1, 0),
        Resource("held_gpus", "milli", WHOLE_GPU, capacity_gpus(raw)),
        Resource("held_cpus", "cpu_milli", 1_000, nodes["cpu_milli"].sum() / 1_000),
        Resource("held_memory_gib", "memory_mib", MIB_PER_GIB, nodes["memory_mib"].sum() / MIB_PER_GIB),
    ]


def mean_and_peak(ran: pd.DataFrame, weights: pd.Series, begin: int, end: int) -> tuple[float, int]:
    """Return mean and peak of the held weights from `begin` to `end`. The peak is at `begin` or a start."""
    starts, ends = ran["scheduled_time"], ran["deletion_time"]
    overlap = (ends.clip(upper=end) - starts.clip(lower=begin)).clip(lower=0)
    instants = np.array([begin, *starts[(starts >= begin) & (starts < end)].unique()])
    held = sum_begun(instants, starts, weights) - sum_begun(instants, ends, weights)
    return int((weights * overlap).sum()) / (end - begin), held.max()


def use_by_day(raw: Path, in_variant: str, from_day: int) -> pd.DataFrame:
    pods = pods_in(raw, in_variant, False).assign(one=1)
    things = held_resources(raw)
    ran = pods[pods["run_s"].notna()].astype({"scheduled_time": "int64", "deletion_time": "int64"})
    first, last = int(pods["creation_time"].min()), int(pods["deletion_time"].max())
    rows = []
    for day in range(max(from_day, first // DAY_S), -(-last // DAY_S)):
        begin, end = max(first, day * DAY_S), min(last, (day + 1) * DAY_S)
        row = {"day": day, "covered_h": (end - begin) / HOUR_S}
        for thing in things:
            mean, peak = mean_and_peak(ran, ran[thing.of_pods], begin, end)
            row |= {f"mean_{thing.name}": mean / thing.per_unit, f"peak_{thing.name}": peak / thing.per_unit}
        rows.append(row | capacity_shares(row, things[1:]))
    held = [f"{of}_{thing.name}" for thing in things for of in ("mean", "peak")]
    shares = capacity_shares(dict.fromkeys(held, 0.0), things[1:])
    return pd.DataFrame(rows, columns=["day", "covered_h", *held, *shares])


def capacity_shares(row: dict[str, float], things: list[Resource]) -> dict[str, float | None]:
    short = {"held_gpus": "gpu", "held_cpus": "cpu", "held_memory_gib": "memory"}
    return {
        f"{of}_{short[thing.name]}_capacity_pct": percent(row[f"{of}_{thing.name}"], thing.capacity)
        for thing in things
        for of in ("mean", "peak")
    }


def cluster_capacity(raw: Path) -> pd.DataFrame:
    nodes = gpu_nodes(raw)
    models = nodes[nodes["gpus"] > 0].groupby("model").agg(gpus=("gpus", "sum"), nodes=("sn", "size"))
    rows = models.rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


VIEWS = {
    "openb.capacity_v1": (raw_frames.openb_capacity, ["node_list", "model"]),
    "openb.pod_lifecycle_v1": (raw_frames.openb_pod_lifecycle, ["variant", "name"]),
    "openb.phase_v1": (raw_frames.openb_phase, ["variant", "qos", "pod_phase"]),
    "openb.standard_job_v1": (standard_job_v1, ["job_id"]),
    "openb.allocation_v1": (allocation_with_totals, ["variant", "pod_phase"]),
    "openb.allocation_v2": (partial(allocation, with_total=False), ["variant", "pod_phase"]),
    "openb.concurrency_v1": (concurrency, ["variant", "from_s"]),
    "openb.gpu_memory_v1": (gpu_memory, ["model"]),
    "openb.task_class_v1": (task_class, ["variant", "class_number"]),
    "openb.empty_residual_v1": (empty_residual, ["sn", "gpu_number"]),
    "openb.node_class_v1": (node_class, ["variant", "class_number", *NODE_TYPE]),
    "openb.fragmentation_v1": (fragmentation, ["variant", "sn"]),
    "openb.unscheduled_fit_v1": (unscheduled_fit, ["variant", *REQUEST, "model"]),
    "openb.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}

EMPTY = "'openb.empty_residual_v1'"
BY_PHASE = ["pod_phase"]
BY_QOS = ["qos", "pod_phase"]
BY_CLASS = [*REQUEST, "model"]
QUERIES = {
    "openb.capacity_by_model()": (capacity_by_model, ("gpu_node", False), ["model"]),
    "openb.capacity_by_model(with_total := true)": (capacity_by_model, ("gpu_node", True), ["model"]),
    "openb.capacity_by_model(in_list := 'all_node', with_total := true)": (
        capacity_by_model,
        ("all_node", True),
        ["model"],
    ),
    "openb.phases()": (phases, ("default", True), ["pod_phase"]),
    "openb.phases(gpu_only := false)": (phases, ("default", False), ["pod_phase"]),
    "openb.phases(in_variant := 'multigpu50')": (phases, ("multigpu50", True), ["pod_phase"]),
    "openb.request_tiers()": (request_tiers, ("default",), ["gpu_tier"]),
    "openb.request_tiers(in_variant := 'gpushare40')": (request_tiers, ("gpushare40",), ["gpu_tier"]),
    "openb.phases_by_qos()": (phases_by_qos, ("default", False), BY_QOS),
    "openb.phases_by_qos(gpu_only := true)": (phases_by_qos, ("default", True), BY_QOS),
    "openb.phases_by_qos(in_variant := 'gpushare40')": (phases_by_qos, ("gpushare40", False), BY_QOS),
    "openb.phases_by_qos(in_variant := 'multigpu50')": (phases_by_qos, ("multigpu50", False), BY_QOS),
    "openb.requests_by_gpus()": (requests_by_gpus, ("default",), None),
    "openb.requests_by_gpus(in_variant := 'multigpu50')": (requests_by_gpus, ("multigpu50",), None),
    "openb.waits()": (waits, ("default", True), None),
    "openb.waits(gpu_only := false)": (waits, ("default", False), None),
    "openb.waits(in_variant := 'cpu100')": (waits, ("cpu100", True), None),
    "openb.waits(in_variant := 'multigpu50')": (waits, ("multigpu50", True), None),
    "openb.lifetimes()": (lifetimes, ("default", True), BY_PHASE),
    "openb.lifetimes(gpu_only := false)": (lifetimes, ("default", False), BY_PHASE),
    "openb.lifetimes(in_variant := 'gpushare40')": (lifetimes, ("gpushare40", True), BY_PHASE),
    "openb.sharing()": (sharing, ("default",), None),
    "openb.sharing(in_variant := 'gpushare40')": (sharing, ("gpushare40",), None),
    "openb.demand_by_variant()": (demand_by_variant, (), ["variant"]),
    "openb.allocation_share()": (allocation_share, ("default", False), BY_PHASE),
    "openb.allocation_share(with_total := true)": (allocation_share, ("default", True), BY_PHASE),
    "openb.allocation_share(in_variant := 'cpu100', with_total := true)": (
        allocation_share,
        ("cpu100", True),
        BY_PHASE,
    ),
    "openb.allocation_share(in_variant := 'multigpu50')": (allocation_share, ("multigpu50", False), BY_PHASE),
    "openb.allocation_share(in_variant := 'multigpu50', with_total := true)": (
        allocation_share,
        ("multigpu50", True),
        BY_PHASE,
    ),
    "openb.peak_concurrency()": (peak_concurrency, ("default",), None),
    "openb.peak_concurrency(in_variant := 'gpushare40')": (peak_concurrency, ("gpushare40",), None),
    "openb.peak_concurrency(in_variant := 'multigpu50')": (peak_concurrency, ("multigpu50",), None),
    "openb.fragmentation_share()": (fragmentation_share, (), ["variant"]),
    f"openb.fragmentation_of({EMPTY})": (fragmentation_when_empty, ("default",), None),
    f"openb.fragmentation_of({EMPTY}, in_variant := 'gpuspec33')": (
        fragmentation_when_empty,
        ("gpuspec33",),
        None,
    ),
    "openb.memory()": (memory, (False,), None),
    "openb.memory(with_total := true)": (memory, (True,), None),
    "openb.pending_fit()": (pending_fit, ("default", True, 1, False), BY_CLASS),
    "openb.pending_fit(with_total := true)": (pending_fit, ("default", True, 1, True), BY_CLASS),
    "openb.pending_fit(gpu_only := false, with_total := true)": (
        pending_fit,
        ("default", False, 1, True),
        BY_CLASS,
    ),
    "openb.pending_fit(min_pods := 2)": (pending_fit, ("default", True, 2, False), BY_CLASS),
    "openb.pending_fit(in_variant := 'gpuspec33', with_total := true)": (
        pending_fit,
        ("gpuspec33", True, 1, True),
        BY_CLASS,
    ),
    "openb.pending_fit_by_model()": (pending_fit_by_model, ("default", True, False), ["model"]),
    "openb.pending_fit_by_model(with_total := true)": (
        pending_fit_by_model,
        ("default", True, True),
        ["model"],
    ),
    "openb.pending_fit_by_model(gpu_only := false, with_total := true)": (
        pending_fit_by_model,
        ("default", False, True),
        ["model"],
    ),
    "openb.pending_fit_by_model(in_variant := 'gpuspec33', with_total := true)": (
        pending_fit_by_model,
        ("gpuspec33", True, True),
        ["model"],
    ),
    "openb.use_by_day()": (use_by_day, ("default", 110), None),
    "openb.use_by_day(from_day := 0)": (use_by_day, ("default", 0), None),
    "openb.use_by_day(in_variant := 'gpushare40', from_day := 140)": (
        use_by_day,
        ("gpushare40", 140),
        None,
    ),
}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"in_variant": "gpushare40"}

"""openb's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, then the named
queries, which read the frames of the views and never the database. The capacity and the pods' lifecycles and
phases are in raw_frames.
"""

from pathlib import Path

import pandas as pd
import raw_frames

WHOLE_GPU = 1000


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


def allocation(raw: Path) -> pd.DataFrame:
    pods, capacity = pods_of(raw), capacity_gpus(raw) * WHOLE_GPU
    rows = []
    for variant, mine in pods.groupby("variant"):
        # A list without phases forms one group, whose phase is missing.
        for phase, group in mine.groupby("pod_phase", dropna=False):
            gpu_pods = group[group["is_gpu_pod"]]
            by_card, milli = gpu_pods["gpu_milli"].sum(), gpu_pods["milli"].sum()
            shares = percent(by_card, capacity), percent(milli, capacity)
            rows.append((variant, phase, len(gpu_pods), by_card, milli, capacity, *shares))
    names = ["variant", "pod_phase", "gpu_pods", "milli_by_card", "milli", "capacity_milli"]
    return pd.DataFrame(rows, columns=[*names, "by_card_pct", "pct"])


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
    "openb.allocation_v2": (allocation, ["variant", "pod_phase"]),
    "openb.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "openb.scarcest_resource()": (scarcest_resource, (), None),
    "openb.scarcest_resource(from_hour := 0)": (scarcest_resource, (0,), None),
}

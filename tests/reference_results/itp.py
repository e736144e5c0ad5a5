"""ITP's views, computed by pandas from the raw files alone."""

from functools import lru_cache
from pathlib import Path

import pandas as pd
import raw_frames


@lru_cache(maxsize=2)
def jobs_of(raw: Path) -> pd.DataFrame:
    return raw_frames.itp_job(raw)


SIMULATED_GPUS = {
    "cluster01": 512,
    "cluster02": 512,
    "cluster03": 512,
    "cluster04": 1024,
    "cluster05": 512,
    "cluster06": 512,
    "cluster07": 1024,
    "cluster08": 1024,
    "cluster09": 1024,
    "cluster10": 256,
}


LOAD = ["cluster", "from_s", "to_s", "jobs", "offered_gpus"]


def offered_load(raw: Path) -> pd.DataFrame:
    """Starts and ends in the same second are summed before the load is taken."""
    frames = [pd.DataFrame(columns=LOAD)]
    for cluster, jobs in jobs_of(raw).groupby("cluster"):
        gpus = jobs["requested_gpus"]
        starts = pd.DataFrame({"from_s": jobs["submit_s"], "jobs": 1, "offered_gpus": gpus})
        ends = pd.DataFrame({"from_s": jobs["submit_s"] + jobs["run_s"], "jobs": -1, "offered_gpus": -gpus})
        levels = pd.concat([starts, ends]).groupby("from_s").sum().cumsum().reset_index()
        frames.append(levels.assign(cluster=cluster, to_s=levels["from_s"].shift(-1))[LOAD].astype(object))
    return pd.concat(frames, ignore_index=True)


def cluster_load(raw: Path) -> pd.DataFrame:
    levels = offered_load(raw)
    rows = []
    for cluster, jobs in jobs_of(raw).groupby("cluster"):
        offered = levels[levels["cluster"] == cluster].set_index("from_s")["offered_gpus"].astype(int)
        first, last = jobs["submit_s"].min(), jobs["submit_s"].max()
        mean = (jobs["requested_gpus"] * jobs["run_s"]).sum() / (last - first) if last > first else None
        capacity = SIMULATED_GPUS.get(cluster)
        is_known = mean is not None and capacity is not None
        rows.append(
            {
                "cluster": cluster,
                "jobs": len(jobs),
                "gpu_h": jobs["gpu_h"].sum(),
                "first_submit_s": first,
                "last_submit_s": last,
                "arrival_span_s": last - first,
                "last_end_s": (jobs["submit_s"] + jobs["run_s"]).max(),
                "peak_offered_gpus": offered.max(),
                "peak_at_s": offered.idxmax(),
                "mean_offered_gpus": mean,
                "simulated_gpus": capacity,
                "offered_utilization": mean / capacity if is_known else None,
                "exceeds_capacity": bool(offered.max() > capacity) if capacity else None,
            }
        )
    return pd.DataFrame(rows).astype({"exceeds_capacity": object})


def standard_job_v1(raw: Path) -> pd.DataFrame:
    jobs = jobs_of(raw)
    gpus = jobs["requested_gpus"]
    return raw_frames.standard_jobs(
        cluster=jobs["cluster"],
        job_id=jobs["job_id"],
        submit_s=jobs["submit_s"],
        run_s=jobs["run_s"],
        observed_run_s=jobs["run_s"],
        requested_gpus=gpus,
        requested_gpus_per_instance=gpus,
        allocated_gpus=gpus,
        held_gpu_s=gpus * jobs["run_s"],
        status="unknown",
        is_left_censored=False,
        workload=jobs["model_name"],
        partition_name=jobs["cluster"],
    )


def cluster_capacity(_: Path) -> pd.DataFrame:
    rows = [(name, name, gpus, None, None) for name, gpus in SIMULATED_GPUS.items()]
    return pd.DataFrame(rows, columns=["cluster", "partition_name", "gpus", "nodes", "cpus"])


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "itp.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "itp.job_v1": (raw_frames.itp_job, ["cluster", "job_id"]),
    "itp.cluster_load_v1": (cluster_load, ["cluster"]),
    "itp.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}

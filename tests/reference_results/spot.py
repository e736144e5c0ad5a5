"""The spot trace's views and queries, computed by pandas from the raw CSVs alone."""

from pathlib import Path

import pandas as pd
import raw_frames

HOUR_S, DAY_S = 3_600, 86_400


def nodes(raw: Path) -> pd.DataFrame:
    return pd.read_csv(raw / "spot" / "node_info_df.csv")


def job_demand(raw: Path) -> pd.DataFrame:
    found = pd.read_csv(raw / "spot" / "job_info_df.csv")
    gpus = found["gpu_request"] * found["worker_num"]
    columns = {
        "job_id": found["job_name"].astype(str),
        "organization": found["organization"].astype(str),
        "gpu_model": found["gpu_model"],
        "job_type": found["job_type"],
        "submit_s": found["submit_time"].astype(float),
        "run_s": found["duration"].astype(float),
        "instances": found["worker_num"],
        "requested_gpus_per_instance": found["gpu_request"],
        "requested_gpus": gpus,
        "requested_cpus": found["cpu_request"] * found["worker_num"],
        "gpu_h": gpus * found["duration"] / HOUR_S,
    }
    return pd.DataFrame(columns, index=found.index)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """Jobs of the first second may have begun before the trace, so their left-censoring is unknown."""
    found = job_demand(raw)
    return raw_frames.standard_jobs(
        job_id=found["job_id"],
        group_id=found["organization"],
        submit_s=found["submit_s"],
        run_s=found["run_s"],
        observed_run_s=found["run_s"],
        requested_cpus=found["requested_cpus"],
        requested_gpus=found["requested_gpus"],
        requested_gpus_per_instance=found["requested_gpus"],
        held_gpu_s=found["requested_gpus"] * found["run_s"],
        status="unknown",
        is_left_censored=pd.Series(False, index=found.index, dtype=object).where(found["submit_s"] > 0, None),
        partition_name=found["gpu_model"],
    )


def cluster_capacity(raw: Path) -> pd.DataFrame:
    models = nodes(raw).groupby("gpu_model")
    sums = models.agg(gpus=("gpu_capacity_num", "sum"), nodes=("cpu_num", "size"), cpus=("cpu_num", "sum"))
    rows = sums.rename_axis("partition_name").reset_index()
    rows.insert(0, "cluster", None)
    return rows


VIEWS = {
    "spot.job_demand_v1": (job_demand, ["job_id"]),
    "spot.standard_job_v1": (standard_job_v1, ["job_id"]),
    "spot.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}

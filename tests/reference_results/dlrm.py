"""DLRM's views and queries, computed by pandas from the raw CSV alone."""

from pathlib import Path

import pandas as pd
import raw_frames


def instances(raw: Path) -> pd.DataFrame:
    [path] = (raw / "dlrm").rglob("disaggregated_DLRM_trace.csv")
    return pd.read_csv(path)


def recorded_job(raw: Path) -> pd.DataFrame:
    found = instances(raw)
    columns = {
        "cluster": None,
        "job_id": found["instance_sn"],
        "user_id": None,
        "group_id": found["app_name"],
        "submit_time": None,
        "submit_s": found["creation_time"],
        "local_submit_s": None,
        "wait_s": found["scheduled_time"] - found["creation_time"],
        "run_s": found["deletion_time"] - found["scheduled_time"],
        "end_s": found["deletion_time"],
        "requested_cpus": found["cpu_request"],
        "allocated_cpus": None,
        "requested_gpus": found["gpu_request"],
        "requested_gpus_per_instance": found["gpu_request"],
        "allocated_gpus": None,
        "requested_memory_gib": found["memory_request"],
        "allocated_memory_gib": None,
        "held_gpu_s": found["gpu_request"] * (found["deletion_time"] - found["scheduled_time"]),
        "status": "unknown",
        "is_censored": found["deletion_time"].isna(),
        "workload": "recommendation",
        "partition_name": found["role"],
    }
    return pd.DataFrame(columns, index=found.index)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A missing creation or schedule counts as second 0, a missing deletion as the last time of the trace."""
    found = instances(raw)
    ends = found["deletion_time"].fillna(
        found[["creation_time", "scheduled_time", "deletion_time"]].max(axis=None)
    )
    seen_s = ends - found["scheduled_time"].fillna(0)
    return raw_frames.as_observed(
        recorded_job(raw),
        observed_wait_s=found["scheduled_time"] - found["creation_time"],
        observed_start_s=found["scheduled_time"].fillna(0),
        observed_run_s=seen_s,
        held_gpu_s=found["gpu_request"] * seen_s,
        is_right_censored=found["deletion_time"].isna(),
        is_left_censored=found["creation_time"].isna(),
    )


VIEWS = {
    "dlrm.standard_job_v1": (standard_job_v1, ["job_id"]),
}

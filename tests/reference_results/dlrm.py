"""DLRM's views and queries, computed by pandas from the raw CSV alone."""

from pathlib import Path

import pandas as pd
import raw_frames


def instances(raw: Path) -> pd.DataFrame:
    [path] = (raw / "dlrm").rglob("disaggregated_DLRM_trace.csv")
    return pd.read_csv(path)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A missing creation or schedule counts as second 0, a missing deletion as the last time of the trace."""
    found = instances(raw)
    submit, start, end = found["creation_time"], found["scheduled_time"], found["deletion_time"]
    seen_s = end.fillna(pd.concat([submit, start, end]).max()) - start.fillna(0)
    return raw_frames.standard_jobs(
        job_id=found["instance_sn"],
        group_id=found["app_name"],
        submit_s=submit,
        wait_s=start - submit,
        observed_wait_s=start - submit,
        observed_start_s=start.fillna(0),
        run_s=end - start,
        observed_run_s=seen_s,
        end_s=end,
        requested_cpus=found["cpu_request"],
        requested_gpus=found["gpu_request"],
        requested_gpus_per_instance=found["gpu_request"],
        requested_memory_gib=found["memory_request"],
        held_gpu_s=found["gpu_request"] * seen_s,
        status="unknown",
        is_right_censored=end.isna(),
        is_left_censored=submit.isna(),
        workload="recommendation",
        partition_name=found["role"],
    )


VIEWS = {
    "dlrm.standard_job_v1": (standard_job_v1, ["job_id"]),
}

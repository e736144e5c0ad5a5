"""ITP's views, computed by pandas from the raw files alone."""

from pathlib import Path

import pandas as pd
import raw_frames

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


def standard_job_v1(raw: Path) -> pd.DataFrame:
    jobs = raw_frames.itp_job(raw)
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
    "itp.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}

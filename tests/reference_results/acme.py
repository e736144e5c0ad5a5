"""Acme's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. The module has the raw telemetry
as rows, then the views in the order of their dependencies, then the named queries, which read the frames of
the views and never the database.
"""

from pathlib import Path

import pandas as pd
import raw_frames

# The raw telemetry.


# Views of the jobs.


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A running job is observed until the last time of its cluster. A job with an end only was withdrawn."""
    jobs, found = raw_frames.standard_jobs(raw, "acme"), raw_frames.acme_job(raw)
    times = found[["submit_time", "start_time", "end_time"]]
    trace_ends = times.max(axis=1).groupby(found["cluster"]).transform("max")
    is_running = found["state"] == "RUNNING"
    seen_s = found["run_s"].mask(is_running, (trace_ends - found["start_time"]).dt.total_seconds())
    return raw_frames.as_observed(
        jobs,
        observed_wait_s=jobs["wait_s"].fillna(jobs["end_s"] - jobs["submit_s"]),
        observed_start_s=jobs["submit_s"] + jobs["wait_s"],
        observed_run_s=seen_s,
        held_gpu_s=found["requested_gpus"] * seen_s,
        is_right_censored=is_running.astype(object).where(found["state"].notna() | found["end_time"].notna()),
        is_left_censored=False,
    )


# Views of the telemetry.


# Named queries on the jobs.


# Named queries on the telemetry.


# Later views and queries. In VIEWS and QUERIES, each name has its function and the key columns of its rows.


GPUS_BY_PAPER = {"seren": 2288, "kalos": 2416}
GPUS_PER_NODE = 8


def cluster_capacity(_: Path) -> pd.DataFrame:
    rows = [(name, name, gpus, gpus // GPUS_PER_NODE) for name, gpus in GPUS_BY_PAPER.items()]
    return pd.DataFrame(rows, columns=["cluster", "partition_name", "gpus", "nodes"])


VIEWS = {
    "acme.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "acme.job_v1": (raw_frames.acme_job, ["cluster", "job_id"]),
    "acme.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}

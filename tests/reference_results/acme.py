"""Acme's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. The module has the raw telemetry
as rows, then the views in the order of their dependencies, then the named queries, which read the frames of
the views and never the database.
"""

from pathlib import Path

import pandas as pd
import raw_frames

# Views of the jobs.


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A running job is observed until the last time of its cluster. A job with an end only was withdrawn."""
    jobs = raw_frames.acme_job(raw)
    times = jobs[["submit_time", "start_time", "end_time"]]
    trace_ends = times.max(axis=1).groupby(jobs["cluster"]).transform("max")
    submit, start, end = ((times[name] - pd.Timestamp(0, tz="UTC")).dt.total_seconds() for name in times)
    is_running, gpus = jobs["state"] == "RUNNING", jobs["requested_gpus"]
    seen_s = jobs["run_s"].mask(is_running, (trace_ends - jobs["start_time"]).dt.total_seconds())
    outcomes = jobs["outcome"].mask(jobs["state"] == "PREEMPTED", "preempted")
    return raw_frames.standard_jobs(
        cluster=jobs["cluster"],
        job_id=jobs["job_id"],
        user_id=jobs["user_id"],
        submit_time=jobs["submit_time"],
        submit_s=submit,
        local_submit_s=submit + 8 * 3_600,
        wait_s=jobs["wait_s"],
        observed_wait_s=start.fillna(end) - submit,
        observed_start_s=start,
        run_s=jobs["run_s"],
        observed_run_s=seen_s,
        end_s=end,
        requested_cpus=jobs["requested_cpus"],
        requested_gpus=gpus,
        requested_gpus_per_instance=gpus,
        allocated_gpus=gpus.where(jobs["run_s"].notna()),
        held_gpu_s=gpus * seen_s,
        status=outcomes.fillna("unknown"),
        is_right_censored=is_running.astype(object).where(jobs["state"].notna() | jobs["end_time"].notna()),
        is_left_censored=False,
        workload=jobs["workload_type"],
        partition_name=jobs["cluster"],
    )


GPUS_BY_PAPER = {"seren": 2288, "kalos": 2416}
GPUS_PER_NODE = 8


def cluster_capacity(_: Path) -> pd.DataFrame:
    rows = [(name, name, gpus, gpus // GPUS_PER_NODE, None) for name, gpus in GPUS_BY_PAPER.items()]
    return pd.DataFrame(rows, columns=["cluster", "partition_name", "gpus", "nodes", "cpus"])


# Named queries.


def failing_nodes(raw: Path, on_cluster: str = "kalos", top: int = 20) -> pd.DataFrame:
    """Count changes to an XID code from 0, an empty cell or no cell, except in the first line of a device."""
    folder = raw / "acme" / "data" / "utilization" / on_cluster
    files = [raw_frames.read_text_table(path.read_bytes()) for path in sorted(folder.glob("XID_ERRORS*.csv"))]
    cells = pd.concat([file.melt("Time", var_name="device", value_name="xid") for file in files])
    cells["Time"] = pd.to_datetime(cells["Time"], utc=True)
    cells = raw_frames.with_numbers(cells.drop_duplicates(["Time", "device"]), ["xid"])
    first_times = cells.groupby("device")["Time"].min()
    has_code = cells.pivot(index="Time", columns="device", values="xid") > 0
    is_onset = has_code & ~has_code.shift(fill_value=False)
    devices = pd.DataFrame(
        {"onsets": [(is_onset[d] & (is_onset.index > at)).sum() for d, at in first_times.items()]}
    )
    devices["node"] = first_times.index.str.extract(r"^(\d{1,3}(?:\.\d{1,3}){3})(?:-\d)?$", expand=False)
    rows = devices[devices["onsets"] > 0].groupby("node")["onsets"].agg(["size", "sum"]).reset_index()
    rows.columns = ["node", "gpus_with_onset", "onsets"]
    rows = rows.sort_values(["onsets", "node"], ascending=[False, True])
    rows["onsets_pct"] = 100 * rows["onsets"] / rows["onsets"].sum()
    rows["cumulative_pct"], rows["nodes_seen"] = rows["onsets_pct"].cumsum(), devices["node"].nunique()
    rows.insert(0, "rank", range(1, len(rows) + 1))
    return rows.head(top)


# In VIEWS and QUERIES, each name has its function and the key columns of its rows.
VIEWS = {
    "acme.standard_job_v1": (standard_job_v1, ["cluster", "job_id"]),
    "acme.job_v1": (raw_frames.acme_job, ["cluster", "job_id"]),
    "acme.cluster_capacity_v1": (cluster_capacity, ["cluster"]),
}
QUERIES = {
    "acme.failing_nodes()": (failing_nodes, (), None),
    "acme.failing_nodes('seren', top := 2)": (failing_nodes, ("seren", 2), None),
}

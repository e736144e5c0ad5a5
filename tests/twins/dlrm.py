"""DLRM's views and queries, computed by pandas from the raw CSV alone."""

import math
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


def lifetimes(raw: Path) -> pd.DataFrame:
    """Return the instances with the second from which and until which they are observed to run."""
    found = instances(raw)
    last = found[["creation_time", "scheduled_time", "deletion_time"]].max(axis=None)
    return found.assign(from_s=found["scheduled_time"].fillna(0), to_s=found["deletion_time"].fillna(last))


def requests_by_role(raw: Path) -> pd.DataFrame:
    found = lifetimes(raw)
    trace_s, seen_s = found["to_s"].max(), found["to_s"] - found["from_s"]
    requests = {
        "gpus": found["gpu_request"],
        "cpus": found["cpu_request"],
        "memory_gib": found["memory_request"],
    }
    roles = found["role"]
    of_roles = found.groupby("role")
    columns = {
        "instances": of_roles.size(),
        "services": of_roles["app_name"].nunique(),
        **{f"requested_{name}": request.groupby(roles).sum() for name, request in requests.items()},
        "left_censored_instances": found["creation_time"].isna().groupby(roles).sum(),
        "right_censored_instances": found["deletion_time"].isna().groupby(roles).sum(),
        "mean_running_instances": seen_s.groupby(roles).sum() / trace_s,
    }
    for name, request in requests.items():
        columns[f"mean_held_{name}"] = (request * seen_s).groupby(roles).sum() / trace_s
    return pd.DataFrame(columns).reset_index()


def held_gpus_by_service(raw: Path, top_services: int) -> pd.DataFrame:
    """Add up, for each hour, the seconds of each service's instances within the hour."""
    found = lifetimes(raw)
    trace_s = found["to_s"].max()
    found = found[(found["gpu_request"] > 0) & (found["to_s"] > found["from_s"])]
    gpu_s = (found["gpu_request"] * (found["to_s"] - found["from_s"])).groupby(found["app_name"]).sum()
    top = sorted(gpu_s.index, key=lambda service: (-gpu_s[service], service))[:top_services]
    service = found["app_name"].where(found["app_name"].isin(top), "others")
    names = found["app_name"].groupby(service).nunique()
    frames = []
    for hour in range(math.ceil(trace_s / 3600)):
        begin, end = 3600 * hour, min(3600 * (hour + 1), trace_s)
        within = (found["to_s"].clip(upper=end) - found["from_s"].clip(lower=begin)).clip(lower=0)
        held = found["gpu_request"] * within / (end - begin)
        gpus = {
            "held_gpus": held,
            "left_censored_gpus": held.where(found["creation_time"].isna(), 0),
            "right_censored_gpus": held.where(found["deletion_time"].isna(), 0),
        }
        frame = pd.DataFrame({"services": names, "hour_start_s": begin, "covered_s": end - begin})
        frames.append(
            frame.join(pd.DataFrame(gpus).groupby(service).sum()).rename_axis("service").reset_index()
        )
    return pd.concat(frames, ignore_index=True)


def waits(raw: Path, roles: list[str]) -> pd.DataFrame:
    found = recorded_job(raw).dropna(subset="wait_s")
    of_roles = found[found["partition_name"].isin(roles)].groupby("partition_name")["wait_s"]
    quantiles = raw_frames.percentiles(of_roles, "wait_s", raw_frames.BOX_PERCENTILES)
    rows = pd.DataFrame({"instances": of_roles.size(), **quantiles, "max_wait_s": of_roles.max()})
    return rows.rename_axis("role").reset_index()


VIEWS = {
    "dlrm.standard_job_v1": (standard_job_v1, ["job_id"]),
}
QUERIES = {
    "dlrm.requests_by_role()": (requests_by_role, (), ["role"]),
    "dlrm.held_gpus_by_service()": (held_gpus_by_service, (10,), ["service", "hour_start_s"]),
    "dlrm.held_gpus_by_service(top_services := 2)": (
        held_gpus_by_service,
        (2,),
        ["service", "hour_start_s"],
    ),
    "dlrm.waits()": (waits, (["CN", "HN"],), ["role"]),
    "dlrm.waits(on_role := 'HN')": (waits, (["HN"],), ["role"]),
}

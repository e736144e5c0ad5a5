"""Philly's views and queries, computed by pandas from the files in its archive alone."""

import io
import itertools
import json
import math
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
from raw_frames import as_observed, remembered

BANDS = {"1": 1, "2 to 4": 4, "5 to 8": 8, "9 and more": math.inf}
OUTCOMES = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}
HOURS_BEHIND = {"PDT": 7, "PST": 8}
ZERO = pd.Timestamp("1970-01-01")


def content(raw: Path, name: str) -> bytes:
    with tarfile.open(raw / "philly" / "trace-data.tar.gz") as archive:
        member = archive.extractfile(f"trace-data/{name}")
        assert member is not None
        return member.read()


def time_of(text: str | None) -> float:
    return (pd.Timestamp(text) - ZERO).total_seconds() if text not in (None, "", "None") else math.nan


@remembered
def attempts_of(raw: Path) -> pd.DataFrame:
    """Return each attempt with its job, and its machines and GPUs as Python lists."""
    rows = []
    for job in json.loads(content(raw, "cluster_job_log")):
        for number, attempt in enumerate(job["attempts"], start=1):
            start, end = time_of(attempt["start_time"]), time_of(attempt["end_time"])
            gpus = sum(len(detail["gpus"]) for detail in attempt["detail"])
            rows.append(
                {
                    "job_id": job["jobid"],
                    "attempt": number,
                    "is_last": number == len(job["attempts"]),
                    "start_s": start,
                    "end_s": end,
                    "run_s": end - start,
                    "allocated_gpus": float(gpus),
                    "machines": len({detail["ip"] for detail in attempt["detail"]}),
                    "held_gpu_s": gpus * (end - start),
                    "detail": attempt["detail"],
                }
            )
    return pd.DataFrame(rows)


def attempt_run(raw: Path) -> pd.DataFrame:
    return attempts_of(raw).drop(columns="detail")


def band_of(gpus: float) -> str | None:
    return next((band for band, most in BANDS.items() if gpus <= most), None)


@remembered
def job_run(raw: Path) -> pd.DataFrame:
    of_jobs = dict(list(attempt_run(raw).groupby("job_id")))
    rows = []
    for job in json.loads(content(raw, "cluster_job_log")):
        mine = of_jobs.get(job["jobid"])
        submit = time_of(job["submitted_time"])
        row = {
            "job_id": job["jobid"],
            "vc": job["vc"],
            "user_id": job["user"],
            "published_status": job["status"],
            "submit_s": submit,
            "wait_s": math.nan,
            "run_s": math.nan,
            "end_s": math.nan,
            "attempts": len(job["attempts"]),
            "allocated_gpus": math.nan,
            "gpu_band": None,
            "machines": math.nan,
            "held_gpu_s": math.nan,
            "earlier_gpu_s": math.nan,
            "is_censored": False,
        }
        if mine is not None:
            first, last = mine.iloc[0], mine.iloc[-1]
            row["wait_s"] = first["start_s"] - submit
            row["run_s"] = last["end_s"] - first["start_s"]
            row["end_s"] = last["end_s"]
            row["allocated_gpus"], row["machines"] = first["allocated_gpus"], first["machines"]
            row["gpu_band"] = band_of(first["allocated_gpus"])
            row["held_gpu_s"] = mine["held_gpu_s"].sum(min_count=1)
            earlier = mine["held_gpu_s"].iloc[:-1].sum()
            row["earlier_gpu_s"] = earlier if not math.isnan(row["held_gpu_s"]) else math.nan
            row["is_censored"] = math.isnan(last["end_s"])
        rows.append(row)
    return pd.DataFrame(rows)


@remembered
def attempt_wait(raw: Path) -> pd.DataFrame:
    submitted = {
        job["jobid"]: time_of(job["submitted_time"]) for job in json.loads(content(raw, "cluster_job_log"))
    }
    rows = []
    for job_id, attempts in attempt_run(raw).groupby("job_id"):
        queued_from_s = submitted[job_id]
        for attempt in attempts.sort_values("attempt").itertuples():
            wait_s = attempt.start_s - queued_from_s
            rows.append((job_id, attempt.attempt, attempt.allocated_gpus, queued_from_s, wait_s))
            queued_from_s = attempt.end_s
    return pd.DataFrame(rows, columns=["job_id", "attempt", "allocated_gpus", "queued_from_s", "wait_s"])


def recorded_job(raw: Path) -> pd.DataFrame:
    found = job_run(raw)
    columns = {
        "cluster": None,
        "job_id": found["job_id"],
        "user_id": found["user_id"],
        "group_id": None,
        "submit_time": None,
        "submit_s": found["submit_s"],
        "local_submit_s": None,
        "wait_s": found["wait_s"],
        "run_s": found["run_s"],
        "end_s": found["end_s"],
        "requested_cpus": None,
        "allocated_cpus": None,
        "requested_gpus": found["allocated_gpus"],
        "requested_gpus_per_instance": found["allocated_gpus"],
        "allocated_gpus": found["allocated_gpus"],
        "requested_memory_gib": None,
        "allocated_memory_gib": None,
        "held_gpu_s": found["held_gpu_s"],
        "status": found["published_status"].map(OUTCOMES),
        "is_censored": found["is_censored"],
        "workload": None,
        "partition_name": found["vc"],
    }
    return pd.DataFrame(columns, index=found.index)


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A job without an end is observed until the last time of its attempts."""
    found = recorded_job(raw)
    times = attempt_run(raw).groupby("job_id")[["start_s", "end_s"]].agg(["min", "max"])
    first_s, last_s = times["start_s", "min"], times[[("start_s", "max"), ("end_s", "max")]].max(axis=1)
    seen_s = found["job_id"].map(last_s - first_s)
    return as_observed(
        found,
        observed_wait_s=found["wait_s"],
        observed_start_s=found["job_id"].map(first_s),
        observed_run_s=found["run_s"].fillna(seen_s.where(seen_s > 0)),
        is_right_censored=found["is_censored"],
        is_left_censored=False,
    )


@remembered
def machine_list(raw: Path) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content(raw, "cluster_machine_list")), skipinitialspace=True)


def cluster_capacity(raw: Path) -> pd.DataFrame:
    listed = machine_list(raw)
    row = {"gpus": listed["number of GPUs"].sum(), "nodes": len(listed)}
    return pd.DataFrame([{"cluster": None, "partition_name": None, **row}])


@remembered
def use_of(raw: Path, name: str, values: int) -> pd.DataFrame:
    """Return the rows of a utilisation file: machine_id, local time, UTC time and values."""
    lines = [line.split(",") for line in content(raw, name).decode().splitlines()]
    columns = ["time", "machine_id", *lines[0][2 : 2 + values]]
    found = pd.DataFrame([line[: 2 + values] for line in lines[1:]], columns=columns)
    wall, zone = pd.to_datetime(found["time"].str[:-4]), found.pop("time").str[-3:]
    found.insert(1, "wall", wall)
    found.insert(2, "utc", wall + pd.to_timedelta(zone.map(HOURS_BEHIND), unit="h"))
    for column in columns[2:]:
        found[column] = pd.to_numeric(found[column].replace({"NA": None, "": None}))
    return found


def gpu_use(raw: Path) -> pd.DataFrame:
    """Return a row for each measured minute of a GPU."""
    wide = use_of(raw, "cluster_gpu_util", 8)
    long = wide.melt(id_vars=["machine_id", "wall", "utc"], var_name="gpu", value_name="use").dropna()
    return long.assign(gpu=long["gpu"].str.removesuffix("_util"))


def machine_inventory(raw: Path) -> pd.DataFrame:
    listed = machine_list(raw).set_index("machineId")
    used: dict[str, set[str]] = {}
    for details in attempts_of(raw)["detail"]:
        for detail in details:
            used.setdefault(detail["ip"], set()).update(detail["gpus"])
    measured = gpu_use(raw).groupby("machine_id")["gpu"].nunique()
    seen = set(use_of(raw, "cluster_gpu_util", 8)["machine_id"])
    rows = [
        {
            "machine_id": name,
            "listed_gpus": listed["number of GPUs"].get(name),
            "gpu_memory_gb": float(listed["single GPU mem"].get(name, "nan GB").removesuffix("GB")),
            "used_gpus": len(used[name]) if used.get(name) else None,
            "measured_gpus": measured.get(name, 0) if name in seen else None,
        }
        for name in sorted({*listed.index, *used, *seen})
    ]
    return pd.DataFrame(rows)


# Queries.


def fragmentation(raw: Path, job_gpus: int, bin_minutes: int) -> pd.DataFrame:
    """Add up, per bin, the intervals of each machine between starts and ends of its attempts."""
    bin_s = 60 * bin_minutes
    inventory = machine_inventory(raw).set_index("machine_id")
    gpus = inventory[["listed_gpus", "used_gpus", "measured_gpus"]].astype(float).max(axis=1)
    spans: dict[str, list[tuple[float, float, str]]] = {}
    for attempt in attempts_of(raw).itertuples():
        if attempt.end_s > attempt.start_s:
            for detail in attempt.detail:
                mine = spans.setdefault(detail["ip"], [])
                mine += [(attempt.start_s, attempt.end_s, gpu) for gpu in detail["gpus"]]
    times = [at for mine in spans.values() for span in mine for at in span[:2]]
    first, last = int(min(times) // bin_s), int(max(times) // bin_s)
    held, fewer = np.zeros(last - first + 1), np.zeros(last - first + 1)
    for machine, mine in spans.items():
        at = sorted({time for span in mine for time in span[:2]})
        for from_s, to_s in itertools.pairwise(at):
            taken = len({gpu for start, end, gpu in mine if start <= from_s < end})
            lost = gpus[machine] // job_gpus - (gpus[machine] - taken) // job_gpus
            for place in range(int(from_s // bin_s), int(np.ceil(to_s / bin_s))):
                part = (min(to_s, bin_s * (place + 1)) - max(from_s, bin_s * place)) / bin_s
                held[place - first] += taken * part
                fewer[place - first] += lost * part
    bins = pd.to_datetime(bin_s * np.arange(first, last + 1), unit="s")
    rows = pd.DataFrame({"bin_start": bins, "held_gpus": held})
    rows["capacity_gpus"] = gpus.sum()
    rows["free_gpus"] = rows["capacity_gpus"] - held
    rows["fitting_jobs"] = (gpus // job_gpus).sum() - fewer
    rows["unusable_gpus"] = rows["free_gpus"] - job_gpus * rows["fitting_jobs"]
    rows["unusable_pct"] = 100 * rows["unusable_gpus"] / rows["free_gpus"]
    return rows


VIEWS = {
    "philly.attempt_run_v1": (attempt_run, ["job_id", "attempt"]),
    "philly.attempt_wait_v1": (attempt_wait, ["job_id", "attempt"]),
    "philly.job_run_v1": (job_run, ["job_id"]),
    "philly.standard_job_v1": (standard_job_v1, ["job_id"]),
    "philly.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "philly.fragmentation()": (fragmentation, (8, 60), ["bin_start"]),
    "philly.fragmentation(job_gpus := 2, bin_minutes := 7)": (fragmentation, (2, 7), ["bin_start"]),
}
QUERIES_AT_DEPTH = {
    "philly.fragmentation(job_gpus := 2, bin_minutes := 1)": (fragmentation, (2, 1), ["bin_start"]),
}

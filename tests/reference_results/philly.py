"""Philly's views and queries, computed by pandas from the files in its archive alone."""

import io
import json
import math
import tarfile
from pathlib import Path

import pandas as pd
import raw_frames
from raw_frames import remembered

BANDS = {"1": 1, "2 to 4": 4, "5 to 8": 8, "9 and more": math.inf}
OUTCOMES = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}
ZERO = pd.Timestamp("1970-01-01")


def content(raw: Path, name: str) -> bytes:
    with tarfile.open(raw / "philly" / "trace-data.tar.gz") as archive:
        member = archive.extractfile(f"trace-data/{name}")
        assert member is not None
        return member.read()


def time_of(text: str | None) -> float:
    return (pd.Timestamp(text) - ZERO).total_seconds() if text not in (None, "", "None") else math.nan


@remembered
def attempt_run(raw: Path) -> pd.DataFrame:
    """Return each attempt with its job."""
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
                }
            )
    return pd.DataFrame(rows)


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


def standard_job_v1(raw: Path) -> pd.DataFrame:
    """A job without an end is observed until the last time of its attempts."""
    found = job_run(raw)
    times = attempt_run(raw).groupby("job_id")[["start_s", "end_s"]].agg(["min", "max"])
    first_s, last_s = times["start_s", "min"], times[[("start_s", "max"), ("end_s", "max")]].max(axis=1)
    seen_s = found["job_id"].map(last_s - first_s)
    return raw_frames.standard_jobs(
        job_id=found["job_id"],
        user_id=found["user_id"],
        submit_s=found["submit_s"],
        wait_s=found["wait_s"],
        observed_wait_s=found["wait_s"],
        observed_start_s=found["job_id"].map(first_s),
        run_s=found["run_s"],
        observed_run_s=found["run_s"].fillna(seen_s.where(seen_s > 0)),
        end_s=found["end_s"],
        requested_gpus=found["allocated_gpus"],
        requested_gpus_per_instance=found["allocated_gpus"],
        allocated_gpus=found["allocated_gpus"],
        held_gpu_s=found["held_gpu_s"],
        status=found["published_status"].map(OUTCOMES),
        is_right_censored=found["is_censored"],
        is_left_censored=False,
        partition_name=found["vc"],
    )


@remembered
def machine_list(raw: Path) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content(raw, "cluster_machine_list")), skipinitialspace=True)


def cluster_capacity(raw: Path) -> pd.DataFrame:
    """Of the GPUs of a machine in the list, the job log and the measurements, the largest number counts."""
    used: dict[str, set[str]] = {}
    for job in json.loads(content(raw, "cluster_job_log")):
        for detail in (detail for attempt in job["attempts"] for detail in attempt["detail"]):
            used.setdefault(detail["ip"], set()).update(detail["gpus"])
    # Lines end with a comma.
    uses = io.BytesIO(content(raw, "cluster_gpu_util"))
    rows = pd.read_csv(uses, skipinitialspace=True, dtype=str, index_col=False)
    measured = rows.set_index("machineId").filter(regex="^gpu").notna()
    counts = pd.DataFrame(
        {
            "listed": machine_list(raw).set_index("machineId")["number of GPUs"],
            "used": pd.Series({machine: len(gpus) for machine, gpus in used.items()}),
            "measured": measured.groupby(level=0).any().sum(axis=1),
        }
    )
    row = {"gpus": counts.max(axis=1).sum(), "nodes": len(counts)}
    return pd.DataFrame([{"cluster": None, "partition_name": None, **row, "cpus": None}])


def failing_machines(raw: Path, top: int = 20) -> pd.DataFrame:
    """Return the machines with most failures above the mean. An attempt with a successor has failed."""
    pairs = []
    for job in json.loads(content(raw, "cluster_job_log")):
        for left, attempt in enumerate(reversed(job["attempts"])):
            has_failed = left > 0 or job["status"] == "Failed"
            pairs += [(machine, has_failed) for machine in {detail["ip"] for detail in attempt["detail"]}]
    found = pd.DataFrame(pairs, columns=["machine_id", "has_failed"])
    rows = found.groupby("machine_id")["has_failed"].agg(["size", "sum", "mean"]).reset_index()
    rows.columns = ["machine_id", "attempts", "failed_attempts", "failed_pct"]
    failed = rows["failed_attempts"]
    rows["failed_pct"] *= 100
    rows["failed_share_pct"] = 100 * failed / failed.sum()
    rows["expected_failed_attempts"] = rows["attempts"] * found["has_failed"].mean()
    rows["excess"] = failed - rows["expected_failed_attempts"]
    order = rows["excess"].round(9).to_frame().assign(machine_id=rows["machine_id"])
    return rows.loc[order.sort_values(["excess", "machine_id"], ascending=[False, True]).index].head(top)


VIEWS = {
    "philly.attempt_run_v1": (attempt_run, ["job_id", "attempt"]),
    "philly.attempt_wait_v1": (attempt_wait, ["job_id", "attempt"]),
    "philly.job_run_v1": (job_run, ["job_id"]),
    "philly.standard_job_v1": (standard_job_v1, ["job_id"]),
    "philly.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
}
QUERIES = {
    "philly.failing_machines()": (failing_machines, (), None),
    "philly.failing_machines(top := 3)": (failing_machines, (3,), None),
}

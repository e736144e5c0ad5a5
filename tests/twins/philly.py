"""Philly's views and queries, computed by pandas from the files in its archive alone."""

import io
import itertools
import json
import math
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from raw_frames import BOX_PERCENTILES, as_observed, percentiles, remembered

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


def share_idle(use: pd.Series) -> float:
    return 100 * (use == 0).mean()


def utilization_hourly(raw: Path) -> pd.DataFrame:
    def hour(frame: pd.DataFrame) -> list[pd.Series]:
        return [frame["machine_id"], frame["utc"].dt.floor("h").dt.tz_localize("UTC").rename("hour")]

    gpus, every = gpu_use(raw), use_of(raw, "cluster_gpu_util", 8)
    cpus, memory = use_of(raw, "cluster_cpu_util", 1), use_of(raw, "cluster_mem_util", 2)
    memory = memory.assign(used=100 * (1 - memory["mem_free"] / memory["mem_total"].where(lambda kb: kb > 0)))
    of_gpus = gpus["use"].groupby(hour(gpus))
    columns = {
        "gpu_minutes": of_gpus.size(),
        "mean_gpu_pct": of_gpus.mean(),
        "idle_gpu_pct": of_gpus.agg(share_idle),
        "mean_cpu_pct": cpus["cpu_util"].groupby(hour(cpus)).mean(),
        "mean_memory_pct": memory["used"].groupby(hour(memory)).mean(),
    }
    listed = every.groupby(hour(every)).size().index
    index = listed.union(columns["mean_cpu_pct"].index).union(columns["mean_memory_pct"].index)
    rows = pd.DataFrame(columns, index=index).reset_index()
    return rows.assign(gpu_minutes=rows["gpu_minutes"].fillna(0).astype(int))


@remembered
def minutes_of_attempts(raw: Path) -> pd.DataFrame:
    """Return a row for each measured minute of a GPU that begins while an attempt holds the GPU."""
    use = dict(list(gpu_use(raw).groupby(["machine_id", "gpu"])))
    frames = []
    for attempt in attempts_of(raw).itertuples():
        if math.isnan(attempt.start_s) or math.isnan(attempt.end_s):
            continue
        start, end = (ZERO + pd.Timedelta(seconds=at) for at in (attempt.start_s, attempt.end_s))
        for detail in attempt.detail:
            for gpu in detail["gpus"]:
                if (of_gpu := use.get((detail["ip"], gpu))) is not None:
                    within = of_gpu.loc[(of_gpu["wall"] >= start) & (of_gpu["wall"] < end), "use"]
                    frames.append(
                        pd.DataFrame({"job_id": attempt.job_id, "attempt": attempt.attempt, "use": within})
                    )
    return pd.concat(frames, ignore_index=True)


def attempt_utilization(raw: Path) -> pd.DataFrame:
    use = minutes_of_attempts(raw).groupby(["job_id", "attempt"])["use"]
    rows = use.agg(gpu_minutes="size", mean_gpu_pct="mean", idle_gpu_pct=share_idle)
    return rows.reset_index()


def job_utilization(raw: Path) -> pd.DataFrame:
    use = minutes_of_attempts(raw).groupby("job_id")["use"]
    rows = pd.DataFrame({"measured_gpu_s": 60.0 * use.size(), "used_gpu_s": 60 * use.sum() / 100})
    rows.insert(0, "sampled_per", "minutes of a GPU")
    return rows.reset_index()


# Queries.


def totals(raw: Path, with_total: bool = False) -> pd.DataFrame:
    every = job_run(raw)
    groups = [*every.groupby("vc"), *([("all", every)] if with_total else [])]
    rows = []
    for vc, jobs in groups:
        row = {
            "vc": vc,
            "jobs": len(jobs),
            "jobs_without_attempt": (jobs["attempts"] == 0).sum(),
            "jobs_with_run": jobs["run_s"].count(),
            "users": jobs["user_id"].nunique(),
            "attempts": jobs["attempts"].sum(),
            "gpu_h": jobs["held_gpu_s"].sum(min_count=1) / 3600,
            "mean_gpus": jobs["allocated_gpus"].mean(),
            "median_gpus": jobs["allocated_gpus"].median(),
            "max_gpus": jobs["allocated_gpus"].max(),
            "mean_run_s": jobs["run_s"].mean(),
            "median_run_s": jobs["run_s"].median(),
            "max_run_s": jobs["run_s"].max(),
            "mean_wait_s": jobs["wait_s"].mean(),
            "median_wait_s": jobs["wait_s"].median(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def statuses(raw: Path) -> pd.DataFrame:
    jobs = job_run(raw)
    of_status = jobs.groupby("published_status")
    gpu_h = of_status["held_gpu_s"].sum(min_count=1) / 3600
    columns = {
        "jobs": of_status.size(),
        "jobs_pct": 100 * of_status.size() / len(jobs),
        "jobs_without_attempt": of_status["attempts"].agg(lambda attempts: (attempts == 0).sum()),
        "gpu_h": gpu_h,
        "gpu_h_pct": 100 * gpu_h / gpu_h.sum(),
    }
    return pd.DataFrame(columns).reset_index()


def spread(raw: Path, key: str, name: str) -> pd.DataFrame:
    of_key = job_run(raw).dropna(subset=name).groupby(key)[name]
    quantiles = percentiles(of_key, name, BOX_PERCENTILES)
    return pd.DataFrame({"jobs": of_key.size(), f"mean_{name}": of_key.mean(), **quantiles}).reset_index()


def retries(raw: Path) -> pd.DataFrame:
    jobs = job_run(raw)
    of_band = jobs[jobs["attempts"] > 0].groupby("gpu_band")
    held = of_band["held_gpu_s"].sum()
    columns = {
        "jobs": of_band.size(),
        "retried_pct": of_band["attempts"].agg(lambda attempts: 100 * (attempts > 1).mean()),
        "mean_retries": of_band["attempts"].mean() - 1,
        "max_attempts": of_band["attempts"].max(),
        "gpu_h": held / 3600,
        "earlier_gpu_h_pct": 100 * of_band["earlier_gpu_s"].sum() / held,
    }
    return pd.DataFrame(columns).reset_index()


def wait_by_attempt(raw: Path, retried_only: bool) -> pd.DataFrame:
    waits = attempt_wait(raw).merge(job_run(raw)[["job_id", "gpu_band", "attempts"]], on="job_id")
    waits = waits[(waits["attempts"] > 1) | (not retried_only)]
    waits["attempt_class"] = np.where(waits["attempt"] == 1, "first", "later")
    of_class = waits.groupby(["gpu_band", "attempt_class"])
    seconds = of_class["wait_s"]
    rows = pd.DataFrame(
        {
            "attempts": seconds.count(),
            "attempts_without_wait": of_class.size() - seconds.count(),
            "mean_wait_s": seconds.mean(),
            **percentiles(seconds, "wait_s", BOX_PERCENTILES),
            "waited_h": seconds.sum() / 3600,
        }
    )
    rows["wait_pct"] = 100 * rows["waited_h"] / rows.groupby("gpu_band")["waited_h"].transform("sum")
    return rows.reset_index()


def doubly_allocated_gpus(raw: Path) -> pd.DataFrame:
    """Sweep over the allocations of each GPU in the order of their starts."""
    of_gpus: dict[tuple[str, str], list[tuple[float, float]]] = {}
    untimed: Counter[int] = Counter()
    for attempt in attempts_of(raw).itertuples():
        for detail in attempt.detail:
            for gpu in detail["gpus"]:
                if math.isnan(attempt.end_s) and not math.isnan(attempt.start_s):
                    untimed[int(attempt.start_s // 86_400)] += 1
                elif attempt.end_s > attempt.start_s:
                    span = (attempt.start_s, attempt.end_s)
                    of_gpus.setdefault((detail["ip"], gpu), []).append(span)
    rows = []
    for spans in of_gpus.values():
        taken_until_s = -math.inf
        for start_s, end_s in sorted(spans):
            double_s = max(0.0, min(end_s, taken_until_s) - start_s)
            rows.append((int(start_s // 86_400), end_s - start_s, double_s))
            taken_until_s = max(taken_until_s, end_s)
    days = pd.DataFrame(rows, columns=["day_number", "held_s", "double_s"]).groupby("day_number")
    columns = {
        "allocations": days.size(),
        "double_allocations": days["double_s"].agg(lambda seconds: (seconds > 0).sum()),
        "gpu_h": days["held_s"].sum() / 3600,
        "double_gpu_h": days["double_s"].sum() / 3600,
        "double_gpu_h_pct": 100 * days["double_s"].sum() / days["held_s"].sum(),
    }
    found = pd.DataFrame(columns).reset_index()
    found["untimed_allocations"] = [untimed[number] for number in found["day_number"]]
    found.insert(0, "day", [(ZERO + pd.Timedelta(days=number)).date() for number in found.pop("day_number")])
    return found


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


def locality(raw: Path, min_gpus: int) -> pd.DataFrame:
    attempts = attempt_run(raw)
    attempts = attempts[attempts["allocated_gpus"] >= min_gpus]
    use = minutes_of_attempts(raw).merge(attempts, on=["job_id", "attempt"])
    rows = []
    for (gpus, machines), mine in attempts.groupby(["allocated_gpus", "machines"]):
        of_mine = use.loc[(use["allocated_gpus"] == gpus) & (use["machines"] == machines), "use"]
        row = {
            "allocated_gpus": gpus,
            "machines": machines,
            "attempts": len(mine),
            "attempts_pct": 100 * len(mine) / (attempts["allocated_gpus"] == gpus).sum(),
            "median_run_s": mine["run_s"].median(),
            "gpu_minutes": len(of_mine),
            "mean_gpu_pct": of_mine.mean(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def gpu_utilization_by_size(raw: Path) -> pd.DataFrame:
    use = minutes_of_attempts(raw).merge(job_run(raw), on="job_id")
    of_size = use.groupby(["gpu_band", "published_status"])
    columns = {
        "jobs": of_size["job_id"].nunique(),
        "gpu_minutes": of_size.size(),
        "mean_gpu_pct": of_size["use"].mean(),
        "idle_gpu_pct": of_size["use"].agg(share_idle),
    }
    return pd.DataFrame(columns).reset_index()


def load_by_day(raw: Path) -> pd.DataFrame:
    jobs, attempts = job_run(raw), attempt_run(raw)
    runs = attempts[attempts["end_s"] > attempts["start_s"]]
    submitted = (jobs["submit_s"] // 86_400).value_counts()
    first = int(min(submitted.index.min(), runs["start_s"].min() // 86_400))
    # An attempt that ends at midnight adds no day.
    last = int(max(submitted.index.max(), np.ceil(runs["end_s"].max() / 86_400) - 1))
    capacity = machine_list(raw)["number of GPUs"].sum()
    rows = []
    for day in range(first, last + 1):
        from_s = 86_400 * day
        within = np.minimum(runs["end_s"], from_s + 86_400) - np.maximum(runs["start_s"], from_s)
        held = (runs["allocated_gpus"] * within.clip(lower=0)).sum() / 86_400
        date = (ZERO + pd.Timedelta(days=day)).date()
        rows.append((date, submitted.get(day, 0), held, capacity, 100 * held / capacity))
    return pd.DataFrame(rows, columns=["day", "jobs", "held_gpus", "capacity_gpus", "held_pct"])


def arrivals_by_hour(raw: Path) -> pd.DataFrame:
    times = ZERO + pd.to_timedelta(job_run(raw)["submit_s"].dropna(), unit="s")
    counted = Counter(zip(times.dt.hour, times.dt.day_of_week + 1, strict=True))
    rows = [(hour, day, counted[hour, day]) for day in range(1, 8) for hour in range(24)]
    return pd.DataFrame(rows, columns=["hour_of_day", "weekday", "jobs"])


def utilization_by_day(raw: Path) -> pd.DataFrame:
    gpus, hours = gpu_use(raw), utilization_hourly(raw)
    of_day = gpus["use"].groupby(gpus["utc"].dt.date.rename("day"))
    of_hours = hours.groupby(hours["hour"].dt.date.rename("day"))
    columns = {
        "machines": of_hours["machine_id"].nunique(),
        "gpu_minutes": of_day.size(),
        "mean_gpu_pct": of_day.mean(),
        "idle_gpu_pct": of_day.agg(share_idle),
        "mean_cpu_pct": of_hours["mean_cpu_pct"].mean(),
        "mean_memory_pct": of_hours["mean_memory_pct"].mean(),
    }
    return pd.DataFrame(columns).reset_index()


def machine_gpus(raw: Path) -> pd.DataFrame:
    found = machine_inventory(raw).drop(columns=["machine_id", "gpu_memory_gb"])
    most = found[["used_gpus", "measured_gpus"]].max(axis=1).fillna(0)
    keys = ["listed_gpus", "used_gpus", "measured_gpus", "disagrees"]
    found = found.assign(disagrees=most > found["listed_gpus"].fillna(0))
    return found.groupby(keys, dropna=False).size().rename("machines").reset_index()


VIEWS = {
    "philly.attempt_run_v1": (attempt_run, ["job_id", "attempt"]),
    "philly.attempt_wait_v1": (attempt_wait, ["job_id", "attempt"]),
    "philly.job_run_v1": (job_run, ["job_id"]),
    "philly.standard_job_v1": (standard_job_v1, ["job_id"]),
    "philly.machine_inventory_v1": (machine_inventory, ["machine_id"]),
    "philly.cluster_capacity_v1": (cluster_capacity, ["partition_name"]),
    "philly.utilization_hourly_v1": (utilization_hourly, ["machine_id", "hour"]),
    "philly.job_utilization_v1": (job_utilization, ["job_id"]),
    "philly.attempt_utilization_v1": (attempt_utilization, ["job_id", "attempt"]),
}
QUERIES = {
    "philly.totals()": (totals, (), ["vc"]),
    "philly.totals(with_total := true)": (totals, (True,), ["vc"]),
    "philly.statuses()": (statuses, (), ["published_status"]),
    "philly.wait_by_size()": (spread, ("gpu_band", "wait_s"), ["gpu_band"]),
    "philly.run_by_status()": (spread, ("published_status", "run_s"), ["published_status"]),
    "philly.retries()": (retries, (), ["gpu_band"]),
    "philly.wait_by_attempt()": (wait_by_attempt, (True,), ["gpu_band", "attempt_class"]),
    "philly.wait_by_attempt(retried_only := false)": (
        wait_by_attempt,
        (False,),
        ["gpu_band", "attempt_class"],
    ),
    "philly.doubly_allocated_gpus()": (doubly_allocated_gpus, (), ["day"]),
    "philly.fragmentation()": (fragmentation, (8, 60), ["bin_start"]),
    "philly.fragmentation(job_gpus := 2, bin_minutes := 1)": (fragmentation, (2, 1), ["bin_start"]),
    "philly.locality()": (locality, (2,), ["allocated_gpus", "machines"]),
    "philly.locality(min_gpus := 1)": (locality, (1,), ["allocated_gpus", "machines"]),
    "philly.gpu_utilization_by_size()": (gpu_utilization_by_size, (), ["gpu_band", "published_status"]),
    "philly.load_by_day()": (load_by_day, (), ["day"]),
    "philly.arrivals_by_hour()": (arrivals_by_hour, (), ["hour_of_day", "weekday"]),
    "philly.utilization_by_day()": (utilization_by_day, (), ["day"]),
    "philly.machine_gpus()": (machine_gpus, (), ["listed_gpus", "used_gpus", "measured_gpus"]),
}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"min_gpus": 16, "job_gpus": 4}

"""Synthetic Acme: the jobs of two clusters for large language models, the publisher's summary, telemetry.

Known pitfalls of the jobs: Seren's times have the offset +08:00, Kalos' +00:00, and Kalos has four more
columns; `duration` is end - start in Seren and end - submit in Kalos; PREEMPTED occurs only in Seren, and
RUNNING, without an end, only in Kalos; some jobs were cancelled before they started.

The module `acme_telemetry` writes the telemetry.
"""

from typing import Any

import numpy as np
import polars as pl

from tracehouse.ingest.traces.acme.tables import CLUSTER_SUMMARY, JOB_TRACE
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output
from tracehouse.samples.traces import acme_telemetry

LAST_S = 1_693_497_600
# Kinds of jobs: the number in Seren and in Kalos, jobs by requested GPUs, median run time in s, share that
# starts at once, and the median of the other waits in s.
# fmt: off
KINDS: dict[str, tuple[Any, ...]] = {
    "Eval": (292_433, 18_474, {1: 74, 2: 6, 4: 6, 8: 14}, 110, 0.48, 400),
    "SFT": (67_138, 6, {1: 6, 2: 6, 4: 8, 8: 76, 16: 3, 32: 1}, 150, 0.6, 120),
    "Other": (65_786, 253, {1: 36, 2: 6, 4: 8, 8: 45, 16: 3, 64: 2}, 150, 0.65, 90),
    "MLLM": (13_067, 0, {1: 15, 8: 55, 16: 15, 32: 10, 64: 5}, 160, 0.73, 60),
    "Debug": (8_561, 537, {1: 25, 8: 50, 16: 10, 64: 12, 256: 3}, 90, 0.85, 40),
    "Pretrain": (3_605, 637, {8: 6, 64: 15, 128: 16, 256: 25, 512: 22, 1024: 16}, 2_000, 0.7, 60),
    "CPU": (367_737, 42_506, {0: 1}, 14, 0.75, 10),
}
# fmt: on
STATES: dict[str, dict[str, float]] = {
    "seren": {
        "COMPLETED": 64,
        "FAILED": 23,
        "CANCELLED": 7.4,
        "PREEMPTED": 5.3,
        "TIMEOUT": 0.3,
        "NODE_FAIL": 0.1,
    },
    "kalos": {"COMPLETED": 47_308, "FAILED": 13_836, "CANCELLED": 1_263, "RUNNING": 3},
}
OUTCOMES = {"complete": ["COMPLETED"], "cancel": ["CANCELLED"]}


def expected_bytes(scale: float) -> int:
    """Estimate the bytes of raw text in a sample."""
    return 128 * row_count(JOB_TRACE, scale) + acme_telemetry.expected_bytes(scale)


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write both job traces, the summary and the telemetry."""
    write_jobs(out, scale, rng)
    acme_telemetry.write(out, scale, rng)


def write_jobs(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write both job traces and the summary."""
    summary = []
    for place, cluster in enumerate(STATES):
        jobs = _jobs(cluster, {kind: each[place] for kind, each in KINDS.items() if each[place]}, scale, rng)
        summary.append(_summary(cluster.capitalize(), jobs))
        offset_h = 0 if cluster == "kalos" else 8
        times = {
            name: draw.local_times(jobs[name].to_numpy() + offset_h * draw.HOUR_S) + f"+{offset_h:02}:00"
            for name in ("submit_time", "start_time", "end_time")
        }
        rows = jobs.with_columns(**times)
        if cluster == "seren":
            rows = rows.with_columns(job_id=(5_000_000 + pl.int_range(pl.len())).cast(pl.String))
        else:
            ids = "dlc" + draw.hex_ids(pl.Series(np.arange(jobs.height)), 1, "job", 14)
            gpus, state = pl.col("gpu_num"), pl.col("state")
            rows = rows.with_columns(
                job_id=ids,
                mem_per_pod_GB=pl.when(gpus >= 8).then(1000).otherwise(8 + 120 * gpus),
                shared_mem_per_pod=pl.when(gpus > 0).then(100),
                fail_time=pl.when(state == "FAILED").then("end_time"),
                stop_time=pl.when(state == "CANCELLED").then("end_time"),
            )
        out.add(JOB_TRACE, rows, "data/job_trace", cluster=cluster)
    out.add(CLUSTER_SUMMARY, pl.DataFrame(summary), "data")


def _jobs(cluster: str, kinds: dict[str, int], scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the jobs of a cluster; times in Unix seconds, NaN if the field is empty."""
    count = draw.scaled(sum(kinds.values()), scale, 260)
    rows = sampled(JOB_TRACE, count, rng)
    kind = draw.shares(rng, kinds, count)
    gpus, run, wait = np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
    moments_s = 1 if cluster == "seren" else 16
    for name in kinds:
        mine = np.flatnonzero(kind == name)
        _, _, requests, median_s, at_once, wait_s = KINDS[name]
        gpus[mine] = draw.shares(rng, requests, len(mine))
        run[mine] = draw.lognormal(rng, len(mine), median_s, 2.2 if name == "Pretrain" else 1.7)
        late = rng.random(len(mine)) >= at_once
        longer = moments_s + 1 + draw.lognormal(rng, len(mine), wait_s, 1.4)
        wait[mine] = np.where(late, longer, rng.integers(0, moments_s + 1, len(mine)))
    run, wait = np.floor(run.clip(0, 1_209_604)), np.floor(wait)

    # Long jobs are cancelled more often, and the last ones of Kalos still run at the end of the trace.
    state = draw.shares(rng, STATES[cluster], count)
    others = rng.permutation(state[~np.isin(state, ("CANCELLED", "RUNNING"))])
    running = np.arange(count) >= count - int((state == "RUNNING").sum())
    likely = np.where(running, 0, (gpus * run + 1.0) ** 0.24)
    cancelled = draw.pick(rng, likely, int((state == "CANCELLED").sum()))
    state[cancelled], state[running], state[~cancelled & ~running] = "CANCELLED", "RUNNING", others
    unstarted = draw.pick(rng, cancelled, max(1, round(0.03 * cancelled.sum())))

    submit = rows["submit_time"].to_numpy()
    end = np.where(unstarted, submit + wait, np.where(running, LAST_S, submit + wait + run))
    start = np.where(unstarted, np.nan, np.minimum(submit + wait, end))
    if cluster == "seren":
        queue, duration = np.where(unstarted, end, start) - submit, np.where(unstarted, 0, end - start)
    else:
        queue, duration = start - submit, end - submit
    return rows.with_columns(
        node_num=pl.Series(np.maximum(-(-gpus // 8), 1)),
        gpu_num=pl.Series(gpus),
        cpu_num=pl.Series(np.where(gpus > 0, gpus * 16, 1 + np.arange(count) % 8)),
        type=pl.Series(kind),
        state=pl.Series(state),
        start_time=pl.Series(start),
        end_time=pl.Series(np.where(running, np.nan, end)),
        queue=pl.Series(queue, nan_to_null=True),
        duration=pl.Series(duration),
        gpu_time=pl.Series(duration * gpus),
    )


def _summary(name: str, jobs: pl.DataFrame) -> dict[str, Any]:
    """Return the publisher's figures of a cluster. Jobs that neither completed nor were cancelled failed."""
    found: dict[str, Any] = {"id": name, "job_num": jobs.height}
    for part, rows in (
        ("gpu", jobs.filter(pl.col("gpu_num") > 0)),
        ("cpu", jobs.filter(pl.col("gpu_num") == 0)),
    ):
        found[f"{part}_job_num"] = rows.height
        for column, label in (("duration", "run_time"), ("queue", "que_time")):
            found[f"avg_{label}_{part}"] = _mean(rows[column])
            found[f"med_{label}_{part}"] = rows[column].median()
        known = {outcome: rows["state"].is_in(states) for outcome, states in OUTCOMES.items()}
        outcomes = known | {"fail": ~known["complete"] & ~known["cancel"]}
        for outcome, mask in outcomes.items():
            found[f"{outcome}_rate_{part}"] = _mean(mask)
            if part == "gpu":
                seconds = float(rows.filter(mask)["gpu_time"].sum())
                found[f"{outcome}_gpu_time"] = seconds
                found[f"{outcome}_rate_gpu_time"] = round(seconds / float(rows["gpu_time"].sum()), 3)
    gpus = jobs.filter(pl.col("gpu_num") > 0)
    return found | {
        "avg_gpu_num": _mean(gpus["gpu_num"]),
        "med_gpu_num": gpus["gpu_num"].median(),
        "max_gpu": gpus["gpu_num"].max(),
        "max_run_time_gpu": gpus["duration"].max(),
    }


def _mean(values: pl.Series) -> float:
    return round(float(np.mean(values.drop_nulls().to_numpy())), 3)

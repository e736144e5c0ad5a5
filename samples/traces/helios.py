"""Synthetic Helios: jobs of four clusters, and the GPUs of their virtual clusters (VC) on each day.

Known pitfalls: clusters share job ids and names; Uranus has one SUSPENDED job; GPUs move between VCs, some of
which have none for months; the last column of their table is the total.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.helios import GPU_COUNT, JOB
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import sampled
from tracehouse.samples.output import Output

JOBS = {"Earth": 872_886, "Saturn": 1_753_078, "Uranus": 490_309, "Venus": 246_708}
GPUS = {"Earth": 997, "Saturn": 2_080, "Uranus": 2_119, "Venus": 1_022}
FIRST_S, DAYS, VCS, GPUS_OF_NODE = 1_585_699_200, 181, 22, 8
VC_NAME = "vc{:03d}"


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write both CSVs of each cluster."""
    for cluster in JOBS:
        rows = sampled(JOB, draw.scaled(JOBS[cluster], scale, 80), rng).with_row_index("job_id", 1_000_000)
        rows = rows.with_columns(vc=rows["vc"].map_elements(VC_NAME.format, pl.String))
        if cluster == "Uranus":
            middle = pl.col("job_id") == 1_000_000 + rows.height // 2
            rows = rows.with_columns(state=pl.when(middle).then(pl.lit("SUSPENDED")).otherwise("state"))
        gpus = pl.col("gpu_num")
        # CPU jobs are short.
        rows = rows.with_columns(
            duration=pl.when(gpus == 0).then(pl.col("duration") // 50).otherwise("duration"),
            cpu_num=pl.when(gpus == 0).then(1 + pl.col("job_id") % 8).otherwise(4 * gpus),
            node_num=(-(-gpus // GPUS_OF_NODE)).clip(1),
            start_time=pl.col("submit_time") + pl.col("queue"),
        ).with_columns(end_time=pl.col("start_time") + pl.col("duration"))
        out.add(JOB, rows, "data", cluster=cluster)
        out.add(GPU_COUNT, _gpu_counts(GPUS[cluster], rng), "data", cluster=cluster)


def _gpu_counts(gpus: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the GPUs of each VC and day. Every 30 days some move to another VC, and the cluster grows."""
    held = np.bincount(draw.heavy_users(rng, gpus // GPUS_OF_NODE, VCS), minlength=VCS)
    held[-3:] = 0
    days = np.empty((DAYS, VCS), dtype=np.int64)
    for day in range(DAYS):
        if day % 30 == 29:
            giver, taker = int(np.argmax(held)), VCS - 1 - day // 60
            moved = held[giver] // 4
            held[giver] -= moved
            held[taker] += moved + day // 90
        days[day] = held * GPUS_OF_NODE
    dates = draw.local_times(FIRST_S + np.arange(DAYS) * draw.DAY_S).str.head(10)
    vcs = {VC_NAME.format(number): days[:, number] for number in range(VCS)}
    return pl.DataFrame({"date": dates, **vcs, "total": days.sum(axis=1)})

"""Synthetic ITP: job traces of ten clusters, and the same jobs with made-up models and deadlines.

Known pitfalls: files do not end in a newline; a deadline is submission + λ·duration, truncated to whole
seconds, with λ from 0.5 to 1.5; the jobs of `195job.csv` are also in cluster02, with the same submission,
duration and GPUs, and with other values in the other columns.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.itp import ELASTICFLOW_JOB, RAW_JOB
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import sampled
from tracehouse.samples.output import Output

JOBS = (1_595, 5_778, 3_011, 15_802, 3_629, 2_396, 12_699, 13_047, 11_134, 260)
TESTBED_CLUSTER, TESTBED_JOBS = "cluster02", 195
LICENSE_TEXT = b"    Synthetic data, made up by tracehouse.\r\n\r\n    No publisher's licence applies.\r\n"


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write both archives."""
    first_id = 0
    for number, jobs in enumerate(JOBS, 1):
        cluster = f"cluster{number:02}"
        rows = sampled(RAW_JOB, draw.scaled(jobs, scale, 25), rng)
        # Larger jobs run longer.
        duration = (pl.col("duration") * pl.col("num_gpu") ** 0.4).clip(600, 1_573_360).cast(pl.Int64)
        rows = rows.with_columns(pl.col("job_id") + first_id, duration)
        first_id += rows.height
        out.add(RAW_JOB, rows, "data", source_file=cluster)
        with_models = _with_models(rows, rng)
        out.add(ELASTICFLOW_JOB, with_models, "data", source_file=cluster)
        if cluster == TESTBED_CLUSTER:
            count = draw.scaled(TESTBED_JOBS, scale, 12)
            first = (rows.height - count) // 2
            again = _with_models(rows.slice(first, count), rng)
            same = again["deadline"] == with_models["deadline"].slice(first, count)
            again = again.with_columns(pl.col("deadline") + same.cast(pl.Int64))
            out.add(ELASTICFLOW_JOB, again, "data", source_file="195job")
    for archive in ("raw-traces", "elasticflow-traces"):
        out.write("LICENSE", LICENSE_TEXT, f"data/{archive}")


def _with_models(jobs: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return jobs with models, batch sizes, iterations and deadlines."""
    generated = sampled(ELASTICFLOW_JOB, jobs.height, rng).select("model_name", "batch_size")
    # Invented iterations per second: fewer with larger batches, sublinear in the number of GPUs.
    rate = 400 / pl.col("batch_size") ** 0.7 * pl.col("num_gpu") ** 0.78
    tightness = rng.uniform(0.5, 1.5, jobs.height)
    # One odd duration gets λ = 0.5, so that truncation gives a λ below 0.5.
    tightness[np.argmax(jobs["duration"].to_numpy() % 2)] = 0.5
    deadline = pl.col("submission_time") + pl.Series(tightness) * pl.col("duration")
    return jobs.hstack(generated).with_columns(
        num_iteration=(pl.col("duration") * rate).cast(pl.Int64), deadline=deadline.cast(pl.Int64)
    )

"""Synthetic DLRM: instances of services on CPU and GPU nodes.

Known pitfalls: limits equal requests, except for disk; times are empty if they are before or after the trace.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.dlrm import INSTANCE
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

BEFORE_THE_TRACE, AFTER_THE_TRACE, LAST_S = 0.305, 0.372, 2_677_541


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the CSV."""
    count = row_count(INSTANCE, scale, 40)
    rows = sampled(INSTANCE, count, rng)
    created = rows["creation_time"].to_numpy()
    scheduled = np.minimum(created + np.floor(draw.lognormal(rng, count, 5, 2)), LAST_S)
    deleted = scheduled + np.floor(draw.lognormal(rng, count, 8_000, 2))
    is_early = rng.random(count) < BEFORE_THE_TRACE
    is_late = (rng.random(count) < AFTER_THE_TRACE) | (deleted > LAST_S)
    limits = {f"{name}_limit": pl.col(f"{name}_request") for name in ("cpu", "gpu", "rdma", "memory")}
    out.add(
        INSTANCE,
        rows.with_columns(
            role=pl.when(pl.col("gpu_request") > 0).then(pl.lit("HN")).otherwise(pl.lit("CN")),
            **limits,
            disk_limit=pl.col("disk_request") * 1.25,
            creation_time=pl.Series(np.where(is_early, np.nan, created)),
            scheduled_time=pl.Series(np.where(is_early, np.nan, scheduled)),
            deletion_time=pl.Series(np.where(is_late, np.nan, deleted)),
        ),
    )

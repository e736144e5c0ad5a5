"""Synthetic spot GPU trace: the nodes of six GPU models, and jobs of high priority (HP) and on spot GPUs.

Known pitfalls: gaps in the numbers of nodes; HP jobs that began before the trace, with a submission at 0;
jobs that still run at its end. The scale does not change the number of nodes.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.spot import JOB, NODE
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

LAST_S = 184 * draw.DAY_S - 1
BEFORE_SHARE, SKIPPED_NUMBERS = 0.02, 63
# GPU model, GPUs of a node, vCPUs of a node, and the number of nodes.
NODES = (
    ("A10", 1, 128, 2_494),
    ("A100-SXM4-80GB", 8, 128, 432),
    ("A800-SXM4-80GB", 8, 128, 22),
    ("GPU-series-1", 1, 192, 902),
    ("GPU-series-1", 4, 192, 10),
    ("GPU-series-1", 8, 192, 77),
    ("GPU-series-2", 8, 192, 122),
    ("H800", 8, 192, 219),
)


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write both CSVs."""
    shapes = pl.DataFrame(NODES, ("gpu_model", "gpu_capacity_num", "cpu_num", "nodes"), orient="row")
    nodes = shapes[draw.spread(rng, int(shapes["nodes"].sum()), shapes["nodes"].to_numpy())]
    numbers = np.sort(rng.permutation(nodes.height + SKIPPED_NUMBERS)[: nodes.height])
    out.add(NODE, nodes.with_columns(pl.Series("node_name", numbers)))

    rows = sampled(JOB, row_count(JOB, scale, 120), rng)
    early = np.arange(rows.height) < max(2, round(rows.height * BEFORE_SHARE))
    submit = np.where(early, 0, rows["submit_time"])
    lasted = np.ceil(rows["duration"].to_numpy()) * np.where(early, 100, 1)
    lasted[0] = LAST_S
    # A node has only one A10, so a worker has one too.
    gpus = np.where(rows["gpu_model"] == "A10", 1, rows["gpu_request"])
    job_type = pl.Series(np.where(early, "HP", rows["job_type"]))
    jobs = rows.with_row_index("job_name", 239_255).with_columns(
        organization=pl.Series(draw.heavy_users(rng, rows.height, 60)),
        gpu_request=pl.Series(gpus),
        cpu_request=pl.Series(gpus * 8),
        submit_time=pl.Series(submit),
        duration=pl.Series(np.minimum(lasted, LAST_S - submit)),
        job_type=job_type,
    )
    out.add(JOB, jobs)

"""What an answer of each of Acme's named queries costs over half a billion rows of telemetry.

    python -m tracehouse.bench.fleet [--rows 100] [--warehouse DIR] [QUERY]...

Synthetic: each of four metrics of Kalos, which questions are about unless told otherwise, has so many million
rows, those of Seren's InfiniBand a quarter of them each, and all other metrics of both clusters a fiftieth;
jobs and the servers' power are as many as the publisher's.
"""
from pathlib import Path

import numpy as np

from tracehouse.samples.traces import acme, acme_ipmi
from tracehouse.samples.traces.acme_telemetry import CLUSTERS, GPU_NAMES, GPUS_PER_NODE, NODE_NAMES, write_metric

LARGE = {
    **{("kalos", metric): 1.0 for metric in ("GPU_UTIL", "FB_USED", "POWER_USAGE", "XID_ERRORS")},
    **{("seren", metric): 0.25 for metric in ("NODE_IB_SEND", "NODE_IB_RECEIVE")},
}
OTHERS = 0.02
SEED = 1

def written(raw: Path, million_rows: float) -> Path:
    rng = np.random.default_rng(SEED)
    acme.write_jobs(raw, 1, rng, lambda _: None)
    utilization = raw / "data" / "utilization"
    acme_ipmi.write_server_power(utilization / "ipmi", 1, SEED, lambda _: None)
    for cluster in CLUSTERS.values():
        for metric in (*GPU_NAMES, *NODE_NAMES):
            devices = cluster.nodes * (1 if metric in NODE_NAMES else GPUS_PER_NODE)
            rows = 1_000_000 * million_rows * LARGE.get((cluster.name, metric), OTHERS)
            path = utilization / cluster.name / f"{metric}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_metric(path, cluster.name, metric, -(-round(rows) // devices), devices, np.random.default_rng(SEED), lambda _: None)
    return raw

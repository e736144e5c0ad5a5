"""Measure each of Acme's named queries on half a billion rows of synthetic telemetry.

    python -m tracehouse.bench.fleet [QUERY]... [--million 100] [--warehouse DIR]

Four of Kalos' metrics have as many million rows as `--million` says, Seren's two InfiniBand metrics a quarter
of them, and all other metrics of both clusters a fiftieth. Jobs and server power have the publisher's number
of rows.

`ours` is the function that `traces query` calls, in a running process, with materialized views, two threads
and default parameters. `computed` is the same function without materialized views. Their results are compared
first; a query with a difference is reported and not timed. `goal` is the time that a query may take.
"""

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import argument_parser, temporary_folder
from tracehouse.bench.queries import (
    Process,
    build_warehouses,
    check_same,
    cost_facts,
    measure_all,
    queries_of,
    speed_fact,
)
from tracehouse.samples.traces import acme, acme_ipmi
from tracehouse.samples.traces.acme_telemetry import (
    CLUSTERS,
    GPU_NAMES,
    GPUS_PER_NODE,
    NODE_NAMES,
    write_metric,
)

PACKAGES = ("duckdb", "pyarrow")
THREADS = 2
ROUNDS = 5
# Many queries are slow without materialized views, and are timed once.
SLOW_S, SLOW_ROUNDS = 2.0, 1
GOAL_S = 0.3
GOALS = [Goal("ours", "goal", at_most=1)]
PEAK_MB_AT_MOST = 1500
SEED = 1

# The rows of a metric, relative to the rows of the largest metrics.
SHARES = {
    **{("kalos", metric): 1.0 for metric in ("GPU_UTIL", "FB_USED", "POWER_USAGE", "XID_ERRORS")},
    **{("seren", metric): 0.25 for metric in ("NODE_IB_SEND", "NODE_IB_RECEIVE")},
}
SHARE_OF_OTHERS = 0.02


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--million", type=float, default=100)
    parser.add_argument("--warehouse", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    with temporary_folder() as folder:
        made = build_warehouses(
            folder, "acme", options.warehouse, lambda raw: write_raw(raw, options.million)
        )
        rows, differing = measure_all(
            options.queries or queries_of("acme", made.stored),
            lambda query: measure(made.stored, made.computed, query),
        )
        facts = [
            environment(*PACKAGES),
            _row_counts(made.stored),
            f"{THREADS} threads; medians of {ROUNDS} runs in one process, one run above {SLOW_S:g} s; "
            "warm page cache, results compared first",
            speed_fact(rows, "ours", "ours", 1000 * GOAL_S, 1000 * GOAL_S),
            speed_fact(rows, "computed", "computed", 0, 0),
            *cost_facts(made, rows, PEAK_MB_AT_MOST),
        ]
    print(write("fleet", "Cost of each of Acme's named queries", rows, GOALS, facts))
    if differing:
        raise SystemExit("\n".join(differing))


def write_raw(raw: Path, million_rows: float, scale: float = 1) -> Path:
    """Write raw files, and return their folder.

    The largest metrics have `million_rows` million rows each. `scale` is that of jobs and server power.
    """
    acme.write_jobs(raw, scale, np.random.default_rng(SEED), lambda _: None)
    telemetry = raw / "data" / "utilization"
    acme_ipmi.write_server_power(telemetry / "ipmi", scale, SEED, lambda _: None)
    for (cluster, metric), rows in telemetry_rows(million_rows).items():
        devices = _devices(cluster, metric)
        path = telemetry / cluster / f"{metric}.csv"
        rng = np.random.default_rng(SEED)
        write_metric(path, cluster, metric, rows // devices, devices, rng, lambda _: None)
    return raw


def telemetry_rows(million_rows: float) -> dict[tuple[str, str], int]:
    """Return the rows of each metric by cluster and metric; a multiple of its number of devices."""
    found = {}
    for cluster in CLUSTERS:
        for metric in (*GPU_NAMES, *NODE_NAMES):
            devices = _devices(cluster, metric)
            rows = 1_000_000 * million_rows * SHARES.get((cluster, metric), SHARE_OF_OTHERS)
            found[cluster, metric] = devices * -(-round(rows) // devices)
    return found


def _devices(cluster: str, metric: str) -> int:
    return CLUSTERS[cluster].nodes * (1 if metric in NODE_NAMES else GPUS_PER_NODE)


def measure(stored: Path, computed: Path, query: str) -> Row:
    """Time a query with and without materialized views. Raises DiffersError if the two results differ."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(Process("ours", warehouse, query, THREADS, name))
            for name, warehouse in (("ours", stored), ("computed", computed))
        ]
        results = {process.name: process.request("rows") for process in processes}
        check_same(results)
        seconds: dict[str, list[float]] = {process.name: [] for process in processes}
        for number in range(ROUNDS):
            for process in processes:
                if number < SLOW_ROUNDS or max(seconds[process.name]) < SLOW_S:
                    seconds[process.name].append(process.request("time"))
    _, rows = results["ours"]
    return Row(query, seconds | {"goal": [GOAL_S]}, note=f"{len(rows):,} rows")


def _row_counts(warehouse: Path) -> str:
    from tracehouse.engines.duckdb.read import sandbox

    with sandbox.connect(warehouse) as connection:
        counts = connection.execute(
            "select table_name, cast(sum(rows_stored) as bigint) from catalog.sources "
            "group by table_name order by table_name"
        ).fetchall()
    return ", ".join(f"{rows:,} rows of {table}" for table, rows in counts)


if __name__ == "__main__":
    main()

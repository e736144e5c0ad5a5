"""Time every named query on all traces together, each at the size of the publisher's.

    python -m tracehouse.bench.queries [QUERY]... [--scale 1] [--warehouse DIR] [--rounds 5]

The data is synthetic. Acme has all jobs, but a thousandth of the telemetry. ASI has seven days at a tenth of
the size. Each query runs in a process of its own, with the function that `traces query`
calls, materialized views, two threads, default parameters and a warm page cache. The first run is not timed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.bench.measure import (
    AtMost,
    Line,
    argument_parser,
    cost_of,
    peak_mb,
    report,
    sample,
    temporary_folder,
    traces,
    write,
)
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.samples.output import Output
from tracehouse.samples.traces import acme

THREADS = 2
GOAL_S = 1.0
ASI_SCALE, ASI_DAYS = 0.1, 7
TELEMETRY_SCALE = 0.03


@dataclass(frozen=True)
class Run:
    """The median time of a query in s, and the peak memory of its process in MB."""

    median_s: float
    peak_mb: float


def main() -> None:
    """Measure, print the table, and write it to queries.txt."""
    parser = argument_parser(__doc__)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(_run_here(options.warehouse, options.queries[0], options.rounds)))
        return
    with temporary_folder() as folder:
        facts = [f"{THREADS} threads; medians of {options.rounds} runs; warm page cache"]
        warehouse = options.warehouse
        if warehouse is None:
            warehouse = folder / "warehouse"
            raw = write_raw(folder / "raw", options.scale)
            cost = cost_of(traces("ingest", "--raw", raw, "--warehouse", warehouse))
            facts.append(
                f"ingest of all traces at scale {options.scale:g}: {cost.wall_s:.0f} s, "
                f"{cost.cpu_s:.0f} processor s, peak {cost.peak_mb:,.0f} MB"
            )
        found = measure(warehouse, options.queries or names_of(warehouse), options.rounds)
    lines = [
        Line(query, 1000 * run.median_s, "ms", AtMost(1000 * GOAL_S), f"{run.peak_mb:,.0f} MB")
        for query, run in found.items()
    ]
    sections = {"all queries": summary(found, "queries", 1000 * GOAL_S), "each query": lines}
    print(write("queries", "Cost of each named query on all traces", facts, sections))


def write_raw(raw: Path, scale: float) -> Path:
    """Write the raw files of all traces, and return their folder."""
    for trace in all_traces():
        if trace not in ("acme", "asi"):
            sample(trace, raw, scale)
    sample("asi", raw, ASI_SCALE * scale, "--days", ASI_DAYS)
    # The scale applies to the lines and to the devices of the telemetry.
    sample("acme", raw, TELEMETRY_SCALE * scale)
    jobs = Output(raw / "acme", 1, lambda _: None)
    acme.write_jobs(jobs, scale, np.random.default_rng(1))
    jobs.close()
    return raw


def names_of(warehouse: Path, schemas: Sequence[str] | None = None) -> list[str]:
    """Return the names of the queries of a warehouse, or of some of its schemas, sorted."""
    from tracehouse.engines.duckdb.read import sandbox

    with sandbox.connect(warehouse) as connection:
        found = connection.execute("select query_name from catalog.queries order by query_name").fetchall()
    return [name for (name,) in found if schemas is None or name.partition(".")[0] in schemas]


def measure(warehouse: Path, queries: Sequence[str], rounds: int) -> dict[str, Run]:
    """Run each query in a process of its own with two threads, and return its cost."""
    # DuckDB reads the number of threads from this variable of Slurm. The connection locks its settings.
    environ = {**os.environ, "SLURM_CPUS_ON_NODE": str(THREADS)}
    found = {}
    for query in queries:
        options = ["--serve", "--warehouse", str(warehouse), "--rounds", str(rounds)]
        command = [sys.executable, "-m", "tracehouse.bench.queries", query, *options]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environ)
        found[query] = Run(*json.loads(done.stdout))
        report(f"{query}: {1000 * found[query].median_s:.0f} ms")
    return found


def summary(found: Mapping[str, Run], label: str, median_ms: float, slowest_s: float = GOAL_S) -> list[Line]:
    """Return the median and the slowest of the times of some queries, compared with the goals."""
    slowest = max(found, key=lambda query: found[query].median_s)
    middle_ms = 1000 * statistics.median(run.median_s for run in found.values())
    return [
        Line(f"{len(found)} {label}, median", middle_ms, "ms", AtMost(median_ms)),
        Line(f"{len(found)} {label}, slowest", found[slowest].median_s, "s", AtMost(slowest_s), slowest),
    ]


def _run_here(warehouse: Path, query: str, rounds: int) -> tuple[float, float]:
    """Run a query in this process; return the median time (s) without the first run, and peak memory (MB)."""
    from tracehouse.engines.duckdb.read import answer, binding, sandbox

    seconds = []
    with sandbox.connect(warehouse) as connection:
        for _ in range(rounds + 1):
            start_s = time.perf_counter()
            answer.read(connection, binding.bind_query(connection, query, {})).read_all()
            seconds.append(time.perf_counter() - start_s)
    return statistics.median(seconds[1:]), peak_mb()


if __name__ == "__main__":
    main()

"""Time every named query on all traces together, each at the size of the publisher's.

    python -m tracehouse.bench.all_queries [QUERY]... [--scale 1] [--warehouse DIR]

The data is synthetic. Acme has all jobs, but a thousandth of the telemetry (`fleet` has more). ASI has seven
days at a tenth of the size (`asi` and `asi_growth` have more). `ours` is the function that `traces query`
calls, in a running process, with materialized views, two threads, default parameters and a warm page cache.
`goal` is the time that a query may take.
"""

import os
from pathlib import Path

from tracehouse.bench import fleet
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import argument_parser, cost_of, sample, temporary_folder, traces
from tracehouse.bench.queries import measure_all, queries_of, speed_fact, time_query
from tracehouse.ingest.declarations import all_traces

PACKAGES = ("duckdb", "pyarrow")
THREADS = 2
ROUNDS = 5
GOAL_S = 1.0
GOALS = [Goal("ours", "goal", at_most=1)]
# The largest metrics of telemetry have this many million rows.
TELEMETRY_MILLIONS = 6.0
ASI_SCALE, ASI_DAYS = 0.1, 7


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--warehouse", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    with temporary_folder() as folder:
        facts = [environment(*PACKAGES), f"{THREADS} threads; medians of {ROUNDS} runs; warm page cache"]
        warehouse = options.warehouse
        if warehouse is None:
            warehouse = folder / "warehouse"
            raw = write_raw(folder / "raw", options.scale)
            cost = cost_of(traces("ingest", "--raw", raw, "--warehouse", warehouse))
            facts.append(
                f"ingest of all traces at scale {options.scale:g}: {cost.wall_s:.0f} s, "
                f"{cost.cpu_s:.0f} processor s, peak {cost.peak_mb:,.0f} MB"
            )
        names = options.queries or [
            query for trace in (*all_traces(), "unified") for query in queries_of(trace, warehouse)
        ]
        rows, _ = measure_all(names, lambda query: measure(warehouse, query))
        facts += [job_counts(warehouse), speed_fact(rows, "ours", "ours", 1000 * GOAL_S, 1000 * GOAL_S)]
    print(write("all_queries", "Cost of each named query on all traces", rows, GOALS, facts))


def write_raw(raw: Path, scale: float) -> Path:
    """Write the raw files of all traces, and return their folder."""
    for trace in all_traces():
        if trace not in ("acme", "asi"):
            sample(trace, raw, scale)
    sample("asi", raw, ASI_SCALE * scale, "--days", ASI_DAYS)
    fleet.write_raw(raw / "acme", TELEMETRY_MILLIONS * scale, scale)
    return raw


def job_counts(warehouse: Path) -> str:
    """Return a line with the number of jobs of each trace."""
    from tracehouse.engines.duckdb.read import sandbox

    with sandbox.connect(warehouse) as connection:
        sql = "select trace, count(*) from unified.jobs group by trace order by trace"
        counts = connection.execute(sql).fetchall()
    return "jobs: " + ", ".join(f"{jobs:,} of {trace}" for trace, jobs in counts)


def measure(warehouse: Path, query: str) -> Row:
    """Time a query."""
    seconds, peak_mb = time_query(warehouse, query, THREADS, ROUNDS)
    return Row(query, {"ours": seconds, "goal": [GOAL_S]}, {"ours": peak_mb})


if __name__ == "__main__":
    main()

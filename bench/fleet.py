"""What an answer of each of Acme's named queries costs over half a billion rows of telemetry.

    python -m tracehouse.bench.fleet [QUERY]... [--million 100] [--warehouse DIR]

Synthetic: the four metrics of Kalos that questions are about unless told otherwise have so many million rows
each, Seren's InfiniBand a quarter of them in either direction, and all other metrics of both clusters a
fiftieth; jobs and the servers' power are as many as the publisher's.

`ours` is the function that `traces query` calls, in a process that has started, and `computed` the same over
a database without stored views, both with two threads and every parameter at its default. Whoever gives other
rows than the other gets no figure. `goal` is what an answer may take.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import Cost, bytes_below, cost_of, traces, verdict
from tracehouse.bench.queries import DiffersError, Process, check_same, linked, paid, queries_of
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
# Once where an answer takes long, as many do that are computed.
SLOW_S, SLOW_ROUNDS = 2.0, 1
GOAL_S = 0.3
GOALS = [Goal("ours", "goal", at_most=1)]
PEAK_MB_AT_MOST = 1500
SEED = 1

# Of the rows of the largest.
SHARES = {
    **dict.fromkeys(
        (("kalos", metric) for metric in ("GPU_UTIL", "FB_USED", "POWER_USAGE", "XID_ERRORS")), 1.0
    ),
    **dict.fromkeys((("seren", metric) for metric in ("NODE_IB_SEND", "NODE_IB_RECEIVE")), 0.25),
}
SHARE_OF_OTHERS = 0.02


@dataclass(frozen=True)
class Made:
    """A warehouse with stored views and one without; what its ingest and both databases took."""

    stored: Path
    computed: Path
    ingest: Cost | None
    build: Cost
    storing: Cost


def main() -> None:
    """Measure, print the table, and write it and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--million", type=float, default=100)
    parser.add_argument("--warehouse", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    with tempfile.TemporaryDirectory() as name:
        made = _made(Path(name), options.million, options.warehouse)
        rows, refused = [], []
        for query in options.queries or queries_of("acme", made.stored):
            try:
                rows.append(measured(made.stored, made.computed, query))
            except DiffersError as error:
                refused.append(f"{query}: refused, as {error}")
                continue
            print(query, [f"{row_s:.3f}" for row_s in rows[-1].seconds["ours"]], file=sys.stderr, flush=True)
        facts = [environment(*PACKAGES), *_facts(made, rows)]
    print(write("fleet", "What an answer of each of Acme's named queries costs", rows, GOALS, facts))
    if refused:
        raise SystemExit("\n".join(refused))


def written(raw: Path, million_rows: float) -> Path:
    """Write the raw files, whose largest metrics have so many million rows each."""
    acme.write_jobs(raw, 1, np.random.default_rng(SEED), lambda _: None)
    telemetry = raw / "data" / "utilization"
    acme_ipmi.write_server_power(telemetry / "ipmi", 1, SEED, lambda _: None)
    for (cluster, metric), rows in telemetry_rows(million_rows).items():
        devices = _devices(cluster, metric)
        path = telemetry / cluster / f"{metric}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(SEED)
        write_metric(path, cluster, metric, rows // devices, devices, rng, lambda _: None)
    return raw


def telemetry_rows(million_rows: float) -> dict[tuple[str, str], int]:
    """The rows of each metric of each cluster, a whole number of lines of all its devices."""
    found = {}
    for cluster in CLUSTERS:
        for metric in (*GPU_NAMES, *NODE_NAMES):
            devices = _devices(cluster, metric)
            rows = 1_000_000 * million_rows * SHARES.get((cluster, metric), SHARE_OF_OTHERS)
            found[cluster, metric] = devices * -(-round(rows) // devices)
    return found


def _devices(cluster: str, metric: str) -> int:
    return CLUSTERS[cluster].nodes * (1 if metric in NODE_NAMES else GPUS_PER_NODE)


def measured(stored: Path, computed: Path, query: str) -> Row:
    """Compare the answers to a query with stored views and without, and time them. Raises DiffersError."""
    with ExitStack() as stack:
        contenders = [
            stack.enter_context(Process("ours", warehouse, query, THREADS, name))
            for name, warehouse in (("ours", stored), ("computed", computed))
        ]
        answers = {contender.name: contender.ask("rows") for contender in contenders}
        check_same(answers)
        seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
        for number in range(ROUNDS):
            for contender in contenders:
                if number < SLOW_ROUNDS or max(seconds[contender.name]) < SLOW_S:
                    seconds[contender.name].append(contender.ask("time"))
    _, rows = answers["ours"]
    return Row(query, seconds | {"goal": [GOAL_S]}, note=f"{len(rows):,} rows")


def _made(folder: Path, million_rows: float, warehouse: Path | None) -> Made:
    computed, stored, ingest = folder / "computed", folder / "stored", None
    if warehouse:
        linked(warehouse, computed)
    else:
        with tempfile.TemporaryDirectory(dir=folder) as raw:
            written(Path(raw), million_rows)
            command = traces("ingest", "acme", "--raw", raw, "--warehouse", computed, "--no-stored")
            ingest = cost_of(command)
    linked(computed, stored)
    build = cost_of(traces("build", "--warehouse", computed, "--no-stored"))
    return Made(stored, computed, ingest, build, cost_of(traces("build", "--warehouse", stored)))


def _facts(made: Made, rows: Sequence[Row]) -> list[str]:
    """What was asked, how quick the answers are, and what storing takes."""
    facts = [
        _asked(made.stored),
        f"{THREADS} threads; medians of {ROUNDS} in one process, once what took {SLOW_S:g} s; "
        "page cache warm, answers compared first",
    ]
    for name in ("ours", "computed"):
        found_s = {row.name: median(row.seconds[name]) for row in rows}
        slowest = max(found_s, key=lambda query: found_s[query])
        facts.append(
            f"{name}: {1000 * median(found_s.values()):.0f} ms in the median, "
            f"{1000 * found_s[slowest]:,.0f} ms at most ({slowest})"
            + f"; at most {1000 * GOAL_S:.0f}: {verdict(found_s[slowest] <= GOAL_S)}"
            * (name == "ours")
        )
    return [*facts, *_costs(made, rows)]


def _asked(warehouse: Path) -> str:
    """How many rows there are of each table."""
    from tracehouse.engines.duckdb.read import answer

    with answer.connect(warehouse) as connection:
        counts = connection.execute(
            "select table_name, cast(sum(rows_stored) as bigint) from catalog.sources "
            "group by table_name order by table_name"
        ).fetchall()
    return ", ".join(f"{rows:,} rows of {table}" for table, rows in counts)


def _costs(made: Made, rows: Sequence[Row]) -> list[str]:
    """What storing takes beside the ingest, and after how many questions it has paid."""
    storing_s = made.storing.wall_s - made.build.wall_s
    storing_cpu_s = made.storing.cpu_s - made.build.cpu_s
    kept, base = bytes_below(made.stored / "stored", ".parquet"), bytes_below(made.computed, ".parquet")
    peaks = {"the database with stored views": made.storing.peak_mb}
    facts = []
    if made.ingest:
        facts.append(
            f"ingest without them: {made.ingest.wall_s:.1f} s, {made.ingest.cpu_s:.1f} of a processor"
        )
        peaks["ingest"] = made.ingest.peak_mb
    saved_s = mean(median(row.seconds["computed"]) - median(row.seconds["ours"]) for row in rows)
    return [
        *facts,
        f"storing views: {storing_s:.1f} s, {storing_cpu_s:.1f} of a processor, and {kept / 1e6:,.1f} MB "
        f"beside {base / 1e6:,.0f} of tables",
        paid(storing_s, saved_s),
        "peak memory: "
        + ", ".join(f"{what} {mb:,.0f} MB" for what, mb in peaks.items())
        + f"; at most {PEAK_MB_AT_MOST:,}: {verdict(max(peaks.values()) <= PEAK_MB_AT_MOST)}",
    ]


if __name__ == "__main__":
    main()

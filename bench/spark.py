"""Compare queries and an ingest on DuckDB with Spark clusters of one and two workers.

    python -m tracehouse.bench.spark [--rounds 5]

A worker has one core; DuckDB uses one or two threads. Queries run in interleaved rounds, in sessions that
stay open, after a warm-up round in which Spark starts its executors. All results are compared.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tracehouse.bench.cluster import engine_options, one_and_two_workers
from tracehouse.bench.implementations import Rows
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    argument_parser,
    cost_of,
    costs_in_turns,
    sample,
    temporary_folder,
    traces,
    wall_seconds,
)
from tracehouse.bench.queries import check_same
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.names import NAME
from tracehouse.samples.traces.acme_telemetry import write_metric

PACKAGES = ("duckdb", "pyspark", "pyarrow")
PAI_SCALES = (0.1, 0.5)
INGEST_SCALE = 0.5
# Sizes of a CSV of one metric of 2,300 GPUs, with about 6,000 bytes a line.
TELEMETRY_MB = (100,)
DEVICES, LINE_BYTES = 2300, 6000
PAI_QUERIES = ("pai.wait_by_gpu_type", "pai.plan_against_usage")
TELEMETRY_QUERIES = ("acme.utilization_by_day", "acme.metric_percentiles")
# These bounds are no goals. A ratio that reaches its bound means that a second worker or thread pays off, or
# that Spark is faster.
GOALS = [
    Goal("spark 1 worker", "spark 2 workers", at_least=1.5),
    Goal("duckdb 1 thread", "duckdb 2 threads", at_least=1.5),
    Goal("spark 2 workers", "duckdb 2 threads", at_most=1),
]

Run = Callable[[str], tuple[float, Rows]]
"""Runs a named query with its default parameters, and returns its seconds and its rows."""


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", nargs=2, metavar=("URL", "WAREHOUSE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(*options.serve)
        return
    with temporary_folder() as folder, one_and_two_workers(folder) as masters:
        rows = _measure(folder, masters, options.rounds)
    facts = [f"{options.rounds} interleaved rounds", environment(*PACKAGES)]
    print(write("spark", "Cost of Spark compared with DuckDB", rows, GOALS, facts))


def _measure(folder: Path, masters: dict[str, str], rounds: int) -> list[Row]:
    rows = []
    for scale in PAI_SCALES:
        raw, warehouse = folder / f"pai-{scale}", folder / f"warehouse-{scale}"
        sample("pai", raw, scale)
        if scale == INGEST_SCALE:
            rows.append(_measure_ingest(folder, raw, masters, rounds))
        rows += _measure_queries(raw, warehouse, "pai", PAI_QUERIES, f"PAI x {scale}", masters, rounds)
    for megabytes in TELEMETRY_MB:
        raw, warehouse = folder / f"raw-{megabytes}", folder / f"warehouse-{megabytes}"
        path = raw / "utilization" / "kalos" / "GPU_UTIL.csv"
        lines = megabytes * 1_000_000 // LINE_BYTES
        write_metric(path, "kalos", "GPU_UTIL", lines, DEVICES, np.random.default_rng(1), lambda _: None)
        label = f"{lines * DEVICES / 1e6:.0f} million samples"
        rows += _measure_queries(raw, warehouse, "acme", TELEMETRY_QUERIES, label, masters, rounds)
    return rows


def _measure_ingest(folder: Path, raw: Path, masters: dict[str, str], rounds: int) -> Row:
    commands, outputs = {}, {}
    for name, options in {"duckdb 2 threads": (), **engine_options(masters)}.items():
        warehouse = folder / f"ingested by {name}"
        outputs[name] = [warehouse]
        commands[name] = traces("ingest", "pai", "--raw", raw, "--warehouse", warehouse, *options)
    costs = costs_in_turns(commands, rounds, "ingest", outputs)
    return Row(f"ingest, PAI x {INGEST_SCALE}", wall_seconds(costs))


def _measure_queries(
    raw: Path,
    warehouse: Path,
    trace: str,
    names: Sequence[str],
    label: str,
    masters: dict[str, str],
    rounds: int,
) -> list[Row]:
    cost_of(traces("ingest", trace, "--raw", raw, "--warehouse", warehouse))
    with ExitStack() as stack:
        runs = {
            f"duckdb {n} thread{'s' * (n - 1)}": stack.enter_context(_duckdb(warehouse, n)) for n in (1, 2)
        }
        runs |= {name: stack.enter_context(_spark(warehouse, url)) for name, url in masters.items()}
        return [Row(f"{name}, {label}", _seconds(name, runs, rounds)) for name in names]


def _seconds(name: str, runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    check_same({engine: run(name)[1] for engine, run in runs.items()})
    found: dict[str, list[float]] = {engine: [] for engine in runs}
    for number in range(rounds):
        for engine, run in runs.items():
            found[engine].append(run(name)[0])
            print(f"{name}, round {number}: {engine} {found[engine][-1]:.2f} s", file=sys.stderr, flush=True)
    return found


@contextmanager
def _duckdb(warehouse: Path, threads: int) -> Iterator[Run]:
    # The file is attached, because all connections that open the same file share their settings.
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.execute(f"attach {quoted(str(warehouse / NAME))} as warehouse (read_only)")
        connection.execute("use warehouse")
        connection.execute("set timezone = 'UTC'")

        def run(name: str) -> tuple[float, Rows]:
            start_s = time.perf_counter()
            table = connection.sql(f"from {name}()").to_arrow_table()
            return time.perf_counter() - start_s, _to_json_rows(table)

        yield run


@contextmanager
def _spark(warehouse: Path, url: str) -> Iterator[Run]:
    """Yield a function that runs queries in another process: a process can have only one Spark session."""
    command = [sys.executable, "-m", "tracehouse.bench.spark", "--serve", url, str(warehouse)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdin is not None and serving.stdout is not None
        names, results = serving.stdin, serving.stdout

        def run(name: str) -> tuple[float, Rows]:
            print(name, file=names, flush=True)
            seconds, rows = json.loads(results.readline())
            return seconds, rows

        yield run
        names.close()


def _serve(url: str, warehouse: str) -> None:
    from tracehouse.engines.spark import session
    from tracehouse.spark import register

    with (
        temporary_folder() as scratch,
        session.open_session(url, scratch, {"spark.sql.shuffle.partitions": "2"}) as spark,
    ):
        register(spark, warehouse, [*PAI_QUERIES, *TELEMETRY_QUERIES])
        for line in sys.stdin:
            start_s = time.perf_counter()
            table = spark.sql(f"select * from {line.strip()}()").toArrow()
            print(json.dumps([time.perf_counter() - start_s, _to_json_rows(table)]), flush=True)


def _to_json_rows(table: Any) -> Rows:
    """Return the columns and rows of an Arrow table with the types of JSON: times are strings."""
    rows = [list(row.values()) for row in table.to_pylist()]
    return table.column_names, json.loads(json.dumps(rows, default=str))


if __name__ == "__main__":
    main()

"""What Spark costs: questions and an ingest on clusters of one and two workers, beside DuckDB.

    python -m tracehouse.bench.spark [--rounds 5]

Each worker has one core, and DuckDB one thread or two. All are asked in turns, from sessions that stay open;
the first time does not count, as Spark then starts its executors and compiles. All answers are compared.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tracehouse.bench.cluster import running_cluster
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import costs_in_turns, traces
from tracehouse.engines.duckdb.names import NAME, quoted
from tracehouse.samples.traces.acme_telemetry import write_metric

PACKAGES = ("duckdb", "pyspark", "pyarrow")
PAI_SCALES = (0.1, 0.5)
INGEST_SCALE = 0.5
# Of one metric of 2,300 GPUs, 6,000 bytes a minute, 383 cells a kB.
TELEMETRY_MB = (100,)
DEVICES, LINE_BYTES = 2300, 6000
OF_PAI = ("pai.wait_by_gpu_type", "pai.plan_against_usage")
OF_TELEMETRY = ("acme.utilization_by_day", "acme.metric_percentiles")
# No goals in the strict sense: where a ratio reaches the bound, a second worker pays, or Spark overtakes.
GOALS = [
    Goal("spark 1 worker", "spark 2 workers", at_least=1.5),
    Goal("duckdb 1 thread", "duckdb 2 threads", at_least=1.5),
    Goal("spark 2 workers", "duckdb 2 threads", at_most=1),
]

Ask = Callable[[str], tuple[float, list[list[Any]]]]
"""Asks a named query with its defaults: the seconds that it took, and the rows."""


def main() -> None:
    """Measure, print the table, and write it and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", nargs=2, metavar=("URL", "WAREHOUSE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(*options.serve)
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        masters = {}
        for workers in (1, 2):
            logs = Path(folder) / f"cluster-{workers}"
            logs.mkdir()
            name = f"spark {workers} worker{'s' * (workers - 1)}"
            masters[name] = stack.enter_context(running_cluster(logs, workers)).url
        rows = _measured(Path(folder), masters, options.rounds)
    facts = [f"{options.rounds} rounds, in turns", environment(*PACKAGES)]
    print(write("spark", "What Spark costs beside DuckDB", rows, GOALS, facts))


def _measured(folder: Path, masters: dict[str, str], rounds: int) -> list[Row]:
    rows = []
    for scale in PAI_SCALES:
        raw, warehouse = folder / f"pai-{scale}", folder / f"warehouse-{scale}"
        subprocess.run(traces("sample", "pai", "--out", raw, "--scale", scale), check=True)
        if scale == INGEST_SCALE:
            rows.append(_ingested(folder, raw, masters, rounds))
        rows += _asked(raw, warehouse, "pai", OF_PAI, f"PAI x {scale}", masters, rounds)
    for megabytes in TELEMETRY_MB:
        raw, warehouse = folder / f"raw-{megabytes}", folder / f"warehouse-{megabytes}"
        path = raw / "utilization" / "kalos" / "GPU_UTIL.csv"
        path.parent.mkdir(parents=True)
        lines = megabytes * 1_000_000 // LINE_BYTES
        write_metric(path, "kalos", "GPU_UTIL", lines, DEVICES, np.random.default_rng(1), lambda _: None)
        label = f"{lines * DEVICES / 1e6:.0f} million samples"
        rows += _asked(raw, warehouse, "acme", OF_TELEMETRY, label, masters, rounds)
    return rows


def _ingested(folder: Path, raw: Path, masters: dict[str, str], rounds: int) -> Row:
    commands, empty = {}, []
    for name, options in {"duckdb 2 threads": (), **_options(masters)}.items():
        warehouse = folder / f"ingested by {name}"
        empty.append(warehouse)
        commands[name] = traces("ingest", "pai", "--raw", raw, "--warehouse", warehouse, *options)
    costs = costs_in_turns(commands, rounds, "ingest", empty)
    seconds = {name: [cost.wall_s for cost in found] for name, found in costs.items()}
    return Row(f"ingest, PAI x {INGEST_SCALE}", seconds)


def _options(masters: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: ("--engine", "spark", "--master", url) for name, url in masters.items()}


def _asked(
    raw: Path,
    warehouse: Path,
    trace: str,
    names: Sequence[str],
    label: str,
    masters: dict[str, str],
    rounds: int,
) -> list[Row]:
    subprocess.run(traces("ingest", trace, "--raw", raw, "--warehouse", warehouse), check=True)
    with ExitStack() as stack:
        asks = {
            **{
                f"duckdb {n} thread{'s' * (n - 1)}": stack.enter_context(_duckdb(warehouse, n))
                for n in (1, 2)
            },
            **{name: stack.enter_context(_spark(warehouse, url)) for name, url in masters.items()},
        }
        return [Row(f"{name}, {label}", _seconds(name, asks, rounds)) for name in names]


def _seconds(name: str, asks: dict[str, Ask], rounds: int) -> dict[str, list[float]]:
    answers = {engine: ask(name)[1] for engine, ask in asks.items()}
    first, *others = answers.values()
    for other in others:
        _compare(name, first, other)
    found: dict[str, list[float]] = {engine: [] for engine in asks}
    for number in range(rounds):
        for engine, ask in asks.items():
            found[engine].append(ask(name)[0])
            print(f"{name}, round {number}: {engine} {found[engine][-1]:.2f} s", file=sys.stderr, flush=True)
    return found


def _compare(name: str, one: list[list[Any]], other: list[list[Any]]) -> None:
    """Raise SystemExit where two answers differ by more than what is left of a sum."""
    pairs = [pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True)]
    for ours, theirs in pairs:
        is_close = isinstance(ours, float) and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
        if ours != theirs and not is_close:
            raise SystemExit(f"{name}: {ours!r} and {theirs!r}")


@contextmanager
def _duckdb(warehouse: Path, threads: int) -> Iterator[Ask]:
    # Attached, as all connections to an opened file share their settings.
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.execute(f"attach {quoted(str(warehouse / NAME))} as warehouse (read_only)")
        connection.execute("use warehouse")
        connection.execute("set timezone = 'UTC'")

        def ask(name: str) -> tuple[float, list[list[Any]]]:
            start_s = time.perf_counter()
            table = connection.sql(f"from {name}()").to_arrow_table()
            return time.perf_counter() - start_s, _plain(table)

        yield ask


@contextmanager
def _spark(warehouse: Path, url: str) -> Iterator[Ask]:
    """Another process, as one can have a single session, that answers names on its input."""
    command = [sys.executable, "-m", "tracehouse.bench.spark", "--serve", url, str(warehouse)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdin is not None and serving.stdout is not None
        questions, answers = serving.stdin, serving.stdout

        def ask(name: str) -> tuple[float, list[list[Any]]]:
            print(name, file=questions, flush=True)
            seconds, rows = json.loads(answers.readline())
            return seconds, rows

        yield ask
        questions.close()


def _serve(url: str, warehouse: str) -> None:
    from tracehouse.engines.spark import session
    from tracehouse.spark import register

    with (
        tempfile.TemporaryDirectory() as scratch,
        session.opened(url, Path(scratch), {"spark.sql.shuffle.partitions": "2"}) as spark,
    ):
        register(spark, warehouse, [*OF_PAI, *OF_TELEMETRY])
        for line in sys.stdin:
            start_s = time.perf_counter()
            table = spark.sql(f"select * from {line.strip()}()").toArrow()
            print(json.dumps([time.perf_counter() - start_s, _plain(table)]), flush=True)


def _plain(table: Any) -> list[list[Any]]:
    """Rows as JSON has them: times as texts."""
    return json.loads(json.dumps([list(row.values()) for row in table.to_pylist()], default=str))


if __name__ == "__main__":
    main()

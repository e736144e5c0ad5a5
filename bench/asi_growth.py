"""Measure how the cost of an ingest of ASI grows with its days, on DuckDB and on one and two Spark workers.

    python -m tracehouse.bench.asi_growth [SCALE] [--days 7 14 30] [--spark-days 7 14] [--rounds 3]

SCALE is 0.1 by default: 2.9 million rows a day. An ingest includes no materialized views. A worker of Spark
has one core; DuckDB uses all cores. The costs of the first two numbers of days give a fixed part and a part
per day, from which the costs of all 185 days at full size are computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tracehouse.bench.cluster import engine_options, one_and_two_workers
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    Cost,
    argument_parser,
    bytes_below,
    costs_in_turns,
    median_cost,
    sample,
    temporary_folder,
    traces,
    wall_seconds,
)

PACKAGES = ("duckdb", "pyspark", "pyarrow")
ALL_DAYS = 185
DUCKDB = "duckdb"
# These bounds are no goals. A ratio that reaches its bound means that a second worker pays off, or that Spark
# is faster.
GOALS = [
    Goal("spark 1 worker", "spark 2 workers", at_least=1.5),
    Goal("spark 2 workers", DUCKDB, at_most=1),
]


@dataclass(frozen=True)
class Growth:
    """The costs of each engine for a number of days, and the size of the raw files and of the result."""

    days: int
    rows: int
    raw_bytes: int
    parquet_bytes: int
    costs: Mapping[str, Sequence[Cost]]

    def wall_s(self, engine: str) -> float:
        """Return the median wall time of an engine."""
        return median_cost(self.costs[engine]).wall_s


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("scale", nargs="?", type=float, default=0.1)
    parser.add_argument("--days", type=int, nargs="+", default=[7, 14, 30])
    parser.add_argument("--spark-days", type=int, nargs="*", default=[7, 14])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with temporary_folder() as folder, one_and_two_workers(folder) as urls:
        found = []
        for days in options.days:
            engines = {DUCKDB: (), **engine_options(urls if days in options.spark_days else {})}
            found.append(_measure(folder / str(days), options.scale, days, engines, options.rounds))
    facts = [
        environment(*PACKAGES),
        f"scale {options.scale:g}; medians of {options.rounds} interleaved rounds; warm page cache",
        *map(_describe_size, found),
        *describe_growth(found, options.scale),
    ]
    rows = [Row(_count_days(one.days), wall_seconds(one.costs)) for one in found]
    print(write("asi_growth", "Growth of the cost of an ingest of ASI", rows, GOALS, facts))


def _measure(
    folder: Path, scale: float, days: int, engines: Mapping[str, Sequence[str]], rounds: int
) -> Growth:
    raw = sample("asi", folder / "raw", scale, "--days", days)
    warehouse = folder / "warehouse"
    ingest = traces("ingest", "asi", "--raw", raw, "--warehouse", warehouse, "--no-stored")
    commands = {engine: [*ingest, *arguments] for engine, arguments in engines.items()}
    costs = costs_in_turns(commands, rounds, _count_days(days), {engine: [warehouse] for engine in engines})
    stored = warehouse / "parquet"
    rows = sum(pq.read_metadata(path).num_rows for path in stored.rglob("*.parquet"))
    return Growth(days, rows, bytes_below(raw, ".parquet"), bytes_below(stored, ".parquet"), costs)


def _count_days(days: int) -> str:
    return f"{days} day{'s' * (days != 1)}"


def _describe_size(found: Growth) -> str:
    cost = median_cost(found.costs[DUCKDB])
    row_us = 1e6 * cost.cpu_s / found.rows
    return (
        f"{_count_days(found.days)}: {found.rows / 1e6:.1f} million rows; "
        f"DuckDB: {row_us:.2f} µs of processor time a row, peak {cost.peak_mb:,.0f} MB; "
        f"Parquet {found.parquet_bytes / found.raw_bytes:.2f} of the raw bytes"
    )


def describe_growth(found: Sequence[Growth], scale: float) -> list[str]:
    """Return a line per engine: its fixed and its daily cost, and from them the cost of all days."""
    short, long, *_ = found
    lines = []
    for engine in short.costs:
        daily_s = (long.wall_s(engine) - short.wall_s(engine)) / (long.days - short.days)
        fixed_s = short.wall_s(engine) - daily_s * short.days
        all_h = (fixed_s + ALL_DAYS * daily_s / scale) / 3600
        lines.append(
            f"{engine}: {fixed_s:.1f} s + {daily_s:.2f} s a day; {ALL_DAYS} days at full size: "
            f"{fixed_s:.1f} + {ALL_DAYS} x {daily_s:.2f} / {scale:g} s = {all_h:.1f} h"
        )
    return lines


if __name__ == "__main__":
    main()

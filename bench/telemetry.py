"""What Acme's telemetry costs: wide CSVs to long Parquet, beside Polars and pandas.

    python -m tracehouse.bench.telemetry [--mb 1000] [--rounds 5]

The floor is Polars' parsing of the same CSV with nothing done with it. `ours` is `traces ingest --no-stored`,
`cells` as much of it as the others do, without the database. Pandas gets a tenth of the file: it would take
minutes.
Each contender is a whole process; they run one after another in every round, the page cache warm.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    Cost,
    bytes_below,
    contender,
    cost_of,
    costs_in_turns,
    traces,
    verdict,
)
from tracehouse.samples.traces.acme_telemetry import write_metric

PACKAGES = ("duckdb", "polars", "pyarrow", "pandas")
CLUSTER = "kalos"
PEAK_MB_AT_MOST = 1500
PARQUET_PER_CSV_AT_MOST = 0.30
PANDAS_SHARE = 10
LARGER = 6


@dataclass(frozen=True)
class File:
    """A kind of file to be measured, and how much slower than parsing may be."""

    metric: str
    devices: int
    line_bytes: int
    parse_at_most: float


FILES = {
    "2,300 integer columns": File("GPU_UTIL", 2300, 6000, 2.0),
    "290 float columns": File("NODE_CPU_UTILIZATION", 290, 2000, 1.5),
}
GOALS = [
    *(Goal("cells", f"parse of {name}", at_most=file.parse_at_most) for name, file in FILES.items()),
    Goal("pandas", "cells", at_least=8),
    Goal("polars unpivot", "cells", at_least=1),
]


def main() -> None:
    """Measure, print the table, and write it and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows, facts = [], []
    for name, file in FILES.items():
        row, fact = _measured(name, file, options.mb, options.rounds)
        rows.append(row)
        facts.append(fact)
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} rounds in turns; page cache warm; pandas: {PANDAS_SHARE} times a tenth",
        *facts,
    ]
    print(write("telemetry", "What an ingest of Acme's telemetry costs", rows, GOALS, facts))


def _measured(name: str, file: File, mb: int, rounds: int) -> tuple[Row, str]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        raw, warehouse, out = folder / "raw", folder / "warehouse", folder / "out"
        csv = _written(raw, file, mb)
        tenth = _written(folder / "tenth", file, mb // PANDAS_SHARE)
        commands = {
            "ours": traces("ingest", "acme", "--raw", raw, "--warehouse", warehouse, "--no-stored"),
            "cells": contender("tables", "acme", raw, warehouse),
            "parse": contender("polars_parse", csv),
            "polars unpivot": contender("polars_unpivot", csv, out),
            "pandas": contender("pandas_melt", tenth, out),
        }
        costs = costs_in_turns(commands, rounds, name, [warehouse, out])
        cost_of(commands["ours"])
        csv_bytes, parquet_bytes = csv.stat().st_size, bytes_below(warehouse / "parquet", ".parquet")
        csv.unlink()
        larger = _written(raw, file, LARGER * mb)
        large = cost_of(contender("tables", "acme", raw, folder / "large"))
        growth = larger.stat().st_size / csv_bytes
    return _row(name, costs), _fact(name, costs["cells"], large, growth, csv_bytes, parquet_bytes)


def _written(raw: Path, file: File, mb: int) -> Path:
    path = raw / "utilization" / CLUSTER / f"{file.metric}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = mb * 1_000_000 // file.line_bytes
    return write_metric(
        path, CLUSTER, file.metric, lines, file.devices, np.random.default_rng(1), lambda _: None
    )


def _row(name: str, costs: dict[str, list[Cost]]) -> Row:
    seconds = {contender: [cost.wall_s for cost in found] for contender, found in costs.items()}
    seconds["pandas"] = [PANDAS_SHARE * tenth_s for tenth_s in seconds["pandas"]]
    # The goals differ by kind of file, so each has a floor of its own name.
    seconds[f"parse of {name}"] = seconds.pop("parse")
    peak_mb = {contender: median(cost.peak_mb for cost in found) for contender, found in costs.items()}
    cpu = ", ".join(f"{contender} {median(c.cpu_s for c in found):.1f}" for contender, found in costs.items())
    return Row(name, seconds, peak_mb, f"processor seconds: {cpu}")


def _fact(
    name: str, cells: list[Cost], large: Cost, growth: float, csv_bytes: int, parquet_bytes: int
) -> str:
    ratio = parquet_bytes / csv_bytes
    peak_mb = median(cost.peak_mb for cost in cells)
    longer = large.wall_s / median(cost.wall_s for cost in cells)
    is_small = max(large.peak_mb, peak_mb) <= PEAK_MB_AT_MOST
    return (
        f"{name}: {csv_bytes / 1e9:.2f} GB of CSV; Parquet {ratio:.3f} of it, at most "
        f"{PARQUET_PER_CSV_AT_MOST:g}: {verdict(ratio <= PARQUET_PER_CSV_AT_MOST)}; "
        f"{growth:.1f} times the file takes {longer:.1f} times as long; "
        f"peak memory {peak_mb:,.0f} and {large.peak_mb:,.0f} MB, at most {PEAK_MB_AT_MOST:,}: "
        f"{verdict(is_small)}"
    )


if __name__ == "__main__":
    main()

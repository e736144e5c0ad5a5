"""Compare the ingest of Acme's wide telemetry CSVs with Polars and pandas.

    python -m tracehouse.bench.telemetry [--mb 1000] [--rounds 5]

Every implementation runs in its own process, once per round, with a warm page cache.

- `ours`: `traces ingest --no-stored`.
- `cells`: only the conversion to Parquet, for a comparison with the other tools.
- `parse`: Polars parses the CSV and discards the cells.
- `polars unpivot`: Polars unpivots the CSV into Parquet.
- `pandas`: pandas unpivots a tenth of the file; the table shows ten times its time.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    Cost,
    argument_parser,
    baseline,
    bytes_below,
    cost_of,
    cost_row,
    costs_in_turns,
    median_cost,
    temporary_folder,
    traces,
    verdict,
    wall_seconds,
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
    """A kind of file to measure, and the goal for its conversion as a multiple of the time of `parse`."""

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
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = [_measure(name, file, options.mb, options.rounds) for name, file in FILES.items()]
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} interleaved rounds; warm page cache; "
        f"pandas: {PANDAS_SHARE} times a tenth",
        *(fact for _, fact in found),
    ]
    rows = [row for row, _ in found]
    print(write("telemetry", "Cost of an ingest of Acme's telemetry", rows, GOALS, facts))


def _measure(name: str, file: File, mb: int, rounds: int) -> tuple[Row, str]:
    with temporary_folder() as folder:
        raw, warehouse, out = folder / "raw", folder / "warehouse", folder / "out"
        csv = write_csv(raw, file, mb)
        tenth = write_csv(folder / "tenth", file, mb // PANDAS_SHARE)
        commands = {
            "ours": traces("ingest", "acme", "--raw", raw, "--warehouse", warehouse, "--no-stored"),
            "cells": baseline("tables", "acme", raw, warehouse),
            "parse": baseline("polars_parse", csv),
            "polars unpivot": baseline("polars_unpivot", csv, out),
            "pandas": baseline("pandas_melt", tenth, out),
        }
        outputs = {name: [warehouse] for name in ("ours", "cells")}
        outputs |= {name: [out] for name in ("polars unpivot", "pandas")}
        costs = costs_in_turns(commands, rounds, name, outputs)
        cost_of(commands["ours"])
        csv_bytes, parquet_bytes = csv.stat().st_size, bytes_below(warehouse / "parquet", ".parquet")
        csv.unlink()
        larger = write_csv(raw, file, LARGER * mb)
        large = cost_of(baseline("tables", "acme", raw, folder / "large"))
        growth = larger.stat().st_size / csv_bytes
    cells = median_cost(costs["cells"])
    return _row(name, costs), _fact(name, cells, large, growth, csv_bytes, parquet_bytes)


def write_csv(raw: Path, file: File, mb: int) -> Path:
    """Write one metric of a cluster as `mb` million bytes of CSV into a dump, and return its path."""
    path = raw / "utilization" / CLUSTER / f"{file.metric}.csv"
    lines = mb * 1_000_000 // file.line_bytes
    return write_metric(
        path, CLUSTER, file.metric, lines, file.devices, np.random.default_rng(1), lambda _: None
    )


def _row(name: str, costs: dict[str, list[Cost]]) -> Row:
    seconds = wall_seconds(costs)
    seconds["pandas"] = [PANDAS_SHARE * tenth_s for tenth_s in seconds["pandas"]]
    # Each kind of file has its own goal, so each baseline has its own name.
    seconds[f"parse of {name}"] = seconds.pop("parse")
    return cost_row(name, seconds, costs)


def _fact(name: str, cells: Cost, large: Cost, growth: float, csv_bytes: int, parquet_bytes: int) -> str:
    ratio = parquet_bytes / csv_bytes
    longer = large.wall_s / cells.wall_s
    is_small = max(large.peak_mb, cells.peak_mb) <= PEAK_MB_AT_MOST
    return (
        f"{name}: {csv_bytes / 1e9:.2f} GB of CSV; Parquet {ratio:.3f} of it, at most "
        f"{PARQUET_PER_CSV_AT_MOST:g}: {verdict(ratio <= PARQUET_PER_CSV_AT_MOST)}; "
        f"{growth:.1f} times the file takes {longer:.1f} times as long; "
        f"peak memory {cells.peak_mb:,.0f} and {large.peak_mb:,.0f} MB, at most {PEAK_MB_AT_MOST:,}: "
        f"{verdict(is_small)}"
    )


if __name__ == "__main__":
    main()

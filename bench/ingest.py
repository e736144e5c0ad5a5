"""Compare `traces ingest` with two baselines and with pandas, on the same synthetic dump.

    python -m tracehouse.bench.ingest [--trace pai] [--scale 1] [--rounds 5]

Every implementation runs in its own process, once per round, with a warm page cache.

- `ours`: `traces ingest --no-stored`. It materializes no views, so that it is comparable with pandas.
- `tables`: only the conversion to Parquet, as the baselines do.
- `build`: only the build of the database.
- `inflate`: decompress the archives with isal, and discard the bytes.
- `copy`: DuckDB's COPY on extracted CSVs, with the types and the compression of the warehouse.
- `sorted`: the same as `copy`, in the order of the warehouse.
- `pandas`: read each CSV from its archive, and write Parquet.

An ingest decompresses and copies, so it can hardly be faster than the slower of `inflate` and `copy`.
Processor seconds are shown next to wall time, because they hardly change when other processes run. The
smaller dump is measured again with shuffled rows. Peak memory is that of an ingest that also materializes
views.
"""

import os
import shutil
from collections.abc import Mapping, Sequence

from tracehouse.bench.dumps import extract, pack, shuffle
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    Cost,
    argument_parser,
    baseline,
    bytes_below,
    call_in_process,
    cost_of,
    cost_row,
    costs_in_turns,
    sample,
    temporary_folder,
    traces,
    verdict,
    wall_seconds,
)

PACKAGES = ("duckdb", "isal", "polars", "pyarrow", "pandas")

FEW_CORES = 2
GOALS = [
    Goal("tables cpu", "inflate + copy cpu", at_most=1.15),
    Goal("tables", "max(inflate, copy)", at_most=1.15 if (os.cpu_count() or 1) <= FEW_CORES else 1.3),
    Goal("pandas", "ours", at_least=3),
]
# The bytes of Parquet relative to the CSV that DuckDB's Parquet writer reaches.
PARQUET_PER_CSV_AT_MOST = 0.293


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("--trace", default="pai")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = [
        _measure(options.trace, options.scale / 10, options.rounds),
        _measure(options.trace, options.scale / 10, options.rounds, shuffled=True),
        _measure(options.trace, options.scale, options.rounds),
    ]
    grown = {
        scale: _ingest_and_check(options.trace, scale)
        for scale in (options.scale / 10, options.scale, 2 * options.scale)
    }
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} interleaved rounds; warm page cache",
        *(fact for _, fact in found),
        _growth_fact(
            "traces ingest with materialized views", [(s, costs[0]) for s, costs in grown.items()], 1500
        ),
        _growth_fact("traces check of that warehouse", [(s, costs[1]) for s, costs in grown.items()], 4000),
    ]
    title = f"Cost of an ingest of {options.trace}"
    print(write("ingest", title, [row for row, _ in found], GOALS, facts))


def _measure(trace: str, scale: float, rounds: int, shuffled: bool = False) -> tuple[Row, str]:
    """Measure every command in every round, after a warm-up round, and return also a line on the sizes."""
    label = f"scale {scale:g}{', shuffled' * shuffled}"
    with temporary_folder() as folder:
        warehouse, out = folder / "warehouse", folder / "out"
        raw = sample(trace, folder / "raw", scale)
        csvs = extract(raw, folder / "csv")
        if shuffled:
            call_in_process(shuffle, csvs)
            raw = pack(csvs, raw, folder / "shuffled")
        commands = {
            "ours": traces("ingest", trace, "--raw", raw, "--warehouse", warehouse, "--no-stored"),
            "tables": baseline("tables", trace, raw, out),
            "build": traces("build", "--warehouse", warehouse, "--no-stored"),
            "inflate": baseline("inflate", raw),
            "copy": baseline("duckdb_copy", trace, csvs, out, "unsorted"),
            "sorted": baseline("duckdb_copy", trace, csvs, out, "sorted"),
            "pandas": baseline("pandas_parquet", raw, out),
        }
        outputs = {name: [out] for name in ("tables", "copy", "sorted", "pandas")} | {"ours": [warehouse]}
        row = _row(label, costs_in_turns(commands, rounds, label, outputs))
        archive_bytes, csv_bytes = bytes_below(raw, ".tar.gz"), bytes_below(csvs, ".csv")
        return row, _size_fact(
            label, archive_bytes, csv_bytes, bytes_below(warehouse / "parquet", ".parquet")
        )


def _ingest_and_check(trace: str, scale: float) -> tuple[Cost, Cost]:
    """Return the costs of one ingest with materialized views, and of `traces check`."""
    with temporary_folder() as folder:
        warehouse = folder / "warehouse"
        raw = sample(trace, folder / "raw", scale)
        ingest = cost_of(traces("ingest", trace, "--raw", raw, "--warehouse", warehouse))
        shutil.rmtree(raw)
        return ingest, cost_of(traces("check", trace, "--warehouse", warehouse))


def _row(name: str, costs: Mapping[str, Sequence[Cost]]) -> Row:
    """Return the seconds of each command, of the slower baseline in each round, and processor seconds."""
    seconds = wall_seconds(costs)
    slower = zip(seconds["inflate"], seconds["copy"], strict=True)
    seconds["max(inflate, copy)"] = [max(pair) for pair in slower]
    seconds["tables cpu"] = [cost.cpu_s for cost in costs["tables"]]
    both = zip(costs["inflate"], costs["copy"], strict=True)
    seconds["inflate + copy cpu"] = [inflate.cpu_s + copy.cpu_s for inflate, copy in both]
    return cost_row(name, seconds, costs)


def _size_fact(name: str, archive_bytes: int, csv_bytes: int, parquet_bytes: int) -> str:
    ratio = parquet_bytes / csv_bytes
    return (
        f"{name}: {csv_bytes / 1e9:.2f} GB of CSV in {archive_bytes / 1e9:.2f} GB of archives; "
        f"Parquet {ratio:.3f} of the CSV, at most {PARQUET_PER_CSV_AT_MOST:g}: "
        f"{verdict(ratio <= PARQUET_PER_CSV_AT_MOST)}"
    )


def _growth_fact(what: str, costs: Sequence[tuple[float, Cost]], at_most_mb: int) -> str:
    """Describe how time and memory grow with the scale; each scale is measured once."""
    each = "; ".join(
        f"scale {scale:g}: {cost.wall_s:.1f} s, {cost.cpu_s:.1f} processor s, peak {cost.peak_mb:,.0f} MB"
        for scale, cost in costs
    )
    is_small = max(cost.peak_mb for _, cost in costs) <= at_most_mb
    return f"{what}: {each}; at most {at_most_mb:,} MB: {verdict(is_small)}"


if __name__ == "__main__":
    main()

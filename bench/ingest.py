"""What an ingest costs beside its two floors and beside pandas: the same synthetic dump, in turns.

    python -m tracehouse.bench.ingest [--trace pai] [--scale 1] [--rounds 5]

The floors: `inflate` reads the archives with isal and throws the bytes away; `copy` is DuckDB alone, on CSVs
that were extracted beforehand, with the warehouse's types and options, and `sorted` the same with the
warehouse's order. An ingest can hardly be faster than the slower of inflating and copying, as it does both.

Each contender is a whole process: `ours` is `traces ingest --no-stored`, which ends where pandas does,
`tables` as much of it as the floors do, `build` the database over that; `queries` measures what storing
views adds. They run one after another in every round, the page cache warm. Beside each ratio of seconds
stands that of processor seconds, which says what an ingest costs where other work runs too: `tables cpu`
beside `inflate + copy cpu`, as it does both. The smaller dump comes with its rows shuffled, too. The peak
of memory is that of an ingest that stores views.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tracehouse.bench.ingests.archives import archives, opened
from tracehouse.bench.measure import Goal, Row, environment, summary, write
from tracehouse.bench.processes import Cost, bytes_below, contender, cost_of, emptied, traces, verdict

PACKAGES = ("duckdb", "isal", "polars", "pyarrow", "pandas")

FEW_CORES = 2
GOALS = [
    Goal("tables cpu", "inflate + copy cpu", at_most=1.15),
    Goal("tables", "max(inflate, copy)", at_most=1.15 if (os.cpu_count() or 1) <= FEW_CORES else 1.3),
    Goal("pandas", "ours", at_least=3),
]
# What was aimed at before, which stays here whether it was reached or not.
EARLIER_GOALS = [
    Goal("tables", "max(inflate, copy)", at_most=1.15),
    Goal("tables", "max(inflate, sorted)", at_most=1.15),
    Goal("pandas", "ours", at_least=6),
    Goal("pandas", "inflate", at_least=6),
]
# What DuckDB's writer made of it.
PARQUET_PER_CSV_AT_MOST = 0.293


@dataclass(frozen=True)
class Measured:
    """The costs of each contender over one dump, and what that and its Parquet take, in bytes."""

    name: str
    costs: dict[str, list[Cost]]
    archive_bytes: int
    csv_bytes: int
    parquet_bytes: int


def main() -> None:
    """Measure, print the table, and write it and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trace", default="pai")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = [
        _measured(options.trace, options.scale / 10, options.rounds),
        _measured(options.trace, options.scale / 10, options.rounds, shuffled=True),
        _measured(options.trace, options.scale, options.rounds),
    ]
    grown = {
        scale: _whole(options.trace, scale)
        for scale in (options.scale / 10, options.scale, 2 * options.scale)
    }
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} rounds in turns; page cache warm",
        *(_size_fact(measured) for measured in found),
        _growth_fact("traces ingest, views stored", [(s, costs[0]) for s, costs in grown.items()], 1500),
        _growth_fact("traces check of that", [(s, costs[1]) for s, costs in grown.items()], 4000),
    ]
    title = f"What an ingest of {options.trace} costs"
    rows = [_row(measured) for measured in found]
    facts += ["", "What was aimed at before:", *(summary(rows, goal) for goal in EARLIER_GOALS)]
    print(write("ingest", title, rows, GOALS, facts))


def _measured(trace: str, scale: float, rounds: int, shuffled: bool = False) -> Measured:
    """Measure every contender in every round, after one round that does not count."""
    costs: dict[str, list[Cost]] = {}
    label = f"scale {scale:g}{', shuffled' * shuffled}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        warehouse, out = folder / "warehouse", folder / "out"
        raw = _sample(trace, scale, folder / "raw")
        csvs = _extracted(raw, folder / "csv")
        if shuffled:
            raw = _shuffled(raw, csvs, folder / "shuffled")
        commands = {
            "ours": traces("ingest", trace, "--raw", raw, "--warehouse", warehouse, "--no-stored"),
            "tables": contender("tables", trace, raw, out),
            "build": traces("build", "--warehouse", warehouse, "--no-stored"),
            "inflate": contender("inflate", raw),
            "copy": contender("duckdb_copy", trace, csvs, out, "unsorted"),
            "sorted": contender("duckdb_copy", trace, csvs, out, "sorted"),
            "pandas": contender("pandas_parquet", raw, out),
        }
        for number in range(rounds + 1):
            emptied(warehouse)
            for name, command in commands.items():
                emptied(out)
                cost = cost_of(command)
                print(f"{label}, round {number}: {name} {cost.wall_s:.2f} s", file=sys.stderr, flush=True)
                if number:
                    costs.setdefault(name, []).append(cost)
        return Measured(
            label,
            costs,
            bytes_below(raw, ".tar.gz"),
            bytes_below(csvs, ".csv"),
            bytes_below(warehouse / "parquet", ".parquet"),
        )


def _whole(trace: str, scale: float) -> tuple[Cost, Cost]:
    """What an ingest costs, views stored, and checking what it made."""
    with tempfile.TemporaryDirectory() as name:
        warehouse = Path(name) / "warehouse"
        raw = _sample(trace, scale, Path(name) / "raw")
        ingest = cost_of(traces("ingest", trace, "--raw", raw, "--warehouse", warehouse))
        shutil.rmtree(raw)
        return ingest, cost_of(traces("check", trace, "--warehouse", warehouse))


def _sample(trace: str, scale: float, folder: Path) -> Path:
    subprocess.run(
        traces("sample", trace, "--out", folder, "--scale", scale), check=True, stdout=subprocess.DEVNULL
    )
    return folder


def _extracted(raw: Path, folder: Path) -> Path:
    folder.mkdir()
    for paths in archives(raw).values():
        with tarfile.open(fileobj=opened(paths), mode="r|gz") as tar:
            for member in tar:
                name = Path(member.name).name
                content = tar.extractfile(member)
                if content and name.endswith(".csv") and not name.startswith("._"):
                    with (folder / name).open("wb") as file:
                        shutil.copyfileobj(content, file, 1 << 20)
    return folder


def _shuffled(raw: Path, csvs: Path, folder: Path) -> Path:
    """The same dump with its rows in any order: new archives in the folder; the CSVs are changed."""
    for paths in archives(raw).values():
        stem = paths[0].name.split(".tar.gz")[0]
        csv = csvs / f"{stem}.csv"
        lines = csv.read_bytes().splitlines(keepends=True)
        random.Random(0).shuffle(lines)
        csv.write_bytes(b"".join(lines))
        place = folder / paths[0].relative_to(raw).parent
        place.mkdir(parents=True, exist_ok=True)
        with tarfile.open(place / f"{stem}.tar.gz", "w:gz", compresslevel=6) as tar:
            tar.add(csv, csv.name)
    for path in raw.rglob("*"):
        if path.is_file() and ".tar.gz" not in path.name:
            shutil.copy(path, folder / path.relative_to(raw))
    return folder


def _row(measured: Measured) -> Row:
    """Each contender's seconds, in every round the slower of the floors, and processor seconds."""
    seconds = {name: [cost.wall_s for cost in costs] for name, costs in measured.costs.items()}
    for copy in ("copy", "sorted"):
        floors = zip(seconds["inflate"], seconds[copy], strict=True)
        seconds[f"max(inflate, {copy})"] = [max(floor) for floor in floors]
    seconds["tables cpu"] = [cost.cpu_s for cost in measured.costs["tables"]]
    both = zip(measured.costs["inflate"], measured.costs["copy"], strict=True)
    seconds["inflate + copy cpu"] = [inflate.cpu_s + copy.cpu_s for inflate, copy in both]
    peak_mb = {name: median(cost.peak_mb for cost in costs) for name, costs in measured.costs.items()}
    cpu = ", ".join(
        f"{name} {median(cost.cpu_s for cost in costs):.1f}" for name, costs in measured.costs.items()
    )
    return Row(measured.name, seconds, peak_mb, f"processor seconds: {cpu}")


def _size_fact(measured: Measured) -> str:
    ratio = measured.parquet_bytes / measured.csv_bytes
    csv_gb, archive_gb = measured.csv_bytes / 1e9, measured.archive_bytes / 1e9
    return (
        f"{measured.name}: {csv_gb:.2f} GB of CSV in {archive_gb:.2f} GB of archives; "
        f"Parquet {ratio:.3f} of the CSV, at most {PARQUET_PER_CSV_AT_MOST:g}: "
        f"{verdict(ratio <= PARQUET_PER_CSV_AT_MOST)}"
    )


def _growth_fact(what: str, costs: Sequence[tuple[float, Cost]], at_most_mb: int) -> str:
    """How seconds and memory grow with the scale, each ingested once."""
    each = "; ".join(
        f"scale {scale:g}: {cost.wall_s:.1f} s, {cost.cpu_s:.1f} of a processor, peak {cost.peak_mb:,.0f} MB"
        for scale, cost in costs
    )
    is_small = max(cost.peak_mb for _, cost in costs) <= at_most_mb
    return f"{what}: {each}; at most {at_most_mb:,} MB: {verdict(is_small)}"


if __name__ == "__main__":
    main()

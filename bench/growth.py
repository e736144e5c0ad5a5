"""Measure how the time, the memory and the size of an ingest grow with the raw files.

    python -m tracehouse.bench.growth [--rounds 3] [--pai 0.1 1 2] [--days 7 14 30] [--megabytes 250 500 2000]
        [--files 1000 3000 10000]

`--pai` are scales of PAI, `--days` numbers of days of ASI at a tenth of the size, `--megabytes` sizes of a
CSV of Acme's telemetry with 2,300 columns of integers, and `--files` numbers of CSVs of one row. An ingest
includes no materialized views. The processor time for a unit of size is compared with that of the first size:
1 means that it grows linearly.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tracehouse.bench.measure import (
    AtMost,
    Line,
    argument_parser,
    bytes_below,
    costs_in_rounds,
    sample,
    temporary_folder,
    traces,
    write,
)

PEAK_MB, ROW_US, GROWTH = AtMost(2000), AtMost(4), AtMost(1.2)
FILE_US = AtMost(15_000)
ASI_SCALE = 0.1
DEVICES, FIRST_TIME = 2300, datetime(2023, 7, 1)


def main() -> None:
    """Measure, print the table, and write it to growth.txt."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pai", type=float, nargs="*", default=[0.1, 1, 2])
    parser.add_argument("--days", type=int, nargs="*", default=[7, 14, 30])
    parser.add_argument("--megabytes", type=int, nargs="*", default=[250, 500, 2000])
    parser.add_argument("--files", type=int, nargs="*", default=[1000, 3000, 10_000])
    options = parser.parse_args()
    rounds = options.rounds
    sections: dict[str, list[Line]] = {}
    for title, trace, sizes, write_raw, row_us in (
        ("PAI by scale", "pai", options.pai, lambda raw, scale: sample("pai", raw, scale), ROW_US),
        (
            f"ASI by days, at scale {ASI_SCALE:g}",
            "asi",
            options.days,
            lambda raw, days: sample("asi", raw, ASI_SCALE, "--days", days),
            ROW_US,
        ),
        ("Acme's GPU_UTIL by MB of CSV", "acme", options.megabytes, write_metric, ROW_US),
        ("openb by files of one row", "openb", options.files, write_files, FILE_US),
    ):
        sections[title] = measure(trace, sizes, write_raw, rounds, row_us)
        # The file is complete after each section, because all of them take most of an hour.
        facts = [f"medians of {rounds} rounds; warm page cache; base tables without materialized views"]
        text = write("growth", "Growth of the cost of an ingest", facts, sections)
    print(text)


def measure(
    trace: str,
    sizes: list[float],
    write_raw: Callable[[Path, float], object],
    rounds: int,
    row_us: AtMost = ROW_US,
) -> list[Line]:
    """Ingest raw files of each size, and return the lines of the table."""
    lines: list[Line] = []
    first_s = None
    for size in sizes:
        with temporary_folder() as folder:
            raw, warehouse = folder / "raw", folder / "warehouse"
            write_raw(raw, size)
            command = traces("ingest", trace, "--raw", raw, "--warehouse", warehouse, "--no-materialize")
            label = f"{trace} {size:g}"
            cost = costs_in_rounds({label: command}, rounds, {label: warehouse})[label]
            stored = warehouse / "parquet"
            rows = sum(pq.read_metadata(path).num_rows for path in stored.rglob("*.parquet"))
            raw_bytes = sum(path.stat().st_size for path in raw.rglob("*") if path.is_file())
            share = bytes_below(stored) / raw_bytes
        relative_s = cost.cpu_s / size
        first_s = first_s or relative_s
        basis = f"{rows / 1e6:.1f} million rows, {cost.cpu_s:.1f} processor s"
        lines += [
            Line(f"{size:g}: time", cost.wall_s, "s", None, basis),
            Line(f"{size:g}: Parquet, relative to the raw bytes", share, ""),
            Line(f"{size:g}: processor time a row", 1e6 * cost.cpu_s / rows, "µs", row_us),
            Line(f"{size:g}: peak memory", cost.peak_mb, "MB", PEAK_MB),
            Line(f"{size:g}: processor time, relative to the size", relative_s / first_s, "", GROWTH),
        ]
    return lines


def write_metric(raw: Path, megabytes: float) -> Path:
    """Write one metric of Acme with 2,300 columns of integers as one CSV, and return its path.

    A sample is taken every 15 s, and one cell in five differs from the one above.
    """
    path = raw / "utilization" / "kalos" / "GPU_UTIL.csv"
    path.parent.mkdir(parents=True)
    rng = np.random.default_rng(1)
    texts = np.array([f",{percent}" for percent in range(101)], dtype=np.bytes_)
    names = [f"172.31.{device // 800}.{device // 8 % 100}-{device % 8}" for device in range(DEVICES)]
    percents = rng.integers(0, 101, DEVICES)
    time = FIRST_TIME
    with path.open("wb") as file:
        file.write(",".join(["Time", *names]).encode() + b"\n")
        while file.tell() < megabytes * 1_000_000:
            percents = np.where(rng.random(DEVICES) < 0.2, rng.integers(0, 101, DEVICES), percents)
            cells = texts[percents].tobytes().translate(None, b"\0")
            file.write(f"{time:%Y-%m-%d %H:%M:%S}+08:00".encode() + cells + b"\n")
            time += timedelta(seconds=15)
    return path


def write_files(raw: Path, count: float) -> None:
    """Write lists of nodes of openb with one node each."""
    raw.mkdir()
    for number in range(int(count)):
        text = f"sn,cpu_milli,memory_mib,gpu,model\nn{number},1000,2000,1,T4\n"
        (raw / f"openb_node_list_{number}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

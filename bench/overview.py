"""Measure what a user waits for: the first answer after an ingest, named queries, builds and the start.

    python -m tracehouse.bench.overview [--scale 1] [--rounds 5] [--raw DIR]

Polars' scan and sink and DuckDB's COPY write Parquet with the types of the warehouse and zstd, and neither
hashes, counts or sorts. pandas only reads. DIR has small raw files, by default samples. Everything runs in
its own process, in interleaved rounds, with a warm page cache. Each line compares a median with a goal. The
last one clones the repository, and runs its demo.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tracehouse.bench import growth, queries, startup
from tracehouse.bench.growth import ASI_SCALE, write_metric
from tracehouse.bench.measure import (
    FOLDER,
    AtMost,
    Cost,
    Line,
    argument_parser,
    bytes_below,
    cost_of,
    costs_in_rounds,
    sample,
    temporary_folder,
    traces,
    write,
)

PREDICTABILITY = "unified.duration_predictability"
SMALL_TRACES = ("itp", "openb", "zeus", "dlrm", "spot")
SHORT_COMMANDS = ("--help", "query openb.phases", "sql select max(run_s) from itp.job")
TELEMETRY_MB = 500


def main() -> None:
    """Measure, print the table, and write it to overview.txt."""
    parser = argument_parser(__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--raw", type=Path)
    options = parser.parse_args()
    facts = [f"scale {options.scale:g}; medians of {options.rounds} interleaved rounds; warm page cache"]
    measured: dict[str, list[Line]] = {}
    for title, lines in {
        "PAI, clustered by job as in the published archives": _of_pai(options.scale, options.rounds),
        "all traces": _of_all_traces(options.scale, options.rounds),
        "small files": _of_small_files(options.raw, options.rounds),
        "telemetry": _of_telemetry(options.scale, options.rounds),
        "ASI, a week at a tenth of the size": _of_asi(options.scale, options.rounds),
        "first use": _of_demo(),
    }.items():
        measured[title] = list(lines)
        # The file is complete after each section, because all of them take an hour.
        text = write("overview", "What a user waits for", facts, measured)
    print(text)


def _of_pai(scale: float, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        archives = sample("pai", folder / "raw", scale)
        csvs = folder / "csv" / "pai"
        cost_of(_baseline("extract", archives, csvs))
        # The mark of synthetic files, without which their checksums would be reported as wrong.
        shutil.copy(archives / "pai" / "SYNTHETIC.txt", csvs)
        bare = ("--no-materialize",)
        commands = {
            "csv": traces("ingest", "pai", "--raw", csvs.parent, "--warehouse", folder / "csv_tables", *bare),
            "polars": _baseline("polars_sink", "pai", csvs, folder / "polars"),
            "tables": traces("ingest", "pai", "--raw", archives, "--warehouse", folder / "tables", *bare),
            "default": traces("ingest", "pai", "--raw", archives, "--warehouse", folder / "default"),
            "inflate": _baseline("inflate", archives),
            "copy": _baseline("duckdb_copy", "pai", csvs, folder / "copy"),
            "pandas": _baseline("pandas_read", csvs),
        }
        outputs = {
            name: folder / ("csv_tables" if name == "csv" else name)
            for name in ("csv", "polars", "tables", "default", "copy")
        }
        yield from ingest_lines(costs_in_rounds(commands, rounds, outputs))
        csv_bytes = sum(path.stat().st_size for path in csvs.glob("*.csv"))
        stored_bytes = bytes_below(outputs["csv"] / "parquet")
        yield Line(
            "Parquet / CSV", stored_bytes / csv_bytes, "", AtMost(0.3), f"{stored_bytes / 1e6:,.0f} MB"
        )
        found = queries.measure(outputs["default"], queries.names_of(outputs["default"], ["pai"]), rounds)
        yield from queries.summary(found, "queries of pai", 40, 0.5)


def ingest_lines(costs: Mapping[str, Cost]) -> Iterator[Line]:
    """Yield the lines that compare ingests of CSVs and of archives with their baselines."""
    csv, tables, default, pandas = (costs[name] for name in ("csv", "tables", "default", "pandas"))
    for time, ours_s, polars_s in (
        ("wall", csv.wall_s, costs["polars"].wall_s),
        ("processor time", csv.cpu_s, costs["polars"].cpu_s),
    ):
        yield _ratio(f"ingest of CSVs / Polars' scan and sink, {time}", ours_s, polars_s, AtMost(1.1))
    both_s = costs["inflate"].cpu_s + costs["copy"].cpu_s
    yield _ratio("ingest of archives / inflate and COPY, processor time", tables.cpu_s, both_s, AtMost(1))
    yield _ratio("all views / without views", default.wall_s, tables.wall_s, AtMost(2))
    yield _ratio("first answer possible / without views", default.ready_s, tables.wall_s, AtMost(1.05))
    most_mb = min(4000, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4e6)
    yield Line("peak memory of an ingest with views", default.peak_mb, "MB", AtMost(most_mb))
    basis = f"{pandas.cpu_s:.1f} processor s, {pandas.peak_mb:,.0f} MB of memory"
    yield Line("pandas' read_csv of all tables, for comparison", pandas.wall_s, "s", None, basis)


def _of_all_traces(scale: float, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        raw, warehouse = queries.write_raw(folder / "raw", scale), folder / "warehouse"
        cost_of(traces("ingest", "--raw", raw, "--warehouse", warehouse))
        found = queries.measure(warehouse, queries.names_of(warehouse), rounds)
    yield Line(PREDICTABILITY, found.pop(PREDICTABILITY).median_s, "s", AtMost(2))
    yield from queries.summary(found, "other queries", 40, 1)


def _ratio(what: str, over_s: float, under_s: float, goal: AtMost) -> Line:
    return Line(what, over_s / under_s, "", goal, f"{over_s:.1f} and {under_s:.1f} s")


def _of_small_files(raw: Path | None, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        if raw is None:
            raw = folder / "raw"
            subprocess.run(traces("sample", *SMALL_TRACES, "--out", raw, "--scale", 0.01), check=True)
        warehouse, built = folder / "warehouse", folder / "built"
        cost_of(traces("ingest", "--raw", raw, "--warehouse", built))
        commands = {
            "ingest": traces("ingest", "--raw", raw, "--warehouse", warehouse),
            "build": traces("build", "--warehouse", built),
        }
        costs = costs_in_rounds(commands, rounds, {"ingest": warehouse})
        for name, goal in (("build", AtMost(0.95)), ("ingest", AtMost(1.4))):
            basis = f"{costs[name].cpu_s:.1f} processor s"
            yield Line(f"{name} of small files", costs[name].wall_s, "s", goal, basis)
        chosen = {name: startup.COMMANDS[name] for name in SHORT_COMMANDS}
        yield from startup.measure(built, rounds, chosen)["pipe"]


def _of_telemetry(scale: float, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        csv = write_metric(folder / "raw", TELEMETRY_MB * scale)
        warehouse, out = folder / "warehouse", folder / "out"
        commands = {
            "ours": traces(
                "ingest", "acme", "--raw", folder / "raw", "--warehouse", warehouse, "--no-materialize"
            ),
            "polars": _baseline("polars_unpivot", csv, out),
        }
        costs = costs_in_rounds(commands, rounds, {"ours": warehouse, "polars": out})
        what = "ingest of 2,300 columns of telemetry / Polars unpivot and sink"
        yield _ratio(what, costs["ours"].wall_s, costs["polars"].wall_s, AtMost(1.1))


def _of_asi(scale: float, rounds: int) -> Iterator[Line]:
    days = 7

    def write_raw(raw: Path, size: float) -> object:
        return sample("asi", raw, ASI_SCALE * scale, "--days", int(size))

    found = {line.what: line for line in growth.measure("asi", [days], write_raw, rounds)}
    for what, goal in (("processor time a row", 2), ("Parquet, relative to the raw bytes", 0.39)):
        yield replace(found[f"{days}: {what}"], what=what, goal=AtMost(goal))


def _of_demo() -> Iterator[Line]:
    with temporary_folder() as folder:
        clone = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", str(FOLDER.parent), str(clone)], check=True)
        demo_s = cost_of(["make", "-C", str(clone), "demo"]).wall_s
        yield Line("make demo in a clean clone", demo_s, "s", AtMost(25))


def _baseline(name: str, *arguments: object) -> list[str]:
    """Return the command line of a function of `tracehouse.bench.baselines`."""
    return [sys.executable, "-m", "tracehouse.bench.baselines", name, *map(str, arguments)]


if __name__ == "__main__":
    main()

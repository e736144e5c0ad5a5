"""Measure what a user waits for: the first answer after an ingest, named queries, builds and the start.

    python -m tracehouse.bench.overview [--scale 1] [--rounds 5] [--raw DIR]

COPY is DuckDB's, of extracted CSVs, with the types of the warehouse and zstd; pandas and Polars write Parquet
too. None of them checks or sorts. DIR has small raw files, by default samples. Everything runs in its own
process, in interleaved rounds, with a warm page cache. Each line compares a median with a goal. The last one
clones the repository, and runs its demo.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tracehouse.bench import queries, startup
from tracehouse.bench.growth import write_metric
from tracehouse.bench.measure import (
    FOLDER,
    AtLeast,
    AtMost,
    Cost,
    Line,
    argument_parser,
    cost_of,
    costs_in_rounds,
    sample,
    temporary_folder,
    traces,
    write,
)

SMALL_TRACES = ("itp", "openb", "zeus", "dlrm", "spot")
PREDICTABILITY = "unified.duration_predictability"
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
        "PAI": _of_pai(options.scale, options.rounds),
        "small files": _of_small_files(options.raw, options.rounds),
        "telemetry": _of_telemetry(options.scale, options.rounds),
        "first use": _of_demo(),
    }.items():
        measured[title] = list(lines)
        # The file is complete after each section, because all of them take most of an hour.
        text = write("overview", "What a user waits for", facts, measured)
    print(text)


def _of_pai(scale: float, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        raw = sample("pai", folder / "raw", scale)
        csvs, warehouse, tables, out = (folder / name for name in ("csv", "warehouse", "tables", "out"))
        cost_of(_baseline("extract", raw, csvs))
        commands = {
            "tables": traces("ingest", "pai", "--raw", raw, "--warehouse", tables, "--no-materialized-views"),
            "default": traces("ingest", "pai", "--raw", raw, "--warehouse", warehouse),
            "inflate": _baseline("inflate", raw),
            "copy": _baseline("duckdb_copy", "pai", csvs, out),
            "pandas": _baseline("pandas_parquet", raw, out),
        }
        outputs = {"tables": tables, "default": warehouse, "copy": out, "pandas": out}
        yield from ingest_lines(costs_in_rounds(commands, rounds, outputs))
        found = queries.measure(warehouse, queries.names_of(warehouse, ["pai", "unified"]), rounds)
        yield Line(PREDICTABILITY, found.pop(PREDICTABILITY).median_s, "s", AtMost(3))
        for schema, median_ms in (("pai", 100), ("unified", 500)):
            of_schema = {name: run for name, run in found.items() if name.startswith(f"{schema}.")}
            yield from queries.summary(of_schema, f"queries of {schema}", median_ms)


def ingest_lines(costs: Mapping[str, Cost]) -> Iterator[Line]:
    """Yield the lines that compare an ingest, with and without views, with its baselines."""
    tables, default = costs["tables"], costs["default"]
    both_s = costs["inflate"].cpu_s + costs["copy"].cpu_s
    ingest = "ingest without views"
    yield _ratio(f"{ingest} / inflate + COPY, processor time", tables.cpu_s, both_s, AtMost(1.1))
    yield _ratio(f"{ingest} / COPY of extracted CSV", tables.wall_s, costs["copy"].wall_s, AtMost(1.15))
    yield _ratio(f"pandas / {ingest}", costs["pandas"].wall_s, tables.wall_s, AtLeast(2))
    yield _ratio(f"first answer possible / {ingest}", default.ready_s, tables.wall_s, AtMost(1.05))
    yield _ratio(f"all views / {ingest}", default.wall_s, tables.wall_s, AtMost(1.5))
    yield Line("peak memory of an ingest with views", default.peak_mb, "MB", AtMost(1500))


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
        for name, goal in (("build", AtMost(1.5)), ("ingest", AtMost(2.5))):
            basis = f"{costs[name].cpu_s:.1f} processor s"
            yield Line(f"{name} of small files", costs[name].wall_s, "s", goal, basis)
        chosen = dict.fromkeys(("query openb.phases", "sql select max(run_s) from itp.job"), "duckdb")
        yield from startup.measure(built, rounds, chosen)["pipe"]


def _of_telemetry(scale: float, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        csv = write_metric(folder / "raw", TELEMETRY_MB * scale)
        warehouse, out = folder / "warehouse", folder / "out"
        commands = {
            "ours": traces(
                "ingest", "acme", "--raw", folder / "raw", "--warehouse", warehouse, "--no-materialized-views"
            ),
            "polars": _baseline("polars_unpivot", csv, out),
        }
        costs = costs_in_rounds(commands, rounds, {"ours": warehouse, "polars": out})
        what = "ingest of 2,300 columns of telemetry / Polars unpivot and sink"
        yield _ratio(what, costs["ours"].wall_s, costs["polars"].wall_s, AtMost(1.1))


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

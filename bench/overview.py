"""Measure what a user waits for: the first answer after an ingest, named queries, builds and the start.

    python -m tracehouse.bench.overview [--scale 1] [--rounds 5] [--raw DIR]

PAI is measured in two shapes: as `traces sample` generates it, with few users of many jobs and repeated
worker names, and with even users and unique names. COPY is DuckDB's with zstd and otherwise its defaults; the
tuned COPY has the faster options of an ingest, and may change the order of rows. DIR has small raw files, by
default samples. Everything runs in its own process, in interleaved rounds, with a warm page cache. Each line
compares medians with a goal. The last one clones the repository, and runs its demo.
"""

import os
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.bench import dumps, startup, telemetry
from tracehouse.bench.measure import FOLDER, Bound, environment
from tracehouse.bench.processes import (
    Cost,
    argument_parser,
    baseline,
    call_in_process,
    cost_of,
    costs_in_turns,
    median_cost,
    sample,
    temporary_folder,
    traces,
    verdict,
)
from tracehouse.bench.queries import queries_of, time_query

PACKAGES = ("duckdb", "isal", "polars", "pyarrow", "pandas")
THREADS = 2
SMALL_TRACES = ("itp", "openb", "zeus", "dlrm", "spot")
PREDICTABILITY = "unified.duration_predictability"


@dataclass(frozen=True)
class Line:
    """A measured number, the numbers that it was computed from, and its bound."""

    what: str
    value: float
    unit: str
    basis: str
    bound: Bound

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound."""
        return self.bound.is_met(self.value)

    def cells(self) -> tuple[str, ...]:
        """Return what is measured, the value, its goal, whether it is reached, and the basis."""
        bound = f"{'≥' if self.bound.at_most is None else '≤'} {self.bound.limit:g}"
        return (self.what, f"{self.value:,.2f} {self.unit}".strip(), bound, verdict(self.is_met), self.basis)


def main() -> None:
    """Measure, print the table, and write it to overview.txt."""
    parser = argument_parser(__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--raw", type=Path)
    options = parser.parse_args()
    facts = [
        environment(*PACKAGES),
        f"scale {options.scale:g}; medians of {options.rounds} interleaved rounds; warm page cache",
    ]
    sections = {
        "PAI, few users of many jobs, repeated worker names": _of_pai(options.scale, options.rounds, None),
        "PAI, even users, unique worker names": _of_pai(options.scale, options.rounds, dumps.make_even),
        "small files": _of_small_files(options.raw, options.rounds),
        "telemetry": _of_telemetry(options.scale, options.rounds),
        "first use": _of_demo(),
    }
    measured: dict[str, list[Line]] = {}
    text = ""
    # The file is complete after each section, because all of them take most of an hour.
    for title, lines in sections.items():
        measured[title] = list(lines)
        load = f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        text = "\n".join(["What a user waits for", *facts, load, "", *_table(measured), ""])
        (FOLDER / "overview.txt").write_text(text)
    print(text)


def _of_pai(scale: float, rounds: int, change: Callable[[Path], None] | None) -> Iterator[Line]:
    with temporary_folder() as folder:
        raw = sample("pai", folder / "raw", scale)
        csvs = dumps.extract(raw, folder / "csv")
        if change:
            call_in_process(change, csvs)
            raw = dumps.pack(csvs, raw, folder / "changed")
        warehouse, tables, out = folder / "warehouse", folder / "tables", folder / "out"
        commands = {
            "tables": traces("ingest", "pai", "--raw", raw, "--warehouse", tables, "--no-stored"),
            "default": traces("ingest", "pai", "--raw", raw, "--warehouse", warehouse),
            "inflate": baseline("inflate", raw),
            "copy": baseline("duckdb_copy", "pai", csvs, out, "as in file"),
            "tuned": baseline("duckdb_copy", "pai", csvs, out, "unsorted"),
            "pandas": baseline("pandas_parquet", raw, out),
        }
        outputs = {"tables": [tables], "default": [warehouse], "copy": [out], "tuned": [out], "pandas": [out]}
        yield from _ingest_lines(costs_in_turns(commands, rounds, "even" if change else "skewed", outputs))
        yield from _query_lines("pai", _time_queries(warehouse, "pai", rounds), 100)
        seconds = _time_queries(warehouse, "unified", rounds)
        yield Line(PREDICTABILITY, seconds.pop(PREDICTABILITY), "s", "", Bound(at_most=3))
        yield from _query_lines("unified", seconds, 500)


def _ingest_lines(costs: Mapping[str, Sequence[Cost]]) -> Iterator[Line]:
    medians = {name: median_cost(found) for name, found in costs.items()}
    tables, default = medians["tables"], medians["default"]
    ingest = "ingest without views"
    for name, copy in (("COPY", medians["copy"]), ("tuned COPY", medians["tuned"])):
        both_s = medians["inflate"].cpu_s + copy.cpu_s
        yield _ratio(f"{ingest} / inflate + {name}, processor time", tables.cpu_s, both_s, Bound(at_most=1.1))
        yield _ratio(f"{ingest} / {name} of extracted CSV", tables.wall_s, copy.wall_s, Bound(at_most=1.15))
    yield _ratio(f"pandas / {ingest}", medians["pandas"].wall_s, tables.wall_s, Bound(at_least=2))
    yield _ratio(f"first answer possible / {ingest}", default.ready_s, tables.wall_s, Bound(at_most=1.05))
    yield _ratio(f"all views / {ingest}", default.wall_s, tables.wall_s, Bound(at_most=1.5))
    yield Line("peak memory of an ingest with views", default.peak_mb, "MB", "", Bound(at_most=1500))


def _ratio(what: str, over_s: float, under_s: float, bound: Bound) -> Line:
    return Line(what, over_s / under_s, "", f"{over_s:.1f} and {under_s:.1f} s", bound)


def _query_lines(schema: str, seconds: Mapping[str, float], median_ms: float) -> Iterator[Line]:
    slowest = max(seconds, key=lambda query: seconds[query])
    middle_ms = 1000 * statistics.median(seconds.values())
    yield Line(f"{len(seconds)} queries of {schema}, median", middle_ms, "ms", "", Bound(at_most=median_ms))
    yield Line(
        f"{len(seconds)} queries of {schema}, slowest", seconds[slowest], "s", slowest, Bound(at_most=1)
    )


def _time_queries(warehouse: Path, schema: str, rounds: int) -> dict[str, float]:
    """Return the median seconds of each query of a schema, with two threads and default parameters."""
    return {
        query: statistics.median(time_query(warehouse, query, THREADS, rounds)[0])
        for query in queries_of(schema, warehouse)
    }


def _of_small_files(raw: Path | None, rounds: int) -> Iterator[Line]:
    with temporary_folder() as folder:
        if raw is None:
            raw = folder / "raw"
            subprocess.run(traces("sample", *SMALL_TRACES, "--out", raw, "--scale", 0.01), check=True)
        warehouse, built = folder / "warehouse", folder / "built"
        subprocess.run(traces("ingest", "--raw", raw, "--warehouse", built), check=True)
        commands = {
            "ingest": traces("ingest", "--raw", raw, "--warehouse", warehouse),
            "build": traces("build", "--warehouse", built),
        }
        costs = costs_in_turns(commands, rounds, "small files", {"ingest": [warehouse]})
        for name, at_most in (("build", 1.5), ("ingest", 2.5)):
            cost = median_cost(costs[name])
            basis = f"{cost.cpu_s:.1f} processor s"
            yield Line(f"{name} of small files", cost.wall_s, "s", basis, Bound(at_most=at_most))
        chosen = ("query openb.phases", "sql select max(run_s) from itp.job")
        for row in startup.measure(built, rounds, dict.fromkeys(chosen, "duckdb")):
            command_s, import_s = row.median_s("command cpu"), row.median_s("duckdb cpu")
            assert command_s and import_s
            basis = f"{1000 * command_s:.0f} and {1000 * import_s:.0f} ms of processor time"
            yield Line(f"{row.name} / import duckdb", command_s / import_s, "", basis, Bound(at_most=2.5))


def _of_telemetry(scale: float, rounds: int) -> Iterator[Line]:
    file = telemetry.FILES["2,300 integer columns"]
    with temporary_folder() as folder:
        csv = telemetry.write_csv(folder / "raw", file, max(1, round(480 * scale)))
        warehouse, out = folder / "warehouse", folder / "out"
        commands = {
            "ours": traces(
                "ingest", "acme", "--raw", folder / "raw", "--warehouse", warehouse, "--no-stored"
            ),
            "polars": baseline("polars_unpivot", csv, out),
        }
        costs = costs_in_turns(commands, rounds, "telemetry", {"ours": [warehouse], "polars": [out]})
        ours_s, polars_s = (median_cost(costs[name]).wall_s for name in commands)
        what = "ingest of 2,300 columns of telemetry / Polars unpivot and sink"
        yield _ratio(what, ours_s, polars_s, Bound(at_most=1.1))


def _of_demo() -> Iterator[Line]:
    with temporary_folder() as folder:
        clone = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", str(FOLDER.parent), str(clone)], check=True)
        demo_s = cost_of(["make", "-C", str(clone), "demo"]).wall_s
        yield Line("make demo in a clean clone", demo_s, "s", "", Bound(at_most=25))


def _table(sections: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """Yield the lines of a text table: a heading for each section, and a row for each measured number."""
    head = ("", "measured", "goal", "", "from")
    cells = {title: [line.cells() for line in lines] for title, lines in sections.items()}
    rows = [head, *(row for found in cells.values() for row in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    for title, found in {"": [head], **cells}.items():
        yield from (title,) * bool(title)
        for row in found:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()


if __name__ == "__main__":
    main()

"""Compare each of PAI's named queries with pandas, Polars and bare SQL.

    python -m tracehouse.bench.queries [SCALE] [QUERY]... [--raw DIR | --warehouse DIR] [--threads N]

SCALE is 1 by default, and N the number of processors. Without --raw and --warehouse, a sample is generated.

All implementations read the same Parquet files from the page cache, on the same processors. Their results are
compared first; a query with a difference is reported and not timed. The columns of the table are:

- `ours`: the function that `traces query` calls, in a running process.
- `bare`: the SQL of the query in DuckDB, on the database file.
- `pandas`, `polars`: the functions in `answers.py`, for seven representative queries.
- `computed`: `ours` on a database without materialized views.
- `small`: `ours` with two threads.
- `command`: the complete command `traces query`. The difference from `ours` is its start-up time.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracehouse.bench.answers import LIBRARIES, answers
from tracehouse.bench.implementations import IMPLEMENTATIONS, Rows
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import (
    TRACES,
    Cost,
    argument_parser,
    bytes_below,
    cost_of,
    sample,
    temporary_folder,
    traces,
    verdict,
)

GOALS = [
    Goal("pandas", "ours", at_least=10),
    Goal("polars", "ours", at_least=1.5),
    Goal("ours", "bare", at_most=1.05),
]

# Fast queries are timed more often, for a stable median, and slow ones less often.
ROUNDS, QUICK_ROUNDS, SLOW_ROUNDS = 5, 15, 3
QUICK_S, SLOW_S = 1.0, 20.0

SMALL_THREADS = 2

RELATIVE, ABSOLUTE = 1e-9, 1e-9

MEDIAN_MS_AT_MOST, EACH_MS_AT_MOST = 100, 1000
STORING_S_AT_MOST, STORING_BYTES_AT_MOST = 0.40, 0.35

PACKAGES = ("duckdb", "polars", "pandas", "pyarrow")


class DiffersError(Exception):
    """Two implementations returned different rows."""


class Process:
    """An implementation that runs in a separate process."""

    def __init__(self, name: str, warehouse: Path, query: str, threads: int, label: str = "") -> None:
        self.name = label or name
        command = [sys.executable, "-m", "tracehouse.bench.implementations", name, str(warehouse), query]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environ(threads)
        )
        found = self._read()
        if found != threads:
            raise SystemExit(f"{name} uses {found} threads, not {threads}")

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def request(self, what: str) -> Any:
        """Return the `rows`, the `time` of one run in s, or the `peak` memory in MB, as `what` says."""
        print(what, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended without a result")
        return json.loads(line)


class Command:
    """The complete command `traces query`, in a new process for each result."""

    name = "command"

    def __init__(self, warehouse: Path, query: str, threads: int) -> None:
        self._environ = _environ(threads)
        self._line = [str(TRACES), "query", query, "--warehouse", str(warehouse), "--format", "json"]

    def request(self, what: str) -> Any:
        """Return the `rows`, or the `time` of one run in s, as `what` says."""
        start_s = time.perf_counter()
        done = subprocess.run(
            self._line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environ
        )
        wall_s = time.perf_counter() - start_s
        return wall_s if what == "time" else _parse_records(json.loads(done.stdout))


def check_same(results: Mapping[str, Rows]) -> None:
    """Raise DiffersError unless all results equal the first one, up to rounding."""
    (first, (columns, rows)), *others = results.items()
    for name, (other_columns, other_rows) in others:
        if list(other_columns) != list(columns):
            raise DiffersError(f"{name} has columns {other_columns}, {first} {columns}")
        if len(other_rows) != len(rows):
            raise DiffersError(f"{name} has {len(other_rows)} rows, {first} {len(rows)}")
        for row, other in zip(rows, other_rows, strict=True):
            if not all(map(_is_same, row, other)):
                raise DiffersError(f"{name} has {other}, {first} {row}")


def measure(warehouse: Path, computed: Path, query: str, threads: int) -> Row:
    """Compare the results of all implementations, and time them in interleaved rounds.

    `computed` is the warehouse without materialized views. Raises DiffersError if results differ.
    """
    with ExitStack() as stack:
        processes = [
            stack.enter_context(Process(name, warehouse, query, threads))
            for name in IMPLEMENTATIONS
            if name not in LIBRARIES or query in answers(name)
        ]
        processes.append(stack.enter_context(Process("ours", computed, query, threads, "computed")))
        if threads != SMALL_THREADS:
            processes.append(stack.enter_context(Process("ours", warehouse, query, SMALL_THREADS, "small")))
        measured: list[Process | Command] = [*processes, Command(warehouse, query, threads)]
        results, first_s = {}, {}
        for each in measured:
            start_s = time.perf_counter()
            results[each.name] = each.request("rows")
            first_s[each.name] = time.perf_counter() - start_s
        check_same(results)
        rounds = {name: _rounds(seconds) for name, seconds in first_s.items()}
        # The goal for `ours` and `bare` is a few percent, so both are timed equally often.
        rounds["ours"] = rounds["bare"] = max(rounds["ours"], rounds["bare"])
        seconds: dict[str, list[float]] = {each.name: [] for each in measured}
        for number in range(max(rounds.values())):
            # The order alternates, so that no implementation always runs after the same one.
            for each in measured if number % 2 else reversed(measured):
                if number < rounds[each.name]:
                    seconds[each.name].append(each.request("time"))
        peak_mb = {each.name: each.request("peak") for each in processes}
    few = [f"{name} {count} rounds" for name, count in rounds.items() if count < ROUNDS]
    return Row(query, seconds, peak_mb, ", ".join(few))


def time_query(warehouse: Path, query: str, threads: int, rounds: int) -> tuple[list[float], float]:
    """Return the seconds of runs of a query after a first one in the same process, and its peak memory in MB.

    The parameters have their defaults.
    """
    with Process("ours", warehouse, query, threads) as process:
        process.request("time")
        return [process.request("time") for _ in range(rounds)], process.request("peak")


@dataclass(frozen=True)
class Warehouses:
    """Two warehouses with the same tables, with and without materialized views, and the cost of their builds.

    `ingest` is None if an existing warehouse was used.
    """

    stored: Path
    computed: Path
    ingest: Cost | None
    build: Cost
    storing: Cost


def build_warehouses(
    folder: Path, trace: str, warehouse: Path | None, make_raw: Callable[[Path], Path]
) -> Warehouses:
    """Build both warehouses, from the tables of a warehouse or from the raw files of `make_raw`."""
    computed, stored, ingest = folder / "computed", folder / "stored", None
    if warehouse:
        link_tables(warehouse, computed)
    else:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            raw = make_raw(Path(name))
            ingest = cost_of(traces("ingest", trace, "--raw", raw, "--warehouse", computed, "--no-stored"))
    link_tables(computed, stored)
    build = cost_of(traces("build", "--warehouse", computed, "--no-stored"))
    return Warehouses(stored, computed, ingest, build, cost_of(traces("build", "--warehouse", stored)))


def link_tables(warehouse: Path, copy: Path) -> None:
    """Hard-link a warehouse's Parquet files into a new warehouse without a database."""
    shutil.copytree(warehouse / "parquet", copy / "parquet", copy_function=os.link)
    shutil.copy(warehouse / "datapackage.json", copy)


def measure_all(queries: Sequence[str], measure_one: Callable[[str], Row]) -> tuple[list[Row], list[str]]:
    """Measure each query; return the rows, and a message for each query whose results differ."""
    rows, differing = [], []
    for query in queries:
        try:
            rows.append(measure_one(query))
        except DiffersError as error:
            differing.append(f"{query}: not timed, because {error}")
            print(differing[-1], file=sys.stderr, flush=True)
            continue
        medians = {name: round(statistics.median(found), 4) for name, found in rows[-1].seconds.items()}
        print(query, medians, file=sys.stderr, flush=True)
    return rows, differing


def speed_fact(rows: Sequence[Row], name: str, label: str, median_ms: float, each_ms: float) -> str:
    """Return a line with the median and the slowest time of an implementation, compared with the goals.

    A goal of 0 means no goal.
    """
    found_ms = {row.name: 1000 * (row.median_s(name) or 0) for row in rows}
    slowest = max(found_ms, key=lambda query: found_ms[query])
    middle_ms = statistics.median(found_ms.values())
    fact = f"{label}: median {middle_ms:.0f} ms, slowest {found_ms[slowest]:,.0f} ms ({slowest})"
    if not each_ms:
        return fact
    is_met = middle_ms <= median_ms and found_ms[slowest] <= each_ms
    return f"{fact}; goals {median_ms:,.0f} and {each_ms:,.0f} ms: {verdict(is_met)}"


def cost_facts(made: Warehouses, rows: Sequence[Row], peak_mb_at_most: float = math.inf) -> list[str]:
    """Return lines with the cost of materialized views, and after how many queries they pay off."""
    base, kept = bytes_below(made.computed, ".parquet"), bytes_below(made.stored / "stored", ".parquet")
    storing_s, storing_cpu_s = made.storing.wall_s - made.build.wall_s, made.storing.cpu_s - made.build.cpu_s
    storing = f"materializing views: {storing_s:.1f} s, {storing_cpu_s:.1f} processor s"
    is_small = kept <= STORING_BYTES_AT_MOST * base
    if made.ingest:
        share = storing_s / made.ingest.wall_s
        storing += f", {share:.0%} of an ingest's {made.ingest.wall_s:.1f} s"
        outcome = verdict(share <= STORING_S_AT_MOST and is_small)
        goals = f"{STORING_S_AT_MOST:.0%} and {STORING_BYTES_AT_MOST:.0%}: {outcome}"
    else:
        goals = f"{STORING_S_AT_MOST:.0%}: not measured, {STORING_BYTES_AT_MOST:.0%}: {verdict(is_small)}"
    storing += f", and {kept / 1e6:,.1f} MB, {kept / base:.0%} of the tables; goals {goals}"
    peaks = [("materializing", made.storing), *([("ingest", made.ingest)] if made.ingest else [])]
    memory = "peak memory: " + ", ".join(f"{name} {cost.peak_mb:,.0f} MB" for name, cost in peaks)
    if peak_mb_at_most < math.inf:
        is_met = max(cost.peak_mb for _, cost in peaks) <= peak_mb_at_most
        memory += f"; goal {peak_mb_at_most:,.0f} MB: {verdict(is_met)}"
    return [storing, _break_even(storing_s, _differences_s(rows, "computed", "ours")), memory]


def _break_even(storing_s: float, saved_s: Sequence[float]) -> str:
    """Return a line: after how many queries materialization pays off, if all queries are equally frequent."""
    if not saved_s:
        return "time saved per query: not measured"
    mean_s = statistics.mean(saved_s)
    if mean_s <= 0:
        return f"a query saves nothing (mean {1000 * mean_s:+.0f} ms), so materializing never pays off"
    count = max(0.0, storing_s) / mean_s
    return (
        f"a query saves {1000 * mean_s:.0f} ms (mean), so materializing pays off after {count:,.0f} queries"
    )


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("scale", nargs="?", type=float, default=1.0)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    # pyarrow, which pandas uses, starts as many threads as there are processors to run on.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    with temporary_folder() as folder:
        made = build_warehouses(
            folder,
            "pai",
            options.warehouse,
            lambda new: options.raw or sample("pai", new / "raw", options.scale),
        )
        rows, differing = measure_all(
            options.queries or queries_of("pai", made.stored),
            lambda query: measure(made.stored, made.computed, query, options.threads),
        )
        small = "ours" if options.threads == SMALL_THREADS else "small"
        label = f"{small} with {SMALL_THREADS} threads"
        start_up_ms = 1000 * statistics.median(_differences_s(rows, "command", "ours"))
        facts = [
            environment(*PACKAGES),
            f"scale {options.scale:g}, {options.threads} processors; medians of {ROUNDS} interleaved rounds, "
            f"{QUICK_ROUNDS} below {QUICK_S:g} s; warm page cache, results compared first",
            f"start-up of the command (command - ours): median {start_up_ms:.0f} ms",
            speed_fact(rows, small, label, MEDIAN_MS_AT_MOST, EACH_MS_AT_MOST),
            speed_fact(rows, "computed", "computed, without materialized views", 0, 0),
            *cost_facts(made, rows),
        ]
    print(write("queries", "Cost of each of PAI's named queries", rows, GOALS, facts))
    if differing:
        raise SystemExit("\n".join(differing))


def _differences_s(rows: Sequence[Row], slower: str, faster: str) -> list[float]:
    """Return the difference of the medians of two implementations, for each row in which both were timed."""
    medians = [(row.median_s(slower), row.median_s(faster)) for row in rows]
    return [slow_s - fast_s for slow_s, fast_s in medians if slow_s is not None and fast_s is not None]


def queries_of(trace: str, warehouse: Path) -> list[str]:
    """Return the names of a trace's queries, sorted."""
    from tracehouse.engines.duckdb.read import sandbox

    with sandbox.connect(warehouse) as connection:
        found = connection.execute("select query_name from catalog.queries order by query_name").fetchall()
    return [name for (name,) in found if name.startswith(f"{trace}.")]


def _environ(threads: int) -> dict[str, str]:
    """Return environment variables with which Polars and DuckDB use this many threads.

    `ours` locks the settings of its connection, so DuckDB gets the number from Slurm's variable, the only one
    that it reads.
    """
    return {**os.environ, "POLARS_MAX_THREADS": str(threads), "SLURM_CPUS_ON_NODE": str(threads)}


def _rounds(first_s: float) -> int:
    if first_s > SLOW_S:
        return SLOW_ROUNDS
    return QUICK_ROUNDS if first_s < QUICK_S else ROUNDS


def _parse_records(records: Sequence[Mapping[str, Any]]) -> Rows:
    return list(records[0]) if records else [], [list(record.values()) for record in records]


def _is_same(one: Any, other: Any) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other)]
    if all(numbers):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(one) is type(other) and one == other


if __name__ == "__main__":
    main()

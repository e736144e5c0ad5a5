"""What an answer of each of PAI's named queries costs, beside pandas, Polars and bare SQL, in turns.

    python -m tracehouse.bench.queries [SCALE] [QUERY]... [--warehouse DIR] [--threads N]

The scale is 1 unless another is given, the threads are as many as there are processors, and a warehouse is
made where none is named.

All read the same Parquet, from the page cache, on the same processors. Each first gives its rows: whoever
answers something else gets no figure. `ours` is the function that `traces query` calls, in a process that has
started, and `small` the same with two threads; `bare` is the query's statement in DuckDB on the database
file; `command` is the whole of `traces query`, and its start-up what that takes longer than `ours`.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracehouse.bench.contender import CONTENDERS, Rows
from tracehouse.bench.measure import Goal, Row, environment, write

GOALS = [
    Goal("pandas", "ours", at_least=10),
    Goal("polars", "ours", at_least=1.5),
    Goal("ours", "bare", at_most=1.05),
]

# So many rounds; more where an answer is quick, so that its median is steady, and fewer where it is slow.
ROUNDS, QUICK_ROUNDS, SLOW_ROUNDS = 5, 15, 3
QUICK_S, SLOW_S = 1.0, 20.0

SMALL_THREADS = 2

RELATIVE, ABSOLUTE = 1e-9, 1e-9

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
PACKAGES = ("duckdb", "polars", "pandas", "pyarrow")


class DiffersError(Exception):
    """A contender gave other rows."""


class Process:
    """A contender in a process of its own."""

    def __init__(self, name: str, warehouse: Path, query: str, threads: int, label: str = "") -> None:
        self.name = label or name
        command = [sys.executable, "-m", "tracehouse.bench.contender", name, str(warehouse), query]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environ(threads)
        )
        found = self._read()
        if found != threads:
            raise SystemExit(f"{name} works with {found} threads, not {threads}")

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, word: str) -> Any:
        """Request `rows`, `time` (in s) or `peak` (in MB)."""
        print(word, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended without an answer")
        return json.loads(line)


class Command:
    """The whole command `traces query`, started anew for each answer."""

    name = "command"

    def __init__(self, warehouse: Path, query: str, threads: int) -> None:
        self._environ = _environ(threads)
        self._line = [str(TRACES), "query", query, "--warehouse", str(warehouse), "--format", "json"]

    def ask(self, word: str) -> Any:
        """Request `rows` or `time` (in s)."""
        start_s = time.perf_counter()
        done = subprocess.run(
            self._line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environ
        )
        wall_s = time.perf_counter() - start_s
        return wall_s if word == "time" else _of_json(json.loads(done.stdout))


def check_same(answers: Mapping[str, Rows]) -> None:
    """Raise DiffersError unless all contenders gave what the first one gave, equal to rounding."""
    (first, (columns, rows)), *others = answers.items()
    for name, (other_columns, other_rows) in others:
        if list(other_columns) != list(columns):
            raise DiffersError(f"{name} has columns {other_columns}, {first} {columns}")
        if len(other_rows) != len(rows):
            raise DiffersError(f"{name} has {len(other_rows)} rows, {first} {len(rows)}")
        for row, other in zip(rows, other_rows, strict=True):
            if not all(map(_is_same, row, other)):
                raise DiffersError(f"{name} has {other}, {first} {row}")


def measured(warehouse: Path, query: str, threads: int) -> Row:
    """Compare all contenders' answers to a query, and time them in turns. Raises DiffersError."""
    with ExitStack() as stack:
        contenders = [stack.enter_context(Process(name, warehouse, query, threads)) for name in CONTENDERS]
        contenders.append(stack.enter_context(Process("ours", warehouse, query, SMALL_THREADS, "small")))
        asked = [*contenders, Command(warehouse, query, threads)]
        answers, first_s = {}, {}
        for contender in asked:
            start_s = time.perf_counter()
            answers[contender.name] = contender.ask("rows")
            first_s[contender.name] = time.perf_counter() - start_s
        check_same(answers)
        rounds = {contender.name: _rounds(first_s[contender.name]) for contender in asked}
        # These two are compared to within a few percent, so both are timed equally often.
        rounds["ours"] = rounds["bare"] = max(rounds["ours"], rounds["bare"])
        seconds: dict[str, list[float]] = {contender.name: [] for contender in asked}
        for number in range(max(rounds.values())):
            # The order alternates, so that no contender always runs after the same one.
            for contender in asked if number % 2 else reversed(asked):
                if number < rounds[contender.name]:
                    seconds[contender.name].append(contender.ask("time"))
        peak_mb = {contender.name: contender.ask("peak") for contender in contenders}
    few = [f"{name} {count} rounds" for name, count in rounds.items() if count < ROUNDS]
    return Row(query, seconds, peak_mb, ", ".join(few))


def main() -> None:
    """Measure, print the table, and write it and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scale", nargs="?", type=float, default=1.0)
    parser.add_argument("queries", nargs="*", metavar="QUERY")
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    # What pandas uses starts as many threads as there are processors to run on.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    with tempfile.TemporaryDirectory() as folder:
        warehouse = options.warehouse or _synthetic(Path(folder), options.scale)
        rows, refused = _measure_all(warehouse, options.queries or _queries(warehouse), options.threads)
    started = [
        command_s - ours_s
        for row in rows
        if (command_s := row.median_s("command")) is not None and (ours_s := row.median_s("ours")) is not None
    ]
    small_s = {row.name: row.median_s("small") or 0 for row in rows}
    slowest = max(small_s, key=lambda name: small_s[name])
    facts = [
        environment(*PACKAGES),
        f"scale {options.scale:g}, {options.threads} processors; medians of {ROUNDS} rounds in turns, "
        f"{QUICK_ROUNDS} where an answer took under {QUICK_S:g} s; page cache warm, answers compared first",
        f"start-up of the command (command - ours): {1000 * statistics.median(started):.0f} ms in the median",
        f"with two threads: {1000 * statistics.median(small_s.values()):.0f} ms in the median, "
        f"{1000 * small_s[slowest]:.0f} ms at most ({slowest})",
    ]
    print(write("queries", "What an answer of each of PAI's named queries costs", rows, GOALS, facts))
    if refused:
        raise SystemExit("\n".join(refused))


def _measure_all(warehouse: Path, queries: Sequence[str], threads: int) -> tuple[list[Row], list[str]]:
    rows, refused = [], []
    for query in queries:
        try:
            row = measured(warehouse, query, threads)
        except DiffersError as error:
            refused.append(f"{query}: refused, as {error}")
            print(refused[-1], file=sys.stderr, flush=True)
            continue
        rows.append(row)
        medians = {name: round(statistics.median(found), 4) for name, found in row.seconds.items()}
        print(query, medians, file=sys.stderr, flush=True)
    return rows, refused


def _synthetic(folder: Path, scale: float) -> Path:
    raw, warehouse = folder / "raw", folder / "warehouse"
    subprocess.run([str(TRACES), "sample", "pai", "--out", str(raw), "--scale", str(scale)], check=True)
    subprocess.run([str(TRACES), "ingest", "--raw", str(raw), "--warehouse", str(warehouse)], check=True)
    return warehouse


def _queries(warehouse: Path) -> list[str]:
    from tracehouse.engines.duckdb.read import answer

    with answer.connect(warehouse) as connection:
        found = connection.execute("select query_name from catalog.queries order by query_name").fetchall()
    return [name for (name,) in found if name.startswith("pai.")]


def _environ(threads: int) -> dict[str, str]:
    """The environment of a process in which Polars and DuckDB work with so many threads.

    DuckDB takes the number from a variable of a cluster's scheduler, and from no other; the settings of a
    connection that answers questions are locked.
    """
    return {**os.environ, "POLARS_MAX_THREADS": str(threads), "SLURM_CPUS_ON_NODE": str(threads)}


def _rounds(answer_s: float) -> int:
    if answer_s > SLOW_S:
        return SLOW_ROUNDS
    return QUICK_ROUNDS if answer_s < QUICK_S else ROUNDS


def _of_json(records: Sequence[Mapping[str, Any]]) -> Rows:
    return list(records[0]) if records else [], [list(record.values()) for record in records]


def _is_same(one: Any, other: Any) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other)]
    if all(numbers):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(one) is type(other) and one == other


if __name__ == "__main__":
    main()

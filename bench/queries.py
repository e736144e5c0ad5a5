"""What an answer of each of PAI's named queries costs, beside pandas, Polars and bare SQL, in turns.

    python -m tracehouse.bench.queries [SCALE] [QUERY]... [--raw DIR | --warehouse DIR] [--threads N]

The scale is 1 unless another is given, the threads are as many as there are processors, and raw files are
made where neither they nor a warehouse is named.

All read the same Parquet, from the page cache, on the same processors. Each first gives its rows: whoever
answers something else gets no figure. `ours` is the function that `traces query` calls, in a process that has
started, `computed` the same over a database without stored views, and `small` is `ours` with two threads;
`bare` is the query's statement in DuckDB on the database
file; `command` is the whole of `traces query`, and its start-up what that takes longer than `ours`.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracehouse.bench.contender import CONTENDERS, Rows
from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import TRACES, bytes_below, cost_of, traces, verdict
from tracehouse.bench.questions import LIBRARIES, questions

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

MEDIAN_MS_AT_MOST, EACH_MS_AT_MOST = 100, 1000
STORING_S_AT_MOST, STORING_BYTES_AT_MOST = 0.40, 0.35

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


def measured(warehouse: Path, computed: Path, query: str, threads: int) -> Row:
    """Compare all contenders' answers to a query, and time them in turns. Raises DiffersError.

    `computed` is the warehouse without stored views.
    """
    with ExitStack() as stack:
        contenders = [
            stack.enter_context(Process(name, warehouse, query, threads))
            for name in CONTENDERS
            if name not in LIBRARIES or query in questions(name)
        ]
        contenders.append(stack.enter_context(Process("ours", computed, query, threads, "computed")))
        if threads != SMALL_THREADS:
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
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--warehouse", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    # What pandas uses starts as many threads as there are processors to run on.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    with tempfile.TemporaryDirectory() as name:
        made = _made(Path(name), options.scale, options.raw, options.warehouse)
        queries = options.queries or queries_of("pai", made.warehouse)
        rows, refused = _measure_all(made, queries, options.threads)
        facts = [
            environment(*PACKAGES),
            f"scale {options.scale:g}, {options.threads} processors; medians of {ROUNDS} rounds in turns, "
            f"{QUICK_ROUNDS} of what took under {QUICK_S:g} s; page cache warm, answers compared first",
            f"start-up of the command (command - ours): {_start_up_ms(rows):.0f} ms in the median",
            *_speed_facts(rows, "ours" if options.threads == SMALL_THREADS else "small"),
            *_cost_facts(made, rows),
        ]
    print(write("queries", "What an answer of each of PAI's named queries costs", rows, GOALS, facts))
    if refused:
        raise SystemExit("\n".join(refused))


@dataclass(frozen=True)
class Made:
    """A warehouse with stored views and one without, and what making them took; 0 where nobody ingested."""

    warehouse: Path
    computed: Path
    ingest_s: float
    storing_s: float


def _made(folder: Path, scale: float, raw: Path | None, warehouse: Path | None) -> Made:
    computed, stored = folder / "computed", folder / "stored"
    ingest_s = 0.0
    if warehouse:
        linked(warehouse, computed)
    else:
        if raw is None:
            raw = folder / "raw"
            cost_of(traces("sample", "pai", "--out", raw, "--scale", scale))
        ingest_s = cost_of(
            traces("ingest", "pai", "--raw", raw, "--warehouse", computed, "--no-stored")
        ).wall_s
    linked(computed, stored)
    build_s = cost_of(traces("build", "--warehouse", computed, "--no-stored")).wall_s
    storing_s = cost_of(traces("build", "--warehouse", stored)).wall_s - build_s
    return Made(stored, computed, ingest_s, storing_s)


def linked(warehouse: Path, copy: Path) -> None:
    """A warehouse of the same Parquet files, to be built."""
    shutil.copytree(warehouse / "parquet", copy / "parquet", copy_function=os.link)
    shutil.copy(warehouse / "datapackage.json", copy)


def _start_up_ms(rows: Sequence[Row]) -> float:
    started = [
        command_s - ours_s
        for row in rows
        if (command_s := row.median_s("command")) is not None and (ours_s := row.median_s("ours")) is not None
    ]
    return 1000 * statistics.median(started)


def _speed_facts(rows: Sequence[Row], small: str) -> list[str]:
    """How quick the answers are with two threads, with stored views and without."""
    facts = []
    for name in (small, "computed"):
        found_ms = {row.name: 1000 * (row.median_s(name) or 0) for row in rows}
        slowest = max(found_ms, key=lambda query: found_ms[query])
        middle_ms = statistics.median(found_ms.values())
        is_met = middle_ms <= MEDIAN_MS_AT_MOST and found_ms[slowest] <= EACH_MS_AT_MOST
        threads = f" with {SMALL_THREADS} threads" if name == small else ", every view computed"
        facts.append(
            f"{name}{threads}: {middle_ms:.0f} ms in the median, {found_ms[slowest]:.0f} ms at most "
            f"({slowest})"
            + f"; at most {MEDIAN_MS_AT_MOST} and {EACH_MS_AT_MOST:,}: {verdict(is_met)}"
            * (name == small)
        )
    return facts


def _cost_facts(made: Made, rows: Sequence[Row]) -> list[str]:
    """What storing takes, and after how many questions it has paid."""
    base, kept = bytes_below(made.computed, ".parquet"), bytes_below(made.warehouse / "stored", ".parquet")
    is_small = kept <= STORING_BYTES_AT_MOST * base
    storing = f"storing views: {made.storing_s:.1f} s"
    if made.ingest_s:
        share = made.storing_s / made.ingest_s
        storing += f", {share:.0%} of an ingest's {made.ingest_s:.1f} s"
        outcomes = f"{STORING_S_AT_MOST:.0%} and {STORING_BYTES_AT_MOST:.0%}: "
        outcomes += verdict(share <= STORING_S_AT_MOST and is_small)
    else:
        outcomes = (
            f"{STORING_S_AT_MOST:.0%}: not measured, and {STORING_BYTES_AT_MOST:.0%}: {verdict(is_small)}"
        )
    saved_s = [
        computed_s - ours_s
        for row in rows
        if (computed_s := row.median_s("computed")) is not None
        and (ours_s := row.median_s("ours")) is not None
    ]
    return [
        f"{storing}, and {kept / 1e6:,.0f} MB, {kept / base:.0%} of the tables'; at most {outcomes}",
        paid(made.storing_s, statistics.mean(saved_s)) if saved_s else "what a question saves: not measured",
    ]


def paid(storing_s: float, saved_s: float) -> str:
    """After how many questions storing has paid, each of which saves so much in the mean."""
    if saved_s <= 0:
        return f"a question saves nothing ({1000 * saved_s:+.0f} ms in the mean): storing never pays"
    return (
        f"a question, each as often, saves {1000 * saved_s:.0f} ms in the mean: "
        f"storing has paid after {max(0.0, storing_s) / saved_s:,.0f} questions"
    )


def _measure_all(made: Made, queries: Sequence[str], threads: int) -> tuple[list[Row], list[str]]:
    rows, refused = [], []
    for query in queries:
        try:
            row = measured(made.warehouse, made.computed, query, threads)
        except DiffersError as error:
            refused.append(f"{query}: refused, as {error}")
            print(refused[-1], file=sys.stderr, flush=True)
            continue
        rows.append(row)
        medians = {name: round(statistics.median(found), 4) for name, found in row.seconds.items()}
        print(query, medians, file=sys.stderr, flush=True)
    return rows, refused


def queries_of(trace: str, warehouse: Path) -> list[str]:
    """The names of a trace's queries, sorted."""
    from tracehouse.engines.duckdb.read import answer

    with answer.connect(warehouse) as connection:
        found = connection.execute("select query_name from catalog.queries order by query_name").fetchall()
    return [name for (name,) in found if name.startswith(f"{trace}.")]


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

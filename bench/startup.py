"""Compare the time of short commands with the import of DuckDB and of Typer.

    python -m tracehouse.bench.startup [--rounds 7] [--raw DIR]

Every command runs in a separate process and reads a small warehouse of synthetic data, or of the raw files in
DIR. It is measured with output to a pipe (as CSV) and to a terminal. Python's compiled modules are cached.
Processor time is compared, because it hardly changes when other processes run.
"""

import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tracehouse.bench.measure import (
    AtMost,
    Cost,
    Line,
    argument_parser,
    cost_of,
    median_cost,
    report,
    sample,
    temporary_folder,
    traces,
    wait_for,
    write,
)

ROUNDS = 7
# The library that each command is compared with.
COMMANDS = {
    "--help": "typer",
    "list": "duckdb",
    "list queries": "duckdb",
    "describe openb.phases": "duckdb",
    "query openb.phases": "duckdb",
    "query itp.gpu_hours": "duckdb",
    "sql select count(*) from itp.job": "duckdb",
    "sql select max(run_s) from itp.job": "duckdb",
}
GOALS = {"duckdb": AtMost(2.8), "typer": AtMost(1.3)}
# Lines and columns of the terminal. It has so many lines that no output is paged.
SIZE = (500, 100)


def main() -> None:
    """Measure, print the table, and write it to startup.txt."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--raw", type=Path)
    options = parser.parse_args()
    with temporary_folder() as folder:
        raw = options.raw or folder / "raw"
        if not options.raw:
            for trace in ("itp", "openb"):
                sample(trace, raw, 1.0)
        warehouse = folder / "warehouse"
        cost_of(traces("ingest", "--raw", raw, "--warehouse", warehouse))
        sections = measure(warehouse, options.rounds)
    facts = [f"medians of {options.rounds} interleaved rounds; processor time"]
    print(write("startup", "Cost of a start", facts, sections))


def measure(warehouse: Path, rounds: int, commands: Mapping[str, str] = COMMANDS) -> dict[str, list[Line]]:
    """Measure commands and both imports in interleaved rounds, after a warm-up round.

    `commands` maps each command to the library that it is compared with. The result has a section for output
    to a pipe, and one for output to a terminal.
    """
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"TRACES_WAREHOUSE": str(warehouse), "TERM": "xterm-256color", "TRACES_PAGER": ""}
    runs: dict[tuple[str, str], tuple[Callable[..., Cost], list[str]]] = {
        ("import", name): (cost_of, [sys.executable, "-c", f"import {name}"]) for name in GOALS
    }
    for name in commands:
        words = name.split(" ", 1) if name.startswith("sql") else name.split()
        runs |= {
            ("pipe", name): (cost_of, traces(*words)),
            ("terminal", name): (_on_terminal, traces(*words)),
        }
    costs: dict[tuple[str, str], list[Cost]] = {run: [] for run in runs}
    for number in range(rounds + 1):
        # The order alternates, so that no command always runs after the same one.
        for run, (function, line) in list(runs.items())[:: 1 if number % 2 else -1]:
            cost = function(line, environ)
            if number:
                costs[run].append(cost)
        report(f"round {number}")
    cpu_ms = {run: 1000 * median_cost(found).cpu_s for run, found in costs.items()}

    def describe(where: str, command: str, library: str) -> Line:
        command_ms, import_ms = cpu_ms[where, command], cpu_ms["import", library]
        basis = f"{command_ms:.0f} and {import_ms:.0f} ms"
        return Line(f"{command} / import {library}", command_ms / import_ms, "", GOALS[library], basis)

    return {
        where: [describe(where, command, library) for command, library in commands.items()]
        for where in ("pipe", "terminal")
    }


def _on_terminal(command: Sequence[str], environ: Mapping[str, str]) -> Cost:
    """Run a command that writes to a terminal, and return its cost. Raises SystemExit if it fails."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    start_s = time.perf_counter()
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environ) as process:
        os.close(terminal)
        try:
            while os.read(screen, 1 << 16):
                pass
        except OSError:
            # Linux reports an I/O error after the last process has closed the terminal.
            pass
        os.close(screen)
        cost = wait_for(process, start_s)
    if process.returncode:
        raise SystemExit(f"failed: {command!r}")
    return cost


if __name__ == "__main__":
    main()

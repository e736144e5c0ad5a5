"""Compare the run time of short commands with the import of DuckDB and of Click.

    python -m tracehouse.bench.startup [--rounds 7] [--raw DIR]

Every command runs in a separate process and reads a small warehouse of synthetic data, or of the raw files in
DIR. It is measured with output to a pipe (as CSV) and to a terminal. Python's compiled modules are cached.
"""

import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import Cost, argument_parser, temporary_folder, traces, wait_for

ROUNDS = 7
PACKAGES = ("duckdb", "click", "rich")
# Goals for wall time and for processor time, which hardly changes when other processes run.
GOALS = [
    Goal(f"command{kind}", f"{library}{kind}", at_most=at_most)
    for library, at_most in (("duckdb", 2.5), ("click", 1.2))
    for kind in ("", " cpu")
]
IMPORTS = {name: [sys.executable, "-c", f"import {name}"] for name in ("duckdb", "click")}
# The imported library that each command is compared with.
COMMANDS = {
    "--help": "click",
    "list": "duckdb",
    "list queries": "duckdb",
    "describe openb.phases": "duckdb",
    "query openb.phases": "duckdb",
    "query itp.gpu_hours": "duckdb",
    "sql select 1": "duckdb",
    "sql select count(*) from itp.job": "duckdb",
    "sql select max(run_s) from itp.job": "duckdb",
}
# Lines and columns of the terminal. It has so many lines that no output is paged.
SIZE = (500, 100)


def in_pipe(command: Sequence[str], environ: Mapping[str, str]) -> Cost:
    """Run a command that writes to a pipe, and return its cost. Raises SystemExit if it fails."""
    start_s = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ) as process:
        assert process.stdout
        process.stdout.read()
        return _finish(process, start_s)


def on_terminal(command: Sequence[str], environ: Mapping[str, str]) -> Cost:
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
        return _finish(process, start_s)


def _finish(process: subprocess.Popen, start_s: float) -> Cost:
    cost = wait_for(process, start_s)
    if process.returncode:
        raise SystemExit(f"failed: {process.args!r}")
    return cost


def measure(warehouse: Path, rounds: int, commands: Mapping[str, str] = COMMANDS) -> list[Row]:
    """Measure commands and both imports in interleaved rounds, after a warm-up round.

    `commands` maps each command to the library that it is compared with.
    """
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"TRACES_WAREHOUSE": str(warehouse), "TERM": "xterm-256color", "TRACES_PAGER": ""}
    runs = {name: (in_pipe, line) for name, line in IMPORTS.items()}
    for name in commands:
        words = name.split(" ", 1) if name.startswith("sql") else name.split()
        runs |= {name: (in_pipe, traces(*words)), f"{name}, terminal": (on_terminal, traces(*words))}
    costs: dict[str, list[Cost]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        # The order alternates, so that no command always runs after the same one.
        for name, (run, line) in list(runs.items())[:: 1 if number % 2 else -1]:
            found = run(line, environ)
            if number:
                costs[name].append(found)
        print(f"round {number}", file=sys.stderr, flush=True)
    return [
        _row(name, commands[name.removesuffix(", terminal")], costs) for name in runs if name not in IMPORTS
    ]


def _row(name: str, library: str, costs: Mapping[str, Sequence[Cost]]) -> Row:
    seconds = {}
    for label, found in (("command", costs[name]), (library, costs[library])):
        seconds[label] = [cost.wall_s for cost in found]
        seconds[f"{label} cpu"] = [cost.cpu_s for cost in found]
    return Row(name, seconds)


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--raw", type=Path)
    options = parser.parse_args()
    with temporary_folder() as folder:
        raw = options.raw or folder / "raw"
        if not options.raw:
            subprocess.run(traces("sample", "itp", "openb", "--out", raw), check=True)
        warehouse = folder / "warehouse"
        subprocess.run(traces("ingest", "--raw", raw, "--warehouse", warehouse), check=True)
        rows = measure(warehouse, options.rounds)
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} interleaved rounds; `duckdb` and `click` only import the library, "
        "`cpu` is processor time",
        f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    ]
    print(write("startup", "Cost of a start", rows, GOALS, facts))


if __name__ == "__main__":
    main()

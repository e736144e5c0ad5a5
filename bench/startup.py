"""What it costs to start: the command line beside the import of the libraries that it stands on, in turns.

    python -m tracehouse.bench.startup [--rounds 7] [--raw DIR]

Each is a process of its own, over a small synthetic warehouse, or one of the raw files in a folder. Commands
are run in a pipe, where they write CSV, and on a terminal. Compiled modules are kept, as pip does.
"""

import argparse
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.bench.processes import TRACES, traces

ROUNDS = 7
PACKAGES = ("duckdb", "typer", "rich")
# Processor time too, as it is steady where other work runs beside.
GOALS = [
    Goal(f"command{kind}", f"{library}{kind}", at_most=at_most)
    for library, at_most in (("duckdb", 2.5), ("typer", 1.2))
    for kind in ("", " cpu")
]
IMPORTS = {name: [sys.executable, "-c", f"import {name}"] for name in ("duckdb", "typer")}
# Each with the import that it is set beside.
COMMANDS = {
    "--help": "typer",
    "list": "duckdb",
    "list queries": "duckdb",
    "describe openb.phases": "duckdb",
    "query openb.phases": "duckdb",
    "query itp.gpu_hours": "duckdb",
    "sql select 1": "duckdb",
    "sql select count(*) from itp.job": "duckdb",
    "sql select max(run_s) from itp.job": "duckdb",
}
# Lines and columns of the terminal, which is long enough for no pager.
SIZE = (500, 100)

Costs = tuple[float, float]
"""Seconds of wall time, and of processor time."""


def in_pipe(command: Sequence[str], environ: Mapping[str, str]) -> Costs:
    """What a command costs that writes to a pipe. Raises SystemExit where it fails."""
    start_s = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ) as process:
        assert process.stdout
        process.stdout.read()
        return _ended(process, start_s)


def on_terminal(command: Sequence[str], environ: Mapping[str, str]) -> Costs:
    """What a command costs that writes to a terminal. Raises SystemExit where it fails."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    start_s = time.perf_counter()
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environ) as process:
        os.close(its)
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:
            # So Linux tells that nobody has the terminal any more.
            pass
        os.close(ours)
        return _ended(process, start_s)


def _ended(process: subprocess.Popen, start_s: float) -> Costs:
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {process.args}")
    return wall_s, usage.ru_utime + usage.ru_stime


def measured(warehouse: Path, rounds: int) -> list[Row]:
    """The costs of each command and of the two imports, round by round, after one that does not count."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"TRACES_WAREHOUSE": str(warehouse), "TERM": "xterm-256color", "TRACES_PAGER": ""}
    runs = {name: (in_pipe, line) for name, line in IMPORTS.items()}
    for name in COMMANDS:
        words = name.split(" ", 1) if name.startswith("sql") else name.split()
        runs |= {name: (in_pipe, traces(*words)), f"{name}, terminal": (on_terminal, traces(*words))}
    costs: dict[str, list[Costs]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        # The order alternates, so that no command always runs after the same one.
        for name, (run, line) in list(runs.items())[:: 1 if number % 2 else -1]:
            found = run(line, environ)
            if number:
                costs[name].append(found)
        print(f"round {number}", file=sys.stderr, flush=True)
    return [_row(name, costs) for name in runs if name not in IMPORTS]


def _row(name: str, costs: Mapping[str, Sequence[Costs]]) -> Row:
    beside = COMMANDS[name.removesuffix(", terminal")]
    seconds = {}
    for label, found in (("command", costs[name]), (beside, costs[beside])):
        seconds[label] = [wall_s for wall_s, _ in found]
        seconds[f"{label} cpu"] = [cpu_s for _, cpu_s in found]
    return Row(name, seconds)


def main() -> None:
    """Measure in turns, and write the table and its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--raw", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        raw = options.raw or folder / "raw"
        if not options.raw:
            subprocess.run(traces("sample", "itp", "openb", "--out", raw), check=True)
        warehouse = folder / "warehouse"
        subprocess.run([str(TRACES), "ingest", "--raw", str(raw), "--warehouse", str(warehouse)], check=True)
        rows = measured(warehouse, options.rounds)
    facts = [
        environment(*PACKAGES),
        f"medians of {options.rounds} rounds in turns; `duckdb` and `typer` are the import of it alone, "
        "`cpu` is processor time",
        f"load of the machine at the end: {os.getloadavg()[0]:.1f} processes on {os.cpu_count()} cores",
    ]
    print(write("startup", "What it costs to start", rows, GOALS, facts))


if __name__ == "__main__":
    main()

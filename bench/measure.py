"""Run commands in processes, compare their costs with goals, and write the results as a table.

    lines = [Line("query openb.phases / import duckdb", 2.1, "", AtMost(2.8), "172 and 80 ms")]
    write("startup", "Cost of a start", ["medians of 7 rounds"], {"in a pipe": lines})

writes bench/startup.txt, and returns the text.
"""

import argparse
import datetime as dt
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
TRACES = Path(sysconfig.get_path("scripts")) / "traces"
PACKAGES = ("duckdb", "polars", "pyarrow", "typer")


@dataclass(frozen=True)
class AtMost:
    """A goal that a number reaches if it is at most the limit."""

    limit: float

    def __str__(self) -> str:
        return f"≤ {self.limit:g}"

    def is_met(self, value: float) -> bool:
        """Return whether an unrounded number reaches the goal."""
        return value <= self.limit


@dataclass(frozen=True)
class AtLeast(AtMost):
    """A goal that a number reaches if it is at least the limit."""

    def __str__(self) -> str:
        return f"≥ {self.limit:g}"

    def is_met(self, value: float) -> bool:
        """Return whether an unrounded number reaches the goal."""
        return value >= self.limit


@dataclass(frozen=True)
class Line:
    """A measured number, its goal if it has one, and the numbers that it was computed from."""

    what: str
    value: float
    unit: str
    goal: AtMost | None = None
    basis: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return what is measured, the value, the goal, whether it is reached, and the basis."""
        value = f"{self.value:,.2f} {self.unit}".strip()
        if self.goal is None:
            return self.what, value, "", "", self.basis
        verdict = "reached" if self.goal.is_met(self.value) else "missed"
        return self.what, value, str(self.goal), verdict, self.basis


@dataclass(frozen=True)
class Cost:
    """The cost of one process.

    `ready_s` is the wall time until an ingest reported that it can be queried, or 0 without such a report.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    ready_s: float = 0.0


def argument_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a benchmark's module docstring."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)


def traces(*arguments: object) -> list[str]:
    """Return a command line of `traces`."""
    return [str(TRACES), *map(str, arguments)]


def cost_of(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Cost:
    """Run a command without a terminal, and return its cost. Raises SystemExit if the command fails."""
    start_s = time.perf_counter()
    ready_s = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", env=environ
    ) as process:
        assert process.stderr
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith(("Ready to query", "You can query now")):
                ready_s = time.perf_counter() - start_s
        cost = wait_for(process, start_s)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}\n{''.join(lines)}")
    return replace(cost, ready_s=ready_s)


def wait_for(process: subprocess.Popen, start_s: float) -> Cost:
    """Wait for the end of a process that started at `start_s`, and return its cost."""
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start_s
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def costs_in_rounds(
    commands: Mapping[str, Sequence[str]], rounds: int, outputs: Mapping[str, Path]
) -> dict[str, Cost]:
    """Run all commands once per round, and return the median cost of each, without the first round.

    The first round is a warm-up. The output of a command is a folder, which is emptied before it runs.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            if name in outputs:
                shutil.rmtree(outputs[name], ignore_errors=True)
                outputs[name].mkdir(parents=True)
            # Flush pending writes, which would slow the command down.
            os.sync()
            cost = cost_of(command)
            report(f"round {number}: {name} {cost.wall_s:.2f} s")
            if number:
                costs[name].append(cost)
    return {name: median_cost(found) for name, found in costs.items()}


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the median of each number. Without a report, `ready_s` is the wall time."""
    return Cost(
        wall_s=statistics.median(cost.wall_s for cost in costs),
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        peak_mb=statistics.median(cost.peak_mb for cost in costs),
        ready_s=statistics.median(cost.ready_s or cost.wall_s for cost in costs),
    )


def peak_mb() -> float:
    """Return the peak memory of this process in MB.

    On Linux, ru_maxrss includes the memory of the process that started this one.
    """
    [kilobytes] = re.findall(
        r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(encoding="utf-8"), re.M
    )
    return int(kilobytes) / 1024


def sample(trace: str, folder: Path, scale: float, *options: object) -> Path:
    """Write a trace's synthetic sample, and return its folder."""
    cost_of(traces("sample", trace, "--out", folder, "--scale", scale, *options))
    return folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove it at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def bytes_below(folder: Path) -> int:
    """Return the total size in bytes of the Parquet files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def report(text: str) -> None:
    """Print a line about the progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def write(name: str, title: str, facts: Sequence[str], sections: Mapping[str, Sequence[Line]]) -> str:
    """Write a title, the machine, facts and a table to `bench/<name>.txt`, and return the text.

    `sections` are the lines of the table by heading.
    """
    load = f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    text = "\n".join([title, _environment(), *facts, load, "", *table(sections), ""])
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    return text


def table(sections: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """Yield the lines of a text table: a heading for each section, and a row for each measured number."""
    head: tuple[str, ...] = ("", "measured", "goal", "", "from")
    cells = {title: [line.cells() for line in lines] for title, lines in sections.items()}
    rows = [head, *(row for found in cells.values() for row in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    for title, found in {"": [head], **cells}.items():
        if title:
            yield title
        for row in found:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()


def _environment() -> str:
    """Return one line with the machine, the versions of Python and of packages, and the date."""
    models = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, "
        f"{platform.system()}; Python {platform.python_version()}, {versions}; "
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    )

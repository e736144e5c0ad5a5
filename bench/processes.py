"""Run commands in processes, and measure wall time, processor time and peak memory."""

import argparse
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracehouse.bench.measure import Row

TRACES = Path(sysconfig.get_path("scripts")) / "traces"


@dataclass(frozen=True)
class Cost:
    """The cost of one process.

    `ready_s` is the wall time until an ingest reported that it can be queried, 0 without such a report.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    ready_s: float = 0.0


def argument_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a benchmark's module docstring."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command and return its cost. Raises SystemExit if the command fails."""
    start_s = time.perf_counter()
    ready_s = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("Ready to query"):
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


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the median of each number. Without a report, `ready_s` is the wall time."""
    return Cost(
        wall_s=statistics.median(cost.wall_s for cost in costs),
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        peak_mb=statistics.median(cost.peak_mb for cost in costs),
        ready_s=statistics.median(cost.ready_s or cost.wall_s for cost in costs),
    )


def wall_seconds(costs: Mapping[str, Sequence[Cost]]) -> dict[str, list[float]]:
    """Return the wall time of each command in each round."""
    return {name: [cost.wall_s for cost in found] for name, found in costs.items()}


def cost_row(name: str, seconds: Mapping[str, Sequence[float]], costs: Mapping[str, Sequence[Cost]]) -> Row:
    """Return a row with the median peak memory of each command, and a note with its processor seconds."""
    medians = {label: median_cost(found) for label, found in costs.items()}
    peak_mb = {label: cost.peak_mb for label, cost in medians.items()}
    cpu = ", ".join(f"{label} {cost.cpu_s:.1f}" for label, cost in medians.items())
    return Row(name, seconds, peak_mb, f"processor seconds: {cpu}")


def costs_in_turns(
    commands: Mapping[str, Sequence[str]], rounds: int, label: str, outputs: Mapping[str, Sequence[Path]]
) -> dict[str, list[Cost]]:
    """Run all commands once per round, and return the costs by name, without those of the first round.

    The first round is a warm-up. The `outputs` of a command are folders, which are emptied before it runs.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            for folder in outputs.get(name, ()):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
            # Flush pending writes, which would slow the command down.
            os.sync()
            cost = cost_of(command)
            print(f"{label}, round {number}: {name} {cost.wall_s:.2f} s", file=sys.stderr, flush=True)
            if number:
                costs[name].append(cost)
    return costs


def traces(*arguments: object) -> list[str]:
    """Return a command line of `traces`."""
    return [str(TRACES), *map(str, arguments)]


def baseline(name: str, *arguments: object) -> list[str]:
    """Return the command line of a function of `tracehouse.bench.baselines`."""
    return [sys.executable, "-m", "tracehouse.bench.baselines", name, *map(str, arguments)]


def sample(trace: str, folder: Path, scale: float, *options: object) -> Path:
    """Write a trace's synthetic sample, and return its folder."""
    cost_of(traces("sample", trace, "--out", folder, "--scale", scale, *options))
    return folder


def call_in_process(function: Callable[[Path], None], folder: Path) -> None:
    """Call a function in a process of its own. Raises SystemExit if it fails.

    Linux adds the memory of this process to the peaks of the commands that it starts.
    """
    process = multiprocessing.get_context("spawn").Process(target=function, args=(folder,))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"failed: {function.__name__}")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove it at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def bytes_below(folder: Path, part_of_name: str) -> int:
    """Return the total size in bytes of the files below a folder whose names contain `part_of_name`."""
    return sum(path.stat().st_size for path in folder.rglob(f"*{part_of_name}*") if path.is_file())


def verdict(is_met: bool) -> str:
    """Return `reached` or `missed`."""
    return "reached" if is_met else "missed"

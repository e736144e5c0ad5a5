"""What a whole process costs: seconds, processor seconds and peak memory."""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TRACES = Path(sysconfig.get_path("scripts")) / "traces"


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command to its end, and say what it took. Raises SystemExit where it fails."""
    start_s = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(time.perf_counter() - start_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def costs_in_turns(
    commands: dict[str, Sequence[str]], rounds: int, label: str, empty: Sequence[Path] = ()
) -> dict[str, list[Cost]]:
    """What each command costs in every round, after one round that does not count.

    Folders to `empty` are emptied before each command.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            for folder in empty:
                emptied(folder)
            cost = cost_of(command)
            print(f"{label}, round {number}: {name} {cost.wall_s:.2f} s", file=sys.stderr, flush=True)
            if number:
                costs[name].append(cost)
    return costs


def traces(*arguments: object) -> list[str]:
    """The command line `traces`."""
    return [str(TRACES), *map(str, arguments)]


def contender(name: str, *arguments: object) -> list[str]:
    """A module of `tracehouse.bench.ingests`, run as a process."""
    return [sys.executable, "-m", f"tracehouse.bench.ingests.{name}", *map(str, arguments)]


def emptied(folder: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Flush what the command before has left to be written, which would slow the next one down.
    os.sync()
    return folder


def bytes_below(folder: Path, part_of_name: str) -> int:
    """The size in bytes of all files below a folder whose names hold `part_of_name`."""
    return sum(path.stat().st_size for path in folder.rglob(f"*{part_of_name}*") if path.is_file())


def verdict(is_met: bool) -> str:
    """A goal's outcome in a word."""
    return "reached" if is_met else "missed"

"""What an ingest costs, beside pandas: the same synthetic dump, side by side, in turns.

Prints the median wall time and peak memory of each whole process over five rounds, and the ratio. The pandas
side does what people do today: read every CSV from its archive, and write it as Parquet.

    python bench/ingest.py [TRACE] [SCALE]      (defaults: pai 0.1)
"""

import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROUNDS = 5
TRACES = Path(sysconfig.get_path("scripts")) / "traces"

PANDAS = """
import glob, io, os, sys, tarfile
import pandas as pd

class Parts(io.RawIOBase):
    def __init__(self, paths):
        self.paths, self.file = list(paths), None
    def readable(self):
        return True
    def readinto(self, buffer):
        while self.file or self.paths:
            self.file = self.file or open(self.paths.pop(0), "rb")
            count = self.file.readinto(buffer)
            if count:
                return count
            self.file = None
        return 0

raw, out = sys.argv[1:]
archives = {}
for path in sorted(glob.glob(f"{raw}/**/*.tar.gz*", recursive=True)):
    archives.setdefault(path.split(".tar.gz")[0], []).append(path)
for stem, paths in archives.items():
    header = f"{stem}.header"
    names = open(header).read().strip().split(",") if os.path.exists(header) else None
    with tarfile.open(fileobj=io.BufferedReader(Parts(paths)), mode="r|gz") as tar:
        for number, member in enumerate(tar):
            if member.name.endswith(".csv") and not os.path.basename(member.name).startswith("._"):
                frame = pd.read_csv(tar.extractfile(member), names=names)
                frame.to_parquet(f"{out}/{os.path.basename(stem)}.{number}.parquet", compression="zstd")
"""


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    wall_s: float
    peak_mb: float


def cost(command: Sequence[str]) -> Cost:
    """Run a command to its end, and say what it took. Raises SystemExit where it fails."""
    start_s = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command[:3])}")
    return Cost(time.perf_counter() - start_s, usage.ru_maxrss / 1024)


def main() -> None:
    """Measure, and print the table."""
    trace = sys.argv[1] if len(sys.argv) > 1 else "pai"
    scale = sys.argv[2] if len(sys.argv) > 2 else "0.1"
    with tempfile.TemporaryDirectory() as folder:
        raw = f"{folder}/raw"
        subprocess.run([str(TRACES), "sample", trace, "--out", raw, "--scale", scale], check=True)
        ours, pandas = [], []
        for number in range(ROUNDS + 1):
            warehouse, out = f"{folder}/warehouse{number}", f"{folder}/pandas{number}"
            Path(out).mkdir()
            ours.append(cost([str(TRACES), "ingest", "--raw", raw, "--warehouse", warehouse]))
            pandas.append(cost([sys.executable, "-c", PANDAS, raw, out]))
    print(f"\n{trace} at scale {scale}, {ROUNDS} rounds after a warm-up; {platform.machine()}, ", end="")
    print(f"{os.cpu_count()} cores, duckdb {version('duckdb')}, pandas {version('pandas')}")
    for name, costs in (("traces ingest", ours[1:]), ("pandas", pandas[1:])):
        wall_s = statistics.median(c.wall_s for c in costs)
        peak_mb = statistics.median(c.peak_mb for c in costs)
        print(f"{name:15} {wall_s:8.2f} s {peak_mb:8.0f} MB")
    ratios = [b.wall_s / a.wall_s for a, b in zip(ours[1:], pandas[1:], strict=True)]
    print(f"pandas takes {statistics.median(ratios):.2f} times as long (median of the rounds)")


if __name__ == "__main__":
    main()

"""Queueing delays of a workload whose schedule is computed by hand."""

import csv
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tracehouse.bench import policy_baseline

GPUS = 4
# Submission, run time, GPUs. The second job needs all GPUs. The third fits before it, the fourth does not.
JOBS = [(0, 100, 3), (1, 50, 4), (2, 50, 1), (3, 200, 1)]


def swf_line(number: int, submit_s: int, run_s: int, gpus: int) -> list[str]:
    return f"{number} {submit_s} -1 {run_s} {gpus} -1 -1 {gpus} -1 -1 1 1 -1 -1 -1 1 -1 -1".split()


@pytest.mark.parametrize(
    ("policy", "waits"), [("FIFO", [0, 99, 148, 147]), ("conservative", [0, 99, 0, 147])]
)
def test_delays_of_small_workload(policy: str, waits: list[int], tmp_path: Path) -> None:
    jobs = [swf_line(number, *job) for number, job in enumerate(JOBS, 1)]
    assert sorted(policy_baseline.simulate(jobs, GPUS, policy, tmp_path)) == sorted(waits)


def test_command_compares_policies(sample_warehouse: Path) -> None:
    python = Path(sysconfig.get_path("scripts")) / "python"
    command = [python, "-m", "tracehouse.bench.policy_baseline", "helios", "--warehouse", sample_warehouse]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [row for row in csv.DictReader(done.stdout.splitlines()) if row["cluster"] == "all"]
    assert [row["policy"] for row in rows] == ["measured", "FIFO", "conservative"]
    assert all(int(row["jobs"]) > 100 and float(row["mean_wait_s"]) >= 0 for row in rows)

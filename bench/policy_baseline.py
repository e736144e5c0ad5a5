"""Simulate the queueing delay that simple policies would give the jobs of a trace.

    python -m tracehouse.bench.policy_baseline TRACE [--cluster NAME]... [--warehouse DIR]

The jobs come from `traces export swf`. The simulator is AccaSim, which is in the extra `dev`. The GPUs of a
partition in `unified.capacity` are one pool. The simulation ignores machines, so delays are lower bounds.

FIFO starts jobs in the order of their submission. Conservative backfilling lets a job start earlier if that
delays no job before it; it knows the exact run times. `measured` are the delays that the trace records. Jobs
without a run time, or with more GPUs than their partition, are not simulated; the output counts them.
"""

import argparse
import collections
import collections.abc
import csv
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tracehouse.bench.processes import temporary_folder
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.publish.simulators import swf
from tracehouse.publish.simulators.export import LIMITS, export

# AccaSim was written for Python before 3.10, where `collections` had this name.
collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.scheduler_class import FirstInFirstOut, SchedulerBase  # noqa: E402
from accasim.base.simulator_class import Simulator  # noqa: E402

PERCENTILES = {"median_wait_s": 50, "p90_wait_s": 90, "p95_wait_s": 95, "p99_wait_s": 99}
COLUMNS = ["cluster", "partition", "gpus", "jobs", "left_out_jobs", "policy", "mean_wait_s", *PERCENTILES]

# Positions of a job's fields in SWF.
_WAIT, _RUN, _REQUESTED, _REQUESTED_TIME = 2, 3, 7, 8
Jobs = Sequence[Sequence[str]]
"""Lines of an SWF file, as fields."""
Partition = tuple[str, str]
"""The names of a cluster and of one of its partitions; empty if the trace has none."""


class ConservativeBackfilling(SchedulerBase):
    """Reserve for each waiting job, in the order of submission, the first time at which it fits.

    AccaSim's own backfilling ignores its reservation, so that later jobs delay the first waiting one.
    """

    name = "conservative backfilling"

    def __init__(self) -> None:
        super().__init__(0, None)

    def get_id(self) -> str:
        """Name the policy in AccaSim's output."""
        return self.name

    def scheduling_method(self, cur_time: int, jobs: Sequence[Any], es_dict: Mapping[str, Any]) -> tuple:
        """Return (start, id, nodes) of each job, and an empty list of rejected jobs.

        A job that cannot start now has None as start, and no nodes.
        """
        [node] = self.resource_manager.node_names
        ends = [
            (es_dict[number].start_time + es_dict[number].expected_duration, used[node]["core"])
            for number, used in self.resource_manager.current_allocations.items()
        ]
        pool = FreeGpus(cur_time, self.resource_manager.current_availability[node]["core"], ends)
        plan: list[tuple] = []
        for job in sorted(jobs, key=lambda job: job.queued_time):
            gpus = job.requested_nodes
            if pool.reserve(gpus, job.expected_duration) == cur_time:
                plan.append((cur_time, job.id, [node] * gpus))
            else:
                plan.append((None, job.id, []))
        return plan, []


class FreeGpus:
    """The number of free GPUs in a pool over time; `ends` are the ends and the GPUs of the running jobs."""

    def __init__(self, now: int, free: int, ends: Iterable[tuple[int, int]]) -> None:
        self._free = {now: free}
        for time, gpus in sorted(ends):
            free += gpus
            self._free[time] = free

    def reserve(self, gpus: int, duration_s: int) -> int:
        """Reserve GPUs for the first period of `duration_s` in which they are free, and return its start."""
        times = sorted(self._free)
        start = times[-1]
        is_free = False
        for time in times:
            if is_free and time >= start + duration_s:
                break
            if self._free[time] < gpus:
                is_free = False
            elif not is_free:
                start, is_free = time, True
        end = start + duration_s
        self._free.setdefault(end, self._free[max(time for time in times if time <= end)])
        for time in self._free:
            if start <= time < end:
                self._free[time] -= gpus
        return start


POLICIES = {"FIFO": lambda: FirstInFirstOut(FirstFit()), "conservative": ConservativeBackfilling}


def main() -> None:
    """Print a table of queueing delays as CSV."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--cluster", action="append", default=[])
    parser.add_argument("--warehouse", type=Path, default=Path("warehouse"))
    arguments = parser.parse_args()
    table = csv.DictWriter(sys.stdout, COLUMNS)
    table.writeheader()
    with temporary_folder() as folder:
        table.writerows(compare(arguments.warehouse, arguments.trace, arguments.cluster, folder))


def compare(
    warehouse: Path, trace: str, clusters: Sequence[str], folder: Path
) -> Iterator[dict[str, object]]:
    """Yield rows of queueing delays, measured and by policy, for each partition and for all together."""
    export(warehouse, LIMITS, trace, clusters, swf.build_format(1), folder / "export")
    capacity = _read_capacity(warehouse, trace)
    every_wait: dict[str, list[float]] = {}
    totals = {"cluster": "all", "partition": "all", "gpus": 0, "jobs": 0, "left_out_jobs": 0}
    for (cluster, partition), jobs in _read_partitions(folder / "export").items():
        gpus = capacity.get((cluster, partition), 0)
        counted = [job for job in jobs if int(job[_RUN]) > 0 and 0 < int(job[_REQUESTED]) <= gpus]
        facts = {"gpus": gpus, "jobs": len(counted), "left_out_jobs": len(jobs) - len(counted)}
        totals |= {name: int(totals[name]) + count for name, count in facts.items()}
        waits = {"measured": [float(job[_WAIT]) for job in counted if int(job[_WAIT]) >= 0]}
        waits |= {policy: simulate(counted, gpus, policy, folder) for policy in POLICIES if counted}
        for policy, found in waits.items():
            every_wait.setdefault(policy, []).extend(found)
            if found:
                named = {"cluster": cluster, "partition": partition, **facts, "policy": policy}
                yield named | _describe(found)
    for policy, found in every_wait.items():
        if found:
            yield totals | {"policy": policy, **_describe(found)}


def simulate(jobs: Jobs, gpus: int, policy: str, folder: Path) -> list[float]:
    """Return how many seconds each job waits in a pool of GPUs under a policy, in any order."""
    workload, system = folder / "workload.swf", folder / "system.json"
    with workload.open("w") as file:
        for job in jobs:
            known = [*job[:_REQUESTED_TIME], job[_RUN], *job[_REQUESTED_TIME + 1 :]]
            file.write(" ".join(known) + "\n")
    system.write_text(
        json.dumps(
            {
                "system_name": "pool",
                "start_time": 0,
                "groups": {"pool": {"core": gpus}},
                "resources": {"pool": 1},
                "equivalence": {"processor": {"core": 1}},
            }
        )
    )
    logging.disable(logging.INFO)
    results = folder / "results"
    simulator = Simulator(
        str(workload),
        str(system),
        POLICIES[policy](),
        RESULTS_FOLDER_NAME=str(results),
        statistics_output=False,
        show_statistics=False,
    )
    [plan] = simulator.start_simulation().values()
    return [_wait(line) for line in Path(plan).read_text().splitlines()]


def _wait(line: str) -> float:
    """Return the wait (s) in a line of AccaSim's plan: `number;user;submission__allocation#__start;end;…`."""
    head, _, tail = line.partition("#__")
    submitted = head.split(";")[2].partition("__")[0]
    started = tail.split(";")[0]
    return (datetime.fromisoformat(started) - datetime.fromisoformat(submitted)).total_seconds()


def _describe(waits: Sequence[float]) -> dict[str, float]:
    found = {name: float(np.percentile(waits, percentile)) for name, percentile in PERCENTILES.items()}
    return {name: round(value, 1) for name, value in {"mean_wait_s": float(np.mean(waits)), **found}.items()}


def _read_partitions(folder: Path) -> dict[Partition, list[list[str]]]:
    """Read the jobs of an export, grouped by partition."""
    with (folder / "job_numbers.csv").open() as file:
        partitions = {
            row["job_number"]: (row["cluster"], row["partition_name"]) for row in csv.DictReader(file)
        }
    found: dict[Partition, list[list[str]]] = {}
    for line in (folder / "jobs.swf").read_text().splitlines():
        if not line.startswith(";"):
            found.setdefault(partitions[line.split()[0]], []).append(line.split())
    return dict(sorted(found.items()))


def _read_capacity(warehouse: Path, trace: str) -> dict[Partition, int]:
    """Read the number of GPUs of each partition, if the trace states it."""
    with sandbox.connect(warehouse) as connection:
        rows = connection.execute(
            """
            select coalesce(cluster, ''), coalesce(partition_name, ''), cast(sum(gpus) as bigint)
            from unified.capacity where trace = $trace group by all
            """,
            {"trace": trace},
        ).fetchall()
    return {(cluster, partition): gpus for cluster, partition, gpus in rows}


if __name__ == "__main__":
    main()

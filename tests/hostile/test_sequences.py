"""Run random sequences of operations on a warehouse, and compare it with a model after each operation."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import hypothesis
import pytest
from counting import Count
from hostile.defects import DEFECTS
from hostile.dumps import raw_folder
from hostile.test_kills import mount
from hostile.warehouse_machine import DISK_MB, SEQUENCES_RUN, WarehouseMachine
from hostile.warehouse_model import FILES, HALF, VERSIONS, bytes_of
from hostile.warehouse_worker import Worker
from hostile_tests import TRY_ALL
from hypothesis import HealthCheck, Phase
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test
from random_seed import DEPTH, seeds

# Without the start, which Hypothesis counts as a step.
OPERATIONS = 8
# Hypothesis runs up to a quarter more. At depth 10, 20 tests run 10,000 sequences.
SEQUENCES = 400 if DEPTH > 1 else 100 if TRY_ALL else 5
# This many sequences suffice to find each defect.
SEQUENCES_TO_FIND = 600
FOUND_SOON = ("forget_leaves_views",)


@contextmanager
def machine_in(folder: Path) -> Iterator[type[WarehouseMachine]]:
    """Create a state machine with a worker process and a small disk.

    Before each sequence, all files have their first version.
    """
    disk, prepared = folder / "disk", folder / "prepared"
    disk.mkdir()
    prepared.mkdir()
    is_small_disk = not mount(disk, f"size={DISK_MB}m")
    worker = Worker()
    try:
        # Prepare them at the paths that the machine uses: a database contains the path of its folder.
        raw = raw_folder(disk / "raw")
        for file in FILES:
            (raw / file).parent.mkdir(parents=True, exist_ok=True)
            (raw / file).write_bytes(bytes_of(file, VERSIONS[0]))
            os.utime(raw / file, (0, 0))
        run = worker.run(f"ingest --raw {raw} --warehouse {disk / 'warehouse'}")
        assert (run.code, run.errors) == (0, [])
        for path in (raw, disk / "warehouse"):
            subprocess.run(["mv", path, prepared], check=True)
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("set timezone = 'UTC'")
            attributes = {"worker": worker, "connection": connection, "folder": disk, "prepared": prepared}
            attributes |= {"is_small_disk": is_small_disk, "counts": Counter()}
            yield type("Machine", (WarehouseMachine,), attributes)
    finally:
        worker.close()
        if is_small_disk:
            subprocess.run(["umount", disk], check=True)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[WarehouseMachine]]:
    with machine_in(tmp_path_factory.mktemp("sequences")) as machine:
        yield machine


def run_sequences(
    machine: type[WarehouseMachine], seed: int, sequences: int, phases: Sequence[Phase]
) -> None:
    machine.counts = Counter()
    run_state_machine_as_test(
        hypothesis.seed(seed)(machine),
        settings=hypothesis.settings(
            max_examples=sequences,
            stateful_step_count=OPERATIONS + 1,
            suppress_health_check=list(HealthCheck),
            phases=phases,
        ),
    )


@pytest.mark.parametrize("seed", seeds(2 if DEPTH > 1 else 1))
def test_sequences(seed: int, machine: type[WarehouseMachine], count: Count) -> None:
    run_sequences(machine, seed, SEQUENCES, (Phase.generate, Phase.shrink))
    for kind, tried in machine.counts.items():
        count(kind, tried)


def test_refused_archive_repairs_files_of_its_first_table(machine: type[WarehouseMachine]) -> None:
    state = machine()
    state.start(is_new=False, is_calm=False)
    state.ingest(changes={"jobs/pair.tar.gz": VERSIONS[1]}, disturbance=None)
    state.damage_parquet(folder="parquet", kind="cut", number=1)
    state.ingest(changes={"jobs/pair.tar.gz": HALF, "jobs/tasks_b.csv.gz": VERSIONS[1]}, disturbance=None)
    state.warehouse_equals_model()
    state.teardown()


@pytest.mark.parametrize("defect", DEFECTS if TRY_ALL else FOUND_SOON)
def test_finds_defect(
    defect: str, machine: type[WarehouseMachine], count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.worker, "defect", defect)
    # When Hypothesis repeats a sequence, two threads may reach the kill in another order.
    with pytest.raises((AssertionError, FlakyFailure)):
        run_sequences(machine, 1, SEQUENCES_TO_FIND, (Phase.generate,))
    count("defects that random sequences find", 1)
    count("sequences until they are found", machine.counts[SEQUENCES_RUN])

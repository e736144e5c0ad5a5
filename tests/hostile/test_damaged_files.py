"""Flip single bits in Parquet files: `traces check --files` names exactly the damaged files."""

import random
import shutil
from pathlib import Path

from command_line import Server
from counting import Count
from hostile.expectations import fail_with, manifest
from hostile_tests import TRY_ALL

BATCHES = 8 if TRY_ALL else 1


def flip_a_bit(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def check_faults(warehouse: Path, damaged: list[str], server: Server) -> list[str]:
    """Return the damaged files that the check does not name, and the undamaged files that it names."""
    run = server.run("check", "--files", "--warehouse", warehouse)
    output = run.stdout + run.stderr
    wrong = [f"{path} is not named" for path in damaged if path not in output]
    wrong += [f"{path} is named" for path in manifest(warehouse) if path in output and path not in damaged]
    return run.faults(codes=[1 if damaged else 0]) + wrong


def test_check_names_no_file_of_an_undamaged_warehouse(old_warehouse: Path, server: Server) -> None:
    assert check_faults(old_warehouse, [], server) == []


def test_check_names_exactly_the_files_with_a_flipped_bit(
    old_warehouse: Path, server: Server, tmp_path: Path, count: Count
) -> None:
    found = {}
    for seed in range(BATCHES):
        chance = random.Random(seed)
        warehouse = shutil.copytree(old_warehouse, tmp_path / str(seed))
        paths = [path for path in manifest(warehouse) if path.endswith(".parquet")]
        damaged = chance.sample(paths, chance.randrange(1, len(paths)))
        for path in damaged:
            flip_a_bit(warehouse / path, chance)
        count("bits flipped in Parquet", len(damaged))
        if faults := check_faults(warehouse, damaged, server):
            found[f"seed {seed}"] = faults
    fail_with(found)

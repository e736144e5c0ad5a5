"""Single bits flipped in Parquet: `traces check --files` names each file that was struck."""

import random
import shutil
from pathlib import Path

import pytest
from command_line import Server
from counting import Count
from hostile.expectations import fail_with, manifest
from hostile_tests import TRY_ALL

BATCHES = 8 if TRY_ALL else 1
ALONE = 30 if TRY_ALL else 2


def flip_a_bit(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def unnoticed(warehouse: Path, struck: list[str], server: Server) -> list[str]:
    """Files that were struck and are not named, and others that are; or how the check failed."""
    run = server.run("check", "--files", "--warehouse", warehouse)
    output = run.stdout + run.stderr
    wrong = [f"{path} is not named" for path in struck if path not in output]
    wrong += [f"{path} is named" for path in manifest(warehouse) if path in output and path not in struck]
    return run.faults(codes=[1 if struck else 0]) + wrong


def test_a_whole_warehouse_is_found_whole(old_warehouse: Path, server: Server) -> None:
    assert unnoticed(old_warehouse, [], server) == []


@pytest.mark.parametrize("seed", range(BATCHES))
def test_a_bit_flipped_in_every_file(
    seed: int, old_warehouse: Path, server: Server, tmp_path: Path, count: Count
) -> None:
    chance = random.Random(seed)
    warehouse = shutil.copytree(old_warehouse, tmp_path / "warehouse")
    struck = [path for path in manifest(warehouse) if path.endswith(".parquet")]
    for path in struck:
        flip_a_bit(warehouse / path, chance)
    count("bits flipped in Parquet", len(struck))
    faults = unnoticed(warehouse, struck, server)
    fail_with({f"seed {seed}": faults} if faults else {})


@pytest.mark.parametrize("seed", range(ALONE))
def test_a_bit_flipped_in_one_file(
    seed: int, old_warehouse: Path, server: Server, tmp_path: Path, count: Count
) -> None:
    chance = random.Random(1000 + seed)
    warehouse = shutil.copytree(old_warehouse, tmp_path / "warehouse")
    struck = chance.choice([path for path in manifest(warehouse) if path.endswith(".parquet")])
    flip_a_bit(warehouse / struck, chance)
    count("bits flipped in Parquet", 1)
    faults = unnoticed(warehouse, [struck], server)
    fail_with({f"seed {seed}": faults} if faults else {})

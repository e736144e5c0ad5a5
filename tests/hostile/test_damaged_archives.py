"""Compressed files with random damage: an error names the file, or the damage changes no row."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Server
from counting import Count
from hostile.dumps import ARCHIVED, FORMS, NARROW, UNTOUCHED, WIDE, Form, Place, raw_folder
from hostile.expectations import Refused, Taken, fail_with, opened, problems, unsound
from hostile_tests import TRY_ALL

BATCHES = 34 if TRY_ALL else 1
PLACES: tuple[tuple[Place, tuple[str, ...]], ...] = (
    *((place, ("tar.gz", "parts", "tar.gz", "tar.xz", "csv.zip")) for place in ARCHIVED),
    *((place, ("csv.gz", "csv.xz")) for place in NARROW),
    *((place, ("csv.gz", "csv.xz", "csv.gz", "csv.bz2")) for place in WIDE),
)


def flip_bits(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, len(data))]


def leave_out(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    return data[:start] + data[start + chance.randint(1, 40) :]


def repeat(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    return data[: start + chance.randint(1, 40)] + data[start:]


def overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    length = min(chance.randint(1, 40), len(data) - start)
    return data[:start] + chance.randbytes(length) + data[start + length :]


def zero(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    length = min(chance.randint(1, 40), len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def exchange(data: bytes, chance: random.Random) -> bytes:
    one, two = sorted(chance.sample(range(len(data)), 2))
    length = min(16, two - one, len(data) - two)
    return (
        data[:one]
        + data[two : two + length]
        + data[one + length : two]
        + data[one : one + length]
        + data[two + length :]
    )


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip_bits, flip_bits, flip_bits),
    *(truncate, leave_out, repeat, overwrite, zero, exchange),
)


def write_damaged(place: Place, form: Form, raw: Path, chance: random.Random) -> str:
    """Write a file of which one piece is damaged, and return its name."""
    pieces = form.pieces(place, place.text(place.rows("new")))
    struck = chance.choice(list(pieces))
    name = place.path(form.ending)
    for suffix, data in pieces.items():
        path = raw / (name + suffix)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(chance.choice(DAMAGES)(data, chance) if suffix == struck else data)
    return name


@pytest.mark.parametrize("seed", range(BATCHES))
def test_damaged_archives(seed: int, server: Server, tmp_path: Path, count: Count) -> None:
    chance = random.Random(seed)
    raw, warehouse = raw_folder(tmp_path / "raw"), tmp_path / "warehouse"
    # So that there is a database, however many are refused.
    FORMS["csv"].write(UNTOUCHED, UNTOUCHED.text(UNTOUCHED.rows("new")), raw)
    names = {}
    for number, (place, forms) in enumerate(PLACES):
        form = FORMS[forms[(seed + number) % len(forms)]]
        names[place] = write_damaged(place, form, raw, chance)
    count("damaged archives", len(names))
    run = server.run("ingest", "--raw", raw, "--warehouse", warehouse)
    found = {"the ingest": faults} if (faults := run.faults()) else {}
    if not found:
        with opened(warehouse) as connection:
            for place, name in names.items():
                ways = (Refused(), Taken(place.rows("new")))
                if faults := problems(place, name, ways, {}, run, connection):
                    found[f"{name}, seed {seed}"] = faults
            if faults := unsound(connection, warehouse):
                found["the warehouse"] = faults
    shutil.rmtree(tmp_path)
    fail_with(found)

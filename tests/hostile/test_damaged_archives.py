"""Compressed files with random damage: an error names the file, or the damage changes no row."""

import random
import shutil
from pathlib import Path

import pytest
from command_line import Server
from counting import Count
from hostile.dumps import ARCHIVED, FORMS, NARROW, UNTOUCHED, WIDE, Form, Place, raw_folder
from hostile.expectations import Refused, Taken, fail_with, opened, problems, unsound
from hostile.mutations import DAMAGES
from hostile_tests import TRY_ALL

BATCHES = 34 if TRY_ALL else 1
PLACES: tuple[tuple[Place, tuple[str, ...]], ...] = (
    *((place, ("tar.gz", "parts", "tar.gz", "tar.xz", "csv.zip")) for place in ARCHIVED),
    *((place, ("csv.gz", "csv.xz")) for place in NARROW),
    *((place, ("csv.gz", "csv.xz", "csv.gz", "csv.bz2")) for place in WIDE),
)


def write_damaged(place: Place, form: Form, raw: Path, chance: random.Random) -> str:
    """Write a file or its parts with one damaged part, and return the name of the file."""
    pieces = form.pieces(place, place.text(place.rows("new")))
    damaged = chance.choice(list(pieces))
    name = place.path(form.ending)
    for suffix, data in pieces.items():
        path = raw / (name + suffix)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(chance.choice(DAMAGES)(data, chance) if suffix == damaged else data)
    return name


@pytest.mark.parametrize("seed", range(BATCHES))
def test_damaged_archives(seed: int, server: Server, tmp_path: Path, count: Count) -> None:
    chance = random.Random(seed)
    raw, warehouse = raw_folder(tmp_path / "raw"), tmp_path / "warehouse"
    # A valid file, so that ingest builds a database even if it refuses all others.
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

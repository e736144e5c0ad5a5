"""Folders with one damaged file for each table: ingest rejects or reads it, and does not change other tables.

Many cases share an ingest, because hundreds of ingests would take hours. If an ingest fails as a whole, the
test tries its cases one by one to name the case that causes the failure.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_line import Run, Server, by_itself
from counting import Count
from hostile.broken_input import all_cases
from hostile.cases import Case, rounds
from hostile.dumps import FORMS, UNTOUCHED, Place, Rows, raw_folder
from hostile.expectations import Taken, Way, fail_with, opened, problems, unsound
from hostile_tests import TRY_ALL

ROUNDS = rounds(all_cases())
# Round 0 has a case for every place.
IN_PART = (0, 9)
# These rounds run the installed command in its own process, as users do.
BY_ITSELF = (0, 1, 2, 3)


@pytest.mark.parametrize("number", range(len(ROUNDS)) if TRY_ALL else IN_PART)
def test_broken_input(number: int, old_warehouse: Path, server: Server, tmp_path: Path, count: Count) -> None:
    cases = ROUNDS[number]
    count("kinds of broken input", len(cases))
    traces = by_itself if number in BY_ITSELF else server.run
    found, failed_whole = ingest_cases(cases, old_warehouse, traces, tmp_path / "all")
    if failed_whole and len(cases) > 1:
        found = {"the ingest of all": failed_whole} | {
            case.name: faults
            for n, (case, place) in enumerate(cases)
            for faults in [ingest_one((case, place), old_warehouse, server, tmp_path / str(n))]
            if faults
        }
    fail_with(found)


def ingest_one(case: tuple[Case, Place], old_warehouse: Path, server: Server, folder: Path) -> list[str]:
    found, failed_whole = ingest_cases([case], old_warehouse, server.run, folder)
    return failed_whole + [fault for faults in found.values() for fault in faults]


def ingest_cases(
    cases: Sequence[tuple[Case, Place]], old_warehouse: Path, traces: Callable[..., Run], folder: Path
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the faults of each case, and the faults of the ingest as a whole."""
    raw, warehouse = raw_folder(folder / "raw"), folder / "warehouse"
    shutil.copytree(old_warehouse, warehouse)
    FORMS["csv"].write(UNTOUCHED, UNTOUCHED.text(UNTOUCHED.rows("new")), raw)
    allowed = {}
    for case, place in cases:
        pieces, allowed[case.name] = case.make(place)
        write_pieces(raw, place.path(case.ending), pieces)
    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    failed_whole = run.faults()
    found: dict[str, list[str]] = {}
    if not failed_whole:
        found, failed_whole = find_faults(cases, allowed, run, warehouse)
    shutil.rmtree(folder)
    return found, failed_whole


def find_faults(
    cases: Sequence[tuple[Case, Place]], allowed: dict[str, Sequence[Way]], run: Run, warehouse: Path
) -> tuple[dict[str, list[str]], list[str]]:
    found: dict[str, list[str]] = {}
    with opened(warehouse) as connection:
        for case, place in cases:
            name = place.path(case.ending)
            faults = problems(place, name, allowed[case.name], place.rows("old"), run, connection)
            if faults:
                found[case.name] = faults
        rows: Rows = UNTOUCHED.rows("new")
        whole = problems(UNTOUCHED, UNTOUCHED.path(".csv"), [Taken(rows)], rows, run, connection)
        whole += unsound(connection, warehouse)
    if (run.code == 1) != bool(run.errors):
        whole.append(f"exit code {run.code} does not match the errors {run.errors}")
    return found, whole


def write_pieces(raw: Path, name: str, pieces: dict[str, bytes]) -> None:
    for suffix, data in pieces.items():
        path = raw / (name + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

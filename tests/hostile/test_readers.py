"""Read a warehouse during a series of ingests: no query fails, and each answer is of one complete version."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import suites
from command_line import Run, Server
from hostile.dumps import FORMS, NARROW, UNTOUCHED, WIDE, raw_folder
from hostile.expectations import fail_with

PLACES = (UNTOUCHED, NARROW[0], WIDE[0])
# The sums of the rows, and the numbers of rows in the catalog.
QUERY = "select " + ", ".join(
    [f"(select sum({place.number}) from {place.table} where {place.picked})" for place in PLACES]
    + [f"(select row_count from catalog.tables where table_name = '{place.table}')" for place in PLACES]
)
# Ten new versions supersede files. Then two versions alternate, so that superseded files are used again.
VERSIONS = (*range(1, 11), *(1, 2) * 5)
WAYS = ("new", "same", "both")
LEAST_ROWS = 60
# An average of two in each ingest: how many more depends on the machine.
FEWEST_READS = 40


def write(version: int, raw: Path) -> None:
    for place in PLACES:
        names = place.names("new", LEAST_ROWS + version)
        rows = {name: float(10_000 + 100 * version + n) for n, name in enumerate(names)}
        FORMS["csv"].write(place, place.text(rows), raw)


def answer(version: int) -> list[float]:
    """Return the answer for a version, which is the same for all tables."""
    rows = LEAST_ROWS + version
    total = float(rows * (10_000 + 100 * version) + sum(range(rows)))
    return [total] * len(PLACES) + [float(rows)] * len(PLACES)


@suites.of("hostile")
@pytest.mark.timeout(900)
def test_readers_during_twenty_ingests(server: Server, tmp_path: Path) -> None:
    raw, warehouse, stop = raw_folder(tmp_path / "raw"), tmp_path / "warehouse", tmp_path / "stop"
    write(0, raw)
    assert server.run("ingest", "--raw", raw, "--warehouse", warehouse).code == 0
    by_command_line: list[Run] = []
    querying = threading.Thread(target=repeat_query, args=(warehouse, stop, by_command_line, tmp_path))
    readers = {way: start(way, warehouse, stop, tmp_path) for way in WAYS}
    querying.start()
    ingests = []
    try:
        # On a busy machine, the first answer may take longer than all ingests.
        while not by_command_line or not all((tmp_path / f"{way}.out").stat().st_size for way in WAYS):
            assert all(reader.poll() is None for reader in readers.values())
            time.sleep(0.1)
        for version in VERSIONS:
            write(version, raw)
            ingests.append(server.run("ingest", "--raw", raw, "--warehouse", warehouse))
    finally:
        stop.touch()
        querying.join()
        codes = {way: reader.wait(120) for way, reader in readers.items()}
    fail_with({f"ingest {n}": faults for n, run in enumerate(ingests, 1) if (faults := run.faults([0]))})
    assert {way: (tmp_path / f"{way}.err").read_text(encoding="utf-8") for way in WAYS} == dict.fromkeys(
        WAYS, ""
    )
    assert codes == dict.fromkeys(WAYS, 0)
    assert [run for run in by_command_line if run.code] == []
    answers = {
        way: [json.loads(line) for line in (tmp_path / f"{way}.out").read_text(encoding="utf-8").splitlines()]
        for way in WAYS
    }
    answers["command line"] = [
        [float(value) for value in run.stdout.splitlines()[1].split(",")] for run in by_command_line
    ]
    whole = [answer(version) for version in range(max(VERSIONS) + 1)]
    assert [(way, a) for way, given in answers.items() for a in given if a not in whole] == []
    # New connections see new versions; an open connection keeps its version.
    for way in ("new", "command line"):
        assert len({tuple(a) for a in answers[way]}) > 1, way
    assert len({tuple(a) for a in answers["same"]}) == 1
    assert sum(map(len, answers.values())) >= FEWEST_READS


def start(way: str, warehouse: Path, stop: Path, folder: Path) -> subprocess.Popen:
    script = Path(__file__).with_name("keep_reading.py")
    with (
        (folder / f"{way}.out").open("w", encoding="utf-8") as out,
        (folder / f"{way}.err").open("w", encoding="utf-8") as err,
    ):
        return subprocess.Popen([sys.executable, script, way, warehouse, stop, QUERY], stdout=out, stderr=err)


def repeat_query(warehouse: Path, stop: Path, runs: list[Run], folder: Path) -> None:
    """Run the query on the command line until the stop file exists, and once more."""
    server, is_last = Server(folder), False
    while not is_last:
        is_last = stop.exists()
        runs.append(server.run("sql", QUERY, "--format", "csv", "--warehouse", warehouse))
    server.close()

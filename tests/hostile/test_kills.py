"""Ingests that are killed or fill the disk.

Afterwards the warehouse has the complete old version or the complete new one. The next ingest gives the same
tables as an ingest without interruption.
"""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from itertools import count as count_from
from pathlib import Path

import pytest
import suites
from command_line import Run, Server
from hostile.dumps import ARCHIVED, FORMS, NARROW, ROW_COUNT, UNTOUCHED, WIDE, raw_folder, write_old
from hostile.expectations import contents, fail_with, manifest, opened, unsound

PLACES = (UNTOUCHED, NARROW[1], ARCHIVED[0], WIDE[0])
# An ingest of these files makes at least this many calls that rename, remove or sync files.
FEWEST_STEPS = 30


@dataclass(frozen=True)
class Versions:
    """Two versions of raw files, with the warehouse and the contents of each."""

    raw: dict[str, Path]
    warehouse: dict[str, Path]
    rows: dict[str, dict[str, list]]
    seconds: float


@pytest.fixture(scope="session")
def versions(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Versions:
    folder = tmp_path_factory.mktemp("versions")
    raw = {version: raw_folder(folder / version) for version in ("old", "new")}
    write_old(raw["old"], PLACES)
    for place in PLACES:
        # Two more rows than the old version. One is rejected, so that there is a file of rejected rows.
        lines = place.lines(place.rows("new", ROW_COUNT + 2))
        lines[-1] = lines[-1].replace(",12406", ",x")
        form = FORMS["tar.gz" if place in ARCHIVED else "csv"]
        form.write(place, "".join(f"{line}\n" for line in lines).encode(), raw["new"])
    warehouse = {"old": folder / "warehouse_old", "new": folder / "warehouse_new"}
    run = server.run("ingest", "--raw", raw["old"], "--warehouse", warehouse["old"])
    assert (run.code, run.stderr) == (0, "")
    shutil.copytree(warehouse["old"], warehouse["new"])
    start = time.monotonic()
    run = server.run("ingest", "--raw", raw["new"], "--warehouse", warehouse["new"])
    seconds = time.monotonic() - start
    assert (run.code, run.stderr) == (0, "")
    rows = {version: dict(contents(warehouse[version], PLACES)) for version in warehouse}
    counts = [len(rows[version][f"{UNTOUCHED.table} true"]) for version in ("old", "new")]
    assert counts == [ROW_COUNT, ROW_COUNT + 1]
    return Versions(raw, warehouse, rows, seconds)


def find_faults(warehouse: Path, versions: Versions, may_be_missing: bool) -> list[str]:
    """Return the faults after an interrupted ingest. The warehouse must have exactly one complete version."""
    if not (warehouse / "traces.duckdb").exists():
        return [] if may_be_missing else ["the database is gone"]
    rows = dict(contents(warehouse, PLACES))
    return [] if rows in versions.rows.values() else [f"neither version: {compare_rows(rows, versions)}"]


def compare_rows(rows: dict[str, list], versions: Versions) -> dict[str, str]:
    return {
        table: "old" if found == versions.rows["old"][table] else f"{len(found)} rows"
        for table, found in rows.items()
        if found != versions.rows["new"][table]
    }


def ingest_again(warehouse: Path, versions: Versions, server: Server) -> list[str]:
    """Run the same ingest again without interruption, and return the faults of the warehouse."""
    run = server.run("ingest", "--raw", versions.raw["new"], "--warehouse", warehouse)
    if faults := run.faults(codes=[0]):
        return faults
    rows = dict(contents(warehouse, PLACES))
    found = compare_files(warehouse, versions)
    return (
        found
        if rows == versions.rows["new"]
        else [*found, f"not the new version: {compare_rows(rows, versions)}"]
    )


def compare_files(warehouse: Path, versions: Versions) -> list[str]:
    with opened(warehouse) as connection:
        found = unsound(connection, warehouse)
    if manifest(warehouse) != manifest(versions.warehouse["new"]):
        found.append("the manifest differs from that of an uninterrupted ingest")
    known = {path for made in versions.warehouse.values() for path in manifest(made)}
    left = [path.relative_to(warehouse).as_posix() for path in warehouse.glob("parquet/**/*.parquet")]
    found += [f"{path} was left" for path in left if path not in known]
    found += [f"{path} was left" for path in (warehouse / ".ingest" / "staging").rglob("*") if path.is_file()]
    return found


@pytest.mark.timeout(3600)
def test_kill_at_any_step_of_publishing_leaves_one_version(
    versions: Versions, server: Server, tmp_path: Path
) -> None:
    found = {}
    for step in count_from(1) if "hostile" in suites.REQUESTED else (FEWEST_STEPS,):
        warehouse = tmp_path / str(step)
        shutil.copytree(versions.warehouse["old"], warehouse)
        after = bool(step % 2)
        arguments = ("ingest", "--raw", versions.raw["new"], "--warehouse", warehouse)
        run = server.run(*arguments, kill_at_step=step, after_step=after)
        if run.code == 0:
            assert step > FEWEST_STEPS
            break
        faults = [] if run.code == -9 else [f"exit code {run.code}: {run.stderr}"]
        faults += find_faults(warehouse, versions, may_be_missing=False)
        faults += ingest_again(warehouse, versions, server)
        if faults:
            found[f"step {step}, killed {'after' if after else 'before'} it"] = faults
        shutil.rmtree(warehouse)
    fail_with(found)


# An ingest writes some small files, the database, and then other small files. The old database, which is
# replaced, and empty pages leave some room: the disk fills last with 170 to 190 KiB less than the database.
FREE_KIB = (0, 8, 32, 100, 1500)
FREE_KIB_AFTER_DATABASE = (-1000, -250, -230, -210, -190, -170, -150, -50, 100)


def check_full(run: Run, free_kib: int) -> list[str]:
    """Return the faults of an ingest on a full disk. If it fails, it must print advice."""
    faults = run.faults()
    if not faults and run.code == 1 and "Free disk space" not in run.stderr:
        faults.append(f"no advice to free disk space: {run.stderr}")
    return faults


@suites.of("hostile")
def test_full_disk_leaves_one_version(versions: Versions, server: Server, tmp_path: Path) -> None:
    database_kib = (versions.warehouse["new"] / "traces.duckdb").stat().st_size >> 10
    for free_kib in (*FREE_KIB, *(database_kib + more for more in FREE_KIB_AFTER_DATABASE)):
        fill_disk(free_kib, versions, server, tmp_path / f"disk{free_kib}")


def fill_disk(free_kib: int, versions: Versions, server: Server, disk: Path) -> None:
    disk.mkdir()
    if os.geteuid() or mount(disk, "size=64m"):
        pytest.skip("only root can mount a small disk")
    try:
        warehouse = disk / "warehouse"
        shutil.copytree(versions.warehouse["old"], warehouse)
        used_kib = shutil.disk_usage(disk).used >> 10
        assert mount(disk, f"remount,size={used_kib + free_kib}k") == 0
        run = server.run("ingest", "--raw", versions.raw["new"], "--warehouse", warehouse)
        found = check_full(run, free_kib) + find_faults(warehouse, versions, may_be_missing=False)
        assert mount(disk, "remount,size=64m") == 0
        found += ingest_again(warehouse, versions, server)
    finally:
        subprocess.run(["umount", disk], check=True)
    fail_with({f"{free_kib} KiB free": found} if found else {})


def mount(folder: Path, options: str) -> int:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    return subprocess.run(command, capture_output=True).returncode


LIMITS = (1, 4, 10, 50, 500, 2000)


@suites.of("hostile")
def test_file_size_limit_leaves_one_version(versions: Versions, server: Server, tmp_path: Path) -> None:
    """A size limit acts as an exhausted quota, which DuckDB, Arrow and Python report differently."""
    for limit_kib in LIMITS:
        limit_files(limit_kib, versions, server, tmp_path / str(limit_kib))


def limit_files(limit_kib: int, versions: Versions, server: Server, warehouse: Path) -> None:
    shutil.copytree(versions.warehouse["old"], warehouse)
    run = server.run(
        "ingest", "--raw", versions.raw["new"], "--warehouse", warehouse, largest_file_bytes=limit_kib << 10
    )
    found = [] if run.code else ["exit code 0, although files exceed the limit"]
    found += run.faults() + find_faults(warehouse, versions, may_be_missing=False)
    found += ingest_again(warehouse, versions, server)
    fail_with({f"files of {limit_kib} KiB": found} if found else {})

"""Damage the parts of a warehouse.

`traces check --files` names exactly the Parquet files with a flipped bit. After other damage each command
succeeds or prints a plain error, and an ingest restores all rows or leaves the warehouse as it is.
"""

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import suites
from command_line import Server
from hostile.dumps import NARROW, WIDE
from hostile.expectations import contents, fail_with, manifest

BATCHES = 8 if "hostile" in suites.REQUESTED else 1


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
    old_warehouse: Path, server: Server, tmp_path: Path
) -> None:
    found = {}
    for seed in range(BATCHES):
        chance = random.Random(seed)
        warehouse = shutil.copytree(old_warehouse, tmp_path / str(seed))
        paths = [path for path in manifest(warehouse) if path.endswith(".parquet")]
        damaged = chance.sample(paths, chance.randrange(1, len(paths)))
        for path in damaged:
            flip_a_bit(warehouse / path, chance)
        if faults := check_faults(warehouse, damaged, server):
            found[f"seed {seed}"] = faults
    fail_with(found)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def make_file(path: Path) -> None:
    remove(path)
    path.write_text("a file", encoding="utf-8")


def make_folder(path: Path) -> None:
    remove(path)
    path.mkdir(parents=True)


def make_pipe(path: Path) -> None:
    remove(path)
    os.mkfifo(path)


def make_garbage(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\0 garbage")


def make_nested(path: Path) -> None:
    path.write_text("[" * 100_000, encoding="utf-8")


def make_sqlite(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(4080))


def make_other_database(path: Path) -> None:
    remove(path)
    duckdb.connect(str(path)).close()


Damage = Callable[[Path], None]
BROKEN: Sequence[Damage] = (zero, cut, remove, make_garbage, make_folder)
# Files and folders of a warehouse, or patterns of which the first file is damaged.
DAMAGES: Mapping[str, Sequence[Damage]] = {
    "traces.duckdb": (*BROKEN, make_sqlite, make_other_database, make_pipe),
    "traces.duckdb.wal": (make_file, make_folder),
    "datapackage.json": BROKEN,
    "records": (remove, make_file),
    "records/*.json": BROKEN,
    "records/0123456789abcdef.json": (make_file, make_folder),
    "parquet": (remove, make_file),
    "parquet/**/*.parquet": (cut, remove, make_folder),
    "stored": (make_file,),
    "local": (make_file,),
    ".ingest": (remove, make_file),
    ".ingest/database.json": (*BROKEN, make_nested),
    # Files in it exist only for raw files that were not changed recently.
    ".ingest/checksums": (make_file, make_folder),
    ".ingest/unrecognised.json": (make_garbage, make_folder, make_nested),
    ".ingest/failed_build.txt": (make_garbage, make_folder),
    ".ingest/lock": (remove, make_garbage, make_folder),
    ".ingest/staging": (make_file, make_folder),
}
CASES = [(name, damage) for name, damages in DAMAGES.items() for damage in damages]
FEW_CASES = (
    ("traces.duckdb", make_folder),
    (".ingest/database.json", make_nested),
    (".ingest/failed_build.txt", make_garbage),
)
READING = (["sql", "select 1"], ["list"], ["describe", "openb"], ["check", "openb"], ["check", "--files"])
PLACES = (*NARROW, WIDE[0])
ADVICE = ("move it away", "Move it away", "Restore it")


@suites.of("long")
def test_damaged_parts_are_restored_or_reported(old_warehouse: Path, server: Server, tmp_path: Path) -> None:
    rows = contents(old_warehouse, PLACES)
    found = {}
    for number, (name, damage) in enumerate(CASES if "hostile" in suites.REQUESTED else FEW_CASES):
        warehouse = shutil.copytree(old_warehouse, tmp_path / str(number))
        damage(min(warehouse.glob(name), default=warehouse / name))
        runs = [server.run(*command, "--warehouse", warehouse) for command in READING]
        faults = [fault for run in runs for fault in run.faults()]
        run = server.run("ingest", "--raw", old_warehouse.parent / "raw", "--warehouse", warehouse)
        faults += run.faults()
        if run.code == 0 and contents(warehouse, PLACES) != rows:
            faults.append("the ingest did not restore the rows")
        if run.code == 1 and not any(advice in run.stderr for advice in ADVICE):
            faults.append(f"no advice: {run.stderr}")
        if faults:
            found[f"{name}: {damage.__name__}"] = faults
    fail_with(found)

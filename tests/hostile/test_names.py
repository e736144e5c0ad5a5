"""Folders whose names mean something to a shell, a glob, SQL, DuckDB or a terminal."""

import os
import shutil
from pathlib import Path

import duckdb
import suites
from command_line import Run, Server
from hostile.dumps import NARROW, UNTOUCHED, WIDE, Place, raw_folder, stored, wanted, write_old
from hostile.expectations import fail_with, opened

PLACES = (UNTOUCHED, NARROW[0], WIDE[0])
NAMES = (
    "lake/cluster=a100/v[1]",
    "lake/cluster=a100/wh",
    "metric=x/cluster=y",
    "v[1]",
    "v*",
    "v?",
    "{a,b}",
    "**",
    "back\\slash",
    "it's",
    'say "so"',
    "with space ",
    " leading",
    "tab\there",
    "new\nline",
    "ünïcödé 表 🚀",
    "e\u0301",
    "percent%20s%s",
    "s3:x",
    "s3://bucket/wh",
    "https:/x",
    "file:wh",
    ":memory:",
    "~",
    "$HOME",
    "${HOME}",
    "`id`",
    "a;b",
    "a#b",
    "a?b=c",
    "-w",
    "wh.duckdb",
    "wh.parquet",
    "'); drop table x; --",
    "%00",
    "esc\x1b[2Jape",
    "n" * 250,
    os.fsdecode(b"latin-\xe9"),
)
IN_PART = ("lake/cluster=a100/v[1]", "lake/cluster=a100/wh", "it's", "s3:x")
QUESTION = "select count(*), sum(cpu_milli) from openb.node"


def test_warehouse_of_any_name_works_or_is_rejected(server: Server, tmp_path: Path) -> None:
    """Ingest accepts the name or rejects it with an error. Queries read no other folder instead."""
    write_old(raw_folder(tmp_path / "raw"), PLACES)
    found: dict[str, list[str]] = {}
    for number, name in enumerate(NAMES if "hostile" in suites.REQUESTED else IN_PART):
        here = tmp_path / str(number)
        here.mkdir()
        found |= faults_of_name(name, tmp_path / "raw", here, server)
    fail_with(found)


def faults_of_name(name: str, raw: Path, here: Path, server: Server) -> dict[str, list[str]]:
    arguments = ("--warehouse", f"./{name}" if name.startswith(("-", "~")) else name)
    run = server.run("ingest", "--raw", raw, *arguments, cwd=here)
    found = {}
    if faults := run.faults():
        found["ingest"] = faults
    elif run.code == 0 and (faults := find_faults(name, here, arguments, server)):
        found["questions"] = faults
    if has_control_characters(run):
        found["the terminal"] = [f"{run.stdout!r} {run.stderr!r}"]
    return {f"{name!r}, {step}": faults for step, faults in found.items()}


def find_faults(name: str, here: Path, arguments: tuple[str, ...], server: Server) -> list[str]:
    """Query the warehouse with the command line and DuckDB, and return the faults of the answers."""
    if name.endswith("v[1]"):
        # A folder that matches the name as a glob pattern.
        decoy = (here / name).with_name("v1") / "parquet"
        shutil.copytree(here / name / "parquet", decoy)
        for path in decoy.glob("**/*.parquet"):
            path.write_bytes(b"not to be read")
    total = sum(number or 0 for number in UNTOUCHED.rows("old").values())
    run = server.run("sql", QUESTION, "--format", "csv", *arguments, cwd=here)
    faults = run.faults([0])
    if run.stdout.splitlines()[1:] != [f"60,{total:.0f}"]:
        faults.append(f"answered {run.stdout}")
    for place in PLACES:
        run = server.run("sql", place.question, "--format", "csv", *arguments, cwd=here)
        faults += run.faults([0])
        if len(run.stdout.splitlines()) != 61:
            faults.append(f"{place.table}: answered {run.stdout[:200]}")
    faults += server.run("build", *arguments, cwd=here).faults([0])
    path = Path(f"{here}/{name}")
    if is_utf8(name):
        with opened(path) as connection:
            faults += [fault for place in PLACES if (fault := compare_rows(connection, place))]
    return faults


def compare_rows(connection: duckdb.DuckDBPyConnection, place: Place) -> str:
    try:
        return "" if stored(connection, place) == wanted(place.rows("old")) else f"{place.table}: other rows"
    except duckdb.Error as error:
        return f"{place.table}: {error}"


def is_utf8(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def has_control_characters(run: Run) -> bool:
    return any(ord(c) < 32 and c not in "\n\t" for c in run.stdout + run.stderr)

"""The rooms of the house stand in a row, and none imports from a later one."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
# What each room may import from, beside itself.
ROOMS = {
    "ingest": (),
    "samples": ("ingest",),
    "views": ("ingest",),
    "sql": ("ingest", "views"),
    "engines": ("ingest", "views", "sql"),
    "publish": ("ingest", "views", "sql", "engines"),
    "cli": ("ingest", "samples", "views", "sql", "engines", "publish"),
}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every module of this package that a file imports, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


def files(folder: str) -> list[Path]:
    return sorted((REPOSITORY / folder).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_from_a_later_one(room: str) -> None:
    wrong = []
    for path in files(room):
        for line, name in imported(path):
            if name.startswith("tracehouse.") and name.split(".")[1] not in (room, *ROOMS[room]):
                wrong.append(f"{path.relative_to(REPOSITORY)}, line {line}: {name}")
    assert wrong == []


def test_reading_never_imports_writing() -> None:
    engine = "engines/duckdb"
    assert [
        f"{path.relative_to(REPOSITORY)}, line {line}"
        for path in files(f"{engine}/read")
        for line, name in imported(path)
        if name.startswith("tracehouse.engines.duckdb.write")
    ] == []


def test_only_an_engine_imports_its_database() -> None:
    """But for ingest, which says what its errors mean."""
    assert [
        f"{path.relative_to(REPOSITORY)}, line {line}"
        for room in ("samples", "views", "sql")
        for path in files(room)
        for line, name in imported(path)
        if re.match(r"duckdb(\.|$)", name)
    ] == []


def test_every_package_is_a_room() -> None:
    """But for what is not installed."""
    packages = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    assert packages - {"bench", "tests"} == set(ROOMS)


def test_only_its_engine_imports_spark() -> None:
    assert [
        f"{path.relative_to(REPOSITORY)}, line {line}"
        for room in ROOMS
        for path in files(room)
        for line, name in imported(path)
        if re.match(r"(pyspark|py4j)(\.|$)", name) and path.parent.name != "spark"
    ] == []


def test_the_command_line_imports_spark_only_when_it_is_asked_for() -> None:
    script = (
        "import sys, tracehouse.cli, tracehouse.engines.duckdb.read.asking; print('pyspark' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout == "False\n"

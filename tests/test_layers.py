"""A module imports only from its own layer and the layers above it."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from non_empty import non_empty

REPOSITORY = Path(__file__).parents[1]
# What each layer may import from, in addition to itself.
LAYERS = {
    "core": (),
    "ingest": ("core",),
    "samples": ("core", "ingest"),
    "definitions": ("core", "ingest"),
    "engines": ("core", "ingest", "definitions"),
    "publish": ("core", "ingest", "definitions", "engines"),
    "commands": ("core", "ingest", "samples", "definitions", "engines", "publish"),
}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


def files(folder: str) -> list[Path]:
    return non_empty(sorted((REPOSITORY / folder).rglob("*.py")))


def matching(pattern: str, paths: list[Path]) -> list[str]:
    """Return the imports of modules that match the pattern, with file and line."""
    return [
        f"{path.relative_to(REPOSITORY)}, line {line}: {name}"
        for path in paths
        for line, name in imports(path)
        if re.match(pattern, name)
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_imports_only_from_layers_above(layer: str) -> None:
    allowed = "|".join((layer, *LAYERS[layer]))
    assert matching(rf"tracehouse\.(?!({allowed})\b)", files(layer)) == []


def test_reading_never_imports_writing() -> None:
    assert matching(r"tracehouse\.engines\.duckdb\.write", files("engines/duckdb/read")) == []


def test_finding_raw_files_opens_none() -> None:
    found = matching(
        r"tracehouse\.ingest\.dump\.(open|archive|readers)\b", [REPOSITORY / "ingest/dump/find.py"]
    )
    assert found == []


def test_only_engines_use_duckdb() -> None:
    """Ingest may import DuckDB too, to explain its errors."""
    paths = [path for layer in ("core", "samples", "definitions") for path in files(layer)]
    assert matching(r"duckdb(\.|$)", paths) == []


def test_every_installed_package_is_a_layer() -> None:
    packages = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    assert packages - {"bench", "tests"} == set(LAYERS)


def test_only_rules_of_engines_use_those_of_lint() -> None:
    paths = [path for layer in ("engines", "publish") for path in files(layer)]
    found = matching(r"tracehouse\.definitions\.lint\b", paths)
    assert [line.partition(",")[0] for line in found] == ["engines/duckdb/write/lint.py"]


def test_views_and_queries_hold_no_code() -> None:
    folders = REPOSITORY / "views", REPOSITORY / "sql"
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in found} == {".sql", ".csv", ".lock", ""}


def test_only_spark_engine_imports_spark() -> None:
    paths = [path for layer in LAYERS for path in files(layer) if path.parent.name != "spark"]
    assert matching(r"(pyspark|py4j)(\.|$)", paths) == []


def test_command_line_does_not_import_spark() -> None:
    script = (
        "import sys, tracehouse.cli, tracehouse.engines.duckdb.read.sandbox; print('pyspark' in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    )
    assert printed.stdout == "False\n"


def test_engines_word_no_options() -> None:
    """An error has options as data, which the command line and Python word: see `core.errors`."""
    found = [
        f"{path.relative_to(REPOSITORY)}, line {node.lineno}: {node.value}"
        for layer in ("core", "definitions", "engines")
        for path in files(layer)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.search(r"(^|\s)--[a-z]", str(node.value))
    ]
    assert found == []

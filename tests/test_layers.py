"""A module imports only from its own layer and the layers above it."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
# What each layer may import from, in addition to itself.
LAYERS = {
    "core": (),
    "ingest": ("core",),
    "samples": ("core", "ingest"),
    "views": ("core", "ingest"),
    "sql": ("core", "ingest", "views"),
    "lint": ("core", "ingest", "views", "sql"),
    "engines": ("core", "ingest", "views", "sql", "lint"),
    "publish": ("core", "ingest", "views", "sql", "lint", "engines"),
    "commands": ("core", "ingest", "samples", "views", "sql", "lint", "engines", "publish"),
}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


def files(folder: str) -> list[Path]:
    return sorted((REPOSITORY / folder).rglob("*.py"))


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


def test_only_engines_use_duckdb() -> None:
    """Ingest may import DuckDB too, to explain its errors."""
    for layer in ("core", "samples", "views", "sql"):
        assert matching(r"duckdb(\.|$)", files(layer)) == []


def test_every_installed_package_is_a_layer() -> None:
    packages = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    assert packages - {"bench", "tests"} == set(LAYERS)


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

"""Copy the package without most of its definitions, for tests of commands that do not read them.

A database of all views and queries takes several times as long to build and to open as one of a few tables.
"""

import shutil
from collections.abc import Collection
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
LAYERS = ("commands", "core", "definitions", "engines", "ingest", "publish", "samples", "sql", "views")


def copy_package(folder: Path, traces: Collection[str]) -> Path:
    """Copy the code and the declarations of some traces, but no views and queries. Returns a search path.

    `catalog` stays: its views are those that commands need.
    """
    package = folder / "tracehouse"
    for layer in LAYERS:
        shutil.copytree(REPOSITORY / layer, package / layer)
    for file in REPOSITORY.glob("*.py"):
        shutil.copy2(file, package)
    for path in (package / "ingest" / "traces").iterdir():
        if path.is_dir() and path.name not in traces:
            shutil.rmtree(path)
        elif path.suffix == ".py" and path.stem not in {"__init__", *traces}:
            path.unlink()
    for path in [*(package / "views").iterdir(), *(package / "sql").iterdir()]:
        if path.is_dir() and path.name != "catalog":
            shutil.rmtree(path)
    return folder

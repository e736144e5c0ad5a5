"""Share folders between the workers of a test run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder for all workers: the first one fills it, and the others wait."""
    root = factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    with FileLock(f"{folder}.lock"):
        # A finished folder cannot be renamed into its place: a database contains the paths of its files.
        if not (made := folder.with_suffix(".made")).exists():
            make(folder)
            made.touch()
    return folder

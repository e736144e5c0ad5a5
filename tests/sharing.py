"""What is made once for all workers of a test run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all workers of a run read: the first to need it makes it, and the others wait."""
    root = factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    with FileLock(f"{folder}.lock"):
        # Not made aside and renamed: a database knows where its files are.
        if not (made := folder.with_suffix(".made")).exists():
            make(folder)
            made.touch()
    return folder

"""Fixtures for tests with other programs."""

import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import command_line
import pytest
from command_line import TRACES

from tracehouse.engines.duckdb.write import database

# A folder without our files, so that a relative path would not resolve.
ELSEWHERE = Path(Path(__file__).anchor)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run() -> Run:
    """A function that runs a program outside the repository. It must succeed, unless `check=False`."""

    def run_program(
        command: Sequence[str | Path], text: str = "", check: bool = True, folder: Path = ELSEWHERE
    ) -> subprocess.CompletedProcess[str]:
        if command[0] == TRACES:
            ended = command_line.server().run(*command[1:], stdin=text, cwd=folder)
            done = subprocess.CompletedProcess(command, ended.code or 0, ended.stdout, ended.stderr)
        else:
            done = subprocess.run(
                [str(part) for part in command], cwd=folder, input=text, capture_output=True, encoding="utf-8"
            )
        assert not check or done.returncode == 0, f"{command}\n{text}\n{done.stderr}"
        return done

    return run_program


@pytest.fixture(scope="session")
def shell() -> Path:
    """The path of the DuckDB shell that `duckdb-cli` installs."""
    return Path(sysconfig.get_path("scripts")) / "duckdb"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The path of the installed command `traces`."""
    return TRACES


@pytest.fixture(scope="session")
def moved_warehouse(fixture_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was moved after its database was built."""
    folder = tmp_path_factory.mktemp("moved")
    shutil.copytree(fixture_warehouse, folder / "before")
    database.build(folder / "before")
    return Path(shutil.move(folder / "before", folder / "it's after"))

"""Fixtures of the hostile tests.

`make test` tries some of their cases, to be quick. `make hostile` tries all of them.
"""

from pathlib import Path

import command_line
import pytest
from command_line import Server
from hostile.dumps import raw_folder, write_old


@pytest.fixture(scope="session")
def server() -> Server:
    """A server that runs the command line in forks."""
    return command_line.server()


@pytest.fixture(scope="session")
def old_warehouse(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that holds the old version of a file for each place."""
    folder = tmp_path_factory.mktemp("old")
    write_old(raw_folder(folder / "raw"))
    run = server.run("ingest", "--raw", folder / "raw", "--warehouse", folder / "warehouse")
    assert (run.code, run.stderr) == (0, "")
    return folder / "warehouse"

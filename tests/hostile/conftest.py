"""What the hostile tests share, and the table of what they tried.

By themselves they try a part, so that they are quick; with TRACEHOUSE_HOSTILE=all, all of it.
"""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import command_line
import pytest
from command_line import Server
from hostile.dumps import raw_folder, write_old

TRY_ALL = os.environ.get("TRACEHOUSE_HOSTILE") == "all"
COUNTED = "tried"

Count = Callable[[str, int], None]


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """Enter how much of a kind a test has tried."""
    return lambda kind, number: record_property(COUNTED, (kind, number))


@pytest.fixture(scope="session")
def server() -> Server:
    """Runs the command line in forks."""
    return command_line.server()


@pytest.fixture(scope="session")
def old_warehouse(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that holds the old version of a file for each place."""
    folder = tmp_path_factory.mktemp("old")
    write_old(raw_folder(folder / "raw"))
    run = server.run("ingest", "--raw", folder / "raw", "--warehouse", folder / "warehouse")
    assert (run.code, run.stderr) == (0, "")
    return folder / "warehouse"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for kind, number in (value for name, value in report.user_properties if name == COUNTED):
                tried[kind] += number
                failed[kind] += outcome == "failed"
    if not tried:
        return
    terminalreporter.section("tried" if TRY_ALL else "tried, a part of all")
    terminalreporter.write_line("| what | tried | tests that failed |")
    terminalreporter.write_line("| --- | ---: | ---: |")
    for kind, number in sorted(tried.items()):
        terminalreporter.write_line(f"| {kind} | {number:,} | {failed[kind]} |")

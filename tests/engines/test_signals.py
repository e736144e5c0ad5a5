"""Signals and closed pipes end the command line at once, in any phase, and leave no temporary files."""

import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import suites
from command_line import TIMEOUT_S
from non_empty import non_empty

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
# From the first import to the middle of the answer. An earlier signal would interrupt the start of Python.
MOMENTS_S = (0.3, 0.6, 0.9) if "hostile" in suites.REQUESTED else (0.9,)
LONG = "select count(*) from range(100000) a, range(10000000) b where (a.range * b.range) % 7 = 3"
WIDE = "select range, repeat('x', 200) as text from range(20000000)"
SPILLING = "select range, hash(range) as h from range(60000000) order by h"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def start_traces(
    arguments: Sequence[object], warehouse: Path, temporary: Path, stdout: int = subprocess.DEVNULL
) -> subprocess.Popen:
    environment = os.environ | {"TRACES_WAREHOUSE": str(warehouse), "TMPDIR": str(temporary)}
    command = [str(part) for part in (TRACES, *arguments)]
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        # If the tests run under nohup, their child processes would ignore SIGHUP too.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def wait_for_scratch(temporary: Path, running: subprocess.Popen) -> None:
    """Wait until the command has created its temporary folder."""
    end_s = time.monotonic() + 120
    while not list(temporary.iterdir()):
        assert time.monotonic() < end_s and running.poll() is None, running.communicate()
        time.sleep(0.01)


def test_signal_ends_a_query_at_once(sample_warehouse: Path, temporary: Path) -> None:
    for number, code, times in (
        (signal.SIGINT, 130, 1),
        (signal.SIGINT, 130, 2),
        (signal.SIGTERM, 143, 1),
        (signal.SIGHUP, 129, 1),
    ):
        running = start_traces(["sql", LONG], sample_warehouse, temporary)
        wait_for_scratch(temporary, running)
        time.sleep(0.2)
        for _ in range(times):
            running.send_signal(number)
        try:
            _, errors = running.communicate(timeout=TIMEOUT_S)
        finally:
            # If the signal is ignored, as under nohup, the command would never end.
            running.kill()
        assert (running.returncode, errors) == (code, b""), number
        assert list(temporary.iterdir()) == []


def test_ctrl_c_at_any_moment_leaves_no_files(
    sample_warehouse: Path, temporary: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for delay_s in non_empty(MOMENTS_S):
        for arguments in (
            ["sql", WIDE, "-o", f"{out}/answer.csv"],
            ["query", "unified.run_cdf", "--output", f"{out}/picture.png"],
        ):
            running = start_traces(arguments, sample_warehouse, temporary)
            wait_for_scratch(temporary, running)
            time.sleep(delay_s - 0.3)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=TIMEOUT_S)
            # A short command may have finished before the signal.
            done = running.returncode == 0 and arguments[0] != "sql"
            assert done or (running.returncode == 130 and errors == b""), (delay_s, arguments, errors)
            assert list(temporary.iterdir()) == []
            assert done or list(out.iterdir()) == []
            for left in out.iterdir():
                left.unlink()


def test_closed_pipe_leaves_no_temporary_files(sample_warehouse: Path, temporary: Path) -> None:
    sql = "select range, repeat('x', 100) as text from range(100000)"
    running = start_traces(["sql", sql], sample_warehouse, temporary, subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.read(20).startswith(b"range,text\n")
    running.stdout.close()
    assert running.wait(120) == 141
    assert list(temporary.iterdir()) == []


def test_next_process_removes_files_of_a_killed_one(
    sample_warehouse: Path, temporary: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    running = start_traces(["sql", SPILLING, "--memory-limit", "200MB"], sample_warehouse, temporary)
    wait_for_scratch(temporary, running)
    time.sleep(1)
    running.kill()
    running.communicate(timeout=TIMEOUT_S)
    [left] = temporary.iterdir()
    # Make the folder a day old, because a young folder may belong to a process that is starting.
    os.utime(left, (time.time() - 86_400,) * 2)
    later = start_traces(["sql", "select 1", "-o", out / "answer.csv"], sample_warehouse, temporary)
    assert later.wait(120) == 0
    assert list(temporary.iterdir()) == []
    assert [path.name for path in out.iterdir()] == ["answer.csv"]

"""Commands that replace a file or a folder and are killed: there is the complete old or new output.

The same command then finishes, and leaves no temporary files.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from itertools import count as count_from
from pathlib import Path

import command_line
import duckdb
import pytest
import suites
from conftest import FIXTURE, build_warehouse
from random_seed import SEED

from tracehouse.engines.duckdb.write.build_info import hash_file
from tracehouse.publish.site import folder

# The commands by the name of what they write.
COMMANDS: dict[str, tuple[str, ...]] = {
    "answer.csv": ("query", "itp.gpu_hours", "--output"),
    "swf": ("export", "swf", "itp", "--out"),
    "traces.duckdb": ("publish", "--out"),
    "site": ("publish", "--site"),
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
# A SIGTERM at the start of Python ends it without a handler.
CODES = {-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM}
RANDOM_KILLS = 20
# All commands take more steps than this.
FEWEST_STEPS = 5
# A site has more than a thousand files, and each is a step.
MOST_STEPS = 60
# Publishing a site takes many times as long as the other commands: only each fifth of its kills is tried.
EVERY = {"site": 5}

Run = Callable[..., command_line.Run]


@pytest.fixture(scope="module", params=[*COMMANDS] if "hostile" in suites.REQUESTED else ["swf"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_warehouse(FIXTURE, tmp_path_factory.mktemp("itp") / "warehouse", ["itp"])


@pytest.fixture(scope="module")
def arguments(name: str, warehouse: Path) -> tuple[object, ...]:
    """The command without the path of its output."""
    return ("--warehouse", warehouse, *COMMANDS[name])


@pytest.fixture(scope="module")
def new(name: str, arguments: tuple[object, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of the command that is not killed."""
    path = tmp_path_factory.mktemp("new") / name
    run_command(arguments, path)
    return path


def run_command(arguments: tuple[object, ...], path: Path) -> None:
    run = command_line.server().run(*arguments, path)
    assert run.code == 0, run.stderr
    assert list(path.parent.iterdir()) == [path]


def write_old(path: Path, new: Path) -> None:
    """Write an older version of the output. An export replaces nothing."""
    path.parent.mkdir()
    if path.name == "answer.csv":
        path.write_text("old", encoding="utf-8")
    elif path.name == "traces.duckdb":
        shutil.copy(new, path)
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table catalog.old as select 1 as old")
    elif path.name == "site":
        shutil.copytree(new, path, copy_function=os.link)
        (path / "old").touch()


def read(path: Path) -> object:
    """What identifies a version of the output."""
    if path.name == "answer.csv":
        return path.read_text(encoding="utf-8")
    if path.name == "traces.duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute("select table_name from duckdb_tables() order by all").fetchall()
    names = sorted(found.relative_to(path).as_posix() for found in path.rglob("*"))
    if path.name == "site":
        for address in json.loads((path / folder.LIST).read_text(encoding="utf-8"))["parts"].values():
            part, _, checksum = address.partition("?")
            assert hash_file(path / part)[:12] == checksum
    return names


def kill(path: Path, new: Path, kill_command: Callable[[], int | None], finish: Callable[[], None]) -> bool:
    """Kill a command that writes to a path. Returns False if it finished before."""
    write_old(path, new)
    old = read(path)
    code = kill_command()
    assert code in (0, *CODES)
    assert read(path) == read(new) if code == 0 else read(path) in (old, read(new))
    if path.name == "swf" and read(path):
        # An export replaces no other one.
        shutil.rmtree(path)
    finish()
    assert read(path) == read(new)
    shutil.rmtree(path.parent)
    return code != 0


def test_kill_at_any_step_leaves_one_version(
    arguments: tuple[object, ...], new: Path, tmp_path: Path
) -> None:
    server = command_line.server()

    def run_until(step: int, path: Path) -> int | None:
        after, by = bool(step % 2), SIGNALS[step // 2 % 2]
        return server.run(*arguments, path, kill_at_step=step, after_step=after, kill_by=by).code

    every = EVERY.get(new.name, 1)
    for step in count_from(1, every) if "hostile" in suites.REQUESTED else (FEWEST_STEPS,):
        path = tmp_path / str(step) / new.name
        if step > MOST_STEPS or not kill(
            path, new, partial(run_until, step, path), partial(run_command, arguments, path)
        ):
            assert step > FEWEST_STEPS
            return


@suites.of("hostile")
def test_kill_at_any_time_leaves_one_version(
    arguments: tuple[object, ...], new: Path, tmp_path: Path
) -> None:
    start_s = time.monotonic()
    command_line.by_itself(*arguments, tmp_path / new.name)
    longest_s = time.monotonic() - start_s
    moments = random.Random(SEED)

    def run_for(delay_s: float, by: signal.Signals, path: Path) -> int:
        running = subprocess.Popen(
            [command_line.TRACES, *map(str, (*arguments, path))], stdout=subprocess.DEVNULL
        )
        try:
            return running.wait(delay_s)
        except subprocess.TimeoutExpired:
            running.send_signal(by)
            return running.wait()

    for number in range(RANDOM_KILLS // EVERY.get(new.name, 1)):
        path = tmp_path / str(number) / new.name
        stop = partial(run_for, moments.uniform(0, longest_s), SIGNALS[number % 2], path)
        kill(path, new, stop, partial(run_command, arguments, path))

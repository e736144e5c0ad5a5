"""Run operations on a warehouse of small traces quickly. Each operation can be killed at a step.

    python -m hostile.warehouse_worker FOLDER

One process imports all modules and forks a worker, which runs one request after the other. Only after a kill
does an operation need a new process. A request is a line of JSON on standard input: `argv` of `traces`, and
optionally `kill` (see `Kill`), `largest_file_bytes`, `defect` (see `defects`) and `ends`, which replaces the
worker after the request. Answers are lines of JSON.
"""

import contextlib
import gc
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pytest
from command_line import TIMEOUT_S, Run

TESTS = Path(__file__).parents[1]
# Functions of `os` that `pathlib` and `shutil` call too.
RENAMES = ("replace", "rename", "unlink")
STEPS = (*RENAMES, "mkdir", "link", "fsync", "rmdir")
ENDED = 3


@dataclass(frozen=True)
class Kill:
    """A kill before or after the `step`th call (from 1) of a function in `STEPS`, or in `RENAMES`."""

    step: int
    after: bool
    only_renames: bool = False


class Worker:
    """The interface of the test to the process that runs operations."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.defect = ""
        command = [sys.executable, "-m", "hostile.warehouse_worker", self._folder.name]
        self._process = subprocess.Popen(
            command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, command: str, kill: Kill | None = None, largest_file_bytes: int = 0, ends: bool = False
    ) -> Run:
        """Run `traces` with a command whose arguments contain no spaces."""
        assert self._process.stdin and self._process.stdout
        request = {"argv": command.split(), "kill": kill and asdict(kill), "defect": self.defect}
        more = {"largest_file_bytes": largest_file_bytes, "ends": ends or bool(largest_file_bytes)}
        self._process.stdin.write(json.dumps(request | more) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Run(answer["code"], answer.get("stdout", ""), answer.get("stderr", ""))

    def close(self) -> None:
        self._process.communicate()
        self._folder.cleanup()


def main(folder: Path) -> None:
    """Keep one worker running until the input ends."""
    prepare(folder)
    while True:
        child = os.fork()
        if not child:
            serve()
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return
        if code != ENDED:
            os.write(1, json.dumps({"code": code}).encode() + b"\n")


def prepare(folder: Path) -> None:
    """Import modules and fill caches once, so that no worker has to."""
    from hostile import defects, small_traces  # noqa: F401

    small_traces.install(folder)
    sys.meta_path.insert(0, WithoutPandas())  # type: ignore[arg-type]
    # Modules that an operation imports late.
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import rich.progress  # noqa: F401

    from tracehouse import cli  # noqa: F401
    from tracehouse.core import signals
    from tracehouse.engines.duckdb.write import database, materialized_views, statements  # noqa: F401
    from tracehouse.ingest.readers import reader_of

    for trace in small_traces.TRACES.values():
        for table in trace.tables:
            reader_of(table, "x.csv")
    for view in materialized_views._views_in_order().values():
        statements.view_query(view, {"": "nothing"})
    # Workers share these pages.
    gc.freeze()

    def leave(code: int) -> NoReturn:
        raise _LeftError(code)

    signals.leave = leave  # type: ignore[assignment]
    for name in STEPS:
        setattr(os, name, _steps.with_kill(name, getattr(os, name)))


class WithoutPandas:
    """Prevents the import of pandas. Arrow imports it if it is installed, but no operation needs it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


class _LeftError(BaseException):
    """A command has ended."""


class _Steps:
    """Counts the calls of functions that change files, and kills the process at one of the calls."""

    def __init__(self) -> None:
        self.start(None)

    def start(self, kill: Kill | None) -> None:
        # `next` is atomic: two threads never get the same number.
        self._numbers, self._kill = count(1), kill

    def with_kill(self, name: str, function: Callable) -> Callable:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            kill = self._kill
            is_last = kill and (name in RENAMES or not kill.only_renames) and next(self._numbers) == kill.step
            if is_last and not kill.after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                # `fsync` is slow, and a kill of the process cannot show whether it was called.
                return None if name == "fsync" else function(*arguments, **options)
            finally:
                if is_last:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call


_steps = _Steps()


def serve() -> NoReturn:
    """Run requests until the input ends, or until a request has `ends`."""
    # After the fork, because a child does not inherit DuckDB's threads.
    share_one_duckdb()
    for line in sys.stdin:
        request = json.loads(line)
        answer = run(request)
        os.write(1, json.dumps(answer).encode() + b"\n")
        if request["ends"]:
            os._exit(ENDED)
    os._exit(0)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run a command, and return its exit code and output."""
    if limit := request["largest_file_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    signal.alarm(TIMEOUT_S)
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        if request["defect"]:
            from hostile.defects import DEFECTS

            DEFECTS[request["defect"]](patch)
        _steps.start(Kill(**request["kill"]) if request["kill"] else None)
        code = call(request["argv"])
        _steps.start(None)
    signal.alarm(0)
    return {"code": code, "stdout": stdout.getvalue(), "stderr": stderr.getvalue()}


def call(argv: list[str]) -> int:
    """Run the command line in this process."""
    from tracehouse import cli

    sys.argv = ["traces", *argv]
    try:
        cli.main()
    except _LeftError as left:
        return left.args[0]


def share_one_duckdb() -> None:
    """Let all connections of this process share one DuckDB instance. Starting another takes 16 ms."""
    shared = duckdb.connect(config={"threads": 1, "default_block_size": "16384"})
    shared.execute("set timezone = 'UTC'")
    names = (f"own{number}" for number in count())

    def connect(
        path: str = ":memory:", read_only: bool = False, config: dict[str, str] | None = None
    ) -> "SharedConnection":
        return SharedConnection(shared.cursor(), next(names), path, read_only)

    duckdb.connect = connect  # type: ignore[assignment]


class SharedConnection:
    """A cursor with its own attached database. When it is closed, it detaches all databases."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, name: str, path: str, read_only: bool):
        self._cursor = cursor
        options = " (read_only)" if read_only else ""
        cursor.execute(f"attach '{path}' as {name}{options}; use {name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __enter__(self) -> "SharedConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(duckdb.Error):
            self._cursor.rollback()
        self._cursor.execute("use memory")
        attached = self._cursor.execute(
            "select database_name from duckdb_databases() where not internal and database_name <> 'memory'"
        ).fetchall()
        for (name,) in attached:
            self._cursor.execute(f"detach {name}")
        self._cursor.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

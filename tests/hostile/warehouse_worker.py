"""Run operations on a warehouse of small traces at little cost, each of which can be killed at a step.

    python -m hostile.warehouse_worker FOLDER

One process imports everything and forks a worker, which runs one request after the other: no operation pays
for an import or a new process, except after a kill. A request is a line of JSON on standard input: `argv` of
`traces`, and where wanted `kill` (see `Kill`), `largest_file_bytes`, `defect` (see `defects`), and `ends`,
after which another worker takes over. Answers are lines of JSON.
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
# Path and shutil call these, too.
RENAMES = ("replace", "rename", "unlink")
STEPS = (*RENAMES, "mkdir", "link", "fsync", "rmdir")
ENDED = 3


@dataclass(frozen=True)
class Kill:
    """A kill before or after the `step`th call, from 1, of a function that changes files, or that renames."""

    step: int
    after: bool
    only_renames: bool = False


class Worker:
    """The process that runs operations, seen from that of the test."""

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
        """Run `traces` with arguments without spaces."""
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
    """Do once what no worker has to do."""
    from hostile import defects, small_traces  # noqa: F401

    small_traces.install(folder)
    sys.meta_path.insert(0, WithoutPandas())  # type: ignore[arg-type]
    # What an operation imports late.
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import rich.progress  # noqa: F401

    from tracehouse import cli  # noqa: F401
    from tracehouse.core import process
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

    process.leave = leave  # type: ignore[assignment]
    for name in STEPS:
        setattr(os, name, _steps.counted(name, getattr(os, name)))


class WithoutPandas:
    """Arrow imports pandas where it is installed, and no operation needs it."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


class _LeftError(BaseException):
    """A command has ended."""


class _Steps:
    """Counts the calls of what changes files, and kills the process at one of them."""

    def __init__(self) -> None:
        self.start(None)

    def start(self, kill: Kill | None) -> None:
        # Threads call at the same time, and no number may be given twice.
        self._numbers, self._kill = count(1), kill

    def counted(self, name: str, function: Callable) -> Callable:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            kill = self._kill
            is_last = kill and (name in RENAMES or not kill.only_renames) and next(self._numbers) == kill.step
            if is_last and not kill.after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                # A flush takes long, and no kill tells whether it was made.
                return None if name == "fsync" else function(*arguments, **options)
            finally:
                if is_last:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call


_steps = _Steps()


def serve() -> NoReturn:
    """Run requests until the input ends, or until one says so."""
    # Not before the fork, as DuckDB's threads do not survive it.
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
    """Let all connections of this process share a DuckDB with one thread: to start one takes 16 ms."""
    shared = duckdb.connect(config={"threads": 1, "default_block_size": "16384"})
    shared.execute("set timezone = 'UTC'")
    names = (f"own{number}" for number in count())

    def connect(
        path: str = ":memory:", read_only: bool = False, config: dict[str, str] | None = None
    ) -> "SharedConnection":
        return SharedConnection(shared.cursor(), next(names), path, read_only)

    duckdb.connect = connect  # type: ignore[assignment]


class SharedConnection:
    """A connection with its own database in memory; the others that it attaches are detached at its end."""

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

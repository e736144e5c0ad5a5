"""Runs the command line again and again, each time in a fork of a process that has imported everything.

    python fork_server.py

A request is a line of JSON on standard input: `argv`, `cwd`, `stdout` and `stderr` (files to write), and
where wanted `stdin` (a file to read), `environment`, `largest_file_bytes`, `unprivileged`, `kill_at_step` and
`after_step`. Answers are lines of JSON: the process id of the child, and then how it ended.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any, NoReturn

# What an ingest imports late, so that no child does.
import polars  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from tracehouse import cli
from tracehouse.engines.duckdb.read import answer, checks, describe, verify  # noqa: F401
from tracehouse.engines.duckdb.write import database, materialized_views  # noqa: F401
from tracehouse.ingest.declarations import all_traces
from tracehouse.publish import export  # noqa: F401
from tracehouse.sql.query_files import query_files
from tracehouse.views import caveats, meanings
from tracehouse.views.across_traces import expanded
from tracehouse.views.columns import columns_read
from tracehouse.views.graph import sort_views
from tracehouse.views.view_files import view_files

# Path and shutil call these, too.
STEPS = ("mkdir", "replace", "rename", "link", "fsync", "unlink", "rmdir")


def main() -> None:
    """Serve requests until the input ends; run each in a child process, which becomes the command line."""
    all_traces()
    read_all_sql()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            become(request)
        print(json.dumps({"pid": child}), flush=True)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def read_all_sql() -> None:
    """Find out once which columns views and queries read, as a process remembers it: no child has to."""
    files = view_files()
    tables = meanings.of_tables(all_traces().values())
    views = sort_views(expanded(files), tables)
    relations = meanings.of_views(views, files, tables)
    caveats.of_views(views, relations)
    for query in query_files():
        columns_read(query.tree, query.references, relations, query.path)


def become(request: dict[str, Any]) -> NoReturn:
    """Run `traces` with the requested arguments, and exit with its code."""
    os.setsid()
    redirect(request.get("stdin", os.devnull), request["stdout"], request["stderr"])
    os.chdir(request["cwd"])
    os.environ.update(request.get("environment", {}))
    if request.get("largest_file_bytes"):
        limit = request["largest_file_bytes"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if request.get("kill_at_step"):
        kill_at_step(request["kill_at_step"], request.get("after_step", False))
    if request.get("unprivileged"):
        give_up_privileges()
    sys.argv = ["traces", *request["argv"]]
    cli.main()


def give_up_privileges() -> None:
    """Let root be kept out of files as their owners are."""
    version_3, this_process = 0x20080522, 0
    header = (ctypes.c_uint32 * 2)(version_3, this_process)
    nothing_effective_permitted_or_inherited = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, nothing_effective_permitted_or_inherited):
        raise OSError(ctypes.get_errno(), "capset")


def redirect(stdin: str, stdout: str, stderr: str) -> None:
    """Let nothing that a child says or reads touch the server's own pipes."""
    for path, number, flags in (
        (stdin, 0, os.O_RDONLY),
        (stdout, 1, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (stderr, 2, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o666)
        os.dup2(opened, number)
        os.close(opened)


def kill_at_step(number: int, after: bool) -> None:
    """Let the process be killed at the `number`th call, from 1, of what renames, removes or syncs files."""
    # Threads call at the same time, and no number may be given twice.
    calls = count(1)

    def killing(function: Callable) -> Callable:
        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            mine = next(calls)
            if mine == number and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return function(*arguments, **options)
            finally:
                # Also where it fails, as it does where a folder is there already.
                if mine == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        return counted

    for name in STEPS:
        setattr(os, name, killing(getattr(os, name)))


if __name__ == "__main__":
    main()

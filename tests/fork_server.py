"""Run the command line repeatedly, each time in a fork of a process that has imported all modules.

    python fork_server.py

A request is a line of JSON on standard input: `argv`, `cwd`, `stdout` and `stderr` (files to write). Optional
keys are `stdin` (a file to read), `environment`, `largest_file_bytes`, `unprivileged`, `kill_at_step`,
`after_step` and `kill_by` (the number of a signal). The server prints two lines of JSON: the process id of
the child, and its exit code.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import sys
from typing import Any, NoReturn

# An ingest imports these late. Imported here, no child has to.
import polars  # noqa: F401
import pyarrow.compute
import pyarrow.csv  # noqa: F401
import pyarrow.parquet  # noqa: F401
import rich.progress  # noqa: F401
import typer.main
from killing import kill_at_step

from tracehouse import cli
from tracehouse.definitions import caveats, column_docs
from tracehouse.definitions.across_traces import expanded
from tracehouse.definitions.dependencies import sort_views
from tracehouse.definitions.lineage import columns_read
from tracehouse.definitions.query_files import query_files
from tracehouse.definitions.view_files import view_files
from tracehouse.engines.duckdb.read import answer, checks, describe, verify  # noqa: F401
from tracehouse.engines.duckdb.write import build_info, database, materialized_views  # noqa: F401
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.publish import writers  # noqa: F401


def main() -> None:
    """Serve requests until the input ends, each in its own child process."""
    all_traces()
    read_all_sql()
    build_info.hash_definitions()
    # Arrow imports pandas, if it is installed, for its first array.
    pyarrow.array([])
    # Otherwise each child would create all commands.
    cli.app = typer.main.get_command(cli.app)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            become(request)
        print(json.dumps({"pid": child}), flush=True)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def read_all_sql() -> None:
    """Parse all views and queries once. The results are cached, so no child has to parse them."""
    files = view_files()
    traces = all_traces().values()
    tables = column_docs.of_tables(traces)
    views = sort_views(expanded(files))
    relations = column_docs.of_views(views, files, tables)
    caveats.of_views(views, relations, caveats.of_tables(traces), caveats.names(traces))
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
        by = request.get("kill_by", signal.SIGKILL)
        kill_at_step(request["kill_at_step"], request.get("after_step", False), by)
    if request.get("unprivileged"):
        give_up_privileges()
    sys.argv = ["traces", *request["argv"]]
    cli.main()


def give_up_privileges() -> None:
    """Drop all capabilities, so that file permissions apply to root too."""
    version_3, this_process = 0x20080522, 0
    header = (ctypes.c_uint32 * 2)(version_3, this_process)
    nothing_effective_permitted_or_inherited = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, nothing_effective_permitted_or_inherited):
        raise OSError(ctypes.get_errno(), "capset")


def redirect(stdin: str, stdout: str, stderr: str) -> None:
    """Redirect the standard streams of a child to files, away from the server's pipes."""
    for path, number, flags in (
        (stdin, 0, os.O_RDONLY),
        (stdout, 1, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (stderr, 2, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o666)
        os.dup2(opened, number)
        os.close(opened)


if __name__ == "__main__":
    main()

"""Open a warehouse's database read-only, and run work on it within limits of time, memory and writing.

The work runs in a child process (see `child`). Landlock lets it write only to its scratch folder and to the
file of the answer (see `landlock`), in addition to the check of the statement (see `guard`). DuckDB limits
only a part of the memory that it allocates, so the kernel limits the process too. This process waits, handles
signals, and kills the child after the timeout.
"""

import errno
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import sys
import sysconfig
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import CHECK_FILES, TOO_MANY_FILES, Command, Option, UsageError, UserError
from tracehouse.core.permissions import explain_denied
from tracehouse.core.temporary import temporary_folder
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read import child, landlock
from tracehouse.engines.duckdb.read.child import Child, CrashError, LateError, NotStartedError
from tracehouse.engines.names import DATABASE
from tracehouse.ingest.memory import SHARE_OF_DUCKDB, SIZE, size_bytes
from tracehouse.ingest.store.layout import (
    TABLES_FOLDER,
    VIEWS_FOLDER,
    build_info_file,
    resolve_warehouse,
)

PREFIX = "tracehouse-"
_LOCK = "in use"
# A scratch folder younger than this may not have its lock yet.
_YOUNG_S = 60
_OUT_OF_MEMORY = "Out of Memory Error"
_LOCKED = "Could not set lock on file"
_LINE = re.compile(r"^LINE (\d+): ", re.M)
# The first line that DuckDB gets, and the mark below it.
_OWN_LINE = re.compile(r"\n*^LINE 1: .*(?:\n *\^+ *$)?", re.M)
# The default memory limit, as a share of the machine's or container's memory.
_SHARE = 0.5
# Errors that are not about reading a file, but may quote a user's text.
_OTHER_ERRORS = (UserError, duckdb.BinderException, duckdb.CatalogException, duckdb.DataError)
# Errors about the header of a page, which do not name the file, and have no class of their own.
_DAMAGED_HEADER = re.compile("TProtocolException|don't know what type")
# The share of the memory limit for DuckDB's buffers. It allocates other data outside its buffer manager.
_SHARE_OF_BUFFERS = 0.9

T = TypeVar("T")


class BindingError(UserError):
    """DuckDB cannot bind a statement, for example because a name is unknown."""


@dataclass(frozen=True)
class Limits:
    """The limits of a query or connection.

    `timeout_s` is in seconds, None for no limit. `memory` is a size such as 4GB, empty for half of the
    machine's memory. `most_threads` is the highest number of threads, None for one per core; fewer threads
    need less memory. `reserve_bytes` is the memory for anything else than DuckDB's buffers.
    """

    timeout_s: float | None = None
    memory: str = ""
    most_threads: int | None = None
    reserve_bytes: int = 120_000_000


NO_LIMITS = Limits()


def connect(
    warehouse: Path,
    limits: Limits = NO_LIMITS,
    writable: Sequence[str | Path] = (),
    scratch: Path | None = None,
    is_locked: bool = True,
) -> duckdb.DuckDBPyConnection:
    """Connect to the warehouse's database read-only, with limits of memory and threads.

    DuckDB then reads no files except those of the warehouse, writes none except the `writable` ones, and
    spills to `scratch`. Unless `is_locked`, the user can change settings, except those that let DuckDB read
    other files. Raises UserError if there is no database, or it cannot be opened.
    """
    path = _database(warehouse)
    # The file is attached, because all connections of a process to one opened file share its settings.
    connection = duckdb.connect()
    _limit_memory(connection, limits.memory)
    if limits.most_threads:
        connection.execute(f"set threads = least(current_setting('threads'), {limits.most_threads})")
    disable_async_writes(connection)
    try:
        # Without the type, DuckDB would load an extension for a file of another kind, such as SQLite's.
        connection.execute(f"attach {quoted(str(path))} as warehouse (type duckdb, read_only)")
        # Fails if the database has no catalog: it is not one of Tracehouse.
        connection.execute("use warehouse.catalog")
    except duckdb.Error as error:
        if denied := explain_denied(path):
            raise UserError(denied) from None
        raise UserError(f"{path}: the database cannot be opened. {_explain_open(str(error))}") from None
    connection.execute("use warehouse")
    root = path.parent.as_posix()
    connection.execute("set variable data_root = $root", {"root": root})
    connection.execute("set timezone = 'UTC'")
    # By default DuckDB spills to the current folder. It creates this one only when it has to spill.
    scratch = scratch or temporary_folder() / f"{PREFIX}{uuid.uuid4().hex}"
    connection.execute("set temp_directory = $scratch", {"scratch": str(scratch)})
    connection.execute("set allow_persistent_secrets = false")
    connection.execute("set allowed_paths = $files", {"files": [str(path) for path in writable]})
    restrict_reading(connection, path.parent)
    if is_locked:
        connection.execute("set lock_configuration = true")
    return connection


def restrict_reading(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> None:
    """Let a connection read only the files of its databases and of a warehouse, whose path is absolute."""
    connection.execute("set python_enable_replacements = false")
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    folders = [(warehouse / folder).as_posix() for folder in (TABLES_FOLDER, VIEWS_FOLDER)]
    connection.execute("set allowed_directories = $folders", {"folders": folders})
    connection.execute("set enable_external_access = false")


def disable_async_writes(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn off the asynchronous threads through which COPY writes since DuckDB 2.0.

    With them, about one in ten COPYs whose query fails half-way never returns.
    """
    # Earlier versions have no such setting.
    with suppress(duckdb.CatalogException):
        connection.execute("set async_threads = 0")


def shell_command(warehouse: Path) -> list[str]:
    """The command that opens a warehouse's database read-only in the DuckDB shell.

    Raises UserError if there is no database, or no shell.
    """
    path = _database(warehouse)
    program = shutil.which("duckdb", path=sysconfig.get_path("scripts")) or shutil.which("duckdb")
    if program is None:
        raise UserError("The DuckDB shell is not installed. Run `pip install duckdb-cli`")
    root = quoted(path.parent.as_posix())
    return [program, "-readonly", "-cmd", f"set variable data_root = {root}", str(path)]


def run(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Path] = (),
    scratch: Path | None = None,
) -> T:
    """Run a function on a connection to a warehouse in a child process, and return its result.

    It can write only to the `writable` files and to a scratch folder, by default a new one. If this process
    has several threads, the function must be picklable; its result always. Raises UserError if the function
    fails or exceeds its limits.
    """
    if scratch is None:
        with scratch_folder() as scratch:
            return run(warehouse, limits, work, writable, scratch)
    try:
        return _run_once(warehouse, limits, work, writable, scratch)
    except NotStartedError:
        return _run_once(warehouse, limits, work, writable, scratch)


def _run_once(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Path],
    scratch: Path,
) -> T:
    started = _start(warehouse, limits, work, writable, scratch)
    with _explain_end(limits), signals.clean_up_at_end(started.end):
        started.wait(limits.timeout_s)
        return started.result()


async def run_async(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Path] = (),
    scratch: Path | None = None,
) -> T:
    """Do the same as `run` in a task of asyncio. If the task is cancelled, the child process is killed."""
    if scratch is None:
        with scratch_folder() as scratch:
            return await run_async(warehouse, limits, work, writable, scratch)
    try:
        return await _run_once_async(warehouse, limits, work, writable, scratch)
    except NotStartedError:
        return await _run_once_async(warehouse, limits, work, writable, scratch)


async def _run_once_async(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Path],
    scratch: Path,
) -> T:
    started = _start(warehouse, limits, work, writable, scratch)
    with _explain_end(limits), signals.clean_up_at_end(started.kill):
        try:
            await started.wait_async(limits.timeout_s)
        finally:
            started.kill()
            await started.wait_async(None)
        return started.result()


def _start(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], Any],
    writable: Sequence[Path],
    scratch: Path,
) -> Child:
    check_limits(limits)
    # The fork server may have another current folder.
    paths = [path.absolute() for path in writable]
    task = partial(_work_confined, warehouse.absolute(), limits, work, paths, scratch)
    if child.is_single_threaded():
        return child.fork(task)
    from tracehouse.engines.duckdb.read import fork_server

    return fork_server.run(task)


def _work_confined(
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection], T],
    writable: Sequence[Path],
    scratch: Path,
) -> T:
    """Run the work in this process, a child, within its limits."""
    try:
        landlock.confine_thread([scratch, *writable])
        connection = connect(warehouse, limits, writable, scratch)
        _limit_process(connection, limits)
        return work(connection)
    except MemoryError:
        raise _too_large(limits) from None
    except _list_failures() as error:
        raise _as_user_error(error, scratch, warehouse, limits) from None
    except OSError as error:
        # Arrow raises DuckDB's errors as its own.
        if _OUT_OF_MEMORY in str(error):
            raise _too_large(limits) from None
        if explained := _explain_stored_file(error, warehouse):
            raise UserError(explained) from None
        raise


def _limit_process(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    """Limit the memory of this process to DuckDB's limit, a reserve, and what it has mapped already.

    The limit counts private memory that the process may write, not files or reserved addresses.
    """
    if sys.platform != "linux":
        return
    mapped = re.search(r"^VmData:\s*(\d+) kB$", Path("/proc/self/status").read_text(encoding="utf-8"), re.M)
    assert mapped, "VmData"
    most = int(mapped[1]) * 1024 + most_memory(connection) + limits.reserve_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def most_memory(connection: duckdb.DuckDBPyConnection) -> int:
    """The memory limit of a connection, in bytes."""
    [(buffers,)] = connection.execute("select current_setting('memory_limit')").fetchall()
    return int(size_bytes(buffers) / _SHARE_OF_BUFFERS)


def check(warehouse: Path, limits: Limits) -> None:
    """Raise UserError if a warehouse cannot be opened, or for an invalid limit."""
    check_limits(limits)
    # A short timeout is for queries: the fork server may have to start first.
    run(warehouse, replace(limits, timeout_s=None), _do_nothing)


def _do_nothing(_: duckdb.DuckDBPyConnection) -> None:
    pass


@contextmanager
def _explain_end(limits: Limits) -> Iterator[None]:
    """Turn the end of a child without a result into a UserError."""
    try:
        yield
    except LateError:
        raise too_late(limits) from None
    except CrashError as error:
        [code] = error.args
        if code in (-signal.SIGABRT, -signal.SIGKILL):
            raise _too_large(limits) from None
        how = f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        raise UserError(
            f"The query process ended {how}: the query is nested too deeply, or needs more memory. "
            "Simplify it, or raise ",
            Option("memory_limit"),
        ) from None


def too_late(limits: Limits) -> UserError:
    """The error of work that takes longer than its limit."""
    what = f"No answer within {limits.timeout_s:g} s. Request less data, or raise "
    return UserError(what, Option("timeout"))


def _too_large(limits: Limits) -> UserError:
    limit = f" of {limits.memory}" if limits.memory else ", half of this machine's memory"
    what = f"The answer needs more than the memory limit{limit}. Request less data, or raise "
    return UserError(what, Option("memory_limit"))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a private folder to spill to. It is removed when the block ends or a signal ends the process.

    If the process is killed with SIGKILL, a later process removes the folder.
    """
    parent = temporary_folder()
    _remove_abandoned_folders(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))

    def remove() -> None:
        # Retry for up to two seconds: a child that is being killed may still be writing there.
        for _ in range(200):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                return
            time.sleep(0.01)

    with signals.clean_up_at_end(remove), _hold_lock(folder / _LOCK):
        yield folder


def _remove_abandoned_folders(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        lock = folder / _LOCK
        try:
            facts = folder.stat(follow_symlinks=False)
            if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < _YOUNG_S or not lock.is_file():
                continue
            with _hold_lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Another process uses the folder, or is removing it.
            continue


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Lock a file during the block. Raises OSError if another process has locked it.

    The library filelock does the same, but importing it would add 10 ms to every query.
    """
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _database(warehouse: Path) -> Path:
    path = resolve_warehouse(warehouse) / DATABASE
    # DuckDB would wait for a writer of a named pipe.
    if not path.is_file():
        raise UserError(
            f"{path}: no such database. Create it with ",
            Command("ingest", options={"raw": "DIR"}),
            ", or name the folder of an existing warehouse with ",
            Option("warehouse"),
        )
    return path


def _explain_open(error: str) -> str:
    """Return the cause and advice: another process has the database open for writing, or it is damaged."""
    if _LOCKED not in error:
        return (
            f"{error.splitlines()[0].rstrip('.!')}. If the file is damaged, `traces build` writes a new one"
        )
    holder = error.partition("is held in ")[2].partition(". See also")[0] or "another process"
    return (
        f"{holder.capitalize()} has it open for writing. Close it there. `traces shell` and "
        "`duckdb -readonly` open it for reading only"
    )


def _limit_memory(connection: duckdb.DuckDBPyConnection, limit: str) -> None:
    if limit:
        size = size_bytes(limit)
    else:
        [(default,)] = connection.execute("select current_setting('memory_limit')").fetchall()
        size = size_bytes(default) * _SHARE / SHARE_OF_DUCKDB
    buffers = f"{int(size * _SHARE_OF_BUFFERS)}B"
    connection.execute("set memory_limit = $buffers", {"buffers": buffers})


def check_limits(limits: Limits) -> None:
    """Raise UsageError for an invalid limit."""
    if limits.timeout_s is not None and not 0 < limits.timeout_s <= threading.TIMEOUT_MAX:
        raise UsageError(
            f"The timeout must be a number of seconds above 0 and below {threading.TIMEOUT_MAX:g}, "
            f"not {limits.timeout_s:g}"
        )
    if limits.memory and not SIZE.fullmatch(limits.memory):
        raise UsageError(f"The memory limit must be a size such as 500MB or 4GB, not {limits.memory!r}")


def _other_version(warehouse: Path) -> str:
    """Return the version of Tracehouse that built the database, if it is not this one; otherwise empty."""
    from importlib.metadata import version

    try:
        text = build_info_file(resolve_warehouse(warehouse)).read_text(encoding="utf-8")
        built_by = json.loads(text)["version"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return "" if built_by == version("tracehouse") else str(built_by)


def _explain_stored_file(error: Exception, warehouse: Path) -> str:
    """Explain an error of reading a Parquet file of the warehouse. Empty for other errors."""
    root = re.escape(resolve_warehouse(warehouse).as_posix())
    text = str(error)
    found = re.search(rf"{root}/(?:{TABLES_FOLDER}|{VIEWS_FOLDER})/[^\"']*\.parquet", text)
    is_header = type(error) is duckdb.Error and _DAMAGED_HEADER.search(text)
    if isinstance(error, _OTHER_ERRORS) or not (found or is_header):
        return ""
    if found and (denied := explain_denied(Path(found[0]))):
        return denied
    reason = text.partition("\n")[0].rstrip(".")
    if found and not Path(found[0]).is_file():
        reason = f"{found[0]}: the file is missing"
    return f"{reason}. {CHECK_FILES} lists missing and damaged files, and how to restore them"


def _list_failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that a failed query raises; Arrow's only if Arrow has been imported."""
    of_arrow = [sys.modules["pyarrow"].ArrowException] if "pyarrow" in sys.modules else []
    return (duckdb.Error, UserError, *of_arrow)


def _as_user_error(error: Exception, scratch: Path, warehouse: Path, limits: Limits) -> UserError:
    """Return the error to show for a failed query, with advice for lack of disk space or memory."""
    text = str(error)
    if "No space left on device" in text or "max_temp_directory_size" in text:
        return UserError(
            f"No space left for the answer, or for data that does not fit memory, in {scratch.parent}. "
            f"Free some, or set TMPDIR to a folder with more ({text.splitlines()[0]})"
        )
    if _OUT_OF_MEMORY in text:
        return _too_large(limits)
    if os.strerror(errno.EMFILE) in text:
        return UserError(TOO_MANY_FILES)
    if explained := _explain_stored_file(error, warehouse):
        return UserError(explained)
    is_binding_error = isinstance(error, duckdb.BinderException | duckdb.CatalogException | BindingError)
    if is_binding_error and (version := _other_version(warehouse)):
        # Names of the catalog may be missing, of which the user's statement says nothing.
        what = f"Tracehouse {version} built this database, and this version cannot answer from it"
        return UserError(f"{what}. Run `traces build`")
    # A user's statement begins one line lower than written: see `guard.reading_statement`. DuckDB
    # points at the line above it if it does not know the place, as in the argument of `query_table`.
    parts = error.parts if isinstance(error, UserError) else [text]
    located = [_locate(part) if isinstance(part, str) else part for part in parts]
    return error if isinstance(error, UserError) and located == [*parts] else UserError(*located)


def _locate(text: str) -> str:
    """Return a part of an error with the line numbers of the user's statement."""
    return _LINE.sub(lambda match: f"LINE {int(match[1]) - 1}: ", _OWN_LINE.sub("", text))

"""Run a task in a child process, which can be killed at any moment and whose crash harms no other process.

A process with a single thread forks: the child has all modules and connects in a few milliseconds. Forking a
process with several threads is not safe, because locks of the other threads stay locked in the child. Such a
process (a notebook, a server) gets its children from `fork_server`, and sends it the task.

A child sends its result through a socket. The other end reads until the child has ended.
"""

import ctypes
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tracehouse.core.errors import TOO_MANY_FILES, UserError

Task = Callable[[], Any]

MOST_BYTES = 64_000_000
"""The largest result that a child sends. Larger ones go to a file."""
EXIT_CODE = struct.Struct("<i")
STARTED = b"\1"
"""What the fork server sends before it forks the child."""
_CHUNK_BYTES = 1 << 20
# A killed process may take a moment to end.
_LONGEST_END_S = 2.0
# A socket refuses longer timeouts.
_LONGEST_WAIT_S = 1e6
_PR_SET_PDEATHSIG = 1
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


class CrashError(Exception):
    """A child ended without a result. The argument is its exit code, negative for a signal."""


class LateError(Exception):
    """A child has not ended in time."""


class NotStartedError(UserError):
    """The fork server ended before it forked the child, so that the task can be run again."""


class Child:
    """A child that runs a task. Without a process id, it is a child of the fork server.

    The fork server kills the child when this process ends or closes its direction of the stream. It sends
    `STARTED` before the result, and the exit code after it.
    """

    def __init__(
        self, stream: socket.socket, process: int = 0, server: "subprocess.Popen[bytes] | None" = None
    ):
        self._stream = stream
        self._process = process
        self._server = server
        self._content = bytearray()
        self._code: int | None = None

    def wait(self, timeout_s: float | None) -> None:
        """Wait until the child ends. Raises LateError."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while self._code is None:
            left_s = _LONGEST_WAIT_S if end_s is None else end_s - time.monotonic()
            if left_s <= 0:
                raise LateError
            self._stream.settimeout(min(left_s, _LONGEST_WAIT_S))
            with suppress(TimeoutError):
                try:
                    self._receive(self._stream.recv(_CHUNK_BYTES))
                except ConnectionError:
                    self._receive(b"")

    async def wait_async(self, timeout_s: float | None) -> None:
        """Wait until the child ends. Raises LateError."""
        # Imported here, because it would add 20 ms to every query on the command line.
        import asyncio

        self._stream.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                while self._code is None:
                    try:
                        self._receive(await loop.sock_recv(self._stream, _CHUNK_BYTES))
                    except ConnectionError:
                        self._receive(b"")
        except TimeoutError:
            raise LateError from None

    def kill(self) -> None:
        """Kill the child unless it has ended."""
        # The child may have ended just now.
        with suppress(OSError):
            if self._code is None and self._process:
                os.kill(self._process, signal.SIGKILL)
            elif self._code is None:
                self._stream.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        """Kill the child unless it has ended, and wait until it has."""
        self.kill()
        self.wait(None)

    def result(self) -> Any:
        """The result of the task of a child that has ended. Raises the exception that the task raised.

        Raises CrashError if there is neither, and NotStartedError if there was no child.
        """
        self._stream.close()
        if self._server and not self._content.startswith(STARTED):
            try:
                self._server.wait(_LONGEST_END_S)
            except subprocess.TimeoutExpired:
                # The server lives, but could not receive the socket of the request.
                raise UserError(TOO_MANY_FILES) from None
            raise NotStartedError("The process that runs queries was killed. Try again")
        if self._code:
            raise CrashError(self._code)
        is_result, value = pickle.loads(self._content.removeprefix(STARTED))
        if is_result:
            return value
        raise value

    def _receive(self, chunk: bytes) -> None:
        """Keep a part of the result. An empty one means that the child has ended."""
        self._content += chunk
        if chunk:
            return
        if self._process:
            try:
                _, status = os.waitpid(self._process, 0)
                self._code = os.waitstatus_to_exitcode(status)
            except ChildProcessError:
                # A signal handler has killed the child, and waited for it.
                self._code = -signal.SIGKILL
        elif len(self._content) >= len(STARTED) + EXIT_CODE.size:
            (self._code,) = EXIT_CODE.unpack(self._content[-EXIT_CODE.size :])
            del self._content[-EXIT_CODE.size :]
        else:
            # The fork server was killed, and its children with it.
            self._code = -signal.SIGKILL


def is_single_threaded() -> bool:
    """Whether this process has no threads except this one, also none of libraries."""
    tasks = Path("/proc/self/task")
    return len([*tasks.iterdir()]) == 1 if tasks.exists() else threading.active_count() == 1


def fork(task: Task) -> Child:
    """Run a task in a fork of this process, which must be single-threaded."""
    own, stream = socket.socketpair()
    parent = os.getpid()
    process = os.fork()
    if not process:
        own.close()
        run_in_child(task, stream, parent)
    stream.close()
    return Child(own, process)


def run_in_child(task: Task, stream: socket.socket, parent: int) -> NoReturn:
    """Run a task in this process, a new child, send the result, and exit."""
    code = 1
    try:
        _end_with(parent)
        for number in _IGNORED:
            # A signal to the process group is the parent's: it kills the child.
            signal.signal(number, signal.SIG_IGN)
        # Libraries print to standard error before they abort the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        # Arrow's own allocator reserves a gigabyte, and OpenBLAS memory for each thread.
        os.environ |= LIBRARIES
        if "pyarrow" in sys.modules:
            arrow = sys.modules["pyarrow"]
            arrow.set_memory_pool(arrow.system_memory_pool())
        stream.sendall(_run(task))
        code = 0
    finally:
        os._exit(code)


LIBRARIES = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
"""The environment in which libraries allocate little memory in addition to their data."""


def _run(task: Task) -> bytes:
    try:
        content = pickle.dumps((True, task()))
        if len(content) <= MOST_BYTES:
            return content
        error: BaseException = UserError(
            f"The answer is too large: {len(content) / 1e6:,.0f} MB, and at most {MOST_BYTES / 1e6:,.0f} MB "
            "can be shown. Request less data, or write it to a file"
        )
    except BaseException as raised:  # Also a panic of Polars. The parent raises it again.
        error = raised
        if not isinstance(error, UserError):
            error.add_note(traceback.format_exc())
    try:
        return pickle.dumps((False, error))
    except (pickle.PicklingError, TypeError, AttributeError):
        return pickle.dumps((False, RuntimeError("".join(traceback.format_exception(error)))))


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when the thread that started it ends. Only Linux can."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

"""The fork server: a helper without threads of its own, from which a process with threads gets its children.

It imports modules once, so that its children start at once. A request is a socket, sent over the control
socket, and on it the length of the pickled task and the task. The server replies that it has the task, and
forks a child, which sends its result through the same socket. When the child has ended, the server appends
the exit code. When the requester closes its direction of the socket, the server kills the child. It ends, and
kills all children, when the process that started it ends.
"""

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from tracehouse.engines.duckdb.read.child import EXIT_CODE, LIBRARIES, STARTED, Child, Task, run_in_child

_LENGTH = struct.Struct("<Q")
_SCRIPT = "import sys; from tracehouse.engines.duckdb.read import fork_server; fork_server.main(sys.argv[1:])"
ALLOCATOR = {"DUCKDB_JE_MALLOC_CONF": "retain:false"}
"""The environment in which DuckDB's allocator returns freed addresses, which count towards the limit."""

# Otherwise a write to the socket of a killed server would also send a signal, which ends `traces`.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)

_lock = threading.Lock()
_control: socket.socket | None = None
# Kept, because the garbage collector warns about running processes.
_process: "subprocess.Popen[bytes] | None" = None


def start(modules: Sequence[str] = ()) -> None:
    """Start the server of this process, unless it runs. It imports the modules that its tasks need."""
    with _lock:
        if _control is None:
            _start(modules)


def run(task: Task) -> Child:
    """Run a task in a child of the server. The task must be picklable."""
    content = pickle.dumps(task)
    start()
    own, given = socket.socketpair()
    with given, _lock:
        assert _control and _process
        try:
            _send(_control, given)
        except ConnectionError:
            # The server was killed.
            _control.close()
            _process.wait()
            _send(_start(), given)
        child = Child(own, server=_process)
    # If the server was killed in the meantime, the child reports it.
    with suppress(ConnectionError):
        own.sendall(_LENGTH.pack(len(content)) + content, _NO_SIGNAL)
    return child


def _send(control: socket.socket, given: socket.socket) -> None:
    descriptors = array("i", [given.fileno()])
    control.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)], _NO_SIGNAL)


def _start(modules: Sequence[str] = ()) -> socket.socket:
    global _control, _process
    _control, given = socket.socketpair()
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with given:
        _process = subprocess.Popen(
            # With -P, a module in the current folder does not hide an installed one.
            [sys.executable, "-P", "-c", _SCRIPT, str(given.fileno()), *modules],
            pass_fds=[given.fileno()],
            env={**os.environ, **LIBRARIES, **ALLOCATOR, **paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # Ctrl-C is for the process that the user started.
            process_group=0,
        )
    return _control


def main(arguments: Sequence[str]) -> None:
    """Serve requests. The arguments are the number of the control socket, and modules to import."""
    number, *modules = arguments
    for module in modules:
        import_module(module)
    _serve(socket.socket(fileno=int(number)))


@dataclass
class _Request:
    """A running request: its socket, its child, and a pipe that the child keeps open."""

    stream: socket.socket
    ended: int
    process: int
    is_killed: bool = False

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        self.is_killed = True

    def reply(self) -> None:
        """Append the exit code of the ended child."""
        _, status = os.waitpid(self.process, 0)
        # The requester may have closed the socket.
        with self.stream, suppress(OSError):
            self.stream.sendall(EXIT_CODE.pack(os.waitstatus_to_exitcode(status)))
        os.close(self.ended)


def _serve(control: socket.socket) -> None:
    running: dict[int, _Request] = {}
    while True:
        # A socket whose other end was closed is readable.
        open_streams = {one.stream.fileno(): one for one in running.values() if not one.is_killed}
        for number in _wait_until_readable([control.fileno(), *running, *open_streams]):
            if number in running:
                running.pop(number).reply()
            elif number in open_streams and open_streams[number].ended in running:
                open_streams[number].kill()
            elif number == control.fileno():
                content, received, _, _ = socket.recv_fds(control, 1, 1)
                if not content:
                    # The process group is this process and its children.
                    os.killpg(0, signal.SIGKILL)
                others = [control, *(one.stream for one in running.values())]
                # The kernel drops the socket if this process has too many open files.
                for descriptor in received:
                    if request := _serve_request(socket.socket(fileno=descriptor), others):
                        running[request.ended] = request


def _wait_until_readable(descriptors: Iterable[int]) -> list[int]:
    # `select` is limited to the first 1,024 descriptors of a process.
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll()]


def _serve_request(stream: socket.socket, others: Sequence[socket.socket]) -> _Request | None:
    """Fork a child that runs the requested task. Does nothing if the requester has ended."""
    # One request must not end the server, and with it the children of the others.
    try:
        with stream.makefile("rb") as sent:
            head = sent.read(_LENGTH.size)
            content = sent.read(*_LENGTH.unpack(head)) if len(head) == _LENGTH.size else b""
        if content:
            stream.sendall(STARTED)
            return _fork(content, stream, others)
    except ConnectionError:
        pass
    except OSError as error:
        with suppress(ConnectionError):
            stream.sendall(pickle.dumps((False, error)) + EXIT_CODE.pack(0))
    stream.close()
    return None


def _fork(content: bytes, stream: socket.socket, others: Sequence[socket.socket]) -> _Request:
    ended, kept_open = os.pipe()
    parent = os.getpid()
    try:
        process = os.fork()
    except OSError:
        os.close(ended)
        os.close(kept_open)
        raise
    if not process:
        for other in others:
            other.close()
        run_in_child(lambda: pickle.loads(content)(), stream, parent)
    os.close(kept_open)
    return _Request(stream, ended, process)

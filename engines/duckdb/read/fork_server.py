"""The fork server: a helper without threads of its own, from which a process with threads gets its children.

It imports modules once, so that its children start at once. A request is a socket, sent over the control
socket, and on it the length of the pickled task and the task. The server forks a child, which sends its
result through the same socket. When the child has ended, the server appends the exit code. When the requester
closes its direction of the socket, the server kills the child. It ends, and kills all children, when the
process that started it ends.
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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from tracehouse.engines.duckdb.read.child import EXIT_CODE, LIBRARIES, Child, Task, become

_LENGTH = struct.Struct("<Q")
_SCRIPT = "import sys; from tracehouse.engines.duckdb.read import fork_server; fork_server.main(sys.argv[1:])"
ALLOCATOR = {"DUCKDB_JE_MALLOC_CONF": "retain:false"}
"""The environment in which DuckDB's allocator returns freed addresses, which count towards the limit."""

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
        assert _control
        try:
            socket.send_fds(_control, [b"\0"], [given.fileno()])
        except OSError:
            # The server was killed.
            _control.close()
            socket.send_fds(_start(), [b"\0"], [given.fileno()])
    own.sendall(_LENGTH.pack(len(content)) + content)
    return Child(own)


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
        readable, _, _ = select.select([control.fileno(), *running, *open_streams], [], [])
        for number in readable:
            if number in running:
                running.pop(number).reply()
            elif number in open_streams and open_streams[number].ended in running:
                open_streams[number].kill()
            elif number == control.fileno():
                _, received, _, _ = socket.recv_fds(control, 1, 1)
                if not received:
                    # The process group is this process and its children.
                    os.killpg(0, signal.SIGKILL)
                others = [control, *(one.stream for one in running.values())]
                if request := _fork(socket.socket(fileno=received[0]), others):
                    running[request.ended] = request


def _fork(stream: socket.socket, others: Sequence[socket.socket]) -> _Request | None:
    """Fork a child that runs the requested task. Does nothing if the requester has ended."""
    with stream.makefile("rb") as sent:
        head = sent.read(_LENGTH.size)
        content = sent.read(*_LENGTH.unpack(head)) if len(head) == _LENGTH.size else b""
    if not content:
        stream.close()
        return None
    ended, kept_open = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if not process:
        for other in others:
            other.close()
        become(lambda: pickle.loads(content)(), stream, parent)
    os.close(kept_open)
    return _Request(stream, ended, process)

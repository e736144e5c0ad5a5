"""Runs a program in a terminal of some size, as somebody who reads and types does."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sysconfig
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 30


class Terminal:
    """A program in a terminal, which is its controlling one: Ctrl-C reaches all that runs in it."""

    def __init__(self, command: Sequence[object], rows: int, columns: int, **environment: object):
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._run = subprocess.Popen(
            [str(part) for part in command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_control,
            env={
                "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                **{name: str(value) for name, value in environment.items()},
            },
        )
        os.close(theirs)
        self.shown = ""

    def until(self, text: str) -> None:
        """Read until a text has been shown."""
        while text not in self.shown:
            assert self._read(), f"{text!r} was not shown: {self.shown[-2000:]}"

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def signal(self, number: int) -> None:
        """Send the program, and no other, a signal."""
        self._run.send_signal(number)

    def end(self) -> int:
        """Read until the program has ended, and return how it did."""
        while self._read():
            pass
        return self._run.wait(PATIENCE_S)

    @property
    def text(self) -> str:
        """What was shown, without colours and what moves the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", self.shown).replace("\r\n", "\n")

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], PATIENCE_S)[0]:
            return False
        try:
            block = os.read(self._ours, 65536)
        except OSError:
            return False
        self.shown += block.decode(errors="replace")
        return bool(block)

    def close(self) -> None:
        """End what still runs."""
        if self._run.poll() is None:
            self._run.kill()
            self._run.wait()
        os.close(self._ours)


def _control() -> None:
    """Make standard input the controlling terminal, whose Ctrl-C counts, whoever runs the tests."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def terminal(
    *command: object, rows: int = 24, columns: int = 80, warehouse: Path | None = None, **environment: object
) -> Iterator[Terminal]:
    """A program in a terminal, ended with the block; with a warehouse, `traces` with such arguments."""
    if warehouse:
        command = (Path(sysconfig.get_path("scripts")) / "traces", *command)
        environment = {"TRACES_WAREHOUSE": warehouse, **environment}
    opened = Terminal(command, rows, columns, **environment)
    try:
        yield opened
    finally:
        opened.close()

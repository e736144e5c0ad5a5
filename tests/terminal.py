"""Run a program in a pseudo-terminal."""

import io
import os
import re
import signal
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
from command_line import TIMEOUT_S


@contextmanager
def terminal(
    *command: object,
    rows: int = 24,
    columns: int = 80,
    folder: Path | None = None,
    warehouse: Path | None = None,
    **environment: object,
) -> Iterator[pexpect.spawn]:
    """Run a program in a terminal and end it with the block. With a warehouse, the program is `traces`."""
    if warehouse:
        command = (Path(sysconfig.get_path("scripts")) / "traces", *command)
        environment = {"TRACES_WAREHOUSE": warehouse, **environment}
    program, *arguments = map(str, command)
    opened = pexpect.spawn(
        program,
        arguments,
        timeout=TIMEOUT_S,
        cwd=folder,
        dimensions=(rows, columns),
        encoding="utf-8",
        codec_errors="replace",
        env={
            "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **{name: str(value) for name, value in environment.items()},
        },
        preexec_fn=_restore_signals,
    )
    opened.logfile_read = io.StringIO()
    try:
        yield opened
    finally:
        opened.close(force=True)


def _restore_signals() -> None:
    """Restore Ctrl-C and the end of the terminal, which the process that runs the tests may ignore."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def end(opened: pexpect.spawn) -> int:
    """Read until the program ends, and return its exit code."""
    opened.expect(pexpect.EOF)
    return opened.wait()


def screen(opened: pexpect.spawn) -> str:
    """Return everything printed so far."""
    return opened.logfile_read.getvalue()


def plain(opened: pexpect.spawn) -> str:
    """Return everything printed so far without escape sequences and overwritten lines."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", screen(opened)).replace("\r\n", "\n")
    return re.sub(r"[^\n]*\r", "", text)

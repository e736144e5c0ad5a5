"""`traces explore` as a process."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import command_line


@dataclass(frozen=True)
class Server:
    """A server: its process, the URL that it printed, and its temporary folder."""

    process: subprocess.Popen[str]
    address: str
    scratch: Path

    @property
    def root(self) -> str:
        """The URL without the token and the final slash."""
        return self.address.partition("/?")[0]


def start(warehouse: Path, scratch: Path, *options: str) -> Server:
    process = subprocess.Popen(
        [command_line.TRACES, "explore", "-w", warehouse, "--no-browser", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("Open http://127.0.0.1:"), line + process.stdout.read()
    return Server(process, line.split()[1], scratch)


def interrupt(served: Server) -> int:
    served.process.send_signal(signal.SIGINT)
    return served.process.wait(120)

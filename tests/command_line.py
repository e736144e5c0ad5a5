"""Run `traces` and return its exit code and output.

Most runs are forks of a server that has imported all modules, which saves a second each. `by_itself` runs the
installed command.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
# Even on a busy machine, only a command that hangs takes longer.
TIMEOUT_S = 600


@dataclass(frozen=True)
class Run:
    """The result of a run. `code` is negative after a signal, and None after the timeout."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def errors(self) -> list[str]:
        """The lines of standard error that begin with `error: `."""
        return [line for line in self.stderr.splitlines() if line.startswith("error: ")]

    def faults(self, codes: Sequence[int] = (0, 1)) -> list[str]:
        """Return what is wrong with the exit code or the errors: a traceback, or code 1 without an error."""
        found = []
        if self.code is None:
            found.append("no exit before the timeout")
        elif self.code not in codes:
            found.append(f"exit code {self.code}: {self.stderr[-600:]}")
        if "Traceback" in self.stderr:
            found.append(f"a traceback: {self.stderr[-600:]}")
        elif self.code == 1 and not self.errors:
            found.append(f"exit code 1 without a line `error: …`: {self.stderr[-600:]}")
        return found


class Server:
    """A process that has imported all modules and runs the command line in forks, one at a time.

    `environment` are variables of this process.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] = MappingProxyType({})):
        self._folder = folder
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **environment},
        )

    def run(self, *argv: object, stdin: str = "", timeout_s: float = TIMEOUT_S, **request: Any) -> Run:
        """Run `traces` with arguments and a text as standard input. `request` is passed to `fork_server`."""
        assert self._process.stdin and self._process.stdout
        with self._lock, tempfile.TemporaryDirectory(dir=self._folder) as scratch:
            Path(scratch).chmod(0o777)
            files = {name: str(Path(scratch) / name) for name in ("stdin", "stdout", "stderr")}
            Path(files["stdin"]).write_text(stdin, encoding="utf-8")
            words = [os.fsdecode(a) if isinstance(a, Path | bytes) else str(a) for a in argv]
            message = {"argv": words, **files, **request, "cwd": str(request.get("cwd", self._folder))}
            print(json.dumps(message), file=self._process.stdin, flush=True)
            child = json.loads(self._process.stdout.readline())["pid"]
            timer = threading.Timer(timeout_s, os.kill, (child, signal.SIGKILL))
            timer.start()
            code: int | None = json.loads(self._process.stdout.readline())["code"]
            is_late = timer.finished.is_set()
            timer.cancel()
            return Run(
                None if is_late else code, text_of(Path(files["stdout"])), text_of(Path(files["stderr"]))
            )

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@cache
def server() -> Server:
    """Return the server of this process, which ends with the process."""
    folder = tempfile.TemporaryDirectory()
    started = Server(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(started.close)
    return started


def by_itself(*argv: object, timeout_s: float = TIMEOUT_S, **options: Any) -> Run:
    """Run the installed command in a new process."""
    code: int | None = None
    options = {"capture_output": True, "timeout": timeout_s, "stdin": subprocess.DEVNULL, **options}
    try:
        ended: Any = subprocess.run([TRACES, *argv], **options)
        code = ended.returncode
    except subprocess.TimeoutExpired as late:
        ended = late
    return Run(code, *((text or b"").decode(errors="replace") for text in (ended.stdout, ended.stderr)))


def text_of(path: Path) -> str:
    """Return the text of a file, with escapes for bytes that are not UTF-8."""
    return path.read_bytes().decode(errors="backslashreplace") if path.exists() else ""

"""Show text that is longer than the terminal in a pager.

TRACES_PAGER names the pager, else PAGER; the default is `less`. An empty name or `cat` disables it. Unless
LESS is set, less shows colours, and truncates long lines, which can be scrolled sideways. Click's own pager
does not fit: it reads only PAGER, and keeps running when a signal ends this process.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from tracehouse.core import signals

_DEFAULT = "less"
# Show colours, truncate long lines, and leave the text on the screen.
_LESS = "RSX"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
# More than any terminal shows at once.
_SCREENFUL_BYTES = 1 << 18


def command() -> str:
    """The command of the pager; empty if no pager is installed, or if the terminal cannot page."""
    chosen = os.environ.get("TRACES_PAGER", os.environ.get("PAGER", _DEFAULT)).strip()
    if chosen in ("", "cat") or os.environ.get("TERM", "dumb") == "dumb":
        return ""
    with suppress(ValueError):
        program = next((word for word in shlex.split(chosen) if "=" not in word), "")
        if shutil.which(program):
            return chosen
    return ""


def is_longer_than_screen(file: BinaryIO) -> bool:
    """Whether a text has more lines than the terminal, counting wrapped ones. Reads from the file's start."""
    size = shutil.get_terminal_size()
    file.seek(0)
    head = file.read(_SCREENFUL_BYTES)
    if len(head) == _SCREENFUL_BYTES:
        return True
    from rich.cells import cell_len

    lines = _STYLE.sub("", head.decode(errors="replace")).splitlines()
    # One line of the terminal is left for the shell's prompt.
    left = size.lines - 1
    for line in lines:
        left -= max(1, -(-cell_len(line) // size.columns))
        if left < 0:
            return True
    return False


@contextmanager
def start(command: str) -> Iterator[BinaryIO]:
    """Start a pager and yield its input, then wait until the user quits the pager.

    Quitting before all input is read is not an error.
    """
    settings = {"LESS": _LESS, "LV": "-c"} | os.environ
    with signals.ignore_signals(signal.SIGINT, signal.SIGPIPE):
        # Unbuffered: after the pager has ended, closing a buffered pipe would write its bytes again and fail.
        pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, bufsize=0, env=settings)
        with signals.clean_up_at_end(lambda: _end(pager)):
            with suppress(BrokenPipeError), cast(BinaryIO, pager.stdin) as stream:
                yield stream
            pager.wait()


def _end(pager: subprocess.Popen) -> None:
    """End a pager that still runs. Does not wait for it, as a signal handler may run during `pager.wait`."""
    if pager.poll() is None:
        pager.terminate()

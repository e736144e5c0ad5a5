"""Shows what is longer than the terminal in a pager, which stays until whoever reads has read enough.

TRACES_PAGER names it, or else PAGER, and without either it is `less`; an empty name, or `cat`, means none.
Where LESS is not set, less chops long lines, to be read by moving sideways, and shows colours.
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
# Colours as they are, long lines chopped, and what was read stays on the screen. What fits comes to no pager.
_LESS = "RSX"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
# More than any terminal shows at once.
_SCREENFUL_BYTES = 1 << 18


def command() -> str:
    """The command of the pager; empty where there is none, or nothing to page on."""
    chosen = os.environ.get("TRACES_PAGER", os.environ.get("PAGER", _DEFAULT)).strip()
    if chosen in ("", "cat") or os.environ.get("TERM", "dumb") == "dumb":
        return ""
    with suppress(ValueError):
        program = next((word for word in shlex.split(chosen) if "=" not in word), "")
        if shutil.which(program):
            return chosen
    return ""


def is_longer_than_screen(file: BinaryIO) -> bool:
    """Whether a text, wrapped where its lines are long, has more lines than the terminal; from its start."""
    size = shutil.get_terminal_size()
    file.seek(0)
    head = file.read(_SCREENFUL_BYTES)
    if len(head) == _SCREENFUL_BYTES:
        return True
    from rich.cells import cell_len

    lines = _STYLE.sub("", head.decode(errors="replace")).splitlines()
    # The last line is the shell's.
    left = size.lines - 1
    for line in lines:
        left -= max(1, -(-cell_len(line) // size.columns))
        if left < 0:
            return True
    return False


@contextmanager
def opened(pager: str) -> Iterator[BinaryIO]:
    """What to write to for a pager; whoever reads may leave it before all is written, and that is no error.

    The block ends when the pager does.
    """
    settings = {"LESS": _LESS, "LV": "-c"} | os.environ
    with signals.left_to_another(signal.SIGINT, signal.SIGPIPE):
        # Without a buffer, which would be written once more when it is thrown away.
        shows = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, bufsize=0, env=settings)
        with signals.before_the_end(lambda: _end(shows)):
            with suppress(BrokenPipeError), cast(BinaryIO, shows.stdin) as stream:
                yield stream
            shows.wait()


def _end(shows: subprocess.Popen) -> None:
    """End a pager that still runs; without waiting, as this may be called amid the wait for it."""
    if shows.poll() is None:
        shows.terminate()

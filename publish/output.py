"""Write output atomically: to a file, or to a stream once all of it is computed.

Until then, a temporary file holds the output: next to the file that it replaces, or in the scratch folder.
"""

import codecs
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tracehouse.core import signals, staging
from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import sandbox

_CHUNK_BYTES = 1 << 20
_PAGER = "less"
# less shows colours, truncates long lines, which can be scrolled sideways, and leaves the text on the screen.
_PAGER_SETTINGS = {"LESS": "RSX", "LV": "-c"}


def is_terminal(output: Path | None) -> bool:
    """Whether an output is a terminal."""
    if output is None:
        return sys.stdout is not None and sys.stdout.isatty()
    if not output.is_char_device():
        return False
    with output.open("rb") as file:
        return file.isatty()


def _terminal_encoding() -> str:
    """The encoding of the user's terminal, as a normalised name."""
    return codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name


def is_stream(output: Path) -> bool:
    """Whether an output is a stream, such as a pipe or /dev/stdout, and not a file that can be replaced."""
    folders = {str(folder) for folder in output.absolute().parents}
    # Files in /dev/shm are kept in memory, and are files all the same.
    is_device = "/dev" in folders and "/dev/shm" not in folders
    return is_device or (output.exists() and not output.is_file())


def check(output: Path | None) -> None:
    """Raise UserError if an output cannot be written."""
    if output is None:
        if sys.stdout is None:
            raise UserError("Standard output is closed. Name a file with --output")
        return
    try:
        if output.is_dir():
            raise UsageError(f"{output}: exists, and is not a file")
        path = Path(os.path.realpath(output))
        if path.is_symlink():
            raise UsageError(f"{output}: the link points to itself")
        check_folder(path if output.is_symlink() else output)
    except (ValueError, UnicodeError):
        raise UsageError(f"{escape_text(str(output))}: not a valid file name") from None


def check_folder(path: Path) -> None:
    """Raise UserError if the folder of a file does not exist. A mistyped name must not create a folder."""
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder. Create it, or name another file")


@contextmanager
def open_output(
    output: Path | None, scratch: Path, escapes: bool = False, pages: bool = False
) -> Iterator[Path]:
    """Yield a temporary file, and write its content to the output when the block ends without an error.

    On a terminal, the text is in the terminal's encoding, and with `escapes`, control characters are escaped.
    With `pages`, text that is longer than the terminal goes through a pager.
    """
    check(output)
    if output and not is_stream(output):
        with _explain_errors(output), staging.replace_file(output) as temporary:
            yield temporary
        return
    temporary = scratch / "output"
    temporary.touch()
    yield temporary
    to_terminal = is_terminal(output)
    encoding = _terminal_encoding()
    if to_terminal and (escapes or encoding != "utf-8"):
        plain, temporary = temporary, scratch / "shown"
        with plain.open("rb") as source, temporary.open("wb") as file:
            for line in codecs.iterdecode(source, "utf-8", "surrogateescape"):
                file.write((escape_text(line) if escapes else line).encode(encoding, errors="replace"))
    if pages and to_terminal and not output and (pager := _find_pager()) and _is_long(temporary):
        _page(temporary, pager)
        return
    with temporary.open("rb") as source, _open_stream(output) as stream:
        while chunk := source.read(_CHUNK_BYTES):
            # An unbuffered stream may write fewer bytes than it gets.
            while chunk := chunk[stream.write(chunk) or 0 :]:
                pass


def print_text(text: str, pages: bool) -> None:
    """Print a text without escaping it, with `pages` through a pager if it is longer than the terminal."""
    with sandbox.scratch_folder() as scratch, open_output(None, scratch, pages=pages) as temporary:
        temporary.write_bytes(text.encode(errors="surrogateescape"))


def _open_stream(output: Path | None) -> BinaryIO:
    """Open a stream without a buffer, so that a failure is raised here and not when the process ends."""
    if output:
        return output.open("wb", buffering=0)
    sys.stdout.flush()
    return open(sys.stdout.fileno(), "wb", buffering=0, closefd=False)


@contextmanager
def _explain_errors(output: Path) -> Iterator[None]:
    """Turn an OSError on writing a file into a UserError that names the file."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{output}: cannot be written ({error.strerror}). Name a file in a folder that you may write"
        ) from None


def _find_pager() -> str:
    """The command of TRACES_PAGER, of PAGER, or less; empty if it is cat, empty or not installed."""
    command = os.environ.get("TRACES_PAGER", os.environ.get("PAGER", _PAGER)).strip()
    if command in ("", "cat") or os.environ.get("TERM", "dumb") == "dumb":
        return ""
    program = next((word for word in command.split() if "=" not in word), "")
    return command if shutil.which(program) else ""


def _is_long(path: Path) -> bool:
    """Whether a text has more lines than the terminal, which keeps one for the shell's prompt."""
    lines = shutil.get_terminal_size().lines
    with path.open("rb") as file:
        return sum(1 for _ in islice(file, lines)) == lines


def _page(path: Path, pager: str) -> None:
    """Show a file in a pager, and wait until the user quits. Ctrl-C is for the pager."""
    with signals.ignore_signals(signal.SIGINT), path.open("rb") as text:
        shown = subprocess.Popen(pager, shell=True, stdin=text, env=_PAGER_SETTINGS | os.environ)
        with signals.clean_up_at_end(lambda: shown.terminate() if shown.poll() is None else None):
            shown.wait()

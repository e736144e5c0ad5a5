"""Start and end the process of a command, even if standard streams are closed or broken."""

import os
import sys
from typing import NoReturn


def open_closed_streams() -> None:
    """Open the null device for each closed standard stream, so that no other file gets its descriptor.

    Also make standard output and standard error escape characters that the terminal cannot show.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            # Without this, a character that the terminal's encoding lacks raises UnicodeEncodeError.
            reconfigure(errors="backslashreplace")


def leave(code: int) -> NoReturn:
    """Flush the standard streams and end the process without waiting for other threads.

    The exit code is `code`, or 1 if `code` is 0 and a flush fails.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError as error:
            code = code or 1
            if stream is sys.stdout:
                print(f"error: standard output: {error}", file=sys.stderr)
    os._exit(code)

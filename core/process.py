"""Start and end the process of a command, also with closed or broken standard streams."""

import os
import sys
from typing import NoReturn


def open_closed_streams() -> None:
    """Open the null device for each closed standard stream, so that no other file takes its descriptor."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            # A terminal that is not UTF-8 shows other characters escaped, as \\xe9.
            reconfigure(errors="backslashreplace")


def leave(code: int) -> NoReturn:
    """End the process without waiting for other threads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError as error:
            code = code or 1
            if stream is sys.stdout:
                print(f"error: standard output: {error}", file=sys.stderr)
    os._exit(code)

"""How the process of a command begins and ends, whatever its standard streams are."""

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
            # On a terminal that is not UTF-8, what cannot be encoded is escaped, as \\xe9.
            reconfigure(errors="backslashreplace")


def leave(code: int) -> NoReturn:
    """End the process, without waiting for what may still run in another thread."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError as error:
            code = code or 1
            if stream is sys.stdout:
                print(f"error: standard output: {error}", file=sys.stderr)
    os._exit(code)

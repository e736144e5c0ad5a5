"""Check the types of arguments that a caller passes from Python. Errors name the wrong argument."""

import math
from numbers import Real
from operator import index
from pathlib import Path

from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text


def check_text(argument: str, value: object) -> str:
    """Return a string. Raises UsageError for another type, and for text that UTF-8 cannot encode."""
    if not isinstance(value, str):
        raise UsageError(f"{argument} must be a string, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument}: {escape_text(value)} is not valid UTF-8") from None
    return value


def check_path(argument: str, value: object) -> Path:
    """Return a string or a path as a path. Raises UsageError for another type."""
    if isinstance(value, str | Path):
        return Path(value)
    raise UsageError(f"{argument} must be a path, not {value!r}")


def check_whole_number(argument: str, value: object) -> int:
    """Return an integer of Python or NumPy as an int. Raises UsageError for another type."""
    try:
        if not isinstance(value, bool):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise UsageError(f"{argument} must be a whole number, not {value!r}")


def check_number(argument: str, value: object) -> float:
    """Return a finite number of Python or NumPy as a float. Raises UsageError for any other value."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise UsageError(f"{argument} must be a number, not {value!r}")

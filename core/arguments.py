"""Check the types of arguments that a caller passes from Python, and name the wrong one."""

import math
from numbers import Real
from operator import index
from pathlib import Path

from tracehouse.core.errors import UsageError


def check_text(argument: str, value: object) -> str:
    """Return a string. Raises UsageError for anything else, and for what is no UTF-8."""
    if not isinstance(value, str):
        raise UsageError(f"{argument} must be a string, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument}: {value!r} is not valid UTF-8") from None
    return value


def check_path(argument: str, value: object) -> Path:
    """Return the path of a string or a path. Raises UsageError for anything else."""
    if isinstance(value, str | Path):
        return Path(value)
    raise UsageError(f"{argument} must be a path, not {value!r}")


def check_whole_number(argument: str, value: object) -> int:
    """Return an integer, also of NumPy. Raises UsageError for anything else."""
    try:
        if not isinstance(value, bool):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise UsageError(f"{argument} must be a whole number, not {value!r}")


def check_number(argument: str, value: object) -> float:
    """Return a finite number, also of NumPy. Raises UsageError for anything else."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise UsageError(f"{argument} must be a number, not {value!r}")

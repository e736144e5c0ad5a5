"""Check the arguments of the Python interface, which may be any object.

Each function returns a plain value of Python, or raises UsageError, which names the argument. Numbers and
times of NumPy and pandas are valid, arrays are not.
"""

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any

from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text

Value = str | int | float | bool | dt.date
"""The types of parameters."""

_LONGEST_SHOWN = 200
# DuckDB's largest signed integer.
_LARGEST = 2**127 - 1


def check_text(argument: str, value: object) -> str:
    """Return a string. It must be valid UTF-8."""
    if not isinstance(value, str):
        raise _refuse(argument, "a string", value)
    # A subclass, such as of an enumeration, may have another text.
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument}: {escape_text(text)} is not valid UTF-8") from None
    return text


def check_path(argument: str, value: object) -> Path:
    """Return a path, given as a string or a path."""
    if not isinstance(value, str | Path):
        raise _refuse(argument, "a path", value)
    try:
        name = os.fsencode(value)
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise UsageError(f"{argument} must be a path, not {_show(value)}: no file can have this name")
    return Path(value)


def check_number(argument: str, value: object) -> float:
    """Return a finite number as a float."""
    try:
        if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except OverflowError:
        # An integer above all floats.
        pass
    raise _refuse(argument, "a number", value)


def check_whole_number(argument: str, value: object) -> int:
    """Return an integer."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise _refuse(argument, "a whole number", value)
    if abs(number) > _LARGEST:
        raise _refuse(argument, "a whole number below 2**127", value)
    return number


def check_flag(argument: str, value: object) -> bool:
    """Return a boolean. A text such as "no" would count as true elsewhere."""
    plain = _as_python(value)
    if isinstance(plain, bool):
        return plain
    raise _refuse(argument, "True or False", value)


def check_texts(argument: str, values: object) -> list[str]:
    """Return a list of strings, which is not a single string."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise _refuse(argument, "a list of strings", values)
    return [check_text(argument, value) for value in values]


def check_value(argument: str, value: object) -> Value:
    """Return the value of a parameter."""
    plain = _as_python(value)
    if isinstance(plain, str):
        return check_text(argument, plain)
    if isinstance(plain, bool | float):
        return plain
    if isinstance(plain, int):
        return check_whole_number(argument, plain)
    # A missing time of pandas is a date that does not equal itself.
    if isinstance(plain, dt.date) and plain == plain:
        return plain
    raise _refuse(argument, "a string, a number, a date or a boolean", value)


def check_values(argument: str, values: object) -> dict[str, Value]:
    """Return values by the name of the parameter."""
    if not isinstance(values, Mapping):
        raise _refuse(argument, "a dictionary, such as {'n': 8} for $n", values)
    names = {check_text("the name of a parameter", name): value for name, value in values.items()}
    return {name: check_value(name, value) for name, value in names.items()}


def _as_python(value: Any) -> object:
    """A scalar of NumPy as a value of Python. Anything else, such as an array, stays as it is."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not kind or getattr(value, "shape", None) != ():
        return value
    if kind not in "mM":
        return value.item()
    # NumPy returns a time in nanoseconds, and one that Python lacks, as an integer.
    plain = value.item()
    plain = value.astype("datetime64[us]").item() if kind == "M" and isinstance(plain, int) else plain
    return None if isinstance(plain, int) else plain


def _refuse(argument: str, expected: str, value: object) -> UsageError:
    return UsageError(f"{argument} must be {expected}, not {_show(value)}")


def _show(value: object) -> str:
    try:
        shown = repr(value)
    except Exception:
        # The class is the caller's, or the integer has more digits than Python writes.
        return f"this {type(value).__name__}"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"

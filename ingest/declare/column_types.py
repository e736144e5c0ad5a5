"""The types of published columns: their spelling in raw files, their parsers and their type in Parquet.

The function `parse` of a type defines which texts are valid. The module `values` converts whole columns
faster, with the same results.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Literal, get_args

from tracehouse.core.text import decode_text

TypeName = Literal[
    "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ", "TIMESTAMP", "VARCHAR[]", "BIGINT[]"
]
"""DuckDB's names of the types."""

# The range of times that count as valid: all traces fall into it.
FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIMES = datetime(2100, 1, 1, tzinfo=UTC)
# Arrow strips only these white space characters around a number.
SPACES = " \t"

# How pandas, numpy, R and databases write a missing value. In a column of texts, it may be a name.
MISSING = ("NaN", "nan", "NaT", "None", "NA", "<NA>", "NULL", "null")

_SPACES = SPACES.encode()
_BOOLEANS = dict.fromkeys((b"true", b"True", b"TRUE", b"1"), True) | dict.fromkeys(
    (b"false", b"False", b"FALSE", b"0"), False
)
_INTEGERS = range(-(2**63), 2**63)
_MOST_DIGITS = 19
# A program that writes an integer with an exponent had it as a float. Floats represent every integer exactly
# only within these bounds.
_EXACT_FLOATS = range(-(2**53) + 1, 2**53)

_NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.I)
_TIME = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
# .NET writes seven decimals, the last of which is 0 if microseconds were measured.
SPARE_ZEROS = r"(\.\d{6})0+"
_SPARE_ZEROS = re.compile(SPARE_ZEROS.encode())
_DAY_ALONE = re.compile(rb"\d{4}-\d\d-\d\d")
_OFFSET = re.compile(rb"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$")
# A time with a UTC offset may be within the range although its local year is the one before or after.
_YEAR_BEFORE, _YEAR_AFTER = b"%d" % (FIRST_TIME.year - 1), b"%d" % END_OF_TIMES.year


@dataclass(frozen=True)
class ColumnType:
    """A type of columns.

    `frictionless` is its name in the Data Package standard. `written` describes the texts in raw files.
    `parse` returns the value of a text; if the text is invalid, it raises ValueError with the reason.
    """

    name: TypeName
    frictionless: str
    written: str
    parse: Callable[[bytes], Any]


def _invalid(text: bytes, reason: str = "invalid value") -> ValueError:
    return ValueError(f"{reason} '{decode_text(text)}'")


def _text(text: bytes) -> str:
    # No publisher writes zero bytes. They come from disk pages that were never written, or from a file of
    # another format.
    if b"\0" in text:
        raise ValueError("a zero byte")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise ValueError("invalid UTF-8") from None


def _integer(text: bytes) -> int:
    """Parse an integer written as `12`, `12.0` or `1.2e1`, without rounding."""
    stripped = text.strip(_SPACES)
    if not _NUMBER.fullmatch(stripped):
        raise _invalid(text)
    try:
        number = Decimal(stripped.decode())
    except InvalidOperation:
        # The exponent has too many digits.
        raise _invalid(text) from None
    if number and (number.adjusted() >= _MOST_DIGITS or number != number.to_integral_value()):
        raise _invalid(text)
    integer = int(number)
    if integer not in (_EXACT_FLOATS if b"e" in stripped.lower() else _INTEGERS):
        raise _invalid(text)
    return integer


def _number(text: bytes) -> float:
    stripped = text.strip(_SPACES)
    is_number = _NUMBER.fullmatch(stripped) is not None
    if not is_number and not _NOT_FINITE.fullmatch(stripped):
        raise _invalid(text)
    number = float(stripped) if is_number else math.nan
    if not math.isfinite(number):
        raise _invalid(text, "not a finite number:")
    return number


def _boolean(text: bytes) -> bool:
    if text not in _BOOLEANS:
        raise _invalid(text)
    return _BOOLEANS[text]


def _time(text: bytes, has_offset: bool) -> datetime:
    text = _SPARE_ZEROS.sub(rb"\1", text)
    # `_OFFSET` also matches the day of a date: -09 in 2020-06-09.
    is_date = not has_offset and _DAY_ALONE.fullmatch(text)
    if not is_date and not _TIME.fullmatch(_OFFSET.sub(b"", text)):
        raise _invalid(text)
    if not _YEAR_BEFORE <= text[:4] <= _YEAR_AFTER:
        raise _out_of_range(text)
    try:
        time = datetime.fromisoformat(text.decode())
    except ValueError:
        raise _invalid(text) from None
    if (time.tzinfo is not None) != has_offset:
        raise _invalid(text, "expected a UTC offset in" if has_offset else "expected no UTC offset in")
    if not FIRST_TIME <= (time if has_offset else time.replace(tzinfo=UTC)) < END_OF_TIMES:
        raise _out_of_range(text)
    return time


def _out_of_range(text: bytes) -> ValueError:
    return _invalid(text, f"not a time from {FIRST_TIME.year} to {END_OF_TIMES.year - 1}:")


def _list(text: bytes, is_valid: Callable[[Any], bool]) -> list[Any]:
    """Parse a JSON list of valid elements."""
    try:
        found = json.loads(_text(text))
        if isinstance(found, list) and all(map(is_valid, found)):
            return found
    except (ValueError, RecursionError):
        pass
    raise _invalid(text, "not a list of this type:")


def _is_text(one: Any) -> bool:
    # Half of a surrogate pair has no UTF-8.
    return one is None or (isinstance(one, str) and one.encode(errors="ignore").decode() == one)


def _is_integer(one: Any) -> bool:
    return type(one) is int and one in _INTEGERS


_LISTED = (
    ColumnType("VARCHAR", "string", "any text", _text),
    ColumnType("BIGINT", "integer", "a whole number, also as `1.0` or `1e+05`", _integer),
    ColumnType("DOUBLE", "number", "a finite number", _number),
    ColumnType(
        "BOOLEAN", "boolean", "`true` or `false`, `True` or `False`, `TRUE` or `FALSE`, 1 or 0", _boolean
    ),
    ColumnType(
        "TIMESTAMPTZ",
        "datetime",
        "a date and a time with its offset: `2023-03-01 08:00:00+08:00`",
        partial(_time, has_offset=True),
    ),
    ColumnType(
        "TIMESTAMP",
        "datetime",
        "a date and a time of a zone that is not written: `2020-06-09 18:41:01`, or a date alone",
        partial(_time, has_offset=False),
    ),
    ColumnType("VARCHAR[]", "list", "a JSON list of texts", partial(_list, is_valid=_is_text)),
    ColumnType("BIGINT[]", "list", "a JSON list of whole numbers", partial(_list, is_valid=_is_integer)),
)

TYPES: dict[TypeName, ColumnType] = {column_type.name: column_type for column_type in _LISTED}
assert tuple(TYPES) == get_args(TypeName)

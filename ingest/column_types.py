"""The types of published columns: their spelling in raw files, their parsers and their type in Parquet.

The function `parse` of a type defines which texts are valid. The module `values` converts whole columns
faster, with the same results.
"""

import ast
import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Inexact
from functools import partial
from typing import Any, Literal, get_args

from tracehouse.core.text import decode_text

TypeName = Literal[
    "VARCHAR",
    "BIGINT",
    "DOUBLE",
    "BOOLEAN",
    "TIMESTAMPTZ",
    "TIMESTAMP",
    "UNIX_S",
    "UNIX_MS",
    "JSON",
    "VARCHAR[]",
    "BIGINT[]",
    "DOUBLE[]",
]

# The range of times that count as valid: all traces fall into it.
FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIMES = datetime(2100, 1, 1, tzinfo=UTC)
# Arrow strips only these white space characters around a number.
SPACES = " \t"
# Microseconds in one unit.
UNIX_UNITS = {"UNIX_S": 1_000_000, "UNIX_MS": 1_000}

_SPACES = SPACES.encode()
_BOOLEANS = dict.fromkeys((b"true", b"True", b"TRUE", b"1"), True) | dict.fromkeys(
    (b"false", b"False", b"FALSE", b"0"), False
)
_INTEGERS = range(-(2**63), 2**63)
_MOST_DIGITS = 19
# A program that writes an integer with an exponent had it as a float. Floats represent every integer exactly
# only within these bounds.
_EXACT_FLOATS = range(-(2**53) + 1, 2**53)
_MOST_DIGITS_OF_EXPONENT = 9

_NUMBER = re.compile(rb"([+-]?)(?:(\d++)(?:\.(\d*+))?|\.(\d++))(?:[eE]([+-]?\d++))?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.I)
_TIME = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
_DAY_ALONE = re.compile(rb"\d{4}-\d\d-\d\d")
_OFFSET = re.compile(rb"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$")
# A time with a UTC offset may be within the range although its local year is the one before or after.
_YEAR_BEFORE, _YEAR_AFTER = b"%d" % (FIRST_TIME.year - 1), b"%d" % END_OF_TIMES.year
_EXACTLY = Context(prec=40, traps=[Inexact])


@dataclass(frozen=True)
class ColumnType:
    """A type of columns.

    `stored` is DuckDB's name of the type in Parquet, and `frictionless` its name in the Data Package
    standard. `written` describes the texts in raw files. `parse` returns the value of a text; if the text is
    invalid, it raises ValueError with the reason.
    """

    name: TypeName
    stored: str
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
    found = _NUMBER.fullmatch(text.strip(_SPACES))
    if not found:
        raise _invalid(text)
    sign, whole, fraction, lone_fraction, exponent = (part or b"" for part in found.groups())
    digits = whole + (fraction or lone_fraction)
    significant = digits.strip(b"0")
    if not significant:
        return 0
    if len(exponent) > _MOST_DIGITS_OF_EXPONENT:
        raise _invalid(text)
    leading_zeros = len(digits) - len(digits.lstrip(b"0"))
    digits_before_point = len(whole) - leading_zeros + int(exponent or b"0")
    if not len(significant) <= digits_before_point <= _MOST_DIGITS:
        raise _invalid(text)
    number = int(sign + significant.ljust(digits_before_point, b"0"))
    if number not in (_EXACT_FLOATS if exponent else _INTEGERS):
        raise _invalid(text)
    return number


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


def _unix_time(text: bytes, unit: int) -> int:
    """Parse a time since 1970 in units of `unit` microseconds. Returns microseconds."""
    number = text.strip(_SPACES)
    if not _NUMBER.fullmatch(number):
        raise _invalid(text)
    if not 0 <= float(number) * unit < END_OF_TIMES.timestamp() * UNIX_UNITS["UNIX_S"]:
        raise _out_of_range(text)
    try:
        units = _EXACTLY.create_decimal(number.decode())
        return int(_EXACTLY.to_integral_exact(_EXACTLY.multiply(units, unit)))
    except Inexact:
        raise _invalid(text, "more digits than microseconds in") from None


def _json(text: bytes) -> str:
    try:
        load_json(text.decode())
    except (ValueError, RecursionError):
        raise _invalid(text, "not JSON:") from None
    return text.decode()


def load_json(text: str) -> Any:
    """Parse JSON without NaN. Raises ValueError, or RecursionError if it is nested too deeply."""
    return json.loads(text, parse_constant=refuse_constant)


def refuse_constant(word: str) -> None:
    """Raise ValueError for NaN, Infinity and -Infinity, which Python's parser accepts but JSON lacks."""
    raise ValueError(f"{word} is not JSON")


def _list(text: bytes, parse_element: Callable[[Any], Any]) -> list[Any]:
    """Parse a list in JSON or Python syntax. Null elements become None."""
    try:
        elements = _load_literal(text.decode())
        if isinstance(elements, list):
            return [None if element is None else parse_element(element) for element in elements]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    raise _invalid(text, "not a list of this type:")


def _load_literal(text: str) -> Any:
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        return ast.literal_eval(text.strip())


def _text_element(element: Any) -> str:
    if not isinstance(element, str):
        raise TypeError
    element.encode()
    return element


def _integer_element(element: Any) -> int:
    if type(element) is not int or element not in _INTEGERS:
        raise ValueError
    return element


def _number_element(element: Any) -> float:
    if type(element) not in (int, float) or not abs(element) <= sys.float_info.max:
        raise ValueError
    return float(element)


_LISTED = (
    ColumnType("VARCHAR", "VARCHAR", "string", "any text", _text),
    ColumnType("BIGINT", "BIGINT", "integer", "a whole number, also as `1.0` or `1e+05`", _integer),
    ColumnType("DOUBLE", "DOUBLE", "number", "a finite number", _number),
    ColumnType(
        "BOOLEAN",
        "BOOLEAN",
        "boolean",
        "`true` or `false`, `True` or `False`, `TRUE` or `FALSE`, 1 or 0",
        _boolean,
    ),
    ColumnType(
        "TIMESTAMPTZ",
        "TIMESTAMPTZ",
        "datetime",
        "a date and a time with its offset: `2023-03-01 08:00:00+08:00`",
        partial(_time, has_offset=True),
    ),
    ColumnType(
        "TIMESTAMP",
        "TIMESTAMP",
        "datetime",
        "a date and a time of a zone that is not written: `2020-06-09 18:41:01`, or a date alone",
        partial(_time, has_offset=False),
    ),
    ColumnType(
        "UNIX_S",
        "TIMESTAMPTZ",
        "datetime",
        "seconds since 1970 in UTC: `1662858720.0`",
        partial(_unix_time, unit=UNIX_UNITS["UNIX_S"]),
    ),
    ColumnType(
        "UNIX_MS",
        "TIMESTAMPTZ",
        "datetime",
        "milliseconds since 1970 in UTC: `1662858720000`",
        partial(_unix_time, unit=UNIX_UNITS["UNIX_MS"]),
    ),
    ColumnType("JSON", "VARCHAR", "string", "one JSON value, stored as the text that it is", _json),
    ColumnType(
        "VARCHAR[]",
        "VARCHAR[]",
        "list",
        "a list of texts, as JSON or Python",
        partial(_list, parse_element=_text_element),
    ),
    ColumnType(
        "BIGINT[]",
        "BIGINT[]",
        "list",
        "a list of whole numbers, as JSON or Python",
        partial(_list, parse_element=_integer_element),
    ),
    ColumnType(
        "DOUBLE[]",
        "DOUBLE[]",
        "list",
        "a list of finite numbers, as JSON or Python",
        partial(_list, parse_element=_number_element),
    ),
)

TYPES: dict[TypeName, ColumnType] = {column_type.name: column_type for column_type in _LISTED}
assert tuple(TYPES) == get_args(TypeName)

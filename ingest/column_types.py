"""The types that a published column may have: how each is written in raw files, and stored.

One list, that the readers, the store and the documentation share. Texts are checked here; how they become
Arrow values is said in `values`.
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
from typing import Any, Literal, get_args

from tracehouse.core.names import printable

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

# The range of plausible times: no cluster ran before it, and none has run after it yet.
FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIMES = datetime(2100, 1, 1, tzinfo=UTC)
# The white space that Arrow strips around a number; it strips no other.
SPACES = " \t"
TRUE_WORDS = ("true", "True", "TRUE", "1")
FALSE_WORDS = ("false", "False", "FALSE", "0")
# Microseconds in one unit.
UNIX_UNITS = {"UNIX_S": 1_000_000, "UNIX_MS": 1_000}

_SPACES = SPACES.encode()
_INTEGERS = range(-(2**63), 2**63)
_MOST_DIGITS = 19
# A number with an exponent was a float, and floats are exact for integers only within these bounds.
_EXACT_FLOATS = range(-(2**53) + 1, 2**53)
_MOST_DIGITS_OF_EXPONENT = 9

_SURE_TEXT_CHARACTER = (
    r"[\x01-\x09\x0b\x0c\x0e-\x21\x23-\x2b\x2d-\x7f]"
    r"|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    r"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
SURE_TEXT = rf'(?:(?:{_SURE_TEXT_CHARACTER})*|"(?:{_SURE_TEXT_CHARACTER}|,|"")*")'
_DAY = r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_SURE_TIME = rf"(?:197[1-9]|19[89]\d|20[0-8]\d)-{_DAY}[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{{1,6}})?"
_SURE_OFFSET = r"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)"
_NEVER_SURE = r"[^\x00-\xff]"

_NUMBER = re.compile(rb"([+-]?)(?:(\d++)(?:\.(\d*+))?|\.(\d++))(?:[eE]([+-]?\d++))?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.I)
_TIME = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
_DAY_ALONE = re.compile(rb"\d{4}-\d\d-\d\d")
_OFFSET = re.compile(rb"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$")
# A local time with an offset may fall into the year before the range, or the year after it.
_YEAR_BEFORE, _YEAR_BEHIND = b"%d" % (FIRST_TIME.year - 1), b"%d" % END_OF_TIMES.year
_INVALID = "invalid value"
_NO_FINITE = "no finite number:"
_EXACTLY = Context(prec=40, traps=[Inexact])
_OUT_OF_RANGE = f"no time from {FIRST_TIME.year} to {END_OF_TIMES.year - 1}:"


@dataclass(frozen=True)
class ColumnType:
    """One type of columns.

    `stored` is DuckDB's name of the type in Parquet, and `frictionless` that of the Data Package standard.
    `written` says how raw files write it. `sure` is a regular expression, for Arrow, that matches only valid
    texts, though perhaps not all of them. `fault` gives the reason why a text is invalid, empty where it is
    valid.
    """

    name: TypeName
    stored: str
    frictionless: str
    written: str
    sure: str
    fault: Callable[[bytes], str]


def _text_fault(text: bytes) -> str:
    # No publisher writes zero bytes: they are disk pages that were never written, or another kind of file.
    if b"\0" in text:
        return "a zero byte"
    if text.isascii():
        return ""
    try:
        text.decode()
    except UnicodeDecodeError:
        return "invalid UTF8 data"
    return ""


def _integer_fault(text: bytes) -> str:
    return _said(_INVALID, text) if whole_number(text.strip(_SPACES)) is None else ""


def whole_number(text: bytes) -> int | None:
    """Parse an integer written as `12`, `12.0` or `1.2e1`; None for other texts, or where it is inexact."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    sign, before, behind, only_behind, exponent = (part or b"" for part in found.groups())
    digits = before + (behind or only_behind)
    significant = digits.strip(b"0")
    if not significant:
        return 0
    if len(exponent) > _MOST_DIGITS_OF_EXPONENT:
        return None
    leading_zeros = len(digits) - len(digits.lstrip(b"0"))
    digits_before_point = len(before) - leading_zeros + int(exponent or b"0")
    if not len(significant) <= digits_before_point <= _MOST_DIGITS:
        return None
    number = int(sign + significant.ljust(digits_before_point, b"0"))
    return number if number in (_EXACT_FLOATS if exponent else _INTEGERS) else None


def _number_fault(text: bytes) -> str:
    number = text.strip(_SPACES)
    if _NUMBER.fullmatch(number):
        return "" if math.isfinite(float(number)) else _said(_NO_FINITE, text)
    return _said(_NO_FINITE if _NOT_FINITE.fullmatch(number) else _INVALID, text)


def _boolean_fault(text: bytes) -> str:
    return "" if printable(text) in (*TRUE_WORDS, *FALSE_WORDS) else _said(_INVALID, text)


def _instant_fault(text: bytes) -> str:
    return _time_fault(text, has_offset=True)


def _wall_time_fault(text: bytes) -> str:
    return _time_fault(text, has_offset=False)


def _time_fault(text: bytes, has_offset: bool) -> str:
    # The day's number looks like an offset.
    is_day = not has_offset and _DAY_ALONE.fullmatch(text)
    if not is_day and not _TIME.fullmatch(_OFFSET.sub(b"", text)):
        return _said(_INVALID, text)
    if not _YEAR_BEFORE <= text[:4] <= _YEAR_BEHIND:
        return _said(_OUT_OF_RANGE, text)
    try:
        time = datetime.fromisoformat(text.decode())
    except ValueError:
        return _said(_INVALID, text)
    if (time.tzinfo is not None) != has_offset:
        return _said("expected a zone offset in" if has_offset else "expected no zone offset in", text)
    instant = time if has_offset else time.replace(tzinfo=UTC)
    return "" if FIRST_TIME <= instant < END_OF_TIMES else _said(_OUT_OF_RANGE, text)


def _unix_s_fault(text: bytes) -> str:
    return _unix_fault(text, UNIX_UNITS["UNIX_S"])


def _unix_ms_fault(text: bytes) -> str:
    return _unix_fault(text, UNIX_UNITS["UNIX_MS"])


def _unix_fault(text: bytes, unit: int) -> str:
    number = text.strip(_SPACES)
    if not _NUMBER.fullmatch(number):
        return _said(_INVALID, text)
    if not _is_in_range(number, unit):
        return _said(_OUT_OF_RANGE, text)
    return _said("more digits than microseconds in", text) if unix_microseconds(number, unit) is None else ""


def _is_in_range(number: bytes, unit: int) -> bool:
    return 0 <= float(number) * unit < END_OF_TIMES.timestamp() * UNIX_UNITS["UNIX_S"]


def unix_microseconds(text: bytes, unit: int) -> int | None:
    """Parse a time counted since 1970 in units of `unit` microseconds; returns microseconds.

    None where the text is no number, a time outside the plausible range, or finer than a microsecond.
    """
    number = text.strip(_SPACES)
    if not _NUMBER.fullmatch(number) or not _is_in_range(number, unit):
        return None
    try:
        units = _EXACTLY.create_decimal(number.decode())
        return int(_EXACTLY.to_integral_exact(_EXACTLY.multiply(units, unit)))
    except Inexact:
        return None


def _json_fault(text: bytes) -> str:
    try:
        parsed_json(text.decode())
    except (ValueError, RecursionError):
        return _said("no JSON:", text)
    return ""


def parsed_json(text: str) -> Any:
    """Parse JSON, in which NaN is invalid. Raises ValueError, or RecursionError where it is nested deeply."""
    return json.loads(text, parse_constant=no_constant)


def no_constant(word: str) -> None:
    """Refuse what Python reads in JSON, and JSON does not have. Always raises ValueError."""
    raise ValueError(f"{word} is no JSON")


def _texts_fault(text: bytes) -> str:
    return _list_fault(text, as_text)


def _integers_fault(text: bytes) -> str:
    return _list_fault(text, as_integer)


def _numbers_fault(text: bytes) -> str:
    return _list_fault(text, as_number)


def _list_fault(text: bytes, value: Callable[[Any], Any]) -> str:
    try:
        list_of(text.decode(), value)
    except ValueError:
        return _said("no list of its type:", text)
    return ""


def list_of(text: str, value: Callable[[Any], Any]) -> list[Any]:
    """Parse a list in JSON or Python syntax, and apply `value` to each element that is not null.

    Raises ValueError where the text is no list, or where `value` raises it.
    """
    try:
        found = parsed_json(text)
    except (ValueError, RecursionError):
        found = _python_literal(text)
    if not isinstance(found, list):
        raise ValueError("no list")
    return [None if element is None else value(element) for element in found]


def _python_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("neither JSON nor a Python list") from error


def as_text(element: Any) -> str:
    """A list's element that is a text. Raises ValueError on others."""
    if not isinstance(element, str):
        raise ValueError("no text")
    return element


def as_integer(element: Any) -> int:
    """A list's element that is a whole number of 64 bits. Raises ValueError on others."""
    if type(element) is not int or element not in _INTEGERS:
        raise ValueError("no whole number")
    return element


def as_number(element: Any) -> float:
    """A list's element that is a finite number. Raises ValueError on others."""
    if type(element) not in (int, float) or not abs(element) <= sys.float_info.max:
        raise ValueError("no finite number")
    return float(element)


def _said(what: str, text: bytes) -> str:
    return f"{what} '{printable(text)}'"


_LISTED = (
    ColumnType("VARCHAR", "VARCHAR", "string", "any text", SURE_TEXT, _text_fault),
    ColumnType(
        "BIGINT",
        "BIGINT",
        "integer",
        "a whole number, also as `1.0` or `1e+05`",
        r"[ \t]*-?\d{1,18}(?:\.0*)?[ \t]*",
        _integer_fault,
    ),
    ColumnType(
        "DOUBLE",
        "DOUBLE",
        "number",
        "a finite number",
        r"[ \t]*[+-]?\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?[ \t]*",
        _number_fault,
    ),
    ColumnType(
        "BOOLEAN",
        "BOOLEAN",
        "boolean",
        "`true` or `false`, `True` or `False`, `TRUE` or `FALSE`, 1 or 0",
        "(?:true|True|TRUE|false|False|FALSE|0|1)",
        _boolean_fault,
    ),
    ColumnType(
        "TIMESTAMPTZ",
        "TIMESTAMPTZ",
        "datetime",
        "a date and a time with its offset: `2023-03-01 08:00:00+08:00`",
        _SURE_TIME + _SURE_OFFSET,
        _instant_fault,
    ),
    ColumnType(
        "TIMESTAMP",
        "TIMESTAMP",
        "datetime",
        "a date and a time of a zone that is not written: `2020-06-09 18:41:01`, or a date alone",
        _SURE_TIME,
        _wall_time_fault,
    ),
    ColumnType(
        "UNIX_S",
        "TIMESTAMPTZ",
        "datetime",
        "seconds since 1970 in UTC: `1662858720.0`",
        r"[123]?\d{1,9}(?:\.\d{0,6})?",
        _unix_s_fault,
    ),
    ColumnType(
        "UNIX_MS",
        "TIMESTAMPTZ",
        "datetime",
        "milliseconds since 1970 in UTC: `1662858720000`",
        r"[123]?\d{1,12}(?:\.\d{0,3})?",
        _unix_ms_fault,
    ),
    ColumnType(
        "JSON",
        "VARCHAR",
        "string",
        "one JSON value, stored as the text that it is",
        _NEVER_SURE,
        _json_fault,
    ),
    ColumnType(
        "VARCHAR[]", "VARCHAR[]", "list", "a list of texts, as JSON or Python", _NEVER_SURE, _texts_fault
    ),
    ColumnType(
        "BIGINT[]",
        "BIGINT[]",
        "list",
        "a list of whole numbers, as JSON or Python",
        _NEVER_SURE,
        _integers_fault,
    ),
    ColumnType(
        "DOUBLE[]",
        "DOUBLE[]",
        "list",
        "a list of finite numbers, as JSON or Python",
        _NEVER_SURE,
        _numbers_fault,
    ),
)

TYPES: dict[TypeName, ColumnType] = {column_type.name: column_type for column_type in _LISTED}
assert tuple(TYPES) == get_args(TypeName)

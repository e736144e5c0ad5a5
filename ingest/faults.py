"""Says which records do not fit their columns, and why, apart from the parser that reads them.

One regular expression over all records finds those that surely fit; only the others are looked at one by
one. It may leave out a record that fits, and never takes one that does not.
"""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.declare import Column
from tracehouse.ingest.records import printable

# No cluster ran before, and none has run yet behind the end.
FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIMES = datetime(2100, 1, 1, tzinfo=UTC)
# What Arrow takes away around a number, and nothing else.
SPACES = " \t"
_SPACES = SPACES.encode()

_INTEGERS = range(-(2**63), 2**63)
_MOST_DIGITS = 19
# What is written with an exponent was a float, which beyond this no longer tells an integer from the next.
_EXACT_FLOATS = range(-(2**53) + 1, 2**53)
_MOST_DIGITS_OF_EXPONENT = 9

# For Arrow, whose expressions never go back on what they took; those below must be told not to.
_FIELD = r'(?:"(?:[^"\r\n]|"")*"|[^",\r\n]*)'
_RECORD = rf"^{_FIELD}(?:,{_FIELD})*[\r\n]*$"

_FIELDS_BEHIND_COMMAS = re.compile(rb',("(?:[^"]++|"")*+"|[^",]*+)')
_RECORD_BEHIND_A_COMMA = re.compile(rb'(?:,(?:"(?:[^"]++|"")*+"|[^",]*+))*+')

_TEXT = (
    r"[\x01-\x09\x0b\x0c\x0e-\x21\x23-\x2b\x2d-\x7f]"
    r"|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    r"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_SURE_TEXT = rf'(?:(?:{_TEXT})*|"(?:{_TEXT}|,|"")*")'
_DAY = r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_SURE = {
    "BIGINT": r"[ \t]*-?\d{1,18}(?:\.0*)?[ \t]*",
    "DOUBLE": r"[ \t]*[+-]?\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?[ \t]*",
    "TIMESTAMPTZ": (
        rf"(?:197[1-9]|19[89]\d|20[0-8]\d)-{_DAY}[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{{1,6}})?"
        r"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)"
    ),
}
# Thousands of columns spelt out make too large an expression: then their number is counted apart.
_MOST_ALIKE_SPELT_OUT = 20

_NUMBER = re.compile(rb"([+-]?)(?:(\d++)(?:\.(\d*+))?|\.(\d++))(?:[eE]([+-]?\d++))?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.I)
_TIME = re.compile(
    rb"\d{4}-\d\d-\d\d[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?"
    rb"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
)
# In another zone, it may still be the year before, or the one behind already.
_YEAR_BEFORE, _YEAR_BEHIND = b"%d" % (FIRST_TIME.year - 1), b"%d" % END_OF_TIMES.year
_INVALID = "invalid value"
_OUT_OF_RANGE = f"no time from {FIRST_TIME.year} to {END_OF_TIMES.year - 1}:"


def quotes_are_closed(texts: pa.BinaryArray) -> bool:
    """Whether each record is fields that are quoted whole or hold no quote."""
    return pc.all(pc.match_substring_regex(texts, _RECORD), min_count=0).as_py()


def surely_fit(texts: pa.BinaryArray, columns: Sequence[Column]) -> np.ndarray:
    """Which records fit their columns beyond doubt: a truth value for each."""
    pattern, counts_fields = _sure_record(tuple(columns))
    fit = pc.match_substring_regex(texts, pattern)
    if not counts_fields:
        has_quote = pc.match_substring(texts, '"')
        is_as_long = pc.equal(pc.count_substring(texts, ","), len(columns) - 1)
        fit = pc.and_(fit, pc.and_not(is_as_long, has_quote))
    return fit.to_numpy(zero_copy_only=False)


@cache
def _sure_record(columns: tuple[Column, ...]) -> tuple[str, bool]:
    """What surely fits the columns, and whether it takes as many fields and no other number of them."""
    counts_fields = True
    parts = ["^", _sure_field(columns[0])]
    for field, alike in groupby(map(_sure_field, columns[1:])):
        count = sum(1 for _ in alike)
        is_spelt_out = count <= _MOST_ALIKE_SPELT_OUT
        counts_fields &= is_spelt_out
        parts.append(f"(?:,{field}){{{count}}}" if is_spelt_out else f"(?:,{field})*")
    return "".join([*parts, r"[\r\n]*$"]), counts_fields


def _sure_field(column: Column) -> str:
    if column.type == "VARCHAR":
        return _SURE_TEXT
    sure = _SURE[column.type]
    words = "".join(f"|{re.escape(word)}" for word in column.null_texts)
    return f'(?:{sure}|"{sure}"{words})' + "?" * (not column.required)


def fault_finder(columns: Sequence[Column]) -> Callable[[bytes], str]:
    """What tells why a record does not fit these columns; empty where it does."""
    checks = [(column, _sure_cell(column.type, column.required).fullmatch) for column in columns]

    def fault(record: bytes) -> str:
        cells = _cells(record)
        if cells is None:
            return "a quote that is not closed in its line, or stands inside a field"
        if len(cells) != len(checks):
            return f"{len(cells)} columns; expected {len(checks)}"
        for cell, (column, surely_fits) in zip(cells, checks, strict=True):
            # Most fields of a bad record are good, and this tells so much sooner.
            if not surely_fits(cell) and (wrong := _wrong(cell, column)):
                return f"column {column.name}, a {column.type}: {wrong}"
        return ""

    return fault


@cache
def _sure_cell(kind: str, required: bool) -> re.Pattern[bytes]:
    """What takes fields that surely fit, as they are written: not all of them."""
    sure = _SURE.get(kind, r"[\x01-\x21\x23-\x7f]+")
    return re.compile(sure.encode() if required else rf"(?:{sure})?".encode())


def _cells(record: bytes) -> list[bytes] | None:
    """The fields as they are written, or None where a quote is out of place."""
    if b'"' not in record:
        return record.split(b",")
    record = b"," + record
    return _FIELDS_BEHIND_COMMAS.findall(record) if _RECORD_BEHIND_A_COMMA.fullmatch(record) else None


def _wrong(cell: bytes, column: Column) -> str:
    """What is wrong with a field, or nothing."""
    if not cell:
        return "it is empty" if column.required else ""
    text = cell[1:-1].replace(b'""', b'"') if cell.startswith(b'"') else cell
    if column.null_texts and printable(text) in column.null_texts:
        return ""
    wrong = _CHECKS[column.type](text)
    return f"{wrong} '{printable(text)}'" if wrong and column.type != "VARCHAR" else wrong


def _wrong_text(text: bytes) -> str:
    # No publisher writes one: it is a page of the disk that was never written, or another kind of file.
    if b"\0" in text:
        return "a zero byte"
    if text.isascii():
        return ""
    try:
        text.decode()
    except UnicodeDecodeError:
        return "invalid UTF8 data"
    return ""


def _wrong_integer(text: bytes) -> str:
    return _INVALID if whole_number(text.strip(_SPACES)) is None else ""


def whole_number(text: bytes) -> int | None:
    """The integer that a text writes, in whatever way; None where it is none, or not known exactly."""
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


def _wrong_number(text: bytes) -> str:
    text = text.strip(_SPACES)
    if _NUMBER.fullmatch(text):
        return "" if math.isfinite(float(text)) else "no finite number:"
    return "no finite number:" if _NOT_FINITE.fullmatch(text) else _INVALID


def _wrong_time(text: bytes) -> str:
    if not _TIME.fullmatch(text):
        return _INVALID
    if not _YEAR_BEFORE <= text[:4] <= _YEAR_BEHIND:
        return _OUT_OF_RANGE
    try:
        time = datetime.fromisoformat(text.decode())
    except ValueError:
        return _INVALID
    if time.tzinfo is None:
        return "expected a zone offset in"
    return "" if FIRST_TIME <= time < END_OF_TIMES else _OUT_OF_RANGE


_CHECKS = {
    "VARCHAR": _wrong_text,
    "BIGINT": _wrong_integer,
    "DOUBLE": _wrong_number,
    "TIMESTAMPTZ": _wrong_time,
}

"""Finds the records that do not fit their columns, and the reason, independently of the parser.

One regular expression, applied to all records by Arrow, finds those that certainly fit; only the others are
checked one by one. It may miss a valid record, but never matches an invalid one.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.core.names import printable
from tracehouse.ingest.column_types import TYPES, TypeName
from tracehouse.ingest.declarations import Column

# For Arrow, whose engine never backtracks; those below, for Python, need possessive quantifiers for that.
_FIELD = r'(?:"(?:[^"\r\n]|"")*"|[^",\r\n]*)'
_RECORD = rf"^{_FIELD}(?:,{_FIELD})*[\r\n]*$"

_FIELDS_BEHIND_COMMAS = re.compile(rb',("(?:[^"]++|"")*+"|[^",]*+)')
_RECORD_BEHIND_A_COMMA = re.compile(rb'(?:,(?:"(?:[^"]++|"")*+"|[^",]*+))*+')

# An expression that spells out thousands of columns is too large: then the fields are counted separately.
_MOST_ALIKE_SPELT_OUT = 20


def quotes_are_closed(texts: pa.BinaryArray) -> bool:
    """Whether in every record each field is either quoted as a whole or free of quotes."""
    return pc.all(pc.match_substring_regex(texts, _RECORD), min_count=0).as_py()


def surely_fit(texts: pa.BinaryArray, columns: Sequence[Column]) -> np.ndarray:
    """Which records certainly fit their columns: an array of booleans, one for each record."""
    pattern, counts_fields = _sure_record(tuple(columns))
    fit = pc.match_substring_regex(texts, pattern)
    if not counts_fields:
        has_quote = pc.match_substring(texts, '"')
        is_as_long = pc.equal(pc.count_substring(texts, ","), len(columns) - 1)
        fit = pc.and_(fit, pc.and_not(is_as_long, has_quote))
    return fit.to_numpy(zero_copy_only=False)


@cache
def _sure_record(columns: tuple[Column, ...]) -> tuple[str, bool]:
    """A regular expression for records that certainly fit, and whether it also fixes the number of fields."""
    counts_fields = True
    parts = ["^", _sure_field(columns[0])]
    for field, alike in groupby(map(_sure_field, columns[1:])):
        count = sum(1 for _ in alike)
        is_spelt_out = count <= _MOST_ALIKE_SPELT_OUT
        counts_fields &= is_spelt_out
        parts.append(f"(?:,{field}){{{count}}}" if is_spelt_out else f"(?:,{field})*")
    return "".join([*parts, r"[\r\n]*$"]), counts_fields


def _sure_field(column: Column) -> str:
    sure = TYPES[column.type].sure
    if column.type == "VARCHAR":
        return sure
    if column.zones:
        sure = f"(?:{sure}|{TYPES['TIMESTAMP'].sure} (?:{'|'.join(zone for zone, _ in column.zones)}))"
    words = "".join(f"|{re.escape(word)}" for word in column.null_texts)
    return f'(?:{sure}|"{sure}"{words})' + "?" * (not column.required)


def fault_finder(columns: Sequence[Column]) -> Callable[[bytes], str]:
    """A function that gives the reason why a record does not fit these columns, empty where it does."""
    checks = [(column, _sure_cell(column.type, column.required).fullmatch) for column in columns]

    def fault(record: bytes) -> str:
        cells = _cells(record)
        if cells is None:
            return "a quote that is not closed in its line, or stands inside a field"
        if len(cells) != len(checks):
            return f"{len(cells)} columns; expected {len(checks)}"
        for cell, (column, surely_fits) in zip(cells, checks, strict=True):
            # Most fields of a bad record are valid, and the expression is much faster than `value_fault`.
            if not surely_fits(cell) and (wrong := value_fault(_text(cell), column)):
                return wrong
        return ""

    return fault


@cache
def _sure_cell(kind: TypeName, required: bool) -> re.Pattern[bytes]:
    """A regular expression for raw fields that certainly fit; it does not match all that do."""
    sure = r"[\x01-\x21\x23-\x7f]+" if kind == "VARCHAR" else TYPES[kind].sure
    return re.compile(sure.encode() if required else rf"(?:{sure})?".encode())


def _cells(record: bytes) -> list[bytes] | None:
    """The fields as they are written, or None where a quote is out of place."""
    if b'"' not in record:
        return record.split(b",")
    record = b"," + record
    return _FIELDS_BEHIND_COMMAS.findall(record) if _RECORD_BEHIND_A_COMMA.fullmatch(record) else None


def _text(cell: bytes) -> bytes | None:
    """A field without its quotes, or None where it is empty."""
    return (cell[1:-1].replace(b'""', b'"') if cell.startswith(b'"') else cell) if cell else None


def value_fault(text: bytes | None, column: Column) -> str:
    """The reason why a text is invalid in a column, empty where it is valid. None is an empty field."""
    if text is None:
        wrong = "it is empty" if column.required else ""
    elif column.null_texts and printable(text) in column.null_texts:
        wrong = ""
    else:
        wrong = TYPES[column.type].fault(_with_offset(text, column))
    return f"column {column.name}, a {column.type}: {wrong}" if wrong else ""


def _with_offset(text: bytes, column: Column) -> bytes:
    """A time with the offset that the name of its zone stands for."""
    for zone, offset in column.zones:
        text = re.sub(rf" {zone}$".encode(), offset.encode(), text)
    return text

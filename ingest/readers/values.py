"""Turns the texts of a column into Arrow values of its declared type, and finds impossible values."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.column_types import (
    END_OF_TIMES,
    FALSE_WORDS,
    FIRST_TIME,
    SPACES,
    TRUE_WORDS,
    TYPES,
    UNIX_UNITS,
    TypeName,
    as_integer,
    as_number,
    as_text,
    list_of,
    parsed_json,
    unix_microseconds,
    whole_number,
)
from tracehouse.ingest.declarations import Column

_ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
    "BIGINT[]": pa.list_(pa.int64()),
    "DOUBLE[]": pa.list_(pa.float64()),
}
# The types that Arrow's CSV parser converts itself.
_READ_BY_ARROW = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ", "TIMESTAMP")
# As many columns as stay in a core's cache while they are added up.
_SUMMED_AT_ONCE = 128


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type that a column is stored with."""
    return _ARROW_TYPES[column.stored_type]


def is_read_as_text(column: Column) -> bool:
    """Whether a CSV's column is parsed as text, from which its values are made here."""
    own_texts = column.offset_name or column.null_texts or column.zones
    return bool(own_texts or column.type not in _READ_BY_ARROW)


def values_of(texts: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Convert texts to the column's type, its null texts to NULL. Raises ArrowInvalid on an invalid text."""
    if column.null_texts:
        is_null = pc.is_in(texts, value_set=pa.array(column.null_texts))
        texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
    return _FROM_TEXTS[column.type](_with_offsets(texts, column))


def _with_offsets(texts: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Times with the offsets that the names of their zones stand for."""
    for zone, offset in column.zones:
        texts = pc.replace_substring_regex(texts, f" {zone}$", offset)
    return texts


def offsets_of(texts: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """The UTC offsets at the end of times, as texts such as `+08:00`; NULL where there is none."""
    texts = _with_offsets(texts, column)
    return pc.struct_field(pc.extract_regex(texts, r"(?P<offset>Z|[+-]\d\d(?::?\d\d)?)$"), "offset")


def are_possible(rows: pa.Table, columns: Sequence[Column]) -> bool:
    """Whether all numbers are finite, all times in the plausible range, and no required value is missing."""
    for place, column in enumerate(columns):
        if column.required and rows.column(place).null_count:
            return False
        if column.stored_type.startswith("TIMESTAMP") and not _are_times(rows.column(place)):
            return False
    numbers = [place for place, column in enumerate(columns) if column.type == "DOUBLE"]
    return all(_are_finite(batch.columns, numbers) for batch in rows.to_batches())


def _are_times(times: pa.ChunkedArray) -> bool:
    first, end = (pa.scalar(time).cast(times.type) for time in (FIRST_TIME, END_OF_TIMES))
    outside = pc.or_(pc.less(times, first), pc.greater_equal(times, end))
    return not pc.any(outside, min_count=0).as_py()


def _are_finite(columns: Sequence[pa.Array], places: Sequence[int]) -> bool:
    """Whether the columns at some places hold no infinity and no NaN."""
    for at in range(0, len(places), _SUMMED_AT_ONCE):
        summed = [columns[place] for place in places[at : at + _SUMMED_AT_ONCE]]
        # A sum costs a third of testing each number, and is not finite where one of them is not.
        total = pc.sum(pa.chunked_array(summed)).as_py() or 0
        if not math.isfinite(total) and not all(_is_finite(column) for column in summed):
            return False
    return True


def _is_finite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column), min_count=0).as_py()


def _texts(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts


def _floats(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.ascii_trim(texts, SPACES).cast(pa.float64())


def _times(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return texts.cast(kind)


def _booleans(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return _by_text(texts, _boolean, pa.bool_())


def _boolean(text: str) -> bool:
    if text not in TRUE_WORDS + FALSE_WORDS:
        raise ValueError
    return text in TRUE_WORDS


def _whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The integers that texts write, never rounded."""
    digits = pc.replace_substring_regex(pc.ascii_trim(texts, SPACES), r"^\+?(-?\d+)(?:\.0*)?$", r"\1")
    is_written_out = pc.match_substring_regex(digits, r"^-?\d+$")
    nothing = pa.scalar(None, pa.string())
    numbers = pc.if_else(is_written_out, digits, nothing).cast(pa.int64())
    others = pc.if_else(is_written_out, nothing, digits)
    return pc.coalesce(numbers, _by_text(others, _whole_number, pa.int64()))


def _whole_number(text: str) -> int:
    return _known(whole_number(text.encode()))


def _unix_times(texts: pa.ChunkedArray, unit: int) -> pa.ChunkedArray:
    microseconds = _by_text(texts, lambda text: _known(unix_microseconds(text.encode(), unit)), pa.int64())
    return microseconds.cast(_ARROW_TYPES["TIMESTAMPTZ"])


def _known(number: int | None) -> int:
    if number is None:
        raise ValueError
    return number


def _json(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return _by_text(texts, _checked_json, pa.string())


def _checked_json(text: str) -> str:
    parsed_json(text)
    return text


def _lists(texts: pa.ChunkedArray, value: Callable[[Any], Any], kind: TypeName) -> pa.ChunkedArray:
    return _by_text(texts, partial(list_of, value=value), _ARROW_TYPES[kind])


def _by_text(texts: pa.ChunkedArray, read: Callable[[str], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Apply `read` to each text, once for equal texts. Raises ArrowInvalid where `read` fails."""
    written = pc.unique(texts).drop_null()
    try:
        values = pa.array([read(text) for text in written.to_pylist()], kind)
    except (ValueError, RecursionError) as error:
        raise pa.ArrowInvalid(f"no {kind}") from error
    return values.take(pc.index_in(texts, value_set=written))


_FROM_TEXTS: dict[TypeName, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "VARCHAR": _texts,
    "BIGINT": _whole_numbers,
    "DOUBLE": _floats,
    "BOOLEAN": _booleans,
    "TIMESTAMPTZ": partial(_times, kind=_ARROW_TYPES["TIMESTAMPTZ"]),
    "TIMESTAMP": partial(_times, kind=_ARROW_TYPES["TIMESTAMP"]),
    "UNIX_S": partial(_unix_times, unit=UNIX_UNITS["UNIX_S"]),
    "UNIX_MS": partial(_unix_times, unit=UNIX_UNITS["UNIX_MS"]),
    "JSON": _json,
    "VARCHAR[]": partial(_lists, value=as_text, kind="VARCHAR[]"),
    "BIGINT[]": partial(_lists, value=as_integer, kind="BIGINT[]"),
    "DOUBLE[]": partial(_lists, value=as_number, kind="DOUBLE[]"),
}
assert _FROM_TEXTS.keys() == TYPES.keys()

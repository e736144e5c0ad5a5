"""Convert columns of texts to Arrow arrays of the declared types."""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.declare.column_types import (
    END_OF_TIMES,
    FIRST_TIME,
    MISSING,
    SPACES,
    SPARE_ZEROS,
    TYPES,
    TypeName,
)
from tracehouse.ingest.declare.trace import Column

_ARROW_TYPES: dict[TypeName, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
    "BIGINT[]": pa.list_(pa.int64()),
}
# How a time in UTC ends.
_UTC = r"(?:Z|[+-]00(?::?00)?)$"
# The end of the range of times on a clock that counts from 1970, by the unit of the clock.
_LAST_TIME = {"s": int(END_OF_TIMES.timestamp()), "ms": 1000 * int(END_OF_TIMES.timestamp())}
_TOO_LONG = f"longer than the time from 1970 to {END_OF_TIMES.year - 1}"
Faults = dict[int, str]
"""The reason for each row that does not fit, by the row's number from 0."""


def arrow_type(column: Column) -> pa.DataType:
    """Return the Arrow type of a column's values."""
    return _ARROW_TYPES[column.type]


def index_values(indexes: pa.Array | pa.ChunkedArray) -> list[Hashable]:
    """Return line indexes as Python values that compare fast: times become microseconds since 1970."""
    is_time = pa.types.is_timestamp(indexes.type)
    return (indexes.cast(pa.int64()) if is_time else indexes).to_pylist()


def convert_rows(texts: Sequence[pa.BinaryArray], columns: Sequence[Column]) -> tuple[pa.Table, Faults]:
    """Convert the texts of each column. Returns the rows that fit, and the faults of the other rows.

    Columns of UTC offsets follow those of `columns`.
    """
    faults: Faults = {}
    values: list[pa.Array] = []
    offsets: dict[str, pa.Array] = {}
    for column_texts, column in zip(texts, columns, strict=True):
        converted, wrong = convert(column_texts, column)
        values.append(converted)
        faults = wrong | faults
        if column.offset_name:
            offsets[column.offset_name] = _parse_offsets(column_texts, column)
    names = [*(column.name for column in columns), *offsets]
    return without_faults(pa.table([*values, *offsets.values()], names=names), faults), faults


def without_faults(rows: pa.Table, faults: Faults) -> pa.Table:
    """Return the rows that fit."""
    if not faults:
        return rows
    fits = np.ones(rows.num_rows, bool)
    fits[list(faults)] = False
    return rows.filter(pa.array(fits))


def find_faults(is_wrong: pa.Array | pa.ChunkedArray, reason: str, column: Column) -> Faults:
    """Return the faults of a column: the rows in which `is_wrong` is true, all with the same reason."""
    rows = np.flatnonzero(pc.fill_null(is_wrong, False))
    return dict.fromkeys(rows.tolist(), _explain(reason, column))


def _explain(reason: object, column: Column) -> str:
    return f"column {column.name} ({column.type}): {reason}"


def convert(texts: pa.BinaryArray, column: Column) -> tuple[pa.Array, Faults]:
    """Convert texts to a column's type. Returns the values and the faults.

    Empty fields are NULL in `texts` and in the values. Texts that do not fit become NULL too.
    """
    null_texts = column.null_texts if column.type == "VARCHAR" else (*column.null_texts, *MISSING)
    if null_texts:
        is_null = pc.is_in(texts, value_set=pa.array([text.encode() for text in null_texts]))
        texts = pc.if_else(is_null, pa.scalar(None, pa.binary()), texts)
    texts = _replace_zones(texts, column)
    faults: Faults = {}
    if column.required and texts.null_count:
        faults = find_faults(texts.is_null(), "it is empty", column)
    try:
        values = _cast(texts, column.type)
    except pa.ArrowInvalid:
        distinct = texts.dictionary_encode()
        parsed, reasons = _parse(distinct.dictionary, column)
        values = parsed.take(distinct.indices)
        rows = np.flatnonzero(np.isin(distinct.indices.fill_null(-1), list(reasons)))
        faults |= {int(row): reasons[distinct.indices[row].as_py()] for row in rows}
    too_long = _too_long(values, column)
    if too_long is not None:
        faults |= find_faults(too_long, _TOO_LONG, column)
        values = pc.if_else(too_long, None, values)
    return values, faults


def _parse(texts: pa.BinaryArray, column: Column) -> tuple[pa.Array, Faults]:
    """Parse texts one by one. Returns the values and the faults."""
    values, faults = [], {}
    for at, text in enumerate(texts.to_pylist()):
        try:
            values.append(TYPES[column.type].parse(text))
        except ValueError as error:
            values.append(None)
            faults[at] = _explain(error, column)
    return pa.array(values, arrow_type(column)), faults


def _too_long(values: pa.Array | pa.ChunkedArray, column: Column) -> pa.Array | pa.ChunkedArray | None:
    """Return a mask of the numbers that are too large for a time or duration on any clock.

    Returns None if there are none. A single absurd time would make every hourly query return thousands of
    years of hours.
    """
    longest = _LAST_TIME.get(column.unit)
    if longest is None or not pa.types.is_primitive(values.type) or pa.types.is_temporal(values.type):
        return None
    least, most = pc.min_max(values).as_py().values()
    if least is None or (-longest <= least and most <= longest):
        return None
    return pc.or_(pc.greater(values, longest), pc.less(values, -longest))


def _replace_zones(texts: pa.BinaryArray, column: Column) -> pa.BinaryArray:
    """Replace the names of time zones by UTC offsets, and remove offsets of zero that a time may have."""
    if column.may_be_utc:
        texts = pc.replace_substring_regex(texts, _UTC, "")
    for zone, offset in column.zones:
        texts = pc.replace_substring_regex(texts, f" {zone}$", offset)
    return texts


def _parse_offsets(texts: pa.BinaryArray, column: Column) -> pa.StringArray:
    """Return the UTC offset at the end of each time, such as `+08:00`; NULL if the time has none."""
    texts = _replace_zones(texts, column)
    found = pc.extract_regex(texts, r"(?P<offset>Z|[+-]\d\d(?::?\d\d)?)$")
    return pc.struct_field(found, "offset").cast(pa.string())


def _cast(texts: pa.BinaryArray, type_name: TypeName) -> pa.Array:
    """Cast texts with Arrow. Raises ArrowInvalid if a text is invalid, or may not be what Arrow reads."""
    if type_name not in _CASTS:
        raise pa.ArrowInvalid(f"{type_name} is parsed text by text")
    values = _CASTS[type_name](texts.cast(pa.string()))
    if not _are_all_possible(values):
        raise pa.ArrowInvalid("impossible values")
    return values


def _cast_texts(texts: pa.StringArray) -> pa.Array:
    if pc.any(pc.match_substring(texts, "\0"), min_count=0).as_py():
        raise pa.ArrowInvalid("a zero byte")
    return texts


def _cast_integers(texts: pa.StringArray) -> pa.Array:
    # Arrow also reads hexadecimal numbers.
    if pc.any(pc.match_substring(texts, "x", ignore_case=True), min_count=0).as_py():
        raise pa.ArrowInvalid("not only decimal integers")
    return pc.replace_substring_regex(pc.ascii_trim(texts, SPACES), r"\.0*$", "").cast(pa.int64())


def _cast_times(texts: pa.StringArray, type_name: TypeName) -> pa.Array:
    try:
        return texts.cast(_ARROW_TYPES[type_name])
    except pa.ArrowInvalid:
        return pc.replace_substring_regex(texts, SPARE_ZEROS, r"\1").cast(_ARROW_TYPES[type_name])


_CASTS: dict[TypeName, Callable[[pa.StringArray], pa.Array]] = {
    "VARCHAR": _cast_texts,
    "BIGINT": _cast_integers,
    "DOUBLE": lambda texts: pc.ascii_trim(texts, SPACES).cast(pa.float64()),
    "TIMESTAMPTZ": partial(_cast_times, type_name="TIMESTAMPTZ"),
    "TIMESTAMP": partial(_cast_times, type_name="TIMESTAMP"),
}


def are_possible(rows: pa.Table, columns: Sequence[Column]) -> bool:
    """Return whether all numbers are finite, all times within the range, and no required value is missing."""
    for place, column in enumerate(columns):
        is_time = column.type.startswith("TIMESTAMP")
        # A wide CSV has thousands of columns that need no test of their own.
        if not (column.required or column.unit in _LAST_TIME or is_time):
            continue
        values = rows.column(place)
        if column.required and values.null_count:
            return False
        if _too_long(values, column) is not None:
            return False
        if is_time and not _are_all_possible(values):
            return False
    # The sum is not finite if a number is not. Computing it takes a third of the time of testing each number.
    numbers = [
        chunk for at, c in enumerate(columns) if c.type == "DOUBLE" for chunk in rows.column(at).chunks
    ]
    total = pc.sum(pa.chunked_array(numbers, pa.float64())).as_py() or 0
    return math.isfinite(total)


def is_possible(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a mask of the numbers that are finite, or of the times that are within the range."""
    if pa.types.is_floating(values.type):
        return pc.is_finite(values)
    first, end = (pa.scalar(time).cast(values.type) for time in (FIRST_TIME, END_OF_TIMES))
    return pc.and_(pc.greater_equal(values, first), pc.less(values, end))


def _are_all_possible(values: pa.Array | pa.ChunkedArray) -> bool:
    if pa.types.is_floating(values.type) or pa.types.is_timestamp(values.type):
        return pc.all(is_possible(values), min_count=0).as_py()
    return True

"""Read Parquet files.

A file may contain the table's keys as columns, which must agree with the keys in its path. If the path has no
keys, only the rows of the partition are read. Values of other physical types are converted if the
result is exact.
"""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracehouse.core.errors import FETCH_FILE_AGAIN, FETCH_OR_MOVE, RawFileError
from tracehouse.core.temporary import temporary_folder
from tracehouse.core.text import decode_text
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import Batch, Reader, ReaderInput, Reject, limit_rejects
from tracehouse.ingest.dump.readers.lines import explain_header
from tracehouse.ingest.dump.readers.values import Faults, arrow_type, find_faults, is_possible, without_faults

BATCH_ROWS = 32_768
_STREAM_BYTES = 1 << 20
# Larger streams are copied to the disk.
_MOST_BYTES_IN_MEMORY = 64 << 20


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """Return the columns' names in the footer."""
    with _explain_damage(file):
        return _open(stream).schema_arrow.names


def names_fit(table: Table, names: Sequence[str]) -> bool:
    """Return whether a file has the columns of a table, in any order, and no others except keys."""
    known = {column.name for column in (*table.keys, *table.columns)}
    return not _missing(table, names) and set(names) <= known


def read_keys(stream: BinaryIO, table: Table, file: str) -> list[dict[str, str]]:
    """Return the distinct values of a table's partition keys in a file that has them as columns."""
    with _explain_damage(file):
        parquet = _open(stream)
        columns = [column for column in table.keys if column.name in table.partition_by]
        names = [column.name for column in columns]
        _check_columns(parquet.schema_arrow, table, file, names)
        found: dict[tuple[object, ...], None] = {}
        for group in range(parquet.num_row_groups):
            for rows in _decode(parquet, group, names):
                keys = pa.table(
                    {column.name: _convert_key(rows[column.name], column, file) for column in columns}
                )
                for row in keys.group_by(names).aggregate([]).to_pylist():
                    found[tuple(row.values())] = None
    return [dict(zip(names, map(str, values), strict=True)) for values in found]


def _convert_key(values: pa.ChunkedArray, column: Column, file: str) -> pa.ChunkedArray:
    """Convert a key to its declared type. Raises RawFileError if a row has no key or an invalid one."""
    converted, faults = _convert_column(values, replace(column, required=True))
    if faults:
        row = min(faults)
        raise RawFileError(file, f"{faults[row]}, so that the row has no partition", FETCH_OR_MOVE)
    return converted


def read(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of a file in batches.

    A row is rejected if one of its values cannot be converted exactly, is not finite, or is missing though
    required. Raises RawFileError if the columns, their types or more than a tenth of the rows do not fit, or
    if the file is damaged.
    """
    with _seekable(source.stream) as stream, _explain_damage(source.name):
        parquet = _open(stream)
        schema = parquet.schema_arrow
        from_columns = [column.name for column in source.table.keys if column.name not in source.keys]
        _check_columns(schema, source.table, source.name, from_columns)
        yield from limit_rejects(_batches(parquet, source), source.name)


@contextmanager
def _seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the stream itself if it is a file or in memory, otherwise a copy in memory or on the disk.

    A member of a zip is always copied: seeking in it is slow, and reading it to its end verifies its CRC-32.
    """
    if stream.seekable() and not isinstance(stream, zipfile.ZipExtFile):
        yield stream
    else:
        with tempfile.SpooledTemporaryFile(_MOST_BYTES_IN_MEMORY, dir=str(temporary_folder())) as copy:
            shutil.copyfileobj(stream, copy, _STREAM_BYTES)
            copy.seek(0)
            yield cast(BinaryIO, copy)


def _open(stream: BinaryIO) -> pq.ParquetFile:
    # Without pre-buffering, Arrow does not read a whole row group before it converts the first rows. It
    # verifies pages that have a checksum.
    return pq.ParquetFile(
        stream, pre_buffer=False, buffer_size=_STREAM_BYTES, page_checksum_verification=True
    )


def _decode(parquet: pq.ParquetFile, group: int, columns: Sequence[str]) -> Iterator[pa.Table]:
    for batch in parquet.iter_batches(BATCH_ROWS, [group], columns=columns, use_threads=False):
        yield pa.table(batch)


def _batches(parquet: pq.ParquetFile, source: ReaderInput) -> Iterator[Batch]:
    footer = parquet.metadata
    rows_of_groups = sum(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
    if rows_of_groups != footer.num_rows:
        what = f"its footer lists {footer.num_rows:,} rows, and {rows_of_groups:,} in its row groups"
        raise RawFileError(source.name, what, FETCH_FILE_AGAIN)
    first = 1
    for group in range(parquet.num_row_groups):
        place = f"row group {group}: "
        after = first + parquet.metadata.row_group(group).num_rows
        if _has_partition_rows(parquet, group, source):
            line = first
            for rows in _decode(parquet, group, parquet.schema_arrow.names):
                # Only this call checks the texts and lengths of a damaged page.
                rows.validate(full=True)
                yield _convert(rows, line, place, source)
                line += rows.num_rows
            if line != after:
                what = f"{place}{line - first:,} rows can be read; its footer lists {after - first:,}"
                raise RawFileError(source.name, what, FETCH_FILE_AGAIN)
        first = after
    if not parquet.num_row_groups:
        yield _convert(parquet.schema_arrow.empty_table(), first, "", source)


def _has_partition_rows(parquet: pq.ParquetFile, group: int, source: ReaderInput) -> bool:
    """Return whether a row group has rows of the partition. It reads the key columns.

    The statistics of the row group would be faster, but may be wrong, and reading them from a damaged footer
    may crash the process.
    """
    names = [name for name in source.partition if name in parquet.schema_arrow.names]
    if not names:
        return True
    for rows in _decode(parquet, group, names):
        chosen = _partition_mask(rows, source)
        if chosen is None or pc.any(chosen, min_count=0).as_py():
            return True
    return False


def _convert(rows: pa.Table, first: int, place: str, source: ReaderInput) -> Batch:
    """Convert the rows of the partition. `first` is the number of the first row in the file."""
    numbers = np.arange(first, first + rows.num_rows)
    chosen = _partition_mask(rows, source)
    if chosen is not None:
        rows, numbers = rows.filter(chosen), numbers[chosen.to_numpy(zero_copy_only=False)]
    faults: Faults = {}
    made: dict[str, pa.ChunkedArray] = {}
    keys = [column for column in source.table.keys if column.name not in source.keys]
    for column in (*keys, *source.table.columns):
        if column.name not in rows.column_names:
            made[column.name] = pa.nulls(rows.num_rows, arrow_type(column))
            continue
        made[column.name], wrong = _convert_column(rows[column.name], column)
        faults = wrong | faults
    return Batch(without_faults(pa.table(made), faults), _rejects(rows, numbers, faults, place))


def _partition_mask(rows: pa.Table, source: ReaderInput) -> pa.BooleanArray | None:
    """Return a mask of the rows that belong to the partition, or None if all rows do.

    Raises RawFileError if a key differs from the path.
    """
    chosen = pa.scalar(True)
    for column in source.table.keys:
        text = source.keys.get(column.name, source.partition.get(column.name))
        if column.name not in rows.column_names or text is None:
            continue
        values, _ = _convert_column(rows[column.name], column)
        expected = pa.scalar(text).cast(arrow_type(column))
        equal = pc.fill_null(pc.equal(values, expected), False)
        if column.name in source.keys and not pc.all(equal, min_count=0).as_py():
            found = values.filter(pc.invert(equal))[0].as_py()
            raise RawFileError(
                source.name,
                f"column {column.name} has {found}, and the path of the file says {expected.as_py()}",
                "Move the file to the folder of its rows, or fetch it again",
            )
        chosen = pc.and_(chosen, equal)
    if isinstance(chosen, pa.Scalar) or pc.all(chosen, min_count=0).as_py():
        return None
    return chosen.combine_chunks()


def _rejects(rows: pa.Table, numbers: np.ndarray, faults: Faults, place: str) -> tuple[Reject, ...]:
    places = sorted(faults)
    rejected = rows.take(pa.array(places, pa.int64())).to_pylist() if places else []
    return tuple(
        Reject(int(numbers[at]), place + faults[at], decode_text(json.dumps(row, default=str).encode()))
        for at, row in zip(places, rejected, strict=True)
    )


# Types of columns.


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _accepts_type(kind: pa.DataType, column: Column) -> bool:
    """Return whether values of an Arrow type may be converted to a column's declared type."""
    if pa.types.is_dictionary(kind):
        return _accepts_type(kind.value_type, column)
    wanted = arrow_type(column)
    if pa.types.is_null(kind) or kind == wanted:
        return True
    if pa.types.is_string(wanted):
        return _is_text(kind)
    return _is_number(wanted) and _is_number(kind)


def _convert_column(values: pa.ChunkedArray, column: Column) -> tuple[pa.ChunkedArray, Faults]:
    """Convert a column to its declared type. Returns it and the faults of the rows that do not fit."""
    wanted = arrow_type(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        # Programs write NaN for a missing value, as in CSV.
        values = pc.if_else(pc.is_nan(values), None, values)
    faults: Faults = {}
    if column.required and values.null_count:
        faults = find_faults(values.is_null(), "it is empty", column)
    try:
        converted = values.cast(wanted)
    except pa.ArrowInvalid:
        converted = values.cast(wanted, safe=False)
        back = converted.cast(values.type, safe=False)
        inexact = pc.not_equal(back, values)
        if pa.types.is_unsigned_integer(values.type):
            # Integers over 2**63 - 1 become negative, and the cast back restores them.
            inexact = pc.or_(inexact, pc.less(converted, 0))
        faults |= find_faults(inexact, f"no exact conversion from {values.type}", column)
    if pa.types.is_floating(wanted) or pa.types.is_timestamp(wanted):
        reason = "not a finite number" if pa.types.is_floating(wanted) else "a time that is out of range"
        faults |= find_faults(pc.invert(is_possible(converted)), reason, column)
    return converted, faults


# Checks of columns, and errors about damage.


def _missing(table: Table, names: Sequence[str]) -> list[str]:
    return [c.name for c in table.columns if c.name not in names and c.name not in table.optional]


def _check_columns(schema: pa.Schema, table: Table, file: str, keys: Sequence[str]) -> None:
    """Raise RawFileError unless a file has the columns of a table and `keys`, in types that fit."""
    names = schema.names
    if not names_fit(table, names) or not set(keys) <= set(names) or len(set(names)) < len(names):
        known = (*table.keys, *table.columns)
        expected = [c.name for c in known if c.name in (*names, *keys, *_missing(table, names))]
        raise RawFileError(file, *explain_header(names, expected, (), "the file"))
    for column in (*table.keys, *table.columns):
        if column.name in schema.names and not _accepts_type(kind := schema.field(column.name).type, column):
            what = f"column {column.name} is {kind}; expected {column.type}"
            raise RawFileError(file, what, FETCH_OR_MOVE)


@contextmanager
def _explain_damage(file: str) -> Iterator[None]:
    """Turn Arrow's exceptions about a damaged file into a RawFileError."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as damage:
        if isinstance(damage, OSError) and damage.errno is not None:
            raise
        reason = str(damage).partition("\n")[0]
        what = f"not Parquet, cut short or damaged ({reason})"
        raise RawFileError(file, what, FETCH_FILE_AGAIN) from damage


READER = Reader(read, read_names, names_fit, read_keys)

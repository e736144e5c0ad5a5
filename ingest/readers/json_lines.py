"""Reads JSON lines, an object on each, into Arrow tables of declared types, and accounts for every line.

The values of an object are read from their texts, as the fields of a CSV are: one rule for both.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import printable
from tracehouse.ingest.column_types import no_constant
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers.records import (
    HEADER_CHUNK_BYTES,
    Chunk,
    first_record,
    first_written,
    record_chunks,
    records_of,
    shown,
)
from tracehouse.ingest.readers.rejects import Batch, Reject, unless_hopeless
from tracehouse.ingest.readers.typed_csv import CHUNK_BYTES, header_fits
from tracehouse.ingest.readers.validation import value_fault
from tracehouse.ingest.readers.values import are_possible, offsets_of, values_of

_ESCAPED_ZERO = rb"\u0000"
_WRITTEN_AS_JSON = ("JSON", "VARCHAR[]", "BIGINT[]", "DOUBLE[]")

Texts = list[str | None]
"""A text for each column of a table, None where it has no value."""


class _Number(str):
    """A number as the text in the file, so that no digit is lost."""

    __slots__ = ()


class MisfitError(Exception):
    """A line, or an object, that does not fit its table; the message says why."""


@dataclass(frozen=True)
class Row:
    """What may become a row: its line, the text that it is made of, and that of each column's value.

    `place` says which object it is, where a line begins several.
    """

    line: int
    record: bytes
    texts: Texts
    place: str = ""


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """The names in the object on the first line."""
    first = first_written(record_chunks(stream, file, HEADER_CHUNK_BYTES), file)
    try:
        return list(object_in(first_record(first)))
    except MisfitError as misfit:
        raise RawFileError(
            file, f"{misfit}", "Fetch the file again from its publisher", line=first.first_line
        ) from misfit


def read_json_lines(
    stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Batch]:
    """Read JSON lines of `table`: batches with its `read_columns`, in this order; at least one.

    An object has a value, or null, for each column that is not optional, and no others. `file` names the
    file in errors. Raises RawFileError where more than a tenth of the lines does not fit: then it is another
    file than its name says.
    """
    chunks = record_chunks(stream, file, chunk_bytes)
    first = first_written(chunks, file)
    _check_first(first, table, file)
    read = ((chunk, _read_chunk(chunk, table, file)) for chunk in (first, *chunks))
    for _, batch in unless_hopeless(read, file):
        yield batch


def _check_first(first: Chunk, table: Table, file: str) -> None:
    """Raises RawFileError where the first line is no object of this table."""
    try:
        names: Sequence[str] = list(object_in(first_record(first)))
        what = f"the names on the line are {shown(names)}"
    except MisfitError as misfit:
        names, what = [], f"{misfit}"
    if not header_fits(table, names):
        expected = ",".join(column.name for column in table.columns)
        raise RawFileError(
            file,
            f"{what}; expected {expected}",
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=first.first_line,
        )


def _read_chunk(chunk: Chunk, table: Table, file: str) -> Batch:
    records = records_of(chunk)
    kept: list[Row] = []
    rejects: list[Reject] = []
    for line, text in zip(records.lines.tolist(), records.texts.to_pylist(), strict=True):
        record = text.rstrip(b"\r\n")
        try:
            kept.append(Row(line, record, _texts(record, table)))
        except MisfitError as misfit:
            rejects.append(Reject(line, str(misfit), printable(record)))
    return batch_of(kept, rejects, table, file)


def batch_of(kept: Sequence[Row], rejects: list[Reject], table: Table, file: str) -> Batch:
    """The rows of a table whose values fit, and a reject for each of the others beside those given."""
    has_zero = any(_ESCAPED_ZERO in row.record for row in kept)
    rows = None if has_zero else _rows([row.texts for row in kept], table)
    if rows is None:
        fitting: list[Texts] = []
        for row in kept:
            if reason := _fault(row.texts, table.columns):
                rejects.append(Reject(row.line, f"{row.place}{reason}", printable(row.record)))
            else:
                fitting.append(row.texts)
        rows = _rows(fitting, table)
    if rows is None:
        raise RawFileError(
            file,
            f"lines up to {kept[-1].line:,} that seem to fit their columns cannot be read",
            "Report this, with these lines: it is no fault of the file",
            line=kept[0].line,
        )
    rejects.sort(key=lambda reject: reject.line)
    return Batch(rows, tuple(rejects))


def _rows(lines: Sequence[Texts], table: Table) -> pa.Table | None:
    """The values of lines, or None where one does not fit its column."""
    columns: dict[str, pa.ChunkedArray] = {}
    try:
        for place, column in enumerate(table.columns):
            texts = pa.chunked_array([pa.array((line[place] for line in lines), pa.string())])
            columns[column.name] = values_of(texts, column)
            if column.offset_name:
                columns[column.offset_name] = offsets_of(texts, column)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    rows = pa.table({column.name: columns[column.name] for column in table.read_columns})
    return rows if are_possible(rows, table.columns) else None


def _fault(texts: Texts, columns: Sequence[Column]) -> str:
    """Why a line does not fit; empty where it does."""
    faults = (
        value_fault(None if text is None else text.encode("utf-8", "surrogatepass"), column)
        for text, column in zip(texts, columns, strict=True)
    )
    return next(filter(None, faults), "")


def _texts(record: bytes, table: Table) -> Texts:
    """The text of each column's value on a line, None where it is null or not there."""
    values = object_in(record)
    missing = [c.name for c in table.columns if c.name not in values and c.name not in table.optional]
    if missing:
        raise MisfitError(f"no value of {missing[0]}")
    texts = [text_of(values.pop(column.name, None), column) for column in table.columns]
    if values:
        raise MisfitError(f"a value of {shown(list(values))}, which is no column")
    return texts


def text_of(value: Any, column: Column) -> str | None:
    """The text of a column's value, None where it is null. Raises MisfitError where it has none."""
    if value is None:
        return None
    # A list may also be given as a string that holds it.
    if column.type in _WRITTEN_AS_JSON and (column.type == "JSON" or not isinstance(value, str)):
        return _as_json(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise MisfitError(f"column {column.name}, a {column.type}: a list or an object")
    return value


def _as_json(value: Any) -> str:
    """A value as it stands in the file, but for spaces and escapes."""
    match value:
        case _Number():
            return str(value)
        case list():
            return f"[{', '.join(map(_as_json, value))}]"
        case dict():
            return f"{{{', '.join(f'{_as_json(name)}: {_as_json(each)}' for name, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def object_in(record: bytes) -> dict[str, Any]:
    """The object that a text is. Raises MisfitError where there is none."""
    try:
        found = json.loads(
            record.decode(),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=no_constant,
            object_pairs_hook=_once_each,
        )
    except UnicodeDecodeError:
        raise MisfitError("invalid UTF8 data") from None
    except json.JSONDecodeError as error:
        raise MisfitError(f"no JSON: {error.msg}, at character {error.pos + 1}") from None
    except ValueError as error:
        raise MisfitError(f"no JSON: {error}") from None
    except RecursionError:
        raise MisfitError("no JSON that can be read: it is nested too deeply") from None
    if not isinstance(found, dict):
        raise MisfitError("no JSON object")
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MisfitError("no JSON that can be read: a name is in it twice")
    return found

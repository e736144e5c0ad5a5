"""Reads CSV bytes into Arrow tables of declared types, and accounts for every row.

What `fast_csv` leaves is read here, with Arrow's parser, not DuckDB's: asked for a BIGINT, DuckDB reads `1.5`
as 2, and `1_000` as a number.
A row that does not fit its declaration becomes a `Reject` with its line, the reason and its text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import printable
from tracehouse.ingest.column_types import whole_number
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import fast_csv
from tracehouse.ingest.readers.prefetch import prefetch_map, prefetched
from tracehouse.ingest.readers.records import (
    BYTE_ORDER_MARK,
    Chunk,
    Records,
    count_records,
    fields,
    first_record,
    first_written,
    record_chunks,
    records_of,
    shown,
    without,
    without_last_commas,
    without_last_record,
)
from tracehouse.ingest.readers.rejects import Batch, Reject, Tally, unless_hopeless
from tracehouse.ingest.readers.validation import fault_finder, quotes_are_closed, surely_fit
from tracehouse.ingest.readers.values import are_possible, arrow_type, is_read_as_text, offsets_of, values_of

# Small enough to stay in a core's cache while it is inflated, parsed and checked.
CHUNK_BYTES = 4 << 20

_BLOCK_BYTES = 1 << 30
_LOOKED_AT_ONCE = 4096
# The end of Arrow's message about a value that it cannot convert.
_REFUSED_VALUE = re.compile(r"invalid value '(.*)'$", re.DOTALL)


@dataclass(frozen=True)
class _Parser:
    """Arrow's options for the columns of a file, made once and used for all of its chunks.

    `texts` are the indices of the columns that Arrow parses as strings, and `whole` those of integers.
    `fast` reads the plain ones among the chunks, if the columns allow it.
    """

    columns: Sequence[Column]
    ends_in_newline: bool
    types: dict[str, pa.DataType]
    read_options: arrow_csv.ReadOptions
    convert_options: arrow_csv.ConvertOptions
    texts: tuple[int, ...]
    whole: tuple[int, ...]
    fast: fast_csv.Parse | None


def read_csv(stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Batch]:
    """Read a CSV of `table` as batches of its `read_columns`, in this order; at least one, perhaps empty.

    `file` names the CSV in errors. Raises RawFileError where the header, the number of columns, or more
    than a tenth of the rows are wrong: then it is another file than its name says.
    """
    chunks = record_chunks(stream, file, chunk_bytes)
    if table.ends_in_comma:
        chunks = (without_last_commas(chunk, len(table.columns)) for chunk in chunks)
    names, rest_of_first = _names_and_rows(first_written(chunks, file), table, file)
    columns = {column.name_in_file: column for column in table.columns}
    in_file = [columns[name] for name in names]
    for _, batch in read_chunks(chain([rest_of_first], chunks), in_file, table.ends_in_newline, file):
        yield Batch(_arranged(batch.rows, table), batch.rejects)


def read_chunks(
    chunks: Iterable[Chunk], columns: Sequence[Column], ends_in_newline: bool, file: str, at_once: int = 1
) -> Iterator[tuple[Chunk, Batch]]:
    """Parse chunks of lines that hold `columns` in this order, `at_once` of them at a time, without a header.

    Returns each chunk with its rows. Raises RawFileError where too many rows are rejected (see `rejects`).
    """
    read = partial(_read_chunk, parser=_parser(columns, ends_in_newline), file=file)
    coming = prefetched(iter(chunks))
    yield from unless_hopeless(
        prefetch_map(read, coming, at_once) if at_once > 1 else map(read, coming), file
    )


def header_fits(table: Table, header: Sequence[str]) -> bool:
    """Whether a header names this table's columns, in any order, at most the optional ones missing.

    For a wide table: the index's column first, and then distinct names.
    """
    if table.wide:
        names = header[1:]
        return header[0] == table.wide.index_header and len(set(names) - {"", header[0]}) == len(names) > 0
    if table.ends_in_comma and not header[-1]:
        header = header[:-1]
    known = {column.name_in_file for column in table.columns}
    optional = {column.name_in_file for column in table.columns if column.name in table.optional}
    found = set(header)
    return len(found) == len(header) and known - optional <= found <= known


def _names_and_rows(first: Chunk, table: Table, file: str) -> tuple[list[str], Chunk]:
    """The columns' names in the file's order, and the first chunk without its header line."""
    record = first_record(first)
    header = fields(record)
    declared = [column.name_in_file for column in table.columns]
    if header_fits(table, header):
        return header, without(first, len(record))
    if table.has_header or len(header) != len(declared):
        listed = ",".join(declared)
        what = f"the header is {shown(header)}; expected {listed}"
        if not table.has_header:
            what = f"the line has {len(header)} columns; expected {len(declared)}: {listed}"
        raise RawFileError(
            file,
            what,
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=first.first_line,
        )
    return declared, first


def _read_chunk(chunk: Chunk, parser: _Parser, file: str) -> tuple[Chunk, Batch]:
    whole, rejects = _without_cut_record(chunk) if parser.ends_in_newline else (chunk, ())
    if parser.fast and (plain := parser.fast(whole)) is not None:
        return chunk, Batch(plain, rejects)
    rows = None if _may_be_misread(whole, parser) else _parse(whole.data, parser)
    if rows is None or not _is_all_of(whole, rows):
        batch = _sift(whole, parser, file)
        return chunk, Batch(batch.rows, batch.rejects + rejects)
    return chunk, Batch(rows, rejects)


def _without_cut_record(chunk: Chunk) -> tuple[Chunk, tuple[Reject, ...]]:
    """A chunk without the record that the file ends in the middle of, if it does."""
    if not chunk.is_cut or not chunk.data.strip(b"\r\n"):
        return chunk, ()
    whole, cut = without_last_record(chunk)
    reason = "the file ends here without a newline: perhaps it was cut short"
    return whole, (Reject(chunk.last_line, reason, printable(cut.rstrip(b"\r\n"))),)


def _may_be_misread(chunk: Chunk, parser: _Parser) -> bool:
    """Whether a chunk holds what Arrow may misread: zero bytes, hexadecimal numbers or misplaced quotes."""
    if b"\0" in chunk.data:
        return True
    if parser.whole and (b"0x" in chunk.data or b"0X" in chunk.data):
        return True
    return b'"' in chunk.data and not quotes_are_closed(records_of(chunk).texts)


def _is_all_of(chunk: Chunk, rows: pa.Table) -> bool:
    """Whether there are as many rows as records, counted independently of the parser."""
    # The cheap test first: where rows equal line ends, there are no blank lines, and all are records.
    return rows.num_rows == chunk.line_ends or rows.num_rows == count_records(chunk.data)


def _sift(chunk: Chunk, parser: _Parser, file: str) -> Batch:
    """Separate a chunk's records: the rows of those that fit, and a reject for each of the others."""
    records = records_of(chunk)
    fit = surely_fit(records.texts, parser.columns)
    tally, rejects = Tally(file), []
    fault = fault_finder(parser.columns)
    for index, line, record in _doubtful(records, fit):
        if reason := fault(record):
            rejects.append(Reject(line, reason, printable(record)))
            tally.add(rejects[-1])
            # Now and then, not only at the end: a chunk may hold millions of bad records.
            if len(rejects) % _LOOKED_AT_ONCE == 0:
                tally.raise_if_hopeless(chunk.last_line)
        else:
            fit[index] = True
    rows = _parse(_bytes_of(records.texts.filter(pa.array(fit))), parser)
    if rows is None or rows.num_rows != np.count_nonzero(fit):
        raise RawFileError(
            file,
            f"the parser refuses rows up to line {chunk.last_line:,} that seem to fit their columns",
            "Report this, with these lines: it is no fault of the file",
            line=chunk.first_line,
        )
    return Batch(rows, tuple(rejects))


def _doubtful(records: Records, fit: np.ndarray) -> Iterator[tuple[int, int, bytes]]:
    """The records that may not fit: index in the chunk, line number and text of each."""
    places = np.flatnonzero(~fit)
    for at in range(0, len(places), _LOOKED_AT_ONCE):
        some = places[at : at + _LOOKED_AT_ONCE]
        texts = records.texts.take(pa.array(some)).to_pylist()
        for place, line, text in zip(some.tolist(), records.lines[some].tolist(), texts, strict=True):
            yield place, line, text.rstrip(b"\r\n")


def _bytes_of(texts: pa.BinaryArray) -> bytes:
    """The concatenated texts of an array whose data buffer begins with its first text."""
    data = texts.buffers()[2]
    return data.to_pybytes() if data else b""


def _arranged(rows: pa.Table, table: Table) -> pa.Table:
    """The columns in the declared order, NULL where the file has none."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, arrow_type(column))
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])


def _parser(columns: Sequence[Column], ends_in_newline: bool) -> _Parser:
    texts = tuple(place for place, column in enumerate(columns) if is_read_as_text(column))
    types = {c.name: pa.string() if place in texts else arrow_type(c) for place, c in enumerate(columns)}
    whole = tuple(place for place, kind in enumerate(types.values()) if kind == pa.int64())
    return _Parser(columns, ends_in_newline, types, *_options(types), texts, whole, fast_csv.parser(columns))


def _options(types: dict[str, pa.DataType]) -> tuple[arrow_csv.ReadOptions, arrow_csv.ConvertOptions]:
    return (
        # One thread a chunk: several are parsed at once, and Arrow's threads double the cost. One block a
        # chunk: with thousands of columns, small arrays cost more than the values in them.
        arrow_csv.ReadOptions(column_names=list(types), use_threads=False, block_size=_BLOCK_BYTES),
        arrow_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _parse(data: bytes, parser: _Parser) -> pa.Table | None:
    """All of `data` as rows, or None where one does not fit. Whole numbers may be written as floats: `1e+05`.

    `data` must end in a newline: without it, Arrow reads an empty last field after a quoted one as a value.
    """
    try:
        rows, texts = _parse_strictly(data, parser)
        for place in texts:
            rows = _with_values(rows, place, parser.columns[place])
    except pa.ArrowInvalid:
        return None
    return rows if are_possible(rows, parser.columns) else None


def _parse_strictly(data: bytes, parser: _Parser) -> tuple[pa.Table, tuple[int, ...]]:
    """All of `data` as Arrow reads it, and the indices of its text columns. Raises ArrowInvalid."""
    if not data[:1].strip(b"\r\n") and not data.strip(b"\r\n"):
        return pa.table({name: pa.array([], kind) for name, kind in parser.types.items()}), parser.texts
    try:
        return _parse_as(data, parser.read_options, parser.convert_options), parser.texts
    except pa.ArrowInvalid as error:
        refused = _REFUSED_VALUE.search(str(error))
        # A refused value that is no integer in any notation would fail the second attempt as well.
        if not parser.whole or (refused and whole_number(refused[1].strip().encode()) is None):
            raise
    names = list(parser.types)
    as_text = parser.types | {names[place]: pa.string() for place in parser.whole}
    return _parse_as(data, *_options(as_text)), parser.texts + parser.whole


def _parse_as(
    data: bytes, read_options: arrow_csv.ReadOptions, convert_options: arrow_csv.ConvertOptions
) -> pa.Table:
    # Arrow strips a byte order mark from the start of every chunk, where it is data: so it gets two.
    if data.startswith(BYTE_ORDER_MARK):
        data = BYTE_ORDER_MARK + data
    return arrow_csv.read_csv(pa.BufferReader(data), read_options, convert_options=convert_options)


def _with_values(rows: pa.Table, index: int, column: Column) -> pa.Table:
    """Convert a text column to its type, and append its UTC offsets, if declared. Raises ArrowInvalid."""
    texts = rows.column(index)
    rows = rows.set_column(index, column.name, values_of(texts, column))
    if column.offset_name:
        rows = rows.append_column(column.offset_name, offsets_of(texts, column))
    return rows

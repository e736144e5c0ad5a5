"""Reads CSV bytes into Arrow tables of declared types, and accounts for every row.

Arrow's parser, not DuckDB's: asked for a BIGINT, DuckDB reads `1.5` as 2, and `1_000` as a number.
A row that does not fit its declaration becomes a `Reject` with its line, the reason and its text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tracehouse.ingest.ahead import one_ahead, several_ahead
from tracehouse.ingest.declare import Column, Table
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.records import (
    Chunk,
    fields,
    first_record,
    first_written,
    has_plain_lines,
    record_chunks,
    records_of,
    shown,
    without,
)

# Small enough to stay in a core's cache while it is inflated, parsed and checked.
CHUNK_BYTES = 4 << 20

ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}

# From here on, a float no longer tells every integer from the next.
_FIRST_INEXACT_FLOAT = 2**53
_BLOCK_BYTES = 1 << 30
_REJECTS_THAT_CONDEMN = 1000
_REJECTED_SHARE_THAT_CONDEMNS = 0.1


@dataclass(frozen=True)
class Reject:
    """A row that does not fit its table: the line it starts on, from 1, why, and its text."""

    line: int
    reason: str
    raw_text: str


@dataclass(frozen=True)
class _Parser:
    """What Arrow is told of the columns of a file, once for all of its chunks."""

    columns: Sequence[Column]
    null_texts: Sequence[str]
    types: dict[str, pa.DataType]
    read_options: arrow_csv.ReadOptions
    convert_options: arrow_csv.ConvertOptions


@dataclass(frozen=True)
class Batch:
    """Some rows of a CSV, in order: those that fit, and those that do not."""

    rows: pa.Table
    rejects: tuple[Reject, ...] = field(default=())


def read_csv(stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Batch]:
    """Read a CSV of `table`: batches with its `read_columns`, in this order.

    `file` names the CSV in errors. Raises RawFileError where the header, the number of columns, or more
    than a tenth of the rows are wrong: then it is another file than its name says.
    """
    chunks = record_chunks(stream, file, chunk_bytes)
    names, rest_of_first = _names_and_rows(first_written(chunks, file), table, file)
    columns = {column.name: column for column in table.columns}
    in_file = [columns[name] for name in names]
    for _, batch in read_chunks(chain([rest_of_first], chunks), in_file, table.null_texts, file):
        yield Batch(_arranged(batch.rows, table), batch.rejects)


def read_chunks(
    chunks: Iterable[Chunk], columns: Sequence[Column], null_texts: Sequence[str], file: str, at_once: int = 1
) -> Iterator[tuple[Chunk, Batch]]:
    """The rows of chunks that hold `columns` in this order, each chunk with its own, parsed `at_once`.

    Raises RawFileError as `read_csv` does.
    """
    rows_read = 0
    rejects: list[Reject] = []
    read = partial(_read_chunk, parser=_parser(columns, null_texts), file=file)
    coming = one_ahead(iter(chunks))
    for chunk, batch in several_ahead(read, coming, at_once) if at_once > 1 else map(read, coming):
        rejects += batch.rejects
        rows_read += batch.rows.num_rows + len(batch.rejects)
        _condemn_if_hopeless(rejects, chunk.last_line, file)
        yield chunk, batch
    if rejects and len(rejects) == rows_read:
        raise _condemned(rejects, f"none of the {rows_read:,} rows parses", file)


def header_fits(table: Table, header: Sequence[str]) -> bool:
    """Whether a header names this table's columns, in any order, at most the optional ones missing.

    For a wide table: a column of times first, and then devices, none of them twice.
    """
    if table.wide:
        return header[0] == table.wide.time_name and len(set(header)) == len(header) > 1
    known = {column.name for column in table.columns}
    found = set(header)
    return len(found) == len(header) and known - table.optional <= found <= known


def _names_and_rows(first: Chunk, table: Table, file: str) -> tuple[list[str], Chunk]:
    """The columns' names in the file's order, and the first chunk without its header line."""
    record = first_record(first)
    header = fields(record)
    declared = [column.name for column in table.columns]
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
    rejects: list[Reject] = []
    try:
        rows = _parse(chunk.data, parser)
    except pa.ArrowInvalid:
        records = list(records_of(chunk))
        tables = [_parse(b"", parser)]
        for sifted in _sift(records, parser):
            if isinstance(sifted, Reject):
                rejects.append(sifted)
                # Not only when all have been sifted: each costs several attempts.
                _condemn_if_hopeless(rejects, chunk.last_line, file)
            else:
                tables.append(sifted)
        rows = pa.concat_tables(tables)
    _check_row_account(chunk, rows.num_rows, len(rejects))
    return chunk, Batch(rows, tuple(rejects))


def _arranged(rows: pa.Table, table: Table) -> pa.Table:
    """The columns in the declared order, NULL where the file has none."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, ARROW_TYPES[column.type])
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])


def _parser(columns: Sequence[Column], null_texts: Sequence[str]) -> _Parser:
    # An offset is read off the text of its time.
    types = {
        column.name: pa.string() if column.offset_name else ARROW_TYPES[column.type] for column in columns
    }
    return _Parser(columns, null_texts, types, *_options(types, null_texts))


def _options(
    types: dict[str, pa.DataType], null_texts: Sequence[str]
) -> tuple[arrow_csv.ReadOptions, arrow_csv.ConvertOptions]:
    return (
        # One thread a chunk: several are parsed at once, and Arrow's threads double the cost. One block a
        # chunk: thousands of columns in small pieces cost more than their numbers.
        arrow_csv.ReadOptions(column_names=list(types), use_threads=False, block_size=_BLOCK_BYTES),
        arrow_csv.ConvertOptions(
            column_types=types,
            null_values=["", *null_texts],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _parse(data: bytes, parser: _Parser) -> pa.Table:
    """All of `data` as rows, or ArrowInvalid. Whole numbers may be written as floats: `1.0`, `1e+05`.

    `data` ends in a newline: without it, Arrow reads an empty last field after a quoted one as no NULL.
    """
    rows = _parse_strictly(data, parser)
    for index, column in enumerate(parser.columns):
        if column.offset_name:
            rows = _with_offset(rows, index, column)
    return rows


def _with_offset(rows: pa.Table, index: int, column: Column) -> pa.Table:
    """The instants that stand as texts in column `index`, and their offsets as a last column."""
    texts = rows.column(index)
    try:
        instants = texts.cast(ARROW_TYPES[column.type])
    except pa.ArrowInvalid as invalid:
        # In Arrow's words, as if its CSV reader had said so.
        raise pa.ArrowInvalid(
            f"In CSV column #{index}: CSV conversion error to timestamp: invalid value '{texts[0]}'"
        ) from invalid
    offsets = pc.extract_regex(texts, r"(?P<offset>Z|[+-]\d\d(?::?\d\d)?)$")
    rows = rows.set_column(index, column.name, instants)
    return rows.append_column(column.offset_name, pc.struct_field(offsets, "offset"))


def _parse_strictly(data: bytes, parser: _Parser) -> pa.Table:
    types = parser.types
    if not data[:1].strip(b"\r\n") and not data.strip(b"\r\n"):
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    try:
        return _parse_as(data, parser.read_options, parser.convert_options)
    except pa.ArrowInvalid:
        whole = [name for name, kind in types.items() if kind == pa.int64()]
        if not whole:
            raise
        as_text = types | dict.fromkeys(whole, pa.string())
        rows = _parse_as(data, *_options(as_text, parser.null_texts))
        for index, name in enumerate(types):
            if name in whole:
                rows = rows.set_column(index, name, _whole_numbers(rows[name], index))
        return rows


def _whole_numbers(texts: pa.ChunkedArray, index: int) -> pa.ChunkedArray:
    """The integers that stand in column `index`, never rounded, or ArrowInvalid."""
    digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^([+-]?\d+)\.0*$", r"\1")
    with suppress(pa.ArrowInvalid):
        return digits.cast(pa.int64())
    with suppress(pa.ArrowInvalid):
        numbers = digits.cast(pa.float64())
        if _is_whole(numbers):
            return numbers.cast(pa.int64())
    # In Arrow's words, as if its CSV reader had said so.
    raise pa.ArrowInvalid(
        f"In CSV column #{index}: CSV conversion error to int64: invalid value '{texts[0]}'"
    )


def _is_whole(numbers: pa.ChunkedArray) -> bool:
    exact = pc.and_(
        pc.equal(numbers, pc.floor(numbers)),
        pc.less(pc.abs(numbers), float(_FIRST_INEXACT_FLOAT)),
    )
    return pc.all(exact, min_count=0).as_py()


def _parse_as(
    data: bytes, read_options: arrow_csv.ReadOptions, convert_options: arrow_csv.ConvertOptions
) -> pa.Table:
    parse_options = arrow_csv.ParseOptions(newlines_in_values=b'"' in data)
    return arrow_csv.read_csv(pa.BufferReader(data), read_options, parse_options, convert_options)


def _sift(records: list[tuple[int, bytes]], parser: _Parser) -> Iterator[pa.Table | Reject]:
    """Halve what does not parse until the rows at fault stand alone."""
    try:
        yield _parse(b"".join(record + b"\n" for _, record in records), parser)
        return
    except pa.ArrowInvalid as invalid:
        if len(records) == 1:
            line, record = records[0]
            yield Reject(line, _reason(str(invalid), parser.columns), printable(record))
            return
    middle = len(records) // 2
    yield from _sift(records[:middle], parser)
    yield from _sift(records[middle:], parser)


def _reason(message: str, columns: Sequence[Column]) -> str:
    """Arrow's message in the words of the declaration."""
    conversion = re.search(r"In CSV column #(\d+): .*?CSV conversion error to [^:]*: (.*)", message, re.S)
    if conversion:
        column = columns[int(conversion[1])]
        return f"column {column.name}, a {column.type}: {conversion[2].split('. ')[0].strip()}"
    count = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if count:
        return f"{count[2]} columns; expected {count[1]}"
    return message.splitlines()[0]


def printable(record: bytes) -> str:
    """A record as text; bytes that are no UTF-8 are escaped."""
    return record.decode("utf-8", errors="backslashreplace")


def _check_row_account(chunk: Chunk, kept: int, rejected: int) -> None:
    """Records counted apart from the parser must be its rows: one that loses a row is found out here."""
    if has_plain_lines(chunk.data) and chunk.line_ends == kept + rejected:
        return
    records = sum(1 for _ in records_of(chunk))
    if records != kept + rejected:
        raise AssertionError(f"{records} records, but {kept} rows kept and {rejected} rejected")


def _condemn_if_hopeless(rejects: list[Reject], lines_read: int, file: str) -> None:
    if len(rejects) > max(_REJECTS_THAT_CONDEMN, _REJECTED_SHARE_THAT_CONDEMNS * lines_read):
        raise _condemned(rejects, f"over a tenth of the first {lines_read:,} lines do not parse", file)


def _condemned(rejects: list[Reject], what: str, file: str) -> RawFileError:
    return RawFileError(
        file,
        f"{what}; the first: {rejects[0].reason}",
        "This is another file than its name says, or a damaged one: fetch it again",
        line=rejects[0].line,
    )

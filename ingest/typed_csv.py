"""Reads CSV bytes into Arrow tables of declared types, and accounts for every row.

Arrow's parser, not DuckDB's: asked for a BIGINT, DuckDB reads `1.5` as 2, and `1_000` as a number.
A row that does not fit its declaration becomes a `Reject` with its line, the reason and its text.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tracehouse.ingest.ahead import one_ahead
from tracehouse.ingest.declare import Column, Table
from tracehouse.ingest.errors import RawFileError

# Small enough to stay in a core's cache while it is inflated, parsed and checked.
CHUNK_BYTES = 4 << 20
HEADER_CHUNK_BYTES = 64 << 10
LONGEST_RECORD_BYTES = 64 << 20

ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}

# From here on, a float no longer tells every integer from the next.
_FIRST_INEXACT_FLOAT = 2**53
_BOM = b"\xef\xbb\xbf"
_NEWLINE = ord("\n")
_COUNTED_AT_ONCE_BYTES = 256 << 10

# One record with the end of its line. A quote counts at the start of a field only, as Arrow has it, so
# that counting quotes would not do. Possessive throughout: what fits no record fails at once.
_FIELD = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_RECORD = re.compile(_FIELD + rb"(?:," + _FIELD + rb")*+(?:\r\n|\n|\r)")
_RECORDS = re.compile(rb"(?:" + _RECORD.pattern + rb")*+")
_BLANK_LINES = re.compile(rb"[\r\n]*")
_SHOWN_CHARACTERS = 200
_REJECTS_THAT_CONDEMN = 1000
_REJECTED_SHARE_THAT_CONDEMNS = 0.1


@dataclass(frozen=True)
class Reject:
    """A row that does not fit its table: the line it starts on, from 1, why, and its text."""

    line: int
    reason: str
    raw_text: str


@dataclass(frozen=True)
class Batch:
    """Some rows of a CSV, in order: those that fit, and those that do not."""

    rows: pa.Table
    rejects: tuple[Reject, ...] = field(default=())


@dataclass(frozen=True)
class _Chunk:
    """Whole records, the line that they start on, and how many ends of lines they hold."""

    first_line: int
    data: bytes
    line_ends: int


def read_csv(stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Batch]:
    """Read a CSV of `table`: batches with the publisher's columns in the declared order.

    `file` names the CSV in errors. Raises RawFileError where the header, the number of columns, or more
    than a tenth of the rows are wrong: then it is another file than its name says.
    """
    chunks = one_ahead(_record_chunks(stream, file, chunk_bytes))
    names, rest_of_first = _names_and_rows(_first_written(chunks, file), table, file)
    rows_read = 0
    rejects: list[Reject] = []
    for chunk in _with_first(rest_of_first, chunks):
        batch = _read_chunk(chunk, names, table, file, rejects, rows_read)
        rows_read += batch.rows.num_rows + len(batch.rejects)
        yield batch
    if rejects and len(rejects) == rows_read:
        raise _condemned(rejects, f"none of the {rows_read:,} rows parses", file)


def read_header(stream: BinaryIO, file: str) -> list[str]:
    """The names in a CSV's first line."""
    first = _first_written(_record_chunks(stream, file, HEADER_CHUNK_BYTES), file)
    return _fields(_first_record(first))


def shown(names: Sequence[str]) -> str:
    """A header as an error shows it: whatever the file is, on one line and not too long."""
    text = ",".join(names)
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:_SHOWN_CHARACTERS]) + cut


def header_fits(table: Table, header: Sequence[str]) -> bool:
    """Whether a header names this table's columns, in any order, at most the optional ones missing."""
    known = {column.name for column in table.columns}
    found = set(header)
    return len(found) == len(header) and known - table.optional <= found <= known


def _fields(record: bytes) -> list[str]:
    text = record.decode("utf-8", errors="replace").strip("\r\n")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        # Longer than any field may be: no header, but something to show.
        return [text]


def _with_first(first: _Chunk, rest: Iterator[_Chunk]) -> Iterator[_Chunk]:
    yield first
    yield from rest


def _record_chunks(stream: BinaryIO, file: str, chunk_bytes: int) -> Iterator[_Chunk]:
    """Cut a stream at ends of records. The last chunk, too, ends in a newline."""
    line = 1
    rest = stream.read(len(_BOM)).removeprefix(_BOM)
    while block := stream.read(chunk_bytes):
        data = rest + block
        cut = _end_of_last_record(data)
        if cut:
            records = data[:cut]
            line_ends = _count_line_ends(records)
            yield _Chunk(line, records, line_ends)
            line += line_ends
        rest = data[cut:]
        if len(rest) > max(LONGEST_RECORD_BYTES, chunk_bytes):
            raise _endless(rest, file, line)
    if rest:
        last = rest + b"\n"
        if _end_of_last_record(last) < len(last):
            raise _endless(rest, file, line)
        yield _Chunk(line, last, _count_line_ends(last))


def _endless(record: bytes, file: str, line: int) -> RawFileError:
    quoted = b'"' in record
    what = "a quote is opened here and never closed" if quoted else "the line does not end"
    return RawFileError(file, what, "Repair the line, or fetch the file again", line=line)


def _end_of_last_record(data: bytes) -> int:
    if _has_plain_lines(data):
        return data.rfind(b"\n") + 1
    # What follows a carriage return at the very end decides whether the two are one end of a line.
    records = _RECORDS.match(data, 0, len(data) - data.endswith(b"\r"))
    return records.end() if records else 0


def _has_plain_lines(data: bytes) -> bool:
    """Whether each newline ends a record, and nothing else does: no quotes, no lone carriage returns."""
    return b'"' not in data and (b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"))


def _count_line_ends(data: bytes) -> int:
    return _count_newlines(data) + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def _count_newlines(data: bytes) -> int:
    # bytes.count would hold every other thread up, and numpy is faster as long as its blocks stay in cache.
    values = np.frombuffer(data, np.uint8)
    blocks = range(0, len(values), _COUNTED_AT_ONCE_BYTES)
    return sum(int(np.count_nonzero(values[at : at + _COUNTED_AT_ONCE_BYTES] == _NEWLINE)) for at in blocks)


def _first_written(chunks: Iterator[_Chunk], file: str) -> _Chunk:
    """The first chunk that holds more than blank lines, without those that it begins with."""
    for chunk in chunks:
        blank = _BLANK_LINES.match(chunk.data)
        end = blank.end() if blank else 0
        if end < len(chunk.data):
            return _without(chunk, end)
    raise RawFileError(file, "the file is empty", "Fetch it again from its publisher")


def _without(chunk: _Chunk, first_bytes: int) -> _Chunk:
    """What is left of a chunk behind its first bytes, which end with a line."""
    if not first_bytes:
        return chunk
    left_out = _count_line_ends(chunk.data[:first_bytes])
    left = chunk.line_ends - left_out
    return _Chunk(chunk.first_line + left_out, chunk.data[first_bytes:], left)


def _first_record(chunk: _Chunk) -> bytes:
    record = _RECORD.match(chunk.data)
    return record[0] if record else b""


def _names_and_rows(first: _Chunk, table: Table, file: str) -> tuple[list[str], _Chunk]:
    """The columns' names in the file's order, and the first chunk without its header line."""
    record = _first_record(first)
    header = _fields(record)
    declared = [column.name for column in table.columns]
    if header_fits(table, header):
        return header, _without(first, len(record))
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


def _read_chunk(
    chunk: _Chunk, names: list[str], table: Table, file: str, all_rejects: list[Reject], rows_before: int
) -> Batch:
    """The rows of a chunk. Its rejects are added to `all_rejects`, those of the chunks before."""
    columns = {column.name: column for column in table.columns}
    in_file = [columns[name] for name in names]
    rejects_before = len(all_rejects)
    try:
        rows = _parse(chunk.data, in_file, table.null_texts)
    except pa.ArrowInvalid:
        records = list(_records(chunk))
        tables = [_parse(b"", in_file, ())]
        for sifted in _sift(records, in_file, table.null_texts):
            if isinstance(sifted, Reject):
                all_rejects.append(sifted)
                _condemn_if_hopeless(all_rejects, rows_before + len(records), file)
            else:
                tables.append(sifted)
        rows = pa.concat_tables(tables)
    rejects = all_rejects[rejects_before:]
    _check_row_account(chunk, rows.num_rows, len(rejects))
    arranged = [
        rows[column.name] if column.name in names else pa.nulls(rows.num_rows, ARROW_TYPES[column.type])
        for column in table.columns
    ]
    return Batch(pa.table(arranged, names=[column.name for column in table.columns]), tuple(rejects))


def _parse(data: bytes, columns: Sequence[Column], null_texts: Sequence[str]) -> pa.Table:
    """All of `data` as rows, or ArrowInvalid. Whole numbers may be written as floats: `1.0`, `1e+05`.

    `data` ends in a newline: without it, Arrow reads an empty last field after a quoted one as no NULL.
    """
    types = {column.name: ARROW_TYPES[column.type] for column in columns}
    if not data[:1].strip(b"\r\n") and not data.strip(b"\r\n"):
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    try:
        return _parse_as(data, types, null_texts)
    except pa.ArrowInvalid:
        whole = [name for name, kind in types.items() if kind == pa.int64()]
        if not whole:
            raise
        rows = _parse_as(data, types | dict.fromkeys(whole, pa.string()), null_texts)
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


def _parse_as(data: bytes, types: dict[str, pa.DataType], null_texts: Sequence[str]) -> pa.Table:
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        # One thread a table: several tables are read at once, and Arrow's threads double the cost.
        read_options=arrow_csv.ReadOptions(column_names=list(types), use_threads=False),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=b'"' in data),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            null_values=["", *null_texts],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _records(chunk: _Chunk) -> Iterator[tuple[int, bytes]]:
    """The records of a chunk that are not blank, each with the line that it starts on."""
    line = chunk.first_line
    for found in _RECORD.finditer(chunk.data):
        record = found[0].strip(b"\r\n")
        if record:
            yield line, record
        line += _count_line_ends(found[0])


def _sift(
    records: list[tuple[int, bytes]], columns: Sequence[Column], null_texts: Sequence[str]
) -> Iterator[pa.Table | Reject]:
    """Halve what does not parse until the rows at fault stand alone."""
    try:
        yield _parse(b"".join(record + b"\n" for _, record in records), columns, null_texts)
        return
    except pa.ArrowInvalid as invalid:
        if len(records) == 1:
            line, record = records[0]
            yield Reject(line, _reason(str(invalid), columns), _printable(record))
            return
    middle = len(records) // 2
    yield from _sift(records[:middle], columns, null_texts)
    yield from _sift(records[middle:], columns, null_texts)


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


def _printable(record: bytes) -> str:
    return record.decode("utf-8", errors="backslashreplace")


def _check_row_account(chunk: _Chunk, kept: int, rejected: int) -> None:
    """Records counted apart from the parser must be its rows: one that loses a row is found out here."""
    if _has_plain_lines(chunk.data) and chunk.line_ends == kept + rejected:
        return
    records = sum(1 for found in _RECORD.finditer(chunk.data) if found[0].strip(b"\r\n"))
    if records != kept + rejected:
        raise AssertionError(f"{records} records, but {kept} rows kept and {rejected} rejected")


def _condemn_if_hopeless(rejects: list[Reject], rows_read: int, file: str) -> None:
    if len(rejects) > max(_REJECTS_THAT_CONDEMN, _REJECTED_SHARE_THAT_CONDEMNS * rows_read):
        raise _condemned(rejects, f"over a tenth of the first {rows_read:,} rows do not parse", file)


def _condemned(rejects: list[Reject], what: str, file: str) -> RawFileError:
    return RawFileError(
        file,
        f"{what}; the first: {rejects[0].reason}",
        "This is another file than its name says, or a damaged one: fetch it again",
        line=rejects[0].line,
    )

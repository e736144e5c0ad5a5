"""Reads CSV bytes into Arrow tables of declared types, and accounts for every row.

Arrow's parser, not DuckDB's: asked for a BIGINT, DuckDB reads `1.5` as 2, and `1_000` as a number.
A row that does not fit its declaration becomes a `Reject` with its line, the reason and its text.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from tracehouse.ingest.declare import Column, Table
from tracehouse.ingest.errors import RawFileError

CHUNK_BYTES = 16 << 20
LONGEST_RECORD_BYTES = 4 * CHUNK_BYTES

ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}

# Beyond this, a float no longer holds every integer.
_LARGEST_EXACT_FLOAT = 2**53
_BOM = b"\xef\xbb\xbf"
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
    first_line: int
    data: bytes


def read_csv(stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Batch]:
    """Read a CSV of `table`: batches with the publisher's columns in the declared order.

    `file` names the CSV in errors. Raises RawFileError where the header, the number of columns, or more
    than a tenth of the rows are wrong: then it is another file than its name says.
    """
    chunks = _record_chunks(stream, file, chunk_bytes)
    first = next(chunks, None)
    if first is None:
        raise RawFileError(file, "the file is empty", "Fetch it again from its publisher")
    names, rest_of_first = _names_and_rows(first, table, file)
    rows_read = 0
    rejects: list[Reject] = []
    for chunk in _with_first(rest_of_first, chunks):
        batch = _read_chunk(chunk, names, table)
        rows_read += batch.rows.num_rows + len(batch.rejects)
        rejects += batch.rejects
        _condemn_if_hopeless(rejects, rows_read, file)
        yield batch


def read_header(stream: BinaryIO) -> list[str]:
    """The names in a CSV's first line."""
    return _fields(stream.readline().removeprefix(_BOM))


def header_fits(table: Table, header: Sequence[str]) -> bool:
    """Whether a header names this table's columns, in any order, at most the optional ones missing."""
    known = {column.name for column in table.columns}
    found = set(header)
    return len(found) == len(header) and known - table.optional <= found <= known


def _fields(line: bytes) -> list[str]:
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    return next(csv.reader([text]), [])


def _with_first(first: _Chunk, rest: Iterator[_Chunk]) -> Iterator[_Chunk]:
    yield first
    yield from rest


def _record_chunks(stream: BinaryIO, file: str, chunk_bytes: int) -> Iterator[_Chunk]:
    """Cut a stream at ends of records: at newlines that stand outside quotes."""
    line = 1
    rest = b""
    while block := stream.read(chunk_bytes):
        if line == 1 and not rest:
            block = block.removeprefix(_BOM)
        data = rest + block
        cut = _end_of_last_record(data)
        if cut:
            yield _Chunk(line, _plain_newlines(data[:cut]))
            line += data.count(b"\n", 0, cut)
        rest = data[cut:]
        if len(rest) > max(LONGEST_RECORD_BYTES, chunk_bytes):
            raise RawFileError(
                file,
                "a quote is opened here and never closed",
                "Repair the line, or fetch the file again",
                line=line,
            )
    if rest:
        yield _Chunk(line, _plain_newlines(rest))


def _plain_newlines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data else data


def _end_of_last_record(data: bytes) -> int:
    cut = data.rfind(b"\n") + 1
    while cut and data.count(b'"', 0, cut) % 2:
        cut = data.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _names_and_rows(first: _Chunk, table: Table, file: str) -> tuple[list[str], _Chunk]:
    """The columns' names in the file's order, and the first chunk without its header line."""
    line, _, rows = first.data.partition(b"\n")
    header = _fields(line)
    declared = [column.name for column in table.columns]
    if table.has_header or header == declared:
        if not header_fits(table, header):
            raise RawFileError(
                file,
                f"the header is {','.join(header)}; expected {','.join(declared)}",
                "Fetch the file again from its publisher, or move it out of the raw folder",
                line=1,
            )
        return header, _Chunk(first.first_line + 1, rows)
    if len(header) != len(declared):
        raise RawFileError(
            file,
            f"the line has {len(header)} columns; expected {len(declared)}: {','.join(declared)}",
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=1,
        )
    return declared, first


def _read_chunk(chunk: _Chunk, names: list[str], table: Table) -> Batch:
    columns = {column.name: column for column in table.columns}
    in_file = [columns[name] for name in names]
    data = chunk.data
    try:
        rows = _parse(data, in_file, table.null_texts)
        rejects: list[Reject] = []
    except pa.ArrowInvalid:
        tables, rejects = _sift(list(_records(chunk)), in_file, table.null_texts)
        rows = pa.concat_tables([_parse(b"", in_file, ()), *tables])
    if b'"' not in data:
        _check_row_account(data, rows.num_rows, len(rejects))
    arranged = [
        rows[column.name] if column.name in names else pa.nulls(rows.num_rows, ARROW_TYPES[column.type])
        for column in table.columns
    ]
    return Batch(pa.table(arranged, names=[column.name for column in table.columns]), tuple(rejects))


def _parse(data: bytes, columns: Sequence[Column], null_texts: Sequence[str]) -> pa.Table:
    """All of `data` as rows, or ArrowInvalid. Whole numbers may be written as pandas does: `1.0`."""
    types = {column.name: ARROW_TYPES[column.type] for column in columns}
    if not data.strip(b"\n"):
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    try:
        return _parse_as(data, types, null_texts)
    except pa.ArrowInvalid as strict:
        whole = [name for name, kind in types.items() if kind == pa.int64()]
        if not whole:
            raise
        rows = _parse_as(data, types | dict.fromkeys(whole, pa.float64()), null_texts)
        if not all(_is_whole(rows[name]) for name in whole):
            raise strict from None
        return rows.cast(pa.schema(list(types.items())))


def _is_whole(numbers: pa.ChunkedArray) -> bool:
    exact = pc.and_(
        pc.equal(numbers, pc.floor(numbers)),
        pc.less_equal(pc.abs(numbers), float(_LARGEST_EXACT_FLOAT)),
    )
    return pc.all(exact, min_count=0).as_py()


def _parse_as(data: bytes, types: dict[str, pa.DataType], null_texts: Sequence[str]) -> pa.Table:
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(column_names=list(types)),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=b'"' in data),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            null_values=["", *null_texts],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _records(chunk: _Chunk) -> Iterator[tuple[int, bytes]]:
    """The records of a chunk with their lines: several lines are one record where a quote spans them."""
    start, record = chunk.first_line, b""
    for offset, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        start, record = (start, record + b"\n" + line) if record else (offset, line)
        if record and record.count(b'"') % 2 == 0:
            yield start, record
            record = b""
    if record:
        yield start, record


def _sift(
    records: list[tuple[int, bytes]], columns: Sequence[Column], null_texts: Sequence[str]
) -> tuple[list[pa.Table], list[Reject]]:
    """Halve what does not parse until the rows at fault stand alone."""
    try:
        return [_parse(b"\n".join(record for _, record in records), columns, null_texts)], []
    except pa.ArrowInvalid as invalid:
        if len(records) == 1:
            line, record = records[0]
            return [], [Reject(line, _reason(str(invalid), columns), _printable(record))]
    middle = len(records) // 2
    good_left, bad_left = _sift(records[:middle], columns, null_texts)
    good_right, bad_right = _sift(records[middle:], columns, null_texts)
    return good_left + good_right, bad_left + bad_right


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


def _check_row_account(data: bytes, kept: int, rejected: int) -> None:
    """Lines counted apart from the parser must be its rows: a parser that loses one is found out here."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    if b"\n\n" in data or data.startswith(b"\n"):
        lines -= len(re.findall(rb"^\n", data, re.M))
    if lines != kept + rejected:
        raise AssertionError(f"{lines} lines, but {kept} rows kept and {rejected} rejected")


def _condemn_if_hopeless(rejects: list[Reject], rows_read: int, file: str) -> None:
    too_many = len(rejects) > _REJECTED_SHARE_THAT_CONDEMNS * rows_read
    nothing_fits = rejects and len(rejects) == rows_read
    if (len(rejects) > _REJECTS_THAT_CONDEMN and too_many) or nothing_fits:
        raise RawFileError(
            file,
            f"{len(rejects):,} of the first {rows_read:,} rows do not parse; the first: {rejects[0].reason}",
            "This is another file than its name says, or a damaged one: fetch it again",
            line=rejects[0].line,
        )

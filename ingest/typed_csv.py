"""Reads CSV bytes into Arrow tables of declared types, and accounts for every row.

Arrow's parser, not DuckDB's: asked for a BIGINT, DuckDB reads `1.5` as 2, and `1_000` as a number.
A row that does not fit its declaration becomes a `Reject` with its line, the reason and its text.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tracehouse.ingest.declare import Column, Table
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.faults import (
    END_OF_TIMES,
    FIRST_TIME,
    SPACES,
    fault_finder,
    quotes_are_closed,
    surely_fit,
    whole_number,
)
from tracehouse.ingest.prefetch import prefetch_map, prefetched
from tracehouse.ingest.records import (
    BYTE_ORDER_MARK,
    Chunk,
    Records,
    count_records,
    fields,
    first_record,
    first_written,
    printable,
    record_chunks,
    records_of,
    shown,
    without,
    without_last_record,
)

# Small enough to stay in a core's cache while it is inflated, parsed and checked.
CHUNK_BYTES = 4 << 20

ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}

_BLOCK_BYTES = 1 << 30
_REJECTED_SHARE_THAT_CONDEMNS = 0.1
# How many rows a stream holds is not known before its end, and the bad ones may all come first: so many
# are borne until then, whatever their share.
_REJECTS_BORNE = 20_000
_REJECTED_BYTES_BORNE = 16 << 20
_LOOKED_AT_ONCE = 4096
# As Arrow says it.
_REFUSED_VALUE = re.compile(r"invalid value '(.*)'$", re.DOTALL)
# As many columns as stay in a core's cache while they are added up.
_SUMMED_AT_ONCE = 128


@dataclass(frozen=True)
class Reject:
    """A row that does not fit its table: the line it stands on, from 1, why, and its text."""

    line: int
    reason: str
    raw_text: str


@dataclass(frozen=True)
class _Parser:
    """What Arrow is told of the columns of a file, once for all of its chunks.

    `texts` are the places of columns that Arrow alone cannot give: an offset stands in their text, or a
    word for nothing. `whole` and `numbers` are those of integers and of floats.
    """

    columns: Sequence[Column]
    ends_in_newline: bool
    types: dict[str, pa.DataType]
    read_options: arrow_csv.ReadOptions
    convert_options: arrow_csv.ConvertOptions
    texts: tuple[int, ...]
    whole: tuple[int, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Some rows of a CSV, in order: those that fit, and those that do not."""

    rows: pa.Table
    rejects: tuple[Reject, ...] = field(default=())


@dataclass
class _Tally:
    """The rows of a file so far, and those of them that were rejected."""

    file: str
    rows: int = 0
    rejected: int = 0
    rejected_bytes: int = 0
    first: Reject | None = None

    def add(self, reject: Reject) -> None:
        self.first = self.first or reject
        self.rejected += 1
        self.rejected_bytes += len(reject.raw_text)

    def condemn_if_hopeless(self, rows: int) -> None:
        """Raise RawFileError where more was rejected than is borne, and over a tenth of so many rows."""
        if self.rejected > _REJECTS_BORNE or self.rejected_bytes > _REJECTED_BYTES_BORNE:
            self.condemn_if_bad(f"of at most {rows:,} rows so far", rows)

    def condemn_if_bad(self, what: str, rows: int) -> None:
        """Raise RawFileError where over a tenth of so many rows was rejected."""
        if self.first and self.rejected > _REJECTED_SHARE_THAT_CONDEMNS * rows:
            raise RawFileError(
                self.file,
                f"{self.rejected:,} {what} do not fit, more than a tenth; the first: {self.first.reason}",
                "This is another file than its name says, or a damaged one: fetch it again",
                line=self.first.line,
            )


def read_csv(stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Batch]:
    """Read a CSV of `table`: batches with its `read_columns`, in this order; at least one, if without rows.

    `file` names the CSV in errors. Raises RawFileError where the header, the number of columns, or more
    than a tenth of the rows are wrong: then it is another file than its name says.
    """
    chunks = record_chunks(stream, file, chunk_bytes)
    names, rest_of_first = _names_and_rows(first_written(chunks, file), table, file)
    columns = {column.name: column for column in table.columns}
    in_file = [columns[name] for name in names]
    for _, batch in read_chunks(chain([rest_of_first], chunks), in_file, table.ends_in_newline, file):
        yield Batch(_arranged(batch.rows, table), batch.rejects)


def read_chunks(
    chunks: Iterable[Chunk], columns: Sequence[Column], ends_in_newline: bool, file: str, at_once: int = 1
) -> Iterator[tuple[Chunk, Batch]]:
    """The rows of chunks that hold `columns` in this order, each chunk with its own, parsed `at_once`.

    Raises RawFileError as `read_csv` does: at the end of the file, or as soon as more rows were rejected
    than are borne before it.
    """
    tally = _Tally(file)
    read = partial(_read_chunk, parser=_parser(columns, ends_in_newline), file=file)
    coming = prefetched(iter(chunks))
    for chunk, batch in prefetch_map(read, coming, at_once) if at_once > 1 else map(read, coming):
        tally.rows += batch.rows.num_rows + len(batch.rejects)
        for reject in batch.rejects:
            tally.add(reject)
        tally.condemn_if_hopeless(tally.rows)
        yield chunk, batch
    tally.condemn_if_bad(f"of its {tally.rows:,} rows", tally.rows)


def header_fits(table: Table, header: Sequence[str]) -> bool:
    """Whether a header names this table's columns, in any order, at most the optional ones missing.

    For a wide table: a column of times first, and then devices, none of them twice or without a name.
    """
    if table.wide:
        return header[0] == table.wide.time_name and len(set(header)) == len(header) > 1 and all(header)
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
    whole, rejects = _without_cut_record(chunk) if parser.ends_in_newline else (chunk, ())
    rows = None if _may_deceive(whole, parser) else _parse(whole.data, parser)
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


def _may_deceive(chunk: Chunk, parser: _Parser) -> bool:
    """Whether Arrow may take here what is none for a row, a text or a number."""
    if b"\0" in chunk.data:
        return True
    if parser.whole and (b"0x" in chunk.data or b"0X" in chunk.data):
        return True
    return b'"' in chunk.data and not quotes_are_closed(records_of(chunk).texts)


def _is_all_of(chunk: Chunk, rows: pa.Table) -> bool:
    """Whether there are as many rows as records, counted apart from the parser."""
    # There is no record without an end of a line: as many rows as those leave no blank line either.
    return rows.num_rows == chunk.line_ends or rows.num_rows == count_records(chunk.data)


def _sift(chunk: Chunk, parser: _Parser, file: str) -> Batch:
    """The rows of the records that fit, and what is wrong with each of the others."""
    records = records_of(chunk)
    fit = surely_fit(records.texts, parser.columns)
    tally, rejects = _Tally(file), []
    fault = fault_finder(parser.columns)
    for index, line, record in _doubtful(records, fit):
        if reason := fault(record):
            rejects.append(Reject(line, reason, printable(record)))
            tally.add(rejects[-1])
            # Not only when all have been looked at: a chunk may hold millions.
            if len(rejects) % _LOOKED_AT_ONCE == 0:
                tally.condemn_if_hopeless(chunk.last_line)
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
    """The records that may not fit: their place among the others, their line and their text."""
    places = np.flatnonzero(~fit)
    for at in range(0, len(places), _LOOKED_AT_ONCE):
        some = places[at : at + _LOOKED_AT_ONCE]
        texts = records.texts.take(pa.array(some)).to_pylist()
        for place, line, text in zip(some.tolist(), records.lines[some].tolist(), texts, strict=True):
            yield place, line, text.rstrip(b"\r\n")


def _bytes_of(texts: pa.BinaryArray) -> bytes:
    """The texts, one behind the other, of an array that begins at the beginning of its bytes."""
    data = texts.buffers()[2]
    return data.to_pybytes() if data else b""


def _arranged(rows: pa.Table, table: Table) -> pa.Table:
    """The columns in the declared order, NULL where the file has none."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, ARROW_TYPES[column.type])
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])


def _parser(columns: Sequence[Column], ends_in_newline: bool) -> _Parser:
    texts = tuple(place for place, c in enumerate(columns) if c.offset_name or c.null_texts)
    types = {
        c.name: pa.string() if place in texts else ARROW_TYPES[c.type] for place, c in enumerate(columns)
    }
    whole = tuple(place for place, kind in enumerate(types.values()) if kind == pa.int64())
    numbers = tuple(place for place, c in enumerate(columns) if c.type == "DOUBLE")
    return _Parser(columns, ends_in_newline, types, *_options(types), texts, whole, numbers)


def _options(types: dict[str, pa.DataType]) -> tuple[arrow_csv.ReadOptions, arrow_csv.ConvertOptions]:
    return (
        # One thread a chunk: several are parsed at once, and Arrow's threads double the cost. One block a
        # chunk: thousands of columns in small pieces cost more than their numbers.
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

    `data` ends in a newline: without it, Arrow reads an empty last field after a quoted one as no NULL.
    """
    try:
        rows, texts = _parse_strictly(data, parser)
        for place in texts:
            rows = _with_values(rows, place, parser.columns[place])
    except pa.ArrowInvalid:
        return None
    return rows if _are_possible(rows, parser) else None


def _parse_strictly(data: bytes, parser: _Parser) -> tuple[pa.Table, tuple[int, ...]]:
    """All of `data` as Arrow reads it, or ArrowInvalid, and the places of the columns that hold texts."""
    if not data[:1].strip(b"\r\n") and not data.strip(b"\r\n"):
        return pa.table({name: pa.array([], kind) for name, kind in parser.types.items()}), parser.texts
    try:
        return _parse_as(data, parser.read_options, parser.convert_options), parser.texts
    except pa.ArrowInvalid as error:
        refused = _REFUSED_VALUE.search(str(error))
        # Where that is no number however it is read, a second look at all rows would only cost time.
        if not parser.whole or (refused and whole_number(refused[1].strip().encode()) is None):
            raise
    names = list(parser.types)
    as_text = parser.types | {names[place]: pa.string() for place in parser.whole}
    return _parse_as(data, *_options(as_text)), parser.texts + parser.whole


def _parse_as(
    data: bytes, read_options: arrow_csv.ReadOptions, convert_options: arrow_csv.ConvertOptions
) -> pa.Table:
    # Arrow would take one away, at the beginning of whatever chunk.
    if data.startswith(BYTE_ORDER_MARK):
        data = BYTE_ORDER_MARK + data
    return arrow_csv.read_csv(pa.BufferReader(data), read_options, convert_options=convert_options)


def _with_values(rows: pa.Table, index: int, column: Column) -> pa.Table:
    """The values that stand as texts in a column, and their offsets as a last one; or ArrowInvalid."""
    texts = rows.column(index)
    if column.null_texts:
        is_null = pc.is_in(texts, value_set=pa.array(column.null_texts))
        texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
    if column.type == "BIGINT":
        values = _whole_numbers(texts)
    elif column.type == "DOUBLE":
        values = pc.ascii_trim(texts, SPACES).cast(pa.float64())
    else:
        values = texts.cast(ARROW_TYPES[column.type])
    rows = rows.set_column(index, column.name, values)
    if column.offset_name:
        offsets = pc.extract_regex(texts, r"(?P<offset>Z|[+-]\d\d(?::?\d\d)?)$")
        rows = rows.append_column(column.offset_name, pc.struct_field(offsets, "offset"))
    return rows


def _whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The integers that stand in a column, never rounded, or ArrowInvalid."""
    digits = pc.replace_substring_regex(pc.ascii_trim(texts, SPACES), r"^\+?(-?\d+)(?:\.0*)?$", r"\1")
    is_written_out = pc.match_substring_regex(digits, r"^-?\d+$")
    nothing = pa.scalar(None, pa.string())
    numbers = pc.if_else(is_written_out, digits, nothing).cast(pa.int64())
    others = pc.if_else(is_written_out, nothing, digits)
    written = pc.unique(others).drop_null()
    if not len(written):
        return numbers
    values = pa.array(map(_whole_number, written.to_pylist()), pa.int64())
    return pc.coalesce(numbers, values.take(pc.index_in(others, value_set=written)))


def _whole_number(text: str) -> int:
    number = whole_number(text.encode())
    if number is None:
        raise pa.ArrowInvalid(f"no whole number: {text}")
    return number


def _are_possible(rows: pa.Table, parser: _Parser) -> bool:
    """Whether each number is finite, each time one of a trace, and each required value there."""
    for place, column in enumerate(parser.columns):
        if column.required and rows.column(place).null_count:
            return False
        if column.type == "TIMESTAMPTZ" and not _are_times(rows.column(place)):
            return False
    return all(_are_finite(batch.columns, parser.numbers) for batch in rows.to_batches())


def _are_times(times: pa.ChunkedArray) -> bool:
    outside = pc.or_(pc.less(times, FIRST_TIME), pc.greater_equal(times, END_OF_TIMES))
    return not pc.any(outside, min_count=0).as_py()


def _are_finite(columns: Sequence[pa.Array], places: Sequence[int]) -> bool:
    """Whether the columns at some places hold no infinity and no NaN."""
    for at in range(0, len(places), _SUMMED_AT_ONCE):
        summed = [columns[place] for place in places[at : at + _SUMMED_AT_ONCE]]
        # A sum costs a third of looking at each number, and shows either of them.
        total = pc.sum(pa.chunked_array(summed)).as_py() or 0
        if not math.isfinite(total) and not all(_is_finite(column) for column in summed):
            return False
    return True


def _is_finite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column), min_count=0).as_py()

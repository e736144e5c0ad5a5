"""Read CSV with one line per row.

A chunk of lines is parsed twice at most. Arrow parses it with the declared types; DuckDB would round `1.5`
to a BIGINT and accept `1_000`. If a line does not fit, or Arrow might misread it, the lines are split into
texts, and `values` converts them and gives the reason for each rejected row.
"""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat, takewhile
from typing import BinaryIO, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import MOST_REJECTS, Batch, Reader, ReaderInput, limit_rejects
from tracehouse.ingest.dump.readers.lines import (
    BYTE_ORDER_MARK,
    HEADER_CHUNK_BYTES,
    WITHOUT_INDEX,
    Chunk,
    Lines,
    count_bytes,
    explain_delimiter,
    explain_header,
    open_lines,
    records_of,
    split_chunk,
)
from tracehouse.ingest.dump.readers.values import Faults, are_possible, arrow_type, convert_rows

Item = TypeVar("Item")
Made = TypeVar("Made")

# Small enough that a chunk stays in a core's cache while it is decompressed, parsed and checked.
CHUNK_BYTES = 4 << 20
# Limits the memory for a line. Published files have far fewer columns.
MOST_COLUMNS = 20_000

_BLOCK_BYTES = 1 << 30
# The types that Arrow's CSV parser converts itself.
_ARROW_TYPES = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ", "TIMESTAMP")
_BLANK = re.compile(rb"[\r\n]*")
_QUOTED = r'"(?:[^"\r\n]|"")*"'
_FIELD = rf'(?:{_QUOTED}|[^",\r\n]*)'
_RECORD = rf"^{_FIELD}(?:,{_FIELD})*[\r\n]*$"
_MISPLACED_QUOTE = "a quote that is not closed on its line, or that is inside a field"
_CUT = "the file ends here without a newline: it may be truncated"


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """Return the names in the first line."""
    lines = open_lines(stream, file, HEADER_CHUNK_BYTES)
    return split_header(lines, file)


def names_fit(table: Table, header: Sequence[str]) -> bool:
    """Return whether a header has the columns of a table, in any order. Only optional ones may be missing."""
    known, optional = table.names_in_file
    names = _without_last_name(table, [*header])
    found = set(names)
    return len(found) == len(names) and set(known) - optional <= found <= set(known)


def _without_last_name(table: Table, header: list[str]) -> list[str]:
    """Return a header without the empty name behind its last comma, if the lines of the table end in one."""
    return header[:-1] if table.ends_in_comma and not header[-1] else header


def read(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of a file in batches; at least one batch, which may be empty.

    Raises RawFileError if the header or the number of columns in the first line is wrong, or if more than a
    tenth of the rows is rejected.
    """
    table = source.table
    lines = open_lines(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES)
    header = split_header(lines, source.name)
    has_header = names_fit(table, header)
    if has_header or len(header) > len(table.columns):
        header = _without_last_name(table, header)
    if not has_header and (table.has_header or len(header) != len(table.columns)):
        raise RawFileError(source.name, *_explain_misfit(table, header), line=lines.first.first_line)
    columns = {column.name_in_file: column for column in table.columns}
    in_order = [columns[name] for name in header] if has_header else table.columns
    chunks: Iterator[Chunk] = chain([lines.after if has_header else lines.first], lines.others)
    if table.ends_in_comma:
        chunks = (_without_last_commas(chunk, len(in_order)) for chunk in chunks)
    parsed = ChunkParser(tuple(in_order), source.name).parse_all(chunks)
    batches = (replace(batch, rows=_arrange(batch.rows, table)) for _, batch in parsed)
    yield from limit_rejects(batches, source.name)


def _explain_misfit(table: Table, header: Sequence[str]) -> tuple[str, str]:
    """Return for an error message why the first line is not of a table, and what to do."""
    names, optional = table.names_in_file
    if table.has_header or set(header) & set(names):
        return explain_header(header, names, optional, "the header")
    if other := explain_delimiter(header, lambda fields: len(fields) == len(names)):
        return other
    what = f"the line has {len(header)} columns; expected {len(names)}: {','.join(names)}"
    if len(header) == len(names) + 1 and header[0] == "0":
        return f"{what}. The first column looks like the index that pandas writes", WITHOUT_INDEX
    return what, FETCH_OR_MOVE


def _arrange(rows: pa.Table, table: Table) -> pa.Table:
    """Return the columns in the declared order. Columns that the file lacks are NULL."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, arrow_type(column))
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])


def split_header(lines: Lines, file: str) -> list[str]:
    """Return the fields of the first line. Raises RawFileError if there are more than `MOST_COLUMNS`."""
    columns = lines.record.count(b",") + 1
    if columns > MOST_COLUMNS:
        what = f"the line has {columns:,} columns; at most {MOST_COLUMNS:,} are allowed"
        raise RawFileError(file, what, FETCH_OR_MOVE, line=lines.first.first_line)
    text = lines.record.decode(errors="replace").strip("\r\n")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        # The field exceeds the csv module's limit, so this is not a header. An error message shows the text.
        return [text]


def _without_last_commas(chunk: Chunk, columns: int) -> Chunk:
    """Remove the last comma of each line that has exactly `columns` commas and ends in one."""
    data = chunk.data
    ends = data.count(b",\n")
    # The fast path checks only that lines have `columns` commas on average. It excludes lines of a single
    # comma: they would become blank, and a longer line could make up for their missing commas.
    has_lone_comma = data.startswith(b",\n") or b"\n,\n" in data
    if ends == chunk.line_ends and count_bytes(data, ord(",")) == columns * ends and not has_lone_comma:
        return replace(chunk, data=data.replace(b",\n", b"\n"))
    # A line without the additional comma also ends in a comma if its last field is empty.
    line = rb"(?<![^\r\n])((?:[^,\r\n]*,){%d}[^,\r\n]*),(?=[\r\n])" % (columns - 1)
    return replace(chunk, data=re.sub(line, rb"\1", data))


@dataclass(frozen=True)
class ChunkParser:
    """Parses chunks of lines without a header into rows of `columns`, which are in the order of the file.

    `file` is the file's name in errors.
    """

    columns: tuple[Column, ...]
    file: str

    def parse_all(self, chunks: Iterable[Chunk], at_once: int = 1) -> Iterator[tuple[Chunk, Batch]]:
        """Parse `at_once` chunks at a time. Yields each chunk, or its parts, with the rows and rejects."""
        for parsed in _map_ahead(self._parse, _prefetch(iter(chunks)), at_once):
            yield from parsed

    def _parse(self, chunk: Chunk) -> Iterable[tuple[Chunk, Batch]]:
        rows = self._parse_typed(chunk)
        if rows is not None:
            return [(chunk, Batch(rows, is_unended=chunk.is_cut))]
        # A chunk may have millions of bad lines, whose rejects would take a hundred times its size. Parse its
        # parts only when the caller has accepted the rejects of the parts before.
        return ((part, self._parse_texts(part)) for part in split_chunk(chunk, MOST_REJECTS))

    def _parse_typed(self, chunk: Chunk) -> pa.Table | None:
        """Parse with Arrow's types. Returns None if a line does not fit or Arrow may misread the chunk."""
        data = chunk.data
        if _BLANK.fullmatch(data) or b"\0" in data:
            return None
        if pa.int64() in self._types and _may_be_hexadecimal(data):
            return None
        if b'"' in data and self._find_malformed(records_of(chunk).texts):
            return None
        try:
            rows = self._read_csv(data, self._types)
        except pa.ArrowInvalid:
            return None
        # Without blank lines, there are as many rows as line ends. This test is cheaper than counting
        # records.
        if rows.num_rows != chunk.line_ends and rows.num_rows != len(records_of(chunk).lines):
            return None
        rows = rows.rename_columns([column.name for column in self.columns])
        if texts := [at for at, kind in enumerate(self._types) if kind == pa.binary()]:
            converted, faults = convert_rows(
                [_contiguous(rows.column(at)) for at in texts], [self.columns[at] for at in texts]
            )
            if faults:
                return None
            for name in converted.column_names:
                if name in rows.column_names:
                    rows = rows.set_column(rows.column_names.index(name), name, converted[name])
                else:
                    rows = rows.append_column(name, converted[name])
        return rows if are_possible(rows, self.columns) else None

    @cached_property
    def _types(self) -> list[pa.DataType]:
        """The types with which Arrow reads the columns: binary for those whose texts it would misread."""
        return [arrow_type(one) if _is_parsed_by_arrow(one) else pa.binary() for one in self.columns]

    def _parse_texts(self, chunk: Chunk) -> Batch:
        """Split lines into texts, convert those that fit, and reject the others."""
        records = records_of(chunk)
        faults = self._find_malformed(records.texts)
        is_sound = np.ones(len(records.lines), bool)
        is_sound[list(faults)] = False
        rows, unfit = convert_rows(
            self._split_fields(records.texts.filter(pa.array(is_sound)), chunk), self.columns
        )
        positions = np.flatnonzero(is_sound)
        faults |= {int(positions[row]): reason for row, reason in unfit.items()}
        if chunk.is_cut:
            faults = {at: f"{reason}; {_CUT}" for at, reason in faults.items()}
        return Batch(rows, records.reject(faults), chunk.is_cut)

    def _find_malformed(self, texts: pa.BinaryArray) -> Faults:
        """Find the records with a misplaced quote or a wrong number of fields."""
        is_quoted_well, unquoted = pa.repeat(True, len(texts)), texts
        if pc.any(pc.match_substring(texts, '"'), min_count=0).as_py():
            is_quoted_well = pc.match_substring_regex(texts, _RECORD)
            unquoted = pc.replace_substring_regex(texts, _QUOTED, "")
        counts = pc.add(pc.count_substring(unquoted, ","), 1)
        is_complete = pc.and_(is_quoted_well, pc.equal(counts, len(self.columns)))
        rows = np.flatnonzero(~is_complete.to_numpy(zero_copy_only=False))
        return {
            int(row): f"{counts[row]} columns; expected {len(self.columns)}"
            if is_quoted_well[row].as_py()
            else _MISPLACED_QUOTE
            for row in rows
        }

    def _split_fields(self, texts: pa.BinaryArray, chunk: Chunk) -> list[pa.BinaryArray]:
        """Return the fields of well-formed records as one array of texts per column."""
        if not len(texts):
            return [pa.array([], pa.binary()) for _ in self.columns]
        rows = self._read_csv(b"".join(texts.to_pylist()), [pa.binary()] * len(self.columns))
        if rows.num_rows != len(texts):
            raise RawFileError(
                self.file,
                f"the CSV parser returns {rows.num_rows:,} rows for {len(texts):,} lines up to"
                f" line {chunk.last_line:,}",
                "This is a defect of Tracehouse: please report it with these lines",
                line=chunk.first_line,
            )
        return [_contiguous(column) for column in rows.columns]

    def _read_csv(self, data: bytes | bytearray, types: Sequence[pa.DataType]) -> pa.Table:
        """Parse `data` with Arrow. The columns are named by position: names in a wide CSV may repeat.

        `data` must end in a newline. Otherwise Arrow reads an empty last field as text.
        """
        # Arrow strips a byte order mark from the start of each chunk. Here it is data, because the mark of
        # the file is already removed. Arrow strips the additional mark instead.
        if data.startswith(BYTE_ORDER_MARK):
            data = BYTE_ORDER_MARK + data
        names = [str(at) for at in range(len(types))]
        # Each chunk uses one thread, because several chunks are parsed at once and Arrow's threads double the
        # cost. Each chunk is one block: with thousands of columns, the overhead of small arrays costs more
        # than their values.
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK_BYTES),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=True)),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _is_parsed_by_arrow(column: Column) -> bool:
    """Return whether Arrow's parser converts the texts of a column to the values that `values` returns."""
    has_other_texts = column.offset_name or column.null_texts or column.zones or column.may_be_utc
    return column.type in _ARROW_TYPES and not has_other_texts


def _may_be_hexadecimal(data: bytes | bytearray) -> bool:
    """Return whether the bytes contain `0x`, with which Arrow reads a hexadecimal number."""
    # A search for two bytes takes three times as long. A chunk ends in a newline: it precedes place 0.
    values = np.frombuffer(data, np.uint8)
    places = np.flatnonzero((values == ord("x")) | (values == ord("X")))
    return bool((values[places - 1] == ord("0")).any())


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items. Another thread produces the next item while the caller uses the current one."""
    end = object()
    made = _map_ahead(lambda _: next(items, end), repeat(None), 1)
    return cast(Iterator[Item], takewhile(lambda item: item is not end, made))


def _map_ahead(make: Callable[[Item], Made], items: Iterable[Item], at_once: int) -> Iterator[Made]:
    """Apply `make` to each item in `at_once` threads, and yield the results in the order of the items.

    An exception of `make` is raised here when the item is due. At most `at_once` results are kept in memory.
    """
    with ThreadPoolExecutor(at_once) as makers:
        pending: deque[Future[Made]] = deque()
        for item in items:
            pending.append(makers.submit(make, item))
            if len(pending) > at_once:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


READER = Reader(read, read_names, names_fit)

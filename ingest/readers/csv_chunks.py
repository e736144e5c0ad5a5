"""Parse chunks of CSV lines into Arrow tables of declared types, and account for every row.

There are three parsers, from fast to slow. They return the same rows. Polars parses chunks without quotes and
white space. Arrow parses typed columns; DuckDB would round `1.5` to a BIGINT and accept `1_000`. If a row
does not fit, Arrow splits the fields as texts, and `values` converts them and gives the reasons for rejects.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.declarations import Column
from tracehouse.ingest.readers import Batch, Reject
from tracehouse.ingest.readers.lines import (
    BYTE_ORDER_MARK,
    Chunk,
    Records,
    count_bytes,
    count_bytes_up_to,
    count_records,
    records_of,
    without_last_record,
)
from tracehouse.ingest.readers.rejects import check_early, limit_rejects
from tracehouse.ingest.readers.values import Faults, are_possible, arrow_type, convert_rows

Item = TypeVar("Item")
Made = TypeVar("Made")

_BLOCK_BYTES = 1 << 30
_QUOTE, _COMMA = ord('"'), ord(",")
_POLARS_TYPES = {"VARCHAR": pl.String(), "BIGINT": pl.Int64(), "DOUBLE": pl.Float64()}
# Polars decompresses gzip, zlib and zstd if it finds their first bytes.
_MISTAKEN_STARTS = (BYTE_ORDER_MARK, b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd")
# The types that Arrow's CSV parser converts itself.
_ARROW_TYPES = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ", "TIMESTAMP")

_QUOTED = r'"(?:[^"\r\n]|"")*"'
_FIELD = rf'(?:{_QUOTED}|[^",\r\n]*)'
_RECORD = rf"^{_FIELD}(?:,{_FIELD})*[\r\n]*$"
_MISPLACED_QUOTE = "a quote that is not closed on its line, or that is inside a field"


@dataclass(frozen=True)
class ChunkParser:
    """Parses chunks of CSV lines without a header. `file` is the CSV's name in errors.

    `columns` are in the order of the file. If `ends_in_newline`, a last line without a newline is rejected.
    """

    columns: tuple[Column, ...]
    ends_in_newline: bool
    file: str

    def parse(self, chunk: Chunk) -> Batch:
        """Return the rows and rejects of a chunk."""
        complete, cut = split_cut_record(chunk) if self.ends_in_newline else (chunk, ())
        rows = self.parse_plain(complete)
        if rows is None:
            rows = self.parse_typed(complete)
        if rows is not None:
            return Batch(rows, cut)
        batch = self.parse_texts(complete)
        return Batch(batch.rows, batch.rejects + cut)

    # The parsers name columns by position, because a wide CSV may use the name of another column of the
    # table.
    @cached_property
    def _positions(self) -> list[str]:
        return [str(position) for position in range(len(self.columns))]

    @cached_property
    def _texts(self) -> list[int]:
        """The positions of the columns that Arrow's parser does not convert."""
        return [
            position
            for position, column in enumerate(self.columns)
            if column.offset_name or column.null_texts or column.zones or column.type not in _ARROW_TYPES
        ]

    @cached_property
    def _polars_schema(self) -> dict[str, pl.DataType] | None:
        # Lines of a single column have no commas, so `_has_full_lines` could not check them.
        if len(self.columns) < 2 or any(c.type not in _POLARS_TYPES or c.null_texts for c in self.columns):
            return None
        types = (_POLARS_TYPES[column.type] for column in self.columns)
        return dict(zip(self._positions, types, strict=True))

    @cached_property
    def _typed_options(self) -> arrow_csv.ConvertOptions:
        return self._options(
            pa.binary() if position in self._texts else arrow_type(column)
            for position, column in enumerate(self.columns)
        )

    def _options(self, types: Iterable[pa.DataType]) -> arrow_csv.ConvertOptions:
        return arrow_csv.ConvertOptions(
            column_types=dict(zip(self._positions, types, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )

    def _named(self, rows: pa.Table) -> pa.Table:
        return rows.rename_columns([column.name for column in self.columns])

    def parse_plain(self, chunk: Chunk) -> pa.Table | None:
        """Parse with Polars. Returns None if a line may not fit, or if Polars may misread the chunk.

        Polars fills short lines with NULL, reads white space as NULL, drops carriage returns, and
        decompresses data that begins like compressed data.
        """
        data = chunk.data
        # Newlines must be the only bytes up to the code of the quote. These codes include zero bytes and
        # white space.
        if (
            self._polars_schema is None
            or data.startswith(_MISTAKEN_STARTS)
            or count_bytes_up_to(data, _QUOTE) != chunk.line_ends
        ):
            return None
        try:
            rows = pl.read_csv(data, has_header=False, schema=self._polars_schema, quote_char=None)
        except pl.exceptions.PolarsError:
            return None
        if not _has_full_lines(chunk, rows):
            return None
        # With `newest`, texts are views that are not copied before the sort.
        table = rows.to_arrow(compat_level=pl.CompatLevel.newest())
        return self._named(table) if are_possible(table, self.columns) else None

    def parse_typed(self, chunk: Chunk) -> pa.Table | None:
        """Parse with Arrow's types. Returns None if a line does not fit or Arrow may misread the chunk."""
        if not chunk.data.strip(b"\r\n") or self._may_be_misread(chunk):
            return None
        try:
            rows = self._read_csv(chunk.data, self._typed_options)
        except pa.ArrowInvalid:
            return None
        # Without blank lines, there are as many rows as line ends. This test is cheaper than counting
        # records.
        if rows.num_rows != chunk.line_ends and rows.num_rows != count_records(chunk.data):
            return None
        rows = self._named(rows)
        if self._texts:
            converted, faults = convert_rows(
                [_contiguous(rows.column(position)) for position in self._texts],
                [self.columns[position] for position in self._texts],
            )
            if faults:
                return None
            for name in converted.column_names:
                if name in rows.column_names:
                    rows = rows.set_column(rows.column_names.index(name), name, converted[name])
                else:
                    rows = rows.append_column(name, converted[name])
        return rows if are_possible(rows, self.columns) else None

    def _may_be_misread(self, chunk: Chunk) -> bool:
        """Return whether a chunk has zero bytes, hexadecimal numbers or misplaced quotes."""
        if b"\0" in chunk.data:
            return True
        has_integers = any(column.type == "BIGINT" for column in self.columns)
        if has_integers and (b"0x" in chunk.data or b"0X" in chunk.data):
            return True
        return b'"' in chunk.data and bool(self._find_malformed(records_of(chunk), chunk))

    def _find_malformed(self, records: Records, chunk: Chunk) -> Faults:
        """Find the records with a misplaced quote or a wrong number of fields.

        Raises RawFileError if there are too many.
        """
        texts = records.texts
        is_quoted_well, unquoted = pa.repeat(True, len(texts)), texts
        if pc.any(pc.match_substring(texts, '"'), min_count=0).as_py():
            is_quoted_well = pc.match_substring_regex(texts, _RECORD)
            unquoted = pc.replace_substring_regex(texts, _QUOTED, "")
        counts = pc.add(pc.count_substring(unquoted, ","), 1)
        is_complete = pc.and_(is_quoted_well, pc.equal(counts, len(self.columns)))
        rows = np.flatnonzero(~is_complete.to_numpy(zero_copy_only=False))

        def describe(rows: np.ndarray) -> Faults:
            taken = pa.array(rows)
            return {
                row: f"{count} columns; expected {len(self.columns)}" if is_well else _MISPLACED_QUOTE
                for row, count, is_well in zip(
                    rows.tolist(),
                    counts.take(taken).to_pylist(),
                    is_quoted_well.take(taken).to_pylist(),
                    strict=True,
                )
            }

        # A chunk may have millions of bad records. Describe only one before the check, because all reasons
        # together would take a hundred times the chunk's size.
        self._check_early(len(rows), describe(rows[:1]), records, chunk)
        return describe(rows)

    def parse_texts(self, chunk: Chunk) -> Batch:
        """Parse the fields as texts, convert those that fit, and reject the other records."""
        records = records_of(chunk)
        faults = self._find_malformed(records, chunk)
        is_sound = np.ones(len(records.lines), bool)
        is_sound[list(faults)] = False
        data = _bytes_of(records.texts.filter(pa.array(is_sound))) if faults else chunk.data
        texts = self._split_fields(data, int(is_sound.sum()), chunk)
        rows, unfit = convert_rows(texts, self.columns)
        places = np.flatnonzero(is_sound)
        faults |= {int(places[row]): reason for row, reason in unfit.items()}
        self._check_early(len(faults), faults, records, chunk)
        return Batch(rows, _rejects(faults, records))

    def _check_early(self, count: int, faults: Faults, records: Records, chunk: Chunk) -> None:
        """Raise RawFileError if `count` rejects up to a chunk are too many. `faults` holds the first."""
        if faults:
            first = _rejects({min(faults): faults[min(faults)]}, records)[0]
            check_early(count, 0, chunk.last_line, first, self.file)

    def _split_fields(self, data: bytes, count: int, chunk: Chunk) -> list[pa.BinaryArray]:
        """Return the fields of `count` records as one array of texts per column."""
        if not count:
            return [pa.array([], pa.binary()) for _ in self.columns]
        rows = self._read_csv(data, self._options([pa.binary()] * len(self.columns)))
        if rows.num_rows != count:
            raise RawFileError(
                self.file,
                f"the CSV parser returns {rows.num_rows:,} rows for {count:,} lines up to"
                f" line {chunk.last_line:,}",
                "This is a defect of Tracehouse: please report it with these lines",
                line=chunk.first_line,
            )
        return [_contiguous(column) for column in rows.columns]

    def _read_csv(self, data: bytes, options: arrow_csv.ConvertOptions) -> pa.Table:
        """Parse `data` with Arrow.

        `data` must end in a newline. Otherwise Arrow reads an empty last field as text.
        """
        # Arrow strips a byte order mark from the start of each chunk. Here it is data, because the mark of
        # the file is already removed. Arrow strips the additional mark instead.
        if data.startswith(BYTE_ORDER_MARK):
            data = BYTE_ORDER_MARK + data
        # Each chunk uses one thread, because several chunks are parsed at once and Arrow's threads double the
        # cost. Each chunk is one block: with thousands of columns, the overhead of small arrays costs more
        # than their values.
        read_options = arrow_csv.ReadOptions(
            column_names=self._positions, use_threads=False, block_size=_BLOCK_BYTES
        )
        return arrow_csv.read_csv(pa.BufferReader(data), read_options, convert_options=options)


def parse_chunks(
    chunks: Iterable[Chunk], columns: Sequence[Column], ends_in_newline: bool, file: str, at_once: int = 1
) -> Iterator[tuple[Chunk, Batch]]:
    """Parse `at_once` chunks at a time. Yields each chunk with its batch, in order.

    Raises RawFileError if too many rows are rejected (see `rejects`).
    """
    parser = ChunkParser(tuple(columns), ends_in_newline, file)

    def parse(chunk: Chunk) -> tuple[Chunk, Batch]:
        return chunk, parser.parse(chunk)

    prefetched = prefetch(iter(chunks))
    parsed = map(parse, prefetched) if at_once == 1 else prefetch_map(parse, prefetched, at_once)
    return limit_rejects(parsed, file)


def _has_full_lines(chunk: Chunk, rows: pl.DataFrame) -> bool:
    """Return whether each line became a row and no line is too short, without relying on the parser."""
    if rows.height != chunk.line_ends:
        return False
    # A blank or short line has no last field, which is then NULL.
    if not rows[:, -1].null_count():
        return True
    return count_bytes(chunk.data, _COMMA) == rows.height * (rows.width - 1)


def split_cut_record(chunk: Chunk) -> tuple[Chunk, tuple[Reject, ...]]:
    """Split off the last record if the file ends without a newline. Returns the rest and its reject."""
    if not chunk.is_cut or not chunk.data.strip(b"\r\n"):
        return chunk, ()
    complete, cut = without_last_record(chunk)
    reason = "the file ends here without a newline: it may be truncated"
    return complete, (Reject(chunk.last_line, reason, decode_text(cut.rstrip(b"\r\n"))),)


def _rejects(faults: Faults, records: Records) -> tuple[Reject, ...]:
    places = sorted(faults)
    texts = records.texts.take(pa.array(places, pa.int64())).to_pylist()
    return tuple(
        Reject(line, faults[place], decode_text(text.rstrip(b"\r\n")))
        for place, line, text in zip(places, records.lines[places].tolist(), texts, strict=True)
    )


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _bytes_of(texts: pa.BinaryArray) -> bytes:
    """Return the concatenated texts of an array. Its data buffer must begin with the first text."""
    data = texts.buffers()[2]
    return data.to_pybytes() if data else b""


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items. Another thread produces the next item while the caller uses the current one.

    If producing an item raises an exception, it is raised here when the item is due.
    """
    end = object()
    with ThreadPoolExecutor(1) as maker:
        pending = maker.submit(next, items, end)
        while (item := pending.result()) is not end:
            pending = maker.submit(next, items, end)
            yield item  # type: ignore[misc]


def prefetch_map(make: Callable[[Item], Made], items: Iterable[Item], at_once: int) -> Iterator[Made]:
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

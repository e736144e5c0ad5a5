"""Limit the memory that Arrow needs to read a row group of Parquet, before Arrow reads any page.

Arrow decompresses whole pages and decodes whole batches of rows. Neither the footer nor the file size limits
their size in memory: only the header of a page states the page's size, and a few bytes may decode to many
long texts.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.core.errors import RawFileError

# To parse a footer, Arrow needs about 20 times its bytes. The footer of a file with 844 row groups takes 4
# MB.
MOST_FOOTER_BYTES = 16 << 20
# The limit for one page of each column together, which Arrow keeps in memory. Most writers aim at 1 MiB a
# page.
MOST_PAGE_BYTES = 256 << 20
MOST_ROW_BYTES = 16 << 20
_BATCH_BYTES = 128 << 20
_DAMAGED = "a page header is damaged"
_DO = "Write it again with smaller pages, or move it out of the raw folder"

_FOOTER_END = struct.Struct("<I4s")
_TEXT_LENGTH = struct.Struct("<I")
# The bytes of a decoded number with its levels, or of the offsets of a text.
_VALUE_BYTES = 16
_HEADER_BYTES = 256
_LONGEST_HEADER_BYTES = 1 << 20
_DEEPEST_STRUCT = 10
_LARGEST_FILE = 1 << 62

# Type codes of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _INT, _LONG, _DOUBLE, _TEXT, _LIST, _STRUCT = 1, 2, 3, 5, 6, 7, 8, 9, 12
# Codes of the Parquet format: kinds of pages, encodings, and the fields to read by number with their types.
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 0, 2, 3
_DETAILS = {_DATA_PAGE: 5, _DICTIONARY_PAGE: 7, _DATA_PAGE_2: 8}
_HEADER_FIELDS = {
    1: _INT,
    2: _INT,
    3: _INT,
    5: {1: _INT, 2: _INT},
    7: {1: _INT, 2: _INT},
    8: {1: _INT, 4: _INT, 5: _INT, 6: _INT, 7: _FALSE},
}
_CODEC, _VALUES, _CHUNK_BYTES, _DATA_AT, _DICTIONARY_AT = 4, 5, 7, 9, 11
_CHUNK_FIELDS = {_CODEC: _INT, _VALUES: _LONG, _CHUNK_BYTES: _LONG, _DATA_AT: _LONG, _DICTIONARY_AT: _LONG}
_FOOTER_FIELDS = {4: [{1: [{3: _CHUNK_FIELDS}]}]}
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_DELTA_LENGTH_BYTE_ARRAY, _DELTA_BYTE_ARRAY = 6, 7
_DICTIONARY_ENCODINGS = (2, 8)

_Fields = dict[int, Any]


class _Page(NamedTuple):
    """A page: the position of its content, and numbers from its header."""

    kind: int
    start: int
    bytes: int
    compressed_bytes: int
    values: int
    encoding: int
    level_bytes: int
    is_compressed: bool


def check_footer(stream: BinaryIO, file: str) -> None:
    """Raise RawFileError if parsing the footer takes too much memory."""
    end, length = _find_footer(stream)
    stream.seek(0)
    # If the length exceeds the file, Arrow reports the error.
    if MOST_FOOTER_BYTES < length < end:
        raise RawFileError(
            file, f"its footer takes {_mib(length)}; at most {_mib(MOST_FOOTER_BYTES)} are allowed", _DO
        )


def _find_footer(stream: BinaryIO) -> tuple[int, int]:
    """Return the position of the footer's end and the footer's length in bytes."""
    end = max(0, stream.seek(0, 2) - _FOOTER_END.size)
    stream.seek(end)
    last = stream.read(_FOOTER_END.size)
    return end, _FOOTER_END.unpack(last)[0] if len(last) == _FOOTER_END.size else 0


class Pages:
    """The pages of a file whose footer `check_footer` and Arrow accept.

    The footer is parsed here because pyarrow may crash the process when it returns a column of a damaged
    footer.
    """

    def __init__(self, stream: BinaryIO, schema: pq.ParquetSchema, file: str) -> None:
        self._stream, self._schema, self._file = stream, schema, file
        end, length = _find_footer(stream)
        stream.seek(max(0, end - length))
        try:
            footer, _ = _parse_struct(stream.read(length), 0, _FOOTER_FIELDS)
            self._groups = [[column[3] for column in group[1]] for group in footer[4]]
        except (IndexError, KeyError):
            raise pa.ArrowInvalid("its footer is damaged") from None

    def find_batch_rows(self, group: int, columns: Sequence[str], most: int) -> int:
        """Return the number of rows of a row group to decode at once: `most`, or fewer if rows may be long.

        Raises RawFileError if the pages of these columns, or one row, may take too much memory.
        """
        pages: dict[str, int] = {}
        row: dict[str, int] = {}
        for chunk, column in zip(self._groups[group], self._schema, strict=True):
            if column.path.partition(".")[0] in columns:
                pages[column.path], row[column.path] = _measure(self._stream, chunk, column)
        _check(pages, MOST_PAGE_BYTES, f"row group {group}: its pages", self._file)
        _check(row, MOST_ROW_BYTES, f"row group {group}: one row", self._file)
        return min(most, _BATCH_BYTES // max(1, sum(row.values())))


def _check(sizes: dict[str, int], limit: int, what: str, file: str) -> None:
    if (total := sum(sizes.values())) > limit:
        largest = max(sizes, key=lambda name: sizes[name])
        raise RawFileError(
            file,
            f"{what} may take {_mib(total)} in memory, of which column {largest} takes"
            f" {_mib(sizes[largest])}; at most {_mib(limit)} are allowed",
            _DO,
        )


def _mib(size: int) -> str:
    return f"{-(-size >> 20):,} MiB"


def _measure(stream: BinaryIO, chunk: _Fields, column: pq.ColumnSchema) -> tuple[int, int]:
    """Return the most memory that a column takes: for its largest pages, and for one decoded row."""
    pages = list(_read_pages(stream, chunk))
    dictionaries = [page for page in pages if page.kind == _DICTIONARY_PAGE]
    data = [page for page in pages if page.kind != _DICTIONARY_PAGE]
    page_bytes = sum(2 * _size(page) + _VALUE_BYTES * page.values for page in dictionaries)
    page_bytes += max(map(_size, data), default=0)
    longest = 0
    if column.physical_type == "BYTE_ARRAY" and page_bytes <= MOST_PAGE_BYTES:
        longest = max((_find_longest(stream, page, chunk[_CODEC]) for page in dictionaries), default=0)
        for page in data:
            _check_lengths(stream, page, chunk[_CODEC], column)
    value_bytes = [
        _VALUE_BYTES
        + (longest if page.encoding in _DICTIONARY_ENCODINGS else page.bytes // max(1, page.values))
        for page in data
    ]
    if not column.max_repetition_level:
        return page_bytes, max(value_bytes, default=0)
    # One row may be a list of all values.
    in_lists = sum(page.values * size for page, size in zip(data, value_bytes, strict=True))
    return page_bytes + in_lists, 0


def _size(page: _Page) -> int:
    return page.bytes + page.compressed_bytes


def _find_longest(stream: BinaryIO, page: _Page, codec: int) -> int:
    """Return the length of the longest text in a dictionary page, or the page's length on an error."""
    at = longest = 0
    try:
        data = _unpack(stream, page, codec)
        step, rest = divmod(len(data), max(1, page.values))
        if step > _TEXT_LENGTH.size and not rest:
            lengths = np.ndarray(page.values, "<u4", data, strides=(step,))
            # A fast path: all texts often have the same length, as identifiers do.
            if (lengths == step - _TEXT_LENGTH.size).all():
                return step - _TEXT_LENGTH.size
        for _ in range(page.values):
            (length,) = _TEXT_LENGTH.unpack_from(data, at)
            at += length + _TEXT_LENGTH.size
            longest = max(longest, length)
    except (pa.ArrowException, OSError, struct.error):
        return page.bytes
    return longest


def _check_lengths(stream: BinaryIO, page: _Page, codec: int, column: pq.ColumnSchema) -> None:
    """Raise ArrowInvalid if a page may state more text lengths than it has texts: Arrow would decode all."""
    if page.encoding == _DELTA_BYTE_ARRAY:
        raise pa.ArrowInvalid(f"column {column.path} has the encoding DELTA_BYTE_ARRAY")
    if page.encoding != _DELTA_LENGTH_BYTE_ARRAY:
        return
    data = _unpack(stream, page, codec)
    at = 0
    try:
        if page.kind == _DATA_PAGE:
            for _ in range((column.max_repetition_level > 0) + (column.max_definition_level > 0)):
                at += _TEXT_LENGTH.unpack_from(data, at)[0] + _TEXT_LENGTH.size
        for _ in range(3):
            lengths, at = _parse_number(data, at)
    except (struct.error, IndexError):
        raise pa.ArrowInvalid(_DAMAGED) from None
    if lengths > page.values:
        raise pa.ArrowInvalid(f"a page of {page.values:,} texts has {lengths:,} lengths")


def _unpack(stream: BinaryIO, page: _Page, codec: int) -> bytes:
    """Return the decompressed content of a page. For pages of version 2, it has no levels."""
    stream.seek(page.start)
    data = stream.read(page.compressed_bytes)[page.level_bytes :]
    if not codec or not page.is_compressed:
        return data
    if codec not in _CODECS:
        raise pa.ArrowInvalid("a column of texts has an outdated compression")
    return pa.decompress(data, page.bytes - page.level_bytes, _CODECS[codec], asbytes=True)


def _read_pages(stream: BinaryIO, chunk: _Fields) -> Iterator[_Page]:
    """Yield the pages of a column that Arrow reads. Raises ArrowInvalid at a damaged page header."""
    at = chunk[_DATA_AT]
    if 0 < chunk.get(_DICTIONARY_AT, 0) < at:
        at = chunk[_DICTIONARY_AT]
    # Some old files state too few bytes: Arrow reads up to 100 more.
    end, values = at + chunk[_CHUNK_BYTES] + 100, 0
    while 0 <= at < end and values < chunk[_VALUES]:
        page = _read_header(stream, at)
        at = page.start + page.compressed_bytes
        if page.kind in (_DATA_PAGE, _DATA_PAGE_2):
            values += page.values
        if page.kind in _DETAILS:
            yield page


def _read_header(stream: BinaryIO, at: int) -> _Page:
    size = _HEADER_BYTES
    if at > _LARGEST_FILE:
        raise pa.ArrowInvalid(_DAMAGED)
    while True:
        stream.seek(at)
        data = stream.read(size)
        try:
            fields, length = _parse_struct(data, 0, _HEADER_FIELDS)
            break
        except IndexError:
            if len(data) < size or size > _LONGEST_HEADER_BYTES:
                raise pa.ArrowInvalid(_DAMAGED) from None
            size *= 8
    kind = fields.get(1, -1)
    details = fields.get(_DETAILS.get(kind, 0), {})
    is_2 = kind == _DATA_PAGE_2
    page = _Page(
        kind=kind,
        start=at + length,
        bytes=fields.get(2, -1),
        compressed_bytes=fields.get(3, -1),
        values=details.get(1, 0),
        encoding=details.get(4 if is_2 else 2, 0),
        level_bytes=details.get(5, 0) + details.get(6, 0),
        is_compressed=details.get(7) != _FALSE,
    )
    if page.values < 0 or not 0 <= page.level_bytes <= min(page.bytes, page.compressed_bytes):
        raise pa.ArrowInvalid(_DAMAGED)
    return page


# A parser of Thrift's compact protocol. It raises IndexError if the data end too early.


def _parse_struct(data: bytes, at: int, known: _Fields, depth: int = 0) -> tuple[_Fields, int]:
    """Return the known fields of a struct and the position of its end.

    Raises ArrowInvalid if Arrow might read the struct differently.
    """
    fields: _Fields = {}
    field = 0
    while head := data[at]:
        at += 1
        field += head >> 4
        if not head >> 4:
            field, at = _parse_signed(data, at)
        value, at = _parse_value(data, at, head & 15, known.get(field), depth)
        if field in known:
            if field in fields:
                raise pa.ArrowInvalid(_DAMAGED)
            fields[field] = value
    return fields, at + 1


def _parse_value(data: bytes, at: int, kind: int, known: Any, depth: int) -> tuple[Any, int]:
    expected = {dict: _STRUCT, list: _LIST, int: known, type(None): kind}[type(known)]
    if depth > _DEEPEST_STRUCT or kind not in ((_TRUE, _FALSE) if expected == _FALSE else (expected,)):
        raise pa.ArrowInvalid(_DAMAGED)
    if kind in (_TRUE, _FALSE):
        return kind, at
    if kind in (_INT - 1, _INT, _LONG):
        return _parse_signed(data, at)
    if kind == _TEXT:
        length, at = _parse_number(data, at)
        return None, at + length
    if kind == _STRUCT:
        return _parse_struct(data, at, known or {}, depth + 1)
    if kind == _LIST:
        return _parse_list(data, at, known[0] if known else None, depth + 1)
    if kind in (_BYTE, _DOUBLE):
        return None, at + (1 if kind == _BYTE else 8)
    raise pa.ArrowInvalid(_DAMAGED)


def _parse_list(data: bytes, at: int, known: Any, depth: int) -> tuple[list, int]:
    length, kind = divmod(data[at], 16)
    at += 1
    if length == 15:
        length, at = _parse_number(data, at)
    values = []
    for _ in range(length):
        if at >= len(data):
            raise IndexError
        if kind in (_TRUE, _FALSE):
            at += 1
            continue
        value, at = _parse_value(data, at, kind, known, depth)
        if known:
            values.append(value)
    return values, at


def _parse_signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _parse_number(data, at)
    return number >> 1 ^ -(number & 1), at


def _parse_number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at
        if shift > 63:
            raise pa.ArrowInvalid(_DAMAGED)

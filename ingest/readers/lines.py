"""Cut CSV bytes into chunks of whole lines, and count and number lines independently of any parser.

A record is a line that is not blank. No publisher writes fields of several lines. Therefore an unclosed quote
ends with its line, and only that line is rejected.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from tracehouse.core.errors import FETCH_AGAIN, FETCH_OR_MOVE, RawFileError

HEADER_CHUNK_BYTES = 64 << 10
# These limits bound a reader's memory. Published files are far below them.
LONGEST_RECORD_BYTES = 16 << 20
MOST_COLUMNS = 20_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_NEWLINE, _RETURN, _COMMA = ord("\n"), ord("\r"), ord(",")
_COUNTED_AT_ONCE_BYTES = 256 << 10

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file, the number of the first line, and the number of line ends.

    If `is_cut`, the file's last line has no line end, and `record_chunks` added a newline to it.
    """

    first_line: int
    data: bytes
    line_ends: int
    is_cut: bool = False

    @property
    def last_line(self) -> int:
        """The number of the chunk's last line."""
        return self.first_line + self.line_ends - 1


@dataclass(frozen=True)
class Records:
    """The records of a chunk: each one's line number, and its text with the line ends that follow it."""

    lines: np.ndarray
    texts: pa.BinaryArray


def read_header(stream: BinaryIO, file: str) -> list[str]:
    """Return the names in the first line of a CSV."""
    return header_of(first_written(record_chunks(stream, file, HEADER_CHUNK_BYTES), file), file)


def header_of(first: Chunk, file: str) -> list[str]:
    """Return the fields of a chunk's first record.

    Raises RawFileError if there are more than `MOST_COLUMNS`.
    """
    record = first_record(first)
    check_columns(record.count(b",") + 1, first, file)
    return fields(record)


def check_columns(columns: int, first: Chunk, file: str) -> None:
    """Raise RawFileError if the first line of a chunk has more than `MOST_COLUMNS`."""
    if columns > MOST_COLUMNS:
        what = f"the line has {columns:,} columns; at most {MOST_COLUMNS:,} are allowed"
        raise RawFileError(file, what, FETCH_OR_MOVE, line=first.first_line)


def shown(names: Sequence[str]) -> str:
    """Return a header for an error message: printable, on one line and shortened."""
    text = ",".join(names)
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:_SHOWN_CHARACTERS]) + cut


def record_chunks(stream: BinaryIO, file: str, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream at line ends and yield chunks of about `chunk_bytes`. All chunks end in a line end.

    Raises RawFileError if a line does not end within `LONGEST_RECORD_BYTES`.
    """
    line = 1
    unfinished: list[bytes] = []
    carried = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    while block := stream.read(chunk_bytes):
        block = carried + block
        # A carriage return at the end of a block is moved to the next block. A newline may follow, and the
        # two are one line end.
        carried = b"\r" if block.endswith(b"\r") else b""
        block = block.removesuffix(b"\r")
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if cut:
            data = b"".join([*unfinished, memoryview(block)[:cut]])
            unfinished.clear()
            line_ends = _count_line_ends(data)
            yield Chunk(line, data, line_ends)
            line += line_ends
        unfinished.append(block[cut:])
        if sum(map(len, unfinished)) > max(LONGEST_RECORD_BYTES, chunk_bytes):
            what = f"the line does not end, or is longer than {LONGEST_RECORD_BYTES >> 20} MiB"
            raise RawFileError(file, what, "Repair the line, or fetch the file again", line=line)
    if last := b"".join([*unfinished, carried]):
        data = last + b"\n"
        yield Chunk(line, data, _count_line_ends(data), is_cut=not carried)


def _count_line_ends(data: bytes) -> int:
    return count_bytes(data, _NEWLINE) + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def count_bytes(data: bytes, byte: int) -> int:
    """Return how often a byte occurs."""
    return _counted(data, lambda values: values == byte)


def count_bytes_up_to(data: bytes, last: int) -> int:
    """Return the number of bytes whose code is at most `last`."""
    return _counted(data, lambda values: values <= last)


def _counted(data: bytes, chosen: Callable[[np.ndarray], np.ndarray]) -> int:
    # bytes.count would block all other threads because it keeps the GIL. numpy is faster if its blocks fit
    # into the cache.
    values = np.frombuffer(data, np.uint8)
    blocks = range(0, len(values), _COUNTED_AT_ONCE_BYTES)
    return sum(int(np.count_nonzero(chosen(values[at : at + _COUNTED_AT_ONCE_BYTES]))) for at in blocks)


def count_records(data: bytes) -> int:
    """Return the number of lines that are not blank. They may end in any kind of line end."""
    values = np.frombuffer(data, np.uint8)
    count, follows_an_end = 0, True
    for at in range(0, len(values), _COUNTED_AT_ONCE_BYTES):
        is_end = _is_end(values[at : at + _COUNTED_AT_ONCE_BYTES])
        count += int(np.count_nonzero(is_end[:-1] > is_end[1:])) + (follows_an_end and not is_end[0])
        follows_an_end = bool(is_end[-1])
    return count


def _is_end(values: np.ndarray) -> np.ndarray:
    return (values == _NEWLINE) | (values == _RETURN)


def first_written(chunks: Iterator[Chunk], file: str) -> Chunk:
    """Return the first chunk with a record, without leading blank lines.

    Raises RawFileError if there is no record.
    """
    for chunk in chunks:
        if written := chunk.data.lstrip(b"\r\n"):
            return without(chunk, len(chunk.data) - len(written))
    raise RawFileError(file, "the file is empty", FETCH_AGAIN)


def without(chunk: Chunk, first_bytes: int) -> Chunk:
    """Return a chunk without its first `first_bytes` bytes. They must be whole lines."""
    if not first_bytes:
        return chunk
    left_out = _count_line_ends(chunk.data[:first_bytes])
    left = chunk.line_ends - left_out
    return replace(
        chunk, first_line=chunk.first_line + left_out, data=chunk.data[first_bytes:], line_ends=left
    )


def without_last_commas(chunk: Chunk, columns: int) -> Chunk:
    """Remove the last comma of each line that has exactly `columns` commas and ends in one."""
    data = chunk.data
    ends = data.count(b",\n")
    # The fast path checks only that lines have `columns` commas on average. It excludes lines of a single
    # comma: they would become blank, and a longer line could make up for their missing commas.
    has_lone_comma = data.startswith(b",\n") or b"\n,\n" in data
    if ends == chunk.line_ends and count_bytes(data, _COMMA) == columns * ends and not has_lone_comma:
        return replace(chunk, data=data.replace(b",\n", b"\n"))
    # A line without the additional comma also ends in a comma if its last field is empty.
    lines = data.splitlines(keepends=True)
    return replace(chunk, data=b"".join(_without_last_comma(line, columns) for line in lines))


def _without_last_comma(line: bytes, columns: int) -> bytes:
    text = line.rstrip(b"\r\n")
    if text.endswith(b",") and text.count(b",") == columns:
        return text[:-1] + line[len(text) :]
    return line


def without_last_record(chunk: Chunk) -> tuple[Chunk, bytes]:
    """Return a chunk without its last record, and that record with its line end."""
    end = len(chunk.data.rstrip(b"\r\n"))
    start = max(chunk.data.rfind(b"\n", 0, end), chunk.data.rfind(b"\r", 0, end)) + 1
    last = chunk.data[start:]
    return replace(chunk, data=chunk.data[:start], line_ends=chunk.line_ends - _count_line_ends(last)), last


def first_record(chunk: Chunk) -> bytes:
    """Return the record that a chunk begins with, including its line end."""
    record = _LINE.match(chunk.data)
    return record[0] if record else b""


def records_of(chunk: Chunk) -> Records:
    """Return the records of a chunk, in order."""
    values = np.frombuffer(chunk.data, np.uint8)
    is_end = _is_end(values)
    begins = ~is_end
    begins[1:] &= is_end[:-1]
    starts = np.flatnonzero(begins)
    # A carriage return and a newline are one line end.
    is_end[:-1] &= ~((values[:-1] == _RETURN) & (values[1:] == _NEWLINE))
    lines = chunk.first_line + np.searchsorted(np.flatnonzero(is_end), starts)
    offsets = np.append(starts, len(values)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(chunk.data)]
    return Records(lines, pa.Array.from_buffers(pa.binary(), len(starts), buffers))


def fields(record: bytes) -> list[str]:
    """Return the texts of a record's fields."""
    text = record.decode("utf-8", errors="replace").strip("\r\n")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        # The field exceeds the csv module's limit, so this is not a header. An error message shows the text.
        return [text]

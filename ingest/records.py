"""Cuts CSV bytes into chunks of whole records, and counts records and lines apart from any parser.

A record is a line, or several where a quoted field holds the ends of lines.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from tracehouse.ingest.errors import RawFileError

HEADER_CHUNK_BYTES = 64 << 10
LONGEST_RECORD_BYTES = 64 << 20

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


@dataclass(frozen=True)
class Chunk:
    """Whole records, the line that they start on, and how many ends of lines they hold."""

    first_line: int
    data: bytes
    line_ends: int

    @property
    def last_line(self) -> int:
        """The line that its last record ends on."""
        return self.first_line + self.line_ends - 1


def read_header(stream: BinaryIO, file: str) -> list[str]:
    """The names in a CSV's first line."""
    first = first_written(record_chunks(stream, file, HEADER_CHUNK_BYTES), file)
    return fields(first_record(first))


def shown(names: Sequence[str]) -> str:
    """A header as an error shows it: whatever the file is, on one line and not too long."""
    text = ",".join(names)
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:_SHOWN_CHARACTERS]) + cut


def record_chunks(stream: BinaryIO, file: str, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream at ends of records. The last chunk, too, ends in a newline."""
    line = 1
    rest = stream.read(len(_BOM)).removeprefix(_BOM)
    while block := stream.read(chunk_bytes):
        data = rest + block
        cut = _end_of_last_record(data)
        if cut:
            records = data[:cut]
            line_ends = _count_line_ends(records)
            yield Chunk(line, records, line_ends)
            line += line_ends
        rest = data[cut:]
        if len(rest) > max(LONGEST_RECORD_BYTES, chunk_bytes):
            raise _endless(rest, file, line)
    if rest:
        last = rest + b"\n"
        if _end_of_last_record(last) < len(last):
            raise _endless(rest, file, line)
        yield Chunk(line, last, _count_line_ends(last))


def _endless(record: bytes, file: str, line: int) -> RawFileError:
    quoted = b'"' in record
    what = "a quote is opened here and never closed" if quoted else "the line does not end"
    return RawFileError(file, what, "Repair the line, or fetch the file again", line=line)


def _end_of_last_record(data: bytes) -> int:
    if has_plain_lines(data):
        return data.rfind(b"\n") + 1
    # What follows a carriage return at the very end decides whether the two are one end of a line.
    records = _RECORDS.match(data, 0, len(data) - data.endswith(b"\r"))
    return records.end() if records else 0


def has_plain_lines(data: bytes) -> bool:
    """Whether each newline ends a record, and nothing else does: no quotes, no lone carriage returns."""
    return b'"' not in data and (b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"))


def _count_line_ends(data: bytes) -> int:
    return _count_newlines(data) + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def _count_newlines(data: bytes) -> int:
    # bytes.count would hold every other thread up, and numpy is faster as long as its blocks stay in cache.
    values = np.frombuffer(data, np.uint8)
    blocks = range(0, len(values), _COUNTED_AT_ONCE_BYTES)
    return sum(int(np.count_nonzero(values[at : at + _COUNTED_AT_ONCE_BYTES] == _NEWLINE)) for at in blocks)


def first_written(chunks: Iterator[Chunk], file: str) -> Chunk:
    """The first chunk that holds more than blank lines, without those that it begins with."""
    for chunk in chunks:
        blank = _BLANK_LINES.match(chunk.data)
        end = blank.end() if blank else 0
        if end < len(chunk.data):
            return without(chunk, end)
    raise RawFileError(file, "the file is empty", "Fetch it again from its publisher")


def without(chunk: Chunk, first_bytes: int) -> Chunk:
    """What is left of a chunk behind its first bytes, which end with a line."""
    if not first_bytes:
        return chunk
    left_out = _count_line_ends(chunk.data[:first_bytes])
    left = chunk.line_ends - left_out
    return Chunk(chunk.first_line + left_out, chunk.data[first_bytes:], left)


def first_record(chunk: Chunk) -> bytes:
    """The record that a chunk begins with, the end of its line included."""
    record = _RECORD.match(chunk.data)
    return record[0] if record else b""


def records_of(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """The records of a chunk that are not blank, each with the line that it starts on."""
    line = chunk.first_line
    for found in _RECORD.finditer(chunk.data):
        record = found[0].strip(b"\r\n")
        if record:
            yield line, record
        line += _count_line_ends(found[0])


def fields(record: bytes) -> list[str]:
    """The texts of a record's fields."""
    text = record.decode("utf-8", errors="replace").strip("\r\n")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        # Longer than any field may be: no header, but something to show.
        return [text]

"""Cut text into chunks of whole lines, and count and number lines independently of any parser.

A record is a line that is not blank. No publisher writes fields of several lines. Therefore an unclosed quote
ends with its line, and only that line is rejected.
"""

import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tracehouse.core.errors import FETCH_AGAIN, FETCH_OR_MOVE, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.dump.readers import Reject

HEADER_CHUNK_BYTES = 64 << 10
# This limit bounds a reader's memory. Published lines are far shorter.
LONGEST_RECORD_BYTES = 16 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_NEWLINE, _RETURN = ord("\n"), ord("\r")
_COUNTED_AT_ONCE_BYTES = 256 << 10
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
_SHOWN_CHARACTERS = 200
_OR_MOVE = ", or move the file out of the raw folder"
# Advice on a file with the index of a data frame.
WITHOUT_INDEX = f"Write it without the index, in pandas with index=False{_OR_MOVE}"
# Names that pandas gives to an index: one that it reads from CSV, and one that it writes to Parquet.
_PANDAS_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")
_LIKE_AN_INDEX = "which looks like the index that pandas writes"
_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file, the number of the first line, and the number of line ends.

    If `is_cut`, the chunk is the file's last line, which has no line end. `read_chunks` added a newline.
    """

    first_line: int
    data: bytes | bytearray
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

    def reject(self, reasons: dict[int, str]) -> tuple[Reject, ...]:
        """Return the rejects of records by their positions, in order."""
        positions = sorted(reasons)
        texts = self.texts.take(pa.array(positions, pa.int64())).to_pylist()
        return tuple(
            Reject(int(self.lines[at]), reasons[at], decode_text(text.rstrip(b"\r\n")))
            for at, text in zip(positions, texts, strict=True)
        )


class Lines(NamedTuple):
    """The lines of a file: its first record with the line end, and all lines in chunks.

    `first` is the chunk that begins with the record, `after` is what follows the record in it, and `others`
    are the next chunks.
    """

    record: bytes
    first: Chunk
    after: Chunk
    others: Iterator[Chunk]


def read_chunks(stream: BinaryIO, file: str, chunk_bytes: int) -> Iterator[Chunk]:
    """Cut a stream at line ends and yield chunks of about `chunk_bytes`. All chunks end in a line end.

    Raises RawFileError if a line does not end within `LONGEST_RECORD_BYTES`.
    """
    line = 1
    carried = bytearray(stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK))
    while True:
        # The bytes are read into place: copies of each chunk would take a tenth of an ingest.
        data = bytearray(len(carried) + chunk_bytes)
        data[: len(carried)] = carried
        with memoryview(data)[len(carried) :] as free:
            count = cast(io.RawIOBase, stream).readinto(free) or 0
        del data[len(carried) + count :]
        if not count:
            break
        # A carriage return at the end is moved to the next chunk. A newline may follow, and the two are one
        # line end.
        end = len(data) - data.endswith(b"\r")
        cut = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
        carried = data[cut:]
        if cut:
            del data[cut:]
            chunk = Chunk(line, data, _count_line_ends(data))
            yield chunk
            line += chunk.line_ends
        if len(carried) > max(LONGEST_RECORD_BYTES, chunk_bytes):
            what = f"the line does not end, or is longer than {LONGEST_RECORD_BYTES >> 20} MiB"
            raise RawFileError(file, what, "Repair the line, or fetch the file again", line=line)
    if carried:
        is_cut = not carried.endswith(b"\r")
        data = carried + b"\n"
        yield Chunk(line, data, _count_line_ends(data), is_cut)


def count_bytes(data: bytes | bytearray, byte: int) -> int:
    """Return how often a byte occurs."""
    # bytes.count would block all other threads because it keeps the GIL. numpy is faster if its blocks fit
    # into the cache.
    values = np.frombuffer(data, np.uint8)
    blocks = range(0, len(values), _COUNTED_AT_ONCE_BYTES)
    return sum(int(np.count_nonzero(values[at : at + _COUNTED_AT_ONCE_BYTES] == byte)) for at in blocks)


def _count_line_ends(data: bytes | bytearray) -> int:
    return count_bytes(data, _NEWLINE) + (data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0)


def open_lines(stream: BinaryIO, file: str, chunk_bytes: int) -> Lines:
    """Cut a stream into chunks of about `chunk_bytes`, as `read_chunks`, from its first record.

    Raises RawFileError if there is no record.
    """
    chunks = read_chunks(stream, file, chunk_bytes)
    for chunk in chunks:
        if written := chunk.data.lstrip(b"\r\n"):
            found = _LINE.match(written)
            assert found
            first = _without(chunk, len(chunk.data) - len(written))
            return Lines(found[0], first, _without(first, len(found[0])), chunks)
    raise RawFileError(file, "the file is empty", FETCH_AGAIN)


def _without(chunk: Chunk, first_bytes: int) -> Chunk:
    """Return a chunk without its first `first_bytes` bytes. They must be whole lines."""
    lines = _count_line_ends(chunk.data[:first_bytes])
    return replace(
        chunk,
        first_line=chunk.first_line + lines,
        data=chunk.data[first_bytes:],
        line_ends=chunk.line_ends - lines,
    )


def records_of(chunk: Chunk) -> Records:
    """Return the records of a chunk, in order."""
    values = np.frombuffer(chunk.data, np.uint8)
    is_end = (values == _NEWLINE) | (values == _RETURN)
    begins = ~is_end
    begins[1:] &= is_end[:-1]
    starts = np.flatnonzero(begins)
    # A carriage return and a newline are one line end.
    is_end[:-1] &= ~((values[:-1] == _RETURN) & (values[1:] == _NEWLINE))
    lines = chunk.first_line + np.searchsorted(np.flatnonzero(is_end), starts)
    offsets = np.append(starts, len(values)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(chunk.data)]
    return Records(lines, pa.Array.from_buffers(pa.binary(), len(starts), buffers))


def split_chunk(chunk: Chunk, most: int) -> Iterator[Chunk]:
    """Yield parts of a chunk, each with at most `most` records; at least one part, which may be empty."""
    records = records_of(chunk)
    starts = np.frombuffer(records.texts.buffers()[1], np.int32)[:-1:most].tolist()
    lines = records.lines[::most].tolist()
    for start, line, end, next_line in zip(
        starts or [0],
        lines or [chunk.first_line],
        [*starts[1:], len(chunk.data)],
        [*lines[1:], chunk.first_line + chunk.line_ends],
        strict=True,
    ):
        yield replace(chunk, first_line=line, data=chunk.data[start:end], line_ends=next_line - line)


def explain_header(
    found: Sequence[str], expected: Sequence[str], optional: Collection[str], subject: str
) -> tuple[str, str]:
    """Return for an error message how the names in a file differ from the expected ones, and what to do.

    `optional` are expected names that may be missing. `subject` begins the sentence. The file is likely
    another one only if it lacks a column; otherwise, a program has probably written it again.
    """
    if other := explain_delimiter(found, lambda names: not set(expected).isdisjoint(names)):
        return other
    written = {_plain(name): name for name in found}
    if not written.keys() & set(map(_plain, expected)):
        return f"the first line is {shown(found)}; expected the header {shown(expected)}", FETCH_OR_MOVE
    indexes = [name for name in found if _PANDAS_INDEX.fullmatch(name) and name not in expected]
    indexes += [name for name in found[:1] if not name and name not in expected]
    unknown = [name for name in found if name not in (*expected, *indexes)]
    missing = [name for name in expected if name not in found]
    renamed = {name: written[_plain(name)] for name in missing if written.get(_plain(name)) in unknown}
    lacking = [name for name in missing if name not in (*renamed, *optional)]
    if not renamed and len(lacking) == len(unknown) == 1:
        renamed, lacking = {lacking[0]: unknown[0]}, []
    unknown = [name for name in unknown if name not in renamed.values()]
    repeated = sorted({name for name in found if found.count(name) > 1})
    differences = (
        (renamed, f"has '{shown([*renamed.values()])}' instead of '{shown([*renamed])}'"),
        (lacking, f"lacks {shown(lacking)}"),
        (unknown, f"has {shown(unknown)}, which is not declared"),
        (repeated, f"repeats {shown(repeated)}"),
        (indexes, f"has a column {shown([name or 'without a name' for name in indexes])}, {_LIKE_AN_INDEX}"),
    )
    what = f"{subject} {' and '.join(text for names, text in differences if names)}"
    if lacking or repeated:
        return what, FETCH_OR_MOVE
    if indexes:
        return what, WITHOUT_INDEX
    return what, f"{'Remove it' if unknown else 'Correct the names'}{_OR_MOVE}"


def explain_delimiter(
    fields: Sequence[str], is_expected: Callable[[list[str]], bool]
) -> tuple[str, str] | None:
    """Return an error about a line that another delimiter splits as expected, and what to do; else None."""
    for delimiter, plural in _OTHER_DELIMITERS.items():
        if len(fields) == 1 and delimiter in fields[0] and is_expected(fields[0].split(delimiter)):
            return f"its fields are separated by {plural}; expected commas", f"Write commas{_OR_MOVE}"
    return None


def _plain(name: str) -> str:
    return name.strip().casefold()


def shown(names: Sequence[str], separator: str = ",") -> str:
    """Return a header for an error message: printable, on one line and shortened."""
    text = separator.join(names)
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:_SHOWN_CHARACTERS]) + cut

"""Read a JSON list of objects in parts of limited size.

If the file is not valid JSON, for instance because it is truncated, the whole file is refused: the reader
cannot find the start of the next object.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from tracehouse.core.errors import FETCH_FILE_AGAIN, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.declarations import Column, JsonList, Table
from tracehouse.ingest.readers import Batch, Content, Reader, Reject
from tracehouse.ingest.readers.json_objects import (
    LONGEST_OBJECT_BYTES,
    MisfitError,
    Row,
    Texts,
    build_batch,
    parse_object,
    text_of,
)
from tracehouse.ingest.readers.lines import BYTE_ORDER_MARK, shown
from tracehouse.ingest.readers.rejects import limit_rejects

# A small part, because Python's objects take many times the bytes of the JSON.
CHUNK_BYTES = 1 << 20
_OBJECT_BYTES = 100

# Numbers stay texts: Python refuses to convert integers of more than 4,300 digits.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_SPACE = re.compile(r"[ \t\r\n]*")
_CUT = "the file ends before its list does: it is truncated"
# The longest tokens that may be cut at the end of a part: -Infinity, and the escape \\uD83D\\uDE00.
_LONGEST_WORD = 12
# In this encoding, each byte is one character, so that positions in the text are positions in the file. The
# syntax of JSON is ASCII.
_BYTE_BY_BYTE = "latin-1"


class Element(NamedTuple):
    """A value in the list: its position in the list from 1, the number of its first line, and its text."""

    number: int
    line: int
    text: bytes


class _Found(NamedTuple):
    """A value on the path to a table's rows.

    `place` identifies the value in messages. `positions` are its positions in the lists of the path so far,
    and `outermost` is the object of the file's list that contains it. If the value lacks the next list of the
    path, `missing` is the name of that list.
    """

    place: str
    positions: tuple[int, ...]
    outermost: dict[str, Any]
    value: Any
    missing: str = ""


def reads(table: Table, _: str) -> bool:
    """Return whether this reader reads a table's files: all files of tables declared as a JSON list."""
    return table.json_list is not None


def names_fit(_: Table, __: Sequence[str]) -> bool:
    """Return True. A list has no header, so it belongs to all tables whose file names it matches."""
    return True


def read(content: Content) -> Iterator[Batch]:
    """Yield the rows of a table in batches; at least one batch.

    An object that does not fit, or that lacks a list of the path, is rejected. Raises RawFileError if the
    file is not a JSON list, or if more than a tenth of the objects is rejected.
    """
    parts = elements(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    parsed = ((part, _parse_part(part, content.table)) for part in parts)
    for _, batch in limit_rejects(parsed, content.name):
        yield batch


def _parse_part(part: Sequence[Element], table: Table) -> Batch:
    options = table.json_list
    assert options
    rows: list[Row] = []
    rejects: list[Reject] = []
    for element in part:
        place = f"{_name_object(element.number)}: "
        try:
            value = parse_object(element.text)
        except MisfitError as misfit:
            rejects.append(Reject(element.line, f"{place}{misfit}", decode_text(element.text)))
            continue
        for found in _walk(_Found(place, (), value, value), options.path):
            try:
                rows.append(Row(element.line, element.text, _texts_of(found, table, options), found.place))
            except MisfitError as misfit:
                rejects.append(Reject(element.line, f"{found.place}{misfit}", decode_text(element.text)))
    return build_batch(rows, rejects, table)


def _name_object(number: int) -> str:
    # The whole list may be on one line.
    return f"object {number:,} of the list"


def _walk(outer: _Found, path: Sequence[str]) -> Iterator[_Found]:
    """Yield the values at the end of a path of nested lists, and each value that lacks the next list."""
    if not path:
        yield outer
        return
    name, *rest = path
    listed = outer.value.get(name) if isinstance(outer.value, dict) else None
    if not isinstance(listed, list):
        yield outer._replace(missing=name)
        return
    for number, value in enumerate(listed, start=1):
        place = f"{outer.place}{name} {number}: "
        yield from _walk(_Found(place, (*outer.positions, number), outer.outermost, value), rest)


def _texts_of(found: _Found, table: Table, options: JsonList) -> Texts:
    if not isinstance(found.value, dict):
        raise MisfitError("not a JSON object")
    if found.missing:
        raise MisfitError(f"no list {found.missing}")
    own = [column for column in table.columns if column.name not in (*options.positions, *options.outer)]
    missing = [c.name for c in own if c.name not in found.value and c.name not in table.optional]
    if missing:
        raise MisfitError(f"no value for {missing[0]}")
    unknown = found.value.keys() - {column.name for column in own} - set(options.other_lists)
    if unknown:
        raise MisfitError(f"a value for {shown(sorted(unknown))}, which is not a column")
    return [_text_of(found, column, options) for column in table.columns]


def _text_of(found: _Found, column: Column, options: JsonList) -> str | None:
    if column.name in options.positions:
        return str(found.positions[options.positions.index(column.name)])
    source = found.outermost if column.name in options.outer else found.value
    return text_of(source.get(column.name), column)


@dataclass
class _Text:
    """The part of a file that is in memory, as `held`.

    `at` is the position of the current character in `held`, and `line` its line in the file. `number` is the
    number of values of the list before it. `is_whole` is true at the end of the file.
    """

    stream: BinaryIO
    file: str
    chunk_bytes: int
    held: str = ""
    at: int = 0
    line: int = 1
    number: int = 0
    is_whole: bool = False

    def more(self) -> bool:
        """Read on, and double the part in memory, so that a long value is parsed only a few times.

        Returns False at the end of the file.
        """
        left = LONGEST_OBJECT_BYTES - (len(self.held) - self.at)
        if left <= 0:
            what = f"a value does not end, or is longer than {LONGEST_OBJECT_BYTES >> 20} MiB"
            raise self.error(what, self.at)
        block = self.stream.read(max(self.chunk_bytes, min(len(self.held) - self.at, left)))
        self.held, self.at = self.held[self.at :] + block.decode(_BYTE_BY_BYTE), 0
        self.is_whole = not block
        return bool(block)

    def advance(self, at: int) -> None:
        """Move to the character at position `at`, and count the lines up to it."""
        self.line += self.held.count("\n", self.at, at)
        self.at = at

    def next_sign(self) -> str:
        """Skip white space, and return the next character without moving past it; empty at the file's end."""
        while True:
            space = _SPACE.match(self.held, self.at)
            assert space
            self.advance(space.end())
            if self.at < len(self.held):
                return self.held[self.at]
            if not self.more():
                return ""

    def error(self, what: str, at: int) -> RawFileError:
        """Return an error about a character, with its line and the last object before it."""
        line = self.line + self.held.count("\n", self.at, at)
        after = f", after {_name_object(self.number)}" if self.number else ""
        return RawFileError(self.file, f"{what}{after}", FETCH_FILE_AGAIN, line=line)


def elements(stream: BinaryIO, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[list[Element]]:
    """Yield the values in a JSON list, in parts of about `chunk_bytes`; at least one part, perhaps empty.

    Raises RawFileError, with the line, if the file is not exactly one JSON list.
    """
    first = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    text = _Text(stream, file, chunk_bytes, first.decode(_BYTE_BY_BYTE))
    _expect(text, "[", "the file is not a JSON list: it does not begin with a bracket")
    part: list[Element] = []
    part_bytes = 0
    if text.next_sign() != "]":
        while True:
            part.append(_element(text))
            part_bytes += len(part[-1].text) + _OBJECT_BYTES
            if text.next_sign() != ",":
                break
            text.advance(text.at + 1)
            text.next_sign()
            if part_bytes >= chunk_bytes:
                yield part
                part, part_bytes = [], 0
    _expect(text, "]", "not JSON: a comma, or the closing bracket of the list, is missing")
    if text.next_sign():
        raise text.error("there is text after the end of the list", text.at)
    yield part


def _expect(text: _Text, sign: str, otherwise: str) -> None:
    found = text.next_sign()
    if found != sign:
        raise text.error(otherwise if found else _CUT, text.at)
    text.advance(text.at + 1)


def _element(text: _Text) -> Element:
    """Parse the value at the current character, and move to its end."""
    while True:
        try:
            _, end = _DECODER.raw_decode(text.held, text.at)
        except json.JSONDecodeError as error:
            if text.is_whole or not _may_be_cut(error, text):
                raise _syntax_error(text, error) from None
        except RecursionError:
            raise text.error("JSON that is nested too deeply", text.at) from None
        else:
            # A number at the end of the part may continue in the next part.
            if text.is_whole or end < len(text.held):
                break
        text.more()
    text.number += 1
    element = Element(text.number, text.line, text.held[text.at : end].encode(_BYTE_BY_BYTE))
    text.advance(end)
    return element


def _may_be_cut(error: json.JSONDecodeError, text: _Text) -> bool:
    """Return whether an error may come from the end of the part, which cuts a token or a string."""
    is_near = error.pos + _LONGEST_WORD >= len(text.held.rstrip())
    return is_near or error.msg.startswith("Unterminated string")


def _syntax_error(text: _Text, error: json.JSONDecodeError) -> RawFileError:
    is_cut = error.pos >= len(text.held.rstrip()) or error.msg.startswith("Unterminated string")
    return text.error(_CUT if is_cut else f"not JSON: {error.msg}", error.pos)


READER = Reader((), reads, read, None, names_fit)

"""Reads a JSON list of objects, a part at a time, into Arrow tables, and accounts for every object.

An object's values are read as those on a line of JSON lines are. What is no JSON, as where a file is cut
short, makes the whole file unusable: nobody knows where the next object begins.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import printable
from tracehouse.ingest.declarations import Column, JsonList, Table
from tracehouse.ingest.readers.json_lines import MisfitError, Row, Texts, batch_of, object_in, text_of
from tracehouse.ingest.readers.records import BYTE_ORDER_MARK, LONGEST_RECORD_BYTES, shown
from tracehouse.ingest.readers.rejects import Batch, Reject, unless_hopeless

# What is made of a part, Python's own objects, takes many times its bytes.
CHUNK_BYTES = 1 << 20

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_FETCH_AGAIN = "Fetch the file again from its publisher"
_CUT = "the file ends before its list does: it is cut short"
# -Infinity, and an escape in a string, \\uD83D\\uDE00.
_LONGEST_WORD = 12
# Each byte is a character of it, so that places in a text are places in the file; JSON's own signs are ASCII.
_BYTE_BY_BYTE = "latin-1"


class Element(NamedTuple):
    """A value in the list: its place, from 1, the line that it begins on, and its text."""

    number: int
    line: int
    text: bytes


class _Found(NamedTuple):
    """A value on the way to a table's rows.

    `place` is how it is called in a message, `places` its place in each list on the way, and `first` the
    object of the file's list that it lies in. `missing` is the list that it should have and has not, if the
    way ends here.
    """

    place: str
    places: tuple[int, ...]
    first: dict[str, Any]
    value: Any
    missing: str = ""


def read_json_list(
    stream: BinaryIO, table: Table, file: str, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Batch]:
    """Read the objects of `table` in a JSON list: batches of its `read_columns`, in this order; at least one.

    An object that does not fit, or whose lists of others are none, is rejected. `file` names the file in
    errors. Raises RawFileError where the file is no JSON list, and where more than a tenth of the objects
    does not fit.
    """
    assert table.json_list
    parts = elements(stream, file, chunk_bytes)
    read = ((part, _batch(part, table, table.json_list, file)) for part in parts)
    for _, batch in unless_hopeless(read, file):
        yield batch


def _batch(part: Sequence[Element], table: Table, of: JsonList, file: str) -> Batch:
    kept: list[Row] = []
    rejects: list[Reject] = []
    for element in part:
        try:
            value = object_in(element.text)
        except MisfitError as misfit:
            reason = f"{_called(element.number)}: {misfit}"
            rejects.append(Reject(element.line, reason, printable(element.text)))
            continue
        place = f"{_called(element.number)}: "
        for found in _below(_Found(place, (), value, value), of.path):
            try:
                kept.append(Row(element.line, element.text, _texts(found, table, of), found.place))
            except MisfitError as misfit:
                rejects.append(Reject(element.line, f"{found.place}{misfit}", printable(element.text)))
    return batch_of(kept, rejects, table, file)


def _called(number: int) -> str:
    # The whole list may stand on one line.
    return f"object {number:,} of the list"


def _below(outer: _Found, path: Sequence[str]) -> Iterator[_Found]:
    """What is at the end of a path of names of lists, or where it breaks off."""
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
        yield from _below(_Found(place, (*outer.places, number), outer.first, value), rest)


def _texts(found: _Found, table: Table, of: JsonList) -> Texts:
    """The text of each column's value in an object, None where it is null or not there."""
    if not isinstance(found.value, dict):
        raise MisfitError("no JSON object")
    if found.missing:
        raise MisfitError(f"no list of {found.missing}")
    own = [column for column in table.columns if column.name not in (*of.positions, *of.outer)]
    missing = [c.name for c in own if c.name not in found.value and c.name not in table.optional]
    if missing:
        raise MisfitError(f"no value of {missing[0]}")
    unknown = found.value.keys() - {column.name for column in own} - set(of.other_lists)
    if unknown:
        raise MisfitError(f"a value of {shown(sorted(unknown))}, which is no column")
    return [_text(found, column, of) for column in table.columns]


def _text(found: _Found, column: Column, of: JsonList) -> str | None:
    if column.name in of.positions:
        return str(found.places[of.positions.index(column.name)])
    return text_of((found.first if column.name in of.outer else found.value).get(column.name), column)


@dataclass
class _Text:
    """The part of a file that is held, from the character `at` on, which stands on line `line`.

    `number` is how many values of the list were passed.
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
        """Read on, twice as much as is held, so that a long value is not parsed often; False at the end."""
        if len(self.held) - self.at > LONGEST_RECORD_BYTES:
            raise self.error("a value does not end", self.at)
        block = self.stream.read(max(self.chunk_bytes, len(self.held) - self.at))
        self.held, self.at = self.held[self.at :] + block.decode(_BYTE_BY_BYTE), 0
        self.is_whole = not block
        return bool(block)

    def pass_to(self, at: int) -> None:
        """Go on to a later character."""
        self.line += self.held.count("\n", self.at, at)
        self.at = at

    def sign(self) -> str:
        """The next character that is no white space, which is passed; empty at the end of the file."""
        while True:
            space = _SPACE.match(self.held, self.at)
            assert space
            self.pass_to(space.end())
            if self.at < len(self.held):
                return self.held[self.at]
            if not self.more():
                return ""

    def error(self, what: str, at: int) -> RawFileError:
        """An error about the character at a place, in or behind the value that comes next."""
        line = self.line + self.held.count("\n", self.at, at)
        behind = f", behind {_called(self.number)}" if self.number else ""
        return RawFileError(self.file, f"{what}{behind}", _FETCH_AGAIN, line=line)


def elements(stream: BinaryIO, file: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[list[Element]]:
    """The values in a JSON list, as many at once as `chunk_bytes` hold; at least one part, perhaps empty.

    Raises RawFileError, with the line, where the file is no JSON list, or does not end with it.
    """
    first = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    text = _Text(stream, file, chunk_bytes, first.decode(_BYTE_BY_BYTE))
    _expect(text, "[", "the file is no JSON list: it does not begin with a bracket")
    part: list[Element] = []
    part_bytes = 0
    if text.sign() != "]":
        while True:
            part.append(_element(text))
            part_bytes += len(part[-1].text)
            if text.sign() != ",":
                break
            text.pass_to(text.at + 1)
            text.sign()
            if part_bytes >= chunk_bytes:
                yield part
                part, part_bytes = [], 0
    _expect(text, "]", "no JSON: a comma, or the bracket that ends the list, is missing")
    if text.sign():
        raise text.error("there is more behind the end of the list", text.at)
    yield part


def _expect(text: _Text, sign: str, otherwise: str) -> None:
    found = text.sign()
    if found != sign:
        raise text.error(otherwise if found else _CUT, text.at)
    text.pass_to(text.at + 1)


def _element(text: _Text) -> Element:
    """The value that begins where the text is, which is passed."""
    while True:
        try:
            _, end = _DECODER.raw_decode(text.held, text.at)
        except json.JSONDecodeError as error:
            if text.is_whole or not _may_be_cut(error, text):
                raise _no_json(text, error) from None
        except RecursionError:
            raise text.error("no JSON that can be read: it is nested too deeply", text.at) from None
        else:
            # A number at the end of what is held may go on.
            if text.is_whole or end < len(text.held):
                break
        text.more()
    text.number += 1
    element = Element(text.number, text.line, text.held[text.at : end].encode(_BYTE_BY_BYTE))
    text.pass_to(end)
    return element


def _may_be_cut(error: json.JSONDecodeError, text: _Text) -> bool:
    """Whether an error may come from the end of what is held: from half a word, or a string that is open."""
    is_near = error.pos + _LONGEST_WORD >= len(text.held.rstrip())
    return is_near or error.msg.startswith("Unterminated string")


def _no_json(text: _Text, error: json.JSONDecodeError) -> RawFileError:
    is_cut = error.pos >= len(text.held.rstrip()) or error.msg.startswith("Unterminated string")
    return text.error(_CUT if is_cut else f"no JSON: {error.msg}", error.pos)

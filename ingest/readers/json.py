"""Read JSON: a list of objects, or one object on each line.

The texts of an object's values are converted like the fields of a CSV. A list may hold the rows of several
tables (see `JsonList`). Its text is read into memory, and its objects are parsed one by one. If it is not
valid JSON, for instance because it is truncated, the whole file is refused: the reader cannot find the start
of the next object.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from tracehouse.core.errors import FETCH_FILE_AGAIN, FETCH_OR_MOVE, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.column_types import refuse_constant
from tracehouse.ingest.declarations import Column, JsonList, Table
from tracehouse.ingest.readers import Batch, Reader, ReaderInput, Reject, limit_rejects
from tracehouse.ingest.readers.lines import (
    BYTE_ORDER_MARK,
    HEADER_CHUNK_BYTES,
    first_record,
    read_chunks,
    records_of,
    shown,
)
from tracehouse.ingest.readers.values import convert_rows

# Parts are small, because Python's objects take many times, and short numbers a hundred times, the bytes of
# the JSON. Published lists and objects are much shorter than the limits.
CHUNK_BYTES = 1 << 20
LONGEST_LIST_BYTES = 512 << 20
LONGEST_OBJECT_BYTES = 4 << 20

_OBJECT_BYTES = 100
_JSON_TYPES = ("JSON", "VARCHAR[]", "BIGINT[]", "DOUBLE[]")
# Numbers stay texts: Python refuses to convert integers of more than 4,300 digits.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_SPACE = re.compile(r"[ \t\r\n]*")
_CUT = "the file ends before its list does: it is truncated"
# In this encoding, each byte is one character, so that positions in the text are positions in the file. The
# syntax of JSON is ASCII.
_BYTE_BY_BYTE = "latin-1"


class Element(NamedTuple):
    """An object in a file: its first line, its text, and its name in messages if lines may have several."""

    line: int
    text: bytes
    place: str = ""

    def reject(self, reason: str) -> Reject:
        """Return the reject of the object."""
        return Reject(self.line, reason, decode_text(self.text))


class MisfitError(Exception):
    """An object that does not fit its table; the message is the reason."""


class _Number(str):
    """The text of a number in the file, with all digits."""

    __slots__ = ()


class _Found(NamedTuple):
    """A value on the path to a table's rows.

    `place` identifies the value in messages. `positions` are its positions in the lists of the path so far,
    and `outermost` is the object of the file that contains it. If the value lacks the next list of the path,
    `missing` is the name of that list.
    """

    place: str
    positions: tuple[int, ...]
    outermost: dict[str, Any]
    value: Any
    missing: str = ""


def names_fit(table: Table, names: Sequence[str]) -> bool:
    """Return whether names are those of a table's columns. Only optional columns may be missing."""
    known = {column.name for column in table.columns}
    return known - table.optional <= set(names) <= known


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """Return the names in the object on the first line."""
    first, record = first_record(read_chunks(stream, file, HEADER_CHUNK_BYTES), file)
    try:
        return list(_parse_object(record))
    except MisfitError as misfit:
        raise RawFileError(file, f"{misfit}", FETCH_FILE_AGAIN, line=first.first_line) from misfit


def read_lines(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of JSON lines in batches; at least one batch.

    An object fits if it has a value or null for each column that is not optional, and no other names. Raises
    RawFileError if the first line is not an object of the table, or if more than a tenth of the lines is
    rejected.
    """
    table = source.table
    chunks = read_chunks(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES)
    first, record = first_record(chunks, source.name)
    try:
        names: Sequence[str] = list(_parse_object(record))
        what = f"the names on the line are {shown(names)}"
    except MisfitError as misfit:
        names, what = [], f"{misfit}"
    if not names_fit(table, names):
        expected = ",".join(column.name for column in table.columns)
        raise RawFileError(source.name, f"{what}; expected {expected}", FETCH_OR_MOVE, line=first.first_line)
    for chunk in chain([first], chunks):
        records = records_of(chunk)
        texts = (text.rstrip(b"\r\n") for text in records.texts.to_pylist())
        yield _parse(map(Element, records.lines.tolist(), texts), table, JsonList())


def read_list(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of a table in batches; at least one batch.

    An object that does not fit, or that lacks a list of the path, is rejected. Raises RawFileError if the
    file is not a JSON list, or if more than a tenth of the objects is rejected.
    """
    options = source.table.json_list
    assert options
    for part in split_list(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES):
        yield _parse(part, source.table, options)


def _parse(elements: Iterable[Element], table: Table, options: JsonList) -> Batch:
    """Convert the rows in some objects, and reject those that do not fit."""
    sources: list[tuple[Element, str]] = []
    rows: list[list[str | None]] = []
    rejects: list[Reject] = []
    for element in elements:
        try:
            value = _parse_object(element.text)
        except MisfitError as misfit:
            rejects.append(element.reject(f"{element.place}{misfit}"))
            continue
        for found in _walk(_Found(element.place, (), value, value), options.path):
            try:
                rows.append(_texts_of(found, table, options))
                sources.append((element, found.place))
            except MisfitError as misfit:
                rejects.append(element.reject(f"{found.place}{misfit}"))
    texts = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    columns = [pa.array(map(_encode, column), pa.binary()) for column in texts]
    converted, faults = convert_rows(columns, table.columns)
    rejects += [sources[at][0].reject(f"{sources[at][1]}{reason}") for at, reason in faults.items()]
    return Batch(converted, tuple(sorted(rejects, key=lambda reject: reject.line)))


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _parse_object(text: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises MisfitError if the text is not a JSON object or is too long."""
    if len(text) > LONGEST_OBJECT_BYTES:
        raise MisfitError(f"longer than {LONGEST_OBJECT_BYTES >> 20} MiB")
    try:
        found = json.loads(
            text.decode(),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=refuse_constant,
            object_pairs_hook=_refuse_repeated_names,
        )
    except UnicodeDecodeError:
        raise MisfitError("invalid UTF-8") from None
    except json.JSONDecodeError as error:
        raise MisfitError(f"not JSON: {error.msg}, at character {error.pos + 1}") from None
    except ValueError as error:
        raise MisfitError(f"not JSON: {error}") from None
    except RecursionError:
        raise MisfitError("JSON that is nested too deeply") from None
    if not isinstance(found, dict):
        raise MisfitError("not a JSON object")
    return found


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MisfitError("an object that has a name twice")
    return found


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


def _texts_of(found: _Found, table: Table, options: JsonList) -> list[str | None]:
    """Return the text of each column, None for a missing value. Raises MisfitError if the object is odd."""
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
    positions = dict(zip(options.positions, found.positions, strict=True))
    return [
        str(positions[column.name])
        if column.name in positions
        else _text_of(
            (found.outermost if column.name in options.outer else found.value).get(column.name), column
        )
        for column in table.columns
    ]


def _text_of(value: Any, column: Column) -> str | None:
    """Return the text of a value. Raises MisfitError for a list or an object in a column of another type."""
    if value is None:
        return None
    # The publisher may also write a list as a string that contains the list.
    if column.type in _JSON_TYPES and (column.type == "JSON" or not isinstance(value, str)):
        try:
            return _dump(value)
        except RecursionError:
            raise MisfitError("JSON that is nested too deeply") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise MisfitError(f"column {column.name} ({column.type}): a list or an object")
    return value


def _dump(value: Any) -> str:
    """Return a value as JSON. Except for spaces and escapes, it equals the text in the file."""
    match value:
        case _Number():
            return str(value)
        case list():
            return f"[{', '.join(map(_dump, value))}]"
        case dict():
            return f"{{{', '.join(f'{_dump(name)}: {_dump(each)}' for name, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def split_list(stream: BinaryIO, file: str, part_bytes: int = CHUNK_BYTES) -> Iterator[list[Element]]:
    """Yield the values in a JSON list, in parts of about `part_bytes`; at least one part, perhaps empty.

    Raises RawFileError, with the line, if the file is not exactly one JSON list or is too long.
    """
    data = stream.read(LONGEST_LIST_BYTES + 1).removeprefix(BYTE_ORDER_MARK)
    text = data.decode(_BYTE_BY_BYTE)
    del data
    if len(text) > LONGEST_LIST_BYTES:
        what = f"the JSON list is longer than {LONGEST_LIST_BYTES >> 20} MiB"
        raise RawFileError(file, what, FETCH_OR_MOVE)
    at, line, number = 0, 1, 0

    def error(what: str, where: int) -> RawFileError:
        after = f", after {_name_object(number)}" if number else ""
        return RawFileError(file, f"{what}{after}", FETCH_FILE_AGAIN, line=line + text.count("\n", at, where))

    def move_to(end: int) -> str:
        """Move to the first character after `end` that is not white space; it is empty at the file's end."""
        nonlocal at, line
        space = _SPACE.match(text, end)
        assert space
        line += text.count("\n", at, space.end())
        at = space.end()
        return text[at : at + 1]

    sign = move_to(0)
    if sign != "[":
        raise error("the file is not a JSON list: it does not begin with a bracket" if sign else _CUT, at)
    part: list[Element] = []
    size = 0
    sign = move_to(at + 1)
    # The parser gets a window of the text, so that it never builds a larger object.
    start, window = 0, text[: 2 * LONGEST_OBJECT_BYTES]
    while sign != "]":
        if at - start > LONGEST_OBJECT_BYTES:
            start, window = at, text[at : at + 2 * LONGEST_OBJECT_BYTES]
        try:
            end = start + _DECODER.raw_decode(window, at - start)[1]
        except json.JSONDecodeError as failure:
            where = start + failure.pos
            is_cut = failure.pos >= len(window.rstrip()) or failure.msg.startswith("Unterminated string")
            what = _CUT if is_cut else f"not JSON: {failure.msg}"
            if start + len(window) < len(text) and (
                is_cut or failure.pos > LONGEST_OBJECT_BYTES + at - start
            ):
                what = f"a value does not end, or is longer than {LONGEST_OBJECT_BYTES >> 20} MiB"
            raise error(what, where) from None
        except RecursionError:
            raise error("JSON that is nested too deeply", at) from None
        number += 1
        part.append(Element(line, text[at:end].encode(_BYTE_BY_BYTE), f"{_name_object(number)}: "))
        size += end - at + _OBJECT_BYTES
        sign = move_to(end)
        if sign == ",":
            move_to(at + 1)
            if size >= part_bytes:
                yield part
                part, size = [], 0
        elif sign != "]":
            missing = "not JSON: a comma, or the closing bracket of the list, is missing"
            raise error(missing if sign else _CUT, at)
    if move_to(at + 1):
        raise error("there is text after the end of the list", at)
    yield part


def _name_object(number: int) -> str:
    # The whole list may be on one line.
    return f"object {number:,} of the list"


READERS = (
    Reader(
        ("jsonl", "ndjson"),
        lambda table, name: name.endswith(".jsonl") and table.wide is None and table.json_list is None,
        lambda source: limit_rejects(read_lines(source), source.name),
        read_names,
        names_fit,
    ),
    # A list has no header, so it belongs to all tables whose file names it matches.
    Reader(
        (),
        lambda table, _: table.json_list is not None,
        lambda source: limit_rejects(read_list(source), source.name),
        None,
        lambda _, __: True,
    ),
)

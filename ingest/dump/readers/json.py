"""Read a JSON list of objects, which may hold the rows of several tables (see `JsonList`).

The texts of an object's values are converted like the fields of a CSV. The list is read into memory, and its
objects are parsed one by one. If it is not valid JSON, for instance because it is truncated, the whole file
is refused: the reader cannot find the start of the next object.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from tracehouse.core.errors import FETCH_FILE_AGAIN, FETCH_OR_MOVE, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.declare.column_types import MISSING, TYPES, TypeName
from tracehouse.ingest.declare.trace import Column, JsonList, Table
from tracehouse.ingest.dump.readers import Batch, Reader, ReaderInput, Reject, limit_rejects
from tracehouse.ingest.dump.readers.lines import BYTE_ORDER_MARK, shown
from tracehouse.ingest.dump.readers.values import convert_rows, without_faults

# Parts are small, because Python's objects take many times, and short numbers a hundred times, the bytes of
# the JSON. Published lists and objects are much shorter than the limits.
CHUNK_BYTES = 1 << 20
LONGEST_LIST_BYTES = 512 << 20
LONGEST_OBJECT_BYTES = 4 << 20

_OBJECT_BYTES = 100
# Only finds the end of a value.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_SPACE = re.compile(r"[ \t\r\n]*")
_CUT = "the file ends before its list does: it is truncated"
# In this encoding, each byte is one character, so that positions in the text are positions in the file. The
# syntax of JSON is ASCII.
_BYTE_BY_BYTE = "latin-1"


class _Number(str):
    """The text of a number: Python refuses to convert integers of more than 4,300 digits."""


class Element(NamedTuple):
    """An object in a file: its first line, its text, and its name in messages."""

    line: int
    text: bytes
    place: str


class MisfitError(Exception):
    """An object that does not fit its table; the message is the reason."""


class _Row(NamedTuple):
    """An object at the end of a table's path of lists, or a MisfitError that says why there is none.

    `place` identifies it in messages, and `positions` are its positions in the lists.
    """

    place: str
    positions: tuple[int, ...]
    value: Any


class _Rows(NamedTuple):
    """The rows of a table in some objects that fit, and the reason for each row that does not.

    `places` has the position of each row's object, and its name in messages, and `misfits` the position of
    the object of each reason.
    """

    rows: pa.Table
    places: list[tuple[int, str]]
    misfits: list[tuple[int, str]]


def read(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of a table in batches; at least one batch.

    All rows of an object are rejected if one of them does not fit, in this or in one of the other tables of
    the file, or if the object lacks a list of the path. Raises RawFileError if the file is not a JSON list,
    or if more than a tenth of the rows is rejected.
    """
    parts = split_list(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES)
    batches = (parse(part, source.table, source.tables_of_file) for part in parts)
    yield from limit_rejects(batches, source.name)


def parse(elements: Iterable[Element], table: Table, others: Iterable[Table] = ()) -> Batch:
    """Convert the rows in some objects, and reject those of objects that do not fit all tables."""
    elements = list(elements)
    objects = [_parse_object(element.text) for element in elements]
    own = _convert(objects, table)
    misfits = [*own.misfits, *(misfit for other in others for misfit in _convert(objects, other).misfits)]
    reasons = dict(reversed(misfits))
    together = {
        row: f"{place}rejected with its object: {reasons[at]}"
        for row, (at, place) in enumerate(own.places)
        if at in reasons
    }
    rejected = own.misfits + [(own.places[row][0], reason) for row, reason in together.items()]
    rejects = [
        Reject(elements[at].line, f"{elements[at].place}{reason}", decode_text(elements[at].text))
        for at, reason in rejected
    ]
    rejects.sort(key=lambda reject: reject.line)
    return Batch(without_faults(own.rows, together), tuple(rejects))


def _convert(objects: Iterable[dict[str, Any] | MisfitError], table: Table) -> _Rows:
    options = table.json_list or JsonList()
    places: list[tuple[int, str]] = []
    misfits: list[tuple[int, str]] = []
    texts: list[list[str | None]] = []
    for at, outermost in enumerate(objects):
        if isinstance(outermost, MisfitError):
            misfits.append((at, str(outermost)))
            continue
        for row in _walk(_Row("", (), outermost), options.path):
            try:
                texts.append(_texts_of(row, outermost, table, options))
                places.append((at, row.place))
            except MisfitError as misfit:
                misfits.append((at, f"{row.place}{misfit}"))
    columns = zip(*texts, strict=True) if texts else [()] * len(table.columns)
    rows, faults = convert_rows(
        [pa.array(map(_encode, column), pa.binary()) for column in columns], table.columns
    )
    misfits += [(places[row][0], f"{places[row][1]}{reason}") for row, reason in faults.items()]
    return _Rows(rows, [place for row, place in enumerate(places) if row not in faults], misfits)


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _parse_object(text: bytes) -> dict[str, Any] | MisfitError:
    """Parse a JSON object. Returns a MisfitError if the text is not a JSON object or is too long."""
    if len(text) > LONGEST_OBJECT_BYTES:
        return MisfitError(f"longer than {LONGEST_OBJECT_BYTES >> 20} MiB")
    try:
        found = json.loads(
            text.decode(),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeated_names,
        )
    except MisfitError as misfit:
        return misfit
    except UnicodeDecodeError:
        return MisfitError("invalid UTF-8")
    except json.JSONDecodeError as error:
        return MisfitError(f"not JSON: {error.msg}, at character {error.colno}")
    except RecursionError:
        return MisfitError("JSON that is nested too deeply")
    return found if isinstance(found, dict) else MisfitError("not a JSON object")


def _refuse_constant(word: str) -> None:
    """Raise MisfitError for NaN, Infinity and -Infinity, which Python's parser accepts but JSON lacks."""
    raise MisfitError(f"not JSON: {word} is not JSON")


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MisfitError("an object that has a name twice")
    return found


def _walk(outer: _Row, path: Sequence[str]) -> Iterator[_Row]:
    """Yield the objects at the end of a path of nested lists, and the reason for each one that is missing."""
    if not isinstance(outer.value, dict):
        yield outer._replace(value=MisfitError("not a JSON object"))
    elif not path:
        yield outer
    elif isinstance(listed := outer.value.get(path[0]), list):
        for number, value in enumerate(listed, start=1):
            place = f"{outer.place}{path[0]} {number}: "
            yield from _walk(_Row(place, (*outer.positions, number), value), path[1:])
    else:
        yield outer._replace(value=MisfitError(f"no list {path[0]}"))


def _texts_of(row: _Row, outermost: dict[str, Any], table: Table, options: JsonList) -> list[str | None]:
    """Return the text of each column, None for a missing value. Raises MisfitError if the object is odd."""
    if isinstance(row.value, MisfitError):
        raise row.value
    own = [column for column in table.columns if column.name not in (*options.positions, *options.outer)]
    missing = [c.name for c in own if c.name not in row.value and c.name not in table.optional]
    if missing:
        raise MisfitError(f"no value for {missing[0]}")
    unknown = row.value.keys() - {column.name for column in own} - set(options.other_lists)
    if unknown:
        keys = f"key{'s' * (len(unknown) > 1)} {shown(sorted(unknown), ', ')}"
        raise MisfitError(f"the {keys}, which the publisher's file lacks")
    values = row.value | {name: outermost.get(name) for name in options.outer}
    values |= dict(zip(options.positions, map(str, row.positions), strict=True))
    return [_text_of(values.get(column.name), column) for column in table.columns]


def _text_of(value: Any, column: Column) -> str | None:
    """Return the text of a value. Raises MisfitError for a list or an object in a column of another type."""
    if column.type in _ELEMENTS:
        return _text_of_list(value, column)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is not None and not isinstance(value, str):
        raise MisfitError(f"column {column.name} ({column.type}): a list or an object")
    return value


def _text_of_list(value: Any, column: Column) -> str | None:
    """Return the text of a list, or of a missing value. Raises MisfitError for other values and elements.

    In the text of a list, a text that consists of digits and commas would become numbers.
    """
    if value is None or (isinstance(value, str) and value in (*column.null_texts, *MISSING)):
        return value
    if not isinstance(value, list) or not all(map(_ELEMENTS[column.type], value)):
        written = TYPES[column.type].written
        raise MisfitError(f"column {column.name} ({column.type}): not {written}")
    return f"[{', '.join(value)}]" if column.type == "BIGINT[]" else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, _Number)


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not _is_number(value))


# The test of an element of a list.
_ELEMENTS: dict[TypeName, Callable[[Any], bool]] = {"VARCHAR[]": _is_text, "BIGINT[]": _is_number}


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


READER = Reader(read)

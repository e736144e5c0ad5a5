"""Parse JSON objects, and convert their values to rows of a table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tracehouse.core.text import decode_text
from tracehouse.ingest.column_types import refuse_constant
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Batch, Reject
from tracehouse.ingest.readers.values import convert_rows

# Python's objects take a hundred times the bytes of short numbers in JSON. Published objects are much shorter
# than this limit.
LONGEST_OBJECT_BYTES = 4 << 20
_JSON_TYPES = ("JSON", "VARCHAR[]", "BIGINT[]", "DOUBLE[]")

Texts = list[str | None]
"""A text for each column of a table; None for a missing value."""


class _Number(str):
    """The text of a number in the file, with all digits."""

    __slots__ = ()


class MisfitError(Exception):
    """An object that does not fit its table; the message is the reason."""


@dataclass(frozen=True)
class Row:
    """A row before conversion: its line, the text of the line or object, and the text of each column's value.

    `place` identifies the object in messages if several objects begin on one line.
    """

    line: int
    record: bytes
    texts: Texts
    place: str = ""


def build_batch(rows: Sequence[Row], rejects: Sequence[Reject], table: Table) -> Batch:
    """Return the converted rows, and a reject for each row that does not fit, in addition to `rejects`."""
    columns = [
        pa.array([_encode(row.texts[place]) for row in rows], pa.binary())
        for place in range(len(table.columns))
    ]
    converted, faults = convert_rows(columns, table.columns)
    unfit = [
        Reject(rows[place].line, f"{rows[place].place}{reason}", decode_text(rows[place].record))
        for place, reason in faults.items()
    ]
    return Batch(converted, tuple(sorted([*rejects, *unfit], key=lambda reject: reject.line)))


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def text_of(value: Any, column: Column) -> str | None:
    """Return the text of a column's value, None if it is null.

    Raises MisfitError for a list or an object unless the column has such a type.
    """
    if value is None:
        return None
    # The publisher may also write a list as a string that contains the list.
    if column.type in _JSON_TYPES and (column.type == "JSON" or not isinstance(value, str)):
        try:
            return _dump(value)
        except RecursionError:
            raise _too_deep() from None
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


def parse_object(record: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises MisfitError if the text is not a JSON object or is too long."""
    if len(record) > LONGEST_OBJECT_BYTES:
        raise MisfitError(f"longer than {LONGEST_OBJECT_BYTES >> 20} MiB")
    try:
        found = json.loads(
            record.decode(),
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
        raise _too_deep() from None
    if not isinstance(found, dict):
        raise MisfitError("not a JSON object")
    return found


def _too_deep() -> MisfitError:
    return MisfitError("JSON that is nested too deeply")


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MisfitError("an object that has a name twice")
    return found

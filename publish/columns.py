"""The columns of an answer: names and types, queries that convert them, and values as texts."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.binding import BoundQuery

_ROWS_AT_ONCE = 10_000
# Types of values that Python gets without a cast to text.
_PLAIN = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|BOOLEAN")
_WIDE_INTEGERS = re.compile(r"U?HUGEINT|BIGNUM")
_NUMBERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\)")
_NOT_TEXTS = re.compile(r"BOOLEAN|DATE|TIME.*|DECIMAL.*")


def columns_of(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> list[tuple[str, str]]:
    """The name and type of each column of an answer, without computing it."""
    # The statement starts on the first line, so that the line numbers of errors are right.
    try:
        found = connection.execute(f"from ({query.sql}\n) limit 0", dict(query.values)).description
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    return [(column[0], str(column[1])) for column in found or ()]


def selecting(query: BoundQuery, columns: Sequence[tuple[str, str]], values: Sequence[str]) -> BoundQuery:
    """A query that computes new columns from the columns of a query.

    `columns` has the new names, and `values` the SQL of each, where c0, c1 and so on are the old columns.
    """
    listed = ", ".join(
        f"{value} as {_identifier(name)}" for (name, _), value in zip(columns, values, strict=True)
    )
    aliases = ", ".join(f"c{index}" for index in range(len(columns)))
    return BoundQuery(f"select {listed} from ({query.sql}\n) as answer({aliases})", query.values)


def converting(
    query: BoundQuery, columns: Sequence[tuple[str, str]], convert: Callable[[str, str], str]
) -> BoundQuery:
    """A query with converted values. `convert` gets the SQL of a value and its type, and returns new SQL."""
    values = [convert(f"c{index}", kind) for index, (_, kind) in enumerate(columns)]
    is_same = all(value == f"c{index}" for index, value in enumerate(values))
    return query if is_same else selecting(query, columns, values)


def as_texts(query: BoundQuery, columns: Sequence[tuple[str, str]]) -> BoundQuery:
    """A query with all values cast to text, except plain numbers, texts and booleans.

    Python cannot represent infinite dates, the year 0 and the time 24:00.
    """
    values = [
        f"c{index}" if _PLAIN.fullmatch(kind) else f"cast(c{index} as varchar)"
        for index, (_, kind) in enumerate(columns)
    ]
    return selecting(query, columns, values)


def rows_of(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, columns: Sequence[tuple[str, str]]
) -> Iterator[Sequence[Any]]:
    """The rows of an answer, with values as in `as_texts`. `columns` are its names and types."""
    texts = as_texts(query, columns)
    try:
        result = connection.execute(texts.sql, dict(texts.values))
        while rows := result.fetchmany(_ROWS_AT_ONCE):
            yield from rows
    except duckdb.Error as error:
        raise UserError(str(error)) from None


def is_number(kind: str) -> bool:
    """Whether a type is numeric."""
    return bool(_NUMBERS.fullmatch(kind))


def is_wide_integer(kind: str) -> bool:
    """Whether a type is an integer of more than 64 bits."""
    return bool(_WIDE_INTEGERS.fullmatch(kind))


def may_be_text(kind: str) -> bool:
    """Whether a type is neither boolean nor numeric nor a date or time, such as texts and lists."""
    return not (is_number(kind) or _NOT_TEXTS.fullmatch(kind))


def exact(value: Any) -> str:
    """A value as a text, with NULL and booleans as in SQL."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)


def rounded(value: float, thousands: str = "") -> str:
    """A finite number with about seven digits and at most four decimals, and a separator of thousands."""
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    decimals = max(1, min(4, 7 - len(str(int(abs(value))))))
    return f"{value:{thousands}.{decimals}f}".rstrip("0").rstrip(".")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""The columns of an answer: names and types, queries that convert them, and values as texts."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb

from tracehouse.core.text import identifier
from tracehouse.definitions.units import is_number
from tracehouse.engines.duckdb.read.binding import BoundQuery

_ROWS_AT_ONCE = 10_000
# Types of values that Python gets without a cast to text.
_PLAIN = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|BOOLEAN")
_NOT_TEXTS = re.compile(r"BOOLEAN|DATE|TIME.*|DECIMAL.*")

Columns = Sequence[tuple[str, str]]


def columns_of(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> list[tuple[str, str]]:
    """The name and type of each column of an answer, without computing it."""
    # The statement starts on the first line, so that the line numbers of errors are right.
    found = connection.execute(f"from ({query.sql}\n) limit 0", dict(query.values)).description
    return [(column[0], str(column[1])) for column in found or ()]


def convert_columns(
    query: BoundQuery, columns: Columns, convert: Callable[[str, str], str], names: Sequence[str] = ()
) -> BoundQuery:
    """A query with converted values, and with new names if there are any.

    `columns` are its names and types. `convert` gets the SQL of a value and its type, and returns new SQL.
    """
    names = names or [name for name, _ in columns]
    values = [convert(f"c{index}", kind) for index, (_, kind) in enumerate(columns)]
    aliases = [f"c{index}" for index in range(len(columns))]
    if values == aliases and names == [name for name, _ in columns]:
        return query
    listed = ", ".join(f"{value} as {identifier(name)}" for name, value in zip(names, values, strict=True))
    return BoundQuery(f"select {listed} from ({query.sql}\n) as answer({', '.join(aliases)})", query.values)


def rows_of(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, columns: Columns
) -> Iterator[Sequence[Any]]:
    """The rows of an answer. `columns` are its names and types.

    All values are texts, except plain numbers, texts and booleans: Python cannot represent infinite dates,
    the year 0 and the time 24:00.
    """
    texts = convert_columns(
        query, columns, lambda value, kind: value if _PLAIN.fullmatch(kind) else f"cast({value} as varchar)"
    )
    result = connection.execute(texts.sql, dict(texts.values))
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield from rows


def explain_limit(query: BoundQuery) -> str:
    """Which rows the limit of a query omits; empty if it omits none."""
    return f"{query.cut} (--limit {query.limit})" if query.cut else ""


def may_be_text(kind: str) -> bool:
    """Whether a type is neither boolean nor numeric nor a date or time, such as texts and lists."""
    return not (is_number(kind) or _NOT_TEXTS.fullmatch(kind))


def format_exact(value: Any) -> str:
    """A value as a text, with NULL and booleans as in SQL."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)

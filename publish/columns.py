"""The columns of an answer: their names and types, questions for other columns, and values as texts."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.answer import Question

_ROWS_AT_ONCE = 10_000
_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)")
_WIDE_INTEGERS = re.compile(r"U?HUGEINT|BIGNUM")
_FLOATS = re.compile(r"FLOAT|DOUBLE")
_DECIMALS = re.compile(r"DECIMAL\(.*\)")
_TEXTS = re.compile(r"VARCHAR|BOOLEAN")
_NO_TEXTS = re.compile(
    r"BOOLEAN|DATE|TIME.*|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL.*"
)


def columns_of(connection: duckdb.DuckDBPyConnection, question: Question) -> list[tuple[str, str]]:
    """The name and the type of each column of an answer, which is not computed for that."""
    # On the same line, as an error names the line.
    try:
        found = connection.execute(f"from ({question.sql}\n) limit 0", dict(question.values)).description
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    return [(column[0], str(column[1])) for column in found or ()]


def selecting(question: Question, columns: Sequence[tuple[str, str]], values: Sequence[str]) -> Question:
    """A question with other columns: each a name, and SQL in which the columns are c0, c1 and so on."""
    listed = ", ".join(
        f"{value} as {_identifier(name)}" for (name, _), value in zip(columns, values, strict=True)
    )
    places = ", ".join(f"c{place}" for place in range(len(columns)))
    return Question(f"select {listed} from ({question.sql}\n) as answer({places})", question.values)


def as_texts(question: Question, columns: Sequence[tuple[str, str]]) -> Question:
    """A question whose values are texts, as DuckDB writes them, but for plain numbers and truth values.

    Python has no infinite date, no year 0 and no time of 24:00.
    """
    values = [
        f"c{place}"
        if any(plain.fullmatch(kind) for plain in (_INTEGERS, _FLOATS, _TEXTS))
        else f"cast(c{place} as varchar)"
        for place, (_, kind) in enumerate(columns)
    ]
    return selecting(question, columns, values)


def rows_of(
    connection: duckdb.DuckDBPyConnection, question: Question, columns: Sequence[tuple[str, str]]
) -> Iterator[Sequence[Any]]:
    """The rows of an answer, whose columns are given, with values as `as_texts` has them."""
    texts = as_texts(question, columns)
    try:
        asked = connection.execute(texts.sql, dict(texts.values))
        while rows := asked.fetchmany(_ROWS_AT_ONCE):
            yield from rows
    except duckdb.Error as error:
        raise UserError(str(error)) from None


def is_number(kind: str) -> bool:
    """Whether a type is one of numbers."""
    return any(number.fullmatch(kind) for number in (_INTEGERS, _WIDE_INTEGERS, _FLOATS, _DECIMALS))


def is_wide_integer(kind: str) -> bool:
    """Whether a type is one of integers that 64 bits may not hold."""
    return bool(_WIDE_INTEGERS.fullmatch(kind))


def may_be_text(kind: str) -> bool:
    """Whether values of a type are texts, or are made of several values."""
    return not _NO_TEXTS.fullmatch(kind)


def exact(value: Any) -> str:
    """A value as a text, also on an axis or as a parameter: NULL and truth values as in SQL."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

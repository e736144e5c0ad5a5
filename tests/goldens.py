"""Answers over `tests/fixture` as text: one file per schema, with statements and their rows.

A statement is a line that begins with ``from``. The lines below it are indented: the columns with their
types, rows in the order of the answer (rows of a view are sorted), and the number of rows. Of a long answer
the file has the first rows and a checksum of all.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import duckdb

FOLDER = Path(__file__).with_name("goldens")
SHOWN_ROWS = 12
# DuckDB 2 and other engines decide ties of `round` differently: 11.415 becomes 11.41 or 11.42.
ROUNDED = ("from acme.metric_histogram_v1", "from acme.metric_cdf_v1")


def statements(text: str) -> list[str]:
    """Return the statements of a golden file."""
    return [line for line in text.splitlines() if line.startswith("from ")]


def answers(text: str) -> dict[str, str]:
    """Return the expected answer of each statement of a golden file."""
    found: dict[str, str] = {}
    for line in text.splitlines(keepends=True):
        if line.startswith("from "):
            statement = line.strip()
            found[statement] = ""
        elif line.strip():
            found[statement] += line
    return found


def page(found: dict[str, str]) -> str:
    """Return the text of a golden file."""
    return "\n".join(f"{statement}\n{answer}" for statement, answer in sorted(found.items()))


@dataclass(frozen=True)
class Answer:
    """The names and types of the columns of an answer, and its rows."""

    names: Sequence[str]
    types: Sequence[str]
    rows: Sequence[tuple]


def run(connection: duckdb.DuckDBPyConnection, statement: str) -> Answer:
    """Run a statement."""
    # Not a relation, which DuckDB plans once for its types and again for its rows.
    executed = connection.execute(statement)
    names, types = zip(*((name, str(kind)) for name, kind, *_ in executed.description), strict=True)
    return Answer(names, types, executed.fetchall())


def answer(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Run a statement and return its columns and rows as text."""
    return as_text(statement, run(connection, statement))


def as_text(statement: str, answered: Answer) -> str:
    """Return the columns and rows of an answer as text."""
    columns = [f"{name} {kind}".lower() for name, kind in zip(answered.names, answered.types, strict=True)]
    rows = [" | ".join(map(_text, row)) for row in answered.rows]
    if "(" not in statement:
        rows.sort()
    number = f"{len(rows)} rows"
    if len(rows) > SHOWN_ROWS:
        number += f", sha256 {hashlib.sha256(chr(10).join(rows).encode()).hexdigest()[:16]}"
    return _indented([" | ".join(columns), *rows[:SHOWN_ROWS], f"({number})"])


def all_answers() -> dict[str, str]:
    """Return the expected answers of all golden files."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
    return {statement: expected for text in texts for statement, expected in answers(text).items()}


def differences(connection: duckdb.DuckDBPyConnection, schemas: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the statements whose answer is not the golden one, with the answer. Default: of all schemas."""
    connection.execute("set timezone = 'UTC'")
    found = []
    for statement, expected in all_answers().items():
        if schemas and not any(f" {schema}." in statement for schema in schemas):
            continue
        try:
            text = answer(connection, statement)
        except duckdb.Error as error:
            text = f"{type(error).__name__}: {error}"
        if text != expected:
            found.append((statement, text))
    return found


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value).replace("\n", "\\n")

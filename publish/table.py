"""Shows an answer to people: as a table that fits the terminal, or as records, a line for each value.

A number, a date or a time is shown whole or not at all. Texts are cut, with … for the rest; and where that is
not enough, columns in the middle are left out, and how many is said below.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import duckdb
from rich.cells import cell_len, set_cell_size

from tracehouse.core.terminal import shown
from tracehouse.engines.duckdb.read.answer import Question, said_of_cut
from tracehouse.publish.columns import columns_of, exact, is_number, may_be_text, rows_of

TABLE_ROWS = 200

_BETWEEN = "   "
_MORE = "…"
# To how many letters a text may be cut before columns are left out.
_LEAST_TEXT = 16
# Bold and dim, by the numbers that terminals know them by.
_HEADING, _NOTHING = "1", "2"


@dataclass(frozen=True)
class Look:
    """How an answer is shown.

    `width` is that of the terminal; without one, nothing is cut or left out. `most_rows` is how many are
    shown, None for all. `only` names the columns that are shown while there is a width.
    """

    width: int | None = None
    has_styles: bool = False
    most_rows: int | None = TABLE_ROWS
    only: Sequence[str] = ()


@dataclass(frozen=True)
class _Column:
    """A column as it is shown; `least` is the width that it may be cut to."""

    name: str
    kind: str
    cells: Sequence[str]
    nulls: frozenset[int]
    width: int
    least: int


def terminal_width() -> int:
    """How many letters a line of the terminal holds."""
    return shutil.get_terminal_size().columns


def table(connection: duckdb.DuckDBPyConnection, question: Question, look: Look) -> tuple[int, Iterator[str]]:
    """How many rows an answer has, and its lines as a table, with one below that says so."""
    kinds = columns_of(connection, question)
    rows, total = _rows(connection, question, kinds, look.most_rows)
    return total, _as_table(kinds, rows, _count(len(rows), total, question), look)


def _as_table(
    kinds: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], count: str, look: Look
) -> Iterator[str]:
    columns = [_column(name, kind, [row[place] for row in rows]) for place, (name, kind) in enumerate(kinds)]
    fitting = columns if look.width is None else _fitted(columns, look)
    paint = _painter(look)
    yield " " + _BETWEEN.join(paint(_padded(column.name, column), _HEADING) for column in fitting).rstrip()
    yield " " + "─" * _width(fitting)
    cut = any(cell_len(cell) > column.width for column in fitting for cell in column.cells)
    for place in range(len(rows)):
        cells = (
            paint(_padded(column.cells[place], column), _NOTHING if place in column.nulls else "")
            for column in fitting
        )
        yield f" {_BETWEEN.join(cells)}".rstrip()
    yield ""
    yield count
    left_out = len(columns) - sum(column.name != _MORE for column in fitting)
    losses = [f"{left_out} of {len(columns)} columns left out"] * bool(left_out) + ["texts cut"] * cut
    if losses:
        yield f"{', '.join(losses)}: --wide or --records shows all"


def records(
    connection: duckdb.DuckDBPyConnection, question: Question, look: Look
) -> tuple[int, Iterator[str]]:
    """How many rows an answer has, and its lines as records: for each row its number, and a line a value."""
    kinds = columns_of(connection, question)
    rows, total = _rows(connection, question, kinds, look.most_rows)
    return total, _as_records(kinds, rows, _count(len(rows), total, question), look)


def _as_records(
    kinds: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], count: str, look: Look
) -> Iterator[str]:
    names = [_on_a_line(name) for name, _ in kinds]
    widest = max(map(cell_len, names))
    paint = _painter(look)
    wrapped = _wrapping()
    if not rows:
        yield f"columns: {', '.join(names)}"
    for number, row in enumerate(rows, 1):
        yield paint(f"─[ {number:,} ]".ljust(widest + 1, "─") + "┬" + "─" * 20, _HEADING)
        for name, (_, kind), value in zip(names, kinds, row, strict=True):
            lines = shown(_short(value)).split("\n")
            if look.width and may_be_text(kind):
                room = max(_LEAST_TEXT, look.width - widest - 3)
                lines = [part for line in lines for part in wrapped(line, room)] or [""]
            for left, line in zip((name, *[""] * len(lines)), lines, strict=False):
                text = paint(line, _NOTHING) if value is None else line
                yield f"{set_cell_size(left, widest)} │ {text}".rstrip()
    yield ""
    yield count


def _rows(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    kinds: Sequence[tuple[str, str]],
    most: int | None,
) -> tuple[list[Sequence[Any]], int]:
    """The first rows of an answer, and how many it has."""
    if most is not None and question.is_relation:
        first = replace(question, sql=f"from ({question.sql}\n) limit {most}")
        kept = list(rows_of(connection, first, kinds))
        return kept, len(kept) if len(kept) < most else _count_of(connection, question)
    rows = rows_of(connection, question, kinds)
    kept = list(islice(rows, most))
    return kept, len(kept) + sum(1 for _ in rows)


def _count_of(connection: duckdb.DuckDBPyConnection, question: Question) -> int:
    [(rows,)] = connection.execute(f"select count(*) from ({question.sql}\n)", question.values).fetchall()
    return int(rows)


def _column(name: str, kind: str, values: Sequence[Any]) -> _Column:
    cells = [_on_a_line(_short(value)) for value in values]
    heading = _on_a_line(name)
    width = max(map(cell_len, (heading, *cells)))
    least = min(width, max(cell_len(heading), _LEAST_TEXT)) if may_be_text(kind) else width
    nulls = frozenset(place for place, value in enumerate(values) if value is None)
    return _Column(heading, kind, cells, nulls, width, least)


def _fitted(columns: Sequence[_Column], look: Look) -> list[_Column]:
    """What of the columns a terminal has room for: first texts become narrower, then columns go."""
    assert look.width is not None
    room = look.width - 1
    fitting = [column for column in columns if not look.only or column.name in look.only]
    # What rows are called stays whole, where that leaves room for what they are.
    whole = replace(fitting[0], least=max(fitting[0].least, min(fitting[0].width, room // 2)))
    if not look.only or _width([whole, *fitting[1:]], "least") <= room:
        fitting[0] = whole
    gap = _Column(_MORE, "VARCHAR", [_MORE] * len(columns[0].cells), frozenset(), 1, 1)
    left_out = False
    while len(fitting) > 1 + left_out and _width(fitting, "least") > room:
        middle = len(fitting) // 2
        if not left_out:
            fitting[middle] = gap
        else:
            # The gap stays in the middle: what is beside it goes, and the first column last.
            place = fitting.index(gap)
            fitting.pop(place + 1 if place <= len(fitting) - place - 1 else place - 1)
        left_out = True
    widths = [min(column.width, max(column.least, room)) for column in fitting]
    while sum(widths) + len(_BETWEEN) * (len(widths) - 1) > room:
        to_cut = [place for place, column in enumerate(fitting) if widths[place] > column.least]
        if not to_cut:
            break
        widths[max(to_cut, key=lambda place: widths[place])] -= 1
    return [replace(column, width=width) for column, width in zip(fitting, widths, strict=True)]


def _width(columns: Sequence[_Column], which: str = "width") -> int:
    return sum(getattr(column, which) for column in columns) + len(_BETWEEN) * (len(columns) - 1)


def _padded(text: str, column: _Column) -> str:
    """A text in the width of its column, cut or filled up; numbers stand on the right."""
    if (missing := column.width - cell_len(text)) >= 0:
        return " " * missing + text if is_number(column.kind) else text + " " * missing
    kept = set_cell_size(text, column.width - 1)
    if not column.kind.startswith("VARCHAR") or column.kind.endswith("]"):
        # Among several values may be numbers, and half of one would be another.
        kept = kept[: kept.rfind(",") + 1]
    return set_cell_size(kept.rstrip() + _MORE, column.width)


def _painter(look: Look) -> Callable[[str, str], str]:
    has_styles = look.has_styles and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return lambda text, style: f"\x1b[{style}m{text}\x1b[0m" if text and style and has_styles else text


def _wrapping() -> Callable[[str, int], list[str]]:
    """What breaks a line into lines that are so wide at most."""
    # Where it is used, as a table needs none of it.
    from rich.console import Console
    from rich.text import Text

    console = Console()
    return lambda line, width: [str(part).rstrip() for part in Text(line).wrap(console, width)]


def _count(shown_rows: int, total: int, question: Question) -> str:
    count = f"{total:,} row{'' if total == 1 else 's'}"
    if total > shown_rows:
        count = f"{shown_rows:,} of {total:,} rows; --format csv, or --output FILE, gives all"
    return "; ".join(filter(None, [count, said_of_cut(question)]))


def _on_a_line(text: str) -> str:
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")


def _short(value: Any) -> str:
    """A value for display: a float is rounded to about seven digits, at most four of them decimals."""
    if not isinstance(value, float) or value != value or value in (float("inf"), -float("inf")):
        return exact(value)
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    places = max(1, min(4, 7 - len(str(int(abs(value))))))
    return f"{value:.{places}f}".rstrip("0").rstrip(".")

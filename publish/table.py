"""Lay out an answer as a table that fits the terminal, or as records with a line per value.

Texts are truncated with …; numbers, dates and times never are. If the table is still too wide, columns are
hidden: first the columns in the middle, last medians, keys and measures. A footer names the hidden columns,
and those that have no value. A single row is laid out as a record instead.
"""

import math
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import Any

import duckdb
from rich.cells import cell_len, set_cell_size

from tracehouse.core.text import escape_text, join_names
from tracehouse.definitions.units import is_number
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.publish.columns import (
    Columns,
    columns_of,
    explain_limit,
    format_exact,
    may_be_text,
    rows_of,
)

TABLE_ROWS = 200

_BETWEEN = "   "
_MORE = "…"
# Numbers whose largest is at most this many times the smallest have the same number of decimals.
_ONE_MAGNITUDE = 1_000
# Smaller numbers are shown as 1.234e-05.
_LEAST_ROUNDED = 0.001
# Numbers without thousands separators.
_IDENTIFIER = re.compile(r"(.*_)?(id|year|version)")
_MOST_NAMES = 5
# Texts are truncated to this width before columns are hidden.
_LEAST_TEXT = 16
# Shares of rows that other numbers do not show.
_TELLING = ("known_pct", "never_started_pct", "censored_pct")
# The ANSI codes for bold and dim.
_HEADING, _NULL = "1", "2"


@dataclass(frozen=True)
class TableStyle:
    """The style of a table.

    `width` is the width of the terminal; with None, nothing is truncated or hidden. `most_rows` is the number
    of rows to show, None for all. `only` names the columns to show if there is a width, the longest texts
    last. `first` names the columns to hide last, the most important first.
    """

    width: int | None = None
    has_styles: bool = False
    most_rows: int | None = TABLE_ROWS
    only: Sequence[str] = ()
    first: Sequence[str] = ()

    def paint(self, text: str, code: str) -> str:
        """The text in an ANSI style, if there are styles."""
        is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        return f"\x1b[{code}m{text}\x1b[0m" if text and self.has_styles and not is_dumb else text


@dataclass(frozen=True)
class _Column:
    """A column of the table; `least` is the width that it may be truncated to."""

    name: str
    kind: str
    cells: Sequence[str]
    nulls: frozenset[int]
    width: int
    least: int


def table(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, style: TableStyle, as_records: bool = False
) -> tuple[int, Iterator[str]]:
    """The number of rows of an answer, and its lines as a table with a footer.

    Records have a line per value below the row number.
    """
    kinds = columns_of(connection, query)
    rows, total = _read_rows(connection, query, kinds, style.most_rows)
    lay_out = _lay_out_records if as_records else _lay_out_table
    return total, lay_out(kinds, rows, _count(len(rows), total, query), style)


def _lay_out_table(
    kinds: Columns, rows: Sequence[Sequence[Any]], count: str, style: TableStyle
) -> Iterator[str]:
    columns = [_column(name, kind, [row[index] for row in rows]) for index, (name, kind) in enumerate(kinds)]
    empty = (
        [] if style.width is None else [column.name for column in columns if len(column.nulls) == len(rows)]
    )
    if not rows or len(empty) == len(columns):
        empty = []
    columns = [column for column in columns if column.name not in empty]
    fitting = columns if style.width is None else _fit(columns, style, style.width - 1)
    shown = {column.name for column in fitting}
    hidden = [column.name for column in columns if column.name not in shown]
    if hidden and len(rows) == 1 and not style.only:
        yield from _lay_out_records(kinds, rows, count, style)
        return
    names = (style.paint(_pad(column.name, column), _HEADING) for column in fitting)
    yield f" {_BETWEEN.join(names)}".rstrip()
    yield " " + "─" * _width(fitting)
    for index in range(len(rows)):
        cells = [_pad(column.cells[index], column) for column in fitting]
        are_null = [index in column.nulls for column in fitting]
        painted = [
            style.paint(cell, _NULL) if null else cell for cell, null in zip(cells, are_null, strict=True)
        ]
        yield f" {_BETWEEN.join(painted)}".rstrip()
    footer = ["", count]
    if empty:
        footer.append(f"no values in {join_names(empty, _MOST_NAMES)}")
    losses = []
    if hidden:
        listed = join_names(hidden, _MOST_NAMES)
        losses = [f"{len(hidden)} of {len(columns)} columns hidden ({listed})"]
    if any(cell_len(cell) > column.width for column in fitting for cell in column.cells):
        losses.append("texts truncated")
    if losses:
        footer.append(f"{', '.join(losses)}; show all with --wide or --records")
    for text in footer:
        is_wrapped = style.width and text
        yield from textwrap.wrap(text, style.width or 0, break_on_hyphens=False) if is_wrapped else [text]


def _lay_out_records(
    kinds: Columns, rows: Sequence[Sequence[Any]], count: str, style: TableStyle
) -> Iterator[str]:
    # Imported here, because only records need it.
    from rich.console import Console
    from rich.text import Text

    console = Console()
    names = [_on_a_line(name) for name, _ in kinds]
    widest = max(map(cell_len, names))
    if not rows:
        yield f"columns: {', '.join(names)}"
    for number, row in enumerate(rows, 1):
        yield style.paint(f"─[ {number:,} ]".ljust(widest + 1, "─") + "┬" + "─" * 20, _HEADING)
        for name, (_, kind), value in zip(names, kinds, row, strict=True):
            lines = escape_text(short_text(_number(value) if is_number(kind) else value)).split("\n")
            if style.width and may_be_text(kind):
                available = max(_LEAST_TEXT, style.width - widest - 3)
                wrapped = [part for line in lines for part in Text(line).wrap(console, available)]
                lines = [str(part).rstrip() for part in wrapped] or [""]
            for left, line in zip((name, *[""] * len(lines)), lines, strict=False):
                text = style.paint(line, _NULL) if value is None else line
                yield f"{set_cell_size(left, widest)} │ {text}".rstrip()
    yield from ("", count)


def _read_rows(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, kinds: Columns, most: int | None
) -> tuple[list[Sequence[Any]], int]:
    """The first rows of an answer, and the number of all its rows."""
    if most is not None and query.is_relation:
        first = replace(query, sql=f"from ({query.sql}\n) limit {most}")
        kept = list(rows_of(connection, first, kinds))
        if len(kept) < most:
            return kept, len(kept)
        [(total,)] = connection.execute(f"select count(*) from ({query.sql}\n)", query.values).fetchall()
        return kept, int(total)
    rows = rows_of(connection, query, kinds)
    kept = list(islice(rows, most))
    return kept, len(kept) + sum(1 for _ in rows)


def _column(name: str, kind: str, values: Sequence[Any]) -> _Column:
    if is_number(kind):
        cells = _align_numbers(name, [_number(value) for value in values])
    else:
        cells = [_on_a_line(short_text(value)) for value in values]
    heading = _on_a_line(name)
    width = max(map(cell_len, (heading, *cells)))
    least = min(width, max(cell_len(heading), _LEAST_TEXT)) if may_be_text(kind) else width
    nulls = frozenset(index for index, value in enumerate(values) if value is None)
    return _Column(heading, kind, cells, nulls, width, least)


def _fit(columns: Sequence[_Column], style: TableStyle, available: int) -> list[_Column]:
    """The columns that fit a terminal: texts are truncated first, then columns are hidden."""
    fitting = [column for column in columns if not style.only or column.name in style.only]
    # The first column, which names the rows, is not truncated unless it would take more than half the width.
    complete = replace(fitting[0], least=max(fitting[0].least, min(fitting[0].width, available // 2)))
    # The last of the `only` columns can be hidden.
    needed = [column for column in fitting[1:] if column.name not in style.only[-1:]]
    if not style.only or _width([complete, *needed], "least") <= available:
        fitting[0] = complete
    fitting = _hide_some(fitting, style, available)
    widths = [min(column.width, max(column.least, available)) for column in fitting]
    while sum(widths) + len(_BETWEEN) * (len(widths) - 1) > available:
        truncatable = [index for index, column in enumerate(fitting) if widths[index] > column.least]
        if not truncatable:
            break
        widths[max(truncatable, key=lambda index: widths[index])] -= 1
    return [replace(column, width=width) for column, width in zip(fitting, widths, strict=True)]


def _hide_some(columns: Sequence[_Column], style: TableStyle, available: int) -> list[_Column]:
    """Hide columns until the others fit, and show … for the first hidden column, unless some are `only`.

    Columns of zeros are hidden first. Those in `first` are hidden last, before them medians and shares of
    jobs without an end, and the first column never. Of an interval, both bounds are hidden or none.
    """
    importance = {name: len(style.first) - index for index, name in enumerate(style.first)}

    def rank(index: int) -> tuple[float, float]:
        column = columns[index]
        is_telling = "median" in column.name.split("_") or column.name in _TELLING
        default = -1 if _is_zero(column) else 0.5 * is_telling
        return importance.get(column.name, default), abs(index - len(columns) / 2)

    order = sorted(range(1, len(columns)), key=rank)
    gap = _Column(_MORE, "VARCHAR", [_MORE] * len(columns[0].cells), frozenset(), 1, 1)
    for count in range(len(columns)):
        hidden = _with_other_bounds(set(order[:count]), columns)
        fitting = [column for index, column in enumerate(columns) if index not in hidden]
        if hidden and not style.only:
            fitting.insert(min(hidden), gap)
        if _width(fitting, "least") <= available:
            break
    return fitting


def _is_zero(column: _Column) -> bool:
    return is_number(column.kind) and all(cell.strip("0. ") == "" for cell in column.cells)


def _with_other_bounds(hidden: set[int], columns: Sequence[_Column]) -> set[int]:
    """Add the upper bound of each interval of which the lower one is hidden, and the other way round."""
    other = {"low": "high", "high": "low"}
    parts = [columns[index].name.partition("_") for index in hidden]
    names = {f"{other[start]}_{of}" for start, _, of in parts if start in other}
    return hidden | {index for index, column in enumerate(columns) if column.name in names}


def _width(columns: Sequence[_Column], which: str = "width") -> int:
    return sum(getattr(column, which) for column in columns) + len(_BETWEEN) * (len(columns) - 1)


def _pad(text: str, column: _Column) -> str:
    """A text in the width of its column, truncated or padded; numbers are aligned right."""
    if (missing := column.width - cell_len(text)) >= 0:
        return " " * missing + text if is_number(column.kind) else text + " " * missing
    kept = set_cell_size(text, column.width - 1)
    if not column.kind.startswith("VARCHAR") or column.kind.endswith("]"):
        # The values of a list may be numbers, which must not be truncated.
        kept = kept[: kept.rfind(",") + 1]
    return set_cell_size(kept.rstrip() + _MORE, column.width)


def _count(shown_rows: int, total: int, query: BoundQuery) -> str:
    count = f"{total:,} row{'' if total == 1 else 's'}"
    if total > shown_rows:
        count = f"{shown_rows:,} of {total:,} rows; get all with --format csv or --output FILE"
    return "; ".join(filter(None, [count, explain_limit(query)]))


def _on_a_line(text: str) -> str:
    return escape_text(text).replace("\n", "\\n").replace("\t", "\\t")


def _align_numbers(name: str, values: Sequence[Any]) -> list[str]:
    """Numbers of a column as texts, with their decimal points below each other."""
    separator = "" if _IDENTIFIER.fullmatch(name.lower()) else ","
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value) and value]
    decimals = None
    if sizes and min(sizes) >= _LEAST_ROUNDED and max(sizes) <= _ONE_MAGNITUDE * min(sizes):
        decimals = max(_count_decimals(max(sizes), 5), _count_decimals(min(sizes), 2))
    texts = [short_text(value, separator, decimals) for value in values]
    if decimals and (zeros := min(len(text) - len(text.rstrip("0")) for text in texts if "." in text)):
        texts = [text[:-zeros].rstrip(".") if "." in text else text for text in texts]
    # The length of a fraction includes its point.
    fractions = [len(text) - len(text.partition(".")[0]) if text[-1].isdigit() else 0 for text in texts]
    return [
        text + " " * (max(fractions) - fraction if text[-1].isdigit() else 0)
        for text, fraction in zip(texts, fractions, strict=True)
    ]


def _number(value: Any) -> Any:
    """A value of a numeric column: `rows_of` returns decimals and large integers as texts."""
    return Decimal(value) if isinstance(value, str) else value


def _count_decimals(size: float, digits: int) -> int:
    """The number of decimals that show some digits of a number, at most four."""
    return max(0, min(4, digits - 1 - math.floor(math.log10(size))))


def short_text(value: Any, separator: str = ",", decimals: int | None = None) -> str:
    """A value for display, its thousands separated.

    Without `decimals`, floats are rounded to about seven digits, with at most four decimals.
    """
    if isinstance(value, Decimal):
        return f"{value:{separator}f}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return format_exact(value)
    if isinstance(value, int):
        return f"{value:{separator}}"
    if decimals is not None:
        return f"{_round(value, decimals):{separator}.{decimals}f}"
    if value and abs(value) < _LEAST_ROUNDED:
        return f"{value:.4g}"
    decimals = max(1, min(4, 7 - len(str(int(abs(value))))))
    return f"{_round(value, decimals):{separator}.{decimals}f}".rstrip("0").rstrip(".")


def _round(value: float, decimals: int) -> float | Decimal:
    """A number rounded like those on pages: halves away from zero instead of to an even digit."""
    if abs(value) >= 2**52:
        return value
    return Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)

"""Render a description as text for a terminal, or as a JSON object."""

import json
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read.describe import Description, Grid

_LONGEST_NAME = 40


# Facts and columns that a short description omits, and the width of its texts, except the last on a line.
_DETAILS = ("kind", "in versions", "versions", "source", "engine", "chart", "type", "provenance")
_SHORT = 24
_SHORT_GRIDS = {"parameters", "columns"}


def as_text(found: Description, to_terminal: bool, is_full: bool = True, width: int | None = None) -> str:
    """A description as text: facts, grids as tables, caveats, SQL.

    `width` is the width of lines, by default the terminal's, or 80 without a terminal. Without `is_full`, a
    query, view or table is shortened to fit a screen: one line per parameter and column, only the names of
    the caveats, no SQL.
    """
    console = Console(force_terminal=to_terminal, force_jupyter=False, width=width)
    is_short = not is_full and bool(found.grids) and {grid.title for grid in found.grids} <= _SHORT_GRIDS
    with console.capture() as captured:
        console.print(Text(escape_text(found.name), "bold"), Text(escape_text(found.title)), sep="\n")
        for fact, text in found.facts.items():
            if text and not (is_short and fact in _DETAILS):
                first = text.partition(". ")[0] if is_short else text
                console.print(Text(escape_text(f"{fact}: {first}")))
        for grid in found.grids:
            if grid.rows and is_short:
                console.print(*_short_lines(grid, console.width), sep="\n")
            elif grid.rows:
                console.print(_table(grid))
        lines = [f"{note.label}: {note.summary or note.text}" for note in found.notes]
        if is_short:
            # Notes on the data, such as tables without rows, are no caveats.
            caveats = [note.name for note in found.notes if note.severity]
            lines = [line for line, note in zip(lines, found.notes, strict=True) if not note.severity]
            lines += [f"caveats: {', '.join(caveats)}"] if caveats else []
        for line in lines:
            console.print(Text(escape_text(line), "dim"), soft_wrap=not to_terminal)
        if is_short:
            console.print(Text("--full shows all texts, types, provenance, caveats and SQL", "dim"))
        elif found.sql:
            console.print(Text(f"\n{escape_text(found.sql)}"), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def as_json(found: Description) -> str:
    """A description as one JSON object."""
    return json.dumps(as_data(found), indent=2, ensure_ascii=False) + "\n"


def as_data(found: Description) -> dict[str, Any]:
    """A description as dictionaries and lists; each grid is a list of rows."""
    data: dict[str, Any] = {"name": found.name, "title": found.title, **found.facts}
    for grid in found.grids:
        data[grid.title] = [dict(zip(grid.names, row, strict=True)) for row in grid.rows]
    data["notes"] = [{"name": note.name, "text": note.text} for note in found.notes]
    return data | {"sql": found.sql}


def _short_lines(grid: Grid, width: int) -> Iterator[Text]:
    """The rows of a grid as lines of a width, with the meaning last and truncated."""
    indexes = [index for index, name in enumerate(grid.names) if name not in (*_DETAILS, "meaning")]
    meaning = grid.names.index("meaning")
    rows = [grid.names, *grid.rows]
    cells = [
        [_cut(row[index] or "", _SHORT if index else _LONGEST_NAME) for index in indexes] for row in rows
    ]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row, texts in zip(rows, cells, strict=True):
        start = "".join(
            set_cell_size(text, size + 2) for text, size in zip(texts, widths, strict=True) if size
        )
        style = "bold" if row is grid.names else ""
        yield Text(start + _cut(row[meaning] or "", max(_SHORT, width - cell_len(start))), style)


def _cut(text: str, width: int) -> str:
    text = escape_text(text).replace("\n", " ")
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _table(grid: Grid) -> Table:
    table = Table(title=grid.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(grid.names):
        # Names are not broken, so that they can be copied.
        cells = [row[index] or "" for row in grid.rows]
        is_name = not index or all(" " not in cell and len(cell) <= _LONGEST_NAME for cell in cells)
        table.add_column(name, overflow="fold", no_wrap=is_name)
    for row in grid.rows:
        table.add_row(*(Text(escape_text(cell or "")) for cell in row))
    return table

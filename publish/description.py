"""Render a description as text for a terminal, or as a JSON object."""

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read.describe import Description, Grid

_LONGEST_NAME = 40


def as_text(found: Description, to_terminal: bool) -> str:
    """A description as text: facts, grids as tables, caveats, SQL."""
    console = Console(force_terminal=to_terminal)
    with console.capture() as captured:
        console.print(Text(escape_text(found.name), "bold"), Text(escape_text(found.title)), sep="\n")
        for fact, text in found.facts.items():
            if text:
                console.print(Text(escape_text(f"{fact}: {text}")))
        for grid in found.grids:
            if grid.rows:
                console.print(_table(grid))
        for note in found.notes:
            line = Text(escape_text(f"{note.word} {note.name}: {note.summary or note.text}"), "dim")
            console.print(line, soft_wrap=not to_terminal)
        if found.sql:
            console.print(Text(f"\n{escape_text(found.sql)}"), soft_wrap=True)
    return captured.get()


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


def _table(grid: Grid) -> Table:
    table = Table(title=grid.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(grid.names):
        # Names are not broken, so that they can be copied.
        cells = [row[place] or "" for row in grid.rows]
        is_name = not place or all(" " not in cell and len(cell) <= _LONGEST_NAME for cell in cells)
        table.add_column(name, overflow="fold", no_wrap=is_name)
    for row in grid.rows:
        table.add_row(*(Text(escape_text(cell or "")) for cell in row))
    return table

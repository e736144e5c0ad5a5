"""Writes a description: for people, fitted to the terminal, or as one JSON object."""

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracehouse.core.terminal import shown
from tracehouse.engines.duckdb.read.describe import Description, Grid

_LONGEST_NAME = 40


def as_text(found: Description, to_terminal: bool) -> str:
    """A description to be read: facts, its grids as tables, caveats, SQL."""
    console = Console(force_terminal=to_terminal)
    with console.capture() as captured:
        console.print(Text(shown(found.name), "bold"), Text(shown(found.title)), sep="\n")
        for fact, text in found.facts.items():
            if text:
                console.print(Text(shown(f"{fact}: {text}")))
        for grid in found.grids:
            if grid.rows:
                console.print(_drawn(grid))
        for note in found.notes:
            said = Text(shown(f"{note.word} {note.name}: {note.text}"), "dim")
            console.print(said, soft_wrap=not to_terminal)
        if found.sql:
            console.print(Text(f"\n{shown(found.sql)}"), soft_wrap=True)
    return captured.get()


def as_json(found: Description) -> str:
    """A description as one JSON object."""
    return json.dumps(as_data(found), indent=2, ensure_ascii=False) + "\n"


def as_data(found: Description) -> dict[str, Any]:
    """A description in lists and dictionaries of texts; each of its grids is a list."""
    whole: dict[str, Any] = {"name": found.name, "title": found.title, **found.facts}
    for grid in found.grids:
        whole[grid.title] = [dict(zip(grid.names, row, strict=True)) for row in grid.rows]
    whole["notes"] = [{"name": note.name, "text": note.text} for note in found.notes]
    return whole | {"sql": found.sql}


def _drawn(grid: Grid) -> Table:
    drawn = Table(title=grid.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(grid.names):
        # Names stay in one piece, so that they can be copied.
        cells = [row[place] or "" for row in grid.rows]
        is_name = not place or all(" " not in cell and len(cell) <= _LONGEST_NAME for cell in cells)
        drawn.add_column(name, overflow="fold", no_wrap=is_name)
    for row in grid.rows:
        drawn.add_row(*(Text(shown(cell or "")) for cell in row))
    return drawn

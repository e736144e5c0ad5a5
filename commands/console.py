"""What commands say: lines, notes on answers, and the outcome of an ingest."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tracehouse.core.errors import UserError
from tracehouse.core.terminal import shown

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.answer import Note
    from tracehouse.ingest.pipeline import IngestResult


def is_on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_outcome(outcome: "IngestResult", warehouse: Path) -> None:
    """Say what an ingest did. Raises UserError where files could not be read, or none was found."""
    from tracehouse.core.names import listed

    for name in dict.fromkeys(conversion.table_name for conversion in outcome.converted):
        parts = [conversion for conversion in outcome.converted if conversion.table_name == name]
        rows = sum(part.rows for part in parts)
        in_all = sum(part.rows for part in outcome.conversions if part.table_name == name)
        more = f", {in_all:,} in all" if in_all != rows else ""
        rejected = sum(stored.rows for part in parts for stored in part.rejected)
        lost = f", {rejected:,} rejected (see catalog.rejected_rows)" if rejected else ""
        marked = " synthetic" if any(source.synthetic for part in parts for source in part.sources) else ""
        files = f"{len(parts)} file{'s' * (len(parts) != 1)}"
        say(f"{name}: {rows:,}{marked} rows from {files}{more}{lost}")
    if outcome.unchanged:
        count = len({conversion.table_name for conversion in outcome.unchanged})
        say(f"{count} table{'s' * (count != 1)} unchanged")
    for note in outcome.notes:
        say(f"note: {note}", stderr=True)
    if outcome.unrecognised:
        say(f"note: of no known trace: {listed(outcome.unrecognised)}", stderr=True)
    if outcome.documents:
        say(f"note: taken for documents, not for data: {listed(outcome.documents, 5)}", stderr=True)
    if not (outcome.converted or outcome.unchanged or outcome.problems):
        raise UserError("the raw folders hold no file of a known trace")
    if outcome.conversions:
        say(f"The warehouse is {warehouse}. Ask it: traces list queries --warehouse {warehouse}")
    for problem in outcome.problems:
        say(f"error: {problem}", stderr=True)
    if outcome.problems:
        count = len(outcome.problems)
        which = "file could not be read: what it" if count == 1 else "files could not be read: what each"
        raise UserError(f"{count} {which} gave before stays")


def print_notes(notes: "Sequence[Note]", stderr: bool) -> None:
    """Print notes on an answer."""
    if not notes:
        return
    forced = {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()
    if not forced and not (sys.stderr if stderr else sys.stdout).isatty():
        for note in notes:
            say(f"{note.word} {note.name}: {note.text}", stderr)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=stderr)
    for note in notes:
        text = shown(f"{note.word} {note.name}: {note.text}")
        console.print(Text(text, "dim"), soft_wrap=not console.is_terminal)


def say(text: str, stderr: bool = False) -> None:
    """Print a line, control characters spelled out."""
    typer.echo(shown(text), err=stderr)

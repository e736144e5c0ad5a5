"""Print messages, notes on answers, and the report of an ingest."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from tracehouse.core.errors import UserError
from tracehouse.core.text import escape_text

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.notes import Note
    from tracehouse.ingest.pipeline import IngestResult


def is_on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str, stderr: bool = False) -> None:
    """Print a text with escaped control characters, wrapped between words on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    lines = escape_text(text).splitlines() or [""]
    # For a stream that is not given, Typer writes UTF-8, which an ASCII terminal does not show.
    typer.echo("\n".join(wrap_line(line, stream) for line in lines), file=stream, err=stderr)


def print_error(error: object) -> None:
    """Print an error to standard error."""
    say(f"error: {error}", stderr=True)


def print_notes(notes: "Sequence[Note]", stderr: bool, complete: bool = False) -> None:
    """Print notes on an answer, or without `complete` a summary of them; dim on a terminal."""
    if not notes:
        return
    from tracehouse.engines.duckdb.read.notes import NOT_LISTED, summarize

    notes = [
        replace(note, text=f"{note.text}. Show them with --all") if note.name == NOT_LISTED else note
        for note in notes
    ]
    stream = sys.stderr if stderr else sys.stdout
    if complete:
        lines = [f"{note.label}: {note.text}" for note in notes]
    else:
        width = shutil.get_terminal_size().columns if stream.isatty() else None
        lines = summarize(notes, "; show with --caveats", width)
    for line in lines:
        typer.secho(wrap_line(escape_text(line), stream), file=stream, dim=True, err=stderr)


def wrap_line(line: str, stream: TextIO | None) -> str:
    """Wrap a line between words if it is printed on a terminal."""
    # DuckDB marks a place in the statement below a line that begins with LINE.
    if stream is None or not stream.isatty() or line.startswith("LINE "):
        return line
    width, indent = shutil.get_terminal_size().columns, line[: len(line) - len(line.lstrip())]
    # Commands stay on one line, so that they can be copied: textwrap does not break at this space.
    whole = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\xa0"), line)
    return textwrap.fill(
        whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ).replace("\xa0", " ")


def print_converted(result: "IngestResult") -> None:
    """Print a line for each table that an ingest converted."""
    for name in dict.fromkeys(conversion.table_name for conversion in result.converted):
        parts = [conversion for conversion in result.converted if conversion.table_name == name]
        raw_files = {part.shown_source for part in parts}
        rows = sum(part.rows for part in parts)
        total = sum(part.rows for part in result.conversions if part.table_name == name)
        more = f", {total:,} in total" if total != rows else ""
        count = sum(file.rows for part in parts for file in part.rejected)
        rejected = f", {count:,} rejected (see catalog.rejected_rows)" if count else ""
        synthetic = sum(part.rows for part in parts if any(source.synthetic for source in part.sources))
        # The other rows are published.
        partly = f", {synthetic:,} of them synthetic" if 0 < synthetic < rows else ""
        word = " synthetic" if synthetic and not partly else ""
        say(f"{name}: {rows:,}{word} rows from {_count(len(raw_files), 'file')}{partly}{more}{rejected}")
    if result.unchanged:
        tables = {conversion.table_name for conversion in result.unchanged}
        say(f"{_count(len(tables), 'table')} unchanged")


def print_ingest(result: "IngestResult", warehouse: Path, next_step: str = "") -> None:
    """Report the end of an ingest and the next step.

    Raises UserError if a file could not be read, or if no file was found.
    """
    for note in result.notes:
        say(f"note: {note}", stderr=True)
    if result.unrecognised:
        from tracehouse.core.text import join_names

        names = join_names(result.unrecognised, 20)
        say(f"Skipped {_count(len(result.unrecognised), 'unrecognised file')}: {names}", stderr=True)
    if not (result.converted or result.unchanged or result.problems):
        what = "no file that ingest reads; see the notes" if result.notes else "no file of a known trace"
        raise UserError(f"The raw folders contain {what}")
    if result.conversions:
        path = warehouse if warehouse.is_absolute() else f".{os.sep}{warehouse}"
        option = "" if warehouse == Path("warehouse") else f" -w {warehouse}"
        say(f"Done. Warehouse: {path}\nNext: `{next_step or f'traces list queries{option}'}`")
    for problem in result.problems:
        say(f"error: {problem}", stderr=True)
    if result.problems:
        files = _count(len(result.problems), "file")
        raise UserError(f"{files} could not be ingested. Rows of earlier versions, if any, are kept")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"

"""Answers to where the answer is wanted, whole or not at all: a file, a stream, a picture or a report."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from tracehouse.core.terminal import shown
from tracehouse.engines.duckdb.read import answer, sandbox
from tracehouse.engines.duckdb.read.answer import NO_DATA, Asked, Note, Question
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import export, output
from tracehouse.publish.formats import LAID_OUT, Format
from tracehouse.publish.output import Spool

# What most answers do without is imported where it is used: the command line starts with this module.
if TYPE_CHECKING:
    from tracehouse.publish.plot.layout import Size

T = TypeVar("T")


def write_answer(
    asked: Asked,
    warehouse: Path,
    limits: Limits,
    form: Format | None,
    path: Path | None,
    guard_formulas: bool = False,
    explain: bool = False,
    wide: bool = False,
    brief: Sequence[str] = (),
    pages: bool = False,
    last: bool = False,
) -> list[Note]:
    """Write the answer, or with `explain` its query plan. Returns the notes on it.

    Without a path it goes to standard output, with `pages` in a pager where a terminal is too short for it;
    and without a format in the one that fits. `wide` and `brief` are as in `export.Options`, `last` as in
    `asking.ask`.
    """
    chosen = export.chosen_format(form, path)
    to_terminal = output.is_terminal(path)

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, draft: Spool) -> list[Note]:
        question, notes = asked(connection)
        if explain or question.explain:
            spool.file.write(f"{shown(answer.plan(connection, question))}\n".encode())
            return list(notes)
        options = export.Options(path is None, to_terminal, guard_formulas, wide, brief)
        written = export.write(connection, question, chosen, spool, draft, options)
        if not written.rows and question.cut_to is None:
            notes = _with_why_empty(connection, question, notes)
        # A table says it below its rows.
        cut = _cut(question) if chosen not in LAID_OUT else []
        return [*written.notes, *cut, *notes]

    # Not in a table: its escape sequences are its own colours, and those in its values are escaped already.
    return _ask(path, warehouse, limits, work, shows_escapes=chosen not in LAID_OUT, pages=pages, last=last)


def _with_why_empty(
    connection: duckdb.DuckDBPyConnection, question: Question, notes: Sequence[Note]
) -> list[Note]:
    """The notes on an answer without rows, and why it has none, which names what has no data."""
    from tracehouse.engines.duckdb.read import empty_answers

    why = empty_answers.why_empty(connection, question)
    return [*(note for note in notes if not why or note.name != NO_DATA), *why]


def _cut(question: Question) -> list[Note]:
    """A note on an answer that a limit has cut."""
    said = answer.said_of_cut(question)
    return [Note("not all rows", said, "note")] if said else []


def draw_answer(
    asked: Asked, warehouse: Path, limits: Limits, path: Path, given: Mapping[str, str], size: "Size"
) -> list[Note]:
    """Draw the answer of a named query, asked with some parameters, to a file. Returns the notes on it."""
    from tracehouse.publish.plot import pictures

    pictures.check_path(path)

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> list[Note]:
        question, notes = asked(connection)
        pictures.draw(connection, question, given, path.suffix, size, spool.file)
        return [*_cut(question), *notes]

    return _ask(path, warehouse, limits, work)


def show_answer(asked: Asked, warehouse: Path, limits: Limits, given: Mapping[str, str]) -> list[Note]:
    """Draw the answer of a named query on standard output, in characters. Returns the notes on it."""
    from tracehouse.publish.plot import pictures

    columns = shutil.get_terminal_size().columns

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> list[Note]:
        question, notes = asked(connection)
        spool.file.write(pictures.render_text(connection, question, given, columns).encode())
        return [*_cut(question), *notes]

    return _ask(None, warehouse, limits, work, shows_escapes=True)


def write_report(traces: Sequence[str], warehouse: Path, limits: Limits, path: Path) -> None:
    """Write the report on traces, on all if none is named, as a page of HTML."""
    from tracehouse.publish import report

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> None:
        report.write(connection, traces, spool.file)

    _ask(path, warehouse, limits, work)


def _ask(
    path: Path | None,
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection, Spool, Spool], T],
    shows_escapes: bool = False,
    pages: bool = False,
    last: bool = False,
) -> T:
    """Do some work with a spool for the answer, and another for the draft that it is made from."""
    output.check(path)
    with ExitStack() as stack:
        scratch = stack.enter_context(sandbox.scratch_folder())
        draft = stack.enter_context(output.new_spool(scratch))
        spool = stack.enter_context(output.spooled(path, scratch, shows_escapes, pages))
        files = [spool.writable, draft.writable]
        return sandbox.ask_within(
            scratch, warehouse, limits, lambda c: work(c, spool, draft), files, last=last
        )

"""Answers to where the answer is wanted, whole or not at all: a file, a stream, a picture or a report."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import duckdb

from tracehouse.engines.duckdb.read import answer, asking
from tracehouse.engines.duckdb.read.answer import Asked, Note
from tracehouse.engines.duckdb.read.asking import Limits
from tracehouse.ingest.terminal import shown
from tracehouse.publish import export, output, plot, report
from tracehouse.publish.formats import Format
from tracehouse.publish.output import Spool

T = TypeVar("T")


def write_answer(
    asked: Asked,
    warehouse: Path,
    limits: Limits,
    form: Format | None,
    path: Path | None,
    guard_formulas: bool = False,
    explain: bool = False,
) -> list[Note]:
    """Write the answer, or with `explain` its query plan. Returns the notes on it.

    Without a path it goes to standard output, and without a format to the one that fits (see `export`).
    """
    chosen = export.chosen_format(form, path)
    to_terminal = output.is_terminal(path)

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, draft: Spool) -> list[Note]:
        question, notes = asked(connection)
        if explain or question.explain:
            spool.file.write(f"{shown(answer.plan(connection, question))}\n".encode())
            return list(notes)
        options = export.Options(path is None, to_terminal, guard_formulas)
        return [*export.write(connection, question, chosen, spool, draft, options), *notes]

    # Not in a table: its escape sequences are its own colours, and those in its values are escaped already.
    return _ask(path, warehouse, limits, work, shows_escapes=chosen is not Format.TABLE)


def draw_answer(asked: Asked, warehouse: Path, limits: Limits, path: Path) -> list[Note]:
    """Draw the answer of a named query to a file. Returns the notes on it."""
    plot.check_path(path)

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> list[Note]:
        question, notes = asked(connection)
        plot.draw(connection, question, path.suffix, spool.file)
        return list(notes)

    return _ask(path, warehouse, limits, work)


def write_report(traces: Sequence[str], warehouse: Path, limits: Limits, path: Path) -> None:
    """Write the report on traces, on all if none is named, as a page of HTML."""

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> None:
        report.write(connection, traces, spool.file)

    _ask(path, warehouse, limits, work)


def _ask(
    path: Path | None,
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection, Spool, Spool], T],
    shows_escapes: bool = False,
) -> T:
    """Do some work with a spool for the answer, and another for the draft that it is made from."""
    output.check(path)
    with ExitStack() as stack:
        scratch = stack.enter_context(asking.scratch_folder())
        draft = stack.enter_context(output.new_spool(scratch))
        spool = stack.enter_context(output.spooled(path, scratch, shows_escapes))
        return asking.ask_within(
            scratch, warehouse, limits, lambda c: work(c, spool, draft), [spool.writable, draft.writable]
        )

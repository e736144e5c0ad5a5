"""Bind, run and render a query: the answer goes to a file, a stream or a chart."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import answer, notes, sandbox
from tracehouse.engines.duckdb.read.binding import Bind, BoundQuery
from tracehouse.engines.duckdb.read.notes import NO_DATA, Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import export, output
from tracehouse.publish.formats import LAID_OUT, Format
from tracehouse.publish.output import Spool

# The command line imports this module at its start. To start fast, functions import other modules.
if TYPE_CHECKING:
    from tracehouse.publish.plot.layout import Size

T = TypeVar("T")


def write_answer(
    bind: Bind,
    warehouse: Path,
    limits: Limits,
    form: Format,
    path: Path | None,
    guard_formulas: bool = False,
    wide: bool = False,
    brief: Sequence[str] = (),
    pages: bool = False,
    exit_after: bool = False,
) -> Sequence[Note]:
    """Write the answer of a query, or its query plan. Returns the notes on it.

    Without a path, the answer goes to standard output; with `pages`, an answer longer than the terminal goes
    through a pager. See `export.Options` for `wide` and `brief`, and `sandbox.run` for `exit_after`.
    """
    options = export.Options(path is None, output.is_terminal(path), guard_formulas, wide, brief)

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, draft: Spool) -> Sequence[Note]:
        query = answer.run(connection, bind(connection))
        if query.explain or query.plan:
            spool.file.write(f"{escape_text(answer.plan(connection, query))}\n".encode())
            return query.notes
        rendered = export.write(connection, query, form, spool, draft, options)
        found = query.notes
        if not rendered.rows and not query.is_cut:
            why = notes.why_empty(connection, query)
            # `why` already names the tables without data, so the note NO_DATA is left out.
            found = [*(note for note in found if not why or note.name != NO_DATA), *why]
        # Tables and records show the limit in their footer.
        cut = _limit_notes(query) if form not in LAID_OUT else []
        return [*rendered.notes, *cut, *found]

    # Tables and records use escape sequences for colours; those in their values are escaped already.
    escapes = form not in LAID_OUT
    return _write(path, warehouse, limits, work, escapes=escapes, pages=pages, exit_after=exit_after)


def draw_to_file(
    bind: Bind, warehouse: Path, limits: Limits, path: Path, given: Mapping[str, str], size: "Size"
) -> Sequence[Note]:
    """Draw the answer of a named query with the given parameters to a file. Returns the notes on it."""
    from tracehouse.publish.plot import pictures

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> Sequence[Note]:
        query = answer.run(connection, bind(connection))
        spool.file.write(pictures.render(pictures.build_picture(connection, query, given, size), path.suffix))
        return [*_limit_notes(query), *query.notes]

    return _write(path, warehouse, limits, work)


def draw_in_terminal(bind: Bind, warehouse: Path, limits: Limits, given: Mapping[str, str]) -> Sequence[Note]:
    """Draw the answer of a named query on standard output, in characters. Returns the notes on it."""
    from tracehouse.publish.plot import pictures

    columns = shutil.get_terminal_size().columns

    def work(connection: duckdb.DuckDBPyConnection, spool: Spool, _: Spool) -> Sequence[Note]:
        query = answer.run(connection, bind(connection))
        spool.file.write(pictures.render_text(connection, query, given, columns).encode())
        return [*_limit_notes(query), *query.notes]

    return _write(None, warehouse, limits, work, escapes=True)


def _limit_notes(query: BoundQuery) -> list[Note]:
    """The note on rows that a limit omits; an empty list if it omits none."""
    message = answer.limit_message(query)
    return [Note("not all rows", message, "note")] if message else []


def _write(
    path: Path | None,
    warehouse: Path,
    limits: Limits,
    work: Callable[[duckdb.DuckDBPyConnection, Spool, Spool], T],
    escapes: bool = False,
    pages: bool = False,
    exit_after: bool = False,
) -> T:
    """Run some work in the sandbox with two spools: one for the output, one for a draft of the output."""
    with ExitStack() as stack:
        scratch = stack.enter_context(sandbox.scratch_folder())
        spool = stack.enter_context(output.open_spool(path, scratch, escapes, pages))
        draft = stack.enter_context(output.create_spool(scratch))
        files = [spool.writable, draft.writable]
        return sandbox.run_in(
            scratch, warehouse, limits, lambda c: work(c, spool, draft), files, exit_after=exit_after
        )

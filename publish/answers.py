"""Bind, run and render a query: the answer goes to a file, a stream or a chart."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import answer, sandbox
from tracehouse.engines.duckdb.read.binding import Bind, BoundQuery
from tracehouse.engines.duckdb.read.notes import NO_DATA, Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import output, writers
from tracehouse.publish.formats import LAID_OUT, Format

# The command line imports this module at its start. To start fast, functions import other modules.
if TYPE_CHECKING:
    from tracehouse.publish.plot.layout import Size

# Renders an answer to the first file, with a second file for a draft. Returns the notes on it.
Render = Callable[[duckdb.DuckDBPyConnection, BoundQuery, Path, Path], Sequence[Note]]


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
    through a pager. See `writers.Options` for `wide` and `brief`, and `sandbox.run` for `exit_after`.
    """
    options = writers.Options(path is None, output.is_terminal(path), guard_formulas, wide, brief)

    def render(
        connection: duckdb.DuckDBPyConnection, query: BoundQuery, file: Path, draft: Path
    ) -> Sequence[Note]:
        if query.explain or query.plan:
            file.write_text(f"{escape_text(answer.plan(connection, query))}\n")
            return query.notes
        rows, changes = writers.write(connection, query, form, file, draft, options)
        found = query.notes
        if not rows and not query.cut:
            why = answer.why_empty(connection, query)
            # `why` already names the tables without data, so the note NO_DATA is left out.
            found = [*(note for note in found if not why or note.name != NO_DATA), *why]
        # Tables and records show the limit in their footer.
        cut = _limit_notes(query) if form not in LAID_OUT else []
        return [*changes, *cut, *found]

    # Tables and records use escape sequences for colours; those in their values are escaped already.
    return _write(bind, warehouse, limits, path, render, form not in LAID_OUT, pages, exit_after)


def draw_answer(
    bind: Bind, warehouse: Path, limits: Limits, path: Path | None, given: Mapping[str, str], size: "Size"
) -> Sequence[Note]:
    """Draw the answer of a named query with the given parameters. Returns the notes on it.

    Without a path, the chart is drawn in characters on standard output, in the width of the terminal.
    """
    from tracehouse.publish.plot import pictures

    columns = shutil.get_terminal_size().columns

    def render(
        connection: duckdb.DuckDBPyConnection, query: BoundQuery, file: Path, _: Path
    ) -> Sequence[Note]:
        if path:
            picture = pictures.build_picture(connection, query, given, size)
            file.write_bytes(pictures.render(picture, path.suffix))
        else:
            file.write_text(pictures.render_text(connection, query, given, columns))
        return [*_limit_notes(query), *query.notes]

    return _write(bind, warehouse, limits, path, render, escapes=path is None)


def _limit_notes(query: BoundQuery) -> list[Note]:
    """The note on rows that a limit omits; an empty list if it omits none."""
    return [Note("limit", query.cut, "note")] if query.cut else []


def _write(
    bind: Bind,
    warehouse: Path,
    limits: Limits,
    path: Path | None,
    render: Render,
    escapes: bool = False,
    pages: bool = False,
    exit_after: bool = False,
) -> Sequence[Note]:
    """Run a query in the sandbox, which lets it write the answer and one scratch file, and no other file."""
    with (
        sandbox.scratch_folder() as scratch,
        output.open_output(path, scratch, escapes, pages) as file,
    ):
        draft = scratch / "draft"
        draft.touch()

        def work(connection: duckdb.DuckDBPyConnection) -> Sequence[Note]:
            return render(connection, answer.run(connection, bind(connection)), file, draft)

        return sandbox.run(warehouse, limits, work, [file, draft], scratch, exit_after)

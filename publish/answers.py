"""Answer a request on its engine, and render the answer to a file, a stream or a chart."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import answer, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import NO_DATA, Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.names import Engine
from tracehouse.engines.request import NamedQuery, Request
from tracehouse.publish import output, writers
from tracehouse.publish.columns import explain_limit
from tracehouse.publish.formats import LAID_OUT, OutputFormat

# The command line imports this module at its start. To start fast, functions import other modules.
if TYPE_CHECKING:
    from tracehouse.publish.plot.options import ChartOptions
    from tracehouse.publish.plot.pictures import ChartContext


def write_answer(
    request: Request,
    warehouse: Path,
    limits: Limits,
    form: OutputFormat,
    path: Path | None,
    guard_formulas: bool = False,
    wide: bool = False,
    brief: Sequence[str] = (),
    pages: bool = False,
) -> Sequence[Note]:
    """Write the answer to a request, or its query plan. Returns the notes on it.

    Without a path, the answer goes to standard output; with `pages`, an answer longer than the terminal goes
    through a pager. See `writers.Options` for `wide` and `brief`.
    """
    is_terminal = output.is_terminal(path)
    width = shutil.get_terminal_size().columns if is_terminal and not wide else None
    options = writers.Options(path is None, is_terminal, guard_formulas, width, brief)
    request = _compute(request, warehouse, limits)
    # Tables and records use escape sequences for colours; those in their values are escaped already.
    with _open_files(path, form not in LAID_OUT, pages) as (file, draft, scratch):
        work = partial(_write, request=request, form=form, file=file, draft=draft, options=options)
        return sandbox.run(warehouse, limits, work, [file, draft], scratch)


def _compute(request: Request, warehouse: Path, limits: Limits) -> Request:
    """Run a request on its engine, unless this is DuckDB. Returns a request for the computed rows."""
    if request.engine is Engine.DUCKDB:
        return request
    from tracehouse.engines.spark import runner

    return runner.run(warehouse, limits, request)


@contextmanager
def _open_files(
    path: Path | None, escapes: bool = False, pages: bool = False
) -> Iterator[tuple[Path, Path, Path]]:
    """Yield a file for the answer, one for a draft of it, and the scratch folder. Then write the output."""
    with (
        sandbox.scratch_folder() as scratch,
        output.open_output(path, scratch, escapes, pages) as file,
    ):
        draft = scratch / "draft"
        draft.touch()
        yield file.absolute(), draft, scratch


# The child runs the functions that have a connection.


def _write(
    connection: duckdb.DuckDBPyConnection,
    request: Request,
    form: OutputFormat,
    file: Path,
    draft: Path,
    options: writers.Options,
) -> Sequence[Note]:
    with answer.answer(connection, request) as query:
        if query.explain or query.plan:
            file.write_text(f"{escape_text(answer.plan(connection, query))}\n", encoding="utf-8")
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


def draw_answer(
    request: Request,
    warehouse: Path,
    limits: Limits,
    path: Path | None,
    size: tuple[float | None, float | None],
    options: "ChartOptions",
) -> Sequence[Note]:
    """Draw the answer to a request. Returns the notes on it.

    `size` is the width of the picture in millimetres and of its font in points. Without a path, the chart is
    drawn in characters on standard output, in the width of the terminal.
    """
    from tracehouse.publish.plot import pictures

    picture_size = pictures.parse_size(*size)
    given = request.what.given if isinstance(request.what, NamedQuery) else {}
    request = _compute(request, warehouse, limits)
    with _open_files(path, escapes=path is None) as (file, draft, scratch):
        if not path:
            columns = shutil.get_terminal_size().columns
            draw = partial(
                _draw_text, request=request, file=file, given=given, columns=columns, options=options
            )
            return sandbox.run(warehouse, limits, draw, [file, draft], scratch)
        # The picture is drawn in this process: the program that draws reserves half a gigabyte.
        describe = partial(_describe_picture, request=request, given=given, options=options)
        context, notes = sandbox.run(warehouse, limits, describe, [file, draft], scratch)
        file.write_bytes(pictures.render(pictures.build(context, picture_size), path.suffix))
        return notes


def _draw_text(
    connection: duckdb.DuckDBPyConnection,
    request: Request,
    file: Path,
    given: Mapping[str, str],
    columns: int,
    options: "ChartOptions",
) -> Sequence[Note]:
    from tracehouse.publish.plot import pictures

    with answer.answer(connection, request) as query:
        file.write_text(pictures.render_text(connection, query, given, columns, options), encoding="utf-8")
        return [*_limit_notes(query), *query.notes]


def _describe_picture(
    connection: duckdb.DuckDBPyConnection,
    request: Request,
    given: Mapping[str, str],
    options: "ChartOptions",
) -> "tuple[ChartContext, Sequence[Note]]":
    from tracehouse.publish.plot import pictures

    with answer.answer(connection, request) as query:
        return pictures.describe(connection, query, given, options), [*_limit_notes(query), *query.notes]


def _limit_notes(query: BoundQuery) -> list[Note]:
    """The note on rows that a limit omits; an empty list if it omits none."""
    return [Note("limit", explain_limit(query), "note")] if query.cut else []

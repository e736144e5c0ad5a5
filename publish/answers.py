"""Bind, run and render a query: the answer goes to a file, a stream or a chart."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import answer, sandbox
from tracehouse.engines.duckdb.read.binding import Bind, BoundQuery
from tracehouse.engines.duckdb.read.notes import NO_DATA, Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import output, writers
from tracehouse.publish.columns import explain_limit
from tracehouse.publish.formats import LAID_OUT, Format

# The command line imports this module at its start. To start fast, functions import other modules.
if TYPE_CHECKING:
    from tracehouse.publish.plot.layout import Size
    from tracehouse.publish.plot.options import ChartOptions
    from tracehouse.publish.plot.pictures import Described

T = TypeVar("T")
# Renders an answer to the first file, with a second file for a draft.
Render = Callable[[duckdb.DuckDBPyConnection, BoundQuery, Path, Path], T]


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
) -> Sequence[Note]:
    """Write the answer of a query, or its query plan. Returns the notes on it.

    Without a path, the answer goes to standard output; with `pages`, an answer longer than the terminal goes
    through a pager. See `writers.Options` for `wide` and `brief`.
    """
    is_terminal = output.is_terminal(path)
    width = shutil.get_terminal_size().columns if is_terminal and not wide else None
    options = writers.Options(path is None, is_terminal, guard_formulas, width, brief)
    render = partial(render_answer, form=form, options=options)
    # Tables and records use escape sequences for colours; those in their values are escaped already.
    with _rendered(bind, warehouse, limits, path, render, form not in LAID_OUT, pages) as (_, notes):
        return notes


def render_answer(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    file: Path,
    draft: Path,
    form: Format,
    options: writers.Options = writers.FILE_OPTIONS,
) -> Sequence[Note]:
    """Write the answer of a query, or its query plan, to a file. Returns the notes on it."""
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
    bind: Bind,
    warehouse: Path,
    limits: Limits,
    path: Path | None,
    given: Mapping[str, str],
    size: "Size",
    options: "ChartOptions",
) -> Sequence[Note]:
    """Draw the answer of a query with the given parameters. Returns the notes on it.

    Without a path, the chart is drawn in characters on standard output, in the width of the terminal.
    """
    if not path:
        render = partial(_draw_text, given=given, columns=shutil.get_terminal_size().columns, options=options)
        with _rendered(bind, warehouse, limits, path, render, escapes=True) as (_, notes):
            return notes
    from tracehouse.publish.plot import pictures

    # The picture is drawn in this process: the program that draws reserves half a gigabyte.
    describe = partial(_describe_picture, given=given, options=options)
    with _rendered(bind, warehouse, limits, path, describe) as (file, found):
        described, notes = found
        file.write_bytes(pictures.render(pictures.build(described, size), path.suffix))
    return notes


def _draw_text(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    file: Path,
    _: Path,
    given: Mapping[str, str],
    columns: int,
    options: "ChartOptions",
) -> Sequence[Note]:
    from tracehouse.publish.plot import pictures

    file.write_text(pictures.render_text(connection, query, given, columns, options), encoding="utf-8")
    return [*_limit_notes(query), *query.notes]


def _describe_picture(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    _: Path,
    __: Path,
    given: Mapping[str, str],
    options: "ChartOptions",
) -> "tuple[Described, Sequence[Note]]":
    from tracehouse.publish.plot import pictures

    return pictures.describe(connection, query, given, options), [*_limit_notes(query), *query.notes]


def _limit_notes(query: BoundQuery) -> list[Note]:
    """The note on rows that a limit omits; an empty list if it omits none."""
    return [Note("limit", explain_limit(query), "note")] if query.cut else []


@contextmanager
def _rendered(
    bind: Bind,
    warehouse: Path,
    limits: Limits,
    path: Path | None,
    render: Render[T],
    escapes: bool = False,
    pages: bool = False,
) -> Iterator[tuple[Path, T]]:
    """Render an answer to a temporary file, yield the file and the result, and write the output.

    The sandbox lets the query write this file and one scratch file, and no other.
    """
    with (
        sandbox.scratch_folder() as scratch,
        output.open_output(path, scratch, escapes, pages) as file,
    ):
        draft = scratch / "draft"
        draft.touch()
        work = partial(_bind_and_render, bind=bind, render=render, file=file.absolute(), draft=draft)
        yield file, sandbox.run(warehouse, limits, work, [file, draft], scratch)


def _bind_and_render(
    connection: duckdb.DuckDBPyConnection, bind: Bind, render: Render[T], file: Path, draft: Path
) -> T:
    with answer.running(connection, bind) as query:
        return render(connection, query, file, draft)

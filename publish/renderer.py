"""The protocol of renderers, and the function that answers a request and renders the answer.

A renderer writes an answer to a file. It is data, which is sent to the child that computes the answer, and
runs there. `writers.FormatWriter` renders files and tables, and the renderers in `plot.pictures` charts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import duckdb

from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.answer import Answer, answer, plan, why_empty
from tracehouse.engines.duckdb.read.notes import NO_DATA, Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.names import Engine
from tracehouse.engines.request import Request
from tracehouse.publish import output
from tracehouse.publish.columns import explain_limit

Finish = Callable[[Path], object]


@dataclass(frozen=True)
class Rendered:
    """What a renderer did.

    `rows` is the number of rows of the answer, None if it is not known. `notes` are on values that
    the renderer changed. `finish` completes the file in the process that waits for the child.
    """

    rows: int | None = None
    notes: Sequence[Note] = ()
    finish: Finish | None = None


class Renderer(Protocol):
    """What writes an answer to a file.

    If it `is_laid_out`, its text has escape sequences of its own, and names the limit of rows.
    """

    @property
    def is_laid_out(self) -> bool: ...

    def render(self, answer: Answer, file: Path, draft: Path) -> Rendered:
        """Write an answer to a file, or return what will. Its connection can also write to the draft."""


def write_answer(
    request: Request,
    warehouse: Path,
    limits: Limits,
    renderer: Renderer,
    path: Path | None = None,
    pages: bool = False,
) -> Sequence[Note]:
    """Answer a request, and render the answer or its query plan. Returns the notes on it.

    Without a path, it goes to standard output; with `pages`, what is longer than the terminal goes through a
    pager.
    """
    if request.engine is not Engine.DUCKDB:
        from tracehouse.engines.spark import runner

        request = runner.run(warehouse, limits, request)
    with (
        sandbox.scratch_folder() as scratch,
        output.open_output(path, scratch, not renderer.is_laid_out, pages) as file,
    ):
        draft = scratch / "draft"
        draft.touch()
        work = partial(render, request=request, renderer=renderer, file=file.absolute(), draft=draft)
        notes, finish = sandbox.run(warehouse, limits, work, [file, draft], scratch)
        if finish:
            finish(file)
        return notes


def render(
    connection: duckdb.DuckDBPyConnection, request: Request, renderer: Renderer, file: Path, draft: Path
) -> tuple[Sequence[Note], Finish | None]:
    """Answer a request in this process, a child, and render the answer or its query plan to a file.

    Returns the notes on it, and what completes the file.
    """
    with answer(connection, request) as found:
        query, about = found.query, found.notes
        if query.explain or query.plan:
            file.write_text(f"{escape_text(plan(connection, query))}\n", encoding="utf-8")
            return about, None
        rendered = renderer.render(found, file, draft)
        if rendered.rows == 0 and not query.cut:
            why = why_empty(found)
            # `why` already names the tables without data, so the note NO_DATA is left out.
            about = [*(note for note in about if not why or note.name != NO_DATA), *why]
    cut = [Note("limit", explain_limit(query), "note")] if query.cut and not renderer.is_laid_out else []
    return [*rendered.notes, *cut, *about], rendered.finish

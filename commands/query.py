"""The commands that ask a warehouse."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.terminal import shown
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.publish.formats import Format
from tracehouse.sql.lists import BRIEF, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from tracehouse.engines.duckdb.read.answer import Note, Question

from tracehouse.commands.completion import (
    complete_asked,
    complete_described,
    complete_parameter,
    complete_schema,
)
from tracehouse.commands.console import is_on_terminal, print_notes, say
from tracehouse.commands.defaults import DEFAULT_WAREHOUSE
from tracehouse.commands.options import (
    Answering,
    EngineOption,
    Explain,
    GuardFormulas,
    Master,
    NoPager,
    RowLimit,
    TraceNames,
    Warehouse,
    answering,
    as_text,
    key_values,
)

commands = typer.Typer()

# What --plot means without a file.
_TERMINAL = Path("-")


@commands.command("list")
@answering
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")] = Kind.TRACES,
    trace: Annotated[
        str,
        typer.Argument(
            help="Only those of a trace, or unified.", show_default=False, autocompletion=complete_schema
        ),
    ] = "",
    search: Annotated[
        str,
        typer.Option(
            "--search",
            "-s",
            metavar="WORDS",
            help="Only those with all the words, the best first.",
            show_default=False,
        ),
    ] = "",
    limit: RowLimit = None,
    *,
    how: Answering,
) -> None:
    """List what the warehouse holds: traces list queries pai --search "queueing delay"."""
    from tracehouse.engines.duckdb.read.answer import first_rows
    from tracehouse.engines.duckdb.read.listing import listing

    def asked(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        return first_rows(connection, listing(connection, kind, trace, search), limit), []

    print_notes(how.write(asked, brief=BRIEF[kind]), stderr=how.notes_apart)


@commands.command()
def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="A table, view or query, a trace, a column or a caveat: itp.job, itp, itp.job.run_s.",
            callback=as_text,
            autocompletion=complete_described,
        ),
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    no_pager: NoPager = False,
) -> None:
    """Say what a name means: traces describe pai.task_wait.

    It may be that of a table, view, query, trace, column or caveat.
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.engines.duckdb.read.describe import describe as described
    from tracehouse.publish import description, output

    found = sandbox.ask(warehouse, sandbox.Limits(), lambda opened: described(opened, name), last=True)
    on_terminal = is_on_terminal()
    text = description.as_json(found) if json else description.as_text(found, on_terminal)
    output.show(shown(text) if json and on_terminal else text, pages=not no_pager)


class _WithBarePlot(TyperCommand):
    """A command whose --plot may do without its value, which typer has no word for: `-`, then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            following = args[place + 1] if place + 1 < len(args) else "--"
            if word == "--plot" and following.startswith("-") and following != str(_TERMINAL):
                args = [*args[: place + 1], str(_TERMINAL), *args[place + 1 :]]
                break
        return super().parse_args(ctx, args)


# Shown where an option is wrong, as whoever takes a parameter for one will find.
@commands.command(cls=_WithBarePlot, options_metavar="[-p KEY=VALUE]... [OPTIONS]")
@answering
def query(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the query (`traces list queries` has all), or of a view or table.",
            callback=as_text,
            autocompletion=complete_asked,
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="KEY=VALUE",
            help="A parameter; may be repeated.",
            callback=as_text,
            autocompletion=complete_parameter,
        ),
    ] = None,
    limit: RowLimit = None,
    explain: Explain = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="[FILE]",
            help="Draw the answer: FILE.png, .svg or .pdf; without one, in the terminal.",
            show_default=False,
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            "--width", metavar="MM", help="Width of FILE: 85 for a paper's column.", show_default=False
        ),
    ] = None,
    font_size: Annotated[
        float | None,
        typer.Option("--font-size", metavar="POINTS", help="Size of its letters.", show_default=False),
    ] = None,
    guard_formulas: GuardFormulas = False,
    engine: EngineOption = Engine.DUCKDB,
    master: Master = LOCAL,
    *,
    how: Answering,
) -> None:
    """Answer a named query, or show the rows of a view: traces query itp.gpu_hours -p min_gpus=8.

    With --plot the answer is drawn, in the terminal or to a file: traces query itp.gpu_hours --plot hours.png

    Where a query has the parameter with_total, a table has the totals, rows called all, and other formats
    have them with -p with_total=true.
    """
    from tracehouse.engines.duckdb.read import answer
    from tracehouse.publish import answers, export

    if plot and (how.chosen or how.output or explain or guard_formulas):
        raise UsageError("give --plot, or --format, --output, --explain or --guard-formulas, not both")
    to_file = plot is not None and plot != _TERMINAL
    if (width is not None or font_size is not None) and not to_file:
        raise UsageError("--width and --font-size are those of a picture: give --plot FILE too")
    given = key_values(parameters or [])
    if plot:
        from tracehouse.publish.plot import pictures

        size = pictures.parse_size(width, font_size)
    # A reader wants the total below its parts; a program that sums, or a picture, wants the parts alone.
    with_total = not plot and export.chosen_format(how.chosen, how.output) is Format.TABLE

    def here(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        if explain:
            return answer.named_question(connection, name, given, limit, with_total), []
        question = answer.named_question(
            connection, name, given, with_total=with_total, for_chart=plot is not None
        )
        return answer.answered(connection, answer.first_rows(connection, question, limit))

    asked: answer.Asked = here
    if engine is Engine.SPARK:
        from tracehouse.engines.spark import runner as on_spark

        asked = on_spark.named(
            how.warehouse,
            master,
            how.limits,
            name,
            given,
            limit,
            with_total,
            explain,
            for_chart=plot is not None,
        )
    if plot == _TERMINAL:
        notes = answers.show_answer(asked, how.warehouse, how.limits, given)
    elif plot:
        notes = answers.draw_answer(asked, how.warehouse, how.limits, plot, given, size)
        say(f"Drew {plot}")
    else:
        notes = how.write(asked, guard_formulas=guard_formulas, explain=explain)
    print_notes(notes, stderr=how.notes_apart)


@commands.command()
@answering
def sql(
    statement: Annotated[
        str | None,
        typer.Argument(
            help="The statement; `-`, or none at all, reads standard input.",
            show_default=False,
            callback=as_text,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="File that holds the statement.", show_default=False),
    ] = None,
    limit: RowLimit = None,
    explain: Explain = False,
    guard_formulas: GuardFormulas = False,
    engine: EngineOption = Engine.DUCKDB,
    master: Master = LOCAL,
    *,
    how: Answering,
) -> None:
    """Answer a query in SQL: traces sql "select count(*) from itp.job".

    The database is opened read-only, and no other file can be read or written. Caveats are those of the
    columns that it names. With --engine spark it is Spark's SQL.
    """
    from tracehouse.engines.duckdb.read import answer, provenance

    text = _statement(statement, file)

    def here(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        question = answer.sql_question(connection, text)
        notes = provenance.notes_on_statement(connection, question.sql, question.reads, question.columns)
        if explain:
            return answer.limited(question, limit), notes
        return answer.first_rows(connection, question, limit), notes

    asked: answer.Asked = here
    if engine is Engine.SPARK:
        from tracehouse.engines.spark import runner as on_spark

        asked = on_spark.written(how.warehouse, master, how.limits, text, limit, explain)
    notes = how.write(asked, guard_formulas=guard_formulas, explain=explain)
    print_notes(notes, stderr=how.notes_apart)


@commands.command()
@answering
def check(
    traces: TraceNames = None,
    files: Annotated[
        bool, typer.Option("--files", help="Check instead that every Parquet file is as it was written.")
    ] = False,
    *,
    how: Answering,
) -> None:
    """Check the data against the rules of the catalog: traces check itp. Exits with 1 where one fails.

    With --files, the size and checksum of each Parquet file are compared with those in datapackage.json; of
    stored views, the checksum with that beside the file.
    """
    if files:
        _check_files(how.warehouse, traces or [])
        return
    from tracehouse.engines.duckdb.read import answer, checks

    failed: list[str] = []

    def asked(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        found = checks.run_rules(connection, traces or [])
        count = checks.count_failed(found)
        failed.extend([f"{count} of {found.num_rows} rules failed"] if count else [])
        return answer.of_table(connection, found), []

    how.write(asked, brief=checks.BRIEF)
    if failed:
        raise UserError(failed[0])


@commands.command()
@answering
def verify(
    traces: TraceNames = None,
    *,
    how: Answering,
) -> None:
    """Set what publishers printed beside what is measured: traces verify pai. Exits with 1 where it differs.

    What rests on synthetic data is never reproduced, nor does it differ.
    """
    from tracehouse.engines.duckdb.read import answer
    from tracehouse.engines.duckdb.read import verify as verifying

    differing: list[str] = []

    def asked(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        results = verifying.figures(connection, traces or [])
        count = verifying.count(results, verifying.Verdict.DIFFERS)
        differing.extend([f"{count} of {len(results)} figures differ"] if count else [])
        if not results:
            say("note: the ledgers have no published figures of this", stderr=True)
        question = answer.of_table(connection, verifying.as_table(results))
        said = verifying.explanations_elsewhere if how.notes_apart else verifying.explanations
        return question, said(results)

    explained = how.write(asked, brief=verifying.BRIEF)
    print_notes(explained, stderr=how.notes_apart)
    if differing:
        raise UserError(differing[0])


@commands.command()
def shell(warehouse: Warehouse = DEFAULT_WAREHOUSE) -> None:
    """Open the database in the DuckDB shell, read-only: traces shell."""
    from tracehouse.engines.duckdb.read.shell import command

    line = command(warehouse)
    os.execv(line[0], line)


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.store import integrity

    with byte_bars() as progress:
        report = integrity.check(warehouse, traces, progress)
    for damage in report.damages:
        say(f"damaged: {warehouse / damage.path}: {damage.problem}. {damage.advice}")
    if report.damages:
        raise UserError(f"{len(report.damages):,} of {report.files:,} files are not as they were written")
    say(f"{report.files:,} files, {report.bytes / 1e6:,.1f} MB: all are as they were written")


def _statement(statement: str | None, file: Path | None) -> str:
    if statement not in (None, "-") and file:
        raise UsageError("give a statement or --file, not both")
    if file:
        return _decoded(file.read_bytes(), str(file))
    if statement not in (None, "-"):
        return str(statement)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("give a statement, --file FILE, or one on standard input")
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _decoded(content: bytes, place: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{place}, line {line}: it is not UTF-8") from None

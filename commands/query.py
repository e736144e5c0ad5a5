"""The commands that query a warehouse: list, describe, query, sql and shell."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehouse.commands.completion import (
    complete_object,
    complete_parameter,
    complete_query,
    complete_schema,
    complete_value,
)
from tracehouse.commands.console import is_on_terminal, print_notes, say
from tracehouse.commands.options import (
    CHART,
    PARAMETERS,
    WAREHOUSE,
    AnswerOptions,
    Caveats,
    EngineChoice,
    Explain,
    GuardFormulas,
    Limit,
    Master,
    NoPager,
    Warehouse,
    expand_options,
    flag,
    key_values,
    repeatable,
    utf8,
)
from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.publish.formats import PICTURES, Format
from tracehouse.sql.lists import BRIEF, Kind

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.binding import Bind


@expand_options
def list_(
    options: AnswerOptions,
    kind: Annotated[
        Kind, typer.Argument(metavar="KIND", help="traces, tables, views or queries.")
    ] = Kind.TRACES,
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE", help="Only objects of this trace, or unified.", autocompletion=complete_schema
        ),
    ] = "",
    search: Annotated[
        str,
        typer.Option(
            "--search", "-s", metavar="WORDS", help="Only objects that match all words, best match first."
        ),
    ] = "",
    with_empty: Annotated[bool, flag("--all", "Also list queries of tables without data.")] = False,
    limit: Limit = None,
) -> None:
    """List traces, tables, views or queries.

    --search looks for words in names, titles, parameters and columns, and also for synonyms and other
    endings of the words.

    Example: traces list queries pai --search "queueing delay"
    """
    from tracehouse.engines.duckdb.read.binding import bind_list

    bind = partial(bind_list, kind=kind, trace=trace, words=search, limit=limit, with_empty=with_empty)
    print_notes(options.write(bind, brief=BRIEF[kind]), stderr=options.notes_to_stderr)


def describe(
    name: Annotated[
        str,
        typer.Argument(
            callback=utf8,
            metavar="NAME",
            help="Name of the object, such as itp.job.run_s.",
            autocompletion=complete_object,
        ),
    ],
    warehouse: Warehouse = WAREHOUSE,
    json: Annotated[bool, flag("--json", "Print a JSON object.")] = False,
    full: Annotated[
        bool,
        flag(
            "--full",
            "Print everything, also texts, provenance and SQL. Default if the output is no terminal.",
        ),
    ] = False,
    no_pager: NoPager = False,
) -> None:
    """Describe a table, view, query, trace, column, caveat or published figure.

    Example: traces describe pai.task_wait
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.engines.duckdb.read.describe import describe
    from tracehouse.publish import description, output

    to_terminal = is_on_terminal()
    full = full or not to_terminal
    found = sandbox.run(
        warehouse, sandbox.Limits(), partial(describe, name=name, on_data=not full), exit_after=True
    )
    text = description.as_json(found) if json else description.as_text(found, to_terminal, full)
    output.print_text(escape_text(text) if json and to_terminal else text, pages=not no_pager)


@expand_options
def query(
    options: AnswerOptions,
    name: Annotated[
        str,
        typer.Argument(
            callback=utf8,
            metavar="NAME",
            help="Name of the query, view or table. List: `traces list queries`",
            autocompletion=complete_query,
        ),
    ],
    # Shows how to give a parameter in the usage line, which errors print too.
    words: Annotated[
        list[str],
        typer.Argument(
            default_factory=list, hidden=True, metavar="[-p KEY=VALUE]...", autocompletion=complete_value
        ),
    ],
    parameters: Annotated[
        list[str],
        repeatable(
            "--param",
            "-p",
            metavar="KEY=VALUE",
            text="Set a parameter.",
            callback=utf8,
            autocompletion=complete_parameter,
            rich_help_panel=PARAMETERS,
        ),
    ],
    plot: Annotated[
        bool,
        flag(
            "--plot",
            "Draw a chart in the terminal. To draw it to a file: --output FILE.png, .svg or .pdf.",
            CHART,
        ),
    ] = False,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="MM",
            help="Width of the chart's file, such as 85 for a paper's column.",
            rich_help_panel=CHART,
        ),
    ] = None,
    font_size: Annotated[
        float | None,
        typer.Option(metavar="POINTS", help="Font size in the chart's file.", rich_help_panel=CHART),
    ] = None,
    limit: Limit = None,
    caveats: Caveats = False,
    guard_formulas: GuardFormulas = False,
    engine: EngineChoice = Engine.DUCKDB,
    master: Master = LOCAL,
    explain: Explain = False,
) -> None:
    """Run a named query, or read the rows of a view or table.

    Tables include total rows ("all"). Other formats include them only with -p with_total=true.

    Example: traces query itp.gpu_hours -p min_gpus=8

    Example: traces query itp.gpu_hours --output hours.png
    """
    from tracehouse.engines.duckdb.read.binding import bind_query
    from tracehouse.publish import answers

    if words:
        hint = f". Set a parameter with `-p {words[0]}`" if "=" in words[0] else ""
        raise UsageError(f"Unexpected argument {words[0]}{hint}")
    path = options.output if options.output and options.output.suffix in PICTURES else None
    if plot and options.output and not path:
        raise UsageError(f"{options.output}: the file of a chart must end in {', '.join(PICTURES)}")
    is_chart = plot or path is not None
    if is_chart and (options.requested_format or explain or guard_formulas):
        raise UsageError("A chart excludes --format, --json, --records, --explain and --guard-formulas")
    if not path and (width is not None or font_size is not None):
        raise UsageError("--width and --font-size need a chart's file: --output FILE.png, .svg or .pdf")
    given = key_values(parameters)
    request: dict[str, Any] = {
        "name": name,
        "texts": given,
        "limit": limit,
        # Only tables, which people read, have totals: a program that sums rows would count them twice.
        "with_total": not is_chart and options.output_format is Format.TABLE,
        "explain": explain,
        "for_chart": is_chart,
    }
    bind: Bind = partial(bind_query, **request)
    if engine is Engine.SPARK:
        from tracehouse.engines.spark import runner

        bind = runner.run_query(options.warehouse, master, options.limits, **request)
    if path:
        from tracehouse.publish.plot import pictures

        size = pictures.parse_size(width, font_size)
        notes = answers.draw_to_file(bind, options.warehouse, options.limits, path, given, size)
        say(f"Drew {path}")
    elif plot:
        notes = answers.draw_in_terminal(bind, options.warehouse, options.limits, given)
    else:
        notes = options.write(bind, guard_formulas=guard_formulas)
    print_notes(notes, stderr=options.notes_to_stderr, complete=caveats)


@expand_options
def sql(
    options: AnswerOptions,
    statement: Annotated[
        str | None,
        typer.Argument(
            callback=utf8, metavar="STATEMENT", help="The statement; - or none reads standard input."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="File with the statement.")
    ] = None,
    limit: Limit = None,
    caveats: Caveats = False,
    guard_formulas: GuardFormulas = False,
    engine: EngineChoice = Engine.DUCKDB,
    master: Master = LOCAL,
    explain: Explain = False,
) -> None:
    """Run a read-only SQL statement.

    The statement can read only the warehouse, and cannot write files. The caveats are those of the columns
    that the statement reads. With --engine spark, the statement is translated to Spark SQL.

    Example: traces sql "select count(*) from itp.job"
    """
    from tracehouse.engines.duckdb.read.binding import bind_statement

    text = _statement(statement, file)
    bind: Bind
    if engine is Engine.SPARK:
        from tracehouse.engines.spark import runner

        bind = runner.run_statement(options.warehouse, master, options.limits, text, limit, explain)
    else:
        bind = partial(bind_statement, sql=text, limit=limit, explain=explain)
    notes = options.write(bind, guard_formulas=guard_formulas)
    print_notes(notes, stderr=options.notes_to_stderr, complete=caveats)


def shell(warehouse: Warehouse = WAREHOUSE) -> None:
    """Open the database read-only in the DuckDB shell.

    Example: traces shell --warehouse warehouse
    """
    from tracehouse.engines.duckdb.read.sandbox import shell_command

    line = shell_command(warehouse)
    os.execv(line[0], line)


def _statement(statement: str | None, file: Path | None) -> str:
    is_given = statement not in (None, "-")
    if is_given and file:
        raise UsageError("Give a statement or --file, not both")
    if file:
        return _decode(file.read_bytes(), str(file))
    if is_given:
        return str(statement)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("No statement. Give it as an argument, with --file, or on standard input")
    return _decode(sys.stdin.buffer.read(), "standard input")


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{source}, line {line}: not valid UTF-8") from None

"""The commands that query a warehouse."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracehouse.commands.completion import (
    complete_object,
    complete_parameter,
    complete_query,
    complete_schema,
)
from tracehouse.commands.console import is_on_terminal, print_notes, say
from tracehouse.commands.options import (
    PATH,
    TEXT,
    AnswerOptions,
    answer_options,
    caveats_option,
    engine_options,
    explain_option,
    guard_option,
    key_values,
    limit_option,
    pager_option,
    trace_names,
    warehouse_option,
)
from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.text import escape_text
from tracehouse.engines.names import Engine
from tracehouse.publish.formats import Format
from tracehouse.sql.lists import BRIEF, Kind

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.binding import Bind

# The value of --plot without a file.
_TERMINAL = Path("-")


@click.command("list")
@click.argument(
    "kind", type=click.Choice([kind.value for kind in Kind]), default=Kind.TRACES.value, help="What to list."
)
@click.argument(
    "trace",
    default="",
    shell_complete=complete_schema,
    help="Only objects of this trace, or unified.",
)
@click.option(
    "--search", "-s", metavar="WORDS", default="", help="Only objects that match all words, best match first."
)
@click.option("--all", "with_empty", is_flag=True, help="Also list queries of tables without data.")
@limit_option
@answer_options
def list_(
    options: AnswerOptions, kind: str, trace: str, search: str, with_empty: bool, limit: int | None
) -> None:
    """List traces, tables, views or queries.

    --search looks for words in names, titles, parameters and columns, and also for synonyms and other
    endings of the words.

    Example: traces list queries pai --search "queueing delay"
    """
    from tracehouse.engines.duckdb.read.binding import bind_list

    bind = partial(bind_list, kind=Kind(kind), trace=trace, words=search, limit=limit, with_empty=with_empty)
    print_notes(options.write(bind, brief=BRIEF[Kind(kind)]), stderr=options.notes_to_stderr)


@click.command()
@click.argument(
    "name", type=TEXT, shell_complete=complete_object, help="Name of the object, such as itp.job.run_s."
)
@warehouse_option
@click.option("--json", is_flag=True, help="Print a JSON object.")
@click.option(
    "--full",
    is_flag=True,
    help="Print all texts, types, provenance, caveats and SQL. Default if the output is not a terminal.",
)
@pager_option
def describe(name: str, warehouse: Path, json: bool, full: bool, no_pager: bool) -> None:
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


# The usage line is printed with errors too: it shows how to give parameters.
@click.command(options_metavar="[-p KEY=VALUE]... [OPTIONS]", context_settings={"allow_extra_args": True})
@click.argument(
    "name",
    type=TEXT,
    shell_complete=complete_query,
    help="Name of the query, view or table. List: `traces list queries`",
)
@click.option(
    "--param",
    "-p",
    "parameters",
    type=TEXT,
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=complete_parameter,
    help="Set a parameter. Repeatable.",
)
@limit_option
@explain_option
@click.option(
    "--plot",
    type=PATH,
    is_flag=False,
    flag_value=str(_TERMINAL),
    metavar="[FILE]",
    help="Draw a chart: FILE.png, .svg or .pdf, or in the terminal.",
)
@click.option("--width", type=float, metavar="MM", help="Width of FILE, such as 85 for a paper's column.")
@click.option("--font-size", type=float, metavar="POINTS", help="Font size in FILE.")
@caveats_option
@guard_option
@engine_options
@answer_options
@click.pass_context
def query(
    context: click.Context,
    options: AnswerOptions,
    name: str,
    parameters: Sequence[str],
    limit: int | None,
    explain: bool,
    plot: Path | None,
    width: float | None,
    font_size: float | None,
    caveats: bool,
    guard_formulas: bool,
    engine: str,
    master: str,
) -> None:
    """Run a named query, or read the rows of a view or table.

    Tables include total rows ("all"). Other formats include them only with -p with_total=true.

    Example: traces query itp.gpu_hours -p min_gpus=8

    Example: traces query itp.gpu_hours --plot hours.png
    """
    from tracehouse.engines.duckdb.read.binding import bind_query
    from tracehouse.publish import answers

    if context.args:
        extra = context.args[0]
        hint = f". Set a parameter with `-p {extra}`" if "=" in extra else ""
        context.fail(f"Got unexpected extra argument ({extra}){hint}")
    if plot and (options.requested_format or options.output or explain or guard_formulas):
        raise UsageError("--plot excludes --format, --output, --explain and --guard-formulas")
    to_file = plot is not None and plot != _TERMINAL
    if (width is not None or font_size is not None) and not to_file:
        raise UsageError("--width and --font-size need --plot FILE")
    given = key_values(parameters)
    if plot:
        from tracehouse.publish.plot import pictures

        size = pictures.parse_size(width, font_size)
    # Only tables, which people read, have totals: a program that sums rows would count them twice.
    form = None if plot else options.output_format
    request: dict[str, Any] = {
        "name": name,
        "texts": given,
        "limit": limit,
        "with_total": form is Format.TABLE,
        "explain": explain,
        "for_chart": plot is not None,
    }
    bind: Bind = partial(bind_query, **request)
    if engine == Engine.SPARK:
        from tracehouse.engines.spark import runner

        bind = runner.run_query(options.warehouse, master, options.limits, **request)
    if plot == _TERMINAL:
        notes = answers.draw_in_terminal(bind, options.warehouse, options.limits, given)
    elif plot:
        notes = answers.draw_to_file(bind, options.warehouse, options.limits, plot, given, size)
        say(f"Drew {plot}")
    else:
        notes = options.write(bind, form, guard_formulas=guard_formulas)
    print_notes(notes, stderr=options.notes_to_stderr, complete=caveats)


@click.command()
@click.argument("statement", type=TEXT, required=False, help="The statement; - or none reads standard input.")
@click.option("--file", "-f", type=PATH, help="File with the statement.")
@limit_option
@explain_option
@caveats_option
@guard_option
@engine_options
@answer_options
def sql(
    options: AnswerOptions,
    statement: str | None,
    file: Path | None,
    limit: int | None,
    explain: bool,
    caveats: bool,
    guard_formulas: bool,
    engine: str,
    master: str,
) -> None:
    """Run a read-only SQL statement.

    The statement can read only the warehouse, and cannot write files. The caveats are those of the columns
    that the statement reads. With --engine spark, the statement must be in Spark SQL.

    Example: traces sql "select count(*) from itp.job"
    """
    from tracehouse.engines.duckdb.read.binding import bind_statement

    text = _statement(statement, file)
    bind: Bind
    if engine == Engine.SPARK:
        from tracehouse.engines.spark import runner

        bind = runner.run_statement(options.warehouse, master, options.limits, text, limit, explain)
    else:
        bind = partial(bind_statement, sql=text, limit=limit, explain=explain)
    notes = options.write(bind, guard_formulas=guard_formulas)
    print_notes(notes, stderr=options.notes_to_stderr, complete=caveats)


@click.command()
@trace_names
@click.option("--files", is_flag=True, help="Check the Parquet files instead: size and checksum of each.")
@answer_options
def check(options: AnswerOptions, traces: Sequence[str], files: bool) -> None:
    """Check the data against the rules of the catalog and the expected counts of the published files.

    Exits with 1 if a rule or count fails. Expected counts do not apply to synthetic data. With --files,
    compares each Parquet file with its entry in datapackage.json, and each materialized view with its stored
    checksum.

    Example: traces check itp
    """
    if files:
        _check_files(options.warehouse, traces)
        return
    from tracehouse.engines.duckdb.read import checks, sandbox
    from tracehouse.engines.duckdb.read.binding import bind_rows
    from tracehouse.publish import output

    output.check(options.output)
    found = sandbox.run(options.warehouse, options.limits, partial(checks.run_rules, traces=traces))
    options.write(partial(bind_rows, rows=found), brief=checks.BRIEF)
    count = checks.count_failed(found)
    if count:
        raise UserError(f"{count} of {found.num_rows} rules and expected counts failed")


@click.command()
@trace_names
@answer_options
def verify(options: AnswerOptions, traces: Sequence[str]) -> None:
    """Compare published figures with figures computed from the data.

    Exits with 1 if a figure differs and the catalog has no explanation. Figures that depend on synthetic data
    have the verdict `synthetic data`. A terminal needs --wide to show the names of figures; `traces describe`
    shows where a figure is printed, and its SQL.

    Example: traces verify pai
    """
    from tracehouse.engines.duckdb.read import sandbox, verify
    from tracehouse.engines.duckdb.read.binding import bind_rows
    from tracehouse.publish import output

    output.check(options.output)
    results = sandbox.run(options.warehouse, options.limits, partial(verify.figures, traces=traces))
    if not results:
        say("note: the catalog has no published figures of these traces", stderr=True)
    explain = verify.explanation_summary if options.notes_to_stderr else verify.explanations
    notes = [*explain(results), *verify.trust_summary(results)]
    bind = partial(bind_rows, rows=verify.as_table(results), notes=notes)
    print_notes(options.write(bind, brief=verify.BRIEF), stderr=options.notes_to_stderr)
    count = verify.count(results, verify.Verdict.DIFFERS)
    if count:
        raise UserError(f"{count} of {len(results)} figures differ")


@click.command()
@warehouse_option
def shell(warehouse: Path) -> None:
    """Open the database read-only in the DuckDB shell.

    Example: traces shell --warehouse warehouse
    """
    from tracehouse.engines.duckdb.read.sandbox import shell_command

    line = shell_command(warehouse)
    os.execv(line[0], line)


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.store import integrity

    with byte_bars() as progress:
        report = integrity.check(warehouse, traces, progress)
    for damage in report.damages:
        say(f"damaged: {warehouse / damage.path}: {damage.problem}. {damage.advice}")
    if report.damages:
        raise UserError(f"{len(report.damages):,} of {report.files:,} files are damaged")
    say(f"{report.files:,} files, {report.bytes / 1e6:,.1f} MB: no damage")


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


COMMANDS = (list_, describe, query, sql, check, verify, shell)

"""The commands that query a warehouse: list, describe, query, sql and shell."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tracehouse.commands import completion, options
from tracehouse.commands.console import is_on_terminal
from tracehouse.commands.options import AnswerOptions, QueryOptions, argument, expand_options, option
from tracehouse.core.arguments import check_text
from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text
from tracehouse.definitions.lists import BRIEF, Kind, parse_kind
from tracehouse.engines.request import Listing, NamedQuery, Request, Statement
from tracehouse.publish.formats import OutputFormat


def _parse_kind(text: str) -> Kind:
    if kind := parse_kind(text):
        return kind
    raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, map(str, Kind)))}.")


_Kind = Annotated[
    Kind,
    argument(
        "KIND",
        "traces, tables, views or queries.",
        parser=_parse_kind,
        autocompletion=completion.complete_kind,
    ),
]
_Trace = Annotated[
    str, argument("TRACE", "Only of this trace, or unified.", autocompletion=completion.complete_schema)
]
_Search = Annotated[str, option("--search -s", "Only what matches all words, best first.", "WORDS")]
_All = Annotated[bool, option("--all", "Also list queries of tables without data.")]
_Object = Annotated[
    str, argument("NAME", "Such as itp or itp.job.run_s.", autocompletion=completion.complete_object)
]
_Full = Annotated[bool, option("--full", "Print all texts and the SQL, as in a pipe.")]
_Relation = Annotated[
    str,
    argument(
        "NAME", "Query, view or table; see `traces list queries`.", autocompletion=completion.complete_query
    ),
]
# The usage line, which errors print too, shows how to set parameters.
_Words = Annotated[
    list[str],
    argument(
        "[-p KEY=VALUE]...", "", default_factory=list, hidden=True, autocompletion=completion.complete_value
    ),
]
_Parameters = Annotated[
    list[str],
    options.repeatable(
        "--param -p",
        "Set a parameter.",
        "KEY=VALUE",
        options.PARAMETERS,
        autocompletion=completion.complete_parameter,
    ),
]
_Statement = Annotated[str | None, argument("STATEMENT", "The statement; default, or -: standard input.")]
_File = Annotated[Path | None, option("--file -f", "File with the statement.", "FILE")]

_UNLIMITED = 10_000


@expand_options
def list_(
    answer: AnswerOptions,
    kind: _Kind = Kind.TRACES,
    trace: _Trace = "",
    search: _Search = "",
    with_empty: _All = False,
    limit: options.Limit = None,
) -> None:
    """List traces, tables, views or queries.

    --search looks for words in names, titles, parameters and columns, and also for synonyms and other
    endings of the words.

    Example: traces list queries pai --search "queueing delay"
    """
    answer.write(Request(Listing(kind, trace, search, with_empty), limit), brief=BRIEF[kind])


def describe(
    name: _Object,
    warehouse: options.Warehouse = options.WAREHOUSE,
    json: Annotated[bool, option("--json", "Print a JSON object.")] = False,
    full: _Full = False,
    no_pager: options.NoPager = False,
) -> None:
    """Describe a table, view, query, column, trace, caveat or figure.

    Example: traces describe pai.task_wait
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.engines.duckdb.read.describe import describe
    from tracehouse.publish import description, output

    check_text("NAME", name)
    to_terminal = is_on_terminal()
    full = full or not to_terminal
    found = sandbox.run(warehouse, sandbox.Limits(), partial(describe, name=name, on_data=True))
    # Programs such as grep read complete lines.
    width = None if to_terminal else _UNLIMITED
    text = description.as_json(found) if json else description.as_text(found, to_terminal, full, width)
    output.print_text(escape_text(text) if json and to_terminal else text, pages=not no_pager)


@expand_options
def query(
    answer: QueryOptions,
    name: _Relation,
    words: _Words,
    parameters: _Parameters,
) -> None:
    """Run a named query, or read the rows of a view or table.

    Tables include total rows ("all"). Other formats include them only with -p with_total=true.

    Example: traces query itp.gpu_hours -p min_gpus=8

    Example: traces query itp.gpu_hours --output hours.png
    """
    if words:
        hint = f". Set a parameter with `-p {words[0]}`" if "=" in words[0] else ""
        raise UsageError(f"Unexpected argument {words[0]}{hint}")
    for text in (name, *parameters):
        check_text("argument", text)
    # Only tables, which people read, have totals: a program that sums rows would count them twice.
    with_total = not answer.is_chart and answer.output_format is OutputFormat.TABLE
    answer.write_or_draw(NamedQuery(name, options.key_values(parameters), with_total, answer.is_chart))


@expand_options
def sql(answer: QueryOptions, statement: _Statement = None, file: _File = None) -> None:
    """Run a read-only SQL statement.

    The statement can read only the warehouse, and cannot write files. The caveats are those of the columns
    that the statement reads. With --engine spark, the statement is translated to Spark SQL.

    A chart shows the first columns that fit, or those of --x, --y and --color.

    Example: traces sql "select count(*) from itp.job"

    Example: traces sql "from itp.gpu_hours()" --x cluster --y jobs
    """
    answer.write_or_draw(Statement(_statement(statement, file)))


def shell(warehouse: options.Warehouse = options.WAREHOUSE) -> None:
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
        return check_text("STATEMENT", statement)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("No statement. Give it as an argument, with --file, or on standard input")
    return _decode(sys.stdin.buffer.read(), "standard input")


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{source}, line {line}: not valid UTF-8") from None

"""The command line: `traces`. Parses, calls one function, prints."""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Optional

import typer
from typer.core import TyperCommand

from tracehouse import exports
from tracehouse.arguments import PlainArguments
from tracehouse.engines import process
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.ingest import signals
from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.ingest.terminal import shown
from tracehouse.publish.formats import Format
from tracehouse.sql import names
from tracehouse.sql.lists import BRIEF, Kind

# Everything else is imported where it is used: `traces --help` needs none of it.
if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from tracehouse.engines.duckdb.read.answer import Asked, Note, Question
    from tracehouse.engines.duckdb.read.asking import Limits
    from tracehouse.ingest.pipeline import IngestResult


app = typer.Typer(
    cls=PlainArguments,
    help="A columnar warehouse of public GPU-cluster traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _beginning_with(start: str, found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of names and what they mean, those that begin as what was typed."""
    # Straight apostrophes are lost on the way to zsh.
    return ((name, meaning.replace("'", "’")) for name, meaning in found if name.startswith(start))


def _complete_trace(incomplete: str) -> Iterator[tuple[str, str]]:
    return _beginning_with(incomplete, ((name, "") for name in names.trace_names()))


def _complete_schema(incomplete: str) -> Iterator[tuple[str, str]]:
    return _beginning_with(incomplete, ((name, "") for name in (*names.trace_names(), "unified")))


def _warehouse_of(context: typer.Context) -> Path:
    """The warehouse that a line which is being typed is about."""
    given, by_all = context.params.get("warehouse"), context.find_root().params.get("warehouse")
    source = context.get_parameter_source("warehouse")
    is_typed_here = source is not None and source.name == "COMMANDLINE"
    return Path((given if is_typed_here else by_all or given) or DEFAULT_WAREHOUSE)


def _complete_asked(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    warehouse = _warehouse_of(context)
    ours_and_own = chain(names.query_names(warehouse), names.view_names(warehouse), names.table_names())
    return _beginning_with(incomplete, ours_and_own)


def _complete_described(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    caveats = _beginning_with(incomplete, names.caveat_names())
    return chain(_complete_trace(incomplete), _complete_asked(context, incomplete), caveats)


def _complete_parameter(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Parameters of the query that stands before, each with its default and other values: `min_gpus=1`."""
    # What stands before an option without its value is not parsed.
    query = next((word for word in (context.params.get("name"), *context.args) if word), "")
    for name, meaning, values in names.parameters_of(query, _warehouse_of(context)):
        pairs = ((f"{name}={value}", meaning) for value in values or [""])
        yield from _beginning_with(incomplete, pairs)


Warehouse = Annotated[
    Path,
    typer.Option("--warehouse", "-w", envvar="TRACES_WAREHOUSE", help="Folder that holds the warehouse."),
]
Raw = Annotated[
    list[Path],
    typer.Option("--raw", "-r", envvar="TRACES_RAW", help="Folder with raw files; may be repeated."),
]
TraceNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="[TRACE]...",
        help="Traces; all, if none is named.",
        show_default=False,
        autocompletion=_complete_trace,
    ),
]
FormatOption = Annotated[
    Optional[Format],  # noqa: UP045
    typer.Option("--format", help="Default: table on a terminal, csv in a pipe.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Records = Annotated[
    bool, typer.Option("--records", help="A line for each value: for few rows of many columns.")
]
Wide = Annotated[
    bool, typer.Option("--wide", help="In a table, show all columns and whole texts, however wide.")
]
NoPager = Annotated[
    bool,
    typer.Option(
        "--no-pager", help="Not in a pager, where it is longer than the screen: TRACES_PAGER, PAGER or less."
    ),
]
RowLimit = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--limit", "-n", min=0, help="No more rows than these.", show_default=False),
]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--output", "-o", help="File to write to; its ending chooses the format.", show_default=False
    ),
]
Timeout = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--timeout", metavar="SECONDS", help="Give up after so long.", show_default=False),
]
MemoryLimit = Annotated[
    str,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="As 500MB or 4GB; what does not fit goes to disk. Default: half of the machine's.",
        show_default=False,
    ),
]
GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas",
        help="In CSV, put a ' before texts that a spreadsheet would run: those with = + - or @ in front.",
    ),
]
EngineOption = Annotated[
    Engine, typer.Option("--engine", help="What runs it: spark for warehouses beyond one machine.")
]
Master = Annotated[
    str,
    typer.Option("--master", metavar="URL", help="Spark's: local[N], spark://HOST:PORT, yarn or k8s://…"),
]
NoStored = Annotated[
    bool, typer.Option("--no-stored", help="Compute every view when it is asked, and keep none as Parquet.")
]
Explain = Annotated[bool, typer.Option("--explain", help="Show how it would be run, and do not run it.")]

DEFAULT_WAREHOUSE = Path("warehouse")
# What --plot means without a file.
_TERMINAL = Path("-")
DEFAULT_RAW = [Path("raw")]


@dataclass(frozen=True)
class Answering:
    """How an answer is given: the options that all commands share which give one."""

    warehouse: Warehouse = DEFAULT_WAREHOUSE
    form: FormatOption = None
    json: Json = False
    records: Records = False
    wide: Wide = False
    no_pager: NoPager = False
    output: Output = None
    timeout: Timeout = None
    memory_limit: MemoryLimit = ""

    @property
    def chosen(self) -> Format | None:
        """The format that was asked for, if any. Raises UsageError where several were."""
        asked = {self.form} - {None}
        asked |= {Format.JSON} if self.json else set()
        asked |= {Format.RECORDS} if self.records else set()
        if len(asked) > 1:
            raise UsageError("give one of --format, --json and --records: an answer has one format")
        return next(iter(asked), None)

    @property
    def limits(self) -> "Limits":
        """How long the answer may take, and how much memory."""
        from tracehouse.engines.duckdb.read.asking import Limits

        return Limits(self.timeout, self.memory_limit)

    def write(self, asked: "Asked", **more: Any) -> "list[Note]":
        """Write an answer, as `answers.write_answer` does with these options. Returns the notes on it."""
        from tracehouse.publish import answers

        return answers.write_answer(
            asked,
            self.warehouse,
            self.limits,
            self.chosen,
            self.output,
            wide=self.wide,
            pages=not self.no_pager,
            last=True,
            **more,
        )

    @property
    def notes_apart(self) -> bool:
        """Whether notes on the answer would mix with it where it goes, and so belong on standard error."""
        return self.output is not None or not _on_terminal()


def _answering(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `Answering`, which it gets as its argument `how`."""
    own = inspect.signature(command)
    shared = inspect.signature(Answering).parameters.values()

    @wraps(command)
    def called(**values: Any) -> None:
        how = Answering(**{option.name: values.pop(option.name) for option in shared})
        command(**values, how=how)

    options = [*(option for option in own.parameters.values() if option.name != "how"), *shared]
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    called.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in options}
    return called


def _as_text(value: str | list[str] | None) -> str | list[str] | None:
    """What was given, where it is text: an argument may hold any byte."""
    for text in [value] if isinstance(value, str) else value or []:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{shown(text)} is not UTF-8") from None
    return value


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        _say(f"traces {version('tracehouse')}")
        raise typer.Exit


@app.callback()
def traces(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    warehouse: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--warehouse", "-w", help="Folder that holds the warehouse.", show_default=False),
    ] = None,
    no_pager: NoPager = False,
) -> None:
    """A columnar warehouse of public GPU-cluster traces."""
    # Commands take them from there, unless they are told otherwise.
    if warehouse is not None:
        os.environ["TRACES_WAREHOUSE"] = os.fsdecode(warehouse)
    if no_pager:
        os.environ["TRACES_PAGER"] = ""


@app.command()
def fetch(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_RAW[0],
    metrics: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--metric", metavar="NAME", help="Telemetry of this metric too, or all; may be repeated."
        ),
    ] = None,
    clusters: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--cluster", metavar="NAME", help="Telemetry too, of this cluster; may be repeated."),
    ] = None,
    mirrors: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--mirror", metavar="HOST=URL", help="Ask URL for what lies at https://HOST; may be repeated."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fetched from where, and fetch nothing.")
    ] = False,
) -> None:
    """Download the publishers' raw files: traces fetch itp zeus --out raw.

    A download that was cut off goes on where it was; what is there as published is not fetched again. Acme's
    telemetry, 80 GB, comes only when asked for: traces fetch acme --metric POWER_USAGE --cluster kalos.
    """
    from tracehouse.ingest.downloads import fetch as downloads
    from tracehouse.ingest.progress import byte_bars

    hosts = _key_values(mirrors or [], "a mirror is written HOST=URL")
    wish = downloads.Wish(out, traces or [], metrics or [], clusters or [], hosts, is_dry=dry_run)
    with downloads.opened(wish) as web:
        plans = downloads.planned(wish, web)
        for line in downloads.announcement(plans, out, with_files=dry_run):
            _say(line)
        if dry_run:
            return
        said: list[str] = []
        # Lines among bars would leave pieces of them behind.
        tell = said.append if sys.stderr.isatty() else _say
        with byte_bars() as progress:
            outcome = downloads.fetch(plans, out, web, progress, tell)
    for line in said:
        _say(line)
    for failure in outcome.failures:
        _say(f"error: {failure}", stderr=True)
    if outcome.failures:
        raise UserError(downloads.said_of_failures(outcome))
    _say(
        f"{outcome.fetched} fetched, {outcome.kept} there already. Read them with: traces ingest --raw {out}"
    )


@app.command()
def ingest(
    traces: TraceNames = None,
    raw: Raw = DEFAULT_RAW,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Let a table hold what is found now and nothing else, and a file have far fewer rows.",
        ),
    ] = False,
    no_stored: NoStored = False,
    engine: EngineOption = Engine.DUCKDB,
    master: Master = LOCAL,
) -> None:
    """Read raw files into the warehouse: traces ingest itp openb --raw ~/downloads.

    Files are recognised by name and content anywhere below the raw folders. What was ingested before stays,
    but where the same file is found in another version; `traces forget` takes it out. What has not changed
    since the last ingest is not converted again; an ingest that was stopped goes on where it was. A database
    that was built with --materialize stays one file. With --engine spark the workers of a cluster convert,
    which see the raw files and the warehouse under the same paths.
    """
    from tracehouse.engines.duckdb.write import database
    from tracehouse.ingest.progress import byte_bars

    before = _database_that_stands(warehouse)

    def stopped() -> str:
        now = _database_that_stands(warehouse)
        state = "The database is as it was" if before else "There is no database yet"
        return (
            "Stopped. What was converted is kept, and the next ingest goes on there. "
            f"{state if now == before else 'The new database is in its place'}"
        )

    with ExitStack() as stack:
        stack.enter_context(signals.last_words(stopped))
        run = None
        if engine is Engine.SPARK:
            from tracehouse.engines.spark.conversions import on_cluster

            run = stack.enter_context(on_cluster(master))
        progress = stack.enter_context(byte_bars())
        outcome = database.ingest(raw, warehouse, traces or [], progress, replace, run, not no_stored)
    _print_outcome(outcome, warehouse)


@app.command()
def forget(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Raw files, by their path or name, or patterns: 'acme/*'."),
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """Take raw files out of the warehouse: traces forget openb_pod_list_cpu050.csv.

    The raw files themselves are not touched; the next ingest that finds them reads them again.
    """
    from tracehouse.engines.duckdb.write import database

    for left in database.forget(warehouse, sources):
        _say(left)


@app.command()
def vacuum(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    older_than_days: Annotated[
        float, typer.Option("--older-than-days", min=0, help="Only files that were superseded so long ago.")
    ] = 7,
    keep_versions: Annotated[
        int, typer.Option("--keep-versions", min=0, help="Keep what so many versions before this one had.")
    ] = 3,
) -> None:
    """Remove Parquet files that newer versions have superseded: traces vacuum --older-than-days 0.

    Every ingest does so with these defaults. Who still reads an older version gets errors from then on.
    """
    from tracehouse.engines.duckdb.write import database

    removed, notes = database.vacuum(warehouse, older_than_days, keep_versions)
    for note in notes:
        _say(f"note: {note}", stderr=True)
    freed_mb = sum(file.bytes for file in removed) / 1e6
    _say(f"Removed {len(removed):,} files, {freed_mb:,.1f} MB")


@app.command()
def build(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    materialize: Annotated[
        bool,
        typer.Option("--materialize", help="Copy the tables into the database: one file, no other needed."),
    ] = False,
    no_stored: NoStored = False,
    recover: Annotated[
        bool,
        typer.Option("--recover", help="First make datapackage.json anew, if it is gone or damaged."),
    ] = False,
) -> None:
    """Build the database anew over the warehouse's Parquet: traces build.

    Needed after the folder was moved, after an update of this program, and after a change of your own views
    and queries in the warehouse's folder `local`.
    """
    from tracehouse.engines.duckdb.write import database
    from tracehouse.ingest.progress import byte_bars

    if recover:
        with byte_bars() as progress:
            notes = database.recover(warehouse, progress)
        for note in notes:
            _say(f"note: {note}", stderr=True)
    built = database.build(warehouse, materialize, not no_stored)
    _say(f"Built {built.path}")
    for note in built.notes:
        _say(f"note: {note}", stderr=True)
    for problem in built.problems:
        _say(f"error: {problem.error}", stderr=True)
    if built.problems:
        count = len(built.problems)
        raise UserError(f"{count} file{'s' * (count != 1)} of your own could not be built; all else was")


@app.command()
def sample(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_RAW[0],
    scale: Annotated[
        float,
        typer.Option(
            "--scale", "-s", help="Size; 1 is the publisher's. Acme's telemetry goes by its square."
        ),
    ] = 0.01,
    seed: Annotated[int, typer.Option("--seed", help="The same seed and scale give the same files.")] = 0,
) -> None:
    """Write synthetic raw files in the publishers' formats: traces sample --out raw --scale 0.01.

    They are marked as synthetic, and stay so in the warehouse.
    """
    from tracehouse.ingest.progress import byte_bars
    from tracehouse.samples.dumps import available, expected_bytes, write_sample

    chosen = traces or available()
    with byte_bars() as progress:

        def tell(trace: str, more_bytes: int) -> None:
            progress(trace, more_bytes, expected_bytes([trace], scale))

        paths = write_sample(out, scale, seed, chosen, tell)
    _say(f"Wrote {len(paths)} synthetic files to {out}. Read them with: traces ingest --raw {out}")


@app.command("list")
@_answering
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")] = Kind.TRACES,
    trace: Annotated[
        str,
        typer.Argument(
            help="Only those of a trace, or unified.", show_default=False, autocompletion=_complete_schema
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

    _print_notes(how.write(asked, brief=BRIEF[kind]), stderr=how.notes_apart)


@app.command()
def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="A table, view or query, a trace, a column or a caveat: itp.job, itp, itp.job.run_s.",
            callback=_as_text,
            autocompletion=_complete_described,
        ),
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    no_pager: NoPager = False,
) -> None:
    """Say what a name means: traces describe pai.task_wait.

    It may be that of a table, view, query, trace, column or caveat.
    """
    from tracehouse.engines.duckdb.read import asking
    from tracehouse.engines.duckdb.read.describe import describe as described
    from tracehouse.publish import description, output

    found = asking.ask(warehouse, asking.Limits(), lambda opened: described(opened, name), last=True)
    on_terminal = _on_terminal()
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


@app.command(cls=_WithBarePlot)
@_answering
def query(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the query (`traces list queries` has all), or of a view or table.",
            callback=_as_text,
            autocompletion=_complete_asked,
        ),
    ],
    parameters: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--param",
            "-p",
            metavar="KEY=VALUE",
            help="A parameter; may be repeated.",
            callback=_as_text,
            autocompletion=_complete_parameter,
        ),
    ] = None,
    limit: RowLimit = None,
    explain: Explain = False,
    plot: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--plot",
            metavar="[FILE]",
            help="Draw the answer: FILE.png, .svg or .pdf; without one, in the terminal.",
            show_default=False,
        ),
    ] = None,
    width: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            "--width", metavar="MM", help="Width of FILE: 85 for a paper's column.", show_default=False
        ),
    ] = None,
    font_size: Annotated[
        Optional[float],  # noqa: UP045
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
    values = given = _key_values(parameters or [])
    if plot:
        from tracehouse.publish.plot import pictures
        from tracehouse.sql.query_files import given_by_chart

        size = pictures.size_of(width, font_size)
        values = {**given_by_chart(name), **given}
    # A reader wants the total below its parts; a program that sums, or a picture, wants the parts alone.
    with_total = not plot and export.chosen_format(how.chosen, how.output) is Format.TABLE

    def here(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        if explain:
            return answer.named_question(connection, name, values, limit, with_total), []
        question = answer.named_question(connection, name, values, with_total=with_total)
        return answer.answered(connection, answer.first_rows(connection, question, limit))

    asked: answer.Asked = here
    if engine is Engine.SPARK:
        from tracehouse.engines.spark import asking as on_spark

        asked = on_spark.named(how.warehouse, master, how.limits, name, values, limit, with_total, explain)
    if plot == _TERMINAL:
        notes = answers.show_answer(asked, how.warehouse, how.limits, given)
    elif plot:
        notes = answers.draw_answer(asked, how.warehouse, how.limits, plot, given, size)
        _say(f"Drew {plot}")
    else:
        notes = how.write(asked, guard_formulas=guard_formulas, explain=explain)
    _print_notes(notes, stderr=how.notes_apart)


@app.command()
@_answering
def sql(
    statement: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            help="The statement; `-`, or none at all, reads standard input.",
            show_default=False,
            callback=_as_text,
        ),
    ] = None,
    file: Annotated[
        Optional[Path],  # noqa: UP045
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
        from tracehouse.engines.spark import asking as on_spark

        asked = on_spark.written(how.warehouse, master, how.limits, text, limit, explain)
    notes = how.write(asked, guard_formulas=guard_formulas, explain=explain)
    _print_notes(notes, stderr=how.notes_apart)


@app.command()
@_answering
def check(
    traces: TraceNames = None,
    files: Annotated[
        bool, typer.Option("--files", help="Check instead that every Parquet file is as it was written.")
    ] = False,
    *,
    how: Answering,
) -> None:
    """Check the data against the rules of the catalog: traces check itp. Exits with 1 where one fails.

    With --files, the size and checksum of each Parquet file are compared with those in datapackage.json.
    """
    if files:
        _check_files(how.warehouse, traces or [])
        return
    from tracehouse.engines.duckdb.read import answer, checks

    failed: list[str] = []

    def asked(connection: "DuckDBPyConnection") -> "tuple[Question, list[Note]]":
        found = checks.rules(connection, traces or [])
        count = checks.count_failed(found)
        failed.extend([f"{count} of {found.num_rows} rules failed"] if count else [])
        return answer.of_table(connection, found), []

    how.write(asked, brief=checks.BRIEF)
    if failed:
        raise UserError(failed[0])


@app.command()
@_answering
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
            _say("note: the ledgers have no published figures of this", stderr=True)
        question = answer.of_table(connection, verifying.as_table(results))
        said = verifying.explanations_elsewhere if how.notes_apart else verifying.explanations
        return question, said(results)

    explained = how.write(asked, brief=verifying.BRIEF)
    _print_notes(explained, stderr=how.notes_apart)
    if differing:
        raise UserError(differing[0])


@app.command()
def publish(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", "-o", metavar="FILE", help="DuckDB file to write.", show_default=False),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            help="PostgreSQL to fill: postgresql://user@host/database; PGPASSWORD has the password.",
            show_default=False,
        ),
    ] = "",
    superset: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--superset",
            metavar="ZIP",
            help="Superset's dashboards over FILE, to be imported there.",
            show_default=False,
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Telemetry sample by sample too, not by the hour alone."),
    ] = False,
) -> None:
    """Write what BI tools read, and replace what was published before: traces publish --out traces.duckdb.

    Everything is a table there: base tables, views, the answers of the named queries to their defaults, and
    the catalog. Traces without data are left out.
    """
    from tracehouse.publish.bi import publishing

    outcome = publishing.publish(warehouse, out, to, superset, whole)
    for line in outcome.done:
        _say(line)
    for note in outcome.notes:
        _say(f"note: {note}", stderr=True)


@app.command()
def report(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write to.")] = Path("report.html"),
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    timeout: Timeout = None,
    memory_limit: MemoryLimit = "",
) -> None:
    """Write a page on what is loaded, what it tells and how far it agrees: traces report itp --out itp.html.

    One file of HTML, to read, send and print: sources, coverage, the traces side by side, published figures
    beside measured ones, charts, caveats, citations. It needs no network.
    """
    from tracehouse.engines.duckdb.read import asking
    from tracehouse.publish import answers

    answers.write_report(traces or [], warehouse, asking.Limits(timeout, memory_limit), out)
    _say(f"Wrote {out}")


@app.command()
def explore(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="A question may take so long.")
    ] = 60,
    memory_limit: MemoryLimit = "",
) -> None:
    """Ask the named queries in the browser: traces explore. Ctrl-C ends it.

    To search them, set their parameters, see answer, picture, caveats, SQL and sources, and download. Pages
    go to this machine alone, and to whoever has the token in the address that is printed.
    """
    from tracehouse.engines.duckdb.read import asking
    from tracehouse.publish import explore as exploring

    def tell(address: str) -> None:
        _say(f"Open {address}\nCtrl-C ends it")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    exploring.serve(warehouse, asking.Limits(timeout, memory_limit), port, tell)


@app.command()
def shell(warehouse: Warehouse = DEFAULT_WAREHOUSE) -> None:
    """Open the database in the DuckDB shell, read-only: traces shell."""
    from tracehouse.engines.duckdb.read.shell import command

    line = command(warehouse)
    os.execv(line[0], line)


@app.command()
def mcp(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Give up on a question after so long.")
    ] = 60,
    memory_limit: MemoryLimit = "",
    most_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="The most rows that an answer may have.")
    ] = 1000,
) -> None:
    """Serve the warehouse to agents, by the Model Context Protocol over standard streams: traces mcp."""
    from tracehouse.engines.duckdb.read.asking import Limits
    from tracehouse.publish import agents

    agents.serve(warehouse, Limits(timeout, memory_limit), most_rows)


app.add_typer(exports.app, name="export")


def main() -> NoReturn:
    """Run the command line: 0 for success, 1 for a failure, 2 for wrong usage."""
    signals.end_at_once()
    process.open_closed_streams()
    try:
        app()
    except SystemExit as ending:
        process.leave(ending.code if isinstance(ending.code, int) else 1 if ending.code else 0)
    except UsageError as error:
        _say(f"error: {error}", stderr=True)
        process.leave(2)
    except BrokenPipeError:
        # Whoever reads has read enough, as in `traces … | head`. The number is that of the signal.
        os._exit(141)
    except (UserError, OSError) as error:
        _say(f"error: {error}", stderr=True)
        process.leave(1)
    process.leave(0)


def _database_that_stands(warehouse: Path) -> int:
    """Which file is the database: another number after another has taken its place, 0 where there is none."""
    from tracehouse.engines.duckdb.names import NAME

    path = warehouse / NAME
    return path.stat().st_ino if path.exists() else 0


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.ingest import integrity
    from tracehouse.ingest.progress import byte_bars

    with byte_bars() as progress:
        checked = integrity.check(warehouse, traces, progress)
    for damage in checked.damages:
        _say(f"damaged: {warehouse / damage.stored.path}: {damage.what}. {integrity.advice(damage)}")
    if checked.damages:
        raise UserError(f"{len(checked.damages):,} of {checked.files:,} files are not as they were written")
    _say(f"{checked.files:,} files, {checked.bytes / 1e6:,.1f} MB: all are as they were written")


def _key_values(texts: Sequence[str], rule: str = "a parameter is written KEY=VALUE") -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not equals:
            raise UsageError(f"{rule}, not {key + equals + value!r}")
    return {key: value for key, _, value in pairs}


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


def _print_outcome(outcome: "IngestResult", warehouse: Path) -> None:
    from tracehouse.ingest.names import listed

    for name in dict.fromkeys(conversion.table_name for conversion in outcome.converted):
        parts = [conversion for conversion in outcome.converted if conversion.table_name == name]
        rows = sum(part.rows for part in parts)
        in_all = sum(part.rows for part in outcome.conversions if part.table_name == name)
        more = f", {in_all:,} in all" if in_all != rows else ""
        rejected = sum(stored.rows for part in parts for stored in part.rejected)
        lost = f", {rejected:,} rejected (see catalog.rejected_rows)" if rejected else ""
        marked = " synthetic" if any(source.synthetic for part in parts for source in part.sources) else ""
        files = f"{len(parts)} file{'s' * (len(parts) != 1)}"
        _say(f"{name}: {rows:,}{marked} rows from {files}{more}{lost}")
    if outcome.unchanged:
        count = len({conversion.table_name for conversion in outcome.unchanged})
        _say(f"{count} table{'s' * (count != 1)} unchanged")
    for note in outcome.notes:
        _say(f"note: {note}", stderr=True)
    if outcome.unrecognised:
        _say(f"note: of no known trace: {listed(outcome.unrecognised)}", stderr=True)
    if outcome.documents:
        _say(f"note: taken for documents, not for data: {listed(outcome.documents, 5)}", stderr=True)
    if not (outcome.converted or outcome.unchanged or outcome.problems):
        raise UserError("the raw folders hold no file of a known trace")
    if outcome.conversions:
        _say(f"The warehouse is {warehouse}. Ask it: traces list queries --warehouse {warehouse}")
    for problem in outcome.problems:
        _say(f"error: {problem}", stderr=True)
    if outcome.problems:
        count = len(outcome.problems)
        which = "file could not be read: what it" if count == 1 else "files could not be read: what each"
        raise UserError(f"{count} {which} gave before stays")


def _print_notes(notes: "Sequence[Note]", stderr: bool) -> None:
    if not notes:
        return
    forced = {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys()
    if not forced and not (sys.stderr if stderr else sys.stdout).isatty():
        for note in notes:
            _say(f"{note.word} {note.name}: {note.text}", stderr)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=stderr)
    for note in notes:
        text = shown(f"{note.word} {note.name}: {note.text}")
        console.print(Text(text, "dim"), soft_wrap=not console.is_terminal)


def _say(text: str, stderr: bool = False) -> None:
    typer.echo(shown(text), err=stderr)

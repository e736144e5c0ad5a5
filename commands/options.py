"""Declare options and arguments, also those that several commands share, and send the request."""

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal, print_notes, say
from tracehouse.core.errors import UsageError
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.engines.request import NamedQuery, Request, Statement
from tracehouse.publish.formats import PICTURES, OutputFormat

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.notes import Note
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish.renderer import Renderer

WAREHOUSE = Path("warehouse")
RAW = Path("raw")
# The panels of options in the help.
PARAMETERS, CHART, OUTPUT, ENGINE = "Parameters", "Chart", "Output", "Engine"


def option(names: str, text: str, metavar: str = "", panel: str = "", **more: Any) -> Any:
    """Declare an option with its names, its help, and the panel that lists it."""
    return typer.Option(
        *names.split(), help=text, metavar=metavar or None, rich_help_panel=panel or None, **more
    )


def repeatable(names: str, text: str, metavar: str, panel: str = "", **more: Any) -> Any:
    """Declare an option that may be given several times; its value is a list."""
    text = f"{text} Repeatable."
    return option(names, text, metavar, panel, default_factory=list, show_default=False, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Declare an argument with its help."""
    return typer.Argument(metavar=metavar, help=text, **more)


def reject_nan(number: float | None) -> float | None:
    """Return a number. Rejects NaN, which no range excludes."""
    if number is not None and math.isnan(number):
        raise typer.BadParameter("nan is not a number")
    return number


def key_values(texts: Sequence[str], expected: str = "A parameter must be KEY=VALUE") -> dict[str, str]:
    """Parse texts of the form KEY=VALUE. Raises UsageError without an equals sign, or for a repeated key."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{expected}, not {text!r}")
        if key in found:
            # Not the values: a mirror may have a password.
            raise UsageError(f"{key} was given twice")
        found[key] = value
    return found


TraceNames = Annotated[
    list[str],
    argument(
        "[TRACE]...",
        "Traces. Default: all.",
        default_factory=list,
        show_default=False,
        autocompletion=complete_trace,
    ),
]
Only = Annotated[list[str], repeatable("--only", "Only these partitions: day=109..115.", "KEY=VALUES")]
Out = Annotated[Path, option("--out -o", "Folder to write to.", "DIR")]
Warehouse = Annotated[
    Path, option("--warehouse -w", "Folder of the warehouse.", "DIR", envvar="TRACES_WAREHOUSE")
]
# Tracehouse 1.0 has the longer name only.
NoMaterialize = Annotated[
    bool,
    option(
        "--no-materialize --no-materialized-views", "Do not cache slow views; compute them in each query."
    ),
]
Limit = Annotated[int | None, option("--limit -n", "Return at most this many rows.", "ROWS", OUTPUT)]
NO_PAGER = "Do not page long output. (Pager: $TRACES_PAGER, $PAGER or less.)"
NoPager = Annotated[bool, option("--no-pager", NO_PAGER, panel=OUTPUT)]
EngineChoice = Annotated[Engine, option("--engine", "duckdb, or spark for larger data.", "ENGINE", ENGINE)]
Master = Annotated[
    str, option("--master", "Master of Spark, such as local[4] or spark://HOST:PORT.", "URL", ENGINE)
]
TIMEOUT = option("--timeout", "Stop a query after this time.", "SECONDS", ENGINE)
MemoryLimit = Annotated[
    str,
    option(
        "--memory-limit",
        "Memory limit, such as 4GB; beyond it, queries use the disk. Default: half of the memory.",
        "SIZE",
        ENGINE,
    ),
]


@dataclass(frozen=True)
class AnswerOptions:
    """The options shared by all commands that print an answer."""

    form: Annotated[
        OutputFormat | None,
        option(
            "--format",
            f"Output format: {', '.join(OutputFormat)}. Default: table on a terminal, else csv.",
            "FORMAT",
            OUTPUT,
        ),
    ] = None
    json: Annotated[bool, option("--json", "Same as --format json.", panel=OUTPUT)] = False
    records: Annotated[
        bool, option("--records", "Same as --format records: one line per value.", panel=OUTPUT)
    ] = False
    wide: Annotated[bool, option("--wide", "Show all columns and full texts in tables.", panel=OUTPUT)] = (
        False
    )
    no_pager: NoPager = False
    output: Annotated[
        Path | None,
        option("--output -o", "Write to this file. Its extension selects the format.", "FILE", OUTPUT),
    ] = None
    timeout: Annotated[float | None, TIMEOUT] = None
    memory_limit: MemoryLimit = ""
    warehouse: Warehouse = WAREHOUSE

    @property
    def requested_format(self) -> OutputFormat | None:
        """The format that the user requested, if any. Raises UsageError for several formats."""
        flags = {OutputFormat.JSON: self.json, OutputFormat.RECORDS: self.records}
        requested = {form for form, is_set in flags.items() if is_set} | ({self.form} if self.form else set())
        if len(requested) > 1:
            raise UsageError("Give only one of --format, --json and --records")
        return next(iter(requested), None)

    @property
    def output_format(self) -> OutputFormat:
        """The requested format, or the output's default. Raises UsageError if the output cannot have it."""
        from tracehouse.publish import writers

        return writers.chosen_format(self.requested_format, self.output)

    @property
    def limits(self) -> "Limits":
        """The limits of time and memory."""
        from tracehouse.engines.duckdb.read.sandbox import Limits

        return Limits(self.timeout, self.memory_limit)

    @property
    def notes_to_stderr(self) -> bool:
        """Whether notes go to standard error, so that standard output has only the answer."""
        return self.output is not None or not is_on_terminal()

    def write(self, request: Request, **more: Any) -> None:
        """Write the answer to a request in the requested format; see `writers.FormatWriter` for `more`."""
        from tracehouse.publish import writers

        writer = writers.for_output(self.output_format, self.output, self.wide, **more)
        self.print_notes(self.render(request, writer, pages=not self.no_pager))

    def render(self, request: Request, renderer: "Renderer", pages: bool = False) -> "Sequence[Note]":
        """Render the answer to a request. Returns the notes on it."""
        from tracehouse.publish.renderer import write_answer

        return write_answer(request, self.warehouse, self.limits, renderer, self.output, pages)

    def print_notes(self, notes: "Sequence[Note]") -> None:
        """Print the notes on an answer."""
        print_notes(notes, stderr=self.notes_to_stderr)


@dataclass(frozen=True)
class _Chart:
    """The options of a chart."""

    plot: Annotated[
        bool, option("--plot", "Draw a chart in the terminal; to a file: --output FILE.png", panel=CHART)
    ] = False
    x: Annotated[str, option("--x", "Column on the x axis.", "COLUMN", CHART)] = ""
    y: Annotated[str, option("--y", "Column on the y axis.", "COLUMN", CHART)] = ""
    color: Annotated[str, option("--color", "Column that names the lines or bars.", "COLUMN", CHART)] = ""
    kind: Annotated[str, option("--kind", "bar, stack, line, step, point or heat.", "KIND", CHART)] = ""
    log: Annotated[str, option("--log", "Logarithmic axes: x, y or xy.", "AXES", CHART)] = ""
    no_title: Annotated[bool, option("--no-title", "Leave out the title, as for a paper.", panel=CHART)] = (
        False
    )
    no_footer: Annotated[bool, option("--no-footer", "Leave out sources and caveats.", panel=CHART)] = False
    width: Annotated[
        float | None, option("--width", "Width of the chart's file, such as 85.", "MM", CHART)
    ] = None
    font_size: Annotated[
        float | None, option("--font-size", "Font size in the chart's file.", "POINTS", CHART)
    ] = None

    @property
    def choices(self) -> "dict[str, Any]":
        """The arguments of `plot.options.ChartOptions` that the user gave."""
        given = {"x": self.x, "y": self.y, "color": self.color, "kind": self.kind, "log": self.log}
        texts = {"has_title": not self.no_title, "has_footer": not self.no_footer}
        return {name: value for name, value in (given | texts).items() if value not in ("", True)}


@dataclass(frozen=True)
class QueryOptions(AnswerOptions, _Chart):
    """The options of the commands that run a query or a statement."""

    limit: Limit = None
    caveats: Annotated[bool, option("--caveats", "Print the full text of every caveat.", panel=OUTPUT)] = (
        False
    )
    guard_formulas: Annotated[
        bool,
        option(
            "--guard-formulas",
            "In CSV, put ' before texts that a spreadsheet would run as formulas.",
            panel=OUTPUT,
        ),
    ] = False
    engine: EngineChoice = Engine.DUCKDB
    master: Master = LOCAL
    explain: Annotated[
        bool, option("--explain", "Print the query plan instead of the answer.", panel=ENGINE)
    ] = False

    @property
    def picture(self) -> Path | None:
        """The file of the chart, if the output has the extension of one."""
        return self.output if self.output and self.output.suffix in PICTURES else None

    @property
    def is_chart(self) -> bool:
        """Whether the user requested a chart. Raises UsageError for options that exclude each other."""
        if not self.picture and (self.width is not None or self.font_size is not None):
            raise UsageError("--width and --font-size need a chart's file: --output FILE.png, .svg or .pdf")
        is_chart = self.plot or self.picture is not None or bool(self.choices)
        if is_chart and self.output and not self.picture:
            raise UsageError(f"{self.output}: the file of a chart must end in {' or '.join(PICTURES)}")
        if is_chart and (self.requested_format or self.explain or self.guard_formulas):
            raise UsageError("A chart excludes --format, --json, --records, --explain and --guard-formulas")
        return is_chart

    def write_or_draw(self, what: NamedQuery | Statement) -> None:
        """Write or draw an answer, and print the notes on it."""
        if self.is_chart and isinstance(what, Statement):
            what = replace(what, may_explain=False)
        request = Request(what, self.limit, self.explain, self.engine, self.master)
        if not self.is_chart:
            self.write(request, guard_formulas=self.guard_formulas)
            return
        from tracehouse.publish.plot import pictures
        from tracehouse.publish.plot.options import ChartOptions

        chosen = ChartOptions(**self.choices)
        if self.picture:
            size = pictures.parse_size(self.width, self.font_size)
            notes = self.render(request, pictures.PictureFile(self.picture.suffix, size, chosen))
            say(f"Drew {self.picture}")
        else:
            notes = self.render(request, pictures.TextChart(shutil.get_terminal_size().columns, chosen))
        self.print_notes(notes)

    def print_notes(self, notes: "Sequence[Note]") -> None:
        """Print the notes on an answer, with `caveats` in full."""
        print_notes(notes, stderr=self.notes_to_stderr, complete=self.caveats)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the first parameter of a command, a dataclass, by an option for each of its fields."""
    first, *own = signature(command).parameters.values()
    fields = signature(first.annotation).parameters

    @wraps(command)
    def run(**values: Any) -> None:
        shared = first.annotation(**{name: values.pop(name) for name in fields})
        command(shared, **values)

    expanded = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*own, *fields.values())]
    run.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return run

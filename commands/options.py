"""Declare options and arguments, and those that several commands share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal, print_notes
from tracehouse.core.errors import UsageError
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.publish.formats import Format

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.binding import Bind
    from tracehouse.engines.duckdb.read.notes import Note
    from tracehouse.engines.duckdb.read.sandbox import Limits

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
    """Parse texts of the form KEY=VALUE. Raises UsageError if a text has no equals sign."""
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not equals:
            raise UsageError(f"{expected}, not {key + equals + value!r}")
    return {key: value for key, _, value in pairs}


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
NoMaterializedViews = Annotated[
    bool, option("--no-materialized-views", "Do not cache slow views; compute them in each query.")
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
        Format | None,
        option(
            "--format",
            f"Output format: {', '.join(Format)}. Default: table on a terminal, else csv.",
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
    def requested_format(self) -> Format | None:
        """The format that the user requested, if any. Raises UsageError for several formats."""
        flags = {Format.JSON: self.json, Format.RECORDS: self.records}
        requested = {form for form, is_set in flags.items() if is_set} | ({self.form} if self.form else set())
        if len(requested) > 1:
            raise UsageError("Give only one of --format, --json and --records")
        return next(iter(requested), None)

    @property
    def output_format(self) -> Format:
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

    def write(self, bind: "Bind", **more: Any) -> None:
        """Write an answer with these options, and print the notes on it; see `answers.write_answer`."""
        from tracehouse.publish import answers

        notes = answers.write_answer(
            bind,
            self.warehouse,
            self.limits,
            self.output_format,
            self.output,
            wide=self.wide,
            pages=not self.no_pager,
            **more,
        )
        self.print_notes(notes)

    def print_notes(self, notes: "Sequence[Note]") -> None:
        """Print the notes on an answer."""
        print_notes(notes, stderr=self.notes_to_stderr)


@dataclass(frozen=True)
class QueryOptions(AnswerOptions):
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

    def on_engine(self, bind: "Bind") -> "Bind":
        """Run a query on the chosen engine, unless it is DuckDB. Returns a function that binds the answer."""
        if self.engine is Engine.DUCKDB:
            return bind
        from tracehouse.engines.spark import runner

        return runner.run(self.warehouse, self.master, self.limits, bind)

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

"""The options and arguments that several commands share, as annotated types."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text
from tracehouse.engines.names import Engine
from tracehouse.publish.formats import Format

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.binding import Bind
    from tracehouse.engines.duckdb.read.notes import Note
    from tracehouse.engines.duckdb.read.sandbox import Limits

WAREHOUSE = Path("warehouse")
RAW = Path("raw")
# The panels of options in the help.
PARAMETERS, CHART, OUTPUT, ENGINE = "Parameters", "Chart", "Output", "Engine"


def utf8(value: str | list[str] | None) -> str | list[str] | None:
    """Return a text or texts. Rejects an argument whose bytes are not valid UTF-8."""
    for text in [value] if isinstance(value, str) else value or ():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{escape_text(text)} is not valid UTF-8") from None
    return value


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


def flag(name: str, text: str, panel: str | None = None) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=text, rich_help_panel=panel)


def repeatable(*names: str, metavar: str, text: str, **more: Any) -> Any:
    """Declare an option that may be given several times; its value is a list."""
    text = f"{text} Repeatable."
    return typer.Option(*names, default_factory=list, show_default=False, metavar=metavar, help=text, **more)


TraceNames = Annotated[
    list[str],
    typer.Argument(
        default_factory=list,
        show_default=False,
        metavar="[TRACE]...",
        help="Names of traces. Default: all.",
        autocompletion=complete_trace,
    ),
]
Only = Annotated[
    list[str],
    repeatable(
        "--only", metavar="KEY=VALUES", text="Only these partitions of partitioned tables: day=109..115."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to.")]
Warehouse = Annotated[
    Path,
    typer.Option(
        "--warehouse", "-w", envvar="TRACES_WAREHOUSE", metavar="DIR", help="Folder of the warehouse."
    ),
]
NoStored = Annotated[
    bool, flag("--no-stored", "Do not cache expensive views as Parquet; compute them in each query.")
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", metavar="ROWS", help="Return at most this many rows.", rich_help_panel=OUTPUT
    ),
]
Caveats = Annotated[bool, flag("--caveats", "Print the full text of every caveat.", OUTPUT)]
NO_PAGER = "Do not page long output. (Pager: $TRACES_PAGER, $PAGER or less.)"
NoPager = Annotated[bool, flag("--no-pager", NO_PAGER, OUTPUT)]
GuardFormulas = Annotated[
    bool,
    flag(
        "--guard-formulas",
        "In CSV, put ' before texts that start with = + - or @, so that spreadsheets do not run them.",
        OUTPUT,
    ),
]
EngineChoice = Annotated[
    Engine,
    typer.Option(
        metavar="ENGINE", help="duckdb, or spark for warehouses beyond one machine.", rich_help_panel=ENGINE
    ),
]
Master = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Spark master: local[N], spark://HOST:PORT, yarn or k8s://…",
        rich_help_panel=ENGINE,
    ),
]
Explain = Annotated[bool, flag("--explain", "Print the query plan instead of the answer.", ENGINE)]
Timeout = typer.Option(metavar="SECONDS", help="Stop a query after this time.", rich_help_panel=ENGINE)
MemoryLimit = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Memory limit, such as 4GB; beyond it, queries use the disk. Default: half of the memory.",
        rich_help_panel=ENGINE,
    ),
]


@dataclass(frozen=True)
class AnswerOptions:
    """The options shared by all commands that print an answer."""

    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Output format: {', '.join(Format)}. Default: table on a terminal, else csv.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    json: Annotated[bool, flag("--json", "Same as --format json.", OUTPUT)] = False
    records: Annotated[bool, flag("--records", "Same as --format records: one line per value.", OUTPUT)] = (
        False
    )
    wide: Annotated[bool, flag("--wide", "Show all columns and full texts in tables.", OUTPUT)] = False
    no_pager: NoPager = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file. Its extension selects the format.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    timeout: Annotated[float | None, Timeout] = None
    memory_limit: MemoryLimit = ""
    warehouse: Warehouse = WAREHOUSE

    @property
    def requested_format(self) -> Format | None:
        """The format that the user requested, if any. Raises UsageError for several formats."""
        requested = {self.form} if self.form else set()
        requested |= {Format.JSON} if self.json else set()
        requested |= {Format.RECORDS} if self.records else set()
        if len(requested) > 1:
            raise UsageError("Give only one of --format, --json and --records")
        return next(iter(requested), None)

    @property
    def output_format(self) -> Format:
        """The requested format, or the output's default. Raises UsageError if the output cannot have it."""
        from tracehouse.publish import export

        return export.chosen_format(self.requested_format, self.output)

    @property
    def limits(self) -> "Limits":
        """The limits of time and memory."""
        from tracehouse.engines.duckdb.read.sandbox import Limits

        return Limits(self.timeout, self.memory_limit)

    @property
    def notes_to_stderr(self) -> bool:
        """Whether notes go to standard error, so that standard output has only the answer."""
        return self.output is not None or not is_on_terminal()

    def write(self, bind: "Bind", **more: Any) -> "Sequence[Note]":
        """Write an answer with these options, and return the notes on it; see `answers.write_answer`.

        The command must exit afterwards, because the database stays open.
        """
        from tracehouse.publish import answers

        return answers.write_answer(
            bind,
            self.warehouse,
            self.limits,
            self.output_format,
            self.output,
            wide=self.wide,
            pages=not self.no_pager,
            exit_after=True,
            **more,
        )


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

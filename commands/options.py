"""The options that several commands share."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracehouse.core.errors import UsageError
from tracehouse.core.terminal import shown
from tracehouse.engines.names import MOST_ROWS, Engine
from tracehouse.publish.formats import Format

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.answer import Asked, Note
    from tracehouse.engines.duckdb.read.sandbox import Limits

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.commands.defaults import DEFAULT_WAREHOUSE

Warehouse = Annotated[
    Path,
    typer.Option("--warehouse", "-w", envvar="TRACES_WAREHOUSE", help="Folder that holds the warehouse."),
]


Raw = Annotated[
    list[Path],
    typer.Option("--raw", "-r", envvar="TRACES_RAW", help="Folder with raw files; may be repeated."),
]


TraceNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TRACE]...",
        help="Traces; all, if none is named.",
        show_default=False,
        autocompletion=complete_trace,
    ),
]


FormatOption = Annotated[
    Format | None,
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
    int | None,
    typer.Option("--limit", "-n", min=0, max=MOST_ROWS, help="No more rows than these.", show_default=False),
]


Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="File to write to; its ending chooses the format.", show_default=False
    ),
]


Timeout = Annotated[
    float | None,
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
        from tracehouse.engines.duckdb.read.sandbox import Limits

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
        return self.output is not None or not is_on_terminal()


def answering(command: Callable[..., None]) -> Callable[..., None]:
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


def as_text(value: str | list[str] | None) -> str | list[str] | None:
    """What was given, where it is text: an argument may hold any byte."""
    for text in [value] if isinstance(value, str) else value or []:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{shown(text)} is not UTF-8") from None
    return value


def key_values(texts: Sequence[str], rule: str = "a parameter is written KEY=VALUE") -> dict[str, str]:
    """Pairs that are written KEY=VALUE. Raises UsageError, which says the rule, where one is not."""
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not equals:
            raise UsageError(f"{rule}, not {key + equals + value!r}")
    return {key: value for key, _, value in pairs}

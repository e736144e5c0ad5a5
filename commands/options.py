"""The options, arguments and parameter types that several commands share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text
from tracehouse.engines.names import LOCAL, MOST_ROWS, Engine
from tracehouse.publish.formats import Format

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.binding import Bind
    from tracehouse.engines.duckdb.read.notes import Note
    from tracehouse.engines.duckdb.read.sandbox import Limits

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_WAREHOUSE = Path("warehouse")
DEFAULT_RAW = Path("raw")
SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


class CommandGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class _Utf8(click.ParamType):
    """A text. Rejects an argument whose bytes are not valid UTF-8."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(f"{escape_text(value)} is not valid UTF-8", param, ctx)
        return str(value)


class NumberRange(click.FloatRange):
    """A range of numbers. Rejects NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return float(number)


PATH = click.Path(path_type=Path)
TEXT = _Utf8()

trace_names = click.argument(
    "traces",
    nargs=-1,
    metavar="[TRACE]...",
    help="Names of traces. Default: all.",
    shell_complete=complete_trace,
)
warehouse_option = click.option(
    "--warehouse",
    "-w",
    type=PATH,
    envvar="TRACES_WAREHOUSE",
    show_envvar=True,
    default=DEFAULT_WAREHOUSE,
    help="Folder of the warehouse.",
)
timeout_option = click.option(
    "--timeout", type=float, metavar="SECONDS", help="Stop the query after this time."
)
memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    default="",
    show_default=False,
    help="Memory limit, such as 500MB or 4GB; beyond it, queries use the disk. Default: half of the memory.",
)
limit_option = click.option(
    "--limit", "-n", type=click.IntRange(0, MOST_ROWS), metavar="ROWS", help="Return at most this many rows."
)
explain_option = click.option("--explain", is_flag=True, help="Print the query plan instead of the answer.")
guard_option = click.option(
    "--guard-formulas",
    is_flag=True,
    help="In CSV, put ' before texts that start with = + - or @, so that spreadsheets do not run them.",
)
caveats_option = click.option("--caveats", is_flag=True, help="Print the full text of every caveat.")
pager_option = click.option(
    "--no-pager", is_flag=True, help="Do not page long output. (Pager: $TRACES_PAGER, $PAGER or less.)"
)
no_stored_option = click.option(
    "--no-stored", is_flag=True, help="Do not cache expensive views as Parquet; compute them in each query."
)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --engine and --master."""
    command = click.option(
        "--master",
        metavar="URL",
        default=LOCAL,
        help="Spark master: local[N], spark://HOST:PORT, yarn or k8s://…",
    )(command)
    return click.option(
        "--engine",
        type=click.Choice([engine.value for engine in Engine]),
        default=Engine.DUCKDB.value,
        help="Engine to use. Spark is for warehouses beyond one machine.",
    )(command)


@dataclass(frozen=True)
class AnswerOptions:
    """The options shared by all commands that print an answer."""

    warehouse: Path
    format: str | None
    json: bool
    records: bool
    wide: bool
    no_pager: bool
    output: Path | None
    timeout: float | None
    memory_limit: str

    @property
    def requested_format(self) -> Format | None:
        """The format that the user requested, if any. Raises UsageError for several formats."""
        requested = {Format(self.format)} if self.format else set()
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

    def write(self, bind: "Bind", form: Format | None = None, **more: Any) -> "Sequence[Note]":
        """Write an answer with these options, and return the notes on it; see `answers.write_answer`.

        The command must exit afterwards, because the database stays open.
        """
        from tracehouse.publish import answers

        return answers.write_answer(
            bind,
            self.warehouse,
            self.limits,
            form or self.output_format,
            self.output,
            wide=self.wide,
            pages=not self.no_pager,
            exit_after=True,
            **more,
        )


_ANSWER_OPTIONS: Sequence[Decorator] = (
    warehouse_option,
    click.option(
        "--format",
        type=click.Choice([form.value for form in Format]),
        metavar="FORMAT",
        help=f"Output format: {', '.join(Format)}. Default: table on a terminal, else csv.",
    ),
    click.option("--json", is_flag=True, help="Same as --format json."),
    click.option("--records", is_flag=True, help="Same as --format records: one line per value."),
    click.option("--wide", is_flag=True, help="Show all columns and full texts in tables."),
    pager_option,
    click.option("--output", "-o", type=PATH, help="Write to this file. Its extension selects the format."),
    timeout_option,
    memory_option,
)


def answer_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `AnswerOptions` to a command, which gets them as its first argument."""

    @wraps(command)
    def with_answer_options(**values: Any) -> None:
        shared = {name: values.pop(name) for name in AnswerOptions.__dataclass_fields__}
        command(AnswerOptions(**shared), **values)

    decorated: Callable[..., None] = with_answer_options
    for option in reversed(_ANSWER_OPTIONS):
        decorated = option(decorated)
    return decorated


def key_values(texts: Sequence[str], expected: str = "A parameter must be KEY=VALUE") -> dict[str, str]:
    """Parse texts of the form KEY=VALUE. Raises UsageError if a text has no equals sign."""
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not equals:
            raise UsageError(f"{expected}, not {key + equals + value!r}")
    return {key: value for key, _, value in pairs}

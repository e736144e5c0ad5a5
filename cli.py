"""The command line: `traces`. Each command parses its options, calls one function and prints the result."""

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tracehouse.commands import data, export, maintain, publish, query, validate
from tracehouse.commands.console import is_on_terminal, print_error
from tracehouse.commands.options import NO_PAGER, option
from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError, describe_error

# The commands by the panel of the help that lists them.
PANELS: dict[str, Sequence[Callable[..., None]]] = {
    "Get data": (data.fetch, data.ingest, data.sample),
    "Ask": (query.list_, query.describe, query.query, query.sql, query.shell, publish.explore),
    "Trust": (validate.check, validate.verify),
    "Share": (publish.publish, publish.mcp),
    "Maintain": (maintain.build, maintain.forget, maintain.vacuum, maintain.lint),
}
EXPORTS = (
    *(export.swf, export.opendc, export.openb, export.elasticflow, export.helios),
    *(export.philly, export.pai, export.mooncake, export.azure),
)


# Only a terminal gets Rich's panels and colours.
_IS_TERMINAL = is_on_terminal() and sys.stderr is not None and sys.stderr.isatty()
app = typer.Typer(
    rich_markup_mode="markdown" if _IS_TERMINAL else None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
exports = typer.Typer(no_args_is_help=True, help=export.__doc__)
app.add_typer(exports, name="export", rich_help_panel="Share")
for _panel, _commands in PANELS.items():
    for _command in _commands:
        app.command(_command.__name__.rstrip("_"), rich_help_panel=_panel)(_command)
for _command in EXPORTS:
    exports.command()(_command)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"traces {version('tracehouse')}")
        raise typer.Exit


@app.callback()
def _set_defaults(
    warehouse: Annotated[Path | None, option("--warehouse -w", "Folder of the warehouse.", "DIR")] = None,
    no_pager: Annotated[bool, option("--no-pager", NO_PAGER)] = False,
    version: Annotated[
        bool, option("--version", "Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A columnar warehouse of public GPU-cluster traces."""
    # The commands have the same options; these variables set their defaults.
    if warehouse is not None:
        os.environ["TRACES_WAREHOUSE"] = os.fsdecode(warehouse)
    if no_pager:
        os.environ["TRACES_PAGER"] = ""


def _open_closed_streams() -> None:
    """Open /dev/null for each closed standard stream. Otherwise the next file would get its number."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    # `sys.stdin` and `sys.stdout` remain None: without them, some commands need other options.
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def main() -> NoReturn:
    """Run the command line. The exit code is 0 for success, 1 for a failure, 2 for wrong usage."""
    _open_closed_streams()
    signals.end_at_once()
    for stream in (sys.stdout, sys.stderr):
        # Without this, a character that the terminal's encoding lacks raises UnicodeEncodeError.
        # `publish.output` replaces such characters in the same way.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="traces")
    except SystemExit as error:
        signals.leave(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except UsageError as error:
        print_error(error)
        signals.leave(2)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `traces … | head`. This is the code of the signal SIGPIPE.
        os._exit(141)
    except (UserError, OSError) as error:
        print_error(describe_error(error))
        signals.leave(1)
    signals.leave(0)

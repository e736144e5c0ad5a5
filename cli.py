"""The command line: `traces`. Each command parses, calls one function, prints."""

import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tracehouse.commands import export, maintain, publish, query
from tracehouse.commands.arguments import PlainArguments
from tracehouse.commands.console import say
from tracehouse.commands.options import NoPager
from tracehouse.core import process, signals
from tracehouse.core.errors import UsageError, UserError

app = typer.Typer(
    cls=PlainArguments,
    help="A columnar warehouse of public GPU-cluster traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        say(f"traces {version('tracehouse')}")
        raise typer.Exit


@app.callback()
def traces(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    warehouse: Annotated[
        Path | None,
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


for commands in (maintain.commands, query.commands, publish.commands):
    app.add_typer(commands)
app.add_typer(export.commands, name="export")


def main() -> NoReturn:
    """Run the command line: 0 for success, 1 for a failure, 2 for wrong usage."""
    signals.end_at_once()
    process.open_closed_streams()
    try:
        app()
    except SystemExit as ending:
        process.leave(ending.code if isinstance(ending.code, int) else 1 if ending.code else 0)
    except UsageError as error:
        say(f"error: {error}", stderr=True)
        process.leave(2)
    except BrokenPipeError:
        # Whoever reads has read enough, as in `traces … | head`. The number is that of the signal.
        os._exit(141)
    except (UserError, OSError) as error:
        say(f"error: {error}", stderr=True)
        process.leave(1)
    process.leave(0)

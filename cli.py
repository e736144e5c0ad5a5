"""The command line: `traces`. Each command parses its options, calls one function and prints the result."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from tracehouse.commands import completion, export, maintain, publish, query
from tracehouse.commands.console import say
from tracehouse.commands.options import PATH, SETTINGS, CommandGroup, Decorator, pager_option
from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError


def _flag(name: str, callback: Callable[..., None], text: str) -> Decorator:
    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text)


@click.group(cls=CommandGroup, context_settings=SETTINGS, no_args_is_help=True)
@click.version_option(package_name="tracehouse", message="traces %(version)s")
@click.option("--warehouse", "-w", type=PATH, help="Folder of the warehouse.")
@pager_option
@_flag("--install-completion", completion.install, "Install completion for bash, zsh or fish.")
@_flag("--show-completion", completion.show, "Print the completion script of the current shell.")
def traces(warehouse: Path | None, no_pager: bool) -> None:
    """A columnar warehouse of public GPU-cluster traces."""
    # The commands have the same options; these variables set their defaults.
    if warehouse is not None:
        os.environ["TRACES_WAREHOUSE"] = os.fsdecode(warehouse)
    if no_pager:
        os.environ["TRACES_PAGER"] = ""


for command in (*maintain.COMMANDS, *query.COMMANDS, *publish.COMMANDS, export.export):
    traces.add_command(command)


def main() -> NoReturn:
    """Run the command line. The exit code is 0 for success, 1 for a failure, 2 for wrong usage."""
    signals.end_at_once()
    for stream in (sys.stdout, sys.stderr):
        # Without this, a character that the terminal's encoding lacks raises UnicodeEncodeError.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        traces()
    except SystemExit as error:
        signals.leave(error.code if isinstance(error.code, int) else 1 if error.code else 0)
    except UsageError as error:
        say(f"error: {error}", stderr=True)
        signals.leave(2)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `traces … | head`. This is the code of the signal SIGPIPE.
        os._exit(141)
    except (UserError, OSError) as error:
        say(f"error: {error}", stderr=True)
        signals.leave(1)
    signals.leave(0)

"""Errors for the user, with location, cause and advice."""

import errno
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from tracehouse.core.permissions import explain_denied
from tracehouse.core.text import escape_name


@dataclass(frozen=True)
class Option:
    """An option of a command, as advice in an error. Its text is that of the command line."""

    name: str

    def __str__(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Command:
    """A command to run, as advice in an error. `options` are values by name, empty for none.

    Its text is that of the command line.
    """

    name: str
    arguments: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        options = [f"{Option(name)} {value}".rstrip() for name, value in self.options.items()]
        return f"`{' '.join(['traces', self.name, *self.arguments, *options])}`"


Part = str | Option | Command


class UserError(Exception):
    """An error that the user can fix, printed without a traceback.

    Its arguments are the parts of its message. `python.py` words the options and commands among them.
    """

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of the complete message."""
        return self.args

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


class StoppedError(Exception):
    """Raised in every thread that is still running when a command ends early."""


class UsageError(UserError):
    """A wrong argument of a command, such as a name or a value that does not exist."""


class DefinitionError(UserError):
    """An invalid declaration, view, query or figure. `place` is its file or name, and the line if known."""

    def __init__(self, place: Path | str, message: str):
        super().__init__(place, message)
        self.place = str(place)
        self.message = message

    @property
    def parts(self) -> Sequence[Part]:
        return (f"{self.place}: {self.message}",)

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.place.partition(", line ")[0])


class RawFileError(UserError):
    """A raw file whose content does not match its name.

    `what` describes the problem and `do` the remedy. `line` counts from 1 in the decompressed CSV; it is None
    if the error does not belong to one line.
    """

    def __init__(self, file: Path | str, what: str, do: str, line: int | None = None):
        self.file = escape_name(file)
        self.what = what
        self.do = do
        self.line = line
        place = self.file if line is None else f"{self.file}, line {line:,}"
        super().__init__(f"{place}: {what}. {do}")

    def __reduce__(self) -> tuple:
        # By default, unpickling in another process would call the constructor with the message only.
        return (RawFileError, (self.file, self.what, self.do, self.line))


# Advice for errors about raw files, as `RawFileError.do`.
FETCH_AGAIN = "Fetch it again from its publisher"
FETCH_FILE_AGAIN = "Fetch the file again from its publisher"
FETCH_OR_MOVE = "Fetch the file again from its publisher, or move it out of the raw folder"


LIST_QUERIES = Command("list", ["queries"])
CHECK_FILES = Command("check", options={"files": ""})
TOO_MANY_FILES = "Too many files are open. Run fewer queries at once, or raise the limit with `ulimit -n`"


def describe_error(error: UserError | OSError) -> str:
    """Return the message of an error, which for some errors of the operating system is advice."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return TOO_MANY_FILES
    # Python names no file if a relative path cannot be resolved.
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_current_folder():
        return "The current folder was removed. Change to another folder"
    if isinstance(error, PermissionError) and isinstance(error.filename, str | bytes):
        return explain_denied(Path(os.fsdecode(error.filename))) or str(error)
    return str(error)


def _has_current_folder() -> bool:
    try:
        return Path.cwd().is_dir()
    except FileNotFoundError:
        return False


def check_installed(what: str, extra: str, *modules: str) -> None:
    """Import the modules of an extra. If one is missing, raises UserError, which says how to install it.

    `what` begins the sentence, such as "downloads need".
    """
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            # The quotes are for zsh, which reads brackets as a pattern.
            raise UserError(
                f"{what} {error.name}, which is not installed. It comes with the extra {extra}: "
                f"pip install '.[{extra}]' in the clone of Tracehouse"
            ) from None


def check_traces(names: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError if one of the names is not a known trace."""
    unknown = [name for name in names if name not in known]
    if unknown:
        # Imported late, because only a misspelt name needs it.
        from difflib import get_close_matches

        close = get_close_matches(unknown[0], [*known], 1)
        question = f" Did you mean {close[0]}?" if close else ""
        raise UsageError(f"no trace is called {unknown[0]}.{question} Known: {', '.join(known)}")

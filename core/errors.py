"""Errors that a person can act on: what is wrong, where, and what to do."""

from collections.abc import Collection, Iterable
from pathlib import Path

from tracehouse.core.names import shown_name


class UserError(Exception):
    """Something that the user can put right. Shown without a traceback."""


class UsageError(UserError):
    """A command that was called wrongly: a name or a value that does not exist."""


class DefinitionError(UserError):
    """A file of the project itself that cannot be used, a view or a ledger: which, and why."""


class RawFileError(UserError):
    """A raw file that cannot be read as what its name says.

    `line` counts from 1 in the CSV, after decompression; None where no single line is at fault.
    """

    def __init__(self, file: Path | str, what: str, do: str, line: int | None = None):
        self.file = shown_name(file)
        self.what = what
        self.do = do
        self.line = line
        place = self.file if line is None else f"{self.file}, line {line:,}"
        super().__init__(f"{place}: {what}. {do}")

    def __reduce__(self) -> tuple:
        # Otherwise it is made anew from its message alone where another process sends it.
        return (RawFileError, (self.file, self.what, self.do, self.line))


def not_installed(what: str, module: str, extra: str) -> UserError:
    """The error of something that needs a package of one of Tracehouse's extras: which, and how to get it."""
    # With quotes, as zsh takes the brackets for a pattern.
    return UserError(
        f"{what} {module}, which is not installed. It comes with the extra {extra}: "
        f"pip install '.[{extra}]' in the clone of Tracehouse"
    )


def check_traces(names: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError where one of the named traces is not known."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no trace is called {unknown[0]}. Known: {', '.join(known)}")

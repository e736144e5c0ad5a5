"""Findings: what rules on definitions yield. `traces lint` lists all; the engine refuses a file with one."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tracehouse.core.errors import DefinitionError


@dataclass(frozen=True)
class Finding:
    """A broken rule: the file and, if known, the line; what is wrong and what to do; the name of the rule."""

    place: str
    message: str
    rule: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.rule}]"


def refuse(findings: Iterable[Finding]) -> None:
    """Raise the first finding as DefinitionError."""
    for finding in findings:
        raise DefinitionError(finding.place, finding.message)


def place_of(path: Path | str, text: str) -> str:
    """Return the file and the first line that contains a text; the file alone if none does."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if Path(path).is_file() else []
    number = next((number for number, line in enumerate(lines, 1) if text in line), None)
    return f"{path}, line {number}" if number else str(path)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known name; empty if none is close."""
    close = get_close_matches(name, list(known), 1)
    return f". Did you mean {close[0]}?" if close else ""

"""Run the commands of a document, and compare their output with the output that it shows."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from terminal import end, screen, terminal


def console(page: str) -> Iterator[tuple[str, str]]:
    """Yield the commands in the console blocks of a page, and the output that follows each."""
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        yield from re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block, re.S | re.M)


def write_shown_files(page: str, folder: Path) -> list[Path]:
    """Write the SQL files that a page names before their text, and return their paths."""
    written = []
    for name, text in re.findall(r"`([\w./]+\.sql)`:\n\n```sql\n(.*?)```", page, re.S):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def run(command: str, folder: Path) -> str:
    """Run a command in a terminal of 90 columns and return the screen.

    Standard input is empty: otherwise DuckDB's shell would wait for a reply from the terminal.
    """
    detached = ("setsid", "--wait", "sh", "-c", f"exec < /dev/null; {command}")
    # With an empty cache, each home folder would need a new template of the database.
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    options = {"rows": 200, "columns": 90, "folder": folder, "HOME": folder, "XDG_CACHE_HOME": cache}
    with terminal(*detached, **options) as opened:
        assert end(opened) == 0
    return screen(opened)


def lines(text: str) -> list[str]:
    """Return the lines of a screen without colours, progress bar and trailing spaces."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n").split("\r")[-1]
    return [line.rstrip() for line in plain.strip("\n").rstrip().splitlines()]

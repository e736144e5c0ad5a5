"""Build Markdown for MyST: escaped text, tables, and links to labels.

A label is `(itp.job)=` above a heading and `{id="itp.job_v1.run_s"}` after the name of a column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracehouse.views.sql_text import first_statement


def text(plain: str) -> str:
    """Escape text so that Markdown shows it unchanged, also in a table."""
    return re.sub(r"([\\`*_\[\]<>|#$~{}])", r"\\\1", plain or "")


def prose(plain: str) -> str:
    """Escape text and turn its URLs into links."""
    parts = re.split(r"(https?://[^\s,;()]*[^\s,;().])", plain or "")
    return "".join(f"<{part}>" if index % 2 else text(part) for index, part in enumerate(parts))


def code(sql: str) -> str:
    """Format SQL as code in one line, also in a table."""
    return "`" + " ".join(sql.split()).replace("|", r"\|") + "`"


def link(name: str, target: str = "") -> str:
    """Link to an object or a column, by default the one with the name that the link shows."""
    return f"[`{name}`](#{(target or name).lower()})"


def grid(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Build a table from cells of Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stacked(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Build a table that a narrow screen shows with one cell per line."""
    return "{.stacked}\n" + grid(names, rows)


def anchored(name: str, column: str) -> str:
    """Show the name of a column with a label."""
    return f'[`{column}`]{{id="{name}.{column.lower()}"}}'


def heading(name: str) -> str:
    """Build the heading of the page of an object, with a label."""
    return f"({name})=\n# {name}"


def links(names: Iterable[str]) -> str:
    """Link to objects, separated by commas."""
    return ", ".join(map(link, names))


def caveat_links(names: Iterable[str]) -> str:
    """Link to caveats."""
    return ", ".join(f"[{text(name)}](#caveat.{name.lower()})" for name in names)


def clock_links(names: Iterable[str]) -> str:
    """Link to clocks."""
    return ", ".join(f"[{text(name)}](#clock.{name.lower()})" for name in names)


def facts(facts: Mapping[str, str]) -> str:
    """Build a list of names and values, without empty values."""
    return "\n".join(f":{name}: {fact}" for name, fact in facts.items() if fact)


def sql_block(sql: str) -> str:
    """Show the first statement of a SQL file as a block."""
    return f"```sql\n{first_statement(sql).strip()}\n```"


def toctree(paths: Iterable[str]) -> str:
    """List the child pages for the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", "", *paths, "```"])


def document(*parts: str) -> str:
    """Join blocks, without empty ones."""
    return "\n\n".join(part for part in parts if part) + "\n"

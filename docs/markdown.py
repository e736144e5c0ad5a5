"""Build Markdown for the Sphinx extension MyST: escaped text, tables, and links to labels.

A label is `(itp.job)=` above a heading and `{id="itp.job_v1.run_s"}` after the name of a column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracehouse.views.sql_text import first_statement


def text(plain: str) -> str:
    """Escape plain text so that Markdown shows it unchanged, also in a table."""
    return re.sub(r"([\\`*_\[\]<>|#$~{}])", r"\\\1", plain or "")


def prose(plain: str) -> str:
    """Escape text and turn its URLs into links."""
    parts = re.split(r"(https?://[^\s,;()]*[^\s,;().])", plain or "")
    return "".join(f"<{part}>" if index % 2 else text(part) for index, part in enumerate(parts))


def code(sql: str) -> str:
    """Format SQL as code in one line, also in a table."""
    return "`" + " ".join(sql.split()).replace("|", r"\|") + "`"


def link(name: str, target: str = "") -> str:
    """Return a link with the text `name` to the label `target`, by default to the label `name`."""
    return f"[`{name}`](#{(target or name).lower()})"


def grid(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with these column names and rows; cells are Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stacked(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that narrow screens show with one cell per line."""
    return "{.stacked}\n" + grid(names, rows)


def anchored(name: str, column: str) -> str:
    """Return the name of a column with a label, so that links can point to it."""
    return f'[`{column}`]{{id="{name}.{column.lower()}"}}'


def heading(name: str) -> str:
    """Return the heading of the page of an object, with a label."""
    return f"({name})=\n# {name}"


def links(names: Iterable[str]) -> str:
    """Return links to objects, separated by commas."""
    return ", ".join(map(link, names))


def caveat_links(names: Iterable[str]) -> str:
    """Return links to caveats, separated by commas."""
    return ", ".join(f"[{text(name)}](#caveat.{name.lower()})" for name in names)


def clock_links(names: Iterable[str]) -> str:
    """Return links to clocks, separated by commas."""
    return ", ".join(f"[{text(name)}](#clock.{name.lower()})" for name in names)


def facts(facts: Mapping[str, str]) -> str:
    """Return a field list of names and values, without empty values."""
    return "\n".join(f":{name}: {fact}" for name, fact in facts.items() if fact)


def sql_block(sql: str) -> str:
    """Return the first statement of a SQL file as a code block."""
    return f"```sql\n{first_statement(sql).strip()}\n```"


def toctree(paths: Iterable[str]) -> str:
    """Return the directive that adds child pages to the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", "", *paths, "```"])


def document(*parts: str) -> str:
    """Join Markdown blocks with empty lines, without empty blocks."""
    return "\n\n".join(part for part in parts if part) + "\n"

"""Pieces of Markdown, as MyST reads it: texts as they are, tables, and links that go by labels.

A label stands behind what it names: `(itp.job)=` above a heading, `{id="itp.job_v1.run_s"}` behind a column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracehouse.views.sql_text import first_statement


def text(plain: str) -> str:
    """Text as Markdown that shows it as it is, in a table too."""
    return re.sub(r"([\\`*_\[\]<>|#$~{}])", r"\\\1", plain or "")


def prose(plain: str) -> str:
    """Text as Markdown in which addresses are links."""
    parts = re.split(r"(https?://[^\s,;()]*[^\s,;().])", plain or "")
    return "".join(f"<{part}>" if index % 2 else text(part) for index, part in enumerate(parts))


def code(sql: str) -> str:
    """SQL in a line, also in a table."""
    return "`" + " ".join(sql.split()).replace("|", r"\|") + "`"


def link(name: str, target: str = "") -> str:
    """A link to an object or a column by its name, or to another under that name."""
    return f"[`{name}`](#{(target or name).lower()})"


def grid(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stacked(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells stand below each other where the screen is narrow."""
    return "{.stacked}\n" + grid(names, rows)


def anchored(name: str, column: str) -> str:
    """A column's name, which links can go to."""
    return f'[`{column}`]{{id="{name}.{column.lower()}"}}'


def heading(name: str) -> str:
    """The heading of a page about an object, which links can go to."""
    return f"({name})=\n# {name}"


def links(names: Iterable[str]) -> str:
    """Links to objects, one behind the other."""
    return ", ".join(map(link, names))


def caveat_links(names: Iterable[str]) -> str:
    """Links to caveats."""
    return ", ".join(f"[{text(name)}](#caveat.{name.lower()})" for name in names)


def clock_links(names: Iterable[str]) -> str:
    """Links to clocks."""
    return ", ".join(f"[{text(name)}](#clock.{name.lower()})" for name in names)


def facts(facts: Mapping[str, str]) -> str:
    """Names with a value each, without those that have none."""
    return "\n".join(f":{name}: {fact}" for name, fact in facts.items() if fact)


def sql_block(sql: str) -> str:
    """The statement of a file, as a block."""
    return f"```sql\n{first_statement(sql).strip()}\n```"


def toctree(paths: Iterable[str]) -> str:
    """The pages below a page, in the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", "", *paths, "```"])


def document(*parts: str) -> str:
    """Blocks below each other, without those that are empty."""
    return "\n\n".join(part for part in parts if part) + "\n"

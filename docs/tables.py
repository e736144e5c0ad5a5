"""Writes the tables of the documentation that are made from the code: `python -m tracehouse.docs.tables`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracehouse.engines.spark import dialect
from tracehouse.ingest.declarations import all_traces

REPOSITORY = Path(__file__).parents[1]


@dataclass(frozen=True)
class Made:
    """A table in a document, between two comments that name it."""

    path: Path
    name: str
    table: Callable[[], str]

    def anew(self) -> str:
        """The document with the table as it should be."""
        begin, end = f"<!-- {self.name}: made by `make tables` -->", f"<!-- end of {self.name} -->"
        before, rest = self.path.read_text().split(begin)
        _, after = rest.split(end)
        return f"{before}{begin}\n\n{self.table()}\n\n{end}{after}"


def traces() -> str:
    """The traces: name and title, where the raw files are, licence."""
    lines = ["| trace | raw files from | licence |", "|---|---|---|"]
    for trace in all_traces().values():
        place = re.sub(r"^https://|/tree/\w+(?=/)|/tree/\w+$", "", trace.homepage)
        lines.append(f"| `{trace.name}`: {trace.title} | [{place}]({trace.homepage}) | {trace.licence} |")
    return "\n".join(lines)


def portable_sql() -> str:
    """What views and queries may use beside plain SQL, and what becomes of it on Spark."""
    same = ", ".join(f"`{name}`" for name in sorted(map(_spelled, dialect.SAME)))
    refused = ", ".join(sorted(dialect.REFUSED.values()))
    rewrites = [(one.construct, one.written_as, one.why) for one in dialect.REWRITES]
    lines = ["| in views and queries | on Spark | since there |", "|---|---|---|"]
    lines += [f"| `{written}` | `{there}` | {why} |" for written, there, why in rewrites]
    lines += [f"| `{written}` | `{there}` | {why} |" for written, there, why in dialect.OF_SELECTS]
    return "\n".join([*lines, f"| {same} | the same | |", f"| {refused}; any other function | refused | |"])


def _spelled(name: str) -> str:
    """The name that sqlglot gives a function, as it is written: `ArrayContains` is array_contains."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


MADE = (
    Made(REPOSITORY / "README.md", "traces", traces),
    Made(REPOSITORY / "docs" / "spark.md", "portable SQL", portable_sql),
)

if __name__ == "__main__":
    for made in MADE:
        made.path.write_text(made.anew())
        print(f"Wrote {made.path}")

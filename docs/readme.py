"""Writes the README's table of traces from their declarations: `python -m tracehouse.docs.readme`."""

import re
from pathlib import Path

from tracehouse.ingest.declare import all_traces

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- traces: made by `make readme` -->", "<!-- end of traces -->"


def table() -> str:
    """The table of traces: name and title, where the raw files are, licence."""
    lines = ["| trace | raw files from | licence |", "|---|---|---|"]
    for trace in all_traces().values():
        place = re.sub(r"^https://|/tree/\w+(?=/)|/tree/\w+$", "", trace.homepage)
        lines.append(f"| `{trace.name}`: {trace.title} | [{place}]({trace.homepage}) | {trace.licence} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The README with the table in its place."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
    print(f"Wrote {README}")

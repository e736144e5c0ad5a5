"""Run and draw every named query over synthetic files, as an example for its page in the documentation."""

import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import tracehouse
from tracehouse.core.errors import UserError
from tracehouse.definitions.query_files import query_files
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.binding import bind_query
from tracehouse.engines.duckdb.write import database
from tracehouse.publish.plot import pictures
from tracehouse.publish.table import TableStyle, table

SCALE = 0.01
MOST_ROWS = 5


@dataclass(frozen=True)
class Example:
    """The first rows of an answer as a text table, and its chart as SVG (empty if there is no chart)."""

    rows: str
    svg: str


def examples_of_samples() -> dict[str, Example]:
    """Generate and ingest a synthetic sample, and return examples of all queries by query name."""
    with tempfile.TemporaryDirectory() as folder:
        raw = tracehouse.sample(out=Path(folder, "raw"), scale=SCALE)
        database.ingest([raw], Path(folder, "warehouse"), [], lambda *_: None)
        return examples(Path(folder, "warehouse"))


def examples(warehouse: Path, names: Collection[str] = ()) -> dict[str, Example]:
    """Return examples by query name, for the given queries or for all."""
    found = {}
    with sandbox.connect(warehouse) as connection:
        for query in query_files():
            name, svg = query.full_name, ""
            if names and name not in names:
                continue
            _, lines = table(connection, bind_query(connection, name, {}), TableStyle(most_rows=MOST_ROWS))
            if query.chart is not None:
                # There may be too few rows to draw.
                with suppress(UserError):
                    svg = pictures.render_svg(pictures.build_query_picture(connection, name, {}))
            # An empty line is before the footer.
            found[name] = Example("\n".join(takewhile(bool, lines)), svg)
    return found

"""Run and draw every named query over synthetic files, as an example for its page in the documentation."""

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import duckdb

import tracehouse
from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.binding import bind_query
from tracehouse.publish.plot import pictures
from tracehouse.publish.table import TableStyle, table
from tracehouse.sql.query_files import QueryFile, query_files

SCALE = 0.01
MOST_ROWS = 5


@dataclass(frozen=True)
class Example:
    """The first rows of an answer as a text table, and its chart as SVG (empty if there is no chart)."""

    rows: str
    svg: str


def examples(warehouse: Path, names: Collection[str] = ()) -> dict[str, Example]:
    """Return examples by query name, for the given queries or for all."""
    queries = [query for query in query_files() if not names or query.full_name in names]
    with sandbox.connect(warehouse) as connection:
        return {query.full_name: _example(connection, query) for query in queries}


def examples_of_samples() -> dict[str, Example]:
    """Generate and ingest a synthetic sample, and return examples of all queries by query name."""
    with tempfile.TemporaryDirectory() as folder:
        raw = tracehouse.sample(out=Path(folder, "raw"), scale=SCALE)
        return examples(tracehouse.ingest(raw, Path(folder, "warehouse")).folder)


def _example(connection: duckdb.DuckDBPyConnection, query: QueryFile) -> Example:
    style = TableStyle(most_rows=MOST_ROWS)
    _, lines = table(connection, bind_query(connection, query.full_name, {}), style)
    # An empty line is before the footer.
    return Example("\n".join(takewhile(bool, lines)), _chart(connection, query))


def _chart(connection: duckdb.DuckDBPyConnection, query: QueryFile) -> str:
    """Return the chart of a query as SVG, or "" if it has no chart or too few rows to draw."""
    if query.chart is None:
        return ""
    try:
        return pictures.render_svg(pictures.build_query_picture(connection, query.full_name, {}))
    except UserError:
        return ""

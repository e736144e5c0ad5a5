"""Run the catalog's data-quality rules."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import check_traces

# The columns that a terminal shows.
BRIEF = ("check_name", "status", "violations", "rule")
COLUMNS = [*BRIEF, "caveat"]


def run_rules(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> pa.Table:
    """Run the rules of the named traces, or of all traces: a row for each rule, with its breaches.

    Raises UsageError where a trace does not exist.
    """
    check_traces(connection, traces)
    statements = connection.execute(
        """
        select sql from catalog.rules
        where len($traces) = 0 or list_contains($traces, trace)
        order by check_name
        """,
        {"traces": list(traces)},
    ).fetchall()
    # One statement for each rule: DuckDB frees memory only when a whole statement has run.
    results = [read(connection, BoundQuery(sql)).read_all() for (sql,) in statements]
    return pa.concat_tables(results).select(COLUMNS)


def count_failed(results: pa.Table) -> int:
    """Count the rules that failed."""
    return pc.sum(pc.equal(results["status"], "failed")).as_py() or 0

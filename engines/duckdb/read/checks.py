"""Runs the catalog's data-quality rules."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.engines.duckdb.read.answer import Question, check_traces, run

# What a terminal shows of the rules, where it has no room for all.
BRIEF = ("check_name", "status", "violations", "rule")
COLUMNS = [*BRIEF, "caveat"]


def rules(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> pa.Table:
    """Every rule of the named traces, of all if none is named, with what it finds now.

    Raises UsageError where a trace does not exist.
    """
    check_traces(connection, traces)
    asked = connection.execute(
        """
        select sql from catalog.rules
        where len($traces) = 0 or list_contains($traces, trace)
        order by check_name
        """,
        {"traces": list(traces)},
    ).fetchall()
    # One after the other: DuckDB gives the memory of a statement back when all of it has run.
    found = [run(connection, Question(sql, {})).read_all() for (sql,) in asked]
    return pa.concat_tables(found).select(COLUMNS)


def count_failed(found: pa.Table) -> int:
    """How many of the rules failed."""
    return pc.sum(pc.equal(found["status"], "failed")).as_py() or 0

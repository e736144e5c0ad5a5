"""Run the catalog's data-quality rules, and compare the expected counts."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from tracehouse.core.progress import Step, ignore_step
from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import check_traces
from tracehouse.engines.duckdb.read.verify import Result, Verdict, expectations

# The columns that a terminal shows, the most important first.
BRIEF = ("check_name", "status", "violations", "rule")
COLUMNS = [*BRIEF, "caveat"]
# The status of an expected count.
STATUSES = {
    Verdict.REPRODUCED: "ok",
    Verdict.EXPLAINED: "known",
    Verdict.UNCONFIRMED: "failed",
    Verdict.DIFFERS: "failed",
    Verdict.NO_DATA: "no data",
    Verdict.SYNTHETIC: "not applicable",
    Verdict.NOT_COMPARABLE: "not comparable",
}


def run_rules(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[str], step: Step = ignore_step
) -> pa.Table:
    """Run the rules and expected counts of the named traces, or of all traces.

    Returns one row for each, with the number of violations. Raises UsageError if a trace does not exist.
    """
    check_traces(connection, traces)
    sql = """
        select sql from catalog.rules
        where len($traces) = 0 or list_contains($traces, trace)
        order by check_name
        """
    statements = connection.execute(sql, {"traces": list(traces)}).fetchall()
    results = []
    # One statement for each rule: DuckDB frees memory only when a whole statement has run.
    for number, (sql,) in enumerate(statements, 1):
        step(f"rule {number:,} of {len(statements):,}")
        results.append(read(connection, BoundQuery(sql)).read_all())
    rules = pa.concat_tables(results).select(COLUMNS)
    expected = expectations(connection, traces, step)
    return pa.concat_tables([rules, pa.Table.from_pylist(list(map(_count_row, expected)), rules.schema)])


def _count_row(result: Result) -> dict[str, object]:
    """Return an expected count as a row. It has one violation if the measured value differs."""
    status = STATUSES[result.verdict]
    differs = result.verdict in (Verdict.EXPLAINED, Verdict.UNCONFIRMED, Verdict.DIFFERS)
    is_compared = differs or result.verdict is Verdict.REPRODUCED
    value = "no value" if result.measured is None else f"{result.measured:,.15g}"
    found = f"The files give {value}." if differs else ""
    if result.verdict is Verdict.NOT_COMPARABLE:
        found = result.part
    return {
        "check_name": result.figure,
        "status": status,
        "violations": int(differs) if is_compared else None,
        "rule": " ".join(filter(None, (result.statement, found, result.explanation if differs else ""))),
        "caveat": "",
    }

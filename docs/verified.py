"""Write `docs/verified.md`, the output of `traces verify` for the real files of three traces.

`python -m tracehouse.docs.verified RAW` ingests the files in RAW into a temporary warehouse.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import binding, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.verify import (
    Result,
    Verdict,
    as_table,
    counts_by_trust,
    figures,
    verdict_counts,
)
from tracehouse.engines.duckdb.write import database
from tracehouse.publish import writers

PAGE = Path(__file__).with_suffix(".md")
# Traces with small files, which an ingest converts quickly.
TRACES = ("itp", "openb", "zeus")
_SOURCES = """
    select distinct trace, parse_filename(file) as file, bytes, sha256 from catalog.sources
    where list_contains($traces, trace) order by all
"""


def page(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the page for a warehouse. Raise UserError if a figure was computed from synthetic data."""
    results = []
    for result in figures(connection, TRACES):
        if result.verdict is Verdict.SYNTHETIC:
            raise UserError(f"{result.figure} was computed from synthetic data: ingest the publishers' files")
        if result.measured is not None:
            # The last digits depend on the order of summation.
            result = replace(result, measured=float(f"{result.measured:.10g}"))
        results.append(result)
    summary = ", ".join(f"{number} {verdict}" for verdict, number in verdict_counts(results).items())
    without_reason = (Verdict.REPRODUCED, Verdict.NO_DATA)
    reasons = [result for result in results if result.explanation and result.verdict not in without_reason]
    parts = [
        "# Published and computed figures",
        f"Output of `traces verify {' '.join(TRACES)} --format markdown`, version {version('tracehouse')}, "
        "for the files in the last table. `make tables RAW=folder` updates this page, and a test compares "
        "it. The tolerance and SQL of each figure are in `catalog.published`. Measured values are rounded to "
        "ten digits. Counts of the files that no document prints are not here: `traces check` compares them.",
        f"{len(results)} figures: {summary}. By the kind of source, which [Verification](verification.md) "
        "explains:",
        _markdown(connection, _trust_table(results)),
        _markdown(connection, as_table(results)),
        "## Explanations",
        "\n".join(f"- `{result.figure}`, {result.verdict}: {result.explanation}" for result in reasons),
        "## Files",
        "\n".join(writers.markdown(connection, BoundQuery(_SOURCES, {"traces": list(TRACES)}))),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _trust_table(results: Sequence[Result]) -> pa.Table:
    counts = counts_by_trust(results)
    verdicts = [verdict for verdict in Verdict if any(verdict in found for found in counts.values())]
    numbers = {verdict.value: [found.get(verdict, 0) for found in counts.values()] for verdict in verdicts}
    return pa.table({"trust": list(counts)} | numbers)


def _markdown(connection: duckdb.DuckDBPyConnection, rows: pa.Table) -> str:
    return "\n".join(writers.markdown(connection, binding.bind_rows(connection, rows)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tracehouse.docs.verified RAW")
    with TemporaryDirectory() as folder:
        database.ingest([Path(sys.argv[1])], Path(folder), TRACES, lambda *_: None)
        PAGE.write_text(page(sandbox.connect(Path(folder))), encoding="utf-8")
    print(f"Wrote {PAGE}")

"""Writes `docs/verified.md`: what `traces verify` finds on the real files of three traces.

`python -m tracehouse.docs.verified RAW` makes a warehouse of its own over the raw files in RAW.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import answer
from tracehouse.engines.duckdb.read.verify import Result, Verdict, as_table, count, figures
from tracehouse.engines.duckdb.write import database
from tracehouse.publish import export

PAGE = Path(__file__).with_suffix(".md")
# The traces whose files are small enough for everybody to have.
TRACES = ("itp", "openb", "zeus")


def page(connection: duckdb.DuckDBPyConnection) -> str:
    """The page over a warehouse. Raises UserError where some of its data are synthetic, or not there."""
    results = [_rounded(result) for result in figures(connection, TRACES)]
    for result in results:
        if result.verdict is Verdict.SYNTHETIC:
            raise UserError(f"{result.figure} rests on synthetic data: bring the publishers' files")
    counts = {verdict: count(results, verdict) for verdict in Verdict}
    found = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
    reasons = [result for result in results if result.explanation and not _is_plain(result.verdict)]
    parts = [
        "# What publishers printed, beside what their files give",
        f"Made by `traces verify {' '.join(TRACES)} --format markdown`, version {version('tracehouse')}, "
        "over the files that the last table lists; `make verified RAW=folder` makes it again, and a test "
        "compares it. Where each figure was printed, how well it is known, how far off still counts and the "
        "SQL that measures it are in `catalog.published`. Measured values are rounded to ten digits.",
        f"{len(results)} figures: {found}.",
        _markdown(results),
        "## Why some differ, or cannot be measured",
        "\n".join(f"- `{result.figure}`, {result.verdict}: {result.explanation}" for result in reasons),
        "## The files",
        "\n".join(_sources(connection)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def write_page(raw: Path) -> Path:
    """Read raw files, and write the page over them."""
    with TemporaryDirectory() as folder:
        warehouse = Path(folder)
        database.ingest([raw], warehouse, TRACES, lambda *_: None)
        PAGE.write_text(page(answer.connect(warehouse)))
    return PAGE


def _rounded(result: Result) -> Result:
    """A result without the last digits of what is measured: they depend on the order in which it is added."""
    if result.measured is None:
        return result
    return replace(result, measured=float(f"{result.measured:.10g}"))


def _is_plain(verdict: Verdict) -> bool:
    """Whether a verdict needs no explanation."""
    return verdict in (Verdict.REPRODUCED, Verdict.NO_DATA)


def _markdown(results: Sequence[Result]) -> str:
    with duckdb.connect() as connection:
        question = answer.of_table(connection, as_table(results))
        return "\n".join(export.markdown(connection, question))


def _sources(connection: duckdb.DuckDBPyConnection) -> Iterable[str]:
    rows = connection.execute(
        """
        select distinct trace, parse_filename(file), bytes, sha256 from catalog.sources
        where list_contains($traces, trace) order by all
        """,
        {"traces": list(TRACES)},
    ).fetchall()
    yield "| trace | file | bytes | sha256 |"
    yield "| --- | --- | ---: | --- |"
    for trace, file, size, sha256 in rows:
        yield f"| {trace} | {file} | {size} | {sha256} |"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tracehouse.docs.verified RAW")
    try:
        print(f"Wrote {write_page(Path(sys.argv[1]))}")
    except UserError as error:
        raise SystemExit(f"error: {error}") from None

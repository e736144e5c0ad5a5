"""Compare published and expected figures with the warehouse."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.core.progress import Step, ignore_step
from tracehouse.definitions.figures import OF_AUTHORS, TRUSTS
from tracehouse.engines.duckdb.read.catalog import check_traces, read_base_tables, read_rows
from tracehouse.engines.duckdb.read.notes import Note

# Relative tolerance for decimal fractions that are read as binary ones.
ROUNDING = 1e-9
# The start of the explanation of a figure whose SQL fails.
NOT_MEASURED = "Cannot be measured"
_CALL = re.compile(r"\w+\.\w+\([^()\"]*\)")


Row = Mapping[str, Any]


class Verdict(StrEnum):
    """The outcome of comparing a figure with its measured value.

    EXPLAINED is within the tolerance of the value that the explanation leads to. UNCONFIRMED has an
    explanation whose value nobody knows yet, and any value would fit it: it counts as a difference.
    NOT_COMPARABLE figures are about the whole trace, and the warehouse has a part of it.
    """

    REPRODUCED = "reproduced"
    EXPLAINED = "differs as explained"
    UNCONFIRMED = "differs, reason unconfirmed"
    DIFFERS = "differs"
    NO_DATA = "no data"
    SYNTHETIC = "synthetic data"
    NOT_COMPARABLE = "not comparable"
    NOT_MEASURABLE = "not measurable"


# The verdicts of figures that differ, the most serious first.
DIFFERING = (Verdict.DIFFERS, Verdict.UNCONFIRMED, Verdict.EXPLAINED)


@dataclass(frozen=True)
class Result:
    """A figure with its measured value, which is None if it cannot be measured.

    `trust` and `printed_in` describe the source of a published figure. They are empty for an expected count.
    `part` says how much of the publisher's tables the warehouse has, if it does not have them completely.
    """

    figure: str
    statement: str
    published: float
    measured: float | None
    unit: str
    verdict: Verdict
    trust: str
    printed_in: str
    explanation: str
    part: str = ""

    @property
    def difference(self) -> float | None:
        """The measured value minus the published or expected value."""
        return None if self.measured is None else self.measured - self.published


def figures(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[str], step: Step = ignore_step
) -> list[Result]:
    """Measure every published figure of the named traces, of all if none is named.

    A figure whose SQL fails differs, and its explanation is the error. Raises UsageError if a trace does not
    exist.
    """
    return _compare(connection, "published", traces, step)


def expectations(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[str], step: Step = ignore_step
) -> list[Result]:
    """Measure every expected count of the named traces, of all if none is named. Raises as `figures` does."""
    return _compare(connection, "expected", traces, step)


def _compare(
    connection: duckdb.DuckDBPyConnection, table: str, traces: Sequence[str], step: Step
) -> list[Result]:
    check_traces(connection, traces)
    rows = read_rows(
        connection,
        f"""
        from catalog.{table}
        where len($traces) = 0 or list_contains($traces, trace)
        order by rowid
        """,
        traces=list(traces),
    )
    tables = connection.execute("select table_name, row_count, synthetic from catalog.tables").fetchall()
    empty = {name for name, row_count, _ in tables if row_count == 0}
    synthetic = {name for name, _, is_synthetic in tables if is_synthetic}
    incomplete = dict(connection.execute("select table_name, incomplete from catalog.tables").fetchall())
    files = read_rows(connection, "from catalog.sources")
    members = {file["member"] for file in files}
    known = read_base_tables(connection)
    calls = Counter(
        call
        for row in rows
        for call in _CALL.findall(row["measured_by"])
        if call.partition("(")[0] in row["reads"]
    )
    repeated = {call for call, number in calls.items() if number > 1}
    results = []
    for number, row in enumerate(rows, 1):
        step(f"{table} figure {number:,} of {len(rows):,}: {row['figure']}")
        # A query over all traces also reads tables of others, which the figure is not about.
        read = {
            table
            for name in row["reads"]
            for table in known.get(name, ())
            if not name.startswith("unified.") or table.startswith(f"{row['trace']}.")
        }
        lacks_data = bool(read & empty) or row["needs_file"] not in {"", *members}
        part = _part_of(row["needs_file"], read, incomplete, files)
        measured, problem = None, ""
        if row["measured_by"] and not lacks_data:
            try:
                measured = _measure(connection, row["measured_by"], repeated)
            except duckdb.InterruptException:
                raise
            except duckdb.Error as error:
                problem = f"{NOT_MEASURED}: {error}"
        results.append(
            Result(
                figure=row["figure"],
                statement=row["statement"],
                published=row["value"],
                measured=measured,
                unit=row["unit"],
                verdict=_verdict(row, measured, lacks_data, bool(read & synthetic), bool(part)),
                trust=row.get("trust", ""),
                printed_in=row.get("printed_in", ""),
                explanation=problem or row["explanation"],
                part=part,
            )
        )
    return results


def as_table(results: Sequence[Result]) -> pa.Table:
    """The results as rows: figure, statement, published, measured, difference, unit, verdict and source."""
    columns = {
        "figure": pa.string(),
        "statement": pa.string(),
        "published": pa.float64(),
        "measured": pa.float64(),
        "difference": pa.float64(),
        "unit": pa.string(),
        "verdict": pa.string(),
        "trust": pa.string(),
        "printed_in": pa.string(),
    }
    return pa.table(
        {name: pa.array([getattr(r, name) for r in results], kind) for name, kind in columns.items()}
    )


def differing(results: Sequence[Result]) -> list[Result]:
    """The figures that differ from the measured value, for whatever reason."""
    return [result for result in results if result.verdict in DIFFERING]


def measured(results: Sequence[Result]) -> list[Result]:
    """The figures that the warehouse has data of."""
    return [result for result in results if result.verdict not in (Verdict.NO_DATA, Verdict.NOT_MEASURABLE)]


def by_explanation(results: Sequence[Result]) -> list[list[Result]]:
    """The figures in groups with the same verdict and explanation, those that differ first."""
    groups: dict[tuple[Verdict, str], list[Result]] = {}
    for verdict in dict.fromkeys((*DIFFERING, *Verdict)):
        for result in results:
            if result.verdict is verdict:
                explanation = result.explanation if verdict in DIFFERING else ""
                groups.setdefault((verdict, explanation), []).append(result)
    return list(groups.values())


def explanation_summary(results: Sequence[Result]) -> list[Note]:
    """Return notes on failed SQL, and on known and unconfirmed reasons: how many figures differ for them."""
    counts = verdict_counts(results)
    reasons = {
        Verdict.EXPLAINED: ("explained", "as explained"),
        Verdict.UNCONFIRMED: ("unconfirmed", "for a reason that nobody has confirmed"),
    }
    failed = [one for one in results if one.explanation.startswith(NOT_MEASURED)]
    return [
        *(Note(one.figure, one.explanation, "figure") for one in failed),
        *(
            Note(name, f"figures that differ {how}: {counts[verdict]}, see catalog.published", "note")
            for verdict, (name, how) in reasons.items()
            if verdict in counts
        ),
    ]


def counts_by_trust(results: Sequence[Result]) -> dict[str, dict[Verdict, int]]:
    """Count the figures with each verdict by kind of source, in the order of TRUSTS."""
    trusts = [trust for trust in TRUSTS if trust in {result.trust for result in results}]
    return {
        trust: verdict_counts([result for result in results if result.trust == trust]) for trust in trusts
    }


def parts(results: Sequence[Result]) -> list[Note]:
    """Return a note for each part of the publisher's tables with which figures cannot be compared."""
    counts = Counter(result.part for result in results if result.verdict is Verdict.NOT_COMPARABLE)
    return [
        Note("not comparable", f"figures about the complete trace: {count}. {part}", "note")
        for part, count in counts.items()
    ]


def trust_summary(results: Sequence[Result]) -> list[Note]:
    """Return one note for each kind of source: how many of its figures have each verdict."""
    return [
        Note(TRUSTS[trust], list_counts(counts), "figures")
        for trust, counts in counts_by_trust(results).items()
    ]


def list_counts(counts: Mapping[Verdict, int]) -> str:
    """Return the number of figures with each verdict, such as `2 reproduced, 1 differs`."""
    return ", ".join(
        f"{number:,} {verdict if number == 1 else verdict.replace('differs', 'differ')}"
        for verdict, number in counts.items()
    )


def by_authors(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Split figures into those that the publisher or the authors of a paper print, and those of others."""
    own = [result for result in results if result.trust in OF_AUTHORS]
    return own, [result for result in results if result.trust not in OF_AUTHORS]


def describe_failures(results: Sequence[Result]) -> str:
    """Say how many figures of the authors differ without a confirmed reason; empty if none do."""
    counts = verdict_counts(by_authors(results)[0])
    failures = counts.get(Verdict.DIFFERS, 0) + counts.get(Verdict.UNCONFIRMED, 0)
    if not failures:
        return ""
    differ = "differs" if failures == 1 else "differ"
    explained = counts.get(Verdict.EXPLAINED, 0)
    others = f"{explained} other differs" if explained == 1 else f"{explained} others differ"
    more = f"; {others} as explained" if explained else ""
    listed = f"{failures} of {sum(counts.values())} figures of the publisher and of papers"
    return f"{listed} {differ} without a confirmed reason{more}"


def verdict_counts(results: Sequence[Result]) -> dict[Verdict, int]:
    """Count the figures with each verdict. Verdicts without figures are omitted."""
    counts = Counter(result.verdict for result in results)
    return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}


def _part_of(
    needs_file: str, tables: Collection[str], incomplete: Mapping[str, str | None], files: Sequence[Row]
) -> str:
    """Say how much of the tables that a figure reads the warehouse has; empty if all, or if not known.

    A figure that needs a file of a table is about this file alone, and about the files of other tables that
    the warehouse has.
    """
    if not needs_file:
        parts = [f"{incomplete[name]} of {name}" for name in sorted(tables) if incomplete[name]]
    else:
        of_needed = {file["table_name"] for file in files if file["member"] == needs_file}
        parts = [
            f"{file['rows_read']:,} of {file['published_rows']:,} rows of {file['member']}"
            for file in files
            if file["table_name"] in tables
            and (file["member"] == needs_file or file["table_name"] not in of_needed)
            and file["rows_read"] < (file["published_rows"] or 0)
        ]
    return f"The warehouse has {', '.join(parts)}." if parts else ""


def _verdict(
    figure: Row, measured: float | None, lacks_data: bool, is_synthetic: bool, is_part: bool
) -> Verdict:
    if not figure["measured_by"]:
        return Verdict.NOT_MEASURABLE
    if lacks_data:
        return Verdict.NO_DATA
    if is_synthetic:
        return Verdict.SYNTHETIC
    if is_part:
        return Verdict.NOT_COMPARABLE
    if measured is None:
        # The tables have rows, but none that the figure is about. The explanation does not cover that.
        return Verdict.DIFFERS
    slack = _slack(figure["value"], figure["tolerance"])
    is_high_enough = figure["relation"] == "at most" or measured >= figure["value"] - slack
    if is_high_enough and (figure["relation"] == "at least" or measured <= figure["value"] + slack):
        return Verdict.REPRODUCED
    explained = figure["explained_value"]
    if explained is None:
        return Verdict.UNCONFIRMED if figure["explanation"] else Verdict.DIFFERS
    is_as_explained = abs(measured - explained) <= _slack(explained, figure["explained_tolerance"])
    return Verdict.EXPLAINED if is_as_explained else Verdict.DIFFERS


def _slack(value: float, tolerance: float) -> float:
    return tolerance + ROUNDING * max(1.0, abs(value))


def _measure(connection: duckdb.DuckDBPyConnection, sql: str, repeated: Collection[str]) -> float | None:
    """The value of a figure's SQL; None if it is NULL or not a finite number. Raises DuckDB's errors.

    Queries in `repeated` run once and are kept in temporary tables: some have more than 70 figures.
    """
    for call in set(_CALL.findall(sql)).intersection(repeated):
        connection.execute(f'create temp table if not exists "{call}" as from {call}')
        sql = sql.replace(call, f'"{call}"')
    [(value,)] = connection.execute(f"select cast(({sql}) as double)").fetchall()
    return value if value is not None and math.isfinite(value) else None

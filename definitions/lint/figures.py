"""Rules on published and expected figures."""

import math
import re
from collections.abc import Collection, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.dependencies import with_dependencies
from tracehouse.definitions.figures import RELATIONS, TRUSTS, Figure, PublishedFigure
from tracehouse.definitions.findings import Finding, place_of, suggest
from tracehouse.definitions.lint.read import Definitions
from tracehouse.definitions.units import spell_unit
from tracehouse.definitions.view_files import VIEWS, ViewFile, plain_names, references


def lint_figure(definitions: Definitions, figure: Figure) -> Iterator[Finding]:
    """Yield the findings on one figure."""
    is_published = isinstance(figure, PublishedFigure)
    path = VIEWS / figure.trace / ("published.csv" if is_published else "expected.csv")
    at = place_of(path, f"{figure.name},")
    if not figure.name.startswith(f"{figure.trace}."):
        yield Finding(at, f"the name of a figure begins with {figure.trace}.", "figure name")
    if not any(spelling in figure.statement for spelling in _spellings(figure.value)):
        wanted = " or ".join(_spellings(figure.value))
        yield Finding(at, f"the statement must contain the value, as {wanted}", "figure value")
    if not math.isfinite(figure.value) or not 0 <= figure.tolerance < math.inf:
        yield Finding(
            at, "value and tolerance must be finite numbers, the tolerance at least 0", "figure value"
        )
    yield from _lint_explanation(figure, at)
    if figure.relation not in RELATIONS:
        yield Finding(at, f"needs a relation: {', '.join(RELATIONS)}", "figure value")
    if not figure.unit:
        yield Finding(at, "needs a unit, such as `jobs`, `percent` or `ratio`", "figure value")
    if spell_unit(figure.unit) != figure.unit:
        yield Finding(at, f"write the unit as {spell_unit(figure.unit)}", "unit")
    if isinstance(figure, PublishedFigure) and (figure.trust not in TRUSTS or not figure.printed_in):
        yield Finding(at, f"needs `printed_in`, and a trust: {', '.join(TRUSTS)}", "figure source")
    if not is_published and not figure.measured_by:
        yield Finding(at, "an expected figure needs `measured_by`", "figure SQL")
    files = [
        table.file_name
        for trace in definitions.traces
        if trace.name == figure.trace
        for table in trace.tables
    ]
    if figure.needs_file and not any(re.fullmatch(name, figure.needs_file) for name in files):
        yield Finding(at, f"no table is read from {figure.needs_file}", "figure file")
    if figure.measured_by:
        yield from _lint_sql(definitions, figure, at)


def _lint_explanation(figure: Figure, at: str) -> Iterator[Finding]:
    value, tolerance = figure.explained_value, figure.explained_tolerance
    if value is None and tolerance is None:
        return
    if value is None or tolerance is None or not figure.explanation or not figure.measured_by:
        needed = "`explained_value`, `explained_tolerance`, `explanation` and `measured_by`"
        yield Finding(at, f"an explained figure needs all of {needed}", "figure explanation")
    elif not math.isfinite(value) or not 0 <= tolerance < math.inf:
        yield Finding(
            at,
            "explained_value and explained_tolerance must be finite, the tolerance at least 0",
            "figure explanation",
        )
    elif figure.relation == "equal" and abs(value - figure.value) <= figure.tolerance:
        yield Finding(at, "the explained value reproduces the figure: leave it empty", "figure explanation")


def _lint_sql(definitions: Definitions, figure: Figure, at: str) -> Iterator[Finding]:
    known = {*definitions.columns, *(query.full_name for query in definitions.queries)}
    try:
        tree = sqlglot.parse_one(figure.measured_by, dialect="duckdb")
        read = references(tree, figure.name) if isinstance(tree, exp.Select) else frozenset()
    except (SqlglotError, DefinitionError) as error:
        yield Finding(at, f"`measured_by` is not valid SQL: {error}", "figure SQL")
        return
    if not read:
        yield Finding(at, "`measured_by` must be one select from tables, views or queries", "figure SQL")
    for name in sorted(read - known):
        yield Finding(at, f"`measured_by` reads {name}, which does not exist{suggest(name, known)}", "reads")
    if isinstance(figure, PublishedFigure):
        yield from _lint_evidence(definitions, read, at)


def _lint_evidence(definitions: Definitions, read: Collection[str], at: str) -> Iterator[Finding]:
    """Yield the inputs of a figure that confirm nothing: its publisher's summaries and our assumptions."""
    summaries = {"catalog.reference_curves"} | {
        f"{trace.name}.{table.name}"
        for trace in definitions.traces
        for table in trace.tables
        if table.is_summary
    }
    views = plain_names(definitions.views) | {view.versioned: view for view in definitions.views}
    for name in with_dependencies(read, definitions.reads):
        if name in summaries:
            reason = "has the publisher's own figures, which cannot confirm another of them"
        elif name in views and not views[name].references and _is_own(views[name]):
            reason = "has values that this project assumes, which confirm nothing"
        else:
            continue
        yield Finding(at, f"leave `measured_by` empty: {name} {reason}", "figure evidence")


def _is_own(view: ViewFile) -> bool:
    return view.header.one("source").startswith("this project")


def _spellings(value: float) -> list[str]:
    """Return the ways in which a statement may write a value: 1,200,000 or 1.2 million."""
    millions = [f"{value / 1e6:,.15g} million", f"{value / 1e9:,.15g} billion"]
    return [f"{value:,.15g}", *(millions if abs(value) >= 1e6 else ())]

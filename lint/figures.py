"""Rules on published and expected figures."""

import math
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tracehouse.core.errors import DefinitionError
from tracehouse.lint.subject import Finding, Subject, place_of, suggest
from tracehouse.views.ledgers import RELATIONS, TRUSTS, Figure, PublishedFigure
from tracehouse.views.units import spell_unit
from tracehouse.views.view_files import VIEWS, references


def lint_figure(subject: Subject, figure: Figure) -> Iterator[Finding]:
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
        table.file_name for trace in subject.traces if trace.name == figure.trace for table in trace.tables
    ]
    if figure.needs_file and not any(re.fullmatch(name, figure.needs_file) for name in files):
        yield Finding(at, f"no table is read from {figure.needs_file}", "figure file")
    if figure.measured_by:
        yield from _lint_sql(subject, figure, at)


def _lint_sql(subject: Subject, figure: Figure, at: str) -> Iterator[Finding]:
    known = {*subject.columns, *(query.full_name for query in subject.queries)}
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


def _spellings(value: float) -> list[str]:
    """Return the ways in which a statement may write a value: 1,200,000 or 1.2 million."""
    millions = [f"{value / 1e6:,.15g} million", f"{value / 1e9:,.15g} billion"]
    return [f"{value:,.15g}", *(millions if abs(value) >= 1e6 else ())]

"""Run every static rule."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tracehouse.definitions.column_docs import parse_comment
from tracehouse.definitions.findings import Finding, place_of
from tracehouse.definitions.lint.declarations import lint_trace
from tracehouse.definitions.lint.definitions import lint_query, lint_versions, lint_view
from tracehouse.definitions.lint.figures import lint_figure
from tracehouse.definitions.lint.lineage import lint_inherited
from tracehouse.definitions.lint.read import Definitions, read
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import schema_of
from tracehouse.definitions.units import NO_UNIT
from tracehouse.definitions.view_files import ViewFile
from tracehouse.ingest.traces import trace_names

Rule = Callable[[Sequence[ViewFile | QueryFile]], Iterable[Finding]]
"""A rule of an engine: yields findings, given views and queries of the package."""


def lint(trace: str = "", rules: Sequence[Rule] = ()) -> list[Finding]:
    """Return every finding, sorted by place: on one trace and its views, queries and figures, or on all.

    `rules` are those of engines; one may look at files of the user, and `trace` be a schema of the user. If a
    trace cannot be read, only what is invalid is returned: the rules would report everything that reads the
    trace.
    """
    definitions, invalid = read()
    if len(definitions.traces) < len(trace_names()):
        return sorted(invalid, key=_order_key)
    found = [*invalid, *lint_all(definitions, trace)]
    files: list[ViewFile | QueryFile] = [*definitions.views, *definitions.queries]
    files = [one for one in files if trace in ("", one.schema)]
    for rule in rules:
        found += rule(files)
    return sorted({one for one in found if not trace or _is_about(trace, one)}, key=_order_key)


def _is_about(trace: str, finding: Finding) -> bool:
    """Whether the file of a finding is the module of a trace, or in its folder of views or queries."""
    path = Path(finding.place.partition(", line ")[0])
    return path.name == f"{trace}.py" or schema_of(path) == trace


def _order_key(finding: Finding) -> tuple[str, int, str]:
    """Order findings by file and line."""
    path, _, line = finding.place.partition(", line ")
    return path, int(line or 0), finding.message


def lint_all(definitions: Definitions, schema: str = "") -> Iterator[Finding]:
    """Yield the findings on everything that could be read.

    With a schema, the slowest rules are limited to its views and queries.
    """
    for trace in definitions.traces:
        yield from lint_trace(definitions, trace)
    for view in definitions.views:
        yield from lint_view(definitions, view)
    for query in definitions.queries:
        yield from lint_query(definitions, query)
    for figure in definitions.figures:
        yield from lint_figure(definitions, figure)
    yield from lint_versions(definitions)
    yield from lint_inherited(definitions, schema)
    yield from _lint_repeated(definitions)


def _lint_repeated(definitions: Definitions) -> Iterator[Finding]:
    """Yield titles of queries that several have, and names with several units."""
    titles: dict[str, list[str]] = defaultdict(list)
    for query in (one for one in definitions.queries if one.header.title):
        titles[query.header.title.casefold()].append(str(query.path))
    for paths in titles.values():
        if len(paths) > 1:
            yield Finding(paths[-1], f"has the same title as {paths[0]}", "title")
    first: dict[str, tuple[str, Path]] = {}
    files: list[ViewFile | QueryFile] = [*definitions.views, *definitions.queries]
    for file in files:
        for name, unit in _stated_units(file):
            known, path = first.setdefault(name, (unit, file.path))
            if unit != known:
                what = f"{name} has the unit {unit or NO_UNIT}, but {known or NO_UNIT} in {path}"
                yield Finding(place_of(file.path, name), what, "unit")


def _stated_units(file: ViewFile | QueryFile) -> Iterator[tuple[str, str]]:
    stated = (
        {name: parse_comment(text).unit for name, text in file.column_comments.items()}
        if isinstance(file, ViewFile)
        else {name: unit for name, (_, unit) in file.column_docs.items()}
    )
    return ((name, unit) for name, unit in stated.items() if unit is not None)

"""Run every static rule."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tracehouse.definitions.lint.declarations import lint_trace
from tracehouse.definitions.lint.definitions import lint_query, lint_versions, lint_view
from tracehouse.definitions.lint.figures import lint_figure
from tracehouse.definitions.lint.lineage import lint_inherited
from tracehouse.definitions.lint.subject import Finding, Subject, place_in_trace, read
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import schema_of
from tracehouse.definitions.view_files import ViewFile
from tracehouse.ingest.traces import trace_names

FileRule = Callable[[Sequence[ViewFile | QueryFile]], Iterator[Finding]]
"""A rule of an engine: yields the findings on some views and queries of the package."""


def lint(trace: str = "", local: Path | None = None, rules: Sequence[FileRule] = ()) -> list[Finding]:
    """Return every finding, sorted by place: on one trace and its views, queries and figures, or on all.

    `local` is the folder of the user's own views and queries in a warehouse, and `rules` are those of other
    engines. If a trace cannot be read, only what is invalid is returned: the rules would report everything
    that reads the trace.
    """
    subject, invalid = read(local)
    if len(subject.traces) < len(trace_names()):
        return sorted(invalid, key=_order_key)
    found = [*invalid, *lint_all(subject, local, trace)]
    files: list[ViewFile | QueryFile] = [*subject.views, *subject.queries]
    ours = [one for one in files if not _is_own(one.path, local) and trace in ("", one.schema)]
    for rule in rules:
        found += rule(ours)
    return sorted({one for one in found if not trace or _is_about(trace, one)}, key=_order_key)


def _is_about(trace: str, finding: Finding) -> bool:
    """Whether the file of a finding is the module of a trace, or in its folder of views or queries."""
    path = Path(finding.place.partition(", line ")[0])
    return path.name == f"{trace}.py" or schema_of(path) == trace


def _order_key(finding: Finding) -> tuple[str, int, str]:
    """Order findings by file and line."""
    path, _, line = finding.place.partition(", line ")
    return path, int(line or 0), finding.message


def lint_all(subject: Subject, local: Path | None = None, schema: str = "") -> Iterator[Finding]:
    """Yield the findings on everything that could be read.

    With a schema, the slowest rules are limited to its views and queries.
    """
    for trace in subject.traces:
        yield from lint_trace(subject, trace)
    for view in subject.views:
        yield from lint_view(subject, view, not _is_own(view.path, local))
    for query in subject.queries:
        yield from lint_query(subject, query, not _is_own(query.path, local))
    for figure in subject.figures:
        yield from lint_figure(subject, figure)
    yield from lint_versions(subject)
    yield from lint_inherited(subject, lambda file: not _is_own(file.path, local), schema)
    yield from _lint_repeated(subject)


def _is_own(path: Path, local: Path | None) -> bool:
    return local is not None and path.is_relative_to(local)


def _lint_repeated(subject: Subject) -> Iterator[Finding]:
    """Yield titles of queries that several have, and names of quantities with several units."""
    titles: dict[str, list[str]] = defaultdict(list)
    for query in (one for one in subject.queries if one.header.title):
        titles[query.header.title.casefold()].append(str(query.path))
    for paths in titles.values():
        if len(paths) > 1:
            yield Finding(paths[-1], f"has the same title as {paths[0]}", "title")
    units: dict[str, dict[str, str]] = defaultdict(dict)
    for trace in subject.traces:
        for quantity in trace.quantities:
            units[quantity.name].setdefault(quantity.unit, trace.name)
    for name, traces in units.items():
        if len(traces) > 1:
            listed = " and ".join(f"{unit or 'none'} in {trace}" for unit, trace in traces.items())
            for declaring in traces.values():
                at = place_in_trace(declaring, f'"{name}"')
                yield Finding(at, f"{name} has several units: {listed}", "unit")

"""What lint reads: the declared traces, and the package's views, queries and figures that can be parsed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions import caveats, figures
from tracehouse.definitions.figures import Figure
from tracehouse.definitions.findings import Finding, place_of
from tracehouse.definitions.query_files import QueryFile, read_query_file
from tracehouse.definitions.released import QUERIES, view_paths
from tracehouse.definitions.requests import find_missing
from tracehouse.definitions.view_files import ViewFile, parsed_view_file, plain_names, request_views
from tracehouse.ingest import traces as trace_modules
from tracehouse.ingest.declare.trace import Trace, list_modules, load_trace

Place = Callable[[str], str]
"""Returns the file and the line of a trace's module that has a text."""

Source = TypeVar("Source")
Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Definitions:
    """The definitions of the package that could be read."""

    traces: Sequence[Trace]
    views: Sequence[ViewFile]
    queries: Sequence[QueryFile]
    figures: Sequence[Figure]

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """The columns of each base table and view. A view has its versioned and its plain name."""
        tables = {
            f"{trace.name}.{table.name}": frozenset(column.name for column in table.stored_columns)
            for trace in self.traces
            for table in trace.tables
        }
        views = {view.versioned: names_selected(view.tree.expression) for view in self.views}
        plain = {alias: views[view.versioned] for alias, view in plain_names(self.views).items()}
        return {**tables, **views, **plain}

    @cached_property
    def reads(self) -> dict[str, frozenset[str]]:
        """The objects that each view and query reads. A view has its versioned and its plain name."""
        views = {view.versioned: view.references for view in self.views}
        plain = {alias: view.references for alias, view in plain_names(self.views).items()}
        return {**views, **plain, **{query.full_name: query.references for query in self.queries}}

    @cached_property
    def answering(self) -> list[ViewFile | QueryFile]:
        """The files that may answer a metric: current views, and queries."""
        return [*plain_names(self.views).values(), *self.queries]

    @cached_property
    def caveats(self) -> frozenset[str]:
        """The names of all caveats."""
        return caveats.names(self.traces)


def read() -> tuple[Definitions, list[Finding]]:
    """Read the definitions of the package. Also returns what is invalid."""
    invalid: list[Finding] = []
    traces = _parse_each(load_trace, trace_modules.trace_names(), invalid)
    # A rule reports what `requests` of the others lack.
    complete = [one for one in traces if one.requests and not find_missing(one, one.requests)]
    views = {path: path.read_text(encoding="utf-8") for path in view_paths()} | request_views(complete)
    definitions = Definitions(
        traces,
        _parse_each(lambda view: parsed_view_file(*view), views.items(), invalid),
        _parse_each(read_query_file, sorted(QUERIES.glob("*/*.sql")), invalid),
        _read_figures(invalid),
    )
    return definitions, invalid


def names_selected(query: exp.Expr) -> frozenset[str]:
    """Return the names of the columns of a query; `*` if they are unknown."""
    return frozenset(query.named_selects if isinstance(query, exp.Query) else ["*"])


def _read_figures(invalid: list[Finding]) -> list[Figure]:
    readers: list[Callable[[], Sequence[Figure]]] = [figures.published, figures.expected]
    return [*chain.from_iterable(_parse_each(lambda read_all: read_all(), readers, invalid))]


def place_in_trace(trace: str, text: str) -> str:
    """Return the file and the first line with a text in the module or package that declares a trace."""
    files = list_modules(trace)
    places = [place_of(file, text) for file in reversed(files)]
    return next((place for place in places if place not in map(str, files)), str(files[0]))


def _parse_each(
    parse: Callable[[Source], Parsed], sources: Iterable[Source], invalid: list[Finding]
) -> list[Parsed]:
    parsed = []
    for source in sources:
        try:
            parsed.append(parse(source))
        except DefinitionError as error:
            invalid.append(Finding(error.place, error.message, "valid"))
    return parsed

"""What lint reads: the declared traces, and the files of views, queries and figures that can be parsed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TypeVar

from tracehouse.core.errors import DefinitionError
from tracehouse.ingest import traces as trace_modules
from tracehouse.ingest.declarations import Trace, load_trace
from tracehouse.sql.query_files import QUERIES, QueryFile, parse_query_file, read_query_file
from tracehouse.views import ledgers
from tracehouse.views.ledgers import Figure
from tracehouse.views.requests import find_missing
from tracehouse.views.view_files import (
    VIEWS,
    ViewFile,
    newest,
    parsed_view_file,
    request_views,
)

Place = Callable[[str], str]
"""Returns the file and the line of a trace's module that has a text."""

Source = TypeVar("Source")
Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Finding:
    """A broken rule: the file and, if known, the line; what is wrong and what to do; the name of the rule."""

    place: str
    message: str
    rule: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.rule}]"


@dataclass(frozen=True)
class Subject:
    """The definitions that could be read: those of the package, and those of the user."""

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
        views = {view.versioned: frozenset(view.tree.expression.named_selects) for view in self.views}
        plain = {alias: views[view.versioned] for alias, view in newest(self.views).items()}
        return {**tables, **views, **plain}

    @cached_property
    def reads(self) -> dict[str, frozenset[str]]:
        """The objects that each view and query reads. A view has its versioned and its plain name."""
        views = {view.versioned: view.references for view in self.views}
        plain = {alias: view.references for alias, view in newest(self.views).items()}
        return {**views, **plain, **{query.full_name: query.references for query in self.queries}}

    @cached_property
    def caveats(self) -> frozenset[str]:
        """The names of all caveats."""
        return frozenset(caveat.name for trace in self.traces for caveat in trace.objects_by_caveat)


def read(local: Path | None = None) -> tuple[Subject, list[Finding]]:
    """Read the definitions of the package and of the user's folder `local`. Also returns what is invalid."""
    invalid: list[Finding] = []
    own_views = sorted((local / "views").glob("*/*.sql")) if local else []
    own_queries = sorted((local / "sql").glob("*/*.sql")) if local else []
    traces = _parse_each(load_trace, trace_modules.trace_names(), invalid)
    # A rule reports what `requests` of the others lack.
    complete = [one for one in traces if one.requests and not find_missing(one, one.requests)]
    views = {path: path.read_text() for path in [*sorted(VIEWS.glob("*/*.v*.sql")), *own_views]}
    subject = Subject(
        traces,
        _parse_each(lambda view: parsed_view_file(*view), (views | request_views(complete)).items(), invalid),
        [
            *_parse_each(read_query_file, sorted(QUERIES.glob("*/*.sql")), invalid),
            *_parse_each(lambda path: parse_query_file(path, path.read_text()), own_queries, invalid),
        ],
        _read_figures(invalid),
    )
    return subject, invalid


def _read_figures(invalid: list[Finding]) -> list[Figure]:
    readers: list[Callable[[], Sequence[Figure]]] = [ledgers.published, ledgers.expected]
    return [*chain.from_iterable(_parse_each(lambda read_all: read_all(), readers, invalid))]


def module_of(trace: str) -> str:
    """Return the path of the module that declares a trace."""
    return str(import_module(f"{trace_modules.__name__}.{trace}").__file__)


def place_of(path: Path | str, text: str) -> str:
    """Return the file and the first line that contains a text; the file alone if none does."""
    lines = Path(path).read_text().splitlines() if Path(path).is_file() else []
    number = next((number for number, line in enumerate(lines, 1) if text in line), None)
    return f"{path}, line {number}" if number else str(path)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the closest known name; empty if none is close."""
    close = get_close_matches(name, list(known), 1)
    return f". Did you mean {close[0]}?" if close else ""


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

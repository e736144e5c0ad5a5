"""What lint reads: the declared traces, and the files of views, queries and figures that can be parsed."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TypeVar

import duckdb
from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions import figures
from tracehouse.definitions.columns import parse_own
from tracehouse.definitions.figures import Figure
from tracehouse.definitions.lint.outside import find_outside
from tracehouse.definitions.query_files import QueryFile, read_query_file
from tracehouse.definitions.released import QUERIES, view_paths
from tracehouse.definitions.requests import find_missing
from tracehouse.definitions.user_files import find_circles, find_name_clashes, list_files, read_user_file
from tracehouse.definitions.view_files import (
    ViewFile,
    creating_view,
    parsed_view_file,
    plain_names,
    references,
    request_views,
)
from tracehouse.ingest import traces as trace_modules
from tracehouse.ingest.declare.trace import Trace, load_trace

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
    def caveats(self) -> frozenset[str]:
        """The names of all caveats."""
        return frozenset(caveat.name for trace in self.traces for caveat in trace.objects_by_caveat)


def read(local: Path | None = None) -> tuple[Subject, list[Finding]]:
    """Read the definitions of the package and of the user's folder `local`. Also returns what is invalid."""
    invalid: list[Finding] = []
    traces = _parse_each(load_trace, trace_modules.trace_names(), invalid)
    # A rule reports what `requests` of the others lack.
    complete = [one for one in traces if one.requests and not find_missing(one, one.requests)]
    views = {path: path.read_text(encoding="utf-8") for path in view_paths()} | request_views(complete)
    own = _read_all_own(local, invalid) if local else []
    subject = Subject(
        traces,
        [
            *_parse_each(lambda view: parsed_view_file(*view), views.items(), invalid),
            *(file for file in own if isinstance(file, ViewFile)),
        ],
        [
            *_parse_each(read_query_file, sorted(QUERIES.glob("*/*.sql")), invalid),
            *(file for file in own if isinstance(file, QueryFile)),
        ],
        _read_figures(invalid),
    )
    return subject, invalid


def _read_all_own(local: Path, invalid: list[Finding]) -> list[ViewFile | QueryFile]:
    """Read the files in the user's folder `local`, except those that create the name of another one."""
    files = _parse_each(lambda path: _read_own(path, local), list_files(local), invalid)
    clashes = {file.path: text for file, text in find_name_clashes(files)}
    files = [file for file in files if file.path not in clashes]
    wrong = clashes | find_circles(files)
    invalid += [Finding(str(path), text, "valid") for path, text in wrong.items()]
    return files


def _read_own(path: Path, local: Path) -> ViewFile | QueryFile:
    """Read a file of the user in the folder `local`. Its SQL may be one that only DuckDB can parse."""
    file = read_user_file(path, local)
    try:
        duckdb.extract_statements(file.text)
    except duckdb.Error as error:
        line = re.search(r"^LINE (\d+):", str(error), re.M)
        at = f"{path}, line {line[1]}" if line else path
        raise DefinitionError(at, str(error).splitlines()[0]) from error
    tree = parse_own(file.body)
    if problem := find_outside(tree, local.parent):
        raise DefinitionError(path, problem)
    read = references(tree, path)
    if isinstance(file, ViewFile):
        return replace(file, tree=creating_view(file.versioned, tree), references=read)
    return replace(file, tree=tree, references=read)


def names_selected(query: exp.Expr) -> frozenset[str]:
    """Return the names of the columns of a query; `*` stands for columns that are not known."""
    return frozenset(query.named_selects if isinstance(query, exp.Query) else ["*"])


def _read_figures(invalid: list[Finding]) -> list[Figure]:
    readers: list[Callable[[], Sequence[Figure]]] = [figures.published, figures.expected]
    return [*chain.from_iterable(_parse_each(lambda read_all: read_all(), readers, invalid))]


def place_in_trace(trace: str, text: str) -> str:
    """Return the file and the first line with a text in the module or package that declares a trace."""
    module = Path(str(import_module(f"{trace_modules.__name__}.{trace}").__file__))
    files = [*module.parent.glob("*.py")] if module.name == "__init__.py" else [module]
    places = [place_of(file, text) for file in sorted(files, reverse=True)]
    return next((place for place in places if place not in map(str, files)), str(module))


def place_of(path: Path | str, text: str) -> str:
    """Return the file and the first line that contains a text; the file alone if none does."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if Path(path).is_file() else []
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

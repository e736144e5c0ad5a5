"""What lint reads: the declared traces, and the files of views, queries and figures that can be parsed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from tracehouse.views.view_files import VIEWS, ViewFile, newest, read_view_file

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
    def caveats(self) -> frozenset[str]:
        """The names of all caveats."""
        return frozenset(caveat.name for trace in self.traces for caveat in trace.objects_by_caveat)


def read(local: Path | None = None) -> tuple[Subject, list[Finding]]:
    """Read the definitions of the package and those in the user's folder `local`; also return invalid ones."""
    invalid: list[Finding] = []
    own = _Folder(local)
    subject = Subject(
        _parse_each(load_trace, trace_modules.trace_names(), invalid),
        _parse_each(read_view_file, [*sorted(VIEWS.glob("*/*.v*.sql")), *own.views], invalid),
        [
            *_parse_each(read_query_file, sorted(QUERIES.glob("*/*.sql")), invalid),
            *_parse_each(lambda path: parse_query_file(path, path.read_text()), own.queries, invalid),
        ],
        [*chain(*_parse_each(lambda read_all: read_all(), [ledgers.published, ledgers.expected], invalid))],
    )
    return subject, invalid

"""Builds the views and queries of a warehouse's user beside ours.

    <warehouse>/local/views/<schema>/<name>.v<N>.sql    a view, as in ours
    <warehouse>/local/sql/<schema>/<name>.sql           a named query, as in ours

They have our form and our header keys, and inherit caveats from what they read; nothing has to be described.
What cannot be created is left out and told, and the rest is built.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.engines.duckdb.write.views import create_aliases, create_view
from tracehouse.sql.query_files import QueryFile, parse_query_file
from tracehouse.views import caveats, graph, meanings
from tracehouse.views.across_traces import SCHEMA as EACH_TRACE
from tracehouse.views.caveats import Held
from tracehouse.views.meanings import Relations
from tracehouse.views.sql_text import normal, statements
from tracehouse.views.view_files import ViewFile, newest, parsed_view_file

FOLDER = "local"
STATUS = "local"

_VIEWS = "views"
_QUERIES = "sql"


@dataclass(frozen=True)
class Problem:
    """A file that gave no view and no query: what it would have been called, and what is wrong with it."""

    name: str
    error: str


def hash_files(folder: Path) -> list[str]:
    """Return a text for each file that `create` would read, which changes with the file's content."""
    return [f"{path.relative_to(folder)}: {_hash_content(path)}" for path in sorted(folder.rglob("*.sql"))]


def _hash_content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return str(error)


def create(
    connection: duckdb.DuckDBPyConnection, folder: Path, relations: Relations, held: Mapping[str, Held]
) -> list[Problem]:
    """Create what the files of a folder define in the current database, which holds all that is ours.

    `relations` say what the columns of ours mean, and `held` are the caveats of our views. Returns what could
    not be created, sorted by file; it is in `catalog.not_built` too.
    """
    found, problems = _read(folder, _schemas(connection))
    of_views, meant = dict(held), dict(relations)
    plain = newest([one for one in found if isinstance(one, ViewFile)])
    by_path = {str(one.path): one for one in found}
    in_order, _ = graph.sort(_reads(found, plain))
    for one in (by_path[path] for path in in_order):
        try:
            connection.begin()
            _check_reads(one, problems)
            if isinstance(one, ViewFile):
                _create_view(connection, one, plain, meant, of_views)
            else:
                _create_query(connection, one, of_views)
            connection.commit()
        except (DefinitionError, duckdb.Error) as error:
            connection.rollback()
            problems.append(_problem(one.path, folder, str(error)))
    problems += [
        _problem(one.path, folder, f"{one.path}: reads itself in a circle, with others of {folder}")
        for path, one in by_path.items()
        if path not in in_order
    ]
    problems.sort(key=lambda problem: problem.error)
    catalog.insert(connection, "not_built", [(problem.name, problem.error) for problem in problems])
    return problems


def _schemas(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The schemas that are ours or DuckDB's."""
    rows = connection.execute(
        "select schema_name from duckdb_schemas() where database_name in (current_database(), 'system')"
    ).fetchall()
    return {EACH_TRACE, *(name for (name,) in rows)}


def _read(folder: Path, taken: Collection[str]) -> tuple[list[ViewFile | QueryFile], list[Problem]]:
    found: list[ViewFile | QueryFile] = []
    problems = []
    for path in sorted(folder.rglob("*.sql")):
        try:
            found.append(_read_file(path, folder, taken))
        except (DefinitionError, OSError) as error:
            problems.append(_problem(path, folder, str(error)))
    return found, problems


def _read_file(path: Path, folder: Path, taken: Collection[str]) -> ViewFile | QueryFile:
    place = path.relative_to(folder).parts
    if len(place) != 3 or place[0] not in (_VIEWS, _QUERIES):
        raise DefinitionError(
            f"{path}: is not read. A view is {folder}/{_VIEWS}/<schema>/<name>.v1.sql, "
            f"a query {folder}/{_QUERIES}/<schema>/<name>.sql"
        )
    if place[1] in taken:
        raise DefinitionError(f"{path}: the schema {place[1]} is not yours; take {FOLDER}, or another name")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{path}: it is not UTF-8 ({error.reason} at byte {error.start:,})") from None
    one = parsed_view_file(path, text) if place[0] == _VIEWS else parse_query_file(path, text)
    if isinstance(one, ViewFile) and one.header.one("stored"):
        raise DefinitionError(f"{path}: has a line `-- stored:`, which only views of Tracehouse itself may")
    created = f"view {one.versioned}" if isinstance(one, ViewFile) else f"macro table {one.full_name}"
    for statement in statements(text)[1:]:
        on_column = isinstance(one, ViewFile) and f"comment on column {one.versioned}."
        if not normal(statement).startswith((f"comment on {created} is ", on_column or created)):
            raise DefinitionError(
                f"{path}: holds more than one {place[0].removesuffix('s')} and comments on it: {statement!r}"
            )
    return one


def _reads(found: Sequence[ViewFile | QueryFile], plain: Mapping[str, ViewFile]) -> dict[str, list[str]]:
    """Which of the files read which others, by their paths."""
    return {
        str(one.path): [
            str(other.path)
            for other in found
            # A query may have the name of a view that it reads.
            if other is not one and not one.references.isdisjoint(_names(other, plain))
        ]
        for one in found
    }


def _names(one: ViewFile | QueryFile, plain: Mapping[str, ViewFile]) -> Iterator[str]:
    if isinstance(one, QueryFile):
        yield one.full_name
    else:
        yield one.versioned
        if plain[one.alias] is one:
            yield one.alias


def _check_reads(one: ViewFile | QueryFile, problems: Collection[Problem]) -> None:
    """Raise DefinitionError where it reads what could not be created."""
    for problem in problems:
        if any(problem.name in (name, _plain(name)) for name in one.references):
            raise DefinitionError(f"{one.path}: reads {problem.name}, which could not be built")


def _plain(name: str) -> str:
    """A view's name without its version."""
    return re.sub(r"_v\d+$", "", name)


def _create_view(
    connection: duckdb.DuckDBPyConnection,
    view: ViewFile,
    plain: Mapping[str, ViewFile],
    relations: Relations,
    held: dict[str, Held],
) -> None:
    """Create a view, and enter it in the catalog, in the relations, and in the caveats that views hold."""
    connection.execute(f'create schema if not exists "{view.schema}"')
    create_view(connection, view)
    # The names of its columns, which `select *` does not say.
    columns = catalog.column_types(connection)[view.versioned]
    meant = meanings.of_view(view, relations, view.column_comments, columns)
    for statement in meanings.inherited_comments(view, meant):
        connection.execute(statement)
    names = {name: view for name in _names(view, plain) if name != view.versioned}
    create_aliases(connection, names)
    named = dict.fromkeys(_names(view, plain), view)
    relations.update(dict.fromkeys(named, meant))
    held.update(dict.fromkeys(named, caveats.of_view(view, relations, held)))
    catalog.fill_views(connection, [view], held, {}, STATUS)
    catalog.fill_view_columns(connection, named, held, relations, with_units=False)


def _create_query(connection: duckdb.DuckDBPyConnection, query: QueryFile, held: Mapping[str, Held]) -> None:
    connection.execute(f'create schema if not exists "{query.schema}"')
    create_queries(connection, [query], held, explained=False)


def _problem(path: Path, folder: Path, error: str) -> Problem:
    schema, name = path.parent.name, path.name.split(".")[0]
    return Problem(f"{schema}.{name}", error if str(path) in error else f"{path}: {error}")

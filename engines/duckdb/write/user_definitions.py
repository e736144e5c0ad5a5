"""Create the user's own views and named queries.

    <warehouse>/local/views/<schema>/<name>.v<N>.sql    a view
    <warehouse>/local/sql/<schema>/<name>.sql           a named query

The files have the same format and header keys as Tracehouse's own, and inherit caveats in the same way;
descriptions are optional. `create` reports files that fail, and creates the others.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.queries import create_queries
from tracehouse.engines.duckdb.write.views import create_aliases, create_view
from tracehouse.sql.names import OWN, plain_name
from tracehouse.sql.query_files import QueryFile, parse_query_file
from tracehouse.views import caveats, column_docs
from tracehouse.views.across_traces import SCHEMA as EACH_TRACE
from tracehouse.views.caveats import ColumnsByCaveat
from tracehouse.views.column_docs import ColumnDoc, ColumnDocs
from tracehouse.views.columns import split_comment
from tracehouse.views.sql_text import normal, statements
from tracehouse.views.view_files import ViewFile, newest, parsed_view_file

FOLDER = OWN
STATUS = "local"

_VIEWS = "views"
_QUERIES = "sql"


@dataclass(frozen=True)
class Problem:
    """A file that failed: the name of its view or query, and the error."""

    name: str
    error: str


def hash_files(folder: Path) -> list[str]:
    """Return the path and a hash of the content of each file that `create` would read, as one text each."""
    return [f"{path.relative_to(folder)}: {_hash_content(path)}" for path in sorted(folder.rglob("*.sql"))]


def _hash_content(path: Path) -> str:
    try:
        return hashlib.sha256(_read_bytes(path)).hexdigest()
    except (DefinitionError, OSError) as error:
        return str(error)


def _read_bytes(path: Path) -> bytes:
    # Opening a named pipe would wait for a writer.
    if path.exists() and not path.is_file():
        raise DefinitionError(path, "not a regular file")
    return path.read_bytes()


def create(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[Problem]:
    """Create the views and queries of a folder in the current database, which already has Tracehouse's own.

    Returns the files that failed, sorted, and inserts them into `catalog.not_built`.
    """
    if not hash_files(folder):
        return []
    found, problems = _read(folder, _schemas(connection))
    docs, caveats_by_object = _read_docs(connection), _read_caveats(connection)
    aliases = newest([one for one in found if isinstance(one, ViewFile)])
    waiting = found
    while waiting:
        # A file may read others, so those that fail are tried again as long as others succeed.
        errors = [_create_one(connection, one, aliases, docs, caveats_by_object) for one in waiting]
        failed = [(one, error) for one, error in zip(waiting, errors, strict=True) if error]
        if len(failed) == len(waiting):
            names = {problem.name for problem in problems} | {plain_name(one.path) for one in waiting}
            problems += [_problem(one.path, _find_cause(one, names) or error) for one, error in failed]
            break
        waiting = [one for one, _ in failed]
    problems.sort(key=lambda problem: problem.error)
    catalog.insert(connection, "not_built", [(problem.name, problem.error) for problem in problems])
    return problems


def _read_docs(connection: duckdb.DuckDBPyConnection) -> ColumnDocs:
    """Return the columns of all tables and views of a database."""
    sql = "select object_name, column_name, meaning, provenance, unit from catalog.columns"
    known = {(name, column): docs for name, column, *docs in connection.execute(sql).fetchall()}
    return {
        name: {
            # `catalog.columns` has no columns of the catalog itself.
            column: ColumnDoc(comment or "", *known.get((name, column), (*split_comment(comment), None)))
            for column, (_, comment) in columns.items()
        }
        for name, columns in catalog.column_types(connection).items()
    }


def _read_caveats(connection: duckdb.DuckDBPyConnection) -> dict[str, ColumnsByCaveat]:
    """Return the caveats of all views of a database, by versioned and by plain name, and of all queries."""
    sql = """
        select versioned_name, caveats from catalog.views
        union all
        select query_name, caveats from catalog.queries
        union all
        select view_name, arg_max(caveats, version) from catalog.views group by view_name
        """
    found: dict[str, ColumnsByCaveat]
    found = {name: dict.fromkeys(listed) for name, listed in connection.execute(sql).fetchall()}
    sql = """
        with of_columns as (select object_name, column_name, unnest(caveats) as caveat from catalog.columns)

        select object_name, caveat, list(column_name) from of_columns
        where object_name in (select unnest([view_name, versioned_name]) from catalog.views)
        group by all
        """
    for name, caveat, columns in connection.execute(sql).fetchall():
        found[name][caveat] = frozenset(columns)
    return found


def _schemas(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the schemas of Tracehouse and of DuckDB."""
    rows = connection.execute(
        "select schema_name from duckdb_schemas() where database_name in (current_database(), 'system')"
    ).fetchall()
    return {EACH_TRACE, *(name for (name,) in rows)}


def _read(folder: Path, reserved: Collection[str]) -> tuple[list[ViewFile | QueryFile], list[Problem]]:
    found: list[ViewFile | QueryFile] = []
    problems = []
    for path in sorted(folder.rglob("*.sql")):
        try:
            found.append(_read_file(path, folder, reserved))
        except (DefinitionError, OSError) as error:
            problems.append(_problem(path, str(error)))
    return found, problems


def _read_file(path: Path, folder: Path, reserved: Collection[str]) -> ViewFile | QueryFile:
    parts = path.relative_to(folder).parts
    if len(parts) != 3 or parts[0] not in (_VIEWS, _QUERIES):
        raise DefinitionError(
            path,
            "not in a folder for views or queries. A view is "
            f"{folder}/{_VIEWS}/<schema>/<name>.v1.sql, a query {folder}/{_QUERIES}/<schema>/<name>.sql",
        )
    if parts[1] in reserved:
        raise DefinitionError(path, f"the schema {parts[1]} is reserved. Use {FOLDER} or another name")
    try:
        text = _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError(path, f"not UTF-8 ({error.reason} at byte {error.start:,})") from None
    one = parsed_view_file(path, text) if parts[0] == _VIEWS else parse_query_file(path, text)
    if isinstance(one, ViewFile) and one.header.one("materialize"):
        raise DefinitionError(path, "only built-in views can have a line `-- materialize:`")
    created = f"view {one.versioned}" if isinstance(one, ViewFile) else f"macro table {one.full_name}"
    for statement in statements(text)[1:]:
        on_column = isinstance(one, ViewFile) and f"comment on column {one.versioned}."
        if not normal(statement).startswith((f"comment on {created} is ", on_column or created)):
            raise DefinitionError(
                path, f"more than one {parts[0].removesuffix('s')} and its comments: {statement!r}"
            )
    return one


def _find_cause(one: ViewFile | QueryFile, failed: Collection[str]) -> str:
    """Return the error of a file that reads another file that failed; empty if it reads none."""
    read = {re.sub(r"_v\d+$", "", name) for name in one.references} & set(failed) - {plain_name(one.path)}
    return f"{one.path}: reads {min(read)}, which failed" if read else ""


def _create_one(
    connection: duckdb.DuckDBPyConnection,
    one: ViewFile | QueryFile,
    aliases: Mapping[str, ViewFile],
    docs: ColumnDocs,
    caveats_by_object: dict[str, ColumnsByCaveat],
) -> str:
    """Create a view or query. Returns the error if it fails, otherwise an empty text."""
    try:
        connection.begin()
        if isinstance(one, ViewFile):
            _create_view(connection, one, aliases, docs, caveats_by_object)
        else:
            create_queries(connection, [one], caveats_by_object)
        connection.commit()
    except (DefinitionError, duckdb.Error) as error:
        connection.rollback()
        return str(error)
    return ""


def _create_view(
    connection: duckdb.DuckDBPyConnection,
    view: ViewFile,
    aliases: Mapping[str, ViewFile],
    docs: ColumnDocs,
    caveats_by_object: dict[str, ColumnsByCaveat],
) -> None:
    """Create a view, and add it to the catalog, to `docs` and to `caveats_by_object`."""
    connection.execute(f'create schema if not exists "{view.schema}"')
    create_view(connection, view)
    # The column names come from the database, because the view's SQL may be `select *`.
    columns = catalog.column_types(connection)[view.versioned]
    own = column_docs.of_view(view, docs, view.column_comments, columns)
    for statement in column_docs.inherited_comments(view, own):
        connection.execute(statement)
    plain = {view.alias: view} if aliases[view.alias] is view else {}
    named = {view.versioned: view, **plain}
    create_aliases(connection, plain)
    docs.update(dict.fromkeys(named, own))
    caveats_by_object.update(dict.fromkeys(named, caveats.of_view(view, docs, caveats_by_object)))
    catalog.fill_views(connection, [view], caveats_by_object, STATUS)
    catalog.fill_columns(connection, named, caveats_by_object, docs)


def _problem(path: Path, error: str) -> Problem:
    return Problem(plain_name(path), error if str(path) in error else f"{path}: {error}")

"""Create the user's own views and named queries: the files that `definitions/user_files.py` reads.

The files have the same format and header keys as Tracehouse's own; descriptions are optional. `create`
reports files that fail, and creates the others.

DuckDB decides whether a definition is valid, what it reads, and which columns it has. Their columns are
not followed: a view or query has all caveats of the tables, views and queries that it reads.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from tracehouse.core.errors import DefinitionError, UserError
from tracehouse.core.text import escape_name, identifier
from tracehouse.definitions import caveats, column_docs
from tracehouse.definitions.caveats import ColumnsByCaveat
from tracehouse.definitions.column_docs import ColumnDoc, ColumnDocs
from tracehouse.definitions.findings import refuse
from tracehouse.definitions.lineage import Columns
from tracehouse.definitions.names import OWN
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import plain_name
from tracehouse.definitions.user_files import (
    explain_database,
    explain_outside,
    find_circles,
    find_name_clashes,
    list_files,
    read_bytes,
    read_user_file,
)
from tracehouse.definitions.view_files import ViewFile, newest
from tracehouse.engines.duckdb.read import sql_errors
from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.read.guard import databases_named, names_read
from tracehouse.engines.duckdb.read.sandbox import restrict_reading
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.queries import (
    CreatedQuery,
    add_to_catalog,
    create_own_query,
    describe_query,
    read_comment,
)
from tracehouse.engines.duckdb.write.views import create_alias, create_view
from tracehouse.ingest.declare.trace import all_traces

FOLDER = OWN


@dataclass(frozen=True)
class Problem:
    """A file that failed: the name of its view or query, and the error."""

    name: str
    error: str


def hash_files(folder: Path) -> list[str]:
    """Return the path and a hash of the content of each file that `create` would read, as one text each."""
    return [f"{path.relative_to(folder)}: {_hash_content(path)}" for path in list_files(folder)]


def _hash_content(path: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except DefinitionError as error:
        return str(error)


@dataclass(frozen=True)
class CatalogState:
    """What the catalog has on everything that the user's files can read.

    `docs`, `caveats` and `base_tables` have the columns of tables, views and queries, their caveats, and the
    base tables behind them, by each of their names. `aliases` has the newest version of each of the user's
    views.
    """

    docs: ColumnDocs
    caveats: Mapping[str, ColumnsByCaveat]
    base_tables: Mapping[str, Sequence[str]]
    aliases: Mapping[str, ViewFile]

    def with_object(
        self,
        names: Iterable[str],
        docs: Mapping[str, ColumnDoc],
        about: ColumnsByCaveat,
        references: Iterable[str],
    ) -> "CatalogState":
        """Return the state once there is a view or query with these names, columns and caveats."""
        found = catalog.find_base_tables(references, self.base_tables)
        return replace(
            self,
            docs=self.docs | {name: dict(docs) for name in names},
            caveats={**self.caveats, **dict.fromkeys(names, about)},
            base_tables={**self.base_tables, **dict.fromkeys(names, found)},
        )


def create(
    connection: duckdb.DuckDBPyConnection, folder: Path
) -> tuple[list[Problem], list[ViewFile | CreatedQuery]]:
    """Create the views and queries of a folder in the current database, which already has Tracehouse's own.

    Inserts the files that failed into `catalog.not_built`. Returns them, sorted by their errors, and what was
    created.
    """
    if not list_files(folder):
        return [], []
    restrict_reading(connection, folder.parent.absolute())
    found, problems = _read(connection, folder)
    state = _read_state(connection, [one for one in found if isinstance(one, ViewFile)])
    circles = find_circles(found)
    created: list[ViewFile | CreatedQuery] = []
    waiting = found
    while waiting:
        # A file may read others, so those that fail are tried again as long as others succeed.
        failed = []
        for one in waiting:
            try:
                done, state = _create_one(connection, one, state)
                created.append(done)
            except (UserError, duckdb.Error) as error:
                failed.append((one, error))
        if len(failed) == len(waiting):
            names = {problem.name for problem in problems} | {plain_name(one.path) for one in waiting}
            for one, cause in failed:
                text = circles.get(one.path) or _find_cause(one, names) or _explain(connection, one, cause)
                problems.append(_problem(one.path, text))
            break
        waiting = [one for one, _ in failed]
    problems.sort(key=lambda problem: problem.error)
    catalog.insert(connection, "not_built", [(problem.name, problem.error) for problem in problems])
    return problems, created


def _read_state(connection: duckdb.DuckDBPyConnection, views: Sequence[ViewFile]) -> CatalogState:
    """Read what the database has. `views` are those of the user."""
    return CatalogState(
        catalog.read_docs(connection),
        {**caveats.of_tables(all_traces().values()), **_read_caveats(connection)},
        read_base_tables(connection),
        newest(views),
    )


def _read_caveats(connection: duckdb.DuckDBPyConnection) -> dict[str, ColumnsByCaveat]:
    """Return the caveats of all views of a database, by versioned and by plain name, and of all queries."""
    sql = """
        select versioned_name, caveats from catalog.views
        union all
        select query_name, caveats from catalog.queries
        union all
        select view_name, caveats from catalog.views where is_current
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


def _read(
    connection: duckdb.DuckDBPyConnection, folder: Path
) -> tuple[list[ViewFile | QueryFile], list[Problem]]:
    found: list[ViewFile | QueryFile] = []
    problems = []
    for path in list_files(folder):
        try:
            one = read_user_file(path, folder)
            found.append(replace(one, references=_find_references(connection, one)))
        except DefinitionError as error:
            problems.append(_problem(path, str(error)))
    clashes = {one.path: text for one, text in find_name_clashes(found)}
    problems += [_problem(path, text) for path, text in clashes.items()]
    return [one for one in found if one.path not in clashes], problems


def _find_references(connection: duckdb.DuckDBPyConnection, one: ViewFile | QueryFile) -> frozenset[str]:
    """Return what a view or query reads, empty if its SQL is not valid: `_create_one` gives the error."""
    try:
        names = names_read(connection, one.body)
        databases = databases_named(connection, one.body)
    except (UserError, duckdb.Error):
        return frozenset()
    if databases:
        raise DefinitionError(one.path, explain_database(min(databases)))
    if missing := min((name for name in names if "." not in name), default=""):
        raise DefinitionError(one.path, f"add the schema to {missing}")
    return names


def _find_cause(one: ViewFile | QueryFile, failed: Collection[str]) -> str:
    """Return the error of a file that reads another file that failed; empty if it reads none."""
    read = {re.sub(r"_v\d+$", "", name) for name in one.references} & set(failed) - {plain_name(one.path)}
    return f"reads {min(read)}, which failed" if read else ""


def _explain(connection: duckdb.DuckDBPyConnection, one: ViewFile | QueryFile, error: Exception) -> str:
    """Return the text of an error, with the closest names of the warehouse instead of DuckDB's."""
    if not (isinstance(error, DefinitionError) and isinstance(error.__cause__, duckdb.Error)):
        return str(error)
    if outside := explain_outside(str(error.__cause__)):
        return f"{error.place}: {outside}"
    try:
        explained = str(sql_errors.explain(connection, error.__cause__, one.references))
    except UserError as left_out:
        # It reads a view or query of the package that could not be built.
        return f"{error.place}: {left_out}"
    return str(error) if explained == str(error.__cause__) else f"{error.place}: {explained.splitlines()[0]}"


def _create_one(
    connection: duckdb.DuckDBPyConnection, one: ViewFile | QueryFile, state: CatalogState
) -> tuple[ViewFile | CreatedQuery, CatalogState]:
    """Create a view or query, and add it to the catalog.

    Returns it, and the state with it. Raises UserError or DuckDB's error if it fails, without a change of the
    database.
    """
    # A text that a function has as an argument need not be the name of a table.
    one = replace(one, references=one.references & state.docs.keys())
    connection.begin()
    try:
        connection.execute(f"create schema if not exists {identifier(one.schema)}")
        created = (
            _create_view(connection, one, state)
            if isinstance(one, ViewFile)
            else _create_query(connection, one, state)
        )
        if not one.references:
            # DuckDB may run a statement that is nested too deeply for finding what it reads.
            names_read(connection, one.body)
    except (UserError, duckdb.Error):
        connection.rollback()
        raise
    connection.commit()
    return created


def _create_view(
    connection: duckdb.DuckDBPyConnection, view: ViewFile, state: CatalogState
) -> tuple[ViewFile, CatalogState]:
    create_view(connection, view)
    # From the database: the view's SQL may be `select *`, and its comments may spell columns in another case.
    types = _read_columns(connection, view)
    comments = {column: text for column, (_, text) in types.items() if text is not None}
    docs = column_docs.of_view(view, state.docs, comments, types)
    plain = {}
    if state.aliases[view.alias].path == view.path:
        create_alias(connection, view, {column: doc.comment for column, doc in docs.items()})
        plain[view.alias] = view
    relations = state.docs | {view.versioned: docs}
    inherited = caveats.inherited_by_query(caveats.read_by(view, relations), state.caveats)
    refuse(caveats.lint_lines(view, docs, caveats.names(all_traces().values()), inherited))
    about = caveats.of_view(view, relations, state.caveats)
    named = {view.versioned: view, **plain}
    state = state.with_object(named, docs, about, view.references)
    catalog.fill_views(connection, [view], plain, state.caveats, state.base_tables)
    catalog.fill_columns(connection, named, state.caveats, state.docs, dict.fromkeys(named, types))
    return view, state


def _read_columns(connection: duckdb.DuckDBPyConnection, view: ViewFile) -> Columns:
    """Return the columns of a view in the database."""
    sql = """
        select column_name, data_type, comment from duckdb_columns()
        where database_name = current_database() and schema_name || '.' || table_name = $name
        order by column_index
        """
    rows = connection.execute(sql, {"name": view.versioned}).fetchall()
    return {column: (kind, comment) for column, kind, comment in rows}


def _create_query(
    connection: duckdb.DuckDBPyConnection, query: QueryFile, state: CatalogState
) -> tuple[CreatedQuery, CatalogState]:
    created = create_own_query(connection, query, state.docs, state.caveats)
    about: ColumnsByCaveat = dict.fromkeys(created.caveats)
    docs = describe_query(created, state.docs)
    state = state.with_object([query.full_name], docs, about, query.references)
    comments = {query.full_name: read_comment(connection, query)}
    add_to_catalog(connection, [created], state.docs, state.base_tables, comments)
    return created, state


def _problem(path: Path, error: str) -> Problem:
    place = escape_name(path)
    return Problem(escape_name(plain_name(path)), error if place in error else f"{place}: {error}")

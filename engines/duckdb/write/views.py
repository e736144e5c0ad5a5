"""Create views in a database that has the base tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from tracehouse.core.text import identifier
from tracehouse.definitions import caveats, column_docs
from tracehouse.definitions.across_traces import expanded
from tracehouse.definitions.caveats import ColumnsByCaveat
from tracehouse.definitions.column_docs import ColumnDoc, ColumnDocs
from tracehouse.definitions.dependencies import sort_views
from tracehouse.definitions.lineage import Columns
from tracehouse.definitions.sql_text import first_statement
from tracehouse.definitions.view_files import DefinitionError, ViewFile, line_of
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.base_tables import add_comments, read_parquet
from tracehouse.ingest.declare.trace import all_traces

_LINE = re.compile(r"^LINE (\d+):", re.M)
NOT_INHERITED: Mapping[str, ColumnDoc] = MappingProxyType({})


@dataclass(frozen=True)
class DescribedViews:
    """All views, each after the views that it reads; the docs of all columns; and the caveats of views."""

    views: list[ViewFile]
    docs: ColumnDocs
    caveats_by_object: dict[str, ColumnsByCaveat]


def describe_views(files: Sequence[ViewFile]) -> DescribedViews:
    """Describe views, which read tables and each other."""
    views = sort_views(expanded(files))
    traces = all_traces().values()
    docs = column_docs.of_views(views, files, column_docs.of_tables(traces))
    known = caveats.of_tables(traces), caveats.names(traces)
    return DescribedViews(views, docs, caveats.of_views(views, docs, *known))


def create_views(
    connection: DuckDBPyConnection, described: DescribedViews, aliases: Mapping[str, ViewFile]
) -> None:
    """Create every view and the aliases, which are plain names for their newest released versions."""
    for schema in {view.schema for view in described.views}:
        connection.execute(f'create schema if not exists "{schema}"')
    for view in described.views:
        create_view(connection, view, described.docs[view.versioned])
    create_aliases(connection, aliases)


def create_view(
    connection: DuckDBPyConnection,
    view: ViewFile,
    columns: Mapping[str, ColumnDoc] = NOT_INHERITED,
    *,
    is_commented: bool = True,
) -> None:
    """Create a view, by default with its own comments and the comments that its `columns` inherit.

    Raises DefinitionError with the line if the SQL fails.
    """
    created = [*view.unions, view.statement]
    comments = [*view.comments, *column_docs.inherited_comments(view, columns)] if is_commented else []
    try:
        connection.execute(";\n".join([*created, *comments]))
    except DuckDBError as error:
        raise sql_error(error, view.path, view.text) from error


def read_views_from_files(
    connection: DuckDBPyConnection, files: Mapping[str, Iterable[str]], warehouse: Path
) -> None:
    """Replace views by ones that read the same columns from Parquet files. Their comments are kept."""
    if not files:
        # Reading the columns of all views takes a tenth of the build of a small warehouse.
        return
    columns, comments = catalog.column_types(connection), catalog.read_comments(connection)
    for name, paths in files.items():
        texts = texts_of(columns[name])
        _select_from(connection, name, read_parquet(paths, warehouse), comments[name], texts)


def create_alias(connection: DuckDBPyConnection, view: ViewFile, columns: Mapping[str, str | None]) -> None:
    """Create the plain name of one view, with the view's comment and comments on its columns."""
    sql = "select comment from duckdb_views() where schema_name = ? and schema_name || '.' || view_name = ?"
    [(comment,)] = connection.execute(sql, [view.schema, view.versioned]).fetchall()
    title = f"{comment or ''} This is {view.versioned}."
    # By position, because DuckDB may store a column without a name in another spelling: 1000 for 1_000.
    listed = ", ".join(map(identifier, columns))
    connection.execute(f"create or replace view {view.alias} ({listed}) as from {view.versioned}")
    add_comments(connection, "view", view.alias, title.strip(), columns)


def create_aliases(connection: DuckDBPyConnection, aliases: Mapping[str, ViewFile]) -> None:
    """Create views with plain names that select from a version of each view, with its comments."""
    columns, comments = catalog.column_types(connection), catalog.read_comments(connection)
    for alias, view in aliases.items():
        title = f"{comments[view.versioned]} This is {view.versioned}."
        _select_from(connection, alias, view.versioned, title.strip(), texts_of(columns[view.versioned]))


def _select_from(
    connection: DuckDBPyConnection, name: str, source: str, comment: str, columns: Mapping[str, str | None]
) -> None:
    """Create or replace a view that selects columns from a source, with comments on it and on them."""
    listed = ", ".join(map(identifier, columns))
    connection.execute(f"create or replace view {name} as select {listed} from {source}")
    add_comments(connection, "view", name, comment, columns)


def texts_of(columns: Columns) -> dict[str, str | None]:
    """Return the comments on columns."""
    return {column: text for column, (_, text) in columns.items()}


def sql_error(error: DuckDBError, path: Path, text: str) -> DefinitionError:
    """Turn an error of DuckDB on the first statement of a file into a DefinitionError with file and line."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("LINE ", " "))]
    found = _LINE.search(str(error))
    line = line_of(first_statement(text), text) + (int(found[1]) - 1 if found else 0)
    return DefinitionError(f"{path}, line {line}", " ".join(lines))

"""Publish a warehouse as one self-contained DuckDB file, for a BI server or for sharing.

Everything is a table, because some tools list only tables. Named queries are also macros with parameters:
`itp.gpu_hours` is the answer with default parameters, `itp.gpu_hours(min_gpus := 8)` with others.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read.sandbox import Access, connect
from tracehouse.engines.duckdb.write.build import STORAGE_VERSION
from tracehouse.publish.bi import replaced_file
from tracehouse.publish.bi.contents import Contents, LeftOut, Relation, describe_contents, select_contents
from tracehouse.views.macros import macros_sql

# Suffixes of the files that DuckDB writes while a database is open.
_OPEN_SUFFIXES = ("", ".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")
# Most tables are small, and each takes at least one block. By default a block has 256 KiB.
_OPTIONS = f"storage_version '{STORAGE_VERSION}', block_size 16384"
_WAREHOUSE, _TARGET = "warehouse", "published"


@dataclass(frozen=True)
class Published:
    """The number of published relations and rows, the file size, and objects left out.

    `is_open_elsewhere` is whether a program still has the previous file open.
    """

    relations: int
    rows: int
    bytes: int
    left_out: tuple[LeftOut, ...]
    is_open_elsewhere: bool


def publish(warehouse: Path, path: Path, whole: bool) -> Published:
    """Write the warehouse to a database file atomically.

    Replaces a file that was published before. Raises UserError for any other existing file, if a program has
    the file open for writing, or if the file cannot be written.
    """
    replaced_file.check(path)
    path = path.absolute()
    is_open = path.exists() and replaced_file.is_open_elsewhere(path)
    with _explain_write_errors(path), replaced_file.stage_file(path) as staged:
        access = Access([f"{staged}{suffix}" for suffix in _OPEN_SUFFIXES])
        with connect(warehouse, access) as connection:
            contents = select_contents(connection, whole)
            connection.execute(f"attach {quoted(str(staged))} as {_TARGET} ({_OPTIONS})")
            rows = _fill(connection, contents)
            connection.execute(f"use {_WAREHOUSE}")
            connection.execute(f"detach {_TARGET}")
        size = staged.stat().st_size
    return Published(len(contents.relations), sum(rows), size, contents.left_out, is_open)


@contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: writing failed ({reason}); the previous file is unchanged") from None


def _fill(connection: duckdb.DuckDBPyConnection, contents: Contents) -> list[int]:
    """Create all relations in the new database, and return their row counts."""
    connection.begin()
    for schema in dict.fromkeys(relation.schema for relation in contents.relations):
        connection.execute(f'create schema if not exists {_TARGET}."{schema}"')
    connection.execute(f"use {_TARGET}")
    connection.execute(macros_sql())
    # The SQL of the relations has no database names, so the warehouse must be the current database.
    connection.execute(f"use {_WAREHOUSE}")
    counts = [_store(connection, relation) for relation in contents.relations]
    macros = _macros(connection, contents.queries)
    connection.execute(f"use {_TARGET}")
    for statements in macros:
        connection.execute(statements)
    connection.execute(f"use {_WAREHOUSE}")
    for relation in describe_contents(contents, counts):
        _store(connection, relation)
    connection.commit()
    return counts


def _store(connection: duckdb.DuckDBPyConnection, relation: Relation) -> int:
    is_view = bool(relation.same_as) or relation.is_row_by_row
    if is_view:
        connection.execute(f"use {_TARGET}")
        connection.execute(_view(connection, relation))
        connection.execute(f"use {_WAREHOUSE}")
        count = connection.execute(f"select count(*) {relation.sql}").fetchall()
    else:
        count = connection.execute(f"create table {_TARGET}.{relation.name} as {relation.sql}").fetchall()
    kind = "view" if is_view else "table"
    connection.execute(relation.comments_on(kind, f"{_TARGET}.{relation.name}"))
    return count[0][0]


def _view(connection: duckdb.DuckDBPyConnection, relation: Relation) -> str:
    if relation.same_as:
        return f"create view {relation.name} as select {relation.column_list} from {relation.same_as}"
    schema, _, name = relation.name.partition(".")
    [(sql,)] = connection.execute(
        """
        select sql from duckdb_views()
        where database_name = $warehouse and schema_name = $schema and view_name = $name
        """,
        {"warehouse": _WAREHOUSE, "schema": schema, "name": name},
    ).fetchall()
    return sql


def _macros(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[str]:
    """The statements that create the named queries as macros."""
    parameters = dict(
        connection.execute(
            """
            select
                query_name,
                string_agg(parameter || ' ' || type || ' := ' || default_value, ', ' order by position)
            from catalog.query_parameters
            group by query_name
            """
        ).fetchall()
    )
    # One query for all macros, because DuckDB lists all functions for each query.
    definitions = connection.execute(
        """
        select schema_name || '.' || function_name as name, macro_definition, coalesce(comment, '') as comment
        from duckdb_functions()
        where database_name = $warehouse and list_contains($names, name)
        order by name
        """,
        {"warehouse": _WAREHOUSE, "names": list(names)},
    ).fetchall()
    return [
        f"create macro {name}({parameters.get(name, '')}) as table {definition}; "
        f"comment on macro table {name} is {quoted(comment)}"
        for name, definition, comment in definitions
    ]

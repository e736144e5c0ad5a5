"""Publishes a warehouse as one DuckDB file, which reads no other: for a BI server, or to hand on.

Everything is a table, so that tools which list nothing else show it. Named queries are macros too, which take
other values: `itp.gpu_hours` is the answer to the defaults, `itp.gpu_hours(min_gpus := 8)` another.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read import schema_mismatch
from tracehouse.engines.duckdb.read.answer import Access, connect
from tracehouse.engines.duckdb.write.build import STORAGE_VERSION
from tracehouse.publish.bi import replaced_file
from tracehouse.publish.bi.contents import Contents, LeftOut, Relation, contents, told

# What DuckDB writes beside a database while it is open.
_BESIDE = ("", ".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")
# Most of its tables are small, and each takes a block at least: by default, they are of 256 KiB.
_OPTIONS = f"storage_version '{STORAGE_VERSION}', block_size 16384"
_WAREHOUSE, _TARGET = "warehouse", "published"


@dataclass(frozen=True)
class Published:
    """What was published: relations, rows in all, size, and what was left out.

    `is_open_elsewhere` tells that a program still has the file before open.
    """

    relations: int
    rows: int
    bytes: int
    left_out: tuple[LeftOut, ...]
    is_open_elsewhere: bool


def publish(warehouse: Path, path: Path, whole: bool) -> Published:
    """Write the warehouse to a database file, whole or not at all.

    A file of that name is replaced if it was published too. Raises UserError where it was not, where a
    program has it open for writing, or where it cannot be written.
    """
    replaced_file.check(path)
    path = path.absolute()
    is_open = path.exists() and replaced_file.is_open_elsewhere(path)
    with _write_errors_told(path), replaced_file.written_aside(path) as half:
        access = Access([f"{half}{ending}" for ending in _BESIDE])
        with connect(warehouse, access) as connection, schema_mismatch.told(connection, warehouse):
            chosen = contents(connection, whole)
            connection.execute(f"attach {quoted(str(half))} as {_TARGET} ({_OPTIONS})")
            rows = _fill(connection, chosen)
            connection.execute(f"use {_WAREHOUSE}")
            connection.execute(f"detach {_TARGET}")
        size = half.stat().st_size
    return Published(len(chosen.relations), sum(rows), size, chosen.left_out, is_open)


@contextmanager
def _write_errors_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path}: it could not be written ({reason}), and what was there before stays"
        ) from None


def _fill(connection: duckdb.DuckDBPyConnection, chosen: Contents) -> list[int]:
    """Create everything in the new database, and tell how many rows each relation has."""
    connection.begin()
    for schema in dict.fromkeys(relation.schema for relation in chosen.relations):
        connection.execute(f'create schema if not exists {_TARGET}."{schema}"')
    # Their SQL names no database, and is to mean the warehouse.
    counts = [_store(connection, relation) for relation in chosen.relations]
    macros = _macros(connection, chosen.queries)
    connection.execute(f"use {_TARGET}")
    for statements in macros:
        connection.execute(statements)
    connection.execute(f"use {_WAREHOUSE}")
    for relation in told(chosen, counts):
        _store(connection, relation)
    connection.commit()
    return counts


def _store(connection: duckdb.DuckDBPyConnection, relation: Relation) -> int:
    is_view = bool(relation.same_as) or relation.passes_on
    if is_view:
        connection.execute(f"use {_TARGET}")
        connection.execute(_view(connection, relation))
        connection.execute(f"use {_WAREHOUSE}")
        count = connection.execute(f"select count(*) {relation.sql}").fetchall()
    else:
        count = connection.execute(f"create table {_TARGET}.{relation.name} as {relation.sql}").fetchall()
    kind = "view" if is_view else "table"
    comments = [f"comment on {kind} {_TARGET}.{relation.name} is {quoted(relation.comment)}"]
    comments += [
        f'comment on column {_TARGET}.{relation.name}."{column}" is {quoted(meaning)}'
        for column, meaning in relation.columns.items()
        if meaning
    ]
    connection.execute("; ".join(comments))
    return count[0][0]


def _view(connection: duckdb.DuckDBPyConnection, relation: Relation) -> str:
    if relation.same_as:
        listed = ", ".join(f'"{column}"' for column in relation.columns)
        return f"create view {relation.name} as select {listed} from {relation.same_as}"
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
    """The statements that create named queries as the warehouse has them."""
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
    # Asked for once: DuckDB makes the list of all functions anew each time.
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

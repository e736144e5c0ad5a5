"""Where an answer comes from: the raw files behind it, and the caveats of what a statement reads."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import duckdb

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.duckdb.read.answer import Note, base_tables, notes

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.views.columns import Columns


def sources(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> "pa.Table":
    """The raw files behind tables, views and queries, as rows of `catalog.sources`."""
    return connection.sql(
        "from catalog.sources where list_contains($tables, table_name) order by all",
        params={"tables": sorted(base_tables(connection, names))},
    ).to_arrow_table()


def notes_on_statement(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    reads: Collection[str],
    columns: Collection[str] | None = None,
) -> list[Note]:
    """Notes on the answer of a statement, which reads tables, views and queries.

    Caveats on columns are those of columns that it names; where it cannot be told which these are, of all.
    `columns`, where they are known, are names among which are all of these, in lower case.
    """
    noted: list[tuple[str, Note, set[str] | None]] = []
    for name in sorted(reads):
        about = _caveats_of_columns(connection, name)
        noted += [(name, note, about.get(note.name)) for note in notes(connection, name, on_data=True)]
    about_columns = {column.lower() for _, _, those in noted for column in those or ()}
    # Where none of these can be among those that it names, nobody waits for a parser.
    needs_parser = about_columns if columns is None else about_columns.intersection(columns)
    named = _columns_named(connection, sql, reads) if needs_parser else {name: set() for name in reads}
    found = {
        note.name: note
        for name, note, those in noted
        if those is None or named is None or name not in named or named[name] & those
    }
    return [found[name] for name in sorted(found)]


def _columns(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> "dict[str, Columns]":
    rows = connection.execute(
        """
        select object_name, column_name, coalesce(type, 'VARCHAR') from catalog.columns
        where list_contains($names, object_name) order by object_name, position
        """,
        {"names": sorted(names)},
    ).fetchall()
    found: dict[str, Columns] = {}
    for name, column, kind in rows:
        found.setdefault(name, {})[column] = (kind, None)
    return found


def _columns_named(
    connection: duckdb.DuckDBPyConnection, sql: str, reads: Collection[str]
) -> dict[str, set[str]] | None:
    """The columns that a statement reads, by table or view; None where sqlglot cannot tell."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from tracehouse.views.columns import columns_read

    types = _columns(connection, reads)
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        views = {f"{table.db}.{table.name}" for table in tree.find_all(exp.Table) if table.db and table.name}
        return columns_read(tree, views & types.keys(), types, "the statement")
    except (SqlglotError, DefinitionError, KeyError):
        return None


def _caveats_of_columns(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, set[str]]:
    """Those of a view's or table's caveats that are about columns of it, each with these."""
    rows: Sequence[tuple[str, str]] = connection.execute(
        """
        select unnest(caveats), column_name from catalog.columns where object_name = $name
        union all
        select caveats.caveat, columns.column_name
        from catalog.caveats as caveats
        inner join catalog.columns as columns
            on list_contains(caveats.objects, columns.object_name || '.' || columns.column_name)
        where columns.object_name = $name
        """,
        {"name": name},
    ).fetchall()
    found: dict[str, set[str]] = {}
    for caveat, column in rows:
        found.setdefault(caveat, set()).add(column)
    return found

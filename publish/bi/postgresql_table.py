"""Stores one relation as a table of a PostgreSQL, with types, comments and key."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read.answer import BATCH_ROWS
from tracehouse.publish.bi.contents import Kind, Relation
from tracehouse.publish.bi.postgresql_schemas import ASIDE

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

# PostgreSQL's type for each of DuckDB's that occurs; of another, the text is published.
_TYPES = {
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "TINYINT": "smallint",
    "SMALLINT": "smallint",
    "INTEGER": "integer",
    "BIGINT": "bigint",
    "HUGEINT": "numeric",
    "DOUBLE": "double precision",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
}
_AT_HAND = "rows_at_hand"
_MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


class Server:
    """A session with a server, whose transactions are ended by hand."""

    def __init__(self, connection: "Connection"):
        self._connection = connection
        self.errors = connection.Error
        self.commit = connection.commit
        self.rollback = connection.rollback

    def ask(self, sql: str) -> list[tuple]:
        """Run one statement, and return its rows, none where it has none."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def copy(self, schema: str, table: str, rows: Any) -> int:
        """Append Arrow batches to a table, and tell how many rows they had."""
        with self._connection.cursor() as cursor:
            return cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)


@dataclass(frozen=True)
class _Column:
    """A column on its way: its name, its type here, and whether it has values that the driver would spoil."""

    name: str
    type: str
    is_infinite: bool = False
    has_nul: bool = False

    @property
    def type_there(self) -> str:
        """PostgreSQL's type."""
        if self.type.endswith("[]") and self.type[:-2] in _TYPES:
            return f"{_TYPES[self.type[:-2]]}[]"
        return "numeric" if self.type.startswith("DECIMAL(") else _TYPES.get(self.type, "text")

    @property
    def sent_as(self) -> str:
        """The type that it is sent with: a text where the driver would make infinity another time."""
        return "text" if self.is_infinite else self.type_there

    @property
    def sql(self) -> str:
        """Its value as it is sent."""
        name = f'"{self.name}"'
        if self.has_nul:
            return f"replace({name}, chr(0), '␀') as {name}"
        if self.sent_as == "text" and self.type != "VARCHAR":
            return f"cast({name} as varchar) as {name}"
        return f"cast({name} as decimal(38, 0)) as {name}" if self.type == "HUGEINT" else name


def store(
    source: duckdb.DuckDBPyConnection,
    server: Server,
    relation: Relation,
    counts: dict[str, int],
    notes: list[str],
) -> int:
    """Create a relation in the schema aside, filled, and return its count of rows.

    `counts` has those of the relations before, one of which it may be another name of. `notes` takes what is
    not as it was.
    """
    schema, _, table = relation.name.partition(".")
    place = f'"{schema}{ASIDE}"."{table}"'
    if relation.same_as:
        of_schema, _, of_table = relation.same_as.partition(".")
        listed = ", ".join(f'"{column}"' for column in relation.columns)
        server.ask(f'create view {place} as select {listed} from "{of_schema}{ASIDE}"."{of_table}"')
        server.ask(_comments("view", place, relation))
        return counts[relation.same_as]
    if relation.kind is not Kind.TABLE:
        # It is looked at more than once, and may have taken long to compute.
        source.execute(f"create or replace temp table {_AT_HAND} as {relation.sql}")
        relation = replace(relation, sql=f"from {_AT_HAND}")
    columns = _columns(source, relation)
    typed = ", ".join(f'"{column.name}" {column.sent_as}' for column in columns)
    server.ask(f"create table {place} ({typed})")
    listed = ", ".join(column.sql for column in columns)
    rows = source.sql(f"select {listed} from ({relation.sql})").to_arrow_reader(BATCH_ROWS)
    count = server.copy(f"{schema}{ASIDE}", table, rows)
    for column in columns:
        if column.is_infinite:
            kind = column.type_there
            server.ask(
                f'alter table {place} alter column "{column.name}" type {kind} using "{column.name}"::{kind}'
            )
        if column.has_nul:
            notes.append(
                f"{relation.name}.{column.name} holds the character NUL, which PostgreSQL has not: ␀ there"
            )
    if relation.key:
        if _is_key(source, relation):
            server.ask(f"alter table {place} add primary key ({_listed(relation.key)})")
        else:
            notes.append(
                f"{relation.name} has no primary key: {', '.join(relation.key)} do not tell its rows apart"
            )
    server.ask(_comments("table", place, relation))
    return count


def _columns(source: duckdb.DuckDBPyConnection, relation: Relation) -> list[_Column]:
    columns = [
        _Column(name, str(kind)) for name, kind, *_ in source.execute(f"describe {relation.sql}").fetchall()
    ]
    looked_at = {
        column.name: f'bool_or(not isfinite("{column.name}"))'
        if column.type in _MOMENTS
        else f'bool_or(contains("{column.name}", chr(0)))'
        for column in columns
        if column.type in _MOMENTS or column.type == "VARCHAR"
    }
    if not looked_at:
        return columns
    [found] = source.execute(f"select {', '.join(looked_at.values())} from ({relation.sql})").fetchall()
    spoilt = {name for name, is_so in zip(looked_at, found, strict=True) if is_so}
    return [
        _Column(
            c.name, c.type, c.name in spoilt and c.type in _MOMENTS, c.name in spoilt and c.type == "VARCHAR"
        )
        for c in columns
    ]


def _is_key(source: duckdb.DuckDBPyConnection, relation: Relation) -> bool:
    keys = _listed(relation.key)
    filled = " and ".join(f'"{column}" is not null' for column in relation.key)
    sql = f"""
        select coalesce(bool_and(rows = 1 and is_filled), true)
        from (select count(*) as rows, bool_and({filled}) as is_filled from ({relation.sql}) group by {keys})
    """
    return source.execute(sql).fetchall() == [(True,)]


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _comments(kind: str, place: str, relation: Relation) -> str:
    """All comments of a relation as one statement."""
    comments = [f"comment on {kind} {place} is {quoted(relation.comment)}"]
    comments += [
        f'comment on column {place}."{column}" is {quoted(meaning)}'
        for column, meaning in relation.columns.items()
        if meaning
    ]
    return f"do $comments$ begin {'; '.join(comments)}; end $comments$"

"""Store one relation as a PostgreSQL table with types, comments and key."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.engines.duckdb.read.answer import BATCH_ROWS
from tracehouse.publish.bi.contents import Kind, Relation
from tracehouse.publish.bi.postgresql_schemas import STAGING_SUFFIX

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

# PostgreSQL types by DuckDB type; values of other types are published as text.
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
_ROWS = "published_rows"
_TIME_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


class Server:
    """A session with a server and explicit transactions."""

    def __init__(self, connection: "Connection"):
        self._connection = connection
        self.errors = connection.Error
        self.commit = connection.commit
        self.rollback = connection.rollback

    def run(self, sql: str) -> list[tuple]:
        """Run one statement and return its rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def copy(self, schema: str, table: str, rows: Any) -> int:
        """Append Arrow batches to a table, and return the number of rows."""
        with self._connection.cursor() as cursor:
            return cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)


@dataclass(frozen=True)
class _Column:
    """A column to send: its name and DuckDB type, and whether it has infinite times or NUL characters."""

    name: str
    type: str
    is_infinite: bool = False
    has_nul: bool = False

    @property
    def postgresql_type(self) -> str:
        """Its PostgreSQL type."""
        if self.type.endswith("[]") and self.type[:-2] in _TYPES:
            return f"{_TYPES[self.type[:-2]]}[]"
        return "numeric" if self.type.startswith("DECIMAL(") else _TYPES.get(self.type, "text")

    @property
    def sent_type(self) -> str:
        """The type of the sent values: text if there are infinite times, which the driver would change."""
        return "text" if self.is_infinite else self.postgresql_type

    @property
    def sql(self) -> str:
        """The SQL of the value to send."""
        name = f'"{self.name}"'
        if self.has_nul:
            return f"replace({name}, chr(0), '␀') as {name}"
        if self.sent_type == "text" and self.type != "VARCHAR":
            return f"cast({name} as varchar) as {name}"
        return f"cast({name} as decimal(38, 0)) as {name}" if self.type == "HUGEINT" else name


def store_relation(
    source: duckdb.DuckDBPyConnection,
    server: Server,
    relation: Relation,
    counts: dict[str, int],
    notes: list[str],
) -> int:
    """Create and fill a relation in the temporary schema, and return its row count.

    `counts` has the row counts of earlier relations, for aliases. Notes on changes are appended to `notes`.
    """
    schema, _, table = relation.name.partition(".")
    target = f'"{schema}{STAGING_SUFFIX}"."{table}"'
    if relation.same_as:
        source_schema, _, source_table = relation.same_as.partition(".")
        aliased = f'"{source_schema}{STAGING_SUFFIX}"."{source_table}"'
        server.run(f"create view {target} as select {relation.column_list} from {aliased}")
        server.run(_comments("view", target, relation))
        return counts[relation.same_as]
    if relation.kind is not Kind.TABLE:
        # The rows are read more than once and may be expensive to compute.
        source.execute(f"create or replace temp table {_ROWS} as {relation.sql}")
        relation = replace(relation, sql=f"from {_ROWS}")
    columns = _columns(source, relation)
    typed = ", ".join(f'"{column.name}" {column.sent_type}' for column in columns)
    server.run(f"create table {target} ({typed})")
    listed = ", ".join(column.sql for column in columns)
    rows = source.sql(f"select {listed} from ({relation.sql})").to_arrow_reader(BATCH_ROWS)
    count = server.copy(f"{schema}{STAGING_SUFFIX}", table, rows)
    for column in columns:
        if column.is_infinite:
            kind = column.postgresql_type
            server.run(
                f'alter table {target} alter column "{column.name}" type {kind} using "{column.name}"::{kind}'
            )
        if column.has_nul:
            notes.append(
                f"{relation.name}.{column.name}: NUL, which PostgreSQL cannot store, was replaced by ␀"
            )
    if relation.key:
        if _is_key(source, relation):
            server.run(f"alter table {target} add primary key ({_listed(relation.key)})")
        else:
            notes.append(f"{relation.name} has no primary key: {', '.join(relation.key)} are not unique")
    server.run(_comments("table", target, relation))
    return count


def _columns(source: duckdb.DuckDBPyConnection, relation: Relation) -> list[_Column]:
    described = source.execute(f"describe {relation.sql}").fetchall()
    columns = [_Column(name, str(kind)) for name, kind, *_ in described]
    checks = {c.name: f'not isfinite("{c.name}")' for c in columns if c.type in _TIME_TYPES}
    checks |= {c.name: f'contains("{c.name}", chr(0))' for c in columns if c.type == "VARCHAR"}
    if not checks:
        return columns
    selected = ", ".join(f"bool_or({check})" for check in checks.values())
    [found] = source.execute(f"select {selected} from ({relation.sql})").fetchall()
    affected = {name for name, is_affected in zip(checks, found, strict=True) if is_affected}
    return [
        replace(c, has_nul=c.type == "VARCHAR", is_infinite=c.type in _TIME_TYPES)
        if c.name in affected
        else c
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


def _comments(kind: str, target: str, relation: Relation) -> str:
    """One statement that sets all comments of a relation."""
    return f"do $comments$ begin {relation.comments_on(kind, target)}; end $comments$"

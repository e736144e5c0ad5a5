"""Base tables in the database: a view over each table's Parquet files, or a copy of them.

A view names exactly its files, below the variable `data_root` or, where that is not set, below the
warehouse's own path, so that the folder can be moved. The expression stands inline in each view: as a
macro it does not resolve when the file is attached under another name.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from duckdb import DuckDBPyConnection

from tracehouse.ingest.declare import Column, Table, Trace
from tracehouse.ingest.store import REJECTED_COLUMNS, Conversion, StoredFile


def quoted(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def create_base_tables(
    connection: DuckDBPyConnection,
    traces: Iterable[Trace],
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
) -> None:
    """Create `<trace>.<table>` for every declared table, empty and typed where there are no files."""
    kind = "table" if materialize else "view"
    for trace in traces:
        connection.execute(f'create schema if not exists "{trace.name}"')
        for table in trace.tables:
            files = [
                stored
                for conversion in conversions
                if (conversion.trace, conversion.table) == (trace.name, table.name)
                for stored in conversion.files
            ]
            name = f'"{trace.name}"."{table.name}"'
            rows = _rows(table.stored_columns, files, warehouse, table.partition_by)
            connection.execute(f"create {kind} {name} as {rows}")
            _comment(connection, kind, name, table)


def create_rejected_rows(
    connection: DuckDBPyConnection,
    conversions: Sequence[Conversion],
    warehouse: Path,
    materialize: bool,
) -> None:
    """Create `catalog.rejected_rows`: every row that did not fit its table, whatever the trace."""
    kind = "table" if materialize else "view"
    files = [stored for conversion in conversions for stored in conversion.rejected]
    rows = _rows(REJECTED_COLUMNS, files, warehouse)
    connection.execute(f"create {kind} catalog.rejected_rows as {rows}")
    comment = "Rows of raw files that do not fit their base table, with the reason."
    connection.execute(f"comment on {kind} catalog.rejected_rows is {quoted(comment)}")
    _comment_columns(connection, "catalog.rejected_rows", REJECTED_COLUMNS)


def _rows(
    columns: Sequence[Column], files: Sequence[StoredFile], warehouse: Path, partition_by: Sequence[str] = ()
) -> str:
    if not files:
        nulls = ", ".join(f'cast(null as {column.type}) as "{column.name}"' for column in columns)
        return f"select {nulls} where false"
    root = f"coalesce(getvariable('data_root'), {quoted(warehouse.resolve().as_posix())})"
    paths = ", ".join(f"{root} || {quoted('/' + stored.path)}" for stored in files)
    listed = ", ".join(f'"{column.name}"' for column in columns)
    # The values of these columns stand in the folders' names: DuckDB then opens only the files asked for.
    types = ", ".join(f"'{column.name}': {column.type}" for column in columns if column.name in partition_by)
    hive = f"true, hive_types = {{{types}}}" if types else "false"
    return f"select {listed} from read_parquet([{paths}], hive_partitioning = {hive})"


def _comment(connection: DuckDBPyConnection, kind: str, name: str, table: Table) -> None:
    connection.execute(f"comment on {kind} {name} is {quoted(table.comment)}")
    _comment_columns(connection, name, table.stored_columns)


def _comment_columns(connection: DuckDBPyConnection, name: str, columns: Iterable[Column]) -> None:
    for column in columns:
        unit = f" ({column.unit})" if column.unit else ""
        comment = f"{column.comment}{unit}; {column.provenance}."
        connection.execute(f'comment on column {name}."{column.name}" is {quoted(comment)}')

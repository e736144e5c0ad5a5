"""Create base tables in the database: views over Parquet files, or copies of their rows.

A view lists its files below the variable `data_root`, or below the warehouse's path if the variable is not
set, so that the folder can be moved. Each view repeats the expression: a macro would not resolve in a
database that is attached under another name.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError

from tracehouse.core.errors import CHECK_FILES, UserError
from tracehouse.core.permissions import explain_denied_in
from tracehouse.core.text import identifier, quoted
from tracehouse.definitions.column_docs import comment_text
from tracehouse.ingest.declare.trace import Column, Table, Trace
from tracehouse.ingest.store.records import REJECTED_COLUMNS, Conversion, StoredFile
from tracehouse.ingest.store.snapshot import Snapshot

# DuckDB plans a union in more than linear time: with 3,000 partitions, half a minute for each statement.
MOST_SELECTS = 500


def create_base_tables(
    connection: DuckDBPyConnection,
    traces: Iterable[Trace],
    snapshot: Snapshot,
    embed_tables: bool,
) -> None:
    """Create `<trace>.<table>` for every declared table. A table without files is typed and empty.

    Raises UserError if a Parquet file cannot be read.
    """
    for trace in traces:
        connection.execute(f'create schema if not exists "{trace.name}"')
        for table in trace.tables:
            kind = create_base_table(connection, trace, table, snapshot, embed_tables)
            columns = {column.name: comment_text(column) for column in table.stored_columns}
            add_comments(connection, kind, f"{trace.name}.{table.name}", table.comment, columns)


def create_base_table(
    connection: DuckDBPyConnection, trace: Trace, table: Table, snapshot: Snapshot, embed_tables: bool
) -> str:
    """Create a base table without comments, and return whether it is a `table` or a `view`."""
    own = [c for c in snapshot.conversions if (c.trace, c.table) == (trace.name, table.name)]
    rows = " union all ".join(_select_partitions(table, own, snapshot.warehouse)) or _select_nothing(
        table.stored_columns
    )
    return _create(connection, f"{trace.name}.{table.name}", rows, embed_tables)


def create_rejected_rows(connection: DuckDBPyConnection, snapshot: Snapshot, embed_tables: bool) -> None:
    """Create `catalog.rejected_rows`, with the rejected rows of all tables."""
    files = [stored for conversion in snapshot.conversions for stored in conversion.rejected]
    rows = (
        _select_rows(REJECTED_COLUMNS, {}, files, snapshot.warehouse)
        if files
        else _select_nothing(REJECTED_COLUMNS)
    )
    kind = _create(connection, "catalog.rejected_rows", rows, embed_tables)
    comment = "Rows of raw files that do not fit their base table, with the reason."
    columns = {column.name: comment_text(column) for column in REJECTED_COLUMNS}
    add_comments(connection, kind, "catalog.rejected_rows", comment, columns)


def _create(connection: DuckDBPyConnection, name: str, rows: str, embed_tables: bool) -> str:
    """Replace a view by the table or view of a select, and return its kind: `table` or `view`."""
    kind = "table" if embed_tables else "view"
    try:
        connection.execute(f"drop view if exists {name}; create {kind} {name} as {rows}")
    except DuckDBError as error:
        raise UserError(
            explain_denied_in(str(error))
            or f"{name}: cannot read one of its Parquet files ({str(error).splitlines()[0]}). "
            f"{CHECK_FILES} lists damaged files. If there are none, an older version of Tracehouse "
            "wrote the file: ingest its raw file again, or run `traces forget`"
        ) from error
    return kind


def _select_partitions(table: Table, conversions: Sequence[Conversion], warehouse: Path) -> Iterator[str]:
    """Yield the select of each partition of a table, or one of all files if there are too many partitions."""
    files: dict[str, list[StoredFile]] = defaultdict(list)
    for file in (file for conversion in conversions for file in conversion.files):
        files[file.partition].append(file)
    if len(files) > MOST_SELECTS:
        # The keys are columns of the files, too. DuckDB then opens all files for the rows of one partition.
        yield _select_rows(table.stored_columns, {}, list(chain(*files.values())), warehouse)
        return
    for partition, stored in files.items():
        if stored:
            # DuckDB can parse these values from the paths, but it would also parse folders above the
            # warehouse.
            values = dict(pair.split("=", 1) for pair in partition.split("/") if pair)
            yield _select_rows(table.stored_columns, values, stored, warehouse)


def _select_rows(
    columns: Sequence[Column], values: Mapping[str, str], files: Sequence[StoredFile], warehouse: Path
) -> str:
    """Return the select over some files; columns in `values` are constant."""
    listed = ", ".join(
        f'cast({quoted(values[column.name])} as {column.type}) as "{column.name}"'
        if column.name in values
        else f'"{column.name}"'
        for column in columns
    )
    return f"select {listed} from {read_parquet((stored.path for stored in files), warehouse)}"


def read_parquet(paths: Iterable[str], warehouse: Path) -> str:
    """Return the call of `read_parquet` that reads files of a warehouse, even after the folder is moved."""
    root = f"coalesce(getvariable('data_root'), {quoted(warehouse.as_posix())})"
    listed = ", ".join(f"{root} || {quoted('/' + path)}" for path in paths)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def _select_nothing(columns: Sequence[Column]) -> str:
    nulls = ", ".join(f'cast(null as {column.type}) as "{column.name}"' for column in columns)
    return f"select {nulls} where false"


def add_comments(
    connection: DuckDBPyConnection, kind: str, name: str, comment: str, columns: Mapping[str, str | None]
) -> None:
    """Comment on a `table` or `view`, and on its columns that have a comment."""
    connection.execute(comments_sql(kind, name, comment, columns))


def comments_sql(kind: str, name: str, comment: str, columns: Mapping[str, str | None]) -> str:
    """Return the statements that comment on a `table` or `view`, and on its columns that have a comment."""
    statements = [f"comment on {kind} {name} is {quoted(comment)}"]
    for column, text in columns.items():
        if text:
            statements.append(f"comment on column {name}.{identifier(column)} is {quoted(text)}")
    return "; ".join(statements)

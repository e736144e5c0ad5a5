"""Read the definitions of a database without its rows, so that another engine can create the same objects."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from tracehouse.core.temporary import temporary_folder
from tracehouse.definitions.lineage import Columns
from tracehouse.engines.duckdb.write import catalog, template
from tracehouse.engines.duckdb.write.catalog import column_types
from tracehouse.engines.names import DATABASE
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.store.records import Conversion


@dataclass(frozen=True)
class Defined:
    """A table, view or query: its comment, and its columns with their DuckDB types and comments."""

    comment: str
    columns: Columns


@dataclass(frozen=True)
class DatabaseObjects:
    """The relations and queries of a warehouse by name, and the tables of its catalog."""

    relations: Mapping[str, Defined]
    queries: Mapping[str, Defined]
    catalog: Mapping[str, pa.Table]

    @property
    def names(self) -> set[str]:
        """The names of all relations and queries."""
        return {*self.relations, *self.queries}


def objects_over(conversions: Sequence[Conversion]) -> DatabaseObjects:
    """Read the definitions of a database over some conversions, whose files need not exist."""
    with TemporaryDirectory(dir=temporary_folder()) as folder:
        path = Path(folder) / DATABASE
        shutil.copyfile(template.template(), path)
        with template.open_for_writing(path) as connection:
            catalog.fill_sources(connection, all_traces().values(), conversions)
            return _read(connection)


def _read(connection: duckdb.DuckDBPyConnection) -> DatabaseObjects:
    comments = catalog.read_comments(connection)
    tables = connection.execute(
        "select 'catalog.' || table_name from duckdb_tables() where schema_name = 'catalog'"
    ).fetchall()
    return DatabaseObjects(
        {name: Defined(comments[name], columns) for name, columns in column_types(connection).items()},
        {name: Defined(comments[name], columns) for name, columns in _read_query_columns(connection).items()},
        {name: connection.sql(f"from {name}").to_arrow_table() for (name,) in tables},
    )


def _read_query_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, Columns]:
    rows = connection.execute("select object_name, column_name, meaning from catalog.columns").fetchall()
    meanings = {(name, column): meaning for name, column, meaning in rows}
    names = connection.execute("select query_name from catalog.queries order by query_name").fetchall()
    return {
        name: {
            column: (kind, meanings[name, column])
            for column, kind, *_ in connection.execute(f"describe from {name}()").fetchall()
        }
        for (name,) in names
    }

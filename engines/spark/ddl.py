"""Build the statements that define base tables, views and named queries in Spark, with comments.

Each function returns the statements that create one object, in their order.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

import pyarrow as pa
import sqlglot
from sqlglot import exp

from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import ViewFile
from tracehouse.engines.duckdb.write.database_objects import Defined
from tracehouse.engines.spark.dialect import spark_type, translate_file
from tracehouse.ingest.declare.trace import Table
from tracehouse.ingest.store.records import StoredFile


def create_table(
    name: str, declared: Table, files: Sequence[StoredFile], root: str, defined: Defined
) -> list[str]:
    """Create a base table over at least one file. `root` is the warehouse."""
    folder = f"{root}/parquet/{name.replace('.', '/')}"
    names = ",".join(sorted({PurePosixPath(file.path).name for file in files}))
    keys = f"partitioned by ({', '.join(declared.partition_by)})" if declared.partition_by else ""
    created = f"""
        create table {name} ({_columns(defined, typed=True)}) using parquet
        options (path {quoted(folder)}, pathGlobFilter {quoted(f"{{{names}}}")})
        {keys} comment {quoted(defined.comment)}
    """
    if not declared.partition_by:
        return [created]
    folders = sorted({PurePosixPath(file.path).parent for file in files})
    partitions = (_values(folder.parts[-len(declared.partition_by) :]) for folder in folders)
    return [created, f"alter table {name} add {' '.join(f'partition ({values})' for values in partitions)}"]


def create_empty_table(name: str, defined: Defined) -> list[str]:
    """Create a base table without files, as a view without rows."""
    nulls = ", ".join(
        f"cast(null as {spark_type(kind)}) as `{c}`" for c, (kind, _) in defined.columns.items()
    )
    return _view(name, defined, f"select {nulls} where false")


def create_catalog_table(name: str, rows: pa.Table, defined: Defined) -> list[str]:
    """Create a catalog table. The statement contains the rows, so that nodes need no file."""
    if not rows.num_rows:
        return create_empty_table(name, defined)
    tuples = ", ".join(exp.convert(tuple(row.values())).sql("spark") for row in rows.to_pylist())
    values = f"select * from values {tuples} as given({_names(defined)})"
    return _view(name, defined, _typed(values, defined))


def create_rejected_rows(name: str, files: Sequence[StoredFile], root: str, defined: Defined) -> list[str]:
    """Create the view `name` of the rejected rows of all traces."""
    if not files:
        return create_empty_table(name, defined)
    paths = (exp.to_identifier(f"{root}/{file.path}", quoted=True).sql("spark") for file in files)
    return _view(
        name, defined, " union all ".join(f"select {_names(defined)} from parquet.{p}" for p in paths)
    )


def create_view(declared: ViewFile, defined: Defined) -> list[str]:
    """Create one version of a view, with the column types that DuckDB infers."""
    return _view(declared.versioned, defined, _typed(translate_file(declared), defined))


def create_alias(name: str, versioned: str, defined: Defined) -> list[str]:
    """Create a view's plain name as a view of one of its versions."""
    return _view(name, defined, f"select {_names(defined)} from {versioned}")


def create_function(query: QueryFile, defined: Defined) -> list[str]:
    """Create a named query as a table function."""
    parameters = ", ".join(
        f"{p.name} {spark_type(p.type)} default {_spark_default(p.default)} comment {quoted(p.meaning)}"
        for p in query.parameters
    )
    return [
        f"""
        create or replace function {query.full_name}({parameters})
        returns table ({_columns(defined, typed=True)})
        comment {quoted(defined.comment)}
        return {_typed(translate_file(query), defined)}
        """
    ]


def _view(name: str, defined: Defined, query: str) -> list[str]:
    comment = f"comment {quoted(defined.comment)}"
    return [f"create or replace view {name} ({_columns(defined, typed=False)}) {comment} as {query}"]


def _columns(defined: Defined, typed: bool) -> str:
    """Return the column list of a definition, with comments."""
    return ", ".join(
        f"`{column}` {spark_type(kind) if typed else ''} comment {quoted(comment or '')}"
        for column, (kind, comment) in defined.columns.items()
    )


def _names(defined: Defined) -> str:
    return ", ".join(f"`{column}`" for column in defined.columns)


def _typed(query: str, defined: Defined) -> str:
    casts = (
        f"cast(`{column}` as {spark_type(kind)}) as `{column}`"
        for column, (kind, _) in defined.columns.items()
    )
    return f"select {', '.join(casts)} from ({query})"


def _spark_default(sql: str) -> str:
    return sqlglot.transpile(sql, read="duckdb", write="spark")[0]


def _values(parts: Sequence[str]) -> str:
    pairs = (part.split("=", 1) for part in parts)
    return ", ".join(f"{key} = {quoted(value)}" for key, value in pairs)


def quoted(text: str) -> str:
    """Return a text as a Spark string literal."""
    return exp.Literal.string(text).sql("spark")

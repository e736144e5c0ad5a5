"""What a view's columns mean: unit, provenance, and the columns that each is computed from."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer import build_scope, qualify, traverse_scope

from tracehouse.views.view_files import DefinitionError, ViewFile

Columns = dict[str, tuple[str, str | None]]
"""The columns of a table or view in order: the SQL type and the comment of each."""

_Read = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

PROVENANCES = ("measured", "derived", "synthetic")

# Units by the last word of a column's name.
UNITS = {
    "s": "s",
    "ms": "ms",
    "h": "h",
    "w": "W",
    "j": "J",
    "kwh": "kWh",
    "gb": "GB",
    "gib": "GiB",
    "mib": "MiB",
    "pct": "percent",
    "gpus": "GPUs",
    "cpus": "CPU cores",
    "milli": "thousandths",
    "bytes": "bytes",
}
LONGER_UNITS = {
    "_per_s": "per s",
    "gpus_per_instance": "GPUs",
    "gpu_h": "GPU-hours",
    "gpu_s": "GPU-seconds",
    "gpu_milli": "thousandths of a GPU",
}


def split_comment(comment: str | None) -> tuple[str, str]:
    """A column's comment as its meaning and its provenance; the provenance is empty where none is given."""
    match = re.fullmatch(rf"(.*)[;,.] ({'|'.join(PROVENANCES)})\.", comment or "", re.S)
    return (match[1], match[2]) if match else (comment or "", "")


def unit_of(column: str) -> str:
    """The unit that a column's name ends in, or an empty text."""
    longer = next((unit for ending, unit in LONGER_UNITS.items() if column.endswith(ending)), None)
    return longer or UNITS.get(column.rsplit("_", 1)[-1], "")


def lineage_of(view: ViewFile, types: Mapping[str, Columns]) -> dict[str, list[str]]:
    """For each column of a view, the columns of the tables and views it reads that it is computed from."""
    return _lineage(view, _as_read(view.references, types))


def columns_read(
    query: exp.Expr, references: Collection[str], types: Mapping[str, Columns], place: Path | str
) -> dict[str, set[str]]:
    """The columns that a query reads anywhere in it, by the table or view that it references.

    Raises DefinitionError where sqlglot cannot tell.
    """
    return _columns_read(query, _as_read(references, types), place)


# A process may build several databases, and each asks this of every view and query.
@cache
def _columns_read(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, set[str]]:
    try:
        qualified = qualify.qualify(
            query.copy(),
            schema=_schema(read),
            dialect="duckdb",
            identify=False,
            # To sqlglot, the parameters of a macro look like columns.
            validate_qualify_columns=False,
        )
        found: dict[str, set[str]] = {name: set() for name, _ in read}
        for scope in traverse_scope(qualified):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and source.db:
                    found[f"{source.db}.{source.name}"].add(column.name)
    except SqlglotError as error:
        raise DefinitionError(f"{place}: sqlglot cannot follow its columns: {error}") from error
    written = {(name, column.lower()): column for name, columns in read for column, _ in columns}
    return {
        name: {written.get((name, column.lower()), column) for column in columns}
        for name, columns in found.items()
    }


def _as_read(references: Collection[str], types: Mapping[str, Columns]) -> _Read:
    return tuple(
        (name, tuple((column, kind) for column, (kind, _) in types.get(name, {}).items()))
        for name in sorted(references)
    )


def _schema(read: _Read) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for name, columns in read:
        group, _, table = name.partition(".")
        schema.setdefault(group, {})[table] = dict(columns)
    return schema


@cache
def _lineage(view: ViewFile, read: _Read) -> dict[str, list[str]]:
    schema = _schema(read)
    try:
        query = qualify.qualify(view.tree.copy().expression, schema=schema, dialect="duckdb", identify=False)
        nodes = lineage(
            None, query, schema, dialect="duckdb", scope=build_scope(query), trim_selects=False, copy=False
        )
        # sqlglot writes all names in lower case, as they are one to DuckDB.
        written = {
            f"{name}.{column}".lower(): f"{name}.{column}" for name, columns in read for column, _ in columns
        }
        return {
            column: sorted(written.get(origin, origin) for origin in _origins(node))
            for column, node in cast(dict[str, Node], nodes).items()
        }
    except SqlglotError as error:
        raise DefinitionError(f"{view.path}: sqlglot cannot follow its columns: {error}") from error


def _origins(node: Node) -> set[str]:
    found = set()
    for step in node.walk():
        if isinstance(step.source, exp.Table) and not step.downstream:
            column = step.name.rsplit(".", 1)[-1].strip('"')
            if column != "*":
                found.add(f"{step.source.db}.{step.source.name}.{column}")
    return found

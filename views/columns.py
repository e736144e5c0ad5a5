"""What columns of views and queries mean: unit, provenance, and the columns that each is computed from."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer import Scope, build_scope, qualify, traverse_scope

from tracehouse.views.quantities import quantities
from tracehouse.views.view_files import DefinitionError, ViewFile

Columns = dict[str, tuple[str, str | None]]
"""The columns of a table or view in order: the SQL type and the comment of each."""

_Read = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

PROVENANCES = ("measured", "derived", "synthetic")

_NUMBERS = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "DOUBLE", "FLOAT", "DECIMAL")


def split_comment(comment: str | None) -> tuple[str, str]:
    """A column's comment as its meaning and its provenance; the provenance is empty where none is given."""
    match = re.fullmatch(rf"(.*)[;,.] ({'|'.join(PROVENANCES)})\.", comment or "", re.S)
    return (match[1], match[2]) if match else (comment or "", "")


def unit_of(schema: str, column: str, kind: str, place: Path | None) -> str:
    """The unit of a view's column, an empty text where it has none. `kind` is its SQL type.

    Raises DefinitionError where a number's unit is said nowhere, unless no place is given to say it of.
    """
    quantity = quantities(schema).get(column)
    if place and quantity is None and kind.startswith(_NUMBERS):
        raise DefinitionError(
            f"{place}: say the unit of {column} in views/{schema}/quantities.csv; empty for a rank or label"
        )
    return quantity.unit if quantity and kind.startswith(_NUMBERS) else ""


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
    found: dict[str, set[str]] = {name: set() for name, _ in read}
    with _explained(place):
        for scope in traverse_scope(_qualified(query, read)):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and source.db:
                    found[f"{source.db}.{source.name}"].add(column.name)
    written = _as_written(read)
    return {
        name: {written.get((name, column.lower()), column) for column in columns}
        for name, columns in found.items()
    }


def passed_on(
    query: exp.Expr, references: Collection[str], types: Mapping[str, Columns], place: Path | str
) -> dict[str, tuple[str, str]]:
    """The columns of a query's answer that are a column of a table or view, unchanged: which, and whose.

    By the answer's column: the table or view, and its column. Raises DefinitionError where sqlglot cannot
    tell.
    """
    return _passed_on(query, _as_read(references, types), place)


@cache
def _passed_on(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, tuple[str, str]]:
    with _explained(place):
        scope = build_scope(_qualified(query, read))
    if scope is None:
        raise DefinitionError(f"{place}: sqlglot cannot follow its columns")
    written = _as_written(read)
    found = {}
    for column in cast(exp.Query, scope.expression).named_selects:
        origin = _unchanged(scope, column)
        if origin:
            found[column] = (origin[0], written.get(origin, origin[1]))
    return found


def _unchanged(scope: Scope, name: str) -> tuple[str, str] | None:
    """The table's column that a scope's column is, if it is one, followed through CTEs and unions."""
    if scope.set_operation_scopes:
        origins = {_unchanged(part, name) for part in scope.set_operation_scopes}
        return origins.pop() if len(origins) == 1 else None
    selects = cast(exp.Query, scope.expression).selects
    selected = next((one for one in selects if one.alias_or_name == name), None)
    column = selected.unalias() if selected else None
    if not isinstance(column, exp.Column):
        return None
    source = scope.sources.get(column.table)
    if isinstance(source, Scope):
        return _unchanged(source, column.name)
    return (f"{source.db}.{source.name}", column.name.lower()) if source and source.db else None


@contextmanager
def _explained(place: Path | str) -> Iterator[None]:
    """Turn what sqlglot raises into an error that says where."""
    try:
        yield
    except SqlglotError as error:
        raise DefinitionError(f"{place}: sqlglot cannot follow its columns: {error}") from error


@cache
def _qualified(query: exp.Expr, read: _Read) -> exp.Expr:
    # To sqlglot, the parameters of a macro look like columns: so they are not validated.
    return qualify.qualify(
        query.copy(),
        schema=_schema(read),
        dialect="duckdb",
        identify=False,
        validate_qualify_columns=False,
    )


def _as_written(read: _Read) -> dict[tuple[str, str], str]:
    """How each column is written, by its table and itself in lower case, as sqlglot writes it."""
    return {(name, column.lower()): column for name, columns in read for column, _ in columns}


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
    with _explained(view.path):
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


def _origins(node: Node) -> set[str]:
    found = set()
    for step in node.walk():
        if isinstance(step.source, exp.Table) and not step.downstream:
            column = step.name.rsplit(".", 1)[-1].strip('"')
            if column != "*":
                found.add(f"{step.source.db}.{step.source.name}.{column}")
    return found

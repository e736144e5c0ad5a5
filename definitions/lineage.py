"""Column lineage in SQL: the columns that a query reads, and the inputs of each of its columns."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer import Scope, build_scope, qualify, traverse_scope
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from tracehouse.definitions.macros import inlined
from tracehouse.definitions.view_files import NOT_FOLLOWED, DefinitionError, full_name

Columns = dict[str, tuple[str, str | None]]
"""The columns of a table or view in order: the SQL type and the comment of each."""

_Read = tuple[tuple[str, tuple[str, ...]], ...]

T = TypeVar("T")

# Expressions with the unit of their argument. A coalesce with constants has it, too.
_KEEPS_UNIT = (exp.Cast, exp.TryCast, exp.Paren, exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last)

PROVENANCES = ("measured", "derived", "synthetic")


def _cached(find: Callable[[exp.Expr, _Read, Path | str], T]) -> Callable[..., T]:
    """Cache a function of a query, its inputs and its place: builds of a process follow the same queries.

    The result is a function of the query, the names of its inputs, the columns of all inputs, and its place,
    a file or other name for errors.
    """
    cached = cache(find)

    @wraps(find)
    def found(
        query: exp.Expr, inputs: Collection[str], columns: Mapping[str, Collection[str]], place: Path | str
    ) -> T:
        read = tuple((name, tuple(columns.get(name, ()))) for name in sorted(inputs))
        return cached(query, read, place)

    return found


@_cached
def columns_read(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, set[str]]:
    """Find the columns that a query reads, by the table or view that it references.

    Raises DefinitionError if sqlglot cannot resolve them.
    """
    if query == NOT_FOLLOWED:
        return {name: set(columns) for name, columns in read}
    found: dict[str, set[str]] = {name: set() for name, _ in read}
    with _explain_errors(place):
        for scope in traverse_scope(_qualify_columns(query, read, place)):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and source.db:
                    found.setdefault(full_name(source), set()).add(column.name)
    written = _map_to_declared(read)
    return {
        name: {written.get((name, column.lower()), column) for column in columns}
        for name, columns in found.items()
    }


@_cached
def missing_columns(query: exp.Expr, read: _Read, place: Path | str) -> set[str]:
    """Return the column names in a query that are in none of its inputs, parameters of a macro included.

    Raises DefinitionError if sqlglot cannot resolve the columns.
    """
    with _explain_errors(place):
        scopes = traverse_scope(_qualify_columns(query, read, place))
        return {column.name for scope in scopes for column in scope.unqualified_columns}


@_cached
def passed_on(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, tuple[str, str]]:
    """Map each result column that a query passes on unchanged to the table or view and the column it is from.

    The names of result columns are in lower case: DuckDB may spell them in another way than the query.
    Raises DefinitionError if sqlglot cannot resolve them.
    """
    return _follow_each(query, read, place, lambda selected: selected.unalias())


@_cached
def unit_sources(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, tuple[str, str]]:
    """Map each result column whose unit is that of a column to its table or view and that column.

    Besides the columns that a query passes on, these are casts, minima, maxima and any value of one. The
    names of result columns are in lower case.
    """
    return _follow_each(query, read, place, _strip_casts)


def types_of(
    query: exp.Expr, inputs: Collection[str], types: Mapping[str, Mapping[str, str]], place: Path | str
) -> dict[str, str]:
    """Infer the SQL type of each column of a query from those of its inputs; UNKNOWN if sqlglot cannot."""
    read = tuple((name, tuple(types.get(name, ()))) for name in sorted(inputs))
    schema: dict[str, Any] = {}
    for name in inputs:
        group, _, table = name.partition(".")
        columns = {column.lower(): kind for column, kind in types.get(name, {}).items()}
        schema.setdefault(group, {})[table] = columns
    with _explain_errors(place):
        # The types stay in the cached tree, whose other readers ignore them: a copy would take longer.
        tree = annotate_types(
            _qualify_columns(query, read, place),
            schema=MappingSchema(schema, dialect="duckdb", normalize=False),
            dialect="duckdb",
        )
    selects = cast(exp.Query, tree).selects
    names = cast(exp.Query, query).named_selects
    return {name: _type_of(one) for name, one in zip(names, selects, strict=False)}


def _type_of(selected: exp.Expr) -> str:
    # sqlglot does not know the type of count_if.
    if isinstance(selected.unalias(), exp.CountIf):
        return "HUGEINT"
    return _spelled(selected.type.sql("duckdb")) if selected.type else "UNKNOWN"


def _spelled(kind: str) -> str:
    """Return sqlglot's name of a type as DuckDB spells it."""
    return {"INT": "INTEGER", "REAL": "FLOAT", "TEXT": "VARCHAR"}.get(kind, kind)


def _follow_each(
    query: exp.Expr, read: _Read, place: Path | str, bare: Callable[[exp.Expr], exp.Expr]
) -> dict[str, tuple[str, str]]:
    if query == NOT_FOLLOWED:
        return {}
    with _explain_errors(place):
        scope = build_scope(_qualify_columns(query, read, place))
    if scope is None:
        raise DefinitionError(place, "sqlglot cannot follow its columns")
    written = _map_to_declared(read)
    found = {}
    for column in cast(exp.Query, scope.expression).named_selects:
        origin = _follow(scope, column, bare)
        if origin:
            found[column.lower()] = (origin[0], written.get(origin, origin[1]))
    return found


def _follow(scope: Scope, name: str, bare: Callable[[exp.Expr], exp.Expr]) -> tuple[str, str] | None:
    """Follow a column of a scope through CTEs and unions to a table's column.

    `bare` strips what may surround a column.
    """
    if scope.set_operation_scopes:
        origins = {_follow(part, name, bare) for part in scope.set_operation_scopes}
        return origins.pop() if len(origins) == 1 else None
    selects = cast(exp.Query, scope.expression).selects
    selected = next((one for one in selects if one.alias_or_name == name), None)
    column = bare(selected) if selected else None
    if not isinstance(column, exp.Column):
        return None
    source = scope.sources.get(column.table)
    if isinstance(source, Scope):
        return _follow(source, column.name, bare)
    return (full_name(source), column.name.lower()) if source and source.db else None


def _strip_casts(selected: exp.Expr) -> exp.Expr:
    inner = selected.unalias()
    while isinstance(inner, _KEEPS_UNIT) or _is_column_or_constant(inner):
        inner = inner.this
    return inner


def _is_column_or_constant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Coalesce) and not any(one.find(exp.Column) for one in node.expressions)


@contextmanager
def _explain_errors(place: Path | str) -> Iterator[None]:
    """Raise DefinitionError with the file instead of sqlglot's error."""
    try:
        yield
    except SqlglotError as error:
        raise DefinitionError(place, f"sqlglot cannot follow its columns: {error}") from error


@cache
def _qualify_columns(query: exp.Expr, read: _Read, place: Path | str) -> exp.Expr:
    """Copy a query and qualify every column with its table."""
    schema: dict[str, Any] = {}
    for name, columns in read:
        group, _, table = name.partition(".")
        schema.setdefault(group, {})[table] = {column.lower(): "unknown" for column in columns}
    # sqlglot takes the parameters of a macro for columns, so it must not check that all columns exist.
    return qualify.qualify(
        inlined(query, place),
        schema=MappingSchema(schema, dialect="duckdb", normalize=False),
        dialect="duckdb",
        quote_identifiers=False,
        validate_qualify_columns=False,
    )


def _map_to_declared(read: _Read) -> dict[tuple[str, str], str]:
    """Map the table and the lower-case name of each column, as sqlglot writes it, to its declared name."""
    return {(name, column.lower()): column for name, columns in read for column in columns}


@_cached
def lineage_of(query: exp.Expr, read: _Read, place: Path | str) -> dict[str, list[str]]:
    """Find the columns of tables and views that each column of a query, in lower case, is computed from."""
    if query == NOT_FOLLOWED:
        return {}
    with _explain_errors(place):
        tree = _qualify_columns(query, read, place)
        nodes = lineage(
            None,
            tree,
            MappingSchema(),
            dialect="duckdb",
            scope=build_scope(tree),
            trim_selects=False,
            copy=False,
        )
    written = {
        f"{name}.{lower}": f"{name}.{column}" for (name, lower), column in _map_to_declared(read).items()
    }
    return {
        column.lower(): sorted(written.get(origin, origin) for origin in _origins(node))
        for column, node in cast(dict[str, Node], nodes).items()
    }


def _origins(node: Node) -> set[str]:
    found = set()
    for step in node.walk():
        if isinstance(step.source, exp.Table) and not step.downstream:
            column = step.name.rsplit(".", 1)[-1].strip('"')
            if column != "*":
                found.add(f"{full_name(step.source)}.{column}")
    return found

"""The meaning, provenance and unit of the columns of named queries, which the build and lint read."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tracehouse.definitions.column_docs import UNKNOWN, ColumnDoc, find_unit
from tracehouse.definitions.columns import passed_on, unit_sources
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.units import read_units


@dataclass(frozen=True)
class QueryColumn:
    """A column of the result of a query.

    `origin` is the full name of the column of a view that the query passes on, or empty. `unit` is None if
    none is known, and `meaning` empty.
    """

    name: str
    origin: str
    meaning: str
    provenance: str
    unit: str | None


def find_clashes(
    query: QueryFile, names: Iterable[str], columns: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    """Yield the parameters that have the name of a column of the given tables and views, and that column.

    In a view that the query reads, such a parameter silently replaces the column. Below it, DuckDB rejects
    the query as one with conflicting names. Names are compared without case.
    """
    for name in sorted(names):
        by_name = {column.lower(): column for column in columns.get(name, ())}
        for parameter in query.parameters:
            if column := by_name.get(parameter.name.lower()):
                yield parameter.name, f"{name}.{column}"


def describe_columns(
    query: QueryFile, columns: Iterable[str], docs: Mapping[str, Mapping[str, ColumnDoc]]
) -> Iterator[QueryColumn]:
    """Describe the columns of the result of a query, given those of the tables and views that it reads.

    The meaning of a column is from the query's file, otherwise from the view column that the query passes on,
    otherwise from the quantities. The unit follows the rule of `column_docs`. Raises DefinitionError if
    sqlglot cannot follow the columns.
    """
    inputs = (query.tree, query.references, docs, query.path)
    known, origins, sources = read_units(query.schema), passed_on(*inputs), unit_sources(*inputs)
    for name in columns:
        table, column = origins.get(name.lower(), ("", ""))
        doc = docs.get(table, {}).get(column, UNKNOWN)
        quantity = known.get(name)
        meaning = query.column_docs.get(name) or doc.meaning or (quantity.meaning if quantity else "")
        unit = find_unit(name, query.schema, sources.get(name.lower()), docs)
        provenance = (doc.provenance or "measured") if table else "derived"
        yield QueryColumn(name, f"{table}.{column}" if table else "", meaning, provenance, unit)

"""The meaning, provenance and unit of the columns of named queries, which the build and lint read."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tracehouse.definitions.column_docs import UNKNOWN, ColumnDoc, find_unit
from tracehouse.definitions.findings import Finding, place_of
from tracehouse.definitions.lineage import passed_on, unit_sources
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.units import describe_name


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


def lint_parameter_names(
    query: QueryFile, names: Iterable[str], columns: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Yield the parameters that have the name of a column of the given tables and views.

    In a view that the query reads, such a parameter silently replaces the column. Below it, DuckDB rejects
    the query as one with conflicting names. Names are compared without case.
    """
    for parameter in query.parameters:
        read = ((name, column) for name in sorted(names) for column in columns.get(name, ()))
        same = next((one for one in read if one[1].lower() == parameter.name.lower()), None)
        if same:
            column = ".".join(same)
            what = (
                f"the parameter {parameter.name} has the name of the column {column}, which the query reads"
            )
            yield Finding(place_of(query.path, f"{parameter.name} "), f"{what}: rename it", "parameter")


def lint_values(query: QueryFile, columns: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """Yield the parameters whose values are those of a column that does not exist."""
    for parameter in query.parameters:
        table, _, column = parameter.values_of.rpartition(".")
        if parameter.values_of and not {column, "*"} & {*columns.get(table, ())}:
            what = f"{parameter.name} takes its values from {parameter.values_of}, which does not exist"
            yield Finding(place_of(query.path, f"{parameter.name} "), what, "column name")


def describe_columns(
    query: QueryFile, columns: Iterable[str], docs: Mapping[str, Mapping[str, ColumnDoc]]
) -> Iterator[QueryColumn]:
    """Describe the columns of the result of a query, given those of the tables and views that it reads.

    The meaning of a column is from the query's file, otherwise from the view column that the query passes on,
    otherwise its name tells it. The unit follows the rule of `column_docs`. Raises DefinitionError if sqlglot
    cannot follow the columns.
    """
    inputs = (query.tree, query.references, docs, query.path)
    origins, sources = passed_on(*inputs), unit_sources(*inputs)
    for name in columns:
        table, column = origins.get(name.lower(), ("", ""))
        doc = docs.get(table, {}).get(column, UNKNOWN)
        meaning, unit = doc.meaning, None
        if name in query.column_docs or not meaning:
            meaning, unit = describe_name(name, query.column_docs)
        unit = find_unit(name, unit, sources.get(name.lower()), docs)
        provenance = (doc.provenance or "measured") if table else "derived"
        yield QueryColumn(name, f"{table}.{column}" if table else "", meaning, provenance, unit)

"""Rules on what views and queries inherit from the columns that they read: meanings, units, caveats.

They read only definitions whose columns can be followed; other rules report the rest.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions import caveats, column_docs
from tracehouse.definitions.across_traces import expanded, find_empty_unions
from tracehouse.definitions.column_docs import ColumnDoc
from tracehouse.definitions.dependencies import sort_views, with_dependencies
from tracehouse.definitions.findings import Finding, place_of, suggest
from tracehouse.definitions.lineage import missing_columns, passed_on, types_of
from tracehouse.definitions.lint.read import Definitions, names_selected
from tracehouse.definitions.query_columns import describe_columns, lint_parameter_names
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.units import NO_UNIT, is_number
from tracehouse.definitions.view_files import ViewFile, plain_names


@dataclass(frozen=True)
class _Lineage:
    """Views by name, the docs of the columns of tables and views, and the types of those that were needed."""

    views: dict[str, ViewFile]
    docs: Mapping[str, Mapping[str, ColumnDoc]]
    types: dict[str, Mapping[str, str]]

    @cached_property
    def selected(self) -> dict[str, frozenset[str]]:
        """The columns of each view and of the selects in it."""
        return {
            name: frozenset(
                column for select in view.tree.find_all(exp.Select) for column in select.named_selects
            )
            for name, view in self.views.items()
        }

    def types_of(self, file: ViewFile | QueryFile) -> dict[str, str]:
        """Infer the types of the columns of a view or query, and first those of the views that it reads."""
        for name in file.references - self.types.keys():
            self.types[name] = self.types_of(self.views[name])
        tree = file.tree.expression if isinstance(file, ViewFile) else file.tree
        return types_of(tree, file.references, self.types, file.path)


def lint_inherited(definitions: Definitions, schema: str = "") -> Iterator[Finding]:
    """Yield the findings on what views and queries inherit, of one schema or of all."""
    queries = [query for query in definitions.queries if schema in ("", query.schema)]
    lineage, findings = _trace_columns(_needed_views(definitions, queries, schema), definitions)
    yield from findings
    for name, view in lineage.views.items():
        if name == view.versioned:
            yield from _lint_units_of_view(lineage, view)
    queries = [query for query in queries if query.references <= lineage.docs.keys()]
    yield from _lint_resolved_caveats(definitions, lineage, queries)
    for query in queries:
        yield from _lint_parameter_names(lineage, query)
        yield from _lint_columns_read(query, query.tree, lineage.docs)
        if "*" not in names_selected(query.tree):
            yield from _lint_columns(lineage, query)


def _needed_views(definitions: Definitions, queries: Sequence[QueryFile], schema: str) -> list[ViewFile]:
    """Return the views of a schema, and those that they or the queries read, each after what it reads."""
    # Another rule reports the views that read a union of nothing.
    united = [view for view in definitions.views if not find_empty_unions(view, definitions.views)]
    views = sort_views(expanded(united))
    by_name = {view.versioned: view for view in views} | plain_names(views)
    wanted = [view.versioned for view in views if schema in ("", view.schema)]
    wanted += [name for query in queries for name in sorted(query.references)]
    needed = with_dependencies(wanted, {name: view.references for name, view in by_name.items()})
    versioned = {by_name[name].versioned for name in needed if name in by_name}
    return [view for view in views if view.versioned in versioned]


def _trace_columns(needed: Sequence[ViewFile], definitions: Definitions) -> tuple[_Lineage, list[Finding]]:
    """Follow the columns of each view, except those that read what is missing or was not followed.

    Also returns the views whose columns cannot be followed.
    """
    docs = column_docs.of_tables(definitions.traces)
    columns: dict[str, Collection[str]] = {**docs}
    views: list[ViewFile] = []
    findings: list[Finding] = []
    plain = plain_names(needed)
    for view in needed:
        if not view.references <= columns.keys():
            continue
        names = [view.versioned, *([view.alias] if plain.get(view.alias) == view else [])]
        try:
            passed_on(view.tree.expression, view.references, columns, view.path)
            findings += _lint_columns_read(view, view.tree.expression, columns)
        except DefinitionError as error:
            findings.append(Finding(str(view.path), error.message, "columns"))
        else:
            views.append(view)
            columns |= dict.fromkeys(names, view.tree.expression.named_selects)
    by_name = {view.versioned: view for view in views} | plain_names(views)
    types: dict[str, Mapping[str, str]] = {}
    for name, found in docs.items():
        types[name] = dict.fromkeys(found, "UNKNOWN")
    for trace in definitions.traces:
        for table in trace.tables:
            types[f"{trace.name}.{table.name}"] = {one.name: one.type for one in table.stored_columns}
    return _Lineage(by_name, column_docs.of_views(views, definitions.views, docs), types), findings


def _lint_columns_read(
    file: ViewFile | QueryFile, tree: exp.Expr, columns: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Yield the columns that a view or query reads and that its tables and views lack."""
    try:
        missing = missing_columns(tree, file.references, columns, file.path)
    except DefinitionError:
        # Another rule reports a query whose columns cannot be followed.
        return
    if isinstance(file, QueryFile):
        # In its tree, names are in lower case.
        missing = missing - {one.name.lower() for one in file.parameters}
    known = {column for name in file.references for column in columns[name]}
    for column in sorted(missing):
        what = f"reads the column {column}, which does not exist{suggest(column, known)}"
        yield Finding(place_of(file.path, column), what, "column name")


def _lint_units_of_view(lineage: _Lineage, view: ViewFile) -> Iterator[Finding]:
    unknown = [name for name, doc in lineage.docs[view.versioned].items() if doc.unit is None]
    types = lineage.types_of(view) if unknown else {}
    for name in unknown:
        if is_number(types[name]):
            yield _no_unit(view, name)


def _lint_resolved_caveats(
    definitions: Definitions, lineage: _Lineage, queries: Sequence[QueryFile]
) -> Iterator[Finding]:
    """Yield the caveats that views and queries resolve, but that nothing which they read has."""
    known: dict[str, caveats.ColumnsByCaveat] = caveats.of_tables(definitions.traces)
    of_views: dict[str, caveats.ColumnsByCaveat] = {}
    for name, view in lineage.views.items():
        if name == view.versioned:
            yield from _lint_resolved(definitions, lineage, view, known | of_views)
            of_views[name] = caveats.of_view(view, lineage.docs, of_views)
        else:
            of_views[name] = of_views[view.versioned]
    for query in queries:
        yield from _lint_resolved(definitions, lineage, query, known | of_views)


def _lint_resolved(
    definitions: Definitions,
    lineage: _Lineage,
    file: ViewFile | QueryFile,
    known: Mapping[str, caveats.ColumnsByCaveat],
) -> Iterator[Finding]:
    try:
        inherited = caveats.inherited_by_query(caveats.read_by(file, lineage.docs), known)
    except DefinitionError:
        # Another rule reports a query whose columns cannot be followed.
        return
    columns = names_selected(file.tree.expression if isinstance(file, ViewFile) else file.tree)
    yield from caveats.lint_lines(file, columns, definitions.caveats, inherited)


def _lint_parameter_names(lineage: _Lineage, query: QueryFile) -> Iterator[Finding]:
    """Yield the parameters with the name of a column that the query's views read, at any depth."""
    read = with_dependencies(
        query.references, {name: view.references for name, view in lineage.views.items()}
    )
    selected = {name: lineage.selected[name] for name in read if name in lineage.selected}
    yield from lint_parameter_names(query, read, {**lineage.docs, **selected})


def _lint_columns(lineage: _Lineage, query: QueryFile) -> Iterator[Finding]:
    """Yield the columns of a query without a meaning, and its numbers without a unit."""
    names = cast(exp.Query, query.tree).named_selects
    try:
        described = list(describe_columns(query, names, lineage.docs))
        of_unknown = [one.name for one in described if one.unit is None and not one.origin]
        types = lineage.types_of(query) if of_unknown else {}
    except DefinitionError as error:
        yield Finding(str(query.path), error.message, "columns")
        return
    for column in described:
        if not column.meaning:
            what = (
                f"the column {column.name} has no meaning: add a line"
                f" `-- column: {column.name}: <meaning>` to the header"
            )
            yield Finding(place_of(query.path, column.name), what, "meaning")
    for name in of_unknown:
        if is_number(types[name]):
            yield _no_unit(query, name)


def _no_unit(file: ViewFile | QueryFile, name: str) -> Finding:
    what = (
        f"no unit of {name} is known: end the name in one, such as run_s, or write [unit] in the comment or"
        f" the header that describes the column; for a label or an index write [{NO_UNIT}]"
    )
    return Finding(place_of(file.path, name), what, "unit")

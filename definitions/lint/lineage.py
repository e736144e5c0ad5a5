"""Rules on what views and queries inherit from the columns that they read: meanings, units, caveats.

They read only definitions whose columns can be followed; other rules report the rest.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions import caveats, column_docs
from tracehouse.definitions.across_traces import expanded, find_empty_unions
from tracehouse.definitions.column_docs import ColumnDoc
from tracehouse.definitions.columns import (
    columns_read,
    follow_own,
    is_number,
    missing_columns,
    missing_from_own,
    passed_on,
    types_of,
)
from tracehouse.definitions.graph import sort_views, with_dependencies
from tracehouse.definitions.lint.subject import Finding, Subject, place_of, suggest
from tracehouse.definitions.query_columns import describe_columns, find_clashes
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import ViewFile, creating_view, plain_names
from tracehouse.ingest.declare.trace import all_traces

IsOurs = Callable[[ViewFile | QueryFile], bool]


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


def lint_inherited(subject: Subject, is_ours: IsOurs, schema: str = "") -> Iterator[Finding]:
    """Yield the findings on what views and queries inherit, of one schema or of all.

    Those of the user need no units.
    """
    try:
        all_traces()
    except DefinitionError:
        # The invalid declaration is a finding of its own, and its columns are unknown.
        return
    queries = [query for query in subject.queries if schema in ("", query.schema)]
    lineage, findings = _trace_columns(_needed_views(subject, queries, schema), subject, is_ours)
    yield from findings
    for query in queries:
        if not is_ours(query) and query.references <= lineage.docs.keys():
            yield from _lint_columns_of_own(query, lineage.docs)
    queries = [query if is_ours(query) else _follow_own_query(query, lineage.docs) for query in queries]
    for name, view in lineage.views.items():
        if name == view.versioned and is_ours(view):
            yield from _lint_units_of_view(lineage, view)
    yield from _lint_resolved_caveats(subject, lineage, queries)
    for query in queries:
        if not query.references <= lineage.docs.keys() or not isinstance(query.tree, exp.Query):
            continue
        yield from _lint_parameter_names(lineage, query)
        if is_ours(query):
            yield from _lint_columns_read(query, query.tree, lineage.docs)
        if is_ours(query) and "*" not in query.tree.named_selects:
            yield from _lint_columns(lineage, query)


def _needed_views(subject: Subject, queries: Sequence[QueryFile], schema: str) -> list[ViewFile]:
    """Return the views of a schema, and those that they or the queries read, each after what it reads."""
    # Another rule reports the views that read a union of nothing.
    united = [view for view in subject.views if not find_empty_unions(view, subject.views)]
    views = sort_views(expanded(united))
    by_name = {view.versioned: view for view in views} | plain_names(views)
    wanted = [view.versioned for view in views if schema in ("", view.schema)]
    wanted += [name for query in queries for name in sorted(query.references)]
    needed = with_dependencies(wanted, {name: view.references for name, view in by_name.items()})
    versioned = {by_name[name].versioned for name in needed if name in by_name}
    return [view for view in views if view.versioned in versioned]


def _follow_own_query(query: QueryFile, docs: Mapping[str, Collection[str]]) -> QueryFile:
    place = query.body, query.references, docs, query.path
    return replace(query, tree=follow_own(*place, _parameter_names(query)))


def _trace_columns(
    needed: Sequence[ViewFile], subject: Subject, is_ours: IsOurs
) -> tuple[_Lineage, list[Finding]]:
    """Follow the columns of each view, except those that read what is missing or was not followed.

    Also returns the views of the package whose columns cannot be followed. DuckDB may know those of the user.
    """
    docs = column_docs.of_tables(subject.traces)
    columns: dict[str, Collection[str]] = {**docs}
    views: list[ViewFile] = []
    findings: list[Finding] = []
    plain = plain_names(needed)
    for view in needed:
        if not view.references <= columns.keys():
            continue
        names = [view.versioned, *([view.alias] if plain.get(view.alias) == view else [])]
        if not is_ours(view):
            tree = follow_own(view.body, view.references, columns, view.path)
            if isinstance(tree, exp.Query):
                followed = replace(view, tree=creating_view(view.versioned, tree))
                views.append(followed)
                columns |= dict.fromkeys(names, tree.named_selects)
            findings += _lint_columns_of_own(view, columns)
            continue
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
    for trace in subject.traces:
        for table in trace.tables:
            types[f"{trace.name}.{table.name}"] = {one.name: one.type for one in table.stored_columns}
    return _Lineage(by_name, column_docs.of_views(views, subject.views, docs), types), findings


def _lint_columns_read(
    file: ViewFile | QueryFile, tree: exp.Expr, columns: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Yield the columns that a view or query reads and that its tables and views lack."""
    try:
        missing = missing_columns(tree, file.references, columns, file.path)
    except DefinitionError:
        # Another rule reports a query whose columns cannot be followed.
        return
    yield from _missing_columns(file, missing - _parameter_names(file), columns)


def _lint_columns_of_own(
    file: ViewFile | QueryFile, columns: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Yield the columns that a user's view or query reads and that its tables and views lack."""
    if isinstance(file, ViewFile) and file.unions:
        # Its SQL names a union of `each_trace`, whose columns are not in `columns`.
        return
    place = file.body, file.references, columns, file.path
    yield from _missing_columns(file, missing_from_own(*place, _parameter_names(file)), columns)


def _parameter_names(file: ViewFile | QueryFile) -> set[str]:
    """Return the names of the parameters of a query, in lower case as in its tree."""
    return {one.name.lower() for one in file.parameters} if isinstance(file, QueryFile) else set()


def _missing_columns(
    file: ViewFile | QueryFile, missing: Collection[str], columns: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
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
    subject: Subject, lineage: _Lineage, queries: Sequence[QueryFile]
) -> Iterator[Finding]:
    """Yield the caveats that views and queries resolve, but that nothing which they read has."""
    of_tables = caveats.of_tables(subject.traces)
    found: dict[str, caveats.ColumnsByCaveat] = {}
    unknown: set[str] = set()
    for name, view in lineage.views.items():
        if name != view.versioned:
            continue
        names = [one for one, named in lineage.views.items() if named is view]
        # Without the caveats of its inputs, those of a view are unknown too.
        if view.references & unknown:
            unknown.update(names)
            continue
        try:
            inherited, unresolvable = caveats.split_resolved(view, lineage.docs, found, of_tables)
        except DefinitionError:
            # Another rule reports the column that a caveat names wrongly.
            unknown.update(names)
            continue
        found |= dict.fromkeys(names, inherited)
        for caveat in unresolvable:
            if caveat in subject.caveats:
                at = place_of(view.path, f"resolves_caveat: {caveat}")
                yield Finding(at, caveats.explain_unresolvable(caveat), "resolved caveat")
    known = {**of_tables, **found}
    for query in queries:
        if query.references <= lineage.docs.keys() - (lineage.views.keys() - found.keys()):
            yield from _lint_resolved_caveats_of_query(subject, lineage, query, known)


def _lint_resolved_caveats_of_query(
    subject: Subject, lineage: _Lineage, query: QueryFile, known: Mapping[str, caveats.ColumnsByCaveat]
) -> Iterator[Finding]:
    """Yield the caveats that a query resolves, but that none of the columns that it reads has."""
    resolved = {caveat for caveat, _ in caveats.read_lines(query.header, "resolves_caveat")}
    if not resolved:
        return
    try:
        read = columns_read(query.tree, query.references, lineage.docs, query.path)
    except DefinitionError:
        # Another rule reports a query whose columns cannot be followed.
        return
    for caveat in sorted((resolved & subject.caveats) - caveats.inherited_by_query(read, known)):
        at = place_of(query.path, f"resolves_caveat: {caveat}")
        what = f"resolves {caveat}, which no column that it reads has: delete the line"
        yield Finding(at, what, "resolved caveat")


def _lint_parameter_names(lineage: _Lineage, query: QueryFile) -> Iterator[Finding]:
    """Yield the parameters with the name of a column that the query's views read, at any depth."""
    read = with_dependencies(
        query.references, {name: view.references for name, view in lineage.views.items()}
    )
    columns = {
        **lineage.docs,
        **{name: lineage.selected[name] for name in read if name in lineage.selected},
    }
    for parameter, column in dict(find_clashes(query, read, columns)).items():
        what = f"the parameter {parameter} has the name of the column {column}, which is read: rename it"
        yield Finding(place_of(query.path, f"{parameter} "), what, "parameter")


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
                f"nothing says what the column {column.name} means: add a line"
                f" `-- column: {column.name}: <meaning>` to the header"
            )
            yield Finding(place_of(query.path, column.name), what, "meaning")
    for name in of_unknown:
        if is_number(types[name]):
            yield _no_unit(query, name)


def _no_unit(file: ViewFile | QueryFile, name: str) -> Finding:
    what = (
        f"no unit of {name} is known: end the name in one, such as run_s, or declare a Quantity, with"
        ' the unit "" for a label or an index'
    )
    return Finding(place_of(file.path, name), what, "unit")

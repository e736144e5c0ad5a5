"""Find the caveats of views and queries: their own, and those that they inherit from the columns they read.

`-- caveat: name: column column` in a view file concerns these columns, and `-- caveat: name` all rows. A view
or query inherits a caveat on columns if its SQL uses one of them anywhere, and a caveat on all rows always.
In a view, an inherited caveat concerns the columns that are computed from the affected ones. If there are
none, as with columns that only filter, it concerns all rows. `-- resolves_caveat: name: column column` ends
an inherited caveat for these columns, and `-- resolves_caveat: name` for all of them; with a `caveat` line of
the same name, for all but the columns of that line.

Views inherit from views only: one that reads a base table names the caveats that remain, and those that it
resolves. The others of that table, which do not concern it, are in `views/<schema>/not_concerned.csv`.
Queries also inherit the caveats of base tables, except those of severity background.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tracehouse.definitions.columns import columns_read, lineage_of
from tracehouse.definitions.view_files import DefinitionError, Header, ViewFile, plain_names
from tracehouse.ingest.declare.trace import Trace

ColumnsByCaveat = dict[str, frozenset[str] | None]
"""The caveats of a table or view by name, each with the columns that it concerns, or None for all rows."""


def of_views(
    views: Sequence[ViewFile],
    relations: Mapping[str, Collection[str]],
    caveats_of_tables: Mapping[str, ColumnsByCaveat],
) -> dict[str, ColumnsByCaveat]:
    """Find the caveats of all views, by versioned and by plain name.

    `views` must be in order, each after what it reads, and `relations` has the columns of all tables and
    views. Raises DefinitionError if a caveat names a column that its view does not have.
    """
    caveats_by_object: dict[str, ColumnsByCaveat] = {}
    for view in views:
        caveats_by_object[view.versioned] = of_view(view, relations, caveats_by_object, caveats_of_tables)
    for alias, view in plain_names(views).items():
        caveats_by_object[alias] = caveats_by_object[view.versioned]
    return caveats_by_object


def of_view(
    view: ViewFile,
    relations: Mapping[str, Collection[str]],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
    caveats_of_tables: Mapping[str, ColumnsByCaveat],
) -> ColumnsByCaveat:
    """Find the caveats of a view.

    `caveats_by_object` has the caveats of the views that it reads, `caveats_of_tables` those of base tables,
    and `relations` the columns of all. Raises DefinitionError if the view resolves a caveat that none of them
    has.
    """
    found, unknown = split_resolved(view, relations, caveats_by_object, caveats_of_tables)
    if unknown:
        raise DefinitionError(view.path, explain_unresolvable(unknown[0]))
    return found


def split_resolved(
    view: ViewFile,
    relations: Mapping[str, Collection[str]],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
    caveats_of_tables: Mapping[str, ColumnsByCaveat],
) -> tuple[ColumnsByCaveat, list[str]]:
    """Find the caveats of a view, and those that it resolves although nothing that it reads has them."""
    columns = frozenset(relations[view.versioned])
    inherited = _inherit(view, relations, caveats_by_object)
    resolved = _read_checked(view.header, "resolves_caveat", columns, view.path)
    own = _read_checked(view.header, "caveat", columns, view.path)
    left = _remove_resolved(resolved, inherited, columns)
    unknown = resolved.keys() - inherited.keys()
    if unknown:
        unknown -= inherited_by_query(_columns_read(view, relations), caveats_of_tables)
    return _merge([own, left]), sorted(unknown)


def explain_unresolvable(caveat: str) -> str:
    """Say that a view resolves a caveat that nothing which it reads has, and what to do."""
    return f"resolves {caveat}, which no column that it reads has: delete the line"


def of_tables(traces: Iterable[Trace]) -> dict[str, ColumnsByCaveat]:
    """Return the caveats that queries inherit from base tables, by table."""
    found: dict[str, ColumnsByCaveat] = {}
    for trace in traces:
        for caveat, objects in trace.objects_by_caveat.items():
            for name in objects if caveat.severity != "background" else ():
                schema, table, *column = name.split(".")
                of_table = found.get(f"{schema}.{table}", {})
                found[f"{schema}.{table}"] = _merge([of_table, {caveat.name: frozenset(column) or None}])
    return found


def of_query(
    header: Header, read: Mapping[str, set[str]], caveats_by_object: Mapping[str, ColumnsByCaveat]
) -> list[str]:
    """Find the caveats of a query, sorted. `read` are the columns that it reads, by table or view."""
    own, resolved = (
        {caveat for caveat, _ in read_lines(header, key)} for key in ("caveat", "resolves_caveat")
    )
    return sorted(own | inherited_by_query(read, caveats_by_object) - resolved)


def inherited_by_query(
    read: Mapping[str, set[str]], caveats_by_object: Mapping[str, ColumnsByCaveat]
) -> set[str]:
    """Find the caveats that the readers of some columns inherit, also those that they resolve."""
    return {
        caveat
        for name, columns in read.items()
        for caveat in _select_concerning(caveats_by_object.get(name, {}), columns)
    }


def read_lines(header: Header, key: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the caveat and the columns of each header line of a key."""
    for line in header.all(key):
        caveat, _, listed = line.partition(":")
        yield caveat.strip(), frozenset(listed.split())


def _read_checked(header: Header, key: str, columns: frozenset[str], path: Path) -> ColumnsByCaveat:
    """Read the header lines of a key. Raises DefinitionError if they name a column that the view lacks."""
    named: ColumnsByCaveat = {}
    for caveat, about in read_lines(header, key):
        if wrong := min(about - columns, default=""):
            raise DefinitionError(path, f"`{key}: {caveat}` names {wrong}, which is not a column of the view")
        named = _merge([named, {caveat: about or None}])
    return named


def _remove_resolved(
    resolved: ColumnsByCaveat, inherited: ColumnsByCaveat, columns: frozenset[str]
) -> ColumnsByCaveat:
    """Remove the caveats that a view resolves from those that it inherits."""
    left = dict(inherited)
    for caveat, of_columns in resolved.items():
        if caveat in left:
            about = (left.pop(caveat) or columns) - (of_columns or columns)
            if about:
                left[caveat] = about
    return left


def _inherit(
    view: ViewFile, relations: Mapping[str, Collection[str]], caveats_by_object: Mapping[str, ColumnsByCaveat]
) -> ColumnsByCaveat:
    origins = lineage_of(view.tree.expression, view.references, relations, view.path)
    spelled = {column.lower(): column for column in relations[view.versioned]}
    inherited = []
    for name, columns in _columns_read(view, relations).items():
        for caveat, about in _select_concerning(caveats_by_object.get(name, {}), columns).items():
            from_those = {f"{name}.{column}" for column in about or ()}
            computed = frozenset(
                spelled.get(column, column) for column, found in origins.items() if from_those & set(found)
            )
            inherited.append({caveat: computed or None})
    return _merge(inherited)


def _columns_read(view: ViewFile, relations: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    return columns_read(view.tree.expression, view.references, relations, view.path)


def _select_concerning(caveats: ColumnsByCaveat, columns: set[str]) -> ColumnsByCaveat:
    """Select the caveats of a table or view that concern readers of these columns."""
    return {caveat: about for caveat, about in caveats.items() if about is None or about & columns}


def _merge(several: Iterable[ColumnsByCaveat]) -> ColumnsByCaveat:
    joined: ColumnsByCaveat = {}
    for caveats in several:
        for caveat, about in caveats.items():
            before = joined.get(caveat, frozenset())
            joined[caveat] = None if about is None or before is None else before | about
    return joined

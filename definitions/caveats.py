"""Find the caveats of views and queries: their own, and those that they inherit from the views they read.

The declaration of a trace has the texts of its caveats (`Caveat` in `ingest/declare/metadata.py`).
`-- caveat: name: column column` in a view file concerns these columns, and `-- caveat: name` all rows. A view
or query inherits a caveat on columns if its SQL uses one of them anywhere, and a caveat on all rows always.
In a view, an inherited caveat concerns the columns that are computed from the affected ones. If there are
none, as with columns that only filter, it concerns all rows. `-- resolves_caveat: name: column column` ends
an inherited caveat for these columns, and `-- resolves_caveat: name` for all of them; with a `caveat` line of
the same name, for all but the columns of that line.

Views inherit from views only: one that reads a base table names the caveats that remain, and those that it
resolves. The others of that table, which do not concern it, are in `views/<schema>/not_concerned.csv`.
Queries also inherit the caveats of base tables, except those of severity background. Tests alone read
`not_concerned.csv`.

A view or query of the user, whose columns are not followed, inherits all caveats of what it reads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tracehouse.definitions.findings import Finding, place_of, refuse, suggest
from tracehouse.definitions.lineage import columns_read, lineage_of
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import Header, ViewFile, plain_names
from tracehouse.ingest.declare.trace import Trace

ColumnsByCaveat = dict[str, frozenset[str] | None]
"""The caveats of a table or view by name, each with the columns that it concerns, or None for all rows."""


def of_views(
    views: Sequence[ViewFile],
    relations: Mapping[str, Collection[str]],
    caveats_of_tables: Mapping[str, ColumnsByCaveat],
    known: Collection[str],
) -> dict[str, ColumnsByCaveat]:
    """Find the caveats of all views, by versioned and by plain name.

    `views` must be in order, each after what it reads, `relations` has the columns of all tables and views,
    and `known` the names of all caveats. Raises DefinitionError if `lint_lines` finds a mistake.
    """
    caveats_by_object: dict[str, ColumnsByCaveat] = {}
    for view in views:
        inherited = inherited_by_query(read_by(view, relations), {**caveats_of_tables, **caveats_by_object})
        refuse(lint_lines(view, relations[view.versioned], known, inherited))
        caveats_by_object[view.versioned] = of_view(view, relations, caveats_by_object)
    for alias, view in plain_names(views).items():
        caveats_by_object[alias] = caveats_by_object[view.versioned]
    return caveats_by_object


def of_view(
    view: ViewFile, relations: Mapping[str, Collection[str]], caveats_by_object: Mapping[str, ColumnsByCaveat]
) -> ColumnsByCaveat:
    """Find the caveats of a view.

    `caveats_by_object` has the caveats that it may inherit: of views, and for a view of the user also of
    tables. `relations` has the columns of all.
    """
    columns = frozenset(relations[view.versioned])
    inherited = _inherit(view, relations, caveats_by_object)
    left = _remove_resolved(_read_merged(view.header, "resolves_caveat"), inherited, columns)
    return _merge([_read_merged(view.header, "caveat"), left])


def names(traces: Iterable[Trace]) -> frozenset[str]:
    """Return the names of all caveats."""
    return frozenset(caveat.name for trace in traces for caveat in trace.objects_by_caveat)


def lint_lines(
    file: ViewFile | QueryFile,
    columns: Collection[str],
    known: Collection[str],
    inherited: Collection[str] | None = None,
) -> Iterator[Finding]:
    """Yield the header lines that name an unknown caveat or column, or resolve one that is not inherited.

    `columns` are those of the view or of the result, `known` all caveats, and `inherited` those of the
    columns that the file reads, None if these are unknown.
    """
    for key in ("caveat", "resolves_caveat"):
        for name, listed in read_lines(file.header, key):
            at = partial(place_of, file.path, f"-- {key}: {name}")
            if name not in known:
                yield Finding(at(), f"no caveat is called {name}{suggest(name, known)}", "caveat name")
            elif key == "resolves_caveat" and inherited is not None and name not in inherited:
                what = f"resolves {name}, which no column that it reads has: delete the line"
                yield Finding(at(), what, "resolved caveat")
            for column in sorted(listed - {*columns}) if "*" not in columns else ():
                what = f"`{key}` names {column}, which is not a column{suggest(column, columns)}"
                yield Finding(at(), what, "column name")


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


def read_by(file: ViewFile | QueryFile, relations: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Find the columns that a view or query reads, by table or view. `relations` has the columns of all."""
    tree = file.tree.expression if isinstance(file, ViewFile) else file.tree
    return columns_read(tree, file.references, relations, file.path)


def read_lines(header: Header, key: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the caveat and the columns of each header line of a key."""
    for line in header.all(key):
        caveat, _, listed = line.partition(":")
        yield caveat.strip(), frozenset(listed.split())


def _read_merged(header: Header, key: str) -> ColumnsByCaveat:
    return _merge({caveat: about or None} for caveat, about in read_lines(header, key))


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
    for name, columns in read_by(view, relations).items():
        for caveat, about in _select_concerning(caveats_by_object.get(name, {}), columns).items():
            from_those = {f"{name}.{column}" for column in about or ()}
            computed = frozenset(
                spelled.get(column, column) for column, found in origins.items() if from_those & set(found)
            )
            inherited.append({caveat: computed or None})
    return _merge(inherited)


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

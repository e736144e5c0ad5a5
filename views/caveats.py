"""Which caveats a view or a query holds: its own, and those that it inherits from the columns it reads.

A line `-- caveat: name: column column` of a view concerns these columns of it, and `-- caveat: name` all of
its rows. A reader of the view inherits the first kind if it uses one of the columns anywhere in its SQL, and
the second kind always. In a view, an inherited caveat concerns the columns computed from the affected ones,
or all rows where there are none, as with columns that only filter. A view that resolves an inherited caveat
says so once: `-- settles: name: column column` for these columns, `-- settles: name` for all.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tracehouse.views.columns import Columns, columns_read, lineage_of
from tracehouse.views.view_files import DefinitionError, Header, ViewFile, newest

Held = dict[str, frozenset[str] | None]
"""The caveats of a view by name, each with the columns that it is about, None for all of its rows."""


def of_views(views: Sequence[ViewFile], types: Mapping[str, Columns]) -> dict[str, Held]:
    """The caveats of each view, by its versioned name, and by its plain one for the newest.

    `views` is in order, so that each comes after what it reads, and `types` holds the columns of all tables
    and views. Raises DefinitionError where a caveat is about a column that its view does not have.
    """
    held: dict[str, Held] = {}
    for view in views:
        held[view.versioned] = of_view(view, types, held)
    for alias, view in newest(views).items():
        held[alias] = held[view.versioned]
    return held


def of_view(view: ViewFile, types: Mapping[str, Columns], held: Mapping[str, Held]) -> Held:
    """The caveats of a view, where `held` has those of what it reads, and `types` its columns and theirs."""
    columns = frozenset(types[view.versioned])
    inherited = _inherited_by_view(view, types, held)
    settled = _named(view.header, "settles", columns, view.path)
    own = _named(view.header, "caveat", columns, view.path)
    return _joined([own, _without(settled, inherited, columns, view.path)])


def of_query(header: Header, read: Mapping[str, set[str]], held: Mapping[str, Held]) -> list[str]:
    """The caveats of a query, sorted. `read` are the columns that it reads, by table or view."""
    own = (line.partition(":")[0].strip() for line in header.all("caveat"))
    return sorted(
        {
            *own,
            *(caveat for name, columns in read.items() for caveat in _touched(held.get(name, {}), columns)),
        }
    )


def _named(header: Header, key: str, columns: frozenset[str], path: Path) -> Held:
    """The caveats that the lines of a key name, with the columns that they name."""
    named: Held = {}
    for line in header.all(key):
        caveat, _, listed = line.partition(":")
        about = frozenset(listed.split())
        if about - columns:
            wrong = min(about - columns)
            raise DefinitionError(f"{path}: `{key}: {caveat}` is about {wrong}, no column of the view")
        named = _joined([named, {caveat.strip(): about or None}])
    return named


def _without(settled: Held, inherited: Held, columns: frozenset[str], path: Path) -> Held:
    """The inherited caveats without those that the view settles."""
    left = dict(inherited)
    for caveat, of_columns in settled.items():
        if caveat not in left:
            raise DefinitionError(f"{path}: settles {caveat}, which nothing that it reads holds")
        about = (left.pop(caveat) or columns) - (of_columns or columns)
        if about:
            left[caveat] = about
    return left


def _inherited_by_view(view: ViewFile, types: Mapping[str, Columns], held: Mapping[str, Held]) -> Held:
    origins = lineage_of(view, types)
    inherited = []
    for name, columns in columns_read(view.tree.expression, view.references, types, view.path).items():
        for caveat, about in _touched(held.get(name, {}), columns).items():
            from_those = {f"{name}.{column}" for column in about or ()}
            computed = frozenset(column for column, found in origins.items() if from_those & set(found))
            inherited.append({caveat: computed or None})
    return _joined(inherited)


def _touched(held: Held, columns: set[str]) -> Held:
    """Those of a view's caveats that concern whoever reads these columns of it."""
    return {caveat: about for caveat, about in held.items() if about is None or about & columns}


def _joined(several: Iterable[Held]) -> Held:
    joined: Held = {}
    for held in several:
        for caveat, about in held.items():
            before = joined.get(caveat, frozenset())
            joined[caveat] = None if about is None or before is None else before | about
    return joined

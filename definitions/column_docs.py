"""Comments, units and provenance of columns: declared once, and inherited by lineage.

`ingest/traces` declares the columns of base tables. A view file comments on the columns that it computes.
Every other column of a view has the comment of the first of these columns that has a comment:

1. the same column in the view's previous version;
2. the same column of the view that unites this one with those of other traces (`each_trace`);
3. the column that it passes through unchanged.

The unit of a column is the one in its comment, or else that of the column that it passes through or of which
it is a cast, a minimum, a maximum or any value, or else the one that its name ends in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracehouse.core.text import identifier, quoted
from tracehouse.definitions.across_traces import united
from tracehouse.definitions.lineage import PROVENANCES, passed_on, unit_sources
from tracehouse.definitions.units import spell_unit, split_unit, unit_in
from tracehouse.definitions.view_files import VIEWS, ViewFile, plain_names
from tracehouse.ingest.declare import trace
from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.store.records import REJECTED_COLUMNS

_CATALOG = VIEWS / "catalog" / "tables.sql"
_COLUMN_OF_CATALOG = re.compile(r"^comment on column (\w+\.\w+)\.(\w+) is '(.*)';$", re.M)


@dataclass(frozen=True)
class ColumnDoc:
    """The meaning, provenance and unit of a column, and its comment in the database, which has all three.

    `unit` is None if no column is declared with one, and the name does not end in one.
    """

    comment: str
    meaning: str
    provenance: str
    unit: str | None


ColumnDocs = dict[str, dict[str, ColumnDoc]]
"""The columns of tables and views: by the name of the table or view, then by column name, in order."""

UNKNOWN = ColumnDoc("", "", "", None)


def of_tables(traces: Iterable[Trace]) -> ColumnDocs:
    """Return the columns of base tables and of the catalog."""
    found = {
        f"{trace.name}.{table.name}": {column.name: _declared(column) for column in table.stored_columns}
        for trace in traces
        for table in trace.tables
    }
    found["catalog.rejected_rows"] = {column.name: _declared(column) for column in REJECTED_COLUMNS}
    for table, column, comment in _COLUMN_OF_CATALOG.findall(_CATALOG.read_text(encoding="utf-8")):
        found.setdefault(table, {})[column] = parse_comment(comment.replace("''", "'"))
    return found


def of_views(views: Sequence[ViewFile], files: Sequence[ViewFile], tables: ColumnDocs) -> ColumnDocs:
    """Return the columns of tables, and of views by versioned and by plain name.

    `views` are sorted, each after the views that it reads. `files` are the same views before `each_trace` is
    expanded.
    """
    found = dict(tables)
    uniting = united(files)
    versions = {view.versioned: view for view in files}
    plain = plain_names(views)
    for view in views:
        comments = _comments_of_versions(view, versions)
        if view.versioned in uniting:
            comments = {**_comments_of_versions(uniting[view.versioned], versions), **comments}
        found[view.versioned] = of_view(view, found, comments, view.tree.expression.named_selects)
        if plain.get(view.alias) == view:
            found[view.alias] = found[view.versioned]
    return found


def of_view(
    view: ViewFile, docs: ColumnDocs, comments: Mapping[str, str], columns: Iterable[str]
) -> dict[str, ColumnDoc]:
    """Return the columns of a view, given its inputs and the comments that it does not inherit."""
    query = (view.tree.expression, view.references, docs, view.path)
    passed, sources = passed_on(*query), unit_sources(*query)
    found = {}
    for name in columns:
        table, column = passed.get(name.lower(), ("", ""))
        doc = docs.get(table, {}).get(column, UNKNOWN)
        stated = parse_comment(comments[name]) if name in comments else None
        unit = find_unit(name, stated.unit if stated else None, sources.get(name.lower()), docs)
        found[name] = replace(stated or doc, unit=unit)
    return found


def find_unit(
    name: str,
    stated: str | None,
    source: tuple[str, str] | None,
    docs: Mapping[str, Mapping[str, ColumnDoc]],
) -> str | None:
    """Return the unit of a column, None if none is known.

    `stated` is the unit that its view or query states, and `source` is what `unit_sources` finds for it.
    """
    if stated is not None:
        return stated
    table, column = source or ("", "")
    inherited = docs.get(table, {}).get(column, UNKNOWN).unit
    return unit_in(name) if inherited is None else inherited


def parse_comment(comment: str | None) -> ColumnDoc:
    """Split a column's comment, `'Held GPUs [GPUs]; derived.'`; what it lacks is empty, and the unit None."""
    match = re.fullmatch(rf"(.*)[;,.] ({'|'.join(PROVENANCES)})\.", comment or "", re.S)
    text, provenance = match.groups() if match else (comment or "", "")
    meaning, unit = split_unit(text)
    return ColumnDoc(comment or "", meaning, provenance, unit)


def comment_text(column: trace.Column) -> str:
    """Return the comment of a base table's column in the database."""
    unit = f" [{column.unit}]" if column.unit else ""
    return f"{column.comment}{unit}; {column.provenance}."


def inherited_comments(view: ViewFile, columns: Mapping[str, ColumnDoc]) -> Iterator[str]:
    """Yield the statements for inherited comments: on the columns on which the view's file has none."""
    for name, column in columns.items():
        if column.comment and name not in view.column_comments:
            yield f"comment on column {view.versioned}.{identifier(name)} is {quoted(column.comment)}"


def _declared(column: trace.Column) -> ColumnDoc:
    return ColumnDoc(comment_text(column), column.comment, column.provenance, spell_unit(column.unit))


def _comments_of_versions(view: ViewFile, versions: Mapping[str, ViewFile]) -> dict[str, str]:
    """The column comments of a view file; a column without one has the comment of an earlier version."""
    before = versions.get(f"{view.alias}_v{view.version - 1}")
    return {**(_comments_of_versions(before, versions) if before else {}), **view.column_comments}

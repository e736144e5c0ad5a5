"""The base columns that views read, and their declarations, on which a released view depends."""

import json
from collections.abc import Iterable, Iterator, Mapping

from tracehouse.ingest.declarations import Column, Trace
from tracehouse.views.sql_text import names_in
from tracehouse.views.view_files import ViewFile


def declared(traces: Iterable[Trace]) -> dict[str, str]:
    """The declaration of every base column as text, by the column's full name: `pai.task.plan_gpu`."""
    return {
        f"{trace.name}.{table.name}.{column.name}": _in_words(column)
        for trace in traces
        for table in trace.tables
        for column in table.stored_columns
    }


def read_by(view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str]) -> dict[str, str]:
    """Those of `columns` that a view reads, itself or through the views that it references.

    A column counts as read where the SQL references its table and holds its name. That needs no parser, and
    may find too many. A new column counts only where the SQL used its name before, and may then mean
    something else. Columns behind `each_trace` do not count: each of the views that it unites has a lock of
    its own, and one more trace must not change a version.
    """
    names = {lower.versioned: names_in(lower.statement) for lower in _with_lower(view, views)}
    tables: dict[str, set[str]] = {}
    for name in names:
        for reference in views[name].references:
            tables.setdefault(reference, set()).update(names[name])
    read = {}
    for name, words in columns.items():
        table, _, column = name.rpartition(".")
        if column.lower() in tables.get(table, ()):
            read[name] = words
    return read


def _with_lower(view: ViewFile, views: Mapping[str, ViewFile]) -> Iterator[ViewFile]:
    """A view and all views that it reads, directly or through others, each once."""
    seen = {view.versioned}
    todo = [view]
    while todo:
        current = todo.pop()
        yield current
        lower = [name for name in current.references if name in views and name not in seen]
        seen.update(lower)
        todo += [views[name] for name in lower]


def _in_words(column: Column) -> str:
    words = [column.stored_type]
    if column.unit:
        words.append(f"unit={json.dumps(column.unit, ensure_ascii=False)}")
    if column.null_texts:
        words.append(f"null_texts={json.dumps(column.null_texts, ensure_ascii=False)}")
    if column.required:
        words.append("required")
    return " ".join(words)

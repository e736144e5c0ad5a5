"""The base columns that views read, and what is declared of each: what a released view rests on."""

import json
from collections.abc import Iterable, Iterator, Mapping

from tracehouse.ingest.declare import Column, Trace
from tracehouse.views.sql_text import names_in
from tracehouse.views.view_files import ViewFile


def declared(traces: Iterable[Trace]) -> dict[str, str]:
    """What a reader of a base column relies on, in words, by the column's name: `pai.task.plan_gpu`."""
    return {
        f"{trace.name}.{table.name}.{column.name}": _in_words(column)
        for trace in traces
        for table in trace.tables
        for column in table.stored_columns
    }


def read_by(view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str]) -> dict[str, str]:
    """Those of some base columns that a view reads, itself or through views that it names.

    A column is read where its table is, by SQL that has the column's name: that is known without a parser,
    and sometimes one too many. A new column is read only where its name was in use: there it may well change
    what the SQL means. Who reads `each_trace` reads no columns through it: each of the views that it unites
    has a lock of its own, and one more trace changes no version.
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
    """A view and all that it reads, each once."""
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

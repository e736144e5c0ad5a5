"""Reads how a view is stored: `-- stored: parquet by machine, start_s` in its header, or `per partition`.

What is `parquet per partition` is made of each partition of the base tables alone, and again only of those
whose files changed: its rows must be those over each partition, put together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tracehouse.views.view_files import DefinitionError, ViewFile

_FORM = re.compile(r"parquet(?P<parts> per partition)?(?: by (?P<order>\w+(?:, \w+)*))?")


@dataclass(frozen=True)
class Storing:
    """How a view is stored: the columns that its rows are sorted by, and whether partition by partition."""

    order: tuple[str, ...]
    per_partition: bool


@dataclass(frozen=True)
class StoredView:
    """A view whose rows are in files below the warehouse, since a time in UTC, computed from base tables.

    `files` are those with rows, or one without where none has any; `bytes` are those of all.
    """

    files: tuple[str, ...]
    bytes: int
    at: datetime
    base_tables: tuple[str, ...]


def storing(view: ViewFile) -> Storing | None:
    """How a view is stored, None where it is computed. Raises DefinitionError on what makes no sense."""
    said = view.header.one("stored")
    if not said:
        return None
    match = _FORM.fullmatch(said)
    if match is None:
        raise DefinitionError(
            f"{view.path}: stored: {said}; write `parquet`, maybe `per partition`, maybe `by` and its columns"
        )
    columns = view.tree.expression.named_selects
    order = tuple(match["order"].split(", ")) if match["order"] else tuple(columns)
    for column in order:
        if column not in columns:
            raise DefinitionError(f"{view.path}: is stored by {column}, and has no such column")
    return Storing(order, bool(match["parts"]))


def below(view: ViewFile, views: Mapping[str, ViewFile]) -> list[ViewFile]:
    """A view and all views that it reads, directly or through others, each once, itself last."""
    found: dict[str, ViewFile] = {}

    def visit(one: ViewFile) -> None:
        for name in sorted(one.references):
            if name in views and name not in found:
                visit(views[name])
        found[one.versioned] = one

    visit(view)
    return list(found.values())


def tables_read(view: ViewFile, views: Mapping[str, ViewFile]) -> Sequence[str]:
    """What a view reads in the end: the names of base tables, sorted."""
    return sorted({name for one in below(view, views) for name in one.references if name not in views})

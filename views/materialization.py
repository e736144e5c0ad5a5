"""Reads how a view is stored: lines `-- stored: parquet by machine, start_s` in its header.

What is `parquet per partition` is made of each partition of the base tables alone, and again only of those
whose files changed: its rows must be those over each partition, put together. `parquet of ranked` keeps the
rows of that CTE alone, where they are few and dear, and the view computes the rest.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tracehouse.views.view_files import DefinitionError, ViewFile

_FORM = re.compile(r"parquet(?: of (?P<cte>\w+)|(?P<parts> per partition))?(?: by (?P<order>\w+(?:, \w+)*))?")


@dataclass(frozen=True)
class Storing:
    """What is stored of a view, a CTE or all where that is empty, by which columns sorted, and how."""

    cte: str
    order: tuple[str, ...]
    per_partition: bool


@dataclass(frozen=True)
class StoredView:
    """A view whose rows are in files below the warehouse, since a time in UTC, computed from base tables.

    `parts` are the CTEs that are stored, or an empty name for the whole, each with its files: those that have
    rows, or one without where none has any. `bytes` are those of all.
    """

    parts: tuple[tuple[str, tuple[str, ...]], ...]
    bytes: int
    at: datetime
    base_tables: tuple[str, ...]


def storings(view: ViewFile) -> list[Storing]:
    """What is stored of a view, nothing where it is computed. Raises DefinitionError on other words."""
    found = [_storing(view, said) for said in view.header.all("stored")]
    names = [one.cte for one in found]
    if len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise DefinitionError(f"{view.path}: one part of it is stored twice")
    return found


def _storing(view: ViewFile, said: str) -> Storing:
    match = _FORM.fullmatch(said)
    if match is None:
        raise DefinitionError(
            f"{view.path}: stored: {said}; write `parquet`, `parquet of` a CTE, or `parquet per partition`, "
            "and maybe `by` and columns"
        )
    queries = {"": view.tree.expression} | {cte.alias: cte.this for cte in view.tree.expression.ctes}
    part = match["cte"] or ""
    if part not in queries:
        raise DefinitionError(f"{view.path}: is stored by its CTE {part}, and has none of that name")
    columns = queries[part].named_selects
    order = tuple(match["order"].split(", ")) if match["order"] else tuple(columns)
    for column in order:
        if column not in columns:
            raise DefinitionError(f"{view.path}: is stored by {column}, and has no such column")
    return Storing(part, order, bool(match["parts"]))


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

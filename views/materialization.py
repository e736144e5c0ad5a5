"""Read how a view is materialized: lines such as `-- stored: parquet by machine, start_s` in its header.

`parquet per partition` computes each partition of the base tables on its own, and again only if files of that
partition changed. The rows of the view must be those over each partition, put together. `parquet of ranked`
stores the rows of that CTE alone, if they are few and expensive, and the view computes the rest.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from tracehouse.views.view_files import DefinitionError, ViewFile

_FORM = re.compile(r"parquet(?: of (?P<cte>\w+)|(?P<parts> per partition))?(?: by (?P<order>\w+(?:, \w+)*))?")


@dataclass(frozen=True)
class Storing:
    """The stored rows of a view: those of a CTE, or of the whole view if empty, with sort columns."""

    cte: str
    order: tuple[str, ...]
    per_partition: bool


@dataclass(frozen=True)
class StoredView:
    """A materialized view: its files below the warehouse, the time in UTC, and its base tables.

    `parts` are the stored CTEs, with an empty name for the whole view, each with its files: those that have
    rows, or one without rows if none has any. `bytes` is the size of all files.
    """

    parts: tuple[tuple[str, tuple[str, ...]], ...]
    bytes: int
    at: datetime
    base_tables: tuple[str, ...]


def storings(view: ViewFile) -> list[Storing]:
    """Read the `stored` lines of a view; none if it is computed. Raises DefinitionError if one is wrong."""
    found = [_storing(view, line) for line in view.header.all("stored")]
    names = [one.cte for one in found]
    if len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise DefinitionError(f"{view.path}: the same part is stored twice")
    return found


def _storing(view: ViewFile, line: str) -> Storing:
    match = _FORM.fullmatch(line)
    if match is None:
        raise DefinitionError(
            f"{view.path}: stored: {line}; write `parquet`, `parquet of` a CTE, or `parquet per partition`, "
            "each optionally with `by` and columns"
        )
    queries = {"": view.tree.expression} | {cte.alias: cte.this for cte in view.tree.expression.ctes}
    part = match["cte"] or ""
    if part not in queries:
        raise DefinitionError(f"{view.path}: stores the CTE {part}, which it does not have")
    columns = queries[part].named_selects
    order = tuple(match["order"].split(", ")) if match["order"] else tuple(columns)
    for column in order:
        if column not in columns:
            raise DefinitionError(f"{view.path}: is sorted by {column}, which it does not have")
    return Storing(part, order, bool(match["parts"]))

"""Read how a view is materialized: lines such as `-- materialize: parquet by machine, start_s` in its header.

The columns after `by` are the sort order of the rows. `parquet per partition` writes a file for each
partition of the base tables, and a new file only if the files of that partition changed. The view's rows must
be the union of its rows over each partition. `parquet of ranked` stores only the rows of the CTE `ranked`, if
they are few and expensive; the view computes the rest.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from tracehouse.views.view_files import DefinitionError, ViewFile

_STORED_LINE = re.compile(
    r"parquet(?: of (?P<cte>\w+)|(?P<parts> per partition))?(?: by (?P<order>\w+(?:, \w+)*))?"
)


@dataclass(frozen=True)
class Storing:
    """A `materialize` line of a view.

    `cte` is the CTE whose rows are stored, or empty for the whole view. `order` are the sort columns.
    """

    cte: str
    order: tuple[str, ...]
    per_partition: bool


@dataclass(frozen=True)
class StoredView:
    """A materialized view: its files below the warehouse, the time in UTC, and its base tables.

    `parts` are pairs of a stored CTE, with an empty name for the whole view, and its files: the files with
    rows, or one file if all are empty. `bytes` is the size of all files.
    """

    parts: tuple[tuple[str, tuple[str, ...]], ...]
    bytes: int
    at: datetime
    base_tables: tuple[str, ...]


def storings(view: ViewFile) -> list[Storing]:
    """Read the `materialize` lines of a view, if any. Raises DefinitionError if one is wrong."""
    found = [_storing(view, line) for line in view.header.all("materialize")]
    names = [one.cte for one in found]
    if len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise DefinitionError(f"{view.path}: the same part is stored twice")
    return found


def _storing(view: ViewFile, line: str) -> Storing:
    match = _STORED_LINE.fullmatch(line)
    if match is None:
        raise DefinitionError(
            f"{view.path}: materialize: {line}; write `parquet`, `parquet of` a CTE, or `parquet per "
            "partition`, each optionally with `by` and columns"
        )
    queries = {"": view.tree.expression} | {cte.alias: cte.this for cte in view.tree.expression.ctes}
    part = match["cte"] or ""
    if part not in queries:
        raise DefinitionError(f"{view.path}: stores the CTE {part}, which it does not have")
    columns = queries[part].named_selects
    order = tuple(match["order"].split(", ")) if match["order"] else tuple(columns)
    for column in order:
        if column not in columns:
            raise DefinitionError(f"{view.path}: sorts by {column}, which is not a column")
    return Storing(part, order, bool(match["parts"]))

"""Read how a view is materialized: a header line such as `-- materialize: parquet by machine, start_s`.

The columns after `by` are the sort order of the rows. `parquet per partition` writes a file for each
partition of the base tables, and a new file only if the files of that partition changed. The view's rows must
be the union of its rows over each partition.
"""

import re
from dataclasses import dataclass

from tracehouse.views.view_files import DefinitionError, ViewFile

_RULE = re.compile(r"parquet(?P<parts> per partition)?(?: by (?P<order>\w+(?:, \w+)*))?")


@dataclass(frozen=True)
class StorageRule:
    """The sort columns of a materialized view, and whether it has a file for each partition."""

    order: tuple[str, ...]
    per_partition: bool


def storage_rule(view: ViewFile) -> StorageRule | None:
    """Read the rule of a view; None if it is computed. Raises DefinitionError if the rule is wrong."""
    line = view.header.one("materialize")
    if not line:
        return None
    match = _RULE.fullmatch(line)
    if match is None:
        raise DefinitionError(
            f"{view.path}: materialize: {line}; write `parquet` or `parquet per partition`, optionally with "
            "`by` and columns"
        )
    columns = view.tree.expression.named_selects
    order = tuple(match["order"].split(", ")) if match["order"] else tuple(columns)
    if unknown := [column for column in order if column not in columns]:
        raise DefinitionError(f"{view.path}: sorts by {unknown[0]}, which is not a column")
    return StorageRule(order, bool(match["parts"]))

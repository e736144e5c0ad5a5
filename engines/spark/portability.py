"""Checks that views and named queries carry over to Spark: `python -m tracehouse.engines.spark.portability`.

What needs DuckDB says so in its header, by the key `engine`, with the construct that is why.
"""

import sys
from collections.abc import Iterable

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.spark.dialect import carried_over
from tracehouse.sql.query_files import QueryFile, query_files
from tracehouse.views.view_files import ViewFile, view_files


def faults(files: Iterable[ViewFile | QueryFile]) -> list[str]:
    """What is wrong: constructs that are not known to carry over, and headers that say so in vain."""
    found = []
    for file in files:
        reason = _refusal(file)
        if reason and not file.header.one("engine"):
            found.append(reason)
        elif file.header.one("engine") and not reason:
            found.append(
                f"{file.path}: it carries over to Spark, and its header says that it needs an engine"
            )
    return found


def _refusal(file: ViewFile | QueryFile) -> str:
    try:
        if isinstance(file, ViewFile):
            carried_over(file.tree.expression, file.path)
        else:
            carried_over(file.tree, file.path, [parameter.name for parameter in file.parameters])
    except DefinitionError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    wrong = faults([*view_files(), *query_files()])
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))

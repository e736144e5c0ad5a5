"""Check that views and named queries translate to Spark: `python -m tracehouse.engines.spark.portability`.

A file that needs DuckDB has an `engine` line in its header that names the construct.
"""

import sys
from collections.abc import Iterable

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.spark.dialect import to_spark
from tracehouse.sql.query_files import QueryFile, query_files
from tracehouse.views.view_files import ViewFile, view_files


def find_problems(files: Iterable[ViewFile | QueryFile]) -> list[str]:
    """Return a message for each file that does not translate, or has an unneeded `engine` line."""
    found = []
    for file in files:
        reason = _refusal(file)
        if reason and not file.header.one("engine"):
            found.append(reason)
        elif file.header.one("engine") and not reason:
            found.append(f"{file.path}: it translates to Spark, so its header needs no `engine` line")
    return found


def _refusal(file: ViewFile | QueryFile) -> str:
    try:
        if isinstance(file, ViewFile):
            to_spark(file.tree.expression, file.path)
        else:
            to_spark(file.tree, file.path, [parameter.name for parameter in file.parameters])
    except DefinitionError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    problems = find_problems([*view_files(), *query_files()])
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))

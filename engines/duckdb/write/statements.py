"""The SQL of views and queries as a database keeps it: as written, but that sums of fractions are exact.

And a query fails on parameters that it forbids.
"""

import re
from functools import cache
from pathlib import Path

import duckdb

from tracehouse.engines.duckdb.write.exact import exact_sums, has_fractions
from tracehouse.engines.duckdb.write.guards import guarded
from tracehouse.sql.query_files import QueryFile
from tracehouse.views.view_files import DefinitionError, ViewFile, line_of

_LINE = re.compile(r"^LINE (\d+):", re.M)


@cache
def view_statements(view: ViewFile, rows: str = "") -> str:
    """The statements that create a view and its comments; `rows` is a select to take instead of its own."""
    statement = f"create or replace view {view.versioned} as {rows}" if rows else view.statement
    if not rows and has_fractions(view.tree):
        statement = exact_sums(view.tree.copy()).sql(dialect="duckdb")
    return ";\n".join([statement, *view.comments])


@cache
def query_statements(query: QueryFile) -> str:
    """The statements that create a query's macro and its comment."""
    body = query.body
    if has_fractions(query.tree):
        body = exact_sums(query.tree.copy()).sql(dialect="duckdb", comments=False)
    return f"{query.signature} {guarded(query, body)};\n{query.comments}"


def sql_error(error: duckdb.Error, path: Path, statement: str, text: str) -> DefinitionError:
    """What DuckDB says of a statement in the text of a file, with the line."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("LINE ", " "))]
    found = _LINE.search(str(error))
    line = line_of(statement, text) + (int(found[1]) - 1 if found else 0)
    return DefinitionError(f"{path}, line {line}: {' '.join(lines)}")

"""The SQL of views and queries as a database keeps it: as written, but that sums of fractions are exact.

And a query fails on parameters that it forbids.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from tracehouse.engines.duckdb.write.exact_sums import exact_sums, has_fractions
from tracehouse.engines.duckdb.write.parameter_checks import guarded
from tracehouse.sql.query_files import QueryFile
from tracehouse.views.view_files import DefinitionError, ViewFile, line_of

_LINE = re.compile(r"^LINE (\d+):", re.M)


@cache
def view_statements(view: ViewFile) -> str:
    """The statements that create a view and its comments."""
    statement = view.statement
    if has_fractions(view.tree):
        statement = exact_sums(view.tree.copy()).sql(dialect="duckdb")
    return ";\n".join([statement, *view.comments])


def reading_statements(view: ViewFile, kept: Mapping[str, str]) -> str:
    """The same for a view that reads rows that are kept: see `query_of`."""
    return ";\n".join([f"create or replace view {view.versioned} as {query_of(view, kept)}", *view.comments])


def query_of(view: ViewFile, kept: Mapping[str, str], cte: str = "") -> str:
    """The query of a view, or of one of its CTEs.

    `kept` has the table functions that give the rows of CTEs, or by an empty name those of the view.
    """
    query = exact_sums(view.tree.copy()).expression
    if not cte and "" in kept:
        return _reading(query, kept[""])
    parts = {
        one.alias: _reading(one.this, kept[one.alias])
        if one.alias in kept
        else one.this.sql(dialect="duckdb")
        for one in query.ctes
    }
    if cte:
        names = [*parts][: [*parts].index(cte) + 1]
        listed = ", ".join(f"{name} as ({parts[name]})" for name in names)
        return f"with {listed} from {cte}"
    for one in query.ctes:
        if one.alias in kept:
            one.set("this", sqlglot.parse_one(parts[one.alias], dialect="duckdb"))
    return query.sql(dialect="duckdb")


def _reading(query: exp.Query, function: str) -> str:
    """The select that gives a query's columns from a table function."""
    listed = ", ".join(f'"{column}"' for column in query.named_selects)
    return f"select {listed} from {function}"


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

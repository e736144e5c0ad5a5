"""Generate the statements that create views and queries in a database.

They are the SQL of the files, and a query fails on parameters outside its choices or range.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

import duckdb
import sqlglot
from sqlglot import exp

from tracehouse.core.text import quoted
from tracehouse.sql.query_files import Parameter, QueryFile
from tracehouse.views.view_files import DefinitionError, ViewFile, line_of

_LINE = re.compile(r"^LINE (\d+):", re.M)


@cache
def view_statements(view: ViewFile) -> str:
    """Return the statements that create a view and its comments."""
    return ";\n".join([*view.unions, view.statement, *view.comments])


def materialized_view_statements(view: ViewFile, functions: Mapping[str, str]) -> str:
    """Return the statements that create a view over files. `functions` is as in `view_query`."""
    query = view_query(view, functions)
    return ";\n".join([f"create or replace view {view.versioned} as {query}", *view.comments])


def view_query(view: ViewFile, functions: Mapping[str, str], cte: str = "") -> str:
    """Return the query of a view, or of one of its CTEs.

    `functions` are the table functions that read the rows of CTEs, by name; an empty name is the whole view.
    """
    query = view.tree.expression
    if not cte and "" in functions:
        return _select_columns(query, functions[""])
    parts = {
        one.alias: _select_columns(one.this, functions[one.alias])
        if one.alias in functions
        else one.this.sql(dialect="duckdb")
        for one in query.ctes
    }
    if cte:
        names = [*parts][: [*parts].index(cte) + 1]
        listed = ", ".join(f"{name} as ({parts[name]})" for name in names)
        return f"with {listed} from {cte}"
    query = query.copy()
    for one in query.ctes:
        if one.alias in functions:
            one.set("this", sqlglot.parse_one(parts[one.alias], dialect="duckdb"))
    return query.sql(dialect="duckdb")


def _select_columns(query: exp.Query, function: str) -> str:
    """Return the select of a query's columns from a table function."""
    listed = ", ".join(f'"{column}"' for column in query.named_selects)
    return f"select {listed} from {function}"


@cache
def query_statements(query: QueryFile) -> str:
    """Return the statements that create a query's macro and its comment."""
    return f"{query.signature} {_add_parameter_checks(query)};\n{query.comments}"


def _add_parameter_checks(query: QueryFile) -> str:
    """Return the SQL of a query that fails if a parameter is outside its choices or range.

    Without it, a misspelt value matches no row, and the empty result looks like an answer.
    """
    limited = [parameter for parameter in query.parameters if parameter.choices or parameter.range]
    columns = cast(exp.Query, query.tree).named_selects
    if not limited or "*" in columns:
        return query.body
    checks = " ".join(_parameter_check(query, parameter) for parameter in limited)
    nulls = ", ".join("null" for _ in columns)
    # The checks are a union, because DuckDB drops a condition on the rows if it knows that no row can match.
    answer = f"select * from ({query.body}\n) as answer"
    return f"{answer} union all select {nulls} where case {checks} else false end"


# NULL is within every range: in some queries it means `any`, as their files say.
def _parameter_check(query: QueryFile, parameter: Parameter) -> str:
    name = parameter.name
    if parameter.range:
        bounds = (parameter.range.at_least, parameter.range.at_most)
        listed = " and ".join(f"cast({quoted(bound)} as {parameter.type})" for bound in bounds)
        allowed, wanted = f"{name} is null or {name} between {listed}", " to ".join(bounds)
    else:
        choices = ", ".join(quoted(choice) for choice in parameter.choices)
        allowed, wanted = f"cast({name} as varchar) in ({choices})", " or ".join(parameter.choices)
    message = quoted(f"{query.full_name}: {name} is {wanted}, not ")
    value = f"coalesce(cast({name} as varchar), 'NULL')"
    return f"when not coalesce({allowed}, false) then error({message} || {value})"


def sql_error(error: duckdb.Error, path: Path, statement: str, text: str) -> DefinitionError:
    """Turn an error of DuckDB into a DefinitionError with the file and the line."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("LINE ", " "))]
    found = _LINE.search(str(error))
    line = line_of(statement, text) + (int(found[1]) - 1 if found else 0)
    return DefinitionError(f"{path}, line {line}: {' '.join(lines)}")

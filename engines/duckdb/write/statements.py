"""Generate the statements that create views and queries in a database.

They are the SQL of the files, and a query fails on parameters outside its choices or range.
"""

import re
from functools import cache
from pathlib import Path
from typing import cast

import duckdb
from sqlglot import exp

from tracehouse.core.text import quoted
from tracehouse.sql.query_files import Parameter, QueryFile
from tracehouse.views.view_files import DefinitionError, line_of

_LINE = re.compile(r"^LINE (\d+):", re.M)


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

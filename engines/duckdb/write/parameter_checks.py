"""Lets a stored query fail on what its parameters' choices and ranges forbid, in whatever client it is asked.

Without, a misspelt value matches no row, and an answer without rows looks like one.
"""

from typing import cast

from sqlglot import exp

from tracehouse.engines.duckdb.names import quoted
from tracehouse.sql.query_files import Parameter, QueryFile


def guarded(query: QueryFile, body: str) -> str:
    """The SQL of a query's answer, which fails where a parameter is not what its file says that it may be."""
    limited = [parameter for parameter in query.parameters if parameter.choices or parameter.range]
    columns = cast(exp.Query, query.tree).named_selects
    if not limited or "*" in columns:
        return body
    failures = " ".join(_failure(query, parameter) for parameter in limited)
    nulls = ", ".join("null" for _ in columns)
    # Beside the answer: a condition on it is left out where DuckDB sees that no row can fit.
    return f"select * from ({body}\n) as answer union all select {nulls} where case {failures} else false end"


# NULL is no value out of a range: where a query gives it a meaning, as `any`, its file says so.
def _failure(query: QueryFile, parameter: Parameter) -> str:
    name = parameter.name
    if parameter.range:
        bounds = (parameter.range.at_least, parameter.range.at_most)
        listed = " and ".join(f"cast({quoted(bound)} as {parameter.type})" for bound in bounds)
        allowed, wanted = f"{name} is null or {name} between {listed}", " to ".join(bounds)
    else:
        choices = ", ".join(quoted(choice) for choice in parameter.choices)
        allowed, wanted = f"cast({name} as varchar) in ({choices})", " or ".join(parameter.choices)
    said = quoted(f"{query.full_name}: {name} is {wanted}, not ")
    return (
        f"when not coalesce({allowed}, false) then error({said} || coalesce(cast({name} as varchar), 'NULL'))"
    )

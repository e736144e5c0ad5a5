"""Sums of fractions that are the same on every run, however many threads add them up.

A sum of doubles depends on the order in which they are added, which differs from run to run with threads.
Views and queries write such a sum as `fsum(x)`, and such a mean as `favg(x)`: DuckDB's Kahan sums, which only
reduce the difference. What is stored adds decimals instead, which is exact, and so the same in any order;
each fraction is rounded to eighteen places first. Where a number is too large for that, or not finite,
DuckDB's plain sum is taken. Over a window the result is a decimal, and such a number is an error.
"""

import json
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

# Whole and fraction apart, as DuckDB multiplies by 10^18 in a double, where a whole number would lose digits.
# A million numbers, each under 10^14, fit what DuckDB adds them up in.
# The fraction has more digits than it needs, as DuckDB before 2.0 adds two of 18 digits in 18 digits.
_DECIMAL = "try_cast(trunc(number) as decimal(14, 0)) + try_cast(number % 1 as decimal(33, 18))"

_EXACT = {
    "fsum": f"""
        case
            when count({_DECIMAL}) = count(number) then cast(sum({_DECIMAL}) as double)
            else sum(number)
        end
    """,
    "favg": f"""
        case
            when count({_DECIMAL}) = count(number)
                then cast(sum({_DECIMAL}) as double) / nullif(count(number), 0)
            else avg(number)
        end
    """,
}
# DuckDB 1.4.0 cannot read a stored macro back that has arithmetic on a window function.
_OR_ERROR = _DECIMAL.replace("try_cast", "cast")
_EXACT_OVER_WINDOW = {"fsum": f"sum({_OR_ERROR})", "favg": f"avg({_OR_ERROR})"}

MEANING = json.dumps([_EXACT, _EXACT_OVER_WINDOW])
"""What decides how sums of fractions are computed."""


def has_fractions(tree: exp.Expr) -> bool:
    """Whether a query adds up fractions."""
    return next(_sums(tree), None) is not None


def exact_sums(tree: exp.Expr) -> exp.Expr:
    """A query with each sum and mean of fractions made exact. The tree is changed."""
    for call in list(_sums(tree)):
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if isinstance(whole.parent, exp.Window):
            call.replace(_written(_EXACT_OVER_WINDOW, call, None))
        else:
            whole.replace(exp.paren(_written(_EXACT, call, whole.args.get("expression")), copy=False))
    return tree


def _sums(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    return (call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _EXACT)


def _written(forms: dict[str, str], call: exp.Anonymous, condition: exp.Expr | None) -> exp.Expr:
    """The SQL stored for a call; the condition of its FILTER, if any, goes to each aggregate in that SQL."""
    [number] = call.expressions
    written = sqlglot.parse_one(forms[call.name.lower()], dialect="duckdb")
    parts = list(written.find_all(exp.Sum, exp.Avg, exp.Count))
    for column in list(written.find_all(exp.Column)):
        column.replace(exp.paren(number.copy(), copy=False))
    if condition is not None:
        for part in parts:
            part.replace(exp.Filter(this=part.copy(), expression=condition.copy()))
    return written

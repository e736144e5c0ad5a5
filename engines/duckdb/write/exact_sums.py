"""Rewrite sums of fractions so that they are the same on every run and any number of threads.

A sum of doubles depends on the order of the additions, which differs from run to run with several threads.
Views and queries write such a sum as `fsum(x)` and such a mean as `favg(x)`, DuckDB's Kahan sums, which only
reduce the difference. The database adds integers instead, which is exact in any order: for each number the
nearest integer, and the remainder in steps of 2^-60. If a number is not finite or too large, the plain sum is
used. Window functions add decimals and return a decimal; there, a number that is not finite or too large is
an error.
"""

import json
from collections.abc import Iterator
from functools import cache

import sqlglot
from sqlglot import exp

_WHOLE = "try_cast(number as bigint)"
# The difference is at most 0.5, and a double represents it exactly. The power of two is a double, because a
# product of integers would overflow.
_LEFT = f"try_cast((number - {_WHOLE}) * pow(2, 60) as bigint)"
_SUM = f"cast(sum({_WHOLE}) as double) + cast(sum({_LEFT}) as double) / pow(2, 60)"

_EXACT = {
    "fsum": f"case when count({_WHOLE}) = count(number) then {_SUM} else sum(number) end",
    "favg": f"""
        case
            when count({_WHOLE}) = count(number) then ({_SUM}) / nullif(count(number), 0)
            else avg(number)
        end
    """,
}
# A window function uses one sum. Five sums, as above, take a third longer, and DuckDB 1.4.0 cannot read back
# a stored macro with arithmetic on them. Integer and fraction are converted separately: DuckDB multiplies by
# 10^18 in a double, where an integer would lose digits. A million numbers below 10^14 fit the type of
# DuckDB's sum. The fraction has spare digits, because DuckDB before 2.0 adds two numbers of 18 digits in 18
# digits.
_DECIMAL = "cast(trunc(number) as decimal(14, 0)) + cast(number % 1 as decimal(33, 18))"
_EXACT_OVER_WINDOW = {"fsum": f"sum({_DECIMAL})", "favg": f"avg({_DECIMAL})"}

MEANING = json.dumps([_EXACT, _EXACT_OVER_WINDOW])
"""The SQL that computes sums of fractions. Names of materialized files contain a hash of it."""


def has_fractions(tree: exp.Expr) -> bool:
    """Return whether a query calls `fsum` or `favg`."""
    return next(_find_sums(tree), None) is not None


def exact_sums(tree: exp.Expr) -> exp.Expr:
    """Make each sum and mean of fractions in a query exact. Changes the tree, and returns it."""
    for call in list(_find_sums(tree)):
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if isinstance(whole.parent, exp.Window):
            call.replace(_expand(_EXACT_OVER_WINDOW, call, None))
        else:
            whole.replace(exp.paren(_expand(_EXACT, call, whole.args.get("expression")), copy=False))
    return tree


def _find_sums(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    return (call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _EXACT)


def _expand(forms: dict[str, str], call: exp.Anonymous, condition: exp.Expr | None) -> exp.Expr:
    """Return the SQL of a call over the numbers that meet the condition of its FILTER, if any."""
    [number] = call.expressions
    # DuckDB would apply a FILTER once per aggregate, which takes twice as long.
    if condition is not None:
        number = exp.Case().when(condition.this, number)
    expanded = _parse(forms[call.name.lower()]).copy()
    for column in list(expanded.find_all(exp.Column)):
        column.replace(exp.paren(number.copy(), copy=False))
    return expanded


@cache
def _parse(form: str) -> exp.Expr:
    return sqlglot.parse_one(form, dialect="duckdb")

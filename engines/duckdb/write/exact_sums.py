"""Sums of fractions that are the same on every run, however many threads add them up.

A sum of doubles depends on the order in which they are added, which differs from run to run with threads.
Views and queries write such a sum as `fsum(x)`, and such a mean as `favg(x)`: DuckDB's Kahan sums, which only
reduce the difference. What is stored adds whole numbers instead, which is exact, and so the same in any
order: of each number the nearest whole one, and what is left of it in steps of 2^-60, rounded to them. Where
a number is not finite, or too large for that, DuckDB's plain sum is taken. Over a window decimals are added,
the result is one, and such a number is an error.
"""

import json
from collections.abc import Iterator
from functools import cache

import sqlglot
from sqlglot import exp

_WHOLE = "try_cast(number as bigint)"
# A double holds the difference exactly, at most a half; the power of two is a double of its own, as the
# product of whole numbers has no room.
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
# Over a window one sum has to do: five, as above, take a third longer, and DuckDB 1.4.0 cannot read a
# stored macro back that has arithmetic on them.
# Whole and fraction apart, as DuckDB multiplies by 10^18 in a double, where a whole number would lose digits.
# A million numbers, each under 10^14, fit what DuckDB adds them up in.
# The fraction has more digits than it needs, as DuckDB before 2.0 adds two of 18 digits in 18 digits.
_DECIMAL = "cast(trunc(number) as decimal(14, 0)) + cast(number % 1 as decimal(33, 18))"
_EXACT_OVER_WINDOW = {"fsum": f"sum({_DECIMAL})", "favg": f"avg({_DECIMAL})"}

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
    """The SQL stored for a call, over the numbers that meet the condition of its FILTER, if any."""
    [number] = call.expressions
    # DuckDB would apply a FILTER anew for each aggregate, which takes twice as long.
    if condition is not None:
        number = exp.Case().when(condition.this, number)
    written = _parsed(forms[call.name.lower()]).copy()
    for column in list(written.find_all(exp.Column)):
        column.replace(exp.paren(number.copy(), copy=False))
    return written


@cache
def _parsed(form: str) -> exp.Expr:
    return sqlglot.parse_one(form, dialect="duckdb")

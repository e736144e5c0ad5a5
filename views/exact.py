"""Sums of fractions that are the same on every run, however many threads add them up.

A sum of doubles depends on the order in which they are added, which threads make up anew each time. Views and
queries write such a sum as `fsum(x)`, and such a mean as `favg(x)`: DuckDB's own sums that carry the error
along, which leaves a small difference. What is stored adds decimals instead, which is exact, and so the same
in any order; each number is rounded to twelve places before, always in the same way. Where one is too large
for that, or no number, DuckDB's plain sum stands. Over a window the exact sum is the only one, and a decimal.
"""

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

# Values of under 10^17, of which a thousand million together still fit what DuckDB adds them up in.
_DECIMAL = "decimal(29, 12)"

_EXACT = {
    "fsum": """
        case
            when count(fitting) = count(number) then cast(sum(fitting) as double)
            else sum(number)
        end
    """,
    "favg": """
        case
            when count(fitting) = count(number) then cast(sum(fitting) as double) / nullif(count(fitting), 0)
            else avg(number)
        end
    """,
}


def has_fractions(tree: exp.Expr) -> bool:
    """Whether a query adds up fractions."""
    return next(_sums(tree), None) is not None


def exact_sums(tree: exp.Expr) -> exp.Expr:
    """A query with each sum and mean of fractions made exact. The tree is changed."""
    for call in list(_sums(tree)):
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if isinstance(whole.parent, exp.Window):
            exact = exp.Sum if call.name.lower() == "fsum" else exp.Avg
            call.replace(exact(this=exp.cast(call.expressions[0].copy(), _DECIMAL)))
        else:
            whole.replace(_exact(call, whole))
    return tree


def _sums(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    return (call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _EXACT)


def _exact(call: exp.Anonymous, whole: exp.Expr) -> exp.Expr:
    """What is stored for a call; `whole` is the call with its filter, if it has one."""
    [number] = call.expressions
    case = sqlglot.parse_one(_EXACT[call.name.lower()], dialect="duckdb")
    parts = list(case.find_all(exp.Sum, exp.Avg, exp.Count))
    for column in list(case.find_all(exp.Column)):
        fitting = exp.TryCast(this=number.copy(), to=exp.DataType.build(_DECIMAL, dialect="duckdb"))
        column.replace(fitting if column.name == "fitting" else number.copy())
    if isinstance(whole, exp.Filter):
        for part in parts:
            part.replace(exp.Filter(this=part.copy(), expression=whole.expression.copy()))
    return exp.paren(case, copy=False)

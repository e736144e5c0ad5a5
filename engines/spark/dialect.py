"""Carries the project's SQL, which is written for DuckDB, over to Spark: a few rewrites, and sqlglot's dialect.

A rewrite stands for each construct that Spark lacks, or that means something else there. What is not known to
mean the same is refused, by name.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import sqlglot
from sqlglot import exp

from tracehouse.ingest.errors import DefinitionError


@dataclass(frozen=True)
class Rewrite:
    """A construct of DuckDB's that is written differently for Spark: what stands for it, and why.

    `rewritten` gives the expression that stands for a node of the tree, or None where it is not concerned.
    """

    construct: str
    written_as: str
    why: str
    rewritten: Callable[[exp.Expr], exp.Expr | None]


# Functions and constructs that sqlglot carries over, and that were seen to answer the same (see `docs/spark.md`).
SAME = frozenset(
    {
        *("Abs", "And", "Array", "ArrayContains", "Avg", "Case", "Cast", "Ceil", "Coalesce", "ConcatWs", "Count"),
        *("CumeDist", "Explode", "Floor", "Greatest", "Grouping", "If", "Lag", "Lead", "Least", "Length", "Log"),
        *("LogicalOr", "Lower", "Max", "Median", "Min", "Nullif", "Or", "Pow", "Rank", "Replace", "RowNumber"),
        *("Split", "SplitPart", "Sqrt", "Sum", "Trunc"),
    }
)
# What a tree may hold beside functions, that is not the same in Spark.
REFUSED = {
    exp.Pivot: "pivot and unpivot",
    exp.PositionalColumn: "columns by position",
}


def _decimal(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdecimal():
        return exp.cast(node, "double")
    return None


def _function(name: str, written: Callable[[exp.Anonymous], exp.Expr]) -> Callable[[exp.Expr], exp.Expr | None]:
    """The rewrite of calls of a function that sqlglot does not know."""

    def rewritten(node: exp.Expr) -> exp.Expr | None:
        is_meant = isinstance(node, exp.Anonymous) and node.name.lower() == name
        return written(cast(exp.Anonymous, node)) if is_meant else None

    return rewritten


def _class(kind: type[exp.Expr], written: Callable[[exp.Expr], exp.Expr]) -> Callable[[exp.Expr], exp.Expr | None]:
    """The rewrite of nodes of one class."""
    return lambda node: written(node) if isinstance(node, kind) else None


def _micros(time: exp.Expr) -> exp.Expr:
    # A day is no time in Spark.
    return exp.func("unix_micros", exp.cast(time.copy(), "timestamptz"))


def _double(number: float | str) -> exp.Expr:
    return exp.cast(exp.Literal.string(str(number)), "double")


def _epoch(node: exp.Expr) -> exp.Expr:
    return exp.paren(exp.Div(this=_micros(node.this), expression=_double(1e6)))


def _is_finite(node: exp.Anonymous) -> exp.Expr:
    # A time is a number of seconds.
    magnitude = exp.Abs(this=exp.cast(node.expressions[0].copy(), "double"))
    return exp.paren(exp.LT(this=magnitude, expression=_double("Infinity")))


def _round(node: exp.Expr) -> exp.Expr:
    digits = node.args.get("decimals")
    if digits is None:
        return node
    number = node.this
    scale = exp.func("pow", _double(10), exp.Abs(this=digits.copy()))
    up = exp.Round(this=exp.Mul(this=exp.paren(number.copy()), expression=scale.copy()))
    down = exp.Round(this=exp.Div(this=exp.paren(number.copy()), expression=scale.copy()))
    fraction = exp.Div(this=up, expression=scale.copy())
    if digits.is_int and int(digits.name) >= 0:
        return exp.paren(fraction)
    whole = exp.Mul(this=down, expression=scale.copy())
    return exp.If(this=exp.GTE(this=digits.copy(), expression=exp.Literal.number(0)), true=fraction, false=whole)


def _series(node: exp.Expr) -> exp.Expr:
    start, end, step = (node.args.get(name) for name in ("start", "end", "step"))
    if step is not None or start is None or end is None:
        raise DefinitionError("generate_series with a step does not carry over to Spark")
    is_rising = exp.GTE(this=end.copy(), expression=start.copy())
    return exp.If(
        this=is_rising, true=exp.func("sequence", start.copy(), end.copy()), false=exp.Array()
    )


REWRITES = (
    Rewrite("3600.0", "cast(3600.0 as double)", "a decimal loses digits in a division", _decimal),
    Rewrite("fsum(x)", "sum(x)", "Spark has no sum of its kind", _function("fsum", lambda n: exp.Sum(this=n.expressions[0]))),
    Rewrite("favg(x)", "avg(x)", "Spark has no mean of its kind", _function("favg", lambda n: exp.Avg(this=n.expressions[0]))),
    Rewrite("epoch_us(t)", "unix_micros(cast(t as timestamp))", "its name", _function("epoch_us", lambda n: _micros(n.expressions[0]))),
    Rewrite("epoch(t)", "unix_micros(t) / 1e6", "Spark's drops the fraction", _class(exp.TimeToUnix, _epoch)),
    Rewrite("to_timestamp(s)", "timestamp_seconds(s)", "Spark's takes a text", _class(exp.UnixToTime, lambda n: exp.func("timestamp_seconds", n.this))),
    Rewrite("to_seconds(s)", "make_interval(0, 0, 0, 0, 0, 0, s)", "its name", _function("to_seconds", lambda n: exp.func("make_interval", *[exp.Literal.number(0)] * 6, *n.expressions))),
    Rewrite("isfinite(x)", "abs(cast(x as double)) < cast('Infinity' as double)", "Spark has no such function", _function("isfinite", _is_finite)),
    Rewrite("quantile_cont(x, q)", "percentile(x, q)", "its name", _class(exp.PercentileCont, lambda n: exp.func("percentile", n.this, n.expression))),
    Rewrite("round(x, n)", "round(x * pow(10, n)) / pow(10, n)", "Spark rounds the decimal digits that it would print, and to a constant number of them", _class(exp.Round, _round)),
    Rewrite("generate_series(a, b)", "if(b >= a, sequence(a, b), array())", "Spark's counts down where b is less", _class(exp.GenerateSeries, _series)),
)


def type_of(kind: str) -> str:
    """Spark's name of a type of DuckDB's. What adds up integers is an integer in Spark too, of 64 bits."""
    narrow = kind.replace("HUGEINT", "BIGINT").replace("JSON", "VARCHAR")
    return exp.DataType.build(narrow, dialect="duckdb").sql("spark")


def carried_over(tree: exp.Expr, place: Path | str, parameters: Collection[str] = ()) -> str:
    """A query in Spark's SQL. `parameters` are the names in it that stand for values.

    Raises DefinitionError where it has a construct that is not known to mean the same in Spark.
    """
    _check(tree, place)
    carried = tree.copy()
    for select in list(carried.find_all(exp.Select)):
        _qualify_grouping(select)
        _bring_in(select, parameters)
    # Last to first, so that what a node holds is rewritten before the node itself.
    for node in reversed(list(carried.dfs())):
        if (rewritten := _rewrite(node)) is not None and rewritten is not node:
            node.replace(rewritten)
    return carried.sql(dialect="spark", comments=False)


def _check(tree: exp.Expr, place: Path | str) -> None:
    for node in tree.walk():
        for kind, name in REFUSED.items():
            if isinstance(node, kind):
                raise DefinitionError(f"{place}: {name} does not carry over to Spark")
        if isinstance(node, exp.Func) and type(node).__name__ not in SAME and _rewrite(node) is None:
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            raise DefinitionError(f"{place}: {name.lower()} is not known to carry over to Spark")


def _rewrite(node: exp.Expr) -> exp.Expr | None:
    return next((found for rewrite in REWRITES if (found := rewrite.rewritten(node)) is not None), None)


def _qualify_grouping(select: exp.Select) -> None:
    """Say whose column `grouping(x)` is about: Spark takes it for the alias that hides it."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return
    for call in _own(select, exp.Grouping):
        for column in call.find_all(exp.Column):
            if not column.table:
                column.set("table", exp.to_identifier(source.this.alias_or_name))


def _bring_in(select: exp.Select, parameters: Collection[str]) -> None:
    """Let parameters inside an aggregate be columns: Spark allows no other way to use them beside columns."""
    used = {
        column.name
        for aggregate in _own(select, exp.AggFunc, exp.Filter)
        for column in aggregate.find_all(exp.Column)
        if not column.table and column.name in parameters
    }
    if used:
        values = exp.select(*(exp.alias_(exp.column(name), name) for name in sorted(used)))
        select.join(values.subquery("arguments"), join_type="cross", copy=False)


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of some classes in a select, those of the selects inside it left out."""
    return [node for node in select.find_all(*kinds) if node.find_ancestor(exp.Select) is select]

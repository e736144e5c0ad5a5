"""Translate the project's SQL from DuckDB to Spark, with sqlglot and a few rewrites.

Each construct that Spark lacks or interprets differently has a rewrite. A construct that is not known to mean
the same is refused with an error that names it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.views.macros import inlined

# Functions that sqlglot translates and that return the same values in Spark. `round` with digits has a
# rewrite.
SAME = frozenset(
    {
        *("Abs", "And", "Array", "Avg", "BitwiseOrAgg", "Case", "Cast", "Coalesce", "ConcatWs", "Count"),
        *("CumeDist", "Exp", "Explode", "Greatest", "Grouping", "If", "Lag", "Lead", "Least", "Length"),
        *("LogicalOr", "Lower", "Max", "MD5", "Median", "Min", "Nullif", "Or", "Pow", "Rank", "Replace"),
        *("Round", "RowNumber", "Split", "SplitPart", "Sqrt", "Struct", "Sum"),
    }
)


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of some classes in a select, without those of nested selects."""
    return [node for node in select.find_all(*kinds) if node.find_ancestor(exp.Select) is select]


def _is_cast_to(node: exp.Expr, *kinds: exp.DType) -> bool:
    return isinstance(node, exp.Cast) and node.to.this in kinds


def _splits_by_unknown(node: exp.Expr) -> bool:
    by = node.args.get("delimiter") or node.expression
    # Spark splits by an empty text differently. It splits by a regular expression, so sqlglot quotes the text
    # between \Q and \E.
    return not (isinstance(by, exp.Literal) and by.is_string and by.this and r"\E" not in by.this)


def _takes_unknown_part(node: exp.SplitPart) -> bool:
    part = node.args["part_index"]
    return not (isinstance(part, exp.Literal | exp.Neg) and part.is_int) or part.sql() == "0"


def _may_be_decimal(node: exp.Expr) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return not node.is_string and "." in node.this
    parts = node.iter_expressions() if isinstance(node, exp.Neg | exp.Add | exp.Sub | exp.Mul) else ()
    return any(_may_be_decimal(part) for part in parts)


def _casts_decimal(node: exp.Cast) -> bool:
    # DuckDB rounds half away from 0 for decimals, and half to even for doubles.
    return node.to.this in exp.DataType.INTEGER_TYPES and _may_be_decimal(node.this)


def _casts_to_other_width(node: exp.Cast) -> bool:
    return node.to.this in exp.DataType.INTEGER_TYPES - {exp.DType.BIGINT, exp.DType.INT}


def _subtracts_unknown(node: exp.Sub) -> bool:
    # The difference of two dates is an interval in Spark.
    sides = [_is_cast_to(side.unnest(), exp.DType.DATE) for side in (node.this, node.expression)]
    return sides in ([True, False], [False, True]) and not isinstance(
        node.expression.unnest(), exp.Interval | exp.Literal
    )


def _measures_list(node: exp.Length) -> bool:
    return isinstance(node.this, exp.Array | exp.Split | exp.GenerateSeries)


def _has_computed_bound(node: exp.WindowSpec) -> bool:
    bounds = (node.args.get("start"), node.args.get("end"))
    return any(isinstance(bound, exp.Expr) and bound.find(exp.Column) for bound in bounds)


def _orders_by_window(node: exp.Order) -> bool:
    return isinstance(node.parent, exp.Query) and node.find(exp.Window) is not None


def _reads_no_percentile(node: exp.Bracket) -> bool:
    return not isinstance(node.this, exp.PercentileCont)


def _always(_: exp.Expr) -> bool:
    return True


# Other constructs that Spark lacks or interprets differently: node class, condition, name, and advice.
REFUSED: tuple[tuple[type[exp.Expr], Callable[[Any], bool], str, str], ...] = (
    (exp.Pivot, _always, "pivot", "aggregate with `filter` for each column"),
    (exp.PositionalColumn, _always, "a column by its position", "name the column"),
    (exp.Bracket, _reads_no_percentile, "an element or a slice of a list", "unnest the list"),
    (exp.Comprehension, _always, "a list comprehension", "unnest the list"),
    (exp.Length, _measures_list, "the length of a list", "unnest the list and count"),
    (exp.Select, lambda node: len(_own(node, exp.Explode)) > 1, "a second unnest", "put each into a CTE"),
    (exp.AtTimeZone, _always, "at time zone", "add the offset with `to_seconds`"),
    (exp.Sub, _subtracts_unknown, "a date minus a value of an unknown type", "cast both to `date`"),
    (exp.Cast, _casts_decimal, "a cast of a decimal number to an integer", "round it first"),
    (exp.Cast, _casts_to_other_width, "a cast to this type", "use `integer` or `bigint`"),
    (exp.Escape, _always, "like with escape", "compare the text, or a part from `split_part`, with `=`"),
    (exp.Split, _splits_by_unknown, "a split by an empty or computed text", "split by a constant"),
    (exp.SplitPart, _splits_by_unknown, "a split by an empty or computed text", "split by a constant"),
    (exp.SplitPart, _takes_unknown_part, "part 0 of a split, or a computed one", "use a constant from 1"),
    (exp.WithinGroup, _always, "within group", "use `quantile_cont(x, q)`"),
    (exp.WindowSpec, lambda node: node.args.get("exclude"), "exclude in a window", "subtract the value"),
    (exp.Order, _orders_by_window, "a window function in order by", "compute it in a CTE"),
    (exp.WindowSpec, _has_computed_bound, "a parameter as a bound of a window", "write a constant"),
)


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of a DuckDB construct for Spark, and its reason. A column name stands for any expression."""

    construct: str
    spark_form: str
    reason: str
    applies: Callable[[Any], bool] = _always
    """An additional condition on nodes that match the construct."""

    def apply(self, node: exp.Expr) -> exp.Expr | None:
        """Return the replacement of a node, or None if the node does not match the construct."""
        pattern = _parsed(self.construct, "duckdb")
        if type(pattern) is not type(node) or (parts := _match(pattern, node)) is None:
            return None
        if not self.applies(node):
            return None
        written = _parsed(self.spark_form, "spark").copy()
        for name in list(written.find_all(exp.Column)):
            part = parts[name.name].copy()
            name.replace(part if isinstance(name.parent, exp.Func) else exp.paren(part))
        return written


@cache
def _parsed(sql: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect=dialect)


def _match(pattern: Any, node: Any) -> Mapping[str, exp.Expr] | None:
    """Return the expressions that match a pattern's columns, or None if the node does not match."""
    if isinstance(pattern, exp.Column):
        return {pattern.name: node} if isinstance(node, exp.Expr) else None
    if isinstance(pattern, list) and isinstance(node, list) and len(pattern) == len(node):
        found = [_match(*pair) for pair in zip(pattern, node, strict=True)]
    elif (
        isinstance(pattern, exp.Expr) and isinstance(node, exp.Expr) and type(pattern) is type(node.unnest())
    ):
        theirs = node.unnest().args
        found = [_match(pattern.args.get(key), theirs.get(key)) for key in {*pattern.args, *theirs}]
    else:
        is_same = not (pattern or node) or str(pattern).lower() == str(node).lower()
        return {} if is_same else None
    return None if None in found else {name: part for parts in found if parts for name, part in parts.items()}


def _may_be_fraction(node: exp.Cast) -> bool:
    """Whether a value that is cast may have a fraction, as far as its SQL expression shows.

    A rewritten value is an `if`.
    """
    value = node.this.unnest()
    if isinstance(value, exp.If):
        value = value.args["true"]
    whole = exp.Floor | exp.Ceil | exp.IntDiv | exp.Count | exp.RowNumber | exp.Null | exp.Literal
    return not isinstance(value, whole)


def _is_no_literal(node: exp.Cast) -> bool:
    return not isinstance(node.this, exp.Null | exp.Literal)


def _has_base(node: exp.Log) -> bool:
    return isinstance(node.this, exp.Literal) and float(node.this.this) > 1


def _may_have_escape(node: exp.Expr) -> bool:
    return not isinstance(node.expression, exp.Literal) or "\\" in node.expression.this


def _is_number_or_instant(node: exp.Anonymous) -> bool:
    return not _is_cast_to(node.expressions[0], exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


INFINITY = "cast('Infinity' as double)"
# Larger doubles have no fraction, and may exceed BIGINT.
SMALL = "abs(x) < 9.007199254740992e15"
NO_LOGARITHM = "raise_error('cannot take the logarithm of 0 or less')"
NO_TEXT = (
    "raise_error('Spark writes fractions and times with a zone differently from DuckDB: "
    "cast them to an integer or to timestamp first')"
)
SCALE = "pow(1e1, abs(n))"
BEHIND_POINT = f"round(x * {SCALE}) / {SCALE}"
BEFORE_POINT = f"round(x / {SCALE}) * {SCALE}"
# If the scale overflows, rounding keeps all digits (n >= 0) or returns 0 (n < 0).
ROUNDED = (
    f"case when n >= 0 then if(abs({BEHIND_POINT}) < {INFINITY}, {BEHIND_POINT}, x) "
    f"when n < 0 then if(abs({BEFORE_POINT}) < {INFINITY}, {BEFORE_POINT}, "
    f"if({SCALE} = {INFINITY} and abs(x) < {INFINITY}, 0e0, x)) end"
)
ESCAPED = r"replace(y, '\\', '\\\\')"
IS_FRACTION = "typeof(x) in ('double', 'float')"


REWRITES = (
    Rewrite("epoch_us(t)", "unix_micros(cast(t as timestamp))", "other name"),
    Rewrite("epoch(t)", "(unix_micros(cast(t as timestamp)) / 1e6)", "Spark drops fractions"),
    Rewrite(
        "to_timestamp(s)",
        "timestamp_micros(cast(rint(cast(s as double) * 1e6) as bigint))",
        "Spark's takes a text",
    ),
    Rewrite("to_seconds(s)", "make_interval(0, 0, 0, 0, 0, 0, s)", "other name"),
    # Casting a time with a zone gives its seconds.
    Rewrite("isfinite(x)", f"(abs(cast(x as double)) < {INFINITY})", "Spark has none", _is_number_or_instant),
    Rewrite(
        "bit_count(x)", "bit_count(cast(x as bigint))", "equal, except for negative numbers below 64 bits"
    ),
    Rewrite("quantile_cont(x, q)", "percentile(x, q)", "other name"),
    Rewrite("q[n]", "element_at(q, n)", "Spark's brackets count from 0"),
    Rewrite("round(x, n)", ROUNDED, "Spark rounds the printed digits, and needs a constant number of them"),
    Rewrite("trunc(x)", f"if({SMALL}, cast(x as bigint), x)", "Spark's is for dates"),
    Rewrite("floor(x)", f"if({SMALL}, floor(x), x)", "Spark's is a BIGINT"),
    Rewrite("ceil(x)", f"if({SMALL}, ceil(x), x)", "Spark's is a BIGINT"),
    Rewrite("ln(x)", f"if(x <= 0, {NO_LOGARITHM}, ln(x))", "Spark's is NULL where x is 0 or less"),
    Rewrite("log(x)", f"if(x <= 0, {NO_LOGARITHM}, log10(x))", "Spark's is natural, or NULL"),
    Rewrite("log(b, x)", f"if(x <= 0, {NO_LOGARITHM}, log(b, x))", "Spark's is natural, or NULL", _has_base),
    *(
        Rewrite(
            f"cast(x as {kind})",
            f"if({IS_FRACTION}, cast(rint(cast(x as double)) as {kind}), cast(x as {kind}))",
            "Spark truncates",
            _may_be_fraction,
        )
        for kind in ("bigint", "integer")
    ),
    Rewrite(
        "cast(x as text)",
        f"if(typeof(x) in ('double', 'float', 'timestamp'), {NO_TEXT}, cast(x as string))",
        "Spark writes other texts",
        _is_no_literal,
    ),
    Rewrite(
        "list_contains(x, y)",
        "if(x is null or y is null, null, coalesce(array_contains(x, y), false))",
        "Spark's is NULL where a list has a NULL",
    ),
    *(
        Rewrite(f"x {like} y", f"x {like} {ESCAPED}", "Spark has a default escape", _may_have_escape)
        for like in ("like", "not like", "ilike", "not ilike")
    ),
    Rewrite(
        "cast(x as date) - cast(y as date)",
        "cast(datediff(cast(x as date), cast(y as date)) as bigint)",
        "Spark's is an interval",
    ),
    Rewrite(
        "generate_series(a, b)",
        "case when b >= a then sequence(a, b) when b < a then array() end",
        "Spark counts down where b is less",
    ),
)
# Rewrites by `_rewrite`, `_qualify_grouping` and `_join_parameters`, for the table in docs/spark.md.
OTHERS = (
    ("stats.fsum(x)", "sum(x)", "equal except for the last digits"),
    ("3600.0", "cast(3600.0 as double)", "decimal division loses digits"),
    ("grouping(x)", "grouping(t.x)", "Spark would take x for the alias"),
    ("sum(x) filter (where p or y)", "… cross join (select p as p)", "Spark allows no parameter p there"),
)


def spark_type(kind: str) -> str:
    """Return the Spark type of a DuckDB type. HUGEINT, the type of integer sums, is BIGINT in Spark."""
    known = kind.replace("HUGEINT", "BIGINT").replace("JSON", "VARCHAR")
    return exp.DataType.build(known, dialect="duckdb").sql("spark")


def to_spark(tree: exp.Expr, place: Path | str, parameters: Collection[str] = ()) -> str:
    """Translate a query to Spark SQL. `parameters` are the names of its parameters.

    Raises DefinitionError for a construct that is not known to mean the same in Spark.
    """
    translated = inlined(tree, place)
    _check(translated, place)
    for select in list(translated.find_all(exp.Select)):
        _qualify_grouping(select)
        _join_parameters(select, parameters, place)
    # From last to first, so that children are rewritten before their parents.
    for node in reversed(list(translated.dfs())):
        rewritten = _rewrite(node)
        if rewritten is not None:
            node.replace(rewritten)
    return translated.sql(dialect="spark", comments=False)


def _check(tree: exp.Expr, place: Path | str) -> None:
    for node in tree.walk():
        refused = next((why for kind, holds, *why in REFUSED if isinstance(node, kind) and holds(node)), None)
        if isinstance(node, exp.Func) and type(node).__name__ not in SAME and _rewrite(node) is None:
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            refused = [name.lower(), "use a function that the table there lists"]
        if refused:
            construct, instead = refused
            raise DefinitionError(
                f"{place}: {construct} does not translate to Spark (see docs/spark.md): {instead}"
            )


def _rewrite(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdecimal():
        return exp.cast(node.copy(), "double")
    return next((found for one in REWRITES if (found := one.apply(node)) is not None), None)


def _qualify_grouping(select: exp.Select) -> None:
    """Qualify the column of `grouping(x)`, which Spark would take for an alias."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return
    if not source.this.alias_or_name and isinstance(source.this, exp.Subquery):
        source.this.set("alias", exp.TableAlias(this=exp.to_identifier("grouped")))
    for call in _own(select, exp.Grouping):
        for column in call.find_all(exp.Column):
            if not column.table:
                column.set("table", exp.to_identifier(source.this.alias_or_name))


def _join_parameters(select: exp.Select, parameters: Collection[str], place: Path | str) -> None:
    """Turn parameters inside an aggregate into columns: Spark allows no parameters there."""
    used = {
        column.name
        for aggregate in _own(select, exp.AggFunc, exp.Filter)
        for column in aggregate.find_all(exp.Column)
        if not column.table and column.name in parameters
    }
    if used and (select.is_star or select.args.get("from_") is None):
        raise DefinitionError(
            f"{place}: an aggregate uses the parameter {min(used)}, for which Spark needs another column: "
            "list the columns instead of *, and add a from clause"
        )
    if used:
        values = exp.select(*(exp.alias_(exp.column(name), name) for name in sorted(used)))
        select.join(values.subquery("arguments"), join_type="cross", copy=False)

"""Translate the project's SQL from DuckDB to Spark, with sqlglot and a few rewrites.

Each construct that Spark lacks, or that means something else there, has a rewrite. A construct that is not
known to mean the same is refused by name.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from tracehouse.core.errors import DefinitionError

Rewriter = Callable[[exp.Expr], exp.Expr | None]
"""Returns the replacement of a node, or None where it does not apply."""


@dataclass(frozen=True)
class Rewrite:
    """A DuckDB construct with its Spark form, and the reason."""

    construct: str
    spark_form: str
    reason: str
    apply: Rewriter


# Functions that sqlglot translates and that return the same.
SAME = frozenset(
    {
        *("Abs", "And", "Array", "ArrayContains", "Avg", "Case", "Cast", "Ceil", "Coalesce", "ConcatWs"),
        *(
            "Count",
            "CumeDist",
            "Exp",
            "Explode",
            "Floor",
            "Greatest",
            "Grouping",
            "If",
            "Lag",
            "Lead",
            "Least",
        ),
        *("Length", "Log", "LogicalOr", "Lower", "Max", "Median", "Min", "Nullif", "Or", "Pow", "Rank"),
        *("Replace", "RowNumber", "Split", "SplitPart", "Sqrt", "Sum"),
    }
)
# Other constructs that Spark lacks or interprets differently.
REFUSED: dict[type[exp.Expr], str] = {
    exp.Pivot: "pivot",
    exp.PositionalColumn: "a column by its position",
    exp.Slice: "a slice of a list",
    exp.Comprehension: "a list comprehension",
}


def _decimal(node: exp.Expr) -> exp.Expr | None:
    is_decimal = isinstance(node, exp.Literal) and not node.is_string and not node.this.isdecimal()
    return exp.cast(node.copy(), "double") if is_decimal else None


def _called(name: str, written: Callable[[exp.Expr], exp.Expr]) -> Rewriter:
    """The rewrite of a one-argument function that sqlglot does not know."""

    def rewritten(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Anonymous) and node.name.lower() == name:
            return written(node.expressions[0].copy())
        return None

    return rewritten


def _kind(kind: type[exp.Expr], written: Rewriter) -> Rewriter:
    return lambda node: written(node) if isinstance(node, kind) else None


def _double(text: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), "double")


def _micros(time: exp.Expr) -> exp.Expr:
    # In Spark a date is not a timestamp.
    return exp.func("unix_micros", exp.cast(time, "timestamptz"))


def _epoch(node: exp.Expr) -> exp.Expr:
    return exp.paren(exp.Div(this=_micros(node.this.copy()), expression=_double("1e6")))


def _is_finite(value: exp.Expr) -> exp.Expr:
    # Casting a time gives its seconds.
    magnitude = exp.Abs(this=exp.cast(value, "double"))
    return exp.paren(exp.LT(this=magnitude, expression=_double("Infinity")))


def _seconds(number: exp.Expr) -> exp.Expr:
    return exp.func("make_interval", *[exp.Literal.number(0)] * 6, number)


def _rounded(node: exp.Expr) -> exp.Expr | None:
    digits = node.args.get("decimals")
    if digits is None:
        # Rounding to a whole number is the same in both.
        return node
    number = exp.paren(node.this.copy())
    scale = exp.func("pow", _double("10"), exp.Abs(this=digits.copy()))
    behind_the_point = exp.Div(this=exp.Round(this=exp.Mul(this=number, expression=scale)), expression=scale)
    before_it = exp.Mul(this=exp.Round(this=exp.Div(this=number, expression=scale)), expression=scale)
    is_behind = exp.GTE(this=digits.copy(), expression=exp.Literal.number(0))
    return exp.If(this=is_behind, true=behind_the_point.copy(), false=before_it.copy())


def _truncated(node: exp.Expr) -> exp.Expr:
    number = exp.paren(node.this.copy())
    # Larger doubles have no fraction, and may exceed BIGINT.
    is_small = exp.LT(this=exp.Abs(this=number), expression=_double("9007199254740992"))
    return exp.If(this=is_small, true=exp.cast(number.copy(), "bigint"), false=number.copy())


def _log(node: exp.Expr) -> exp.Expr:
    return node if node.expression else exp.func("log10", node.this.copy())


def _ln(node: exp.Expr) -> exp.Expr:
    number = node.this.copy()
    error = exp.func("raise_error", exp.Literal.string("cannot take the logarithm of 0 or less"))
    return exp.If(
        this=exp.LTE(this=exp.paren(number), expression=exp.Literal.number(0)), true=error, false=node.copy()
    )


def _series(node: exp.Expr) -> exp.Expr | None:
    start, end = node.args["start"], node.args["end"]
    if node.args.get("step") or node.args.get("is_end_exclusive"):
        return None
    numbers = exp.func("sequence", start.copy(), end.copy())
    return exp.If(this=exp.GTE(this=end.copy(), expression=start.copy()), true=numbers, false=exp.Array())


REWRITES = (
    Rewrite("3600.0", "cast(3600.0 as double)", "decimal division loses digits", _decimal),
    Rewrite(
        "fsum(x)", "sum(x)", "equal except for the last digits", _called("fsum", lambda x: exp.Sum(this=x))
    ),
    Rewrite(
        "favg(x)", "avg(x)", "equal except for the last digits", _called("favg", lambda x: exp.Avg(this=x))
    ),
    Rewrite("epoch_us(t)", "unix_micros(cast(t as timestamp))", "other name", _called("epoch_us", _micros)),
    Rewrite("epoch(t)", "unix_micros(t) / 1e6", "Spark drops fractions", _kind(exp.TimeToUnix, _epoch)),
    Rewrite(
        "to_timestamp(s)",
        "timestamp_seconds(s)",
        "Spark's takes a text",
        _kind(exp.UnixToTime, lambda node: exp.func("timestamp_seconds", node.this.copy())),
    ),
    Rewrite(
        "to_seconds(s)", "make_interval(0, 0, 0, 0, 0, 0, s)", "other name", _called("to_seconds", _seconds)
    ),
    Rewrite(
        "isfinite(x)",
        "abs(cast(x as double)) < cast('Infinity' as double)",
        "Spark has none",
        _called("isfinite", _is_finite),
    ),
    Rewrite(
        "quantile_cont(x, q)",
        "percentile(x, q)",
        "other name",
        _kind(exp.PercentileCont, lambda n: exp.func("percentile", n.this.copy(), n.expression.copy())),
    ),
    Rewrite(
        "round(x, n)",
        "round(x * pow(10, n)) / pow(10, n)",
        "Spark rounds the printed digits, and needs a constant number of them",
        _kind(exp.Round, _rounded),
    ),
    Rewrite(
        "trunc(x)",
        "if(abs(x) < 9007199254740992, cast(x as bigint), x)",
        "Spark's is for dates",
        _kind(exp.Trunc, _truncated),
    ),
    Rewrite(
        "ln(x)",
        "if(x <= 0, raise_error(…), ln(x))",
        "Spark's is NULL where DuckDB's fails",
        _kind(exp.Ln, _ln),
    ),
    Rewrite("log(x)", "log10(x)", "Spark's is the natural logarithm", _kind(exp.Log, _log)),
    Rewrite(
        "generate_series(a, b)",
        "if(b >= a, sequence(a, b), array())",
        "Spark counts down where b is less",
        _kind(exp.GenerateSeries, _series),
    ),
)
# Rewrites of a whole select; see below.
OF_SELECTS = (
    ("grouping(x)", "grouping(t.x)", "Spark would take x for the alias"),
    ("sum(x) filter (where p or y)", "… cross join (select p as p)", "Spark allows no parameter p there"),
)


def spark_type(kind: str) -> str:
    """The Spark type of a DuckDB type. Sums of integers are 64-bit integers in Spark."""
    known = kind.replace("HUGEINT", "BIGINT").replace("JSON", "VARCHAR")
    return exp.DataType.build(known, dialect="duckdb").sql("spark")


def to_spark(tree: exp.Expr, place: Path | str, parameters: Collection[str] = ()) -> str:
    """Translate a query to Spark SQL. `parameters` are the names of its parameters.

    Raises DefinitionError for a construct that is not known to mean the same in Spark.
    """
    _check(tree, place)
    translated = tree.copy()
    for select in list(translated.find_all(exp.Select)):
        _qualify_grouping(select)
        _join_parameters(select, parameters, place)
    # From last to first, so that children are rewritten before their parents.
    for node in reversed(list(translated.dfs())):
        rewritten = _rewrite(node)
        if rewritten is not None and rewritten is not node:
            node.replace(rewritten)
    return translated.sql(dialect="spark", comments=False)


def _check(tree: exp.Expr, place: Path | str) -> None:
    for node in tree.walk():
        refused = next((name for kind, name in REFUSED.items() if isinstance(node, kind)), "")
        if isinstance(node, exp.Func) and type(node).__name__ not in SAME and _rewrite(node) is None:
            refused = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
        if refused:
            raise DefinitionError(f"{place}: {refused} does not translate to Spark (see docs/spark.md)")


def _rewrite(node: exp.Expr) -> exp.Expr | None:
    return next((found for one in REWRITES if (found := one.apply(node)) is not None), None)


def _qualify_grouping(select: exp.Select) -> None:
    """Qualify the column of `grouping(x)`, which Spark would take for an alias."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return
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


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of some classes in a select, without those of nested selects."""
    return [node for node in select.find_all(*kinds) if node.find_ancestor(exp.Select) is select]

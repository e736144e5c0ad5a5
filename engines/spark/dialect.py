"""Translate the project's SQL from DuckDB to Spark, with sqlglot and a few rewrites.

Each construct that Spark lacks, or that means something else there, has a rewrite. A construct that is not
known to mean the same is refused by name.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        *("Abs", "And", "Array", "Avg", "Case", "Cast", "Coalesce", "ConcatWs"),
        *("Count", "CumeDist", "Exp", "Explode", "Greatest", "Grouping", "If", "Lag"),
        *("Lead", "Least", "Length", "LogicalOr", "Lower", "Max", "Median", "Min"),
        *("Nullif", "Or", "Pow", "Rank", "Replace", "RowNumber", "Split", "SplitPart"),
        *("Sqrt", "Sum"),
    }
)
# Other constructs that Spark lacks or interprets differently.
REFUSED: dict[type[exp.Expr], str] = {
    exp.Pivot: "pivot",
    exp.PositionalColumn: "a column by its position",
    exp.Bracket: "an element or a slice of a list",
    exp.Comprehension: "a list comprehension",
    exp.AtTimeZone: "at time zone",
    exp.Escape: "like with escape",
    exp.WithinGroup: "within group",
}


def _is_number(node: exp.Expr | None) -> bool:
    if isinstance(node, exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string


def _is_cast_to(node: exp.Expr, *kinds: exp.DType) -> bool:
    return isinstance(node, exp.Cast) and node.to.this in kinds


def _is_date(node: exp.Expr) -> bool:
    return _is_cast_to(node.unnest(), exp.DType.DATE)


def _splits_by_unknown(node: exp.Expr) -> bool:
    """Whether a split is by another text than a constant: Spark splits by an empty text in another way."""
    by = node.args.get("delimiter") or node.expression
    return not (isinstance(by, exp.Literal) and by.is_string and by.this and r"\E" not in by.this)


def _takes_unknown_part(node: exp.Expr) -> bool:
    part = node.args["part_index"]
    return not _is_number(part) or part.sql() == "0"


def _may_be_decimal(node: exp.Expr) -> bool:
    """Whether DuckDB may compute a value as a decimal, whose halves it rounds away from 0 in casts."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return not node.is_string and "." in node.this
    parts = node.iter_expressions() if isinstance(node, exp.Neg | exp.Add | exp.Sub | exp.Mul) else ()
    return any(_may_be_decimal(part) for part in parts)


def _rounds_decimal(node: exp.Cast) -> bool:
    return node.to.this in exp.DataType.INTEGER_TYPES and _may_be_decimal(node.this)


def _subtracts_unknown(node: exp.Expr) -> bool:
    """Whether a side of a difference is a date and the other may be one: Spark's would be an interval."""
    left, right = _is_date(node.this), _is_date(node.expression)
    return left != right and not isinstance(node.expression.unnest(), exp.Interval | exp.Literal)


# Uses of other constructs that Spark lacks or interprets differently.
REFUSED_USES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[[Any], bool], str], ...] = (
    (exp.Select, lambda node: len(_own(node, exp.Explode)) > 1, "a second unnest in a select"),
    (exp.WindowSpec, lambda node: node.args.get("exclude") is not None, "exclude in a window"),
    ((exp.Split, exp.SplitPart), _splits_by_unknown, "a split by an empty or computed text"),
    (exp.SplitPart, _takes_unknown_part, "part 0 of a split, or a computed one,"),
    (
        exp.Length,
        lambda node: isinstance(node.this, exp.Array | exp.Split | exp.GenerateSeries),
        "the length of a list",
    ),
    (exp.Cast, _rounds_decimal, "a cast of a decimal number to an integer"),
    (exp.Sub, _subtracts_unknown, "a date minus something else than a date or a number"),
)


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


def _is_less(value: exp.Expr, bound: str) -> exp.Expr:
    return exp.paren(exp.LT(this=exp.Abs(this=value.copy()), expression=_double(bound)))


def _is_finite(value: exp.Expr) -> exp.Expr:
    if _is_cast_to(value, exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return exp.If(this=value.is_(exp.null()), true=exp.null(), false=exp.true())
    # Casting a time gives its seconds.
    return _is_less(exp.cast(value, "double"), "Infinity")


def _is_any_of(value: exp.Expr, *types: str) -> exp.Expr:
    """Whether a value has one of some types of Spark: the types of columns are not known here."""
    return exp.func("typeof", value.copy()).isin(*types)


def _error(message: str) -> exp.Expr:
    return exp.func("raise_error", exp.Literal.string(message))


def _seconds(number: exp.Expr) -> exp.Expr:
    return exp.func("make_interval", *[exp.Literal.number(0)] * 6, number)


def _rounded(node: exp.Expr) -> exp.Expr | None:
    digits = node.args.get("decimals")
    if digits is None:
        # Rounding to a whole number is the same in both.
        return node
    number = exp.paren(node.this.copy())
    scale = exp.func("pow", _double("10"), exp.Abs(this=digits.copy()))
    behind_point = exp.Div(this=exp.Round(this=exp.Mul(this=number, expression=scale)), expression=scale)
    before_point = exp.Mul(this=exp.Round(this=exp.Div(this=number, expression=scale)), expression=scale)
    # Where the scale is too large, the point is behind all digits or before all of them.
    loses_all = exp.and_(exp.not_(_is_less(scale, "Infinity")), _is_less(number, "Infinity"))
    zero_or_same = exp.If(this=loses_all, true=_double("0"), false=number)
    behind = exp.If(this=_is_less(behind_point, "Infinity"), true=behind_point, false=number)
    before = exp.If(this=_is_less(before_point, "Infinity"), true=before_point, false=zero_or_same)
    if _is_number(digits):
        return before if isinstance(digits, exp.Neg) else behind
    return exp.case().when(digits.copy() >= 0, behind).when(digits.copy() < 0, before)


def _below_bigint(number: exp.Expr, whole: exp.Expr) -> exp.Expr:
    """The whole number; or the number, if it is too large for a fraction, infinite or NaN."""
    return exp.If(this=_is_less(number, "9007199254740992"), true=whole, false=number.copy())


def _truncated(node: exp.Expr) -> exp.Expr:
    number = exp.paren(node.this.copy())
    return _below_bigint(number, exp.cast(number.copy(), "bigint"))


def _floor(node: exp.Expr) -> exp.Expr:
    return _below_bigint(exp.paren(node.this.copy()), node.copy())


def _log(node: exp.Expr) -> exp.Expr | None:
    """Refuse 0 and less at run time: DuckDB 1 fails, DuckDB 2 returns -inf or NaN, and Spark NULL."""
    base, number = (node.this, node.expression) if node.expression else (None, node.this)
    if base is not None and not (isinstance(base, exp.Literal) and float(base.this) > 1):
        return None
    logarithm = (
        node.copy() if base is not None or isinstance(node, exp.Ln) else exp.func("log10", number.copy())
    )
    return exp.If(
        this=exp.paren(number.copy()) <= 0,
        true=_error("cannot take the logarithm of 0 or less"),
        false=logarithm,
    )


def _is_whole(value: exp.Expr) -> bool:
    """Whether a value has no fraction, as far as its syntax tells, before and after its own rewrite."""
    value = value.unnest()
    if isinstance(value, exp.If):
        value = value.args["true"]
    return isinstance(value, exp.Floor | exp.Ceil | exp.IntDiv | exp.Count | exp.RowNumber)


def _cast(node: exp.Expr) -> exp.Expr | None:
    """Round fractions, which Spark truncates, and refuse to write values whose texts differ."""
    value = node.this
    if type(node) is not exp.Cast or isinstance(value, exp.Null | exp.Literal):
        return None
    if node.to.this in exp.DataType.INTEGER_TYPES:
        if _is_whole(value):
            return None
        rounded = exp.cast(exp.func("rint", exp.cast(value.copy(), "double")), node.to)
        return exp.If(this=_is_any_of(value, "double", "float"), true=rounded, false=node.copy())
    if node.to.this in exp.DataType.TEXT_TYPES:
        error = _error(
            "Spark writes fractions and times with a zone as other texts than DuckDB: round or format them"
        )
        return exp.If(this=_is_any_of(value, "double", "float", "timestamp"), true=error, false=node.copy())
    return None


def _contains(node: exp.Expr) -> exp.Expr:
    found = exp.func("coalesce", node.copy(), exp.false())
    return exp.If(
        this=exp.or_(node.this.copy().is_(exp.null()), node.expression.copy().is_(exp.null())),
        true=exp.null(),
        false=found,
    )


def _like(node: exp.Expr) -> exp.Expr | None:
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and "\\" not in pattern.this:
        return None
    escaped = exp.func("replace", pattern.copy(), exp.Literal.string("\\"), exp.Literal.string("\\\\"))
    copy = node.copy()
    copy.set("expression", escaped)
    return copy


def _difference(node: exp.Expr) -> exp.Expr | None:
    if not (_is_date(node.this) and _is_date(node.expression)):
        return None
    days = exp.Anonymous(this="datediff", expressions=[node.this.copy(), node.expression.copy()])
    return exp.cast(days, "bigint")


def _timestamp(node: exp.Expr) -> exp.Expr:
    micros = exp.Mul(this=exp.cast(node.this.copy(), "double"), expression=_double("1e6"))
    return exp.func("timestamp_micros", exp.cast(exp.func("rint", micros), "bigint"))


def _series(node: exp.Expr) -> exp.Expr | None:
    start, end = node.args["start"], node.args["end"]
    if node.args.get("step") or node.args.get("is_end_exclusive"):
        return None
    numbers = exp.func("sequence", start.copy(), end.copy())
    return exp.case().when(end.copy() >= start.copy(), numbers).when(end.copy() < start.copy(), exp.Array())


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
        "timestamp_micros(cast(rint(s * 1e6) as bigint))",
        "Spark's takes a text",
        _kind(exp.UnixToTime, _timestamp),
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
        "floor(x)",
        "if(abs(x) < 9007199254740992, floor(x), x)",
        "Spark's is a BIGINT",
        _kind(exp.Floor, _floor),
    ),
    Rewrite(
        "ceil(x)", "if(abs(x) < 9007199254740992, ceil(x), x)", "Spark's is a BIGINT", _kind(exp.Ceil, _floor)
    ),
    Rewrite(
        "ln(x)",
        "if(x <= 0, raise_error(…), ln(x))",
        "Spark's is NULL where x is 0 or less",
        _kind(exp.Ln, _log),
    ),
    Rewrite(
        "log(x)", "if(x <= 0, raise_error(…), log10(x))", "Spark's is natural, or NULL", _kind(exp.Log, _log)
    ),
    Rewrite(
        "cast(x as bigint)",
        "if(typeof(x) in ('double', 'float'), cast(rint(x) as bigint), cast(x as bigint))",
        "Spark truncates, and writes some types as other texts",
        _kind(exp.Cast, _cast),
    ),
    Rewrite(
        "list_contains(x, y)",
        "if(x is null or y is null, null, coalesce(array_contains(x, y), false))",
        "Spark's is NULL where a list has a NULL",
        _kind(exp.ArrayContains, _contains),
    ),
    Rewrite(
        "x like y", r"x like replace(y, '\', '\\')", "Spark has a default escape", _kind(exp.Like, _like)
    ),
    Rewrite(
        "x ilike y", r"x ilike replace(y, '\', '\\')", "Spark has a default escape", _kind(exp.ILike, _like)
    ),
    Rewrite(
        "date - date", "cast(datediff(x, y) as bigint)", "Spark's is an interval", _kind(exp.Sub, _difference)
    ),
    Rewrite(
        "generate_series(a, b)",
        "case when b >= a then sequence(a, b) when b < a then array() end",
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
        refused = refused or next(
            (name for kind, is_so, name in REFUSED_USES if isinstance(node, kind) and is_so(node)), ""
        )
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


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of some classes in a select, without those of nested selects."""
    return [node for node in select.find_all(*kinds) if node.find_ancestor(exp.Select) is select]

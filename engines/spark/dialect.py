"""Translate the project's SQL from DuckDB to Spark, with sqlglot and a few rewrites.

Each construct that Spark lacks or interprets differently has a rewrite. A construct that is not known to mean
the same is refused with an error that names it.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from tracehouse.core.errors import DefinitionError, Option, UserError
from tracehouse.definitions.macros import inlined
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import ViewFile, parsed, references

File = ViewFile | QueryFile

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


def _nodes_of(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
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


def _subtracts_dates(node: exp.Sub) -> bool:
    # The difference of two dates is an interval in Spark.
    sides = (node.this.unnest(), node.expression.unnest())
    is_date = any(_is_cast_to(side, exp.DType.DATE) for side in sides)
    return is_date and not isinstance(sides[1], exp.Interval | exp.Literal)


def _may_have_escape(node: exp.Expr) -> bool:
    return not isinstance(node.expression, exp.Literal) or "\\" in node.expression.this


def _has_computed_bound(node: exp.WindowSpec) -> bool:
    bounds = (node.args.get("start"), node.args.get("end"))
    return any(isinstance(bound, exp.Expr) and bound.find(exp.Column) for bound in bounds)


def _always(_: exp.Expr) -> bool:
    return True


_LIST = exp.Array | exp.Split | exp.GenerateSeries
# Other constructs that Spark lacks or interprets differently: node class, condition, name, and advice.
REFUSED: tuple[tuple[Any, Callable[[Any], bool], str, str], ...] = (
    (exp.Pivot, _always, "pivot", "aggregate with `filter` for each column"),
    (exp.PositionalColumn, _always, "a column by its position", "name the column"),
    (
        exp.Bracket,
        lambda node: not isinstance(node.this, exp.PercentileCont),
        "an element or a slice of a list",
        "unnest the list",
    ),
    (exp.Comprehension, _always, "a list comprehension", "unnest the list"),
    (
        exp.Length,
        lambda node: isinstance(node.this, _LIST),
        "the length of a list",
        "unnest the list and count",
    ),
    (
        exp.Select,
        lambda node: len(_nodes_of(node, exp.Explode)) > 1,
        "a second unnest",
        "put each into a CTE",
    ),
    (exp.AtTimeZone, _always, "at time zone", "add the offset with `to_seconds`"),
    (exp.Sub, _subtracts_dates, "a date minus a date", "subtract their `epoch`"),
    (exp.Cast, _casts_decimal, "a cast of a decimal number to an integer", "round it first"),
    (exp.Cast, _casts_to_other_width, "a cast to this type", "use `integer` or `bigint`"),
    (exp.Escape, _always, "like with escape", "compare a part from `split_part` with `=`"),
    (
        (exp.Like, exp.ILike),
        _may_have_escape,
        "like with a computed pattern or a backslash",
        "use a constant",
    ),
    (exp.Split, _splits_by_unknown, "a split by an empty or computed text", "split by a constant"),
    (exp.SplitPart, _splits_by_unknown, "a split by an empty or computed text", "split by a constant"),
    (exp.SplitPart, _takes_unknown_part, "part 0 of a split, or a computed one", "use a constant from 1"),
    (exp.WithinGroup, _always, "within group", "use `quantile_cont(x, q)`"),
    (exp.WindowSpec, lambda node: node.args.get("exclude"), "exclude in a window", "subtract the value"),
    (
        exp.Order,
        lambda node: isinstance(node.parent, exp.Query) and node.find(exp.Window),
        "a window function in order by",
        "compute it in a CTE",
    ),
    (exp.WindowSpec, _has_computed_bound, "a parameter as a bound of a window", "write a constant"),
)


@dataclass(frozen=True)
class Transform:
    """A construct of DuckDB, its node class, and its form in Spark SQL.

    In the form, `:x` is the part that the construct calls x. `applies` is a further condition on the node.
    """

    construct: str
    kind: type[exp.Expr]
    form: str
    reason: str
    applies: Callable[[Any], bool] = _always

    def apply(self, node: exp.Expr) -> exp.Expr | None:
        """Return the replacement of a node, or None if this transform does not apply to it."""
        names = re.findall(r"\b[a-z]\b", self.construct)
        parts = [*node.iter_expressions()]
        if type(node) is not self.kind or len(parts) < len(names) or not self.applies(node):
            return None
        values = {
            name: part.copy() if isinstance(part, exp.Column | exp.Literal | exp.Cast) else exp.paren(part)
            for name, part in zip(names, parts, strict=False)
        }
        found = exp.replace_placeholders(_parsed(self.form), **values)
        if node.args.get("negate"):
            found.set("negate", True)
        return found


@cache
def _parsed(form: str) -> exp.Expr:
    return sqlglot.parse_one(form, dialect="spark")


def _call(construct: str, form: str, reason: str, applies: Callable[[Any], bool] = _always) -> Transform:
    """Return the transform of a function that sqlglot does not know."""
    name = construct.partition("(")[0]
    return Transform(
        construct, exp.Anonymous, form, reason, lambda node: node.name.lower() == name and applies(node)
    )


def _may_be_fraction(node: exp.Cast, kind: exp.DType) -> bool:
    """Whether a value that is cast to this type may have a fraction, as far as its SQL expression shows.

    A transformed value is an `if`.
    """
    value = node.this.unnest()
    if isinstance(value, exp.If):
        value = value.args["true"]
    whole = exp.Floor | exp.Ceil | exp.IntDiv | exp.Count | exp.RowNumber | exp.Null | exp.Literal
    return _is_cast_to(node, kind) and not isinstance(value, whole)


_is_cast_to_bigint = partial(_may_be_fraction, kind=exp.DType.BIGINT)
_is_cast_to_int = partial(_may_be_fraction, kind=exp.DType.INT)


def _is_inclusive(node: exp.GenerateSeries) -> bool:
    return not node.args.get("step") and not node.args.get("is_end_exclusive")


def _is_text_of_value(node: exp.Cast) -> bool:
    return _is_cast_to(node, exp.DType.TEXT, exp.DType.VARCHAR) and not isinstance(
        node.this, exp.Null | exp.Literal
    )


def _is_unary(node: exp.Expr) -> bool:
    return len([*node.iter_expressions()]) == 1


def _has_base(node: exp.Log) -> bool:
    return isinstance(node.this, exp.Literal) and float(node.this.this) > 1


def _is_number_or_instant(node: exp.Anonymous) -> bool:
    return not _is_cast_to(node.expressions[0], exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


INFINITY = "cast('Infinity' as double)"
# Larger doubles have no fraction, and may exceed BIGINT.
SMALL = "abs(:x) < 9.007199254740992e15"
NO_LOGARITHM = "raise_error('cannot take the logarithm of 0 or less')"
NO_TEXT = (
    "raise_error('Spark writes fractions and times with a zone differently from DuckDB: "
    "cast them to an integer or to timestamp first')"
)
INSTANT = "timestamp_micros(cast(rint(cast(:s as double) * 1e6) as bigint))"
TEXT = f"if(typeof(:x) in ('double', 'float', 'timestamp'), {NO_TEXT}, cast(:x as string))"
CONTAINS = "if(:x is null or :y is null, null, coalesce(array_contains(:x, :y), false))"
ELEMENT = "try_element_at(:x, cast(nullif(:n, 0) as int))"
SERIES = "case when :b >= :a then sequence(:a, :b) when :b < :a then array() end"
SCALE = "pow(1e1, abs(:n))"
BEHIND_POINT = f"round(:x * {SCALE}) / {SCALE}"
BEFORE_POINT = f"round(:x / {SCALE}) * {SCALE}"
# If the scale overflows, rounding keeps all digits (n >= 0) or returns 0 (n < 0).
ROUNDED = (
    f"case when :n >= 0 then if(abs({BEHIND_POINT}) < {INFINITY}, {BEHIND_POINT}, :x) "
    f"when :n < 0 then if(abs({BEFORE_POINT}) < {INFINITY}, {BEFORE_POINT}, "
    f"if({SCALE} = {INFINITY} and abs(:x) < {INFINITY}, 0e0, :x)) end"
)
WHOLE = "if(typeof(:x) in ('double', 'float'), cast(rint(cast(:x as double)) as {0}), cast(:x as {0}))"
TRANSFORMS = (
    _call("epoch_us(t)", "unix_micros(cast(:t as timestamp))", "other name"),
    Transform(
        "epoch(t)", exp.TimeToUnix, "unix_micros(cast(:t as timestamp)) / 1e6", "Spark drops fractions"
    ),
    Transform("to_timestamp(s)", exp.UnixToTime, INSTANT, "Spark's takes a text"),
    _call("to_seconds(s)", "make_interval(0, 0, 0, 0, 0, 0, :s)", "other name"),
    # Casting a time with a zone gives its seconds.
    _call("isfinite(x)", f"abs(cast(:x as double)) < {INFINITY}", "Spark has none", _is_number_or_instant),
    _call("bit_count(x)", "bit_count(cast(:x as bigint))", "differs for negative numbers below 64 bits"),
    Transform("quantile_cont(x, q)", exp.PercentileCont, "percentile(:x, :q)", "other name"),
    Transform("q[n]", exp.Bracket, "element_at(:q, :n)", "Spark's brackets count from 0"),
    Transform("round(x, n)", exp.Round, ROUNDED, "Spark rounds printed digits, and needs a constant n"),
    Transform(
        "trunc(x)", exp.Trunc, f"if({SMALL}, cast(:x as bigint), :x)", "Spark's is for dates", _is_unary
    ),
    Transform("floor(x)", exp.Floor, f"if({SMALL}, floor(:x), :x)", "Spark's is a BIGINT", _is_unary),
    Transform("ceil(x)", exp.Ceil, f"if({SMALL}, ceil(:x), :x)", "Spark's is a BIGINT", _is_unary),
    Transform("ln(x)", exp.Ln, f"if(:x <= 0, {NO_LOGARITHM}, ln(:x))", "Spark's is NULL for x of 0 or less"),
    Transform("log(b, x)", exp.Log, f"if(:x <= 0, {NO_LOGARITHM}, log(:b, :x))", "the same", _has_base),
    Transform("cast(x as bigint)", exp.Cast, WHOLE.format("bigint"), "Spark truncates", _is_cast_to_bigint),
    Transform("cast(x as integer)", exp.Cast, WHOLE.format("int"), "Spark truncates", _is_cast_to_int),
    Transform("cast(x as text)", exp.Cast, TEXT, "Spark writes other texts", _is_text_of_value),
    Transform("list_contains(x, y)", exp.ArrayContains, CONTAINS, "Spark's is NULL where a list has a NULL"),
    Transform("array_length(x)", exp.ArraySize, "cast(array_size(:x) as bigint)", "other name", _is_unary),
    _call("list_extract(x, n)", ELEMENT, "Spark has other names, and refuses place 0"),
    Transform("generate_series(a, b)", exp.GenerateSeries, SERIES, "Spark counts down", _is_inclusive),
)
# Other transforms (by macros.py, `_rewrite`, `_qualify_grouping`, `_join_parameters`), for docs/spark.md.
OTHERS = (
    ("stats.fsum(x)", "sum(x)", "equal except for the last digits"),
    ("3600.0", "cast(3600.0 as double)", "decimal division loses digits"),
    ("grouping(x)", "grouping(t.x)", "Spark would take x for the alias"),
    ("sum(x) over w - y", "(sum(x) over w) - y", "Spark would take w - y for a name with a hyphen"),
    ("sum(x) filter (where p or y)", "… cross join (select p as p)", "Spark allows no parameter p there"),
)


def spark_type(kind: str) -> str:
    """Return the Spark type of a DuckDB type. HUGEINT, the type of integer sums, is BIGINT in Spark."""
    known = kind.replace("HUGEINT", "BIGINT").replace("JSON", "VARCHAR")
    return exp.DataType.build(known, dialect="duckdb").sql("spark")


def translate_statement(text: str) -> tuple[str, frozenset[str]]:
    """Translate a user's query to Spark SQL. Returns it, and the names that it reads, in lower case.

    Raises UserError for anything else than a query, and for a name without its schema.
    """
    tree = parsed(text, text, Path("the statement"))
    if not isinstance(tree, exp.Query):
        raise UserError("Spark answers only queries. Omit ", Option("engine"))
    return to_spark(tree, "the statement"), frozenset(map(str.lower, references(tree, "the statement")))


def translate_file(file: File) -> str:
    """Translate the query of a view or named query to Spark SQL.

    Raises DefinitionError for a construct that is not known to mean the same in Spark.
    """
    if isinstance(file, ViewFile):
        return to_spark(file.tree.expression, file.path)
    return to_spark(file.tree, file.path, [parameter.name for parameter in file.parameters])


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
        is_known = type(node).__name__ in SAME or (isinstance(node.parent, exp.Table) and node.parent.db)
        if isinstance(node, exp.Func) and not is_known and not _rewrite(node):
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            refused = [name.lower(), "use a function that the table there lists"]
        if refused:
            raise DefinitionError(
                place, f"{refused[0]} does not translate to Spark (see docs/spark.md): {refused[1]}"
            )


def _rewrite(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdecimal():
        return exp.cast(node.copy(), "double")
    if isinstance(node, exp.PropertyEQ) and isinstance(node.parent, exp.Anonymous):
        # An argument of a named query.
        return exp.Kwarg(this=exp.var(node.this.name), expression=node.expression.copy())
    if isinstance(node, exp.Window) and node.args.get("over") and node.args.get("alias"):
        return exp.paren(node)
    return next((found for one in TRANSFORMS if (found := one.apply(node)) is not None), None)


def _qualify_grouping(select: exp.Select) -> None:
    """Qualify the column of `grouping(x)`, which Spark would take for an alias."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return
    if not source.this.alias_or_name and isinstance(source.this, exp.Subquery):
        source.this.set("alias", exp.TableAlias(this=exp.to_identifier("grouped")))
    for call in _nodes_of(select, exp.Grouping):
        for column in call.find_all(exp.Column):
            if not column.table:
                column.set("table", exp.to_identifier(source.this.alias_or_name))


def _join_parameters(select: exp.Select, parameters: Collection[str], place: Path | str) -> None:
    """Turn parameters inside an aggregate into columns: Spark allows no parameters there."""
    used = {
        column.name
        for aggregate in _nodes_of(select, exp.AggFunc, exp.Filter)
        for column in aggregate.find_all(exp.Column)
        if not column.table and column.name in parameters
    }
    if used and (select.is_star or select.args.get("from_") is None):
        raise DefinitionError(
            place,
            f"an aggregate uses the parameter {min(used)}, for which Spark needs another column: "
            "list the columns instead of *, and add a from clause",
        )
    if used:
        values = exp.select(*(exp.alias_(exp.column(name), name) for name in sorted(used)))
        select.join(values.subquery("arguments"), join_type="cross", copy=False)

"""The choices of a user for a picture: the columns on its axes, its kind, and which texts it has."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import types

from tracehouse.core.errors import Option, UsageError
from tracehouse.definitions.query_files import Axis, Chart, find_chart_error

# The kinds of charts that can draw any columns. Other kinds need columns with certain names.
KINDS = ("bar", "stack", "line", "step", "point", "heat")
LOGS = ("", "x", "y", "xy")


@dataclass(frozen=True)
class ChartOptions:
    """Choices that replace those of a chart line; an empty one replaces nothing.

    `x`, `y` and `color` are columns, `kind` is one of KINDS, and `log` names the logarithmic axes: x, y or
    xy. A picture without title keeps only the label of synthetic data, for a paper that has its own caption.
    """

    kind: str = ""
    x: str = ""
    y: str = ""
    color: str = ""
    log: str = ""
    title: str = ""
    has_title: bool = True
    has_footer: bool = True

    @property
    def has_columns(self) -> bool:
        """Whether the user chose columns, which replace the whole chart line."""
        return bool(self.x or self.y or self.color)


DEFAULT = ChartOptions()


def choose_chart(chart: Chart | None, answer: pa.Table, options: ChartOptions) -> Chart:
    """The chart of an answer with a user's choices.

    Without a chart line, x is the first column and y the first one of numbers. Raises UsageError if a choice
    is not valid, or if there is no column of numbers.
    """
    _check(answer.schema, options)
    if chart is None or options.has_columns:
        chart = _choose_columns(answer, options)
    elif options.kind:
        # Bars and areas have no logarithmic axis.
        axes = chart.x, chart.y
        if options.kind in ("bar", "stack", "heat"):
            axes = replace(chart.x, is_log=False), replace(chart.y, is_log=False)
        chart = Chart(options.kind, *axes, chart.color, chart.facet, title=chart.title, note=chart.note)
    x, y = (
        replace(axis, is_log=axis.is_log or letter in options.log)
        for letter, axis in (("x", chart.x), ("y", chart.y))
    )
    chart = replace(chart, x=x, y=y)
    if error := find_chart_error(chart):
        raise UsageError(f"{error[0].upper()}{error[1:]}")
    return chart


def _check(schema: pa.Schema, options: ChartOptions) -> None:
    for name, column in (("x", options.x), ("y", options.y), ("color", options.color)):
        if column and column not in schema.names:
            raise UsageError(Option(name), f" must be one of {', '.join(schema.names)}, not {column!r}")
    if options.kind and options.kind not in KINDS:
        raise UsageError(Option("kind"), f" must be one of {', '.join(KINDS)}, not {options.kind!r}")
    if options.log not in LOGS:
        raise UsageError(Option("log"), f" must be x, y or xy, not {options.log!r}")


def _choose_columns(answer: pa.Table, options: ChartOptions) -> Chart:
    """The chart of the chosen columns; the others are the first that fit."""
    names = answer.column_names
    numbers = [name for name in names if is_number(answer.schema.field(name).type)]
    x = options.x or next((name for name in names if name != options.y and [name] != numbers), "")
    y = options.y or next((name for name in numbers if name != x), "")
    if not x or not y:
        raise UsageError("A chart needs two columns, one of them of numbers")
    color = options.color
    if not color and not _are_distinct(answer, [x]):
        # The first other column of texts distinguishes the rows of an x.
        others = (field.name for field in answer.schema if types.is_string(field.type))
        color = next((name for name in others if name not in (x, y)), "")
    kind = options.kind or _choose_kind(answer, [x, *([color] if color else [])], bool(options.log))
    return Chart(kind, Axis(x, False, x), Axis(y, False, y), color)


def _choose_kind(answer: pa.Table, keys: Sequence[str], is_log: bool) -> str:
    """Points if several rows have the same keys; otherwise a line over numbers or times, or bars."""
    x = answer.schema.field(keys[0]).type
    is_scale = is_number(x) or types.is_temporal(x)
    if not _are_distinct(answer, keys) or (is_log and not is_scale):
        return "point"
    return "line" if is_scale else "bar"


def _are_distinct(answer: pa.Table, columns: Sequence[str]) -> bool:
    return answer.group_by(list(columns)).aggregate([]).num_rows == answer.num_rows


def is_number(kind: pa.DataType) -> bool:
    """Whether a scale can show values of a type."""
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)

"""The axes, colours and legends of a chart, in Vega-Lite."""

import math
from collections.abc import Sequence
from typing import Any

from tracehouse.publish.columns import exact
from tracehouse.publish.plot.rows import Drawable, ordered_names
from tracehouse.publish.plot.texts import FIRST_DAY_OF_DATES, axis_title, clock_title
from tracehouse.sql.query_files import Axis

Spec = dict[str, Any]

# Okabe and Ito's colours, which colour-blind people can distinguish, yellow last; then darker ones.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
COLORS += ["#F0E442", "#004466", "#7A3500", "#005C43", "#7C3A5E", "#9A9A9A"]
PALE = "#a8a8a8"
# The numbers of colours, dashes and shapes have no common divisor: all combinations occur before one repeats.
DASHES = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [10, 3], [4, 4], [1, 2], [12, 2, 2, 2, 2, 2], [3, 1]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
SHAPES += ["triangle-right", "triangle-left"]

# 12000 is written 12k, but 0.5 is not written 500m.
NUMBER = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~r')"
ROUNDED = NUMBER.replace("'~r'", "'.3~r'")
# Labels of names. NULL is shown as `not stated`, such as the cluster of a trace without cluster names.
NAME = "datum.label == 'NULL' ? 'not stated' : datum.label"
CLOCK = "format(datum.value, '02d') + ':00'"
# Labels of time ticks, by the unit in which they differ from the previous one.
TIMES = {
    "year": "%Y",
    "month": "%b %Y",
    **dict.fromkeys(("week", "date", "day"), "%d %b"),
    **dict.fromkeys(("hours", "minutes"), "%H:%M"),
    "seconds": "%H:%M:%S",
}
# Axes at least this many points wide have complete dates; others have months.
WIDTH_OF_DATES = 250
# The width of a character relative to the font size.
CHARACTER_WIDTH = 0.55
# The angle in degrees of labels that do not fit horizontally.
SLANT = 35

SPACED: Spec = {"labelOverlap": True, "labelSeparation": 3}
# A scale from the first value to the last.
WITHOUT_ZERO: Spec = {"zero": False, "nice": False, "padding": 8}


def build_x_axis(drawable: Drawable, width: float, size: float) -> Spec:
    """The encoding of the x axis, for a view's width and a font size in points."""
    chart, column = drawable.chart, drawable.chart.x.column
    axis: Spec = {"field": column, "type": "quantitative", "title": axis_title(chart.x.name)}
    if drawable.is_category(column):
        names = ordered_names(drawable, column)
        return axis | {"type": "ordinal", "sort": names, "axis": _name_labels(drawable, names, width, size)}
    if column in drawable.times:
        # Hours or days without a row stay empty. The warehouse's times are in UTC.
        return axis | {"type": "temporal", "scale": {"type": "utc"}, "axis": {"format": TIMES, **SPACED}}
    if column in drawable.on_clock:
        title = clock_title((row[column] for row in drawable.rows), drawable.clock_unit)
        # Times of some traces count from 1970.
        date = f"utcFormat(datum.value * 864e5, '{'%d %b %Y' if width >= WIDTH_OF_DATES else '%b'}')"
        labels = f"datum.value >= {FIRST_DAY_OF_DATES} ? {date} : {NUMBER}"
        return axis | {"title": title, "scale": WITHOUT_ZERO, "axis": SPACED | {"labelExpr": labels}}
    if column == "hour_of_day":
        ticks = {"values": list(range(0, 25, 3)), "labelExpr": CLOCK, **SPACED}
        return axis | {"scale": {"domain": [0, 23]}, "axis": ticks}
    return axis | _scale(drawable, chart.x)


def build_y_axis(drawable: Drawable, field: str) -> Spec:
    """The encoding of a field on the y axis: all y columns of a chart share one scale and title."""
    y = drawable.chart.y
    axis: Spec = {"field": field, "title": axis_title(y.name)}
    if drawable.chart.kind == "heat":
        labels = {"labelAngle": 0, "labelLimit": 0, "labelExpr": NAME}
        return axis | {"type": "ordinal", "sort": ordered_names(drawable, field), "axis": labels}
    return axis | {"type": "quantitative", **_scale(drawable, y)}


def build_series(drawable: Drawable, legend: Spec | None, values: Sequence[Any]) -> Spec:
    """The encoding of the series as colours, dashes or shapes."""
    found = drawable.series
    if drawable.chart.kind == "pareto" and values is COLORS:
        # Points off the Pareto front are pale.
        values = [COLORS[1] if name == "true" else PALE for name in found]
    # An explicit common domain merges the legends of colour, dash and shape.
    return {
        "field": drawable.chart.color,
        "type": "nominal",
        "title": axis_title(drawable.chart.color),
        "scale": {"domain": found, "range": values},
        "legend": legend,
    }


def _name_labels(drawable: Drawable, names: Sequence[str], width: float, size: float) -> Spec:
    """The labels of categories on the x axis: horizontal, or slanted or vertical if they do not fit."""
    if drawable.chart.kind == "heat" and drawable.chart.x.column == "hour_of_day":
        expression = CLOCK.replace("datum.value", "toNumber(datum.value)")
        return {"values": names[::3], "labelExpr": expression, "labelAngle": 0}
    longest = max(map(len, names)) * size * CHARACTER_WIDTH
    slot = width / len(names)
    limit = max(width / 3, 6 * size)
    angle = 0
    if longest + 1.5 * size * CHARACTER_WIDTH > slot:
        # Slanted labels overlap if they are less than a line apart. Labels are vertical then.
        overlaps = slot * math.sin(math.radians(SLANT)) < 1.15 * size
        angle = -90 if overlaps or longest > limit else -SLANT
    if angle == -90:
        limit = max(width / 2, 12 * size)
    # Labels are dropped only if even vertical labels do not fit, because a bar needs its name.
    is_dropped = 1.3 * size > slot
    return {"labelAngle": angle, "labelLimit": limit, "labelOverlap": is_dropped, "labelExpr": NAME}


def _scale(drawable: Drawable, axis: Axis) -> Spec:
    chart = drawable.chart
    columns = chart.heights if axis is chart.y else [axis.column]
    values = [row[column] for row in drawable.rows for column in columns if row[column] is not None]
    numbers = {"labelExpr": NUMBER, **SPACED}
    if axis.is_log and min(values) <= 0:
        tens = [10.0**power for power in range(math.ceil(math.log10(max(1, *values))) + 1)]
        return {"scale": {"type": "symlog", "constant": 1}, "axis": numbers | {"values": [0, *tens]}}
    if axis.is_log:
        ends = {"domain": labelled_domain(values)} if chart.labels else {"padding": 8}
        return {"scale": {"type": "log", "nice": False, **ends}, "axis": numbers | log_ticks(axis, values)}
    if chart.kind == "lorenz" or _adds_up_to_100(drawable):
        return {"scale": {"domain": [0, 100]}, "axis": numbers}
    return {"axis": numbers} | ({"scale": WITHOUT_ZERO} if axis is chart.x else {})


def _adds_up_to_100(drawable: Drawable) -> bool:
    """Whether the highest stack is 100 % up to rounding. A sum just above 100 would add a tick at 110."""
    chart = drawable.chart
    if chart.kind != "stack" or not chart.y.column.endswith("_pct"):
        return False
    heights: dict[tuple[Any, Any], float] = {}
    for row in drawable.rows:
        bar = row[chart.x.column], row.get(chart.facet)
        heights[bar] = heights.get(bar, 0) + row[chart.y.column]
    return math.isclose(max(heights.values()), 100)


def labelled_domain(values: Sequence[float]) -> list[float]:
    """The domain of a logarithmic axis with space for the labels of a Pareto front."""
    low, high = min(values), max(values)
    return [low * (low / high) ** 0.2, 1.05 * high]


def log_ticks(axis: Axis, values: Sequence[float]) -> Spec:
    """Ticks of a logarithmic axis: powers of ten, if at least two are in range.

    Columns of GPUs and batch sizes get powers of two.
    """
    is_binary = axis.column.endswith(("gpus", "batch_size"))
    base, log = (2.0, math.log2) if is_binary else (10.0, math.log10)
    ticks = [base**power for power in range(math.ceil(log(min(values))), math.floor(log(max(values))) + 1)]
    if is_binary:
        return {"values": ticks, "labelExpr": "format(datum.value, '~r')"}
    return {"values": ticks} if len(ticks) > 1 else {}


def rows_with_names(drawable: Drawable) -> list[Spec]:
    """The rows, with the names of categories instead of their values."""
    texts = {column for column in drawable.chart.columns if drawable.is_category(column)}
    return [
        {column: exact(value) if column in texts else value for column, value in row.items()}
        for row in drawable.rows
    ]

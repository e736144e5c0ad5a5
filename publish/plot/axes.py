"""Build axes, colours and legends in Vega-Lite."""

import math
from collections.abc import Sequence
from typing import Any

from tracehouse.publish.columns import exact
from tracehouse.publish.plot.rows import Drawable, ordered_names
from tracehouse.publish.plot.texts import FIRST_DAY_OF_DATES, axis_title, clock_title
from tracehouse.sql.query_files import Axis

# Okabe and Ito's colours, which colour-blind people can distinguish, yellow last; then darker ones.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#F0E442",
    "#004466",
    "#7A3500",
    "#005C43",
    "#7C3A5E",
    "#9A9A9A",
)
PALE = "#a8a8a8"
# The numbers of colours, dashes and shapes have no common divisor: all combinations occur before one repeats.
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (10, 3), (4, 4), (1, 2), (12, 2, 2, 2, 2, 2), (3, 1))
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)

# 12000 is written 12k, but 0.5 is not written 500m.
NUMBER = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~r')"
# Labels of names. NULL is shown as `not stated`, such as the cluster of a trace without cluster names.
NAME = "datum.label == 'NULL' ? 'not stated' : datum.label"
PLAIN = "format(datum.value, '~r')"
ROUNDED = NUMBER.replace("'~r'", "'.3~r'")
CLOCK = "format(datum.value, '02d') + ':00'"
# Axes at least this many points wide have complete dates; others have months.
WIDTH_OF_DATES = 250
# Labels of time ticks, by the unit in which they differ from the previous one.
TIMES = {
    "year": "%Y",
    "month": "%b %Y",
    "week": "%d %b",
    "date": "%d %b",
    "day": "%d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
}
# Suffixes of columns that grow in powers of two.
BINARY = ("gpus", "batch_size")
# The width of a character relative to the font size.
CHARACTER_WIDTH = 0.55
# The angle in degrees of labels that do not fit horizontally.
SLANT = 35


def build_axis(drawable: Drawable, axis: Axis, width: float, size: float) -> dict[str, Any]:
    """Type, title, order and scale of an axis, for a view's width and a font size in points."""
    import altair

    column = axis.column
    title = axis_title(axis.name)
    if drawable.is_category(column):
        return {"type": "ordinal", "title": title, **_categories(drawable, column, width, size)}
    if column in drawable.times:
        # Hours or days without a row stay empty. The warehouse's times are in UTC.
        labels = altair.Axis(format=TIMES, labelOverlap=True, labelSeparation=3)
        return {"type": "temporal", "title": title, "scale": altair.Scale(type="utc"), "axis": labels}
    if column in drawable.on_clock:
        title = clock_title(row[column] for row in drawable.rows)
        # Times of some traces count from 1970.
        date = f"utcFormat(datum.value * 864e5, '{'%d %b %Y' if width >= WIDTH_OF_DATES else '%b'}')"
        numbers = _numbers(labelExpr=f"datum.value >= {FIRST_DAY_OF_DATES} ? {date} : {NUMBER}")
        return {"type": "quantitative", "title": title, "scale": _scale_without_zero(), **numbers}
    if column == "hour_of_day":
        hours = altair.Axis(
            values=list(range(0, 25, 3)), labelExpr=CLOCK, labelOverlap=True, labelSeparation=3
        )
        return {"type": "quantitative", "title": title, "scale": altair.Scale(domain=[0, 23]), "axis": hours}
    return {"type": "quantitative", "title": title, **_scale(drawable, axis)}


def build_y_axis(drawable: Drawable, field: str) -> dict[str, Any]:
    """The y axis of a field: all y columns of a chart share one scale and title."""
    title = axis_title(drawable.chart.y.name)
    return {"field": field, "type": "quantitative", "title": title, **_scale(drawable, drawable.chart.y)}


def colors(drawable: Drawable, legend: Any) -> dict[str, Any]:
    """The colour of each series; points off the Pareto front are pale."""
    if drawable.chart.kind == "pareto":
        return _series(drawable, legend, [COLORS[1] if name == "true" else PALE for name in drawable.series])
    return _series(drawable, legend, COLORS)


def dashes(drawable: Drawable) -> dict[str, Any]:
    """The dash pattern of each series. It has no legend: the legend of the marks names the series."""
    return _series(drawable, None, DASHES)


def shapes(drawable: Drawable, legend: Any) -> dict[str, Any]:
    """The shape of the marks of each series."""
    return _series(drawable, legend, SHAPES)


def _series(drawable: Drawable, legend: Any, values: Sequence[Any]) -> dict[str, Any]:
    import altair

    found = drawable.series
    # An explicit common domain merges the legends of colour, dash and shape.
    scale = altair.Scale(domain=found, range=[values[index % len(values)] for index in range(len(found))])
    return {
        "field": drawable.chart.color,
        "type": "nominal",
        "title": axis_title(drawable.chart.color),
        "scale": scale,
        "legend": legend,
    }


def _categories(drawable: Drawable, column: str, width: float, size: float) -> dict[str, Any]:
    import altair

    found = ordered_names(drawable, column)
    if drawable.chart.kind == "heat" and column == "hour_of_day":
        expression = CLOCK.replace("datum.value", "toNumber(datum.value)")
        axis = altair.Axis(values=found[::3], labelExpr=expression, labelAngle=0)
        return {"sort": found, "axis": axis}
    if column != drawable.chart.x.column:
        axis = altair.Axis(labelAngle=0, labelLimit=max(width / 3, 6 * size), labelExpr=NAME)
        return {"sort": found, "axis": axis}
    longest = max(map(len, found)) * size * CHARACTER_WIDTH
    slot = width / len(found)
    limit = max(width / 3, 6 * size)
    angle = 0
    if longest + 1.5 * size * CHARACTER_WIDTH > slot:
        # Slanted labels overlap if they are less than a line apart. Labels are vertical then.
        overlaps = slot * math.sin(math.radians(SLANT)) < 1.15 * size
        angle = -90 if overlaps or longest > limit else -SLANT
    if angle == -90:
        limit = max(width / 2, 12 * size)
    # Labels are dropped only if even vertical labels do not fit, because a bar needs its name.
    axis = altair.Axis(labelAngle=angle, labelLimit=limit, labelOverlap=1.3 * size > slot, labelExpr=NAME)
    return {"sort": found, "axis": axis}


def _scale(drawable: Drawable, axis: Axis) -> dict[str, Any]:
    import altair

    columns = drawable.chart.heights if axis is drawable.chart.y else [axis.column]
    values = [row[column] for row in drawable.rows for column in columns if row[column] is not None]
    if axis.is_log and min(values) <= 0:
        tens = [10.0**power for power in range(math.ceil(math.log10(max(1, *values))) + 1)]
        return {"scale": altair.Scale(type="symlog", constant=1), **_numbers(values=[0, *tens])}
    if axis.is_log:
        scale = altair.Scale(type="log", nice=False, padding=8)
        if drawable.chart.labels:
            scale = altair.Scale(type="log", nice=False, domain=_labelled_domain(values))
        return {"scale": scale, **_numbers(**log_ticks(axis.column, values))}
    if drawable.chart.kind == "lorenz" or _adds_up_to_100(drawable):
        return {"scale": altair.Scale(domain=[0, 100]), **_numbers()}
    if axis is drawable.chart.x:
        return {"scale": _scale_without_zero(), **_numbers()}
    return _numbers()


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


def _labelled_domain(values: Sequence[float]) -> list[float]:
    """The domain of a logarithmic axis with space for the labels of a Pareto front."""
    low, high = min(values), max(values)
    return [low * (low / high) ** 0.2, 1.05 * high]


def relative_position(drawable: Drawable, axis: Axis, value: float) -> float:
    """The position of a value on an axis with labelled points, from 0 to 1."""
    values = [row[axis.column] for row in drawable.rows]
    low, high, at = (*_labelled_domain(values), value) if axis.is_log else (min(values), max(values), value)
    if axis.is_log:
        low, high, at = math.log(low), math.log(high), math.log(at)
    return (at - low) / ((high - low) or 1)


def _scale_without_zero() -> Any:
    """A scale from the first value to the last, without 0."""
    import altair

    return altair.Scale(zero=False, nice=False, padding=8)


def _numbers(**options: Any) -> dict[str, Any]:
    import altair

    return {"axis": altair.Axis(labelOverlap=True, labelSeparation=3, **{"labelExpr": NUMBER, **options})}


def log_ticks(column: str, values: Sequence[float]) -> dict[str, Any]:
    """Ticks of a logarithmic axis: powers of ten, if at least two are in range.

    Columns of GPUs and batch sizes get powers of two.
    """
    if column.endswith(BINARY):
        first, last = math.ceil(math.log2(min(values))), math.floor(math.log2(max(values)))
        return {"values": [2.0**power for power in range(first, last + 1)], "labelExpr": PLAIN}
    first, last = math.ceil(math.log10(min(values))), math.floor(math.log10(max(values)))
    return {"values": [10.0**power for power in range(first, last + 1)]} if last > first else {}


def rows_with_labels(drawable: Drawable) -> list[dict[str, Any]]:
    """The rows, with the names of categories instead of their values."""
    texts = {column for column in drawable.chart.columns if drawable.is_category(column)}
    return [
        {column: exact(value) if column in texts else value for column, value in row.items()}
        for row in drawable.rows
    ]

"""The axes, colours and legends of a chart, in Vega-Lite."""

import datetime as dt
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from tracehouse.definitions.query_files import Axis
from tracehouse.publish.columns import format_exact
from tracehouse.publish.plot.rows import DAY_S, FIRST_DAY_OF_DATES, NAMES, ChartData, has_bands, ordered_names
from tracehouse.publish.plot.texts import clock_title
from tracehouse.publish.plot.units import axis_title, split_name

Spec = dict[str, Any]

# Okabe and Ito's colours, which colour-blind people can distinguish, without yellow; then darker ones.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
COLORS += ["#A6761D", "#004466", "#7A3500", "#005C43", "#7C3A5E", "#9A9A9A"]
# Bars have neither dashes nor shapes: neighbours in this order differ in grey as well.
BAR_COLORS = ["#0072B2", "#E69F00", "#4A1F00", "#BFE3B4", "#009E73", "#000000", "#56B4E9", "#D55E00"]
BAR_COLORS += ["#F3C6DC", "#004466", "#CC79A7", "#005C43", "#9A9A9A"]
# A trace has the same colour, dash and shape in all charts. Neighbouring traces of jobs differ in grey.
TRACE_COLORS = {"acme": "#0072B2", "asi": "#CC79A7", "dlrm": "#7A3500", "helios": "#E69F00", "itp": "#009E73"}
TRACE_COLORS |= {"openb": "#56B4E9", "pai": "#D55E00", "philly": "#000000", "spot": "#A6761D"}
TRACE_COLORS |= {"zeus": "#004466", "azure_llm": "#005C43", "burstgpt": "#B8B000", "genai": "#7C3A5E"}
TRACE_COLORS |= {"mooncake": "#8C96C6", "qwen": "#5A5A5A"}
# For traces that are not listed, so that none has the colour of another.
OTHER_COLORS = ["#6B8E23", "#8B1A1A", "#2F4FBF", "#D8A0D8", "#20A0A0", "#C8C070"]
PALE = "#a8a8a8"
# The numbers of colours, dashes and shapes have no common divisor: all combinations occur before one repeats.
DASHES = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [10, 3], [4, 4], [1, 2], [12, 2, 2, 2, 2, 2], [3, 1]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
SHAPES += ["triangle-right", "triangle-left"]

# 12000 is written 12k, but 0.5 is not written 500m.
NUMBER = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~r')"
ROUNDED = NUMBER.replace("'~r'", "'.3~r'")
# Labels of names. NULL is shown as `not stated`, such as the cluster of a trace without cluster names.
NAME = "".join(f"datum.label == '{name}' ? '{label}' : " for name, label in NAMES.items()) + "datum.label"
# Labels and ticks of logarithmic axes of seconds: 10 s, 1 min, 1 h, 1 d.
SPANS = {86_400: "d", 3_600: "h", 60: "min"}
SPAN = "".join(
    f"datum.value >= {s} ? format(datum.value / {s}, '~r') + ' {unit}' : " for s, unit in SPANS.items()
)
SPAN += "format(datum.value, '~r') + ' s'"
SPAN_OF_NAME = SPAN.replace("datum.value", "toNumber(datum.value)")
# Ticks of logarithmic axes, from few to many. An axis has the first of these with FEWEST_TICKS on it.
TICKS = [
    [float(f"{step}e{power}") for power in range(-9, 16) for step in steps]
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))
]
DAYS = [86_400 * 10**power for power in range(5)]
SPAN_TICKS = [
    [0.001, 0.01, 0.1, 1, 10, 60, 600, 3_600, *DAYS],
    [step * unit for unit in (1, 60, 3_600) for step in (1, 2, 5, 10, 20)]
    + [step * days for days in DAYS for step in (1, 2, 5)],
    [hours * 3_600 for hours in (1, 2, 3, 4, 6, 8, 12, 18)]
    + [step * days for days in DAYS for step in (1, 2, 3, 4, 5, 7)],
    [hours * 3_600 for hours in range(1, 24)],
]
BINARY_TICKS = [[2.0**power for power in range(-10, 40)]]
# Seconds up to this one are labelled as seconds.
MOST_SECONDS = 5_000
CLOCK = "format(datum.value, '02d') + ':00'"
# Labels of time ticks, by the unit in which they differ from the previous one.
TIMES = {
    "year": "%Y",
    **dict.fromkeys(("quarter", "month"), "%b %Y"),
    **dict.fromkeys(("week", "date", "day"), "%d %b"),
    **dict.fromkeys(("hours", "minutes"), "%H:%M"),
    "seconds": "%H:%M:%S",
}
# Axes at least this many points wide have dates with years.
WIDTH_OF_DATES = 250
# The width of a character relative to the font size.
CHARACTER_WIDTH = 0.55
# The angle in degrees of labels that do not fit horizontally.
SLANT = 35

SPACED: Spec = {"labelOverlap": True, "labelSeparation": 3}
# A scale from the first value to the last, with space for whole marks at both ends.
PADDING = 10
WITHOUT_ZERO: Spec = {"zero": False, "nice": False, "padding": PADDING}
# The distance of ticks on the y axis relative to the font size, and the fewest ticks of an axis: of a linear
# one, such as that of a small panel, and of a logarithmic one.
TICK_DISTANCE, FEWEST_LINEAR_TICKS, FEWEST_TICKS = 2.6, 3, 4
# A logarithmic axis of points or boxes ends at a tick if that is longer by this share at most.
NEAR = 0.1
# The space between groups of bars, relative to the distance of their centres.
GROUP_GAP = 0.35
# A time axis up to this many days has no years in its labels.
MOST_DAYS_WITHOUT_YEAR = 200


def build_x_axis(data: ChartData, width: float, size: float) -> Spec:
    """The encoding of the x axis, for a view's width and a font size in points."""
    return _wrap_title(_build_x_axis(data, width, size), width, size)


def _wrap_title(axis: Spec, length: float, size: float) -> Spec:
    """An axis whose title is in several lines if it is longer than the axis."""
    lines = textwrap.wrap(axis["title"], max(10, int(length / (size * CHARACTER_WIDTH))))
    return axis | {"title": lines if len(lines) > 1 else axis["title"]}


def _build_x_axis(data: ChartData, width: float, size: float) -> Spec:
    chart, column = data.chart, data.chart.x.column
    axis: Spec = {"field": column, "type": "quantitative", "title": axis_title(chart.x.name)}
    if data.is_category(column):
        names = ordered_names(data, column)
        named = _name_labels(data, names, width, size)
        words, unit = split_name(chart.x.name)
        if unit == "s" and all(isinstance(row[column], int) and row[column] > 0 for row in data.rows):
            axis["title"] = words
            named["labelExpr"] = SPAN_OF_NAME
        gaps = {"paddingInner": GROUP_GAP, "paddingOuter": GROUP_GAP / 2}
        apart: Spec = {"scale": gaps} if data.is_grouped and chart.kind == "bar" else {}
        return axis | {"type": "ordinal", "sort": names, "axis": named, **apart}
    if column in data.times:
        return axis | _time_axis(data)
    if column in data.on_clock:
        title = clock_title((row[column] for row in data.rows), data.clock_unit)
        # Times of some traces count from 1970.
        date = f"utcFormat(datum.value * 864e5, '{'%d %b %Y' if width >= WIDTH_OF_DATES else '%d %b'}')"
        labels = f"datum.value >= {FIRST_DAY_OF_DATES} ? {date} : {NUMBER}"
        if all(float(row[column]).is_integer() for row in data.rows):
            # Vega has ticks within a day if there are few days, whatever `tickMinStep` is.
            labels = f"datum.value % 1 ? '' : {labels}"
        ticks = SPACED | {"labelExpr": labels, "tickMinStep": 0.5}
        return axis | {"title": title, "scale": WITHOUT_ZERO, "axis": ticks}
    if column == "hour_of_day":
        ticks = {"values": list(range(0, 25, 3)), "labelExpr": CLOCK, **SPACED}
        return axis | {"scale": {"domain": [0, 23]}, "axis": ticks}
    return axis | _scale(data, chart.x)


def build_y_axis(data: ChartData, field: str, height: float, size: float) -> Spec:
    """The encoding of a field on the y axis, for a view's height and a font size in points.

    All y columns of a chart share one scale and title.
    """
    y = data.chart.y
    axis: Spec = {"field": field, "title": axis_title(y.name)}
    if data.chart.kind == "heat":
        names = ordered_names(data, field)
        is_number = has_bands(names)
        labels = {"labelAngle": 0, "labelLimit": 0, "labelExpr": NAME, "labelOverlap": is_number}
        # Numbers increase upwards, names are read downwards.
        return axis | {"type": "ordinal", "sort": names[::-1] if is_number else names, "axis": labels}
    axis |= {"type": "quantitative", **_scale(data, y)}
    if data.chart.least:
        axis["scale"] = axis.get("scale", {}) | {"domainMin": float(data.chart.least)}
    axis = _wrap_title(axis, height, size)
    if "values" not in axis["axis"]:
        count = max(FEWEST_LINEAR_TICKS, int(height / (TICK_DISTANCE * size)))
        # An axis ends at a tick, so that the headings of panels are at one height.
        axis = {"scale": {"nice": count}} | axis | {"axis": axis["axis"] | {"tickCount": count}}
    return axis


def _time_axis(data: ChartData) -> Spec:
    """The encoding of dates and times. Hours or days without a row stay empty. Times are in UTC."""
    x = data.chart.x
    days = [dt.date.fromisoformat(row[x.column][:10]) for row in data.rows]
    is_short = (max(days) - min(days)).days <= MOST_DAYS_WITHOUT_YEAR
    formats = TIMES | (dict.fromkeys(("quarter", "month"), "%d %b") if is_short else {})
    title = axis_title(x.name)
    if x.name == x.column:
        title = "date" if len(data.rows[0][x.column]) == len("2020-01-01") else "time (UTC)"
    axis = {"format": formats, **SPACED}
    if title == "date":
        axis["tickMinStep"] = 1_000 * DAY_S
    return {"title": title, "type": "temporal", "scale": {"type": "utc"}, "axis": axis}


def build_series(data: ChartData, legend: Spec | None, values: Sequence[Any]) -> Spec:
    """The encoding of the series as colours, dashes or shapes."""
    found = data.series
    if data.chart.color == "trace":
        # All traces are in the domain, so that each has its own colour; the legend names those with rows.
        legend = legend and legend | {"values": found, "description": "Legend of traces"}
        found = [*dict.fromkeys((*TRACE_COLORS, *found))]
        values = [*TRACE_COLORS.values(), *OTHER_COLORS] if values in (COLORS, BAR_COLORS) else values
    elif data.chart.kind == "pareto" and values is COLORS:
        # Points off the Pareto front are pale.
        values = [COLORS[1] if name == "true" else PALE for name in found]
    # An explicit common domain merges the legends of colour, dash and shape.
    return {
        "field": data.chart.color,
        "type": "nominal",
        "title": "on the front" if data.chart.kind == "pareto" else axis_title(data.chart.color),
        "scale": {"domain": found, "range": values},
        "legend": legend,
    }


def _name_labels(data: ChartData, names: Sequence[str], width: float, size: float) -> Spec:
    """The labels of categories on the x axis: horizontal, or slanted or vertical if they do not fit."""
    if data.chart.kind == "heat" and data.chart.x.column == "hour_of_day":
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


def _scale(data: ChartData, axis: Axis) -> Spec:
    chart = data.chart
    values = _values(data, _columns(data, axis))
    if chart.least and axis is chart.y:
        values.append(float(chart.least))
    numbers = {"labelExpr": NUMBER, **SPACED}
    if axis.is_log:
        return _log_scale(data, axis, values)
    if all(float(value).is_integer() for value in values):
        numbers["tickMinStep"] = 1
    is_share = axis.column == "percentile" or axis.column.endswith("_pct")
    if chart.kind == "lorenz" or (is_share and chart.kind == "step") or data.adds_up_to_100:
        return {"scale": {"domain": [0, 100]}, "axis": numbers}
    if axis is chart.x:
        return {"scale": WITHOUT_ZERO, "axis": numbers}
    if chart.kind == "box" and min(values) > max(values) / 2:
        return {"scale": WITHOUT_ZERO, "axis": numbers}
    # Points at zero and the values of negative bars are above the axis.
    is_padded = chart.kind == "point" or min(values) < 0
    return {"axis": numbers} | ({"scale": WITHOUT_ZERO | {"zero": True}} if is_padded else {})


def _columns(data: ChartData, axis: Axis) -> Sequence[str]:
    """The columns that share an axis."""
    return data.chart.heights if axis is data.chart.y else [axis.column]


def _values(data: ChartData, columns: Sequence[str]) -> list[float]:
    return [row[column] for row in data.rows for column in columns if row[column] is not None]


def _log_scale(data: ChartData, axis: Axis, values: Sequence[float]) -> Spec:
    # Every other label would leave out the powers of ten that are wide apart.
    numbers: Spec = {"labelExpr": NUMBER, **SPACED, "labelOverlap": "greedy"}
    has_zero = min(values) <= 0
    choices = tick_choices(axis, values)
    ticks = choose_ticks(choices, values)
    ends: Spec = {"domain": labelled_domain(values)} if data.chart.kind == "pareto" else {"padding": PADDING}
    if data.chart.kind in ("point", "box"):
        ticks = add_near_ticks(choices, ticks, values)
        ends["domain"] = (
            [min(ticks[0], *values), max(ticks[-1], *values)] if ticks else [min(values), max(values)]
        )
    # Vega chooses ticks if these are too few.
    labels: Spec = {"values": ticks} if len(ticks) > 1 else {}
    named = {}
    if _has_spans(axis, values):
        labels["labelExpr"] = SPAN
        named = {"title": split_name(axis.name)[0]}
    elif _is_binary(axis):
        # Every other power of two is regular, unlike those that just fit.
        labels |= {"labelExpr": "format(datum.value, '~r')", "labelOverlap": True}
    scale: Spec = {"type": "symlog", "constant": 1} if has_zero else {"type": "log"}
    return {"scale": scale | {"nice": False, **ends}, "axis": numbers | labels, **named}


def labelled_domain(values: Sequence[float]) -> list[float]:
    """The domain of a logarithmic axis with space for the labels of a Pareto front."""
    low, high = min(values), max(values)
    return [low * (low / high) ** 0.2, 1.05 * high]


def tick_choices(axis: Axis, values: Sequence[float]) -> Sequence[Sequence[float]]:
    """The ticks from which a logarithmic axis has some. Columns of GPUs and batch sizes get powers of two."""
    return BINARY_TICKS if _is_binary(axis) else SPAN_TICKS if _has_spans(axis, values) else TICKS


def log_axes(data: ChartData) -> Iterator[tuple[Sequence[str], Sequence[Sequence[float]]]]:
    """The columns of each logarithmic axis, and the ticks from which it has some."""
    for axis in (data.chart.x, data.chart.y):
        if axis.is_log:
            columns = _columns(data, axis)
            yield columns, tick_choices(axis, _values(data, columns))


def choose_ticks(choices: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """The ticks of a logarithmic axis between its values, after 0 if they include it. Pages choose alike."""
    low, high = min(values), max(values)
    zero = [0.0] if low <= 0 else []
    inside = [[tick for tick in ticks if (1 if zero else low) <= tick <= high] for ticks in choices]
    return zero + next((ticks for ticks in inside if len(ticks) >= FEWEST_TICKS), max(inside, key=len))


def add_near_ticks(
    choices: Sequence[Sequence[float]], ticks: Sequence[float], values: Sequence[float]
) -> list[float]:
    """The ticks of a logarithmic axis, and the next ones outside its values if they are near. As in pages."""
    least = 1 if min(values) <= 0 else min(values)
    most = max(values)
    near = (most / least) ** NEAR
    chosen = next((all_ticks for all_ticks in choices if {*ticks} <= {0, *all_ticks}), ())
    below = [tick for tick in chosen if least / near <= tick < least] if min(values) > 0 else []
    above = [tick for tick in chosen if most < tick <= most * near]
    return [*(below[-1:] if least not in ticks else []), *ticks, *(above[:1] if most not in ticks else [])]


def _is_binary(axis: Axis) -> bool:
    return axis.column.endswith(("gpus", "batch_size"))


def _has_spans(axis: Axis, values: Sequence[float]) -> bool:
    return split_name(axis.name)[1] == "s" and max(values) >= MOST_SECONDS


def rows_with_names(data: ChartData) -> list[Spec]:
    """The rows, with the names of categories instead of their values."""
    texts = {column for column in data.chart.columns if data.is_category(column)}
    return [
        {column: format_exact(value) if column in texts else value for column, value in row.items()}
        for row in data.rows
    ]

"""The marks of each kind of chart, in Vega-Lite: layers that share their axes."""

import math
from typing import Any

from tracehouse.definitions.query_files import Axis, Chart
from tracehouse.publish.plot.axes import (
    BAR_COLORS,
    CHARACTER_WIDTH,
    COLORS,
    DASHES,
    GROUP_GAP,
    SHAPES,
    Spec,
    build_series,
    build_y_axis,
    labelled_domain,
)
from tracehouse.publish.plot.rows import FEW, ChartData, Row, distinct_names
from tracehouse.publish.plot.units import axis_title, number

LINES = ("line", "step", "lorenz")
# A line of up to MOST_MARKED values has a mark at each value; a longer line has about MARKS marks.
MOST_MARKED, MARKS = 25, 8
# The limits for a single line, which needs no marks to be recognised: in one panel, and in small ones.
MOST_MARKED_ALONE, MOST_MARKED_IN_PANEL = 60, 12
GREY = "#777777"
# The font size of point labels in points, and their line height relative to it.
LABEL_SIZE, LINE = 8, 1.1
IS_MARKED, LABEL, VALUE = "_marked", "_label", "_value"
# Smaller percentages above bars are written as below it.
LEAST_PCT = 0.01
# So few bars are narrower than their share of the axis.
FEW_BARS = 3
FONT = 11.0


def build_layers(
    data: ChartData, x: Spec, legend: Spec | None, size: tuple[float, float], letters: float
) -> list[Spec]:
    """The layers of a chart for an x axis, the width and height of the view, and a font size in points."""
    chart, scale = data.chart, letters / FONT

    def y(field: str) -> Spec:
        return {"x": x, "y": build_y_axis(data, field, size[1], letters)}

    def between(low: str, high: str) -> Spec:
        return y(low) | {"y2": {"field": high}}

    colors = BAR_COLORS if chart.kind in ("bar", "stack") else COLORS
    color = {"color": build_series(data, legend, colors) if chart.color else {"value": colors[0]}}
    shape = {"shape": build_series(data, legend, SHAPES)} if chart.color else {}
    height = y(chart.heights[0])
    layers: list[Spec]
    offset: Spec = {}
    if data.is_grouped:
        offset = {"xOffset": {"field": chart.color, "type": "nominal", "sort": data.series}}
    if chart.kind in LINES:
        layers = _build_lines(data, height, color, shape, scale)
        if chart.band:
            shaded = {"interpolate": layers[0]["mark"]["interpolate"], "opacity": 0.2, "clip": True}
            layers.insert(0, _layer("area", between(*chart.band) | color, **shaded))
    elif chart.kind == "point":
        area = (30 if chart.facet else 60) * scale
        layers = [_layer("point", height | color | shape | offset, filled=True, size=area, opacity=0.85)]
    elif chart.kind == "heat":
        # Dark means high, in print and on screen.
        shades = {
            "field": chart.color,
            "type": "quantitative",
            "title": axis_title(chart.color),
            "legend": legend,
        }
        scheme = {"scheme": "viridis", "reverse": True, "domainMin": 0}
        layers = [_layer("rect", height | {"color": shades | {"scale": scheme}})]
    elif chart.kind == "box":
        low, first, median, third, high = chart.heights
        line: Spec = {"color": "black", "strokeWidth": scale}
        tick: Spec = {"color": "black", "width": 12 * scale, "thickness": scale}
        box: Spec = {
            "color": "#9ECAE9",
            "width": {"band": 0.5},
            "stroke": "black",
            "strokeWidth": 0.8 * scale,
        }
        middle: Spec = {"color": COLORS[1], "width": {"band": 0.5}, "thickness": 2.2 * scale}
        layers = [
            _layer("rule", between(low, high), **line),
            _layer("tick", y(low), **tick),
            _layer("tick", y(high), **tick),
            _layer("bar", between(first, third), **box),
            _layer("tick", y(median), **middle),
        ]
    elif chart.kind == "pareto":
        is_on_front = f"datum.{chart.color} === 'true'"
        layers = [
            _layer("line", height, is_on_front, color=GREY, strokeWidth=scale),
            _layer("point", height | color | shape, filled=True, size=32 * scale, opacity=0.9),
        ]
        if chart.labels:
            # Below the front, which has no points there, and slanted, because points may be close.
            text = {"align": "right", "angle": 315, "dx": -6 * scale, "fontSize": LABEL_SIZE * scale}
            named = height | {"text": {"field": LABEL, "type": "nominal"}}
            layers.append(_layer("text", named, is_on_front, **text))
    else:
        positions = len(distinct_names(data.rows, chart.x.column))
        narrow: Spec = {} if offset or positions > FEW_BARS else {"width": {"band": 0.5}}
        # White edges separate the parts of a bar, even in print without colours.
        layers = [_layer("bar", height | color | offset, stroke="white", strokeWidth=0.5, **narrow)]
        if chart.band:
            # A white edge separates the interval from a dark bar.
            for tone, thickness in (("white", 3), ("black", 1)):
                interval: Spec = {"color": tone, "strokeWidth": thickness * scale}
                layers.append(_layer("rule", between(*chart.band) | offset, **interval))
        elif not chart.rule and _has_space_for_values(data, size[0], LABEL_SIZE * scale):
            values = _build_values(data, height | offset, LABEL_SIZE * scale, size[1])
            if data.exceeds_100_pct:
                # A white edge separates the values from the line at 100 %.
                halo: Spec = {"stroke": "white", "strokeWidth": 4 * scale, "strokeJoin": "round"}
                layers.append(values | {"mark": values["mark"] | halo})
            layers.append(values)
        if data.exceeds_100_pct:
            full = {"data": {"values": [{chart.y.column: 100}]}}
            layers.insert(0, _layer("rule", {"y": height["y"]}, color=GREY, strokeWidth=scale) | full)
    if chart.rule and data.is_category(chart.x.column):
        # A white edge separates the mark from a dark bar.
        for tone, thickness in (("white", 4), ("black", 2)):
            thick: Spec = {"color": tone, "thickness": thickness * scale, "width": {"band": 0.9}}
            layers.append(_layer("tick", y(chart.rule), **thick))
    elif chart.rule:
        by = {"detail": {"field": chart.color, "type": "nominal"}} if chart.color else {}
        dashed: Spec = {"color": "black", "strokeDash": [4, 3], "strokeWidth": scale}
        layers.append(_layer("line", y(chart.rule) | by, **dashed))
    return layers


def _has_space_for_values(data: ChartData, width: float, letters: float) -> bool:
    """Whether the values of all bars, or the sums of stacks that are not 100 %, fit above them."""
    chart = data.chart
    is_share = data.adds_up_to_100 and not chart.count
    bars = len(distinct_names(data.rows, chart.x.column)) * (len(data.series) if data.is_grouped else 1)
    longest = max(len(number(row[_value_column(chart)] or 0)) for row in data.rows)
    longest += 2 * data.has_percentages
    free = width * (1 - GROUP_GAP) if data.is_grouped else width
    return not chart.facet and not is_share and free / bars >= (longest + 1) * letters * CHARACTER_WIDTH


def _value_column(chart: Chart) -> str:
    """The column whose values are above bars: the counts of stacks that have them."""
    return (chart.kind == "stack" and chart.count) or chart.y.column


def _build_values(data: ChartData, encoding: Spec, letters: float, height: float) -> Spec:
    """The values of bars, or the sums of stacks, so that short bars are seen."""
    chart = data.chart
    y, column = chart.y.column, _value_column(chart)
    place, value = f"datum['{y}']", f"datum['{column}']"
    form = f"abs({value}) >= 1000 ? format({value}, ',.0f') : format({value}, '.3~r')"
    if data.has_percentages and column == y:
        form = f"({value} > 0 && {value} < {LEAST_PCT} ? '< {LEAST_PCT}' : {form}) + ' %'"
    summed = [{"op": "sum", "field": one, "as": one} for one in dict.fromkeys((y, column))]
    sums = [{"aggregate": summed, "groupby": [chart.x.column]}]
    texts = encoding | {"text": {"field": VALUE, "type": "nominal"}}
    is_below = f"{place} < 0"
    if data.exceeds_100_pct:
        # Where the line at 100 % would cross a value, it is inside the bar.
        line = LINE * letters / height * max(row[y] for row in data.rows)
        is_below += f" || {place} > {100 - 1.5 * line} && {place} < 100"
    return {
        "mark": {
            "type": "text",
            "baseline": {"expr": f"{is_below} ? 'top' : 'bottom'"},
            "dy": {"expr": f"{is_below} ? 2 : -2"},
            "fontSize": letters,
        },
        "encoding": texts,
        "transform": [*(sums if chart.kind == "stack" else []), {"calculate": form, "as": VALUE}],
    }


def _layer(kind: str, encoding: Spec, condition: str = "", **mark: Any) -> Spec:
    """A layer with the rows that meet a condition."""
    filtered = {"transform": [{"filter": condition}]} if condition else {}
    return {"mark": {"type": kind, **mark}, "encoding": encoding, **filtered}


def _build_lines(data: ChartData, height: Spec, color: Spec, shape: Spec, scale: float) -> list[Spec]:
    """Lines with a mark at some of their values."""
    chart = data.chart
    dash = {}
    # A single line is solid.
    if len(data.series) > 1:
        # The legend of the colours, with which it merges.
        dash = {"strokeDash": build_series(data, color["color"]["legend"], DASHES)}
    joined: Spec = {"interpolate": "step-after" if chart.kind == "step" else "linear", "clip": True}
    layers = [
        _layer("line", height | color | dash, strokeWidth=1.6 * scale, **joined),
        _layer(
            "point",
            height | color | shape,
            f"datum.{IS_MARKED}",
            filled=True,
            size=(18 if chart.facet else 36) * scale,
            opacity=1,
            strokeWidth=scale,
        ),
    ]
    # Vega warns about a layer without rows.
    if chart.kind == "step" and chart.color and data.single_values:
        # The curve of a single value is a vertical line from 0.
        single = height | color | dash | {"y2": {"datum": 0}}
        layers.insert(1, _layer("rule", single, "datum._count === 1", strokeWidth=1.6 * scale))
    if chart.count:
        most = max(row[chart.count] or 0 for row in data.rows)
        hollow = {"test": f"datum['{chart.count}'] < {FEW * most}", "value": "white"}
        layers[-1]["encoding"] |= {"fill": color["color"] | {"condition": hollow}, "stroke": color["color"]}
    if chart.kind == "lorenz":
        ends = {"values": [{chart.x.column: share, chart.y.column: share} for share in (0, 100)]}
        layers.insert(0, _layer("line", height, color=GREY, strokeWidth=scale) | {"data": ends})
    return layers


def choose_marks(data: ChartData) -> list[Spec]:
    """The transforms that choose evenly spaced rows of each line for marks; a single long line has none."""
    chart = data.chart
    by = [column for column in (chart.color, chart.facet) if column]
    alone = len(data.series) < 2
    panels = distinct_names(data.rows, chart.facet)
    most = MOST_MARKED_IN_PANEL if len(panels) > 1 else MOST_MARKED_ALONE
    every = f"(datum._count <= {most if alone else MOST_MARKED} ? 1 : floor(datum._count / {MARKS}))"
    # The marks of each line are shifted, so that they do not hide marks of other lines.
    shift = f"floor((datum._line - 1) * {every} / datum._lines) % {every}"
    is_chosen = f"(datum._number - 1) % {every} == {shift} && !({str(alone).lower()} && {every} > 1)"
    first = [{"op": "count", "as": "_count"}, {"op": "min", "field": "_row", "as": "_first"}]
    return [
        {"window": [{"op": "row_number", "as": "_row"}]},
        {"window": [{"op": "row_number", "as": "_number"}], "groupby": by},
        {"joinaggregate": first, "groupby": by},
        {
            "window": [{"op": "dense_rank", "as": "_line"}],
            "sort": [{"field": "_first", "order": "ascending"}],
        },
        {"joinaggregate": [{"op": "max", "field": "_line", "as": "_lines"}]},
        {"calculate": is_chosen, "as": IS_MARKED},
    ]


def label_front(data: ChartData, width: float, height: float, scale: float) -> list[str]:
    """The labels of the rows of a Pareto front, empty where one would overlap: both ends, and between them.

    Labels are slanted, so their distance is measured at a right angle to the text.
    """
    chart, gap = data.chart, LINE * LABEL_SIZE * scale

    def position(axis: Axis, value: float) -> float:
        values = [row[axis.column] for row in data.rows]
        low, high = labelled_domain(values) if axis.is_log else (min(values), max(values))
        if axis.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / ((high - low) or 1)

    def across(row: Row) -> float:
        down = 1 - position(chart.y, row[chart.y.column])
        return (width * position(chart.x, row[chart.x.column]) + height * down) / math.sqrt(2)

    front = sorted((row for row in data.rows if row[chart.color]), key=across)
    chosen: list[Row] = []
    for row in front:
        is_clear = not chosen or across(row) - across(chosen[-1]) >= gap
        if is_clear and (row in (front[0], front[-1]) or across(front[-1]) - across(row) >= gap):
            chosen.append(row)
    texts = {id(row): " / ".join(f"{row[column]:g}" for column in chart.labels) for row in chosen}
    return [texts.get(id(row), "") for row in data.rows]

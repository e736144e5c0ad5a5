"""Build the marks of each kind of chart in Vega-Lite: layers that share their axes."""

import math
from collections.abc import Mapping
from typing import Any

from tracehouse.publish.plot import axes
from tracehouse.publish.plot.rows import Drawable, Row
from tracehouse.publish.plot.texts import axis_title

# A line of up to MOST_MARKED values has a mark at each value; a longer line has about MARKS marks.
MOST_MARKED = 25
MARKS = 8
# The limit for a single line, which needs no marks to be recognised.
MOST_MARKED_ALONE = 60
GREY = "#777777"
# The font size of point labels in points, and their line height relative to it.
LABEL_SIZE, LINE = 8, 1.1

IS_MARKED, LABEL = "_marked", "_label"


def build_values(drawable: Drawable, width: float, height: float, scale: float) -> list[Row]:
    """The rows for the layers of a view of this size in points; see `build_layers` for `scale`.

    Each row has its label, empty if it would overlap another label, and whether its line has a mark there.
    """
    rows = axes.rows_with_labels(drawable)
    chart = drawable.chart
    if chart.kind in ("line", "step", "lorenz"):
        _choose_marks(rows, (chart.color, chart.facet), alone=len(drawable.series) < 2)
    if chart.labels:
        labelled = _select_labelled(drawable, width, height, LABEL_SIZE * scale)
        for row, source in zip(rows, drawable.rows, strict=True):
            is_labelled = any(source is one for one in labelled)
            row[LABEL] = " / ".join(f"{row[column]:g}" for column in chart.labels) if is_labelled else ""
    return rows


def _select_labelled(drawable: Drawable, width: float, height: float, size: float) -> list[Row]:
    """The rows of a Pareto front whose labels do not overlap: both ends, and rows between them that fit.

    Labels are slanted, so their distance is measured at a right angle to the text.
    """
    chart = drawable.chart

    def across(row: Row) -> float:
        right = width * axes.relative_position(drawable, chart.x, row[chart.x.column])
        down = height * (1 - axes.relative_position(drawable, chart.y, row[chart.y.column]))
        return (right + down) / math.sqrt(2)

    front = sorted((row for row in drawable.rows if row[chart.color]), key=across)
    chosen = front[:1]
    for row in front[1:-1]:
        if min(across(row) - across(chosen[-1]), across(front[-1]) - across(row)) >= LINE * size:
            chosen.append(row)
    if front and across(front[-1]) - across(chosen[-1]) >= LINE * size:
        chosen.append(front[-1])
    return chosen


def build_layers(drawable: Drawable, x: Mapping[str, Any], legend: Any, scale: float) -> list[Any]:
    """The layers of a chart for an x axis; `scale` is 1 for a font of 11 points."""
    import altair

    chart = drawable.chart
    across = altair.X(chart.x.column, **x)
    up = altair.Y(**axes.build_y_axis(drawable, chart.heights[0])) if chart.kind != "heat" else None
    one = altair.value(axes.COLORS[0])
    color = altair.Color(**axes.colors(drawable, legend)) if chart.color and chart.kind != "heat" else one
    base = altair.Chart().encode(x=across, y=up or altair.Y())
    found: list[Any]
    if chart.kind in ("line", "step", "lorenz"):
        found = _lines(drawable, base.encode(color=color), legend, scale)
    elif chart.kind == "point":
        shape = {"shape": altair.Shape(**axes.shapes(drawable, legend))} if chart.color else {}
        found = [base.mark_point(filled=True, size=60 * scale, opacity=0.85).encode(color=color, **shape)]
    elif chart.kind == "heat":
        found = [_heat(drawable, altair.Chart().encode(x=across), legend)]
    elif chart.kind == "box":
        found = _boxes(drawable, altair.Chart().encode(x=across), scale)
    elif chart.kind == "pareto":
        found = _front(drawable, base, color, legend, scale)
    else:
        offset = {}
        if chart.kind == "bar" and _is_side_by_side(drawable):
            offset = {"xOffset": altair.XOffset(chart.color, type="nominal", sort=drawable.series)}
        # White edges separate the parts of a bar, even in print without colours.
        found = [base.mark_bar(stroke="white", strokeWidth=0.5).encode(color=color, **offset)]
        if chart.band:
            found.append(_between(drawable, base.mark_rule(strokeWidth=scale).encode(**offset)))
    return [*found, *_rule(drawable, across, scale)]


def _lines(drawable: Drawable, base: Any, legend: Any, scale: float) -> list[Any]:
    import altair

    chart = drawable.chart
    line = base.mark_line(
        interpolate="step-after" if chart.kind == "step" else "linear", strokeWidth=1.6 * scale, clip=True
    )
    marks = base.transform_filter(f"datum.{IS_MARKED}").mark_point(filled=True, size=36 * scale)
    if chart.color:
        line = line.encode(strokeDash=altair.StrokeDash(**axes.dashes(drawable)))
        marks = marks.encode(shape=altair.Shape(**axes.shapes(drawable, legend)))
    if chart.band:
        shaded = base.mark_area(interpolate=line.mark.interpolate, opacity=0.2, clip=True)
        return [_between(drawable, shaded), line, marks]
    if chart.kind != "lorenz":
        return [line, marks]
    ends = [{chart.x.column: share, chart.y.column: share} for share in (0, 100)]
    equal = altair.Chart(altair.Data(values=ends)).mark_line(strokeWidth=scale, color=GREY)
    return [equal.encode(x=base.encoding.x, y=base.encoding.y), line, marks]


def _between(drawable: Drawable, mark: Any) -> Any:
    """A mark that extends from the first column of the chart's band to the second."""
    import altair

    low, high = drawable.chart.band
    return mark.encode(y=altair.Y(**axes.build_y_axis(drawable, low)), y2=altair.Y2(high))


def _heat(drawable: Drawable, base: Any, legend: Any) -> Any:
    import altair

    chart = drawable.chart
    return base.mark_rect().encode(
        y=altair.Y(chart.y.column, **axes.build_axis(drawable, chart.y, 0, 0)),
        color=altair.Color(
            chart.color,
            type="quantitative",
            title=axis_title(chart.color),
            # Dark means high, in print and on screen.
            scale=altair.Scale(scheme="viridis", reverse=True),
            legend=legend,
        ),
    )


def _boxes(drawable: Drawable, base: Any, scale: float) -> list[Any]:
    import altair

    p5, p25, median, _, p95 = (
        altair.Y(**axes.build_y_axis(drawable, field)) for field in drawable.chart.heights
    )
    *_, third_quarter, highest = drawable.chart.heights
    edges = {"stroke": "black", "strokeWidth": 0.8 * scale}
    width = altair.RelativeBandSize(0.5)
    return [
        base.mark_rule(color="black", strokeWidth=scale).encode(y=p5, y2=altair.Y2(highest)),
        base.mark_tick(color="black", width=12 * scale, thickness=scale).encode(y=p5),
        base.mark_tick(color="black", width=12 * scale, thickness=scale).encode(y=p95),
        base.mark_bar(color="#9ECAE9", width=width, **edges).encode(y=p25, y2=altair.Y2(third_quarter)),
        base.mark_tick(color=axes.COLORS[1], thickness=2.2 * scale, width=width).encode(y=median),
    ]


def _front(drawable: Drawable, base: Any, color: Any, legend: Any, scale: float) -> list[Any]:
    import altair

    on_front = base.transform_filter(f"datum.{drawable.chart.color} === 'true'")
    shape = altair.Shape(**axes.shapes(drawable, legend))
    found = [
        on_front.mark_line(color=GREY, strokeWidth=scale),
        base.mark_point(filled=True, size=32 * scale, opacity=0.9).encode(color=color, shape=shape),
    ]
    if drawable.chart.labels:
        # Labels are below the front, which has no points there, and slanted, because points may be close.
        label = on_front.mark_text(align="right", angle=315, dx=-6 * scale, fontSize=LABEL_SIZE * scale)
        found.append(label.encode(text=f"{LABEL}:N"))
    return found


def _rule(drawable: Drawable, across: Any, scale: float) -> list[Any]:
    import altair

    if not drawable.chart.rule:
        return []
    base = altair.Chart().encode(x=across, y=altair.Y(**axes.build_y_axis(drawable, drawable.chart.rule)))
    if drawable.is_category(drawable.chart.x.column):
        return [base.mark_tick(color="black", thickness=2 * scale, width=altair.RelativeBandSize(0.9))]
    detail = {"detail": f"{drawable.chart.color}:N"} if drawable.chart.color else {}
    return [base.mark_line(color="black", strokeDash=[4, 3], strokeWidth=scale).encode(**detail)]


def _is_side_by_side(drawable: Drawable) -> bool:
    """Whether any position on the x axis has bars of several colours."""
    chart = drawable.chart
    positions = [(row[chart.x.column], row.get(chart.facet)) for row in drawable.rows]
    return bool(chart.color) and len(set(positions)) < len(positions)


def _choose_marks(rows: list[Row], by: tuple[str, ...], alone: bool) -> None:
    """Choose evenly spaced rows of each line for marks; a single long line has none."""
    lines: dict[tuple, list[Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row.get(column) for column in by), []).append(row)
    for number, line in enumerate(lines.values()):
        every = 1 if len(line) <= (MOST_MARKED_ALONE if alone else MOST_MARKED) else len(line) // MARKS
        for index, row in enumerate(line):
            # The marks of each line are shifted, so that they do not hide marks of other lines.
            is_chosen = index % every == number * every // len(lines) % every
            row[IS_MARKED] = is_chosen and not (alone and every > 1)

"""The specification of a whole picture, in Vega-Lite: sizes, title, legend, small multiples and footer."""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from tracehouse.publish.plot.axes import CHARACTER_WIDTH, NAME, ROUNDED, Spec, build_x_axis, rows_with_names
from tracehouse.publish.plot.marks import FONT, LABEL, LINES, build_layers, choose_marks, label_front
from tracehouse.publish.plot.rows import IN_HEADING, ChartData, has_bands, ordered_names
from tracehouse.publish.plot.texts import SEPARATOR
from tracehouse.publish.plot.units import UNITS, axis_title

# In points (72 per inch).
WIDTH, RATIO, PANEL_RATIO = 560, 0.57, 0.75
NARROW_FONT, NARROW = 8.0, 340
# More panels share the titles of their axes.
MOST_TITLED_PANELS = 4
# The least width of panels relative to the font size, with titles of their axes and without.
LEAST_TITLED_WIDTH, LEAST_WIDTH = 14, 9
# The share of the width of a picture that its plot area is assumed to get, before it is measured.
FIRST_VIEW = 0.8
# A space at which a line does not end.
NO_BREAK = "\N{NO-BREAK SPACE}"
# Spaces at which a line would begin with the unit of a number, or would be a single short word.
BEFORE_UNIT = rf"(?<=\d) (?=(?:{'|'.join({*UNITS.values(), 'min', 'd'})})(?!\w))"
BEFORE_LAST = r" (?=[^ ]{1,12}$)"
MOST_LINES_AT_RIGHT, LONGEST_AT_RIGHT = 20, 18


@dataclass(frozen=True)
class Size:
    """Width and font size of a picture in points; 0 means automatic."""

    width: float = 0
    font: float = 0


def build_spec(
    data: ChartData, subtitle: Sequence[str], footer: Sequence[str], size: Size, view: float
) -> Spec:
    """The picture with a plot area `view` points wide; only drawing shows what width axes and legend add."""
    letters = size.font or (NARROW_FONT if 0 < size.width < NARROW else FONT)
    whole = size.width or view + 90
    chart = data.chart
    panels = ordered_names(data, chart.facet)
    least = (LEAST_WIDTH if len(panels) > MOST_TITLED_PANELS else LEAST_TITLED_WIDTH) * letters
    # By the width that the picture gets, because `view` is adapted to it: a changing number would not settle.
    room = FIRST_VIEW * size.width or view
    per_row = max(1, min(math.ceil(math.sqrt(len(panels))), int(room / least)))
    gap = 4.5 * letters
    width = (view - gap * (per_row - 1)) / per_row
    ratio = RATIO if per_row == 1 else PANEL_RATIO
    height = {"lorenz": 0.75, "heat": 1 / 3}.get(chart.kind, ratio) * width
    if chart.kind == "heat":
        names = ordered_names(data, chart.y.column)
        height = PANEL_RATIO * width if panels and has_bands(names) else max(height, letters * len(names))
    x = build_x_axis(data, width, letters - 1)
    rows = rows_with_names(data)
    if chart.kind == "pareto" and chart.labels:
        labels = label_front(data, width, height, letters / FONT)
        rows = [row | {LABEL: label} for row, label in zip(rows, labels, strict=True)]
    legend = _build_legend(data, whole, letters)
    plot: Spec = {
        "layer": build_layers(data, x, legend, (width, height), letters),
        "width": width,
        "height": height,
    }
    scales, axes = dict.fromkeys(("color", "shape", "strokeDash"), "shared"), {}
    if len(panels) > 1:
        labelled: Spec = {"labelFontSize": letters, "labelLimit": width + gap - letters, "labelExpr": NAME}
        if data.clock_unit == IN_HEADING:
            labelled |= {"labelExpr": "split(datum.label, ', ')", "labelFontSize": letters - 1}
        header = labelled | {"title": None, "labelPadding": 2}
        if len(panels) > MOST_TITLED_PANELS:
            title = _join_axis_titles(plot["layer"], x)
            header |= {"title": title, "titleFontSize": letters, "titleFontWeight": "normal"}
        facet = {"field": chart.facet, "type": "nominal", "sort": panels, "header": header}
        plot = {"facet": facet, "columns": per_row, "spec": plot, "spacing": gap / 2}
        scales = {
            "x": "independent" if data.has_several_clocks else "shared",
            "y": "shared" if data.shares_y else "independent",
        }
        # Each panel has its own x axis, because a shared one would also be below a place without a panel.
        axes = {"axis": {"x": "independent"}}
    plot["resolve"] = {"scale": scales, **axes}
    # Without texts, a title would still take its space.
    if data.title or subtitle:
        # The legend of panels is also to the right of the title.
        is_right = len(panels) > 1 and legend is not None and legend.get("orient") != "bottom"
        free = whole - is_right * _legend_width(data, letters)
        plot["title"] = {
            "text": _wrap([data.title], free, letters + 2, bold=True),
            "subtitle": _wrap(subtitle, free, letters),
        }
    below = {
        "title": {
            "text": _wrap(footer, whole, 0.75 * letters),
            "orient": "bottom",
            "fontSize": 0.75 * letters,
            "fontWeight": "normal",
            "color": "#555555",
        }
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": rows},
        **({"transform": choose_marks(data)} if chart.kind in LINES else {}),
        "vconcat": [plot],
        **(below if any(footer) else {}),
        "config": _build_theme(letters),
    }


def _join_axis_titles(layers: Sequence[Spec], x: Spec) -> str:
    """Remove the titles of the axes of all panels, and return them as one title above the panels."""
    titles = (layers[0]["encoding"]["y"]["title"], x["title"])
    title = " by ".join(one if isinstance(one, str) else " ".join(one) for one in titles)
    for layer in layers:
        for axis in (layer["encoding"]["x"], layer["encoding"]["y"]):
            axis["title"] = None
    return title


def _build_legend(data: ChartData, whole: float, letters: float) -> Spec | None:
    """The legend, at the right of the plot if it fits there, otherwise below."""
    below: Spec = {"orient": "bottom", "direction": "horizontal", "offset": 0.5 * letters}
    if data.chart.kind == "heat":
        place = {"orient": "right"} if whole >= NARROW else below
        return {"labelExpr": ROUNDED, "tickCount": 4, "gradientLength": 0.2 * whole, **place}
    series = data.series
    if len(series) < 2 or data.chart.color == data.chart.x.column:
        return None
    symbols = {"symbolLimit": 0, "symbolOpacity": 1, "labelExpr": NAME}
    longest = max(map(len, series))
    widest = max(longest, len(axis_title(data.chart.color)))
    narrow = WIDTH if len(ordered_names(data, data.chart.facet)) > 1 else NARROW
    if whole >= narrow and widest <= LONGEST_AT_RIGHT and len(series) <= MOST_LINES_AT_RIGHT:
        return symbols | {"labelLimit": whole / 3}
    columns = max(1, int(0.95 * whole / (longest * letters * CHARACTER_WIDTH + 3 * letters)))
    title = "left" if columns >= len(series) and longest < 10 else "top"
    return symbols | below | {"titleOrient": title, "columns": columns, "labelLimit": whole}


def _legend_width(data: ChartData, letters: float) -> float:
    """The width of a legend at the right of the plot."""
    series = data.series if data.chart.kind != "heat" else []
    longest = max(map(len, [*series, axis_title(data.chart.color)]))
    return (longest * CHARACTER_WIDTH + 4) * letters


def _wrap(texts: Sequence[str], whole: float, letters: float, bold: bool = False) -> list[str]:
    """Wrap texts to the width of the picture."""
    most = int(0.97 * whole / (letters * CHARACTER_WIDTH * (1.06 if bold else 0.95)))
    lines = [line for text in texts for line in textwrap.wrap(_keep_together(text), max(10, most))]
    return [line.replace(NO_BREAK, " ") for line in lines]


def _keep_together(text: str) -> str:
    """A text whose lines do not end within a citation, before a unit, or before the last word."""
    first, *parts = text.split(SEPARATOR)
    cited = [part if part.startswith("reads ") else part.replace(" ", NO_BREAK) for part in parts]
    joined = SEPARATOR.replace(" ", NO_BREAK, 1).join((first, *cited))
    return re.sub(BEFORE_LAST, NO_BREAK, re.sub(BEFORE_UNIT, NO_BREAK, joined))


def _build_theme(letters: float) -> Spec:
    small = {"labelFontSize": letters - 1, "titleFontSize": letters, "titleFontWeight": "normal"}
    return {
        "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 300},
        "axis": {**small, "titlePadding": 0.5 * letters, "gridColor": "#e4e4e4"},
        "legend": {**small, "symbolSize": 7 * letters, "symbolStrokeWidth": 0},
        "title": {
            "anchor": "start",
            "frame": "bounds",
            "offset": letters,
            "fontSize": letters + 2,
            "subtitleFontSize": letters,
            "subtitleColor": "#444444",
        },
        "concat": {"spacing": 0},
    }

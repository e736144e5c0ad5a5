"""Draw the answer of a named query in characters, without colours, in the width of the terminal."""

import datetime as dt
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from tracehouse.definitions.query_files import Chart
from tracehouse.publish.columns import format_exact
from tracehouse.publish.plot.axes import TICKS, choose_ticks
from tracehouse.publish.plot.rows import DAY_S, IN_HEADING, ChartData, Row, distinct_names, ordered_names
from tracehouse.publish.plot.texts import clock_title, has_rule
from tracehouse.publish.plot.units import axis_title, number

HEIGHT = 20
# A single line is drawn in braille dots, eight per character; several lines have different markers.
BARS = ("bar", "stack", "box")
SINGLE_MARKER, MARKERS = "braille", "●■▲◆+x○□△◇*%"
SHADES = " ░▒▓█"
# The reference value of a chart: dashes across a plot, or a mark on a bar.
RULE, BAR_RULE = "-", "|"
MOST_TICKS = 6
# A legend of more series is written below the plot.
MOST_IN_PLOT = 8


def draw_text(found: ChartData, subtitle: Sequence[str], footer: str, width: int) -> str:
    """The picture as text, with lines no longer than `width` characters."""
    chart = found.chart
    if chart.kind == "heat":
        lines = _draw_panels(found, _draw_heat_map)
    elif chart.kind in BARS or (chart.kind == "point" and found.is_category(chart.x.column)):
        lines = _draw_bars(found, width)
    else:
        lines = _draw_curves(found, width)
    above = [line for text in (found.title, *subtitle) for line in textwrap.wrap(text, width)]
    plot = [line.rstrip() for line in lines]
    return "\n".join([*above, "", *plot, "", *textwrap.wrap(footer, width)]).strip("\n") + "\n"


def explain_marks(found: ChartData) -> list[str]:
    """Explain marks of a drawing in characters that have no legend."""
    mark = f"Mark {BAR_RULE}" if found.chart.kind in BARS else "Dashes"
    rule = f"{mark}: {axis_title(found.chart.rule)}." if has_rule(found) else ""
    return [line for line in (found.daily, rule) if line]


def _draw_panels(found: ChartData, draw: Callable[[ChartData], list[str]]) -> list[str]:
    """A drawing for each value of the facet, one below the other, each after a line with the value."""
    chart, column = found.chart, found.chart.facet
    names = ordered_names(found, column)
    if len(names) < 2:
        return draw(found)
    lines = []
    for name in names:
        rows = [row for row in found.rows if format_exact(row[column]) == name]
        heading = f"{axis_title(column)}: {name}"
        # A single line has no legend.
        alone = distinct_names(rows, chart.color) if chart.kind != "heat" else []
        if len(alone) == 1:
            heading += f", {axis_title(chart.color)}: {alone[0]}"
        unit = name.rpartition(", ")[2] if found.clock_unit == IN_HEADING else found.clock_unit
        lines += ["", heading, *draw(replace(found, rows=rows, clock_unit=unit))]
    return lines[1:]


def _draw_curves(found: ChartData, width: int) -> list[str]:
    """A plot whose lines are the values of color or of the facet; with both, a plot for each facet.

    Each facet has its own reference value, and may have its own unit of time.
    """
    chart = found.chart
    color = chart.color if chart.kind != "pareto" else ""
    if len(distinct_names(found.rows, color)) > 1 or has_rule(found) or found.clock_unit == IN_HEADING:
        return _draw_panels(found, partial(_draw_plot, column=color, width=width))
    return _draw_plot(found, chart.facet or color, width)


def _draw_plot(found: ChartData, column: str, width: int) -> list[str]:
    """A plot with a line or marker for each value of a column, if there is one."""
    import plotext

    chart, x = found.chart, found.chart.x.column
    series = ordered_names(found, column) or [""]
    categories = ordered_names(found, x) if found.is_category(x) else []
    markers = [MARKERS[number % len(MARKERS)] for number in range(len(series))]
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(width, HEIGHT)
    drawn = [(x, y) for x, y in _points(found, found.rows, categories, chart.rule)] if chart.rule else []
    if drawn:
        plotext.plot(*zip(*sorted(drawn), strict=True), marker=RULE)
    for name, marker in zip(series, markers, strict=True):
        rows = [row for row in found.rows if not column or format_exact(row[column]) == name]
        points = sorted(_points(found, rows, categories, chart.y.column))
        drawn += points
        if chart.kind == "step":
            # A line keeps its value up to the next point.
            corners = [[(before, y), (after, y)] for (before, y), (after, _) in pairwise(points)]
            points = [*(point for pair in corners for point in pair), points[-1]]
        draw = plotext.scatter if chart.kind in ("point", "pareto") else plotext.plot
        draw(
            *zip(*points, strict=True),
            marker=marker if len(series) > 1 else SINGLE_MARKER,
            label=name if 1 < len(series) <= MOST_IN_PLOT else None,
        )
    for axis, values, scale, put in zip(
        (chart.x, chart.y),
        zip(*drawn, strict=True),
        (plotext.xscale, plotext.yscale),
        (plotext.xticks, plotext.yticks),
        strict=True,
    ):
        if axis is chart.y and not axis.is_log:
            # As in a picture, the axis starts at 0.
            values = (0, *values)
            plotext.ylim(min(values), max(values))
        if axis.is_log:
            scale("log")
            ticks = choose_ticks(TICKS[:2], values)
            ticks = ticks if len(ticks) > 1 else [min(values), max(values)]
        else:
            ticks = _round_ticks(values)
        put(ticks, [f"{tick:,.12g}" for tick in ticks])
    if chart.kind in ("step", "lorenz"):
        plotext.ylim(0, 100)
        plotext.yticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100"])
    if categories:
        plotext.xticks(range(len(categories)), categories)
    elif x in found.times:
        plotext.xticks(*_time_ticks([_seconds(row[x]) for row in found.rows]))
    if found.has_several_clocks:
        plotext.xlabel(f"{found.clock_unit} since the first of each line")
    elif x in found.on_clock:
        plotext.xlabel(clock_title((row[x] for row in found.rows), found.clock_unit))
    else:
        plotext.xlabel(axis_title(chart.x.name))
    plotext.ylabel(axis_title(chart.y.name))
    lines = plotext.uncolorize(plotext.build()).splitlines()
    if len(series) <= MOST_IN_PLOT:
        return lines
    # A no-break space keeps a marker and its name on one line.
    names = [f"{marker} {name}".replace(" ", "\xa0") for marker, name in zip(markers, series, strict=True)]
    return [*lines, *(line.replace("\xa0", " ") for line in textwrap.wrap("   ".join(names), width))]


def _points(
    found: ChartData, rows: Sequence[Row], categories: Sequence[str], height: str
) -> Iterator[tuple[float, float]]:
    """The positions of the rows that have a value in the column `height`."""
    column = found.chart.x.column
    first = min(row[column] for row in rows) if found.has_several_clocks else 0
    for row in rows:
        x = row[column]
        if categories:
            x = categories.index(format_exact(x))
        elif column in found.times:
            x = _seconds(x)
        if x is not None and row[height] is not None:
            yield float(x - first), float(row[height])


def _round_ticks(values: Sequence[float]) -> list[float]:
    """Positions of ticks at round numbers, such as 0, 20 and 40; whole ones if all values are whole."""
    least, most = min(values), max(values)
    at_least = (most - least) / (MOST_TICKS - 1)
    if at_least == 0:
        return [least]
    power = 10.0 ** math.floor(math.log10(at_least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= at_least)
    if all(value == round(value) for value in values):
        step = max(1, step)
    return [step * position for position in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _time_ticks(seconds: Sequence[float]) -> tuple[list[float], list[str]]:
    """Positions and labels of the ticks of a time axis."""
    first, last = min(seconds), max(seconds)
    positions = [first + part * (last - first) / (MOST_TICKS - 1) for part in range(MOST_TICKS)]
    form = "%Y-%m-%d" if last - first > 3 * DAY_S else "%d %H:%M"
    return positions, [dt.datetime.fromtimestamp(position, dt.UTC).strftime(form) for position in positions]


def _seconds(text: str) -> float:
    time = dt.datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).timestamp()


def _draw_bars(found: ChartData, width: int) -> list[str]:
    """A bar per row between its name and its value; a box is drawn as its median."""
    chart = found.chart
    height = chart.heights[2] if chart.kind == "box" else chart.heights[0]
    by = [column for column in dict.fromkeys((chart.facet, chart.x.column, chart.color)) if column]
    labels = [" ".join(format_exact(row[column]) for column in by) for row in found.rows]
    numbers = [number(row[height]) for row in found.rows]
    widest = min(max(map(len, labels)), width // 2)
    free = width - widest - max(map(len, numbers)) - 2
    rules = [row.get(chart.rule) for row in found.rows]
    most = max(abs(value) for value in (*(row[height] for row in found.rows), *rules) if value is not None)
    scale = free / (most or 1)
    bars = [_draw_bar(row[height] * scale, rule, scale) for row, rule in zip(found.rows, rules, strict=True)]
    return [
        f"{' / '.join(map(axis_title, by))}: {axis_title(_height_name(chart))}",
        *(
            f"{name[:widest]:<{widest}} {bar} {value}"
            for name, bar, value in zip(labels, bars, numbers, strict=True)
        ),
    ]


def _draw_bar(length: float, rule: float | None, scale: float) -> str:
    """A bar of a length in characters, with a mark at its reference value if it has one."""
    bar = "█" * round(abs(length))
    if rule is None:
        return bar
    place = max(0, round(rule * scale) - 1)
    return f"{bar[:place]:<{place}}{BAR_RULE}{bar[place + 1 :]}"


def _height_name(chart: Chart) -> str:
    return f"median_{chart.y.name}" if chart.kind == "box" else chart.y.name


def _draw_heat_map(found: ChartData) -> list[str]:
    """A line of cells per y value. The darkest cell has the highest value."""
    chart = found.chart
    across, down = ordered_names(found, chart.x.column), ordered_names(found, chart.y.column)
    values: dict[tuple[str, str], Any] = {
        (format_exact(row[chart.y.column]), format_exact(row[chart.x.column])): row[chart.color]
        for row in found.rows
    }
    most = max(values.values())
    margin = max(map(len, down)) + 1
    lines = [" " * margin + "".join(f"{name:<3}"[:3] for name in across)]
    for y in down:
        shades = (SHADES[round((len(SHADES) - 1) * values.get((y, x), 0) / most)] * 3 for x in across)
        lines.append(f"{y:<{margin}}{''.join(shades)}")
    return [f"{axis_title(chart.color)}, up to {number(most)}", *lines]

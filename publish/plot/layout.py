"""Build a whole picture in Vega-Lite: sizes, title, legend, small multiples and footer."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracehouse.publish.plot import axes, marks
from tracehouse.publish.plot.rows import Drawable, distinct_names
from tracehouse.publish.plot.texts import axis_title

if TYPE_CHECKING:
    import altair

# In points (72 per inch).
WIDTH, RATIO = 560, 0.57
FONT, NARROW_FONT, NARROW = 11.0, 8.0, 340
MOST_LINES_AT_RIGHT, LONGEST_AT_RIGHT = 20, 18


@dataclass(frozen=True)
class Size:
    """Width and font size of a picture in points; 0 means automatic."""

    width: float = 0
    font: float = 0


def font_size(size: Size) -> float:
    """The font size: smaller for pictures as narrow as a paper's column."""
    return size.font or (NARROW_FONT if 0 < size.width < NARROW else FONT)


def build_layout(
    drawable: Drawable, subtitle: Sequence[str], footer: Sequence[str], size: Size, view: float
) -> "altair.VConcatChart":
    """The picture with a plot area `view` points wide; only drawing shows what width axes and legend add."""
    import altair

    letters = font_size(size)
    whole = size.width or view + 90
    chart = drawable.chart
    panels = distinct_names(drawable.rows, chart.facet) if chart.facet else []
    per_row = max(1, min(math.ceil(math.sqrt(len(panels))), int(view / (9 * letters))))
    gap = 4.5 * letters
    width = (view - gap * (per_row - 1)) / per_row
    height = _height(drawable, width)
    x = axes.build_axis(drawable, chart.x, width, letters - 1)
    legend = _build_legend(drawable, whole, letters)
    data = altair.Data(values=marks.build_values(drawable, width, height, letters / FONT))
    layers = marks.build_layers(drawable, x, legend, letters / FONT)
    heading = altair.Title(
        _wrap(drawable.title, whole, letters + 2, bold=True),
        subtitle=[line for text in subtitle for line in _wrap(text, whole, letters)],
    )
    picture: Any
    if len(panels) > 1:
        # Values are inline because Altair refuses data frames of more than 5,000 rows.
        layered = altair.layer(*layers).properties(width=width, height=height)
        header = altair.Header(
            title=None,
            labelFontSize=letters,
            labelPadding=2,
            labelLimit=width + gap - letters,
            labelExpr=axes.NAME,
        )
        facet = altair.Facet(chart.facet, type="nominal", sort=panels, header=header)
        picture = layered.facet(facet=facet, columns=per_row, data=data, title=heading, spacing=gap / 2)
        # Panels have their own y scales, so that small clusters stay visible next to large ones. Only
        # panels of percentages share a y scale.
        is_share = all(column.endswith("_pct") for column in chart.heights)
        picture = picture.resolve_scale(
            x="independent" if drawable.has_several_clocks else "shared",
            y="shared" if is_share else "independent",
        )
    else:
        picture = altair.layer(*layers, data=data, title=heading).properties(width=width, height=height)
        picture = picture.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    footer_title = altair.Title(
        [line for text in footer for line in _wrap(text, whole, 0.75 * letters)],
        orient="bottom",
        anchor="start",
        fontSize=0.75 * letters,
        fontWeight="normal",
        color="#555555",
        frame="bounds",
        offset=letters,
    )
    return _apply_theme(altair.vconcat(picture, title=footer_title), letters)


def _height(drawable: Drawable, width: float) -> float:
    if drawable.chart.kind == "lorenz":
        return 0.75 * width
    if drawable.chart.kind == "heat":
        return width / 3
    return RATIO * width


def _build_legend(drawable: Drawable, whole: float, letters: float) -> Any:
    """The legend, at the right of the plot if it fits there, otherwise below."""
    import altair

    if drawable.chart.kind == "heat":
        position: dict[str, Any] = (
            {"orient": "right"} if whole >= NARROW else {"orient": "bottom", "direction": "horizontal"}
        )
        return altair.Legend(labelExpr=axes.ROUNDED, tickCount=4, gradientLength=0.2 * whole, **position)
    if len(drawable.series) < 2:
        return None
    longest = max(map(len, [*drawable.series, axis_title(drawable.chart.color)]))
    if whole >= NARROW and longest <= LONGEST_AT_RIGHT and len(drawable.series) <= MOST_LINES_AT_RIGHT:
        return altair.Legend(symbolLimit=0, symbolOpacity=1, labelLimit=whole / 3, labelExpr=axes.NAME)
    longest = max(map(len, drawable.series))
    columns = max(1, int(0.85 * whole / (longest * letters * axes.CHARACTER_WIDTH + 4 * letters)))
    return altair.Legend(
        orient="bottom",
        direction="horizontal",
        titleOrient="left" if columns >= len(drawable.series) and longest < 10 else "top",
        columns=columns,
        symbolLimit=0,
        symbolOpacity=1,
        labelLimit=whole,
        labelExpr=axes.NAME,
    )


def _wrap(text: str, whole: float, letters: float, bold: bool = False) -> list[str]:
    """Wrap a text to the width of the picture."""
    return textwrap.wrap(
        text, max(10, int(0.97 * whole / (letters * axes.CHARACTER_WIDTH * (1.06 if bold else 0.95))))
    )


def _apply_theme(picture: Any, letters: float) -> "altair.VConcatChart":
    small = {"labelFontSize": letters - 1, "titleFontSize": letters}
    return (
        picture.configure_view(stroke=None)
        .configure_axis(**small, titlePadding=0.5 * letters, titleFontWeight="normal", gridColor="#e4e4e4")
        .configure_legend(**small, symbolSize=7 * letters, titleFontWeight="normal", symbolStrokeWidth=0)
        .configure_title(
            anchor="start",
            frame="bounds",
            offset=letters,
            fontSize=letters + 2,
            subtitleFontSize=letters,
            subtitleColor="#444444",
        )
        .configure_concat(spacing=0)
    )

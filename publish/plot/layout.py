"""A whole picture in Vega-Lite: sizes, title, legend, small multiples and the line below."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracehouse.publish.plot import axes, marks
from tracehouse.publish.plot.rows import Drawable, names
from tracehouse.publish.plot.texts import axis_title

if TYPE_CHECKING:
    import altair

# In points, of which an inch has 72.
WIDTH, RATIO = 560, 0.57
FONT, NARROW_FONT, NARROW = 11.0, 8.0, 340
MOST_LINES_BESIDE, LONGEST_BESIDE = 20, 18


@dataclass(frozen=True)
class Size:
    """How wide a picture is and how large its letters, in points; 0 for what suits it."""

    width: float = 0
    font: float = 0


def font(size: Size) -> float:
    """The size of a picture's letters: smaller ones where it is as narrow as a paper's column."""
    return size.font or (NARROW_FONT if 0 < size.width < NARROW else FONT)


def laid_out(
    drawable: Drawable, subtitle: Sequence[str], footer: str, size: Size, view: float
) -> "altair.VConcatChart":
    """The picture, with a plot `view` points wide: what axes and legend take is known when it is drawn."""
    import altair

    letters = font(size)
    whole = size.width or view + 90
    chart = drawable.chart
    panels = names(drawable.rows, chart.facet) if chart.facet else []
    abreast = max(1, min(math.ceil(math.sqrt(len(panels))), int(view / (9 * letters))))
    gap = 4.5 * letters
    width = (view - gap * (abreast - 1)) / abreast
    height = _height(drawable, width)
    x = axes.place(drawable, chart.x, width, letters - 1)
    legend = _legend(drawable, whole, letters)
    data = altair.Data(values=marks.values(drawable, width, height, letters / FONT))
    layers = marks.layers(drawable, x, legend, letters / FONT)
    heading = altair.Title(
        _wrapped(drawable.title, whole, letters + 2, bold=True),
        subtitle=[line for text in subtitle for line in _wrapped(text, whole, letters)],
    )
    picture: Any
    if len(panels) > 1:
        # Inline values, as Altair refuses a data frame of more than 5,000 rows.
        layered = altair.layer(*layers).properties(width=width, height=height)
        header = altair.Header(title=None, labelFontSize=letters, labelPadding=2)
        facet = altair.Facet(chart.facet, type="nominal", sort=panels, header=header)
        picture = layered.facet(facet=facet, columns=abreast, data=data, title=heading, spacing=gap / 2)
        # Of a large cluster and a small one, both can be seen.
        picture = picture.resolve_scale(y="independent")
    else:
        picture = altair.layer(*layers, data=data, title=heading).properties(width=width, height=height)
        picture = picture.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    below = altair.Title(
        _wrapped(footer, whole, 0.75 * letters),
        orient="bottom",
        anchor="start",
        fontSize=0.75 * letters,
        fontWeight="normal",
        color="#555555",
        frame="bounds",
        offset=letters,
    )
    return _themed(altair.vconcat(picture, title=below), letters)


def _height(drawable: Drawable, width: float) -> float:
    if drawable.chart.kind == "lorenz":
        return 0.75 * width
    if drawable.chart.kind == "heat":
        return width / 3
    return RATIO * width


def _legend(drawable: Drawable, whole: float, letters: float) -> Any:
    """Beside the plot where there is room for it, else below."""
    import altair

    if drawable.chart.kind == "heat":
        place: dict[str, Any] = (
            {"orient": "right"} if whole >= NARROW else {"orient": "bottom", "direction": "horizontal"}
        )
        return altair.Legend(labelExpr=axes.ROUNDED, tickCount=4, gradientLength=0.2 * whole, **place)
    if len(drawable.series) < 2:
        return None
    longest = max(map(len, [*drawable.series, axis_title(drawable.chart.color)]))
    if whole >= NARROW and longest <= LONGEST_BESIDE and len(drawable.series) <= MOST_LINES_BESIDE:
        return altair.Legend(symbolLimit=0, labelLimit=whole / 3)
    longest = max(map(len, drawable.series))
    columns = max(1, int(0.85 * whole / (longest * letters * axes.LETTER + 4 * letters)))
    return altair.Legend(
        orient="bottom",
        direction="horizontal",
        titleOrient="left" if columns >= len(drawable.series) and longest < 10 else "top",
        columns=columns,
        symbolLimit=0,
        labelLimit=whole,
    )


def _wrapped(text: str, whole: float, letters: float, bold: bool = False) -> list[str]:
    """A text in lines that fit a picture."""
    return textwrap.wrap(
        text, max(10, int(0.97 * whole / (letters * axes.LETTER * (1.06 if bold else 0.95))))
    )


def _themed(picture: Any, letters: float) -> "altair.VConcatChart":
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

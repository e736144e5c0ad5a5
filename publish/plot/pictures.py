"""Draws the answer of a named query: as a PNG, SVG or PDF so wide as it is to be printed, or in characters.

Vega-Lite draws, by way of Altair and without a browser; both are imported only where something is drawn.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import duckdb

from tracehouse.core.errors import UsageError, UserError, not_installed
from tracehouse.engines.duckdb.read import answer
from tracehouse.engines.duckdb.read.answer import Question
from tracehouse.publish.plot import terminal, texts
from tracehouse.publish.plot.layout import WIDTH, Size, laid_out
from tracehouse.publish.plot.rows import Drawable, drawable, names
from tracehouse.sql.query_files import given_by_chart

if TYPE_CHECKING:
    import altair

ANY_SIZE = Size()
ENDINGS = (".png", ".svg", ".pdf")
POINTS_PER_MM = 72 / 25.4
DPI = 300
BOX = "boxes from the 25th to the 75th percentile, a line at the median, whiskers from the 5th to the 95th"
MIN_WIDTH_MM, MIN_FONT = 40, 4
# How near to the wanted width a picture is drawn, in points, and after how many attempts at most.
NEAR, ATTEMPTS = 0.5, 4


def check_path(path: Path) -> None:
    """Raise UsageError unless a picture can have a path's ending."""
    if path.suffix not in ENDINGS:
        *most, last = ENDINGS
        raise UsageError(f"{path}: the name of a picture ends in {', '.join(most)} or {last}")


def size_of(width_mm: float | None, font_pt: float | None) -> Size:
    """The size of a picture so wide and with letters so large. Raises UsageError where none can be drawn."""
    if width_mm is not None and not MIN_WIDTH_MM <= width_mm <= 2_000:
        raise UsageError(f"--width is in millimetres, from {MIN_WIDTH_MM} to 2000, not {width_mm:g}")
    if font_pt is not None and not MIN_FONT <= font_pt <= 100:
        raise UsageError(f"--font-size is in points, from {MIN_FONT} to 100, not {font_pt:g}")
    return Size((width_mm or 0) * POINTS_PER_MM, font_pt or 0)


def draw(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    given: Mapping[str, str],
    ending: str,
    size: Size,
    file: BinaryIO,
) -> None:
    """Answer a named question and write its picture, of the kind that an ending stands for.

    `given` are the parameters that were given, as texts. Raises UserError where there is nothing to draw, or
    nothing to draw with.
    """
    picture = picture_of(connection, question, given, size)
    import vl_convert

    spec = picture.to_dict()
    if ending == ".png":
        file.write(vl_convert.vegalite_to_png(spec, scale=1, ppi=DPI))
    elif ending == ".pdf":
        file.write(vl_convert.vegalite_to_pdf(spec))
    else:
        file.write(svg_of(picture).encode())


def svg_of(picture: "altair.VConcatChart") -> str:
    """A picture as SVG, its size in points."""
    import vl_convert

    return _in_points(vl_convert.vegalite_to_svg(picture.to_dict()))


def picture_of(
    connection: duckdb.DuckDBPyConnection, question: Question, given: Mapping[str, str], size: Size
) -> "altair.VConcatChart":
    """Answer a named question, and lay the answer out as its chart line says, as wide as wanted."""
    _check_extra("altair", "vl_convert")
    found = drawable(connection, question)
    subtitle, footer = _texts(connection, found, given)
    subtitle += _of_marks(found)
    view = size.width * 0.8 or WIDTH
    for _ in range(ATTEMPTS if size.width else 0):
        off = size.width - _width(laid_out(found, subtitle, footer, size, view))
        if abs(off) < NEAR:
            break
        view = max(0.2 * size.width, view + off)
    return laid_out(found, subtitle, footer, size, view)


def picture_of_query(
    connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str], size: Size = ANY_SIZE
) -> "altair.VConcatChart":
    """Answer a named query, some of its parameters given as texts, and lay its picture out.

    Raises UserError where it has no picture, and UsageError where a parameter is none.
    """
    question = answer.named_question(connection, name, {**given_by_chart(name), **given})
    return picture_of(connection, question, given, size)


def text_of(
    connection: duckdb.DuckDBPyConnection, question: Question, given: Mapping[str, str], columns: int
) -> str:
    """Answer a named question, and draw the answer in characters. Raises as `draw` does."""
    _check_extra("plotext")
    found = drawable(connection, question)
    return terminal.drawn(found, *_texts(connection, found, given), columns)


def _texts(
    connection: duckdb.DuckDBPyConnection, found: Drawable, given: Mapping[str, str]
) -> tuple[list[str], str]:
    asked = texts.asked(connection, found.name, given, found.chart.parameter)
    remarks = [*texts.remarks(connection, found.name, found.traces), asked, *found.remarks]
    return [remark for remark in remarks if remark], texts.footer(connection, found.name, found.traces)


def _of_marks(found: Drawable) -> list[str]:
    """What the marks mean for which there is no legend."""
    chart = found.chart
    said = [BOX] if chart.kind == "box" else []
    if any(row.get(chart.rule) is not None for row in found.rows):
        line = "mark" if found.is_category(chart.x.column) else "dashed line"
        said.append(f"{line}: {texts.axis_title(chart.rule)}")
    # Where there is but one, no legend and no heading over a small picture says which.
    for column in (chart.color, chart.facet) if chart.kind != "heat" else ():
        alone = names(found.rows, column) if column else []
        if len(alone) == 1 and alone != ["NULL"] and column != "trace":
            said.append(f"{texts.axis_title(column)}: {alone[0]}")
    if chart.labels:
        said.append(f"labels, where there is room: {' / '.join(map(texts.axis_title, chart.labels))}")
    return said


def _width(picture: "altair.VConcatChart") -> float:
    """How wide a picture is with its axes and legend, in points."""
    import vl_convert

    found = re.search(r'<svg[^>]*? width="([\d.]+)"', vl_convert.vegalite_to_svg(picture.to_dict()))
    if found is None:
        raise UserError("the picture has no width")
    return float(found[1])


def _in_points(svg: str) -> str:
    """An SVG whose size is in points, as it is laid out, not in the pixels of a screen."""
    return re.sub(
        r'(<svg[^>]*? (?:width|height)=")([\d.]+)(" [^>]*?(?:width|height)=")([\d.]+)"',
        r'\1\2pt\3\4pt"',
        svg,
        count=1,
    )


def _check_extra(*modules: str) -> None:
    try:
        for module in modules:
            import_module(module)
    except ModuleNotFoundError as error:
        raise not_installed("pictures need", str(error.name), "plot") from None

"""Draw the answer of a named query: as PNG, SVG or PDF of a given width, or as characters.

Vega-Lite draws, through Altair and without a browser; both are imported on first use.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import duckdb

from tracehouse.core.errors import UsageError, UserError, check_installed
from tracehouse.engines.duckdb.read import binding, notes
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import WRONG_RESULT
from tracehouse.publish.formats import PICTURES
from tracehouse.publish.plot import terminal, texts
from tracehouse.publish.plot.layout import WIDTH, Size, build_layout
from tracehouse.publish.plot.rows import Drawable, distinct_names, select_drawable, select_rows
from tracehouse.sql.query_files import read_chart

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

ANY_SIZE = Size()
POINTS_PER_MM = 72 / 25.4
DPI = 300
BOX = "boxes from the 25th to the 75th percentile, a line at the median, whiskers from the 5th to the 95th"
MIN_WIDTH_MM, MIN_FONT = 40, 4
MOST_CAVEATS = 4
# The accepted deviation from the requested width, in points, and the most attempts to reach it. The widths of
# panels are rounded to whole points.
WIDTH_TOLERANCE, MOST_ATTEMPTS = 1, 4


def check_path(path: Path) -> None:
    """Raise UsageError unless the path's suffix is that of a picture format."""
    if path.suffix not in PICTURES:
        *most, last = PICTURES
        raise UsageError(f"{path}: a picture's file name must end in {', '.join(most)} or {last}")


def parse_size(width_mm: float | None, font_pt: float | None) -> Size:
    """The size of a picture from millimetres and points. Raises UsageError if it is out of range."""
    if width_mm is not None and not MIN_WIDTH_MM <= width_mm <= 2_000:
        raise UsageError(f"--width must be {MIN_WIDTH_MM} to 2000 millimetres, not {width_mm:g}")
    if font_pt is not None and not MIN_FONT <= font_pt <= 100:
        raise UsageError(f"--font-size must be {MIN_FONT} to 100 points, not {font_pt:g}")
    return Size((width_mm or 0) * POINTS_PER_MM, font_pt or 0)


def draw(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    given: Mapping[str, str],
    suffix: str,
    size: Size,
    file: BinaryIO,
) -> None:
    """Run a named query and write its picture in the format of a suffix.

    `given` holds the parameters that the user set, as texts. Raises UserError if there is nothing to draw, or
    if the extra `plot` is not installed.
    """
    picture = build_picture(connection, query, given, size)
    import vl_convert

    if suffix == ".png":
        file.write(vl_convert.svg_to_png(_render(picture), scale=1, ppi=DPI))
    elif suffix == ".pdf":
        file.write(vl_convert.svg_to_pdf(_render(picture)))
    else:
        file.write(render_svg(picture).encode())


def render_svg(picture: "altair.VConcatChart") -> str:
    """A picture as SVG, its size in points."""
    return _in_points(_render(picture))


def _render(picture: "altair.VConcatChart") -> str:
    return _render_specification(json.dumps(picture.to_dict()))


# Cached, because the picture that was measured last is the picture that is written.
@lru_cache(maxsize=1)
def _render_specification(specification: str) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(specification))


def build_picture(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, given: Mapping[str, str], size: Size
) -> "altair.VConcatChart":
    """Run a named query and build the picture that its chart line specifies, in the requested width."""
    check_installed("pictures need", "plot", "altair", "vl_convert")
    return lay_out(connection, select_drawable(connection, query), given, size)


def lay_out(
    connection: duckdb.DuckDBPyConnection, found: Drawable, given: Mapping[str, str], size: Size
) -> "altair.VConcatChart":
    """Build the picture of the rows of an answer in the requested width."""
    subtitle, footer = _texts(connection, found, given)
    return _lay_out(found, subtitle, [footer, *_caveats(_notes(connection, found), found.name)], size)


def select_answer(
    answer: "pa.Table", chart_line: str, name: str, title: str, traces: Sequence[str]
) -> Drawable:
    """Select the rows of an answer that a chart line draws. Raises the same errors as `draw`."""
    found = select_rows(answer, read_chart(chart_line, "plot"), name or "this answer", title)
    return replace(found, name=name, traces=found.traces or traces)


def build_answer_picture(
    connection: duckdb.DuckDBPyConnection, found: Drawable, about: Sequence[notes.Note], size: Size
) -> "altair.VConcatChart":
    """Build the picture of selected rows, with the notes on their answer."""
    check_installed("pictures need", "plot", "altair", "vl_convert")
    synthetic = ["synthetic data"] * any(note.name == "synthetic data" for note in about)
    footer = texts.footer(connection, found.name, found.traces) if found.traces else found.name
    return _lay_out(found, [*synthetic, *found.remarks], [footer, *_caveats(about, found.name)], size)


def _lay_out(
    found: Drawable, subtitle: Sequence[str], footnotes: Sequence[str], size: Size
) -> "altair.VConcatChart":
    """Lay out a picture in the requested width."""
    subtitle = [*subtitle, *explain_marks(found)]
    view = size.width * 0.8 or WIDTH
    for _ in range(MOST_ATTEMPTS if size.width else 0):
        missing = size.width - _measure_width(build_layout(found, subtitle, footnotes, size, view))
        if abs(missing) < WIDTH_TOLERANCE:
            break
        view = max(0.2 * size.width, view + missing)
    return build_layout(found, subtitle, footnotes, size, view)


def build_query_picture(
    connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str], size: Size = ANY_SIZE
) -> "altair.VConcatChart":
    """Run a named query with parameters as texts, and build its picture.

    Raises UserError if the query has no chart, and UsageError if a parameter is invalid.
    """
    query = binding.bind_query(connection, name, given, for_chart=True)
    return build_picture(connection, query, given, size)


def render_text(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, given: Mapping[str, str], columns: int
) -> str:
    """Run a named query and draw the answer in characters. Raises the same errors as `draw`."""
    check_installed("pictures need", "plot", "plotext")
    found = select_drawable(connection, query)
    return terminal.draw_text(found, *_texts(connection, found, given), columns)


def _texts(
    connection: duckdb.DuckDBPyConnection, found: Drawable, given: Mapping[str, str]
) -> tuple[list[str], str]:
    parameters = texts.describe_parameters(connection, found.name, given, found.chart.parameter)
    lines = write_subtitle(connection, found, parameters)
    return lines, texts.footer(connection, found.name, found.traces)


def write_subtitle(connection: duckdb.DuckDBPyConnection, found: Drawable, parameters: str) -> list[str]:
    """The lines below the title: synthetic data, the parameters, and rows that are not drawn."""
    is_synthetic = any(note.name == "synthetic data" for note in _notes(connection, found))
    lines = ["synthetic data" if is_synthetic else "", parameters, *found.remarks]
    return [line for line in lines if line]


def _caveats(about: Sequence[notes.Note], name: str) -> list[str]:
    """The summaries of the first caveats with severity WRONG_RESULT, and the number of the other ones."""
    serious = [note for note in about if note.severity == WRONG_RESULT]
    sentences = [f"{note.name.partition('.')[0]}: {note.summary}" for note in serious]
    more = len(sentences) - MOST_CAVEATS
    return [
        *sentences[:MOST_CAVEATS],
        *([f"{more} more caveats" + f": traces describe {name}" * bool(name)] if more > 0 else []),
    ]


def _notes(connection: duckdb.DuckDBPyConnection, found: Drawable) -> list[notes.Note]:
    return notes.of_object(connection, found.name, found.traces or None, on_data=True)


def explain_marks(found: Drawable) -> list[str]:
    """Explain marks that have no legend."""
    chart = found.chart
    lines = [BOX] if chart.kind == "box" else []
    if any(row.get(chart.rule) is not None for row in found.rows):
        line = "mark" if found.is_category(chart.x.column) else "dashed line"
        lines.append(f"{line}: {texts.axis_title(chart.rule)}")
    # A single series or panel has neither a legend nor a heading.
    for column in (chart.color, chart.facet) if chart.kind != "heat" else ():
        alone = distinct_names(found.rows, column) if column else []
        if len(alone) == 1 and alone != ["NULL"] and column != "trace" and alone != list(found.traces):
            lines.append(f"{texts.axis_title(column)}: {alone[0]}")
    if chart.labels:
        lines.append(f"labels where they fit: {' / '.join(map(texts.axis_title, chart.labels))}")
    return lines


def _measure_width(picture: "altair.VConcatChart") -> float:
    """The width of a picture with its axes and legend, in points."""
    found = re.search(r'<svg[^>]*? width="([\d.]+)"', _render(picture))
    if found is None:
        raise UserError("the picture has no width")
    return float(found[1])


def _in_points(svg: str) -> str:
    """Declare the size of an SVG in points instead of pixels."""
    return re.sub(
        r'(<svg[^>]*? (?:width|height)=")([\d.]+)(" [^>]*?(?:width|height)=")([\d.]+)"',
        r'\1\2pt\3\4pt"',
        svg,
        count=1,
    )

"""Draw the answer of a named query: as PNG, SVG or PDF of a given width, or as characters.

Vega-Lite draws, without a browser; it is imported on first use.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.core.errors import Option, UsageError, check_installed
from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.read.answer import Answer, answer
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import NOT_COUNTED, Note
from tracehouse.engines.request import NamedQuery, Request
from tracehouse.publish.plot import terminal, texts
from tracehouse.publish.plot.axes import FEWEST_TICKS, NEAR, Spec, log_axes
from tracehouse.publish.plot.layout import FIRST_VIEW, NARROW, WIDTH, Size, build_spec
from tracehouse.publish.plot.marks import LABEL
from tracehouse.publish.plot.options import DEFAULT, ChartOptions, choose_chart
from tracehouse.publish.plot.rows import BAND, ChartData, explain_few_rows, select_chart_data, select_rows
from tracehouse.publish.plot.units import axis_title
from tracehouse.publish.renderer import Rendered

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

ANY_SIZE = Size()
# A chart in a column of a phone, in points.
PHONE = Size(300, 11)
POINTS_PER_MM = 72 / 25.4
DPI = 300
# A page replaces this text in the subtitle of a template by the parameters.
PARAMETERS = "{parameters}"
MIN_WIDTH_MM, MIN_FONT = 40, 4
# The accepted deviation from the requested width, in points, and the most attempts to reach it. The widths of
# panels are rounded to whole points.
WIDTH_TOLERANCE, MOST_ATTEMPTS = 1, 4


@dataclass(frozen=True)
class ChartContext:
    """What a picture shows: the rows of an answer, the lines above it, and source and caveats below."""

    rows: ChartData
    subtitle: Sequence[str]
    source: str
    caveats: Sequence[str]
    not_counted: str = ""


@dataclass(frozen=True)
class PictureFile:
    """Renders an answer as PNG, SVG or PDF, which the suffix names, of a size."""

    suffix: str
    size: Size = ANY_SIZE
    options: ChartOptions = DEFAULT
    is_laid_out = False

    def render(self, answer: Answer, _file: Path, _draft: Path) -> Rendered:
        """Describe the picture of an answer."""
        context = describe(answer, self.options)
        # The waiting process draws it: the program that draws reserves half a gigabyte.
        return Rendered(finish=partial(_draw, context, self.size, self.suffix))


@dataclass(frozen=True)
class TextChart:
    """Renders an answer as a chart of characters, so many `columns` wide."""

    columns: int
    options: ChartOptions = DEFAULT
    is_laid_out = False

    def render(self, answer: Answer, file: Path, _draft: Path) -> Rendered:
        """Draw an answer in characters."""
        file.write_text(render_text(answer, self.columns, self.options), encoding="utf-8")
        return Rendered()


def _draw(context: ChartContext, size: Size, suffix: str, file: Path) -> None:
    file.write_bytes(render(build(context, size), suffix))


def parse_size(width_mm: float | None, font_pt: float | None) -> Size:
    """The size of a picture from millimetres and points. Raises UsageError if it is out of range."""
    if width_mm is not None and not MIN_WIDTH_MM <= width_mm <= 2_000:
        what = f" must be {MIN_WIDTH_MM} to 2000 millimetres, not {width_mm:g}"
        raise UsageError(Option("width"), what)
    if font_pt is not None and not MIN_FONT <= font_pt <= 100:
        raise UsageError(Option("font_size"), f" must be {MIN_FONT} to 100 points, not {font_pt:g}")
    return Size((width_mm or 0) * POINTS_PER_MM, font_pt or 0)


def build_query_picture(
    connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str], size: Size = ANY_SIZE
) -> Spec:
    """Run a named query with parameters as texts, and build its picture.

    Raises UserError if the query has no chart, and UsageError if a parameter is invalid.
    """
    return build(describe_query(connection, name, given), size)


def describe_query(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    given: Mapping[str, str],
    options: ChartOptions = DEFAULT,
) -> ChartContext:
    """Run a named query and describe its picture. Raises the same errors as `build_query_picture`."""
    with answer(connection, Request(NamedQuery(name, given, for_chart=True))) as answered:
        return describe(answered, options)


def describe(answered: Answer, options: ChartOptions = DEFAULT) -> ChartContext:
    """Describe the picture of an answer. Raises UserError if there is nothing to draw."""
    return describe_rows(answered, select_chart_data(answered, options), options)


def select_answer(rows: "pa.Table", options: ChartOptions, name: str) -> ChartData:
    """Select the rows of an answer that options choose. Raises the same errors as `describe`."""
    return select_rows(rows, choose_chart(None, rows, options), name)


def describe_answer(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    about: Sequence[Note],
    found: ChartData,
    options: ChartOptions,
) -> ChartContext:
    """Describe the picture of rows that `select_answer` selected from an answer with some notes."""
    return describe_rows(Answer(connection, query, about), found, options)


def describe_rows(
    answered: Answer,
    found: ChartData,
    options: ChartOptions = DEFAULT,
    explain: Callable[[ChartData], list[str]] = texts.explain_marks,
) -> ChartContext:
    """Describe the picture of the selected rows of an answer."""
    found, about, parameters = _add_facts(answered, found, options)
    filled = texts.fill_parameters(answered.connection, answered.query, found.chart)
    return _describe(answered.connection, replace(found, chart=filled), about, parameters, options, explain)


def _add_facts(
    answered: Answer, found: ChartData, options: ChartOptions = DEFAULT
) -> tuple[ChartData, list[Note], str]:
    """Rows with their traces and title, the notes on these traces, and the parameters that affect them."""
    connection, query = answered.connection, answered.query
    found = replace(found, traces=texts.traces_behind(connection, query, found.traces), reads=query.reads)
    about = [note for note in answered.notes if not note.severity or note.trace in found.traces]
    chart = found.chart
    if found.name and options.has_columns:
        # The query's own title is of other columns.
        found = replace(
            found, title=f"{found.name}: {axis_title(chart.y.name)} by {axis_title(chart.x.name)}"
        )
    elif found.name:
        title = chart.title or texts.title_of(connection, found.name)
        if chosen := query.given.get("in_trace"):
            title = title.replace("all traces", ", ".join(chosen.split(",")))
        found = replace(found, title=title)
    return found, about, texts.describe_parameters(connection, query, chart)


def _describe(
    connection: duckdb.DuckDBPyConnection,
    found: ChartData,
    about: Sequence[Note],
    parameters: str,
    options: ChartOptions = DEFAULT,
    explain: Callable[[ChartData], list[str]] = texts.explain_marks,
) -> ChartContext:
    """Describe a picture. Without a title, the remarks are in the footer."""
    explained = [*explain(found), *texts.name_single_values(found)]
    found = replace(found, title=options.title or found.title)
    below: Sequence[str] = []
    if not options.has_title:
        below = [f"{parameters}." if parameters else "", found.chart.note, *explained, *found.remarks]
        chart = replace(found.chart, note="")
        found, explained, parameters = replace(found, title="", chart=chart, remarks=()), [], ""
    subtitle = texts.write_subtitle(found, about, parameters, explained)
    if not options.has_footer:
        return ChartContext(found, subtitle, "", [])
    source = " ".join(filter(None, [*below, texts.footer(connection, found)]))
    not_counted = " ".join(f"{note.label}: {note.text}." for note in about if note.name == NOT_COUNTED)
    return ChartContext(found, subtitle, source, texts.list_caveats(about, found.chart), not_counted)


def build(context: ChartContext, size: Size) -> Spec:
    """Build a picture in the requested width."""
    view = FIRST_VIEW * size.width or WIDTH
    for _ in range(MOST_ATTEMPTS if size.width else 0):
        svg = _render(json.dumps(_build_spec(context, size, view)))
        missing = size.width - float(svg.partition(' width="')[2].partition('"')[0])
        if abs(missing) < WIDTH_TOLERANCE:
            break
        view = max(0.2 * size.width, view + missing)
    return _build_spec(context, size, view)


def _build_spec(context: ChartContext, size: Size, view: float) -> Spec:
    caveats = texts.shorten_caveats(context.caveats, context.rows.name, 0 < size.width < NARROW)
    below = [context.source, *filter(None, [context.not_counted]), *caveats]
    return build_spec(context.rows, context.subtitle, below, size, view)


def render(picture: Spec, suffix: str) -> bytes:
    """Render a picture in the format of a suffix. Raises UserError if the extra `plot` is not installed."""
    svg = _render(json.dumps(picture))
    import vl_convert

    if suffix == ".png":
        return bytes(vl_convert.svg_to_png(svg, scale=1, ppi=DPI))
    return bytes(vl_convert.svg_to_pdf(svg)) if suffix == ".pdf" else render_svg(picture).encode()


def render_svg(picture: Spec) -> str:
    """Render a picture as SVG, its size in points instead of pixels."""
    svg = _render(json.dumps(picture))
    return re.sub(r'(<svg[^>]*? width="[\d.]+)(" height="[\d.]+)"', r'\1pt\2pt"', svg, count=1)


def as_altair(picture: Spec) -> "altair.VConcatChart":
    """The picture as a chart of Altair, which notebooks show and which can be changed and saved."""
    check_installed("pictures need", "plot", "altair")
    import altair

    class Picture(altair.VConcatChart):
        def save(self, fp: Any, *arguments: Any, **options: Any) -> None:
            """Save the chart to a file, a PNG with the resolution of those that `traces query` writes."""
            if "png" in (*arguments, options.get("format"), str(fp)[-3:]):
                options = {"ppi": DPI} | options
            super().save(fp, *arguments, **options)

    return Picture.from_dict(picture)


# Cached, because the picture that was measured last is the picture that is written.
@lru_cache(maxsize=1)
def _render(specification: str) -> str:
    check_installed("pictures need", "plot", "vl_convert")
    import vl_convert

    return str(vl_convert.vegalite_to_svg(specification))


def render_text(answered: Answer, columns: int, options: ChartOptions = DEFAULT) -> str:
    """Draw an answer in characters. Raises the same errors as `describe`."""
    check_installed("pictures need", "plot", "plotext")
    found = select_chart_data(answered, options)
    # The notes are printed below it.
    context = describe_rows(answered, found, options, terminal.explain_marks)
    return terminal.draw_text(context.rows, context.subtitle, context.source, columns)


def build_for_page(context: ChartContext) -> dict[str, Spec]:
    """`spec`, the picture for a page, and `narrow`, the one for a phone, without rows: they are the same."""
    narrow = _build_spec(context, PHONE, FIRST_VIEW * PHONE.width)
    del narrow["data"]
    return {"spec": build(context, ANY_SIZE), "narrow": narrow}


def build_template(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The template of a query's chart, from which a page draws the answers to any parameters.

    `spec` and `narrow` are the pictures of the answer to the default parameters. `sql` selects rows from the
    relation `answer`. `with` is the parameter that the chart sets. `lines` are the lines of the subtitle,
    with PARAMETERS in place of the parameters, and `{parameter}` in place of a value. `defaults` has the
    effective default parameters as texts by name, `hidden` those that do not affect the chart. `refused` says
    why an answer without rows, and without or with one row to draw, has no chart, with VALUE in place of the
    row's value of `height`. `logs` has the columns of each logarithmic axis and its possible ticks, at least
    `fewest` of which it needs, and outside its values those that lengthen it by `near` at most. `names` has
    the titles of the choices of parameters that name an axis. `band` matches numbers and bands of them.
    Raises UserError if the answer with default parameters cannot be drawn.
    """
    with answer(connection, Request(NamedQuery(name, for_chart=True))) as answered:
        found, about, parameters = _add_facts(answered, select_chart_data(answered))
    query = answered.query
    # A page fills in the names of axes, also for the default answer, and the note only for other answers.
    note = texts.fill_parameters(connection, query, found.chart).note
    default = replace(found, chart=replace(found.chart, note=note))
    # The page says next to the chart whom the answer does not count.
    context = replace(_describe(connection, default, about, parameters), not_counted="")
    built = build_for_page(context)
    labels = [row[LABEL] for row in built["spec"]["data"]["values"] if row.get(LABEL)]
    return {
        **built,
        "sql": _select_named_rows(found, labels),
        "with": found.chart.parameter,
        "lines": texts.write_subtitle(found, about, PARAMETERS, texts.explain_marks(found)),
        "defaults": texts.effective_parameters(connection, query, found.chart),
        "hidden": sorted(texts.hidden_parameters(connection, name, found.chart)),
        **explain_few_rows(found.chart),
        "logs": [{"columns": columns, "choices": choices} for columns, choices in log_axes(found)],
        "fewest": FEWEST_TICKS,
        "near": NEAR,
        "names": texts.axis_names(connection, name, found.chart),
        "band": BAND,
    }


def _select_named_rows(found: ChartData, labels: list[str]) -> str:
    """The SQL of the rows with names of categories, and with the labels of the default answer."""
    names = [identifier(column) for column in found.rows[0] if found.is_category(column)]
    named = ", ".join(f"coalesce(cast({name} as varchar), 'NULL') as {name}" for name in names)
    label = ""
    if labels:
        form = " / ".join("{:g}" for _ in found.chart.labels)
        values = ", ".join(f"cast({identifier(column)} as double)" for column in found.chart.labels)
        text = f"format('{form}', {values})"
        label = f", if({text} in ({', '.join(map(quoted, ['', *labels]))}), {text}, '') as {LABEL}"
    return f"select *{f' replace ({named})' if named else ''}{label} from ({found.sql})"

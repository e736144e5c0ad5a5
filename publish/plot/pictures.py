"""Draw the answer of a named query: as PNG, SVG or PDF of a given width, or as characters.

Vega-Lite draws, without a browser; it is imported on first use.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.core.errors import Option, UsageError, check_installed
from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.read import binding, notes
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.membership import as_notes, find_not_counted
from tracehouse.engines.duckdb.read.notes import NOT_COUNTED, Note
from tracehouse.publish.plot import terminal, texts
from tracehouse.publish.plot.axes import FEWEST_TICKS, NEAR, Spec, log_axes
from tracehouse.publish.plot.layout import FIRST_VIEW, NARROW, WIDTH, Size, build_spec
from tracehouse.publish.plot.marks import LABEL
from tracehouse.publish.plot.options import DEFAULT, ChartOptions, choose_chart
from tracehouse.publish.plot.rows import BAND, ChartData, explain_few_rows, select_chart_data, select_rows
from tracehouse.publish.plot.units import axis_title

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
    return describe(connection, binding.bind_query(connection, name, given, for_chart=True), given, options)


def build_picture(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, given: Mapping[str, str], size: Size
) -> Spec:
    """Run a named query and build the picture that its chart line specifies, in the requested width.

    `given` holds the parameters that the user set, as texts. Raises UserError if there is nothing to draw.
    """
    return build(describe(connection, query, given), size)


def describe(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    given: Mapping[str, str],
    options: ChartOptions = DEFAULT,
) -> ChartContext:
    """Run a query and describe its picture. Raises UserError if there is nothing to draw."""
    return describe_rows(connection, *_select(connection, query, given, options), options)


def _select(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    given: Mapping[str, str],
    options: ChartOptions = DEFAULT,
) -> tuple[ChartData, Sequence[Note], str]:
    """The rows of a query to draw, the notes on them, and the parameters that affect them."""
    found, about, parameters = _add_facts(
        connection, select_chart_data(connection, query, options), query, given, options
    )
    if found.name:
        found = replace(found, chart=texts.fill_parameters(connection, found.name, given, found.chart))
    return found, about, parameters


def _add_facts(
    connection: duckdb.DuckDBPyConnection,
    found: ChartData,
    query: BoundQuery,
    given: Mapping[str, str],
    options: ChartOptions,
) -> tuple[ChartData, list[Note], str]:
    """Rows with their traces and title, the notes on these traces, and the parameters that affect them."""
    drawn = found.traces
    found = replace(found, traces=texts.traces_behind(connection, query, drawn), reads=query.reads)
    if not found.name:
        return found, [note for note in query.notes if not note.severity or note.trace in found.traces], ""
    parameters = texts.describe_parameters(connection, found.name, given, found.chart)
    chart = found.chart
    if options.has_columns:
        # The query's own title is of other columns.
        title = f"{found.name}: {axis_title(chart.y.name)} by {axis_title(chart.x.name)}"
    else:
        title = chart.title or texts.title_of(connection, found.name)
        if chosen := given.get("in_trace"):
            title = title.replace("all traces", ", ".join(chosen.split(",")))
    about = notes.of_object(connection, found.name, found.traces, on_data=True)
    left_out = find_not_counted(connection, query.reads, chosen=query.traces, counted=drawn or None)
    about += as_notes(left_out, is_partial=not drawn)
    return replace(found, title=title), about, parameters


def select_answer(answer: "pa.Table", options: ChartOptions, name: str) -> ChartData:
    """Select the rows of an answer that options choose. Raises the same errors as `build_picture`."""
    return select_rows(answer, choose_chart(None, answer, options), name)


def describe_answer(
    connection: duckdb.DuckDBPyConnection,
    found: ChartData,
    query: BoundQuery,
    given: Mapping[str, str],
    options: ChartOptions,
) -> ChartContext:
    """Describe the picture of rows that `select_answer` selected, as `describe` does."""
    return describe_rows(connection, *_add_facts(connection, found, query, given, options), options)


def describe_rows(
    connection: duckdb.DuckDBPyConnection,
    found: ChartData,
    about: Sequence[Note],
    parameters: str,
    options: ChartOptions = DEFAULT,
    explain: Callable[[ChartData], list[str]] = texts.explain_marks,
) -> ChartContext:
    """Describe the picture of the rows of an answer. Without a title, the remarks are in the footer."""
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


def render_text(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    given: Mapping[str, str],
    columns: int,
    options: ChartOptions = DEFAULT,
) -> str:
    """Run a query and draw the answer in characters. Raises the same errors as `build_picture`."""
    check_installed("pictures need", "plot", "plotext")
    found, about, parameters = _select(connection, query, given, options)
    # The notes are printed below it.
    context = describe_rows(connection, found, about, parameters, options, terminal.explain_marks)
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
    query = binding.bind_query(connection, name, {}, for_chart=True)
    found, about, parameters = _add_facts(
        connection, select_chart_data(connection, query), query, {}, DEFAULT
    )
    # A page fills in the names of axes, also for the default answer, and the note only for other answers.
    note = texts.fill_parameters(connection, name, {}, found.chart).note
    default = replace(found, chart=replace(found.chart, note=note))
    # The page says next to the chart whom the answer does not count.
    context = replace(describe_rows(connection, default, about, parameters), not_counted="")
    built = build_for_page(context)
    labels = [row[LABEL] for row in built["spec"]["data"]["values"] if row.get(LABEL)]
    return {
        **built,
        "sql": _select_named_rows(found, labels),
        "with": found.chart.parameter,
        "lines": texts.write_subtitle(found, about, PARAMETERS, texts.explain_marks(found)),
        "defaults": texts.effective_parameters(connection, name, {}, found.chart),
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

"""Charts of query results: marks, order, titles, and errors."""

import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
import suites
from duckdb import DuckDBPyConnection

from tracehouse.core.errors import DefinitionError, UsageError, UserError
from tracehouse.definitions.query_files import query_files, read_chart
from tracehouse.engines.duckdb.read import binding, sandbox
from tracehouse.engines.duckdb.read.answer import Answer
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.publish.plot import pictures, terminal, texts, units
from tracehouse.publish.plot.axes import OTHER_COLORS, TRACE_COLORS
from tracehouse.publish.plot.layout import WIDTH, Size, build_spec
from tracehouse.publish.plot.options import ChartOptions
from tracehouse.publish.plot.rows import NoChartError, select_rows
from tracehouse.publish.site import contract

SVG = "{http://www.w3.org/2000/svg}"
POINTS_PER_MM = 72 / 25.4

DRAWN = {query.full_name: query for query in query_files() if query.chart}
# These results are one number or row, or classes by model, or outcomes by size and trace.
WITHOUT_A_CHART = {
    *("acme.arrivals", "acme.curve_distance", "asi.fractional_requests", "itp.testbed", "itp.top_jobs"),
    *("openb.fragmentation_of", "openb.peak_concurrency", "openb.pending_fit", "openb.sharing"),
    *("pai.sharing_savings", "pai.user_concentration", "philly.machine_gpus", "unified.failure_cost"),
    # Two bars, bars that are equal by construction, or amounts in different units.
    *("dlrm.requests_by_role", "itp.feasibility", "openb.pending_fit_by_model", "openb.waits"),
    *("pai.request_percentiles", "pai.totals", "zeus.coverage_by_gpu", "zeus.power_over_limit"),
    "zeus.train_coverage",
}
# In the small sample, these results have a single hour or burst.
ONE_NUMBER_IN_THE_SAMPLE = {
    *("acme.xid_bursts", "genai.latency_by_hour", "genai.use_by_hour", "philly.utilization_by_day")
}
IN_THE_SAMPLE = DRAWN.keys() - ONE_NUMBER_IN_THE_SAMPLE
OF_EACH_KIND = {DRAWN[name].chart.kind: name for name in sorted(IN_THE_SAMPLE)}.values()
# `make bi-test` draws every chart, `make test` one of each kind.
TESTED = sorted(DRAWN if "bi" in suites.REQUESTED else OF_EACH_KIND)


@pytest.fixture(scope="module")
def opened(sample_warehouse: Path) -> Iterator[DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


def parts(picture: dict) -> dict:
    """Return parts of a picture: marks, encoding of the first layer, texts and rows."""
    [plot] = picture["vconcat"]
    inner = plot.get("spec", plot)
    layers = [(layer["mark"], layer["encoding"]) for layer in inner["layer"]]
    return {
        "rows": picture["data"]["values"],
        "columns": plot.get("columns", 1),
        "layers": layers,
        "marks": [mark["type"] for mark, _ in layers],
        # The line at 100 % has no x.
        "encoding": next(encoding for _, encoding in layers if "x" in encoding),
        "facet": plot.get("facet"),
        "shares_y": plot["resolve"]["scale"].get("y") != "independent",
        "title": plot["title"]["text"],
        "subtitle": plot["title"]["subtitle"],
        "footer": " ".join(picture.get("title", {"text": []})["text"]),
        "footer_lines": picture.get("title", {"text": []})["text"],
    }


def draw(sql: str, line: str) -> dict:
    """Return parts of the picture that a chart line specifies for the answer of an SQL query."""
    found = select_rows(duckdb.sql(sql).to_arrow_table(), read_chart(line, "a.b"), "a.b")
    found = replace(found, title=found.title or "How?")
    explained = [*texts.explain_marks(found), *texts.name_single_values(found)]
    subtitle = texts.write_subtitle(found, [], "", explained)
    return parts(build_spec(found, subtitle, [], Size(), WIDTH))


@cache
def draw_query(connection: DuckDBPyConnection, name: str, **given: str) -> dict:
    return parts(pictures.build_query_picture(connection, name, given))


def test_png_svg_and_pdf_have_the_requested_width(opened: DuckDBPyConnection) -> None:
    """PDF and SVG are measured in points, PNG in dots at 300 dpi."""
    for width_mm, name in ((85, "unified.run_cdf"), (120, "itp.gpu_hours")):
        picture = pictures.build_query_picture(opened, name, {}, pictures.parse_size(width_mm, None))
        png, svg, pdf = (pictures.render(picture, suffix) for suffix in (".png", ".svg", ".pdf"))
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        [dots] = struct.unpack(">I", png[16:20])
        assert dots / 300 * 25.4 == pytest.approx(width_mm, abs=0.5)
        at = png.index(b"pHYs") + 4
        assert struct.unpack(">II", png[at : at + 8]) == (11811, 11811)  # dots per metre
        root = ET.fromstring(svg)
        width, height = root.get("width", ""), root.get("height", "")
        assert width.endswith("pt") and height.endswith("pt")
        assert float(width.removesuffix("pt")) == pytest.approx(width_mm * POINTS_PER_MM, abs=1)
        assert pdf[:5] == b"%PDF-"
        box = re.search(rb"/MediaBox ?\[([-\d. ]+)\]", pdf)
        assert box is not None
        left, _, right, _ = map(float, box[1].split())
        assert right - left == pytest.approx(width_mm * POINTS_PER_MM, abs=1)
    found = {text for element in root.iter(f"{SVG}text") for text in element.itertext()}
    assert {"GPU-hours by cluster (ITP jobs)", "synthetic data", "GPU-hours", "cluster01"} <= found


def test_two_panels_have_the_requested_width() -> None:
    """Two panels nearly fit side by side: their number per row stays while the width is adapted."""
    rows = "select range % 50 as n, 1000000 * range as v, range // 50 as f from range(100)"
    found = select_rows(duckdb.sql(rows).to_arrow_table(), read_chart("point x=n y=v facet=f", "a.b"), "a.b")
    for width_mm in range(78, 92, 2):
        size = pictures.parse_size(width_mm, 7)
        picture = pictures.build(pictures.ChartContext(found, [], "", []), size)
        [width] = re.findall(r'<svg[^>]*? width="([\d.]+)pt"', pictures.render_svg(picture))
        assert float(width) == pytest.approx(size.width, abs=1)


def test_panels_with_a_legend_have_the_requested_width() -> None:
    """A legend at their right is also to the right of the title."""
    rows = "select range % 50 as n, range as v, range // 50 as f, range % 3 as size_band from range(100)"
    line = read_chart("point x=n y=v color=size_band facet=f title=A title of some length for panels", "a.b")
    found = select_rows(duckdb.sql(rows).to_arrow_table(), line, "a.b")
    described = pictures.ChartContext(
        found, ["A line below the title that is longer than the panels."], "", []
    )
    for width_mm in (85, 120, 180, 210):
        size = pictures.parse_size(width_mm, None)
        svg = pictures.render_svg(pictures.build(described, size))
        [width] = re.findall(r'<svg[^>]*? width="([\d.]+)pt"', svg)
        assert float(width) == pytest.approx(size.width, abs=1)


def test_charts_name_their_estimators() -> None:
    """A survival curve is Kaplan-Meier's, on the figure and in the description; intervals have estimators."""
    wrong = []
    for name, query in DRAWN.items():
        has_survival = "stats.survival_" in query.text
        is_on_figure, is_described = ("Kaplan-Meier" in text for text in (query.chart.note, query.comments))
        is_named = has_survival == is_on_figure and has_survival <= is_described
        if not is_named or bool(query.chart.band) != bool(query.chart.interval):
            wrong.append(name)
    assert wrong == []


def test_queries_have_charts_of_columns_of_their_answers(opened: DuckDBPyConnection) -> None:
    assert {query.full_name for query in query_files()} - DRAWN.keys() == WITHOUT_A_CHART
    rows = opened.execute("select object_name, column_name from catalog.columns").fetchall()
    needed = {(name, column) for name, query in DRAWN.items() for column in query.chart.columns}
    assert needed - set(rows) == set()


def test_every_chart_can_be_drawn(opened: DuckDBPyConnection) -> None:
    failed = {}
    for name in TESTED:
        chart = DRAWN[name].chart
        if name in ONE_NUMBER_IN_THE_SAMPLE:
            with pytest.raises(UserError, match="the answer is a single number"):
                draw_query(opened, name)
            continue
        drawn = draw_query(opened, name)
        encodings = [encoding for _, encoding in drawn["layers"]]
        fields = {found["field"] for encoding in encodings for found in encoding.values() if "field" in found}
        rows = drawn["rows"]
        # Two marks at one position would hide each other or be added up.
        places = [
            tuple(row.get(column) for column in (chart.x.column, chart.color, chart.facet)) for row in rows
        ]
        is_correct = (
            {chart.x.column, *chart.heights, *filter(None, [chart.color])} <= fields | {chart.rule}
            and all(row[chart.heights[0]] is not None for row in rows)
            and (chart.kind not in ("bar", "stack", "box", "line") or len(set(places)) == len(places))
            and drawn["subtitle"][0] == "synthetic data"
            and drawn["footer"].startswith(name)
        )
        if not is_correct:
            failed[name] = drawn
    assert failed == {}


@suites.of("long")
def test_template_selects_the_rows_that_are_drawn(opened: DuckDBPyConnection) -> None:
    """A page selects them from any answer: the default one has the rows of the picture."""
    for name in set(TESTED) - ONE_NUMBER_IN_THE_SAMPLE:
        template = pictures.build_template(opened, name)
        call = f"{name}({template['with']} := true)" if template["with"] else f"{name}()"
        result = opened.execute(f"with answer as (from {call}) {template['sql']}")
        names = [column for column, *_ in result.description or ()]
        found = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        # Means of days depend on the order in which several threads add.
        assert found == [pytest.approx(row) for row in draw_query(opened, name)["rows"]], name


def test_charts_can_be_read(opened: DuckDBPyConnection) -> None:
    """The rules that a specification shows: units in words, scales that fit the values, and whole marks."""
    faults = {
        name: found for name in TESTED if name in IN_THE_SAMPLE and (found := list_faults(opened, name))
    }
    assert faults == {}


def list_faults(opened: DuckDBPyConnection, name: str) -> list[str]:
    drawn, chart = draw_query(opened, name), DRAWN[name].chart
    rows, encoding = drawn["rows"], drawn["layers"][-1][1] if chart.kind == "box" else drawn["encoding"]
    faults = []
    for letter, columns in (("x", [chart.x.column]), ("y", chart.heights)):
        axis = encoding[letter]
        title = axis["title"] or ""
        title = " ".join(title) if isinstance(title, list) else title
        values = [
            row[column] for row in rows for column in columns if isinstance(row.get(column), int | float)
        ]
        scale = axis.get("scale", {})
        if "_" in title or "percentile" in title.split()[:1]:
            faults.append(f"the {letter} axis has a column's name: {title}")
        if "{" in title:
            faults.append(f"the {letter} axis lacks the value of a parameter: {title}")
        if chart.kind == "step" and title.startswith("at most"):
            faults.append(f"the {letter} axis has a bound instead of a quantity: {title}")
        if axis["type"] == "temporal" and title == "date" and "tickMinStep" not in axis["axis"]:
            faults.append("dates may have ticks within a day")
        if axis["type"] != "quantitative" or not values:
            continue
        is_log = scale.get("type") in ("log", "symlog")
        if title.endswith(("(s)", "(ms)")) and max(values) >= 10_000 and not is_log:
            faults.append(f"the {letter} axis has seconds of five digits")
        positive = [value for value in values if value > 0]
        is_share = max(values) <= 100 and title.endswith("(%)")
        is_wide = len(positive) == len(values) and max(values) >= 100 * min(positive)
        if chart.kind in ("point", "box") and is_wide and not is_log and not is_share:
            faults.append(f"the {letter} axis is linear over more than 100 to 1")
        if chart.kind in ("point", "box") and (is_log or letter == "x") and "padding" not in scale:
            faults.append(f"marks touch the frame of the {letter} axis")
    # A single line is short or has at least two words.
    for lines in (drawn["title"], drawn["subtitle"], drawn["footer_lines"]):
        faults += [f"a word is alone on a line: {one}" for one in lines[1:] if re.fullmatch(r"\S{1,12}", one)]
    if chart.kind == "bar" and len(rows) <= 5 and not (chart.facet or chart.band or chart.rule):
        faults += [] if "text" in drawn["marks"] else ["few bars without values"]
    schema = name.partition(".")[0]
    if schema in all_traces() and f" {schema}: " not in drawn["footer"].split(" reads ")[-1]:
        faults.append("the trace is not cited")
    if drawn["facet"] and not drawn["shares_y"] and "Each panel has its own scale." not in drawn["subtitle"]:
        faults.append("panels differ in their scales without saying so")
    # Traces lack quantities in any sample; other series may lack rows in a small one.
    is_by_trace = "xOffset" in encoding and chart.color == "trace"
    groups = {(row[chart.x.column], row.get(chart.facet)) for row in rows}
    if is_by_trace and len(rows) < len(groups) * len({row[chart.color] for row in rows}) * 2 / 3:
        faults.append("most groups of bars lack some, so the others are off their labels")
    # Parameters have their own names; other lines are sentences.
    sentences = [line for line in drawn["subtitle"] if line.endswith(".")]
    faults += [
        f"a sentence has a column's name: {line}" for line in sentences if re.search(r"[a-z]_[a-z]", line)
    ]
    if len(drawn["facet"]["sort"] if drawn["facet"] else []) > 4 and encoding["y"]["title"]:
        faults.append("each of many panels repeats the titles")
    return faults


def test_units_and_scales_fit_the_values() -> None:
    rows = "select unnest(['a', 'b']) as name, unnest([3600, 36000]) as run_s"
    found = draw(rows, "bar x=name y=run_s")
    assert [row["run_s"] for row in found["rows"]] == [1, 10] and found["encoding"]["y"][
        "title"
    ] == "run time (h)"
    found = draw(rows, "point x=name y=run_s:log")
    y = found["encoding"]["y"]
    assert (y["title"], y["axis"]["values"][:2], y["scale"]["padding"]) == ("run time", [3600, 7200], 10)
    assert "' min'" in y["axis"]["labelExpr"]
    # Points at 0 are above the axis; a range of 100 to 1 has a logarithmic axis.
    for low, scale in ((0, {"zero": True, "nice": False, "padding": 10}), (1, {"type": "log"})):
        found = draw(
            f"select unnest(['a', 'b']) as name, unnest([{low}, 200]) as jobs", "point x=name y=jobs"
        )
        assert found["encoding"]["y"]["scale"].items() >= scale.items()
    ranks = draw("select unnest([1, 2, 3]) as rank, 5 as jobs", "line x=rank y=jobs")["encoding"]
    assert ranks["x"]["axis"]["tickMinStep"] == 1
    few = draw("select unnest(['a', 'b']) as name, unnest([7000, 3]) as jobs", "bar x=name y=jobs")
    assert few["marks"] == ["bar", "text"]


def test_logarithmic_axes_end_at_near_ticks() -> None:
    """Points and boxes, but not those at a tick already, and not at a tick that is far away."""
    for low, high, ticks, domain in (
        (0.0012, 14, [0.001, 0.01, 0.1, 1, 10], [0.001, 14]),
        (1, 9000, [1, 10, 100, 1000, 10000], [1, 10000]),
        (0, 370, [0, 1, 2, 5, 10, 20, 50, 100, 200, 500], [0, 500]),
    ):
        rows = f"select unnest(['a', 'b']) as name, unnest([{low}, {high}]) as v"
        names = [f"{high} as {part}_v" for part in ("p25", "median", "p75", "p95")]
        kind = f"select *, v as p5_v, {', '.join(names)} from ({rows})" if low == 0 else rows
        y = draw(kind, "box x=name y=v:log" if low == 0 else "point x=name y=v:log")["encoding"]["y"]
        assert (y["axis"]["values"], y["scale"]["domain"]) == (ticks, domain)


def test_counts_are_above_stacks_of_percentages() -> None:
    parts_of_bars = "('a', 'x', 75.0, 3), ('a', 'y', 25.0, 1), ('b', 'x', 100.0, 7)"
    rows = f"(values {parts_of_bars}) as t(n, part, jobs_pct, jobs)"
    stack = draw(f"from {rows}", "stack x=n y=jobs_pct color=part count=jobs")
    assert stack["marks"] == ["bar", "text"] and stack["subtitle"] == ["Numbers above bars: jobs."]
    assert "text" not in draw(f"from {rows}", "stack x=n y=jobs_pct color=part")["marks"]
    svg = draw_svg(f"from {rows}", "stack x=n y=jobs_pct color=part count=jobs")
    assert ">4<" in svg and ">7<" in svg


def test_values_of_percentages_have_the_unit() -> None:
    """Also tiny ones, and those of columns whose name does not end with it."""
    svg = draw_svg(
        "select unnest(['a', 'b']) as n, unnest([0.0000061, 54.3]) as pct", "bar x=n y=pct yname=used_pct"
    )
    assert ">&lt; 0.01 %<" in svg and ">54.3 %<" in svg


def draw_svg(sql: str, line: str) -> str:
    found = select_rows(duckdb.sql(sql).to_arrow_table(), read_chart(line, "a.b"), "a.b")
    return pictures.render_svg(build_spec(found, [], [], Size(), WIDTH))


def test_note_and_names_of_parameters(opened: DuckDBPyConnection) -> None:
    chart = read_chart("bar x=n y=v xname={per} title=Jobs (all) note=Without x. Nor y.", "a.b")
    assert (chart.title, chart.note) == ("Jobs (all)", "Without x. Nor y.")
    assert "Against the default batch size" in str(draw_query(opened, "zeus.savings")["subtitle"])
    for per, title in (("job_type", "job type"), ("model_type", "model type")):
        assert draw_query(opened, "asi.run_by_type", per=per)["encoding"]["x"]["title"] == title
    # A page names the axis itself.
    template = pictures.build_template(opened, "asi.run_by_type")
    assert template["names"] == {"per": {"job_type": "job type", "model_type": "model type"}}
    assert parts(template["spec"])["encoding"]["x"]["title"] == "{per}"
    # A note names a value also if it is an end of its range, which is not listed otherwise.
    for given in ({}, {"job_gpus": "4"}):
        value = given.get("job_gpus", "8")
        subtitle = draw_query(opened, "philly.fragmentation", **given)["subtitle"]
        assert f"job_gpus = {value}, bin_minutes = 60" in subtitle
        assert any(f"jobs of {value} GPUs" in line for line in subtitle)
    # Other words in braces, as in a user's query, stay.
    braced = replace(DRAWN["philly.fragmentation"].chart, note="Of {nobody}, and {job_gpus} GPUs.")
    filled = texts.fill_parameters(opened, binding.BoundQuery("", name="philly.fragmentation"), braced)
    assert filled.note == "Of {nobody}, and 8 GPUs."
    template = pictures.build_template(opened, "philly.fragmentation")
    assert any("jobs of {job_gpus} GPUs" in line for line in template["lines"])
    assert template["defaults"]["job_gpus"] == "8"
    assert any("jobs of 8 GPUs" in line for line in parts(template["spec"])["subtitle"])
    names = {
        "kalos.gpu_util_pct": "GPU utilisation (%)",
        "GPU_UTIL": "GPU utilisation (%)",
        "FB_USED": "fb used",
    }
    assert {name: units.axis_title(units.column_name(name)) for name in names} == names


def test_lines_keep_a_number_and_its_unit_together() -> None:
    rows = "select unnest(['a', 'b']) as n, 2 as v"
    found = select_rows(duckdb.sql(rows).to_arrow_table(), read_chart("bar x=n y=v", "a.b"), "a.b")
    text = "Above 100 % the values are those of 5 s; below it 1.5 GPU-hours of 20 GB, and at last 100 %."
    wrong = []
    for width in range(60, 600, 5):
        drawn = parts(build_spec(found, [text], [text], Size(width), width))
        for line in (*drawn["subtitle"], *drawn["footer_lines"]):
            if re.match(r"(%|s|GB)\b|%|100 %\.$", line):
                wrong.append((width, line))
    assert wrong == []


def test_panels_of_similar_values_share_a_scale() -> None:
    for highest, is_shared in ((300, True), (301, False)):
        sizes = f"(values (50), ({highest / 2})) as t(size)"
        sql = f"select unnest([1, 2]) as n, size * n as jobs, size from {sizes}"
        found = draw(sql, "line x=n y=jobs facet=size")
        assert found["shares_y"] == is_shared
        assert ("Each panel has its own scale." in found["subtitle"]) != is_shared


def test_title_and_footer_can_be_left_out(opened: DuckDBPyConnection) -> None:
    options = ChartOptions(has_title=False, has_footer=False)
    described = pictures.describe_query(opened, "itp.load_by_day", {}, options)
    drawn = parts(pictures.build(described, Size()))
    assert (drawn["title"], drawn["subtitle"], drawn["footer"]) == ([], ["synthetic data"], "")
    # Without a title, its remarks are in the footer.
    remarks = pictures.describe_query(opened, "unified.wait_cdf", {}).subtitle[1:]
    described = pictures.describe_query(opened, "unified.wait_cdf", {}, ChartOptions(has_title=False))
    assert len(remarks) > 1 and [one for one in remarks if one not in described.source] == []
    described = pictures.describe_query(opened, "unified.run_by_size", {}, ChartOptions(kind="bar"))
    narrow = pictures.build(described, pictures.parse_size(85, None))["title"]["text"]
    assert narrow[-1].endswith("more caveats marked (!): traces describe unified.run_by_size")


def draw_as_text(sql: str, line: str) -> str:
    found = select_rows(duckdb.sql(sql).to_arrow_table(), read_chart(line, "a.b"), "a.b")
    return terminal.draw_text(found, [], "", 80)


def test_ticks_of_whole_numbers_are_whole_in_a_terminal() -> None:
    sql = "select unnest([1, 2, 4, 8]) as gpus, unnest([3911, 7, 84, 1]) as jobs"
    ticks = {*re.findall(r"^ *([\d.,]+)┤", draw_as_text(sql, "line x=gpus y=jobs"), re.M)}
    assert ticks == {"0", "1,000", "2,000", "3,000"}
    few = draw_as_text("select unnest([1, 2, 3]) as gpus, unnest([1, 2, 2]) as jobs", "line x=gpus y=jobs")
    assert re.findall(r"^ *([\d.,]+)┤", few, re.M) == ["2", "1", "0"]


def test_terminal_draws_each_color_and_facet() -> None:
    bands = "unnest(['below 1', '8']) as band"
    rows = "range(5), (values ('pai'), ('itp')) as t(trace)"
    sql = f"select trace, {bands}, range + 1 as wait_s, 10 * range as jobs_pct from {rows}"
    shown = draw_as_text(sql, "line x=wait_s y=jobs_pct color=band facet=trace")
    assert [shown.count(text) for text in ("trace: pai", "trace: itp", "●● below 1", "■■ 8")] == [1, 1, 2, 2]
    one = draw_as_text(f"{sql} where trace = 'pai'", "line x=wait_s y=jobs_pct color=band facet=trace")
    assert "■■ 8" in one
    cells = "unnest([1, 2]) as x, unnest([3, 4]) as y, unnest([1, 2]) as n"
    heat = f"select {cells}, trace from (values ('pai'), ('itp')) as t(trace)"
    assert draw_as_text(heat, "heat x=x y=y color=n facet=trace").count("n, up to 2") == 2


def test_terminal_draws_reference_values_and_explains_only_what_it_draws() -> None:
    rows = "(values (1, 30, 900), (2, 50, 900)) as t(n, gpus, capacity_gpus)"
    for kind, mark, line in (("line", "-", "Dashes: capacity GPUs."), ("bar", "|", "Mark |: capacity GPUs.")):
        chart = read_chart(f"{kind} x=n y=gpus rule=capacity_gpus", "a.b")
        # Pictures hide a capacity that is far above the values.
        table = duckdb.sql(f"select n, 10 * gpus as gpus, capacity_gpus from {rows}").to_arrow_table()
        found = select_rows(table, chart, "a.b")
        assert terminal.explain_marks(found) == [line]
        shown = terminal.draw_text(found, [], "", 80)
        assert mark in shown
        if kind == "line":
            assert {"0", "800"} <= {*re.findall(r"^ *([\d.,]+)┤", shown, re.M)}
    sql = "select range as hour_start_s, range as jobs from range(0, 864000, 600)"
    found = select_rows(duckdb.sql(sql).to_arrow_table(), read_chart(BY_HOUR, "a.b"), "a.b")
    assert terminal.explain_marks(found) == ["Line: mean of each day."]


@suites.of("long")
def test_every_kind_of_chart_can_be_drawn_in_a_terminal(opened: DuckDBPyConnection) -> None:
    for name in OF_EACH_KIND:
        bound = binding.bind_query(opened, name, {}, for_chart=True)
        lines = pictures.render_text(Answer(opened, bound), 80).splitlines()
        title = DRAWN[name].chart.title or DRAWN[name].header.title
        assert lines[0] == title[: len(lines[0])]
        assert len(lines) > 6 and max(map(len, lines)) <= 80, name
        assert "\x1b" not in "".join(lines)
    # Traces do not share a clock.
    bound = binding.bind_query(opened, "unified.arrival_series", {}, for_chart=True)
    lines = pictures.render_text(Answer(opened, bound), 80).splitlines()
    axis = next(number for number, line in enumerate(lines) if "└┬" in line)
    ticks = [float(text) for text in lines[axis + 1].split()]
    assert ticks[0] == 0 and ticks[-1] < 1000
    assert "days since the first of each line" in lines[axis + 2]
    # A percentage of a distribution has its quarters as ticks.
    bound = binding.bind_query(opened, "unified.run_cdf", {}, for_chart=True)
    ticks = re.findall(r"^ *(\d+)┤", pictures.render_text(Answer(opened, bound), 80), re.M)
    assert ticks[:5] == ["100", "75", "50", "25", "0"]
    # More lines than the plot has space for are named below it.
    many = "select range as day, unnest(range(12)) as cluster, range as jobs from range(5)"
    assert "\n● 0   ■ 1   ▲ 2" in draw_as_text(many, "line x=day y=jobs color=cluster")


def test_seconds_and_percentages_above_100_can_be_read() -> None:
    line = "bar x=within_s y=use_pct"
    found = draw("select unnest([60, 3600]) as within_s, unnest([98, 183]) as use_pct", line)
    axis = found["layers"][1][1]["x"]
    assert axis["title"] == "within" and "' min'" in axis["axis"]["labelExpr"]
    # A white edge separates the values from the line at 100 %.
    assert found["marks"] == ["rule", "bar", "text", "text"] and found["subtitle"] == ["Grey line: 100 %."]
    assert [mark.get("stroke") for mark, _ in found["layers"][2:]] == ["white", None]
    few = draw("select unnest([60, 3600]) as within_s, unnest([98, 83]) as use_pct", line)
    assert few["marks"] == ["bar", "text"]


def test_times_have_units(opened: DuckDBPyConnection) -> None:
    """Axes show dates if the clock has true dates, else days since its start; hours and weekdays by name."""
    for name in ("acme.fleet_hourly", "itp.load_by_day"):
        x = draw_query(opened, name)["encoding"]["x"]
        # Hours and days without a row stay empty.
        assert (x["type"], x["scale"]) == ("temporal", {"type": "utc"})
        # The first month of a quarter is written like the others.
        assert x["axis"]["format"]["quarter"] == x["axis"]["format"]["month"]
    by_hour = draw_query(opened, "unified.arrival_series", in_trace="pai")
    assert by_hour["encoding"]["x"]["title"] == "time (days)"
    # Helios's times count from 1970.
    on_dates = draw_query(opened, "unified.arrival_series", in_trace="helios")["encoding"]["x"]
    assert on_dates["title"] == "date" and "utcFormat" in on_dates["axis"]["labelExpr"]
    heat = draw_query(opened, "pai.demand_by_week_hour")
    assert heat["marks"] == ["rect"]
    assert heat["encoding"]["y"]["sort"] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert "':00'" in heat["encoding"]["x"]["axis"]["labelExpr"]


def test_lines_differ_without_colours(opened: DuckDBPyConnection) -> None:
    drawn = draw_query(opened, "unified.run_cdf")
    (area, of_area), (line, of_line), (_, of_marks) = drawn["layers"]
    assert (area["type"], of_area["y"]["field"], of_area["y2"]["field"]) == ("area", "low_pct", "high_pct")
    scales = [found["scale"] for found in (of_line["color"], of_line["strokeDash"], of_marks["shape"])]
    assert scales[0]["domain"] == scales[1]["domain"] == scales[2]["domain"]
    named = of_line["color"]["legend"]["values"]
    assert named == sorted(named) and {*named} == {row["trace"] for row in drawn["rows"]}
    dashes, shapes = scales[1]["range"], scales[2]["range"]
    combined = {(str(dashes[index % len(dashes)]), shapes[index % len(shapes)]) for index in range(72)}
    assert line["type"] == "line" and len(combined) == 72
    assert of_line["x"]["scale"]["type"] == "log" and of_line["y"]["scale"] == {"domain": [0, 100]}
    rows = "(values ('a', 1, 20), ('a', 2, 100), ('b', 1, 100)) as t(trace, gpus, jobs_pct)"
    single = draw(f"from {rows}", "step x=gpus y=jobs_pct color=trace")
    [(_, of_single)] = [layer for layer in single["layers"] if layer[0]["type"] == "rule"]
    assert of_single["y2"] == {"datum": 0} and "A single value: b at 1." in single["subtitle"]


def test_marks_without_a_legend_are_explained(opened: DuckDBPyConnection) -> None:
    boxes = draw_query(opened, "pai.wait_by_gpu_type")
    assert boxes["subtitle"][-2].startswith("Boxes: 25th to 75th percentile")
    assert boxes["subtitle"][-1] == "The axis is linear below 1, and logarithmic above."
    assert sorted(boxes["marks"]) == ["bar", "rule", "tick", "tick", "tick"]
    assert "Dashed line: capacity GPUs." in draw_query(opened, "pai.load_over_time")["subtitle"]
    front = draw_query(opened, "zeus.pareto_front")
    assert front["marks"] == ["line", "point", "text"]
    assert front["subtitle"][-1] == "Labels where they fit: batch size / power limit (W)."
    rows = "(values (1, 2, 'kalos', null), (2, 3, 'kalos', null)) as t(n, jobs, cluster, part)"
    assert draw(f"from {rows}", "line x=n y=jobs color=cluster")["subtitle"] == ["cluster: kalos"]
    assert draw(f"from {rows}", "line x=n y=jobs facet=cluster")["subtitle"] == ["cluster: kalos"]
    assert draw(f"from {rows}", "line x=n y=jobs color=part")["subtitle"] == []
    rows = "(values (1, 2, 'openb'), (2, 3, 'openb')) as t(n, jobs, trace)"
    for line in ("line x=n y=jobs color=trace", "bar x=n y=jobs color=trace", "line x=n y=jobs facet=trace"):
        assert draw(f"from {rows}", line)["subtitle"] == ["trace: openb"]
    # The axis names it.
    assert draw(f"from {rows}", "point x=trace+n y=jobs color=trace")["subtitle"] == []


def test_each_panel_has_an_axis_and_a_heading_at_one_height() -> None:
    """Also in a row that is not full, and above panels of other values. Few narrow panels have a row each."""
    rows = "select unnest([1, 2, 3]) as n, unnest([5, 7, 6]) * size as jobs, size from (values {}) as t(size)"
    for sizes, columns in (((8, 70, 900), 2), ((1, 2, 30, 41, 500, 6), 3), ((1, 2, 30, 41, 51, 60, 7), 3)):
        sql = rows.format(", ".join(f"({size})" for size in sizes))
        found = select_rows(duckdb.sql(sql).to_arrow_table(), read_chart(SIZES, "a.b"), "a.b")
        picture = build_spec(found, ["sizes"], [], Size(), WIDTH)
        assert parts(picture)["columns"] == columns
        svg = pictures.render_svg(picture)
        assert svg.count('aria-label="X-axis') == len(sizes)
        headings = re.findall(r'role-title"><g transform="translate\([\d.]+,(-[\d.]+)\)', svg)
        # One more is the common title of many panels.
        assert max(map(headings.count, headings)) == len(sizes)
        narrow = parts(build_spec(found, ["sizes"], [], pictures.parse_size(85, None), 190))
        assert narrow["columns"] == (1 if len(sizes) <= 4 else 2)


SIZES = "line x=n y=jobs facet=size"


def test_groups_of_bars_are_apart() -> None:
    """By more than the width of a bar, and only groups."""
    sql = "from (values ('a', 'x', 1), ('a', 'y', 2), ('b', 'x', 3)) as t(name, part, jobs)"
    gap = draw(sql, "bar x=name y=jobs color=part")["encoding"]["x"]["scale"]["paddingInner"]
    assert gap > (1 - gap) / 2
    assert "scale" not in draw(sql, "stack x=name y=jobs color=part")["encoding"]["x"]


def test_a_trace_has_one_color_in_all_charts() -> None:
    assert {*TRACE_COLORS} <= {*all_traces()}
    every = [*TRACE_COLORS.values(), *OTHER_COLORS]
    assert len({*every}) == len(every)
    colors = set()
    for traces, line in (
        (["acme", "openb"], "bar x=n y=jobs color=trace"),
        (["openb", "spot", "mine"], "line x=n y=jobs color=trace"),
        (["openb"], "point x=n y=jobs color=trace"),
    ):
        sql = f"select unnest({traces}) as trace, n, 2 * n as jobs from (values (1), (2)) as t(n)"
        found = draw(sql, line)["encoding"]["color"]
        scale, legend = found["scale"], found["legend"]
        colors.add(scale["range"][scale["domain"].index("openb")])
        assert len(scale["range"]) >= len(scale["domain"])
        assert legend is None or legend["values"] == traces
    assert len(colors) == 1


def test_remarks_on_rows_that_are_not_drawn() -> None:
    line = "line x=n y=gpus rule=capacity_gpus"
    found = draw("select unnest([1, 2]) as n, 5 as gpus, 1000 as capacity_gpus", line)
    assert found["subtitle"] == ["Capacity GPUs above the range: 1,000."]
    assert {row["capacity_gpus"] for row in found["rows"]} == {None}
    panels = "(values ('a', 1000), ('b', null), ('c', 5), ('d', 900)) as t(trace, capacity_gpus)"
    found = draw(f"select *, unnest([1, 2]) as n, 5 as gpus from {panels}", f"{line} facet=trace")
    above = "Capacity GPUs above the range: 900 to 1,000."
    assert found["subtitle"] == ["Dashed line: capacity GPUs.", above]
    sql = "select unnest([0, 1, 100, null]) as wait_s, 5.5 as share_pct"
    found = draw(sql, "line x=wait_s:log y=share_pct")
    assert [row["wait_s"] for row in found["rows"]] == [1, 100]
    assert found["subtitle"] == ["Without queueing delay of 0 s, which a log axis cannot show."]
    rows = "(values (0, 5.0, 4000), (1, 9.0, 30), (2, 6.0, 3500)) as t(hour_of_day, ms, minutes)"
    found = draw(f"from {rows}", "line x=hour_of_day y=ms count=minutes")
    counts = ["Hollow points: under 400 minutes.", "Minutes per point: 30 to 4,000."]
    assert found["subtitle"] == counts
    [(_, points)] = [layer for layer in found["layers"] if layer[0]["type"] == "point"]
    assert points["fill"]["condition"] == {"test": "datum['minutes'] < 400.0", "value": "white"}
    rows = "('a', 'x', 1), ('a', 'y', 2), ('b', 'x', 3), ('c', 'z', null)"
    found = draw(f"from (values {rows}) as t(name, part, jobs)", "bar x=name y=jobs color=part")
    assert found["subtitle"] == ["A missing bar has no value.", "Without a value: z."]
    # A capacity that is missing in the chart matters more than the numbers of observations.
    rows = "(values (1, 5, 9, 1000), (2, 6, 8, 1000)) as t(hour_of_day, ms, minutes, capacity_ms)"
    found = draw(f"from {rows}", "line x=hour_of_day y=ms rule=capacity_ms count=minutes")
    assert found["subtitle"] == ["Capacity (ms) above the range: 1,000."]
    # A series without a name has that of its trace.
    rows = "('code', 'azure', 3), ('chat', 'azure', 4), (null, 'genai', null)"
    found = draw(f"from (values {rows}) as t(n, trace, tokens)", "point x=trace y=tokens color=n")
    assert found["subtitle"] == ["Without a value: genai."]
    found = draw("select unnest([1, 2, 3]) as day, 5 as jobs", "line x=day y=jobs partial=first")
    assert [row["day"] for row in found["rows"]] == [48, 72]
    assert found["subtitle"] == ["Without the first period, which is incomplete."]
    found = draw("select unnest([1, 2, 3, 4]) as day, 5 as jobs", "line x=day y=jobs partial=first,last")
    assert found["subtitle"] == ["Without the first and the last periods, which are incomplete."]


def test_labels_of_front_do_not_overlap(opened: DuckDBPyConnection) -> None:
    """The distance of the slanted labels, as placed by Vega, is at least the height of their text."""
    for width_mm in (85, None):
        size = pictures.parse_size(width_mm, None)
        svg = pictures.render_svg(pictures.build_query_picture(opened, "zeus.pareto_front", {}, size))
        placed = re.findall(
            r'translate\(([\d.]+),([\d.]+)\) rotate\(315\)[^>]*?font-size="([\d.]+)px"[^>]*>\d+ / \d+<', svg
        )
        across = sorted((float(x) + float(y)) / 2**0.5 for x, y, _ in placed)
        assert len(across) >= 2
        assert min(after - before for before, after in pairwise(across)) >= float(placed[0][2])


def test_series_are_merged_into_one_order(opened: DuckDBPyConnection) -> None:
    """The order of the answer stays where no order suits all series."""
    rows = "('x', 'b'), ('x', 'd'), ('y', 'a'), ('y', 'b'), ('y', 'c'), ('y', 'd')"
    for more, order in (("", ["a", "b", "c", "d"]), (", ('z', 'd'), ('z', 'a')", ["b", "d", "a", "c"])):
        found = draw(f"select s, n, 1 as v from (values {rows}{more}) as t(s, n)", "bar x=n y=v color=s")
        assert found["encoding"]["x"]["sort"] == order
    tiers = ["whole GPUs", "501 to 999 milli", "251 to 500 milli", "up to 250 milli"]
    assert draw_query(opened, "openb.request_tiers")["encoding"]["x"]["sort"] == tiers
    # A value that is not stated is the last.
    found = draw("select unnest(['b', null, 'a']) as n, unnest([3, 2, 1]) as v", "bar x=n y=v")
    assert found["encoding"]["x"]["sort"] == ["b", "a", "NULL"]
    # Bands of numbers are in the order of the numbers, in legends and on axes.
    names = ["9+", "2 to 4", "no GPU", "1", "5 to 8", "1,024 or more", "NULL", "below 1"]
    bands = ", ".join(f"({place % 2}, nullif('{name}', 'NULL'))" for place, name in enumerate(names))
    ordered = ["no GPU", "below 1", "1", "2 to 4", "5 to 8", "9+", "1,024 or more", "NULL"]
    found = draw(f"select s, n, 1 as v from (values {bands}) as t(s, n)", "bar x=n y=v color=s")
    assert found["encoding"]["x"]["sort"] == ordered
    found = draw(f"select s, n, 1 as v from (values {bands}) as t(s, n)", "bar x=s y=v color=n")
    assert found["encoding"]["color"]["scale"]["domain"] == ordered
    # The colour of a heat map encodes a number, so its rows need no order by series.
    sql = "select * from (values (10, 2, 5), (9, 2, 7), (10, 1, 9), (2, 12, 5)) as t (gpus, nodes, jobs)"
    encoding = draw(sql, "heat x=gpus y=nodes color=jobs")["encoding"]
    assert (encoding["x"]["sort"], encoding["y"]["sort"]) == (["2", "9", "10"], ["12", "2", "1"])


def test_subtitle_lists_effective_parameters(opened: DuckDBPyConnection) -> None:
    assert "on_cluster = cluster04" in draw_query(opened, "itp.load_by_day")["subtitle"]
    given = draw_query(opened, "openb.phases", in_variant="cpu100", gpu_only="false")
    assert given["subtitle"] == ["synthetic data", "in_variant = cpu100, gpu_only = false"]
    # Parameters that the chart sets itself, and defaults that exclude nothing, are not listed.
    subtitle = draw_query(opened, "unified.run_cdf")["subtitle"]
    assert subtitle[0] == "synthetic data" and subtitle[1].startswith("Kaplan-Meier: ")
    assert subtitle[-1] == "Run time of 0 s counts, but is left of the log axis."
    # The units of a confidence interval do not affect a chart without one.
    assert "sampled_by" not in str(draw_query(opened, "unified.gpu_time_concentration")["subtitle"])
    # The band of a survival curve does not depend on whether days or users are sampled.
    waits = str(draw_query(opened, "unified.wait_cdf", sampled_by="user")["subtitle"])
    assert "sampled_by" not in waits
    assert "Band: 95 % confidence interval by Greenwood, jobs taken as independent." in waits
    shares = str(draw_query(opened, "unified.failure_share", sampled_by="user")["subtitle"])
    assert "sampled_by = user" in shares
    assert "Vertical lines: 95 % confidence interval by jackknife over users." in shares
    repeats = str(draw_query(opened, "unified.failure_repeats")["subtitle"])
    assert "Vertical lines: 95 % confidence interval by jackknife over users." in repeats


def test_footer_names_views_and_citations(opened: DuckDBPyConnection) -> None:
    assert draw_query(opened, "itp.gpu_hours")["footer"] == (
        "itp.gpu_hours · reads itp.job_v1 · itp: Gu et al., ASPLOS 2023 "
        "itp: The trace has no jobs under 600 s; drop them from others to compare medians."
    )
    # Only traces in the result are cited, not all traces that the view unites.
    assert [
        part.split(":")[0] for part in draw_query(opened, "unified.hour_profile")["footer"].split(" · ")
    ] == [*("unified.hour_profile", "reads unified.jobs_v2", "acme", "helios", "pai")]
    shortened = {
        "Jie You, Jae-Won Chung, and Mosharaf Chowdhury. Zeus. In NSDI (NSDI 23), pages 1-2.": (
            "You et al., NSDI 23"
        ),
        "Lin et al.: Understanding Serving (SoCC 2025).": "Lin et al., SoCC 2025",
        "Alibaba Group: cluster-trace-gpu-v2025, https://github.com/x (2025).": "Alibaba Group, 2025",
        "Suyi Li et al. At Hyperscale: Clusters. In Proceedings (OSDI 2026), 2026.": "Li et al., OSDI 2026",
        "Ada Lovelace. Notes.": "Ada Lovelace",
    }
    assert {citation: texts.short_citation(citation) for citation in shortened} == shortened


@pytest.mark.parametrize(
    ("sql", "cited"),
    [
        ("select cluster, count(*) as jobs from unified.jobs where trace = 'itp' group by all", {"itp"}),
        ("select trace, run_s from unified.jobs where trace < 'asi'", {"acme"}),
        (
            "select trace, run_s, target_metric from unified.jobs, zeus.train where trace < 'asi'",
            {"acme", "zeus"},
        ),
    ],
)
def test_footer_of_sql_is_about_traces_of_its_rows(
    opened: DuckDBPyConnection, sql: str, cited: set[str]
) -> None:
    query = binding.bind_statement(opened, f"{sql} limit 5")
    described = pictures.describe(Answer(opened, query, query.notes), ChartOptions(kind="point"))
    versions, *citations = described.source.split(" · ")
    assert versions == "reads unified.jobs_v2"
    assert {part.partition(":")[0] for part in citations} == cited
    assert {caveat.partition(":")[0] for caveat in described.caveats} <= cited


def test_footer_of_own_query_is_about_traces_of_its_rows() -> None:
    """It cites the traces that it names of views of all traces, and those of tables that it also reads."""
    with duckdb.connect() as catalog:
        catalog.execute("""
            create schema catalog;
            create table catalog.tables as select unnest(['acme', 'openb', 'zeus']) as trace, 5 as row_count,
                trace || '.job' as table_name;
            create table catalog.views as select 'unified.jobs_v2' as versioned_name, true as is_current,
                'unified.jobs' as view_name, ['acme.job', 'openb.job'] as base_tables;
            create table catalog.queries as select 'mine.waits' as query_name,
                ['acme.job', 'openb.job', 'zeus.job'] as base_tables, ['unified.jobs_v2'] as reads_versions;
        """)
        query = binding.BoundQuery("from mine.waits()", name="mine.waits", reads=frozenset({"mine.waits"}))
        assert texts.traces_behind(catalog, query, ["openb"]) == ["openb", "zeus"]
        assert texts.traces_behind(catalog, query, []) == ["acme", "openb", "zeus"]


def test_footer_does_not_warn_of_a_period_that_is_left_out(opened: DuckDBPyConnection) -> None:
    described = pictures.describe_query(opened, "itp.arrivals_by_week", {})
    assert "Without the last period, which is incomplete." in described.subtitle
    assert not [caveat for caveat in described.caveats if "last week" in caveat]


def test_measured_data_is_not_labelled_synthetic(real_warehouse: Path) -> None:
    with sandbox.connect(real_warehouse) as connection:
        assert draw_query(connection, "itp.gpu_hours")["subtitle"] == ["min_gpus = 1"]


def test_bars_are_grouped_or_stacked() -> None:
    rows = "('a', 'x', 1), ('a', 'y', 2), (null, 'x', 3), ('b', 'x', null), ('b', null, 4)"
    sql = f"from (values {rows}) as t(name, part, jobs)"
    bars = draw(sql, "bar x=name y=jobs color=part")["encoding"]
    assert bars["xOffset"]["field"] == "part"
    assert bars["x"]["sort"] == ["a", "b", "NULL"]
    assert (
        "'not stated'" in bars["x"]["axis"]["labelExpr"]
        and "'not stated'" in bars["color"]["legend"]["labelExpr"]
    )
    stack = draw(sql, "stack x=name y=jobs color=part")
    assert "xOffset" not in stack["encoding"] and stack["marks"] == ["bar", "text"]
    assert [row["jobs"] for row in stack["rows"]] == [1, 2, 3, 4]
    # A stack of all shares ends at 100.
    for share, domain in ((100 / 3, [0, 100]), (30, None), (35, None)):
        rows = f"(values ('a', 'x', {share}), ('a', 'y', {share}), ('a', 'z', {share}), ('b', 'x', 50.0))"
        stack = draw(f"from {rows} as t(name, part, jobs_pct)", "stack x=name y=jobs_pct color=part")
        assert stack["encoding"]["y"].get("scale", {}).get("domain") == domain


def test_any_number_type_is_drawn() -> None:
    days = "(date '2020-07-01', 1.5::decimal(4, 1)), (date '2020-07-02', 2)"
    found = draw(f"from (values {days}) as t(day, gpu_h)", "line x=day y=gpu_h")
    assert found["rows"] == [{"day": "2020-07-01", "gpu_h": 1.5}, {"day": "2020-07-02", "gpu_h": 2.0}]


def test_titles() -> None:
    titles = {
        "p90_wait_s": "90th percentile of queueing delay (s)",
        "median_run_s": "median run time (s)",
        "gpu_h_per_failure": "GPU-hours per failure",
        "trace+cluster": "trace and cluster",
        "gpu_h": "GPU-hours",
        "gpu_h_pct": "GPU-hours (%)",
        "failed_gpu_h": "failed GPU-hours",
        "requested_gpus_per_instance": "requested GPUs per instance",
        "memory_gb": "memory (GB)",
        "traffic_gibps": "traffic (GiB/s)",
        "hp_gpu_h": "HP GPU-hours",
        "gpu_type": "GPU type",
        "iterations_per_s": "iterations per second",
        "percentile": "percentile",
    }
    assert {column: units.axis_title(column) for column in titles} == titles
    line = "bar x=n y=jobs xname=at_least_gpus yname=tasks_pct title=Tasks by size (PAI tasks)"
    found = draw("from (values (1, 2), (2, 3)) as t(n, jobs)", line)
    assert found["title"] == ["Tasks by size (PAI tasks)"]
    assert [found["encoding"][axis]["title"] for axis in "xy"] == ["at least GPUs", "tasks (%)"]


def test_distribution_of_a_single_value_is_named() -> None:
    rows = "(values ('itp', 1, 80), ('itp', 8, 100), ('dlrm', 1, 100)) as t(trace, gpus, jobs_pct)"
    drawn = draw(f"from {rows}", "step x=gpus y=jobs_pct color=trace")
    assert drawn["subtitle"] == ["A single value: dlrm at 1."]
    panels = f"(select *, unnest(['spot', 'kept']) as part from {rows})"
    of_panels = draw(f"from {panels}", "step x=gpus y=jobs_pct color=trace facet=part")["subtitle"]
    assert "A single value: dlrm of spot at 1, dlrm of kept at 1." in of_panels
    # Its curve is a vertical line.
    assert [mark["type"] for mark, encoding in drawn["layers"] if "y2" in encoding] == ["rule"]


def test_values_of_negative_bars_are_above_the_axis() -> None:
    for low, padding in ((-1, 10), (1, None)):
        bars = f"select unnest(['a', 'b']) as name, unnest([{low}, 2]) as gain"
        scale = draw(bars, "bar x=name y=gain")["encoding"]["y"].get("scale", {})
        assert scale.get("padding") == padding


def test_what_cannot_be_drawn_is_an_error(opened: DuckDBPyConnection) -> None:
    for width, font in ((0, None), (-85, None), (3000, None), (85, 0), (float("nan"), None)):
        with pytest.raises(UsageError, match=r"--width must be|--font-size must be"):
            pictures.parse_size(width, font)
    empty = binding.BoundQuery("from openb.phases('no_such')", {}, "openb.phases")
    with pytest.raises(UserError, match=r"No chart, because there are no rows\."):
        pictures.describe(Answer(opened, empty))
    with pytest.raises(UserError, match="has no chart"):
        draw_query(opened, "itp.job")
    with pytest.raises(NoChartError, match=r"^No chart, because the answer is a single row\.$") as single:
        draw_query(opened, "openb.waits")
    assert contract.explain_no_chart(single.value) == "the answer is a single row"
    heat = "select unnest([1, 2]) as weekday, 3 as hour_of_day, 0 as jobs"
    with pytest.raises(UserError, match="jobs is 0 in all rows"):
        draw(heat, "heat x=hour_of_day y=weekday color=jobs")
    with pytest.raises(UserError, match="several rows have the same cluster"):
        draw("select 'Philly' as cluster, unnest([1, 2]) as jobs", "bar x=cluster y=jobs")
    one = "select 'Philly' as cluster, 7 as jobs"
    with pytest.raises(UserError, match=r"No chart, because the answer is a single number: jobs is 7\."):
        draw(one, "bar x=cluster y=jobs")
    of_text = "its chart has a scale of cluster, which is string and not a number"
    for line, complaint in (
        ("bar x=cluster y=no_such", "its chart has the column no_such, which its answer lacks"),
        ("bar x=jobs y=cluster", of_text),
        ("line x=cluster:log y=jobs", of_text),
        ("heat x=jobs y=jobs color=cluster", of_text),
        ("box x=cluster y=jobs", "its chart has the column p5_jobs, which its answer lacks"),
    ):
        with pytest.raises(DefinitionError, match=f"a.b: {complaint}"):
            draw(one, line)


def test_missing_extra_is_named(opened: DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = pictures.build_query_picture(opened, "itp.gpu_hours", {})
    bound = binding.bind_query(opened, "itp.gpu_hours", {})
    for module, work in (
        ("altair", lambda: pictures.as_altair(picture)),
        ("vl_convert", lambda: pictures.render(picture | {"name": "new"}, ".png")),
        ("plotext", lambda: pictures.render_text(Answer(opened, bound), 80)),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UserError, match=rf"need {module}, .*pip install '\.\[plot\]'"):
            work()


def test_days_without_fractions_have_whole_ticks() -> None:
    for step, is_whole in ((1, True), (0.5, False)):
        found = draw(f"select {step} * range as day, range as jobs from range(20, 22)", "line x=day y=jobs")
        labels = found["encoding"]["x"]["axis"]["labelExpr"]
        assert labels.startswith("datum.value % 1 ? '' : ") == is_whole


def test_long_line_is_drawn_by_day() -> None:
    sql = "select 3600 * range as hour_start_s, range % 24 as jobs, range % 2 as limit_gpus from range(2400)"
    found = draw(sql, "line x=hour_start_s y=jobs rule=limit_gpus")
    assert [row["hour_start_s"] for row in found["rows"]] == [day + 0.5 for day in range(100)]
    assert {(row["jobs"], row["limit_gpus"]) for row in found["rows"]} == {(11.5, 0.5)}
    assert "area" in found["marks"]
    named = ["Line: mean of each day.", "Band: lowest and highest value of the day."]
    assert found["subtitle"] == [*named, "Dashed line: limit GPUs."]
    # A band that is not visible is not explained.
    flat = draw("select 3600 * range as hour_start_s, 500 + range % 2 as jobs from range(2400)", BY_HOUR)
    assert flat["subtitle"] == named[:1]
    rows = "(values (1, 5, 4, 7), (2, 6, 5, null)) as t(n, jobs, low_jobs, high_jobs)"
    for kind, mark in (("line", "Band"), ("bar", "Vertical lines")):
        found = draw(f"from {rows}", f"{kind} x=n y=jobs band=low_jobs,high_jobs")
        assert found["subtitle"] == [f"{mark}: 95 % confidence interval."]


def test_units_of_panels_are_named() -> None:
    sql = "select range * s as window_start_s, range as jobs, trace, workload from range(120), "
    sql += "(values (60, 'azure', 'code'), (86400, 'azure', 'chat'), (1800, 'genai', null)) "
    sql += "as t(s, trace, workload)"
    found = draw(sql, f"{BY_WINDOW} facet=trace+workload")
    assert found["facet"]["sort"] == ["azure code, minutes", "azure chat, days", "genai, hours"]
    ends = {row["trace+workload"]: row["window_start_s"] for row in found["rows"]}
    assert [*ends.values()] == [119, 119, 59.5]
    assert found["encoding"]["x"]["title"] == "time (unit in the heading)"
    shown = draw_as_text(sql, f"{BY_WINDOW} facet=trace+workload")
    for panel, unit in (("azure code", "minutes"), ("azure chat", "days"), ("genai", "hours")):
        assert f"trace and workload: {panel}, {unit}" in shown and f"{unit} since the first" in shown


BY_HOUR, BY_WINDOW = "line x=hour_start_s y=jobs", "line x=window_start_s y=jobs"


def test_short_lines_are_drawn_in_minutes_or_hours_and_keep_their_points() -> None:
    for seconds, last, title in ((60, 119, "time (minutes)"), (1_800, 59.5, "time (hours)")):
        found = draw(f"select {seconds} * range as window_start_s, range as jobs from range(120)", BY_WINDOW)
        assert (found["rows"][-1]["window_start_s"], found["encoding"]["x"]["title"]) == (last, title)


def test_lines_of_few_days_keep_their_points_next_to_long_lines() -> None:
    sql = """
        select 'long' as trace, 3600 * range as window_start_s, range as jobs from range(2400)
        union all select 'short', 60 * range, range from range(60)
    """
    found = draw(sql, f"{BY_WINDOW} facet=trace")
    rows = [(row["window_start_s"], row["jobs"]) for row in found["rows"] if row["trace"] == "short"]
    assert rows == [(minute / 1_440, minute) for minute in range(60)]
    assert len(found["rows"]) == 160
    assert found["subtitle"][0] == "Long lines: mean of each day."

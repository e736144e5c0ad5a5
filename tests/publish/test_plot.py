"""Charts of query results: marks, order, titles, and errors."""

import json
import os
import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
import vl_convert
from counting import non_empty
from duckdb import DuckDBPyConnection

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import binding, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.publish import columns, output
from tracehouse.publish.plot import pictures, texts
from tracehouse.publish.plot.layout import Size
from tracehouse.publish.plot.template import build_template
from tracehouse.sql.query_files import query_files
from tracehouse.views.view_files import DefinitionError

# With TRACEHOUSE_PICTURES=all the tests draw every chart, otherwise one of each kind.
ALL = os.environ.get("TRACEHOUSE_PICTURES") == "all"
SVG = "{http://www.w3.org/2000/svg}"
POINTS_PER_MM = 72 / 25.4
ANY_SIZE = Size()


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


@pytest.fixture
def drawn() -> Callable[[str, str], dict]:
    """Return a function that builds the Vega-Lite specification of an SQL query with a chart line."""

    def vega_lite(sql: str, line: str) -> dict:
        with duckdb.connect() as connection:
            connection.execute("create schema catalog")
            connection.execute("create table catalog.queries (query_name text, title text, chart text)")
            connection.execute("create table catalog.caveats (caveat text, trace text, objects text[])")
            connection.execute("alter table catalog.caveats add what_goes_wrong text")
            connection.execute("alter table catalog.caveats add what_to_do text")
            connection.execute("alter table catalog.caveats add severity text")
            connection.execute("alter table catalog.caveats add summary text")
            connection.execute("create table catalog.tables (table_name text, trace text, synthetic boolean)")
            connection.execute("alter table catalog.tables add row_count bigint")
            connection.execute("alter table catalog.queries add reads text[]")
            connection.execute("alter table catalog.queries add reads_versions text[]")
            connection.execute("create table catalog.traces (trace text, citation text)")
            connection.execute("create table catalog.query_parameters (query_name text, parameter text)")
            connection.execute("alter table catalog.query_parameters add meaning text")
            connection.execute("alter table catalog.query_parameters add default_value text")
            connection.execute("alter table catalog.query_parameters add at_least text")
            connection.execute("alter table catalog.query_parameters add at_most text")
            connection.execute("alter table catalog.query_parameters add position int")
            connection.execute("alter table catalog.query_parameters add values_of text")
            connection.execute(
                "create table catalog.views (view_name text, versioned_name text, version int, reads text[])"
            )
            connection.execute(
                "insert into catalog.queries values ('a.b', 'How?', $line, [], [])", {"line": line}
            )
            return picture(connection, BoundQuery(sql, {}, "a.b"))

    return vega_lite


def picture(connection: DuckDBPyConnection, query: BoundQuery, size: Size = ANY_SIZE, **given: str) -> dict:
    """Return parts of the plot's Vega-Lite: marks, encoding of the first layer, texts and rows."""
    whole = pictures.build_picture(connection, query, given, size).to_dict()
    [plot] = whole["vconcat"]
    inner = plot.get("spec", plot)
    rows = plot.get("data", whole.get("data"))["values"]
    layers = [(layer["mark"], layer["encoding"]) for layer in inner["layer"]]
    return {
        "rows": [{key: value for key, value in row.items() if not key.startswith("_")} for row in rows],
        "layers": layers,
        "marks": [mark["type"] for mark, _ in layers],
        "encoding": layers[0][1],
        "facet": plot.get("facet"),
        "title": plot["title"],
        "subtitle": plot["title"]["subtitle"],
        "footer": " ".join(whole["title"]["text"]),
        "width": inner["width"],
    }


def draw(connection: DuckDBPyConnection, query: BoundQuery, path: Path, size: Size = ANY_SIZE) -> None:
    pictures.check_path(path)
    with output.open_spool(path, path.parent) as spool:
        pictures.draw(connection, query, {}, path.suffix, size, spool.file)


def spec(connection: DuckDBPyConnection, name: str, **parameters: str) -> dict:
    query = binding.bind_query(connection, name, parameters, for_chart=True)
    return picture(connection, query, **parameters)


def test_png_svg_and_pdf(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    query = binding.bind_query(opened, "unified.run_cdf", {})
    draw(opened, query, tmp_path / "cdf.png")
    assert (tmp_path / "cdf.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    draw(opened, query, tmp_path / "cdf.pdf")
    assert (tmp_path / "cdf.pdf").read_bytes()[:5] == b"%PDF-"

    draw(opened, query, tmp_path / "cdf.svg")
    root = ET.parse(tmp_path / "cdf.svg").getroot()
    assert root.tag == f"{SVG}svg"
    found = {text for element in root.iter(f"{SVG}text") for text in element.itertext()}
    assert {
        "Run time distribution by trace (GPU jobs of all traces)",
        "synthetic data",
        "run (s)",
        "percentile",
    } <= found
    assert {"acme", "itp", "openb", "pai"} <= found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cdf.pdf", "cdf.png", "cdf.svg"]


@pytest.mark.parametrize(("width_mm", "name"), [(85, "unified.run_cdf"), (120, "itp.gpu_hours")])
def test_picture_has_requested_width(
    opened: DuckDBPyConnection, tmp_path: Path, width_mm: float, name: str
) -> None:
    """PDF and SVG are measured in points, PNG in dots at 300 dpi."""
    query = binding.bind_query(opened, name, {})
    for ending in ("png", "svg", "pdf"):
        draw(opened, query, tmp_path / f"a.{ending}", pictures.parse_size(width_mm, None))
    png = (tmp_path / "a.png").read_bytes()
    [dots] = struct.unpack(">I", png[16:20])
    assert dots / 300 * 25.4 == pytest.approx(width_mm, abs=0.5)
    at = png.index(b"pHYs") + 4
    assert struct.unpack(">II", png[at : at + 8]) == (11811, 11811)  # dots per metre
    svg = ET.parse(tmp_path / "a.svg").getroot()
    assert svg.get("width", "").endswith("pt")
    assert float(svg.get("width", "").removesuffix("pt")) == pytest.approx(width_mm * POINTS_PER_MM, abs=1)
    box = re.search(rb"/MediaBox ?\[([-\d. ]+)\]", (tmp_path / "a.pdf").read_bytes())
    assert box is not None
    left, _, right, _ = map(float, box[1].split())
    assert right - left == pytest.approx(width_mm * POINTS_PER_MM, abs=1)


def test_picture_has_requested_font_size(opened: DuckDBPyConnection) -> None:
    query = binding.bind_query(opened, "itp.gpu_hours", {})
    config = [
        pictures.build_picture(opened, query, {}, pictures.parse_size(*size)).to_dict()["config"]["axis"]
        for size in ((None, None), (85, None), (85, 6))
    ]
    assert [axis["titleFontSize"] for axis in config] == [11, 8, 6]


@pytest.mark.parametrize("name", ["itp.gpu_hours", "acme.wait_by_size"])
def test_width_takes_two_renderings(
    name: str, opened: DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = []
    render = vl_convert.vegalite_to_svg
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda spec: rendered.append(spec) or render(spec))
    query = binding.bind_query(opened, name, {}, for_chart=True)
    draw(opened, query, tmp_path / "a.pdf", pictures.parse_size(86, None))
    assert 0 < len(rendered) <= 2


@pytest.mark.parametrize(
    ("width", "font"), [(0, None), (-85, None), (3000, None), (85, 0), (float("nan"), None)]
)
def test_impossible_size_is_refused(width: float, font: float | None) -> None:
    with pytest.raises(UsageError, match=r"--width must be|--font-size must be"):
        pictures.parse_size(width, font)


DRAWN = [query for query in query_files() if query.chart]


# These results are one number or row, or classes by model, or outcomes by size and trace.
WITHOUT_A_CHART = {
    "acme.arrivals",
    "acme.curve_distance",
    "asi.fractional_requests",
    "itp.testbed",
    "itp.top_jobs",
    "openb.fragmentation_of",
    "openb.peak_concurrency",
    "openb.pending_fit",
    "openb.sharing",
    "pai.sharing_savings",
    "pai.user_concentration",
    "unified.failure_cost",
}
# In the small sample, these results have a single hour or burst.
ONE_NUMBER_IN_THE_SAMPLE = {
    *("acme.xid_bursts", "genai.latency_by_hour", "genai.use_by_hour", "philly.utilization_by_day")
}
OF_EACH_KIND = {
    query.chart.kind: query
    for query in DRAWN
    if query.chart and query.full_name not in ONE_NUMBER_IN_THE_SAMPLE
}.values()


def test_queries_have_charts_except_listed_ones() -> None:
    assert {query.full_name for query in query_files() if not query.chart} == WITHOUT_A_CHART


def test_chart_columns_are_in_answer(opened: DuckDBPyConnection) -> None:
    rows = opened.execute("select object_name, column_name from catalog.columns").fetchall()
    for query in non_empty(DRAWN):
        assert query.chart
        assert {(query.full_name, column) for column in query.chart.columns} <= set(rows), query.full_name


@pytest.mark.parametrize("query", DRAWN if ALL else OF_EACH_KIND, ids=lambda query: query.full_name)
def test_every_chart_can_be_drawn(query, opened: DuckDBPyConnection) -> None:
    chart = query.chart
    if query.full_name in ONE_NUMBER_IN_THE_SAMPLE:
        with pytest.raises(UserError, match="cannot plot a single number"):
            spec(opened, query.full_name)
        return
    drawn = spec(opened, query.full_name)
    fields = [
        found["field"] for _, encoding in drawn["layers"] for found in encoding.values() if "field" in found
    ]
    assert {chart.x.column, *chart.heights} <= {*fields, *([chart.rule] if chart.rule else [])}
    assert chart.color in [*fields, ""]
    rows = drawn["rows"]
    assert rows and all(row[chart.heights[0]] is not None for row in rows)
    # Two marks at one position would hide each other or be added up.
    places = [tuple(row.get(column) for column in (chart.x.column, chart.color, chart.facet)) for row in rows]
    if chart.kind in ("bar", "stack", "box") or chart.kind == "line":
        assert len(set(places)) == len(places)
    assert drawn["subtitle"][0] == "synthetic data"
    assert drawn["footer"].startswith(query.full_name)


def _split_numbers(svg: str) -> tuple[list[str], list[float]]:
    """Return the text between fractions, without the numbers of clips and gradients, and the fractions."""
    svg = re.sub(r"(clip|gradient_)\d+", "", svg)
    fraction = r"\d+\.\d+"
    return re.split(fraction, svg), [float(number) for number in re.findall(fraction, svg)]


@pytest.mark.parametrize("query", DRAWN if ALL else OF_EACH_KIND, ids=lambda query: query.full_name)
def test_template_with_rows_of_a_page_draws_the_same(query, opened: DuckDBPyConnection) -> None:
    """The rows have the page's form: times and wide numbers are texts."""
    name = query.full_name
    if name in ONE_NUMBER_IN_THE_SAMPLE:
        return
    bound = binding.bind_query(opened, name, {}, for_chart=True)
    kinds = columns.columns_of(opened, bound)
    names = [column for column, _ in kinds]
    rows = [dict(zip(names, row, strict=True)) for row in columns.rows_of(opened, bound, kinds)]
    for row in rows:
        row |= {column: float(row[column]) for column, kind in kinds if has_text(row[column], kind)}
    template = build_template(opened, name)["spec"] | {"data": {"values": rows}}
    (drawn, positions), (expected, expected_positions) = (
        _split_numbers(vl_convert.vegalite_to_svg(json.loads(json.dumps(one))))
        for one in (template, pictures.build_query_picture(opened, name, {}).to_dict())
    )
    assert drawn == expected
    # The last digits depend on the order of sums, and positions are rounded to a thousandth of a point.
    assert positions == pytest.approx(expected_positions, rel=1e-9, abs=0.0011)


def has_text(value: object, kind: str) -> bool:
    return isinstance(value, str | Decimal) and columns.is_number(kind)


@pytest.mark.parametrize("query", OF_EACH_KIND, ids=lambda query: query.full_name)
def test_every_kind_of_chart_can_be_drawn_in_a_terminal(query, opened: DuckDBPyConnection) -> None:
    bound = binding.bind_query(opened, query.full_name, {}, for_chart=True)
    lines = pictures.render_text(opened, bound, {}, 80).splitlines()
    title = query.chart.title or query.header.title
    assert lines[0] == title[: len(lines[0])]
    assert max(map(len, lines)) <= 80
    assert {"\x1b"}.isdisjoint("".join(lines))
    assert len(lines) > 6


def test_time_axis_keeps_empty_hours(opened: DuckDBPyConnection) -> None:
    for query in ("acme.fleet_hourly", "acme.utilization_by_day"):
        x = spec(opened, query)["encoding"]["x"]
        assert (x["type"], x["scale"]) == ("temporal", {"type": "utc"})


def test_lines_of_several_clocks_begin_at_zero_in_a_terminal(opened: DuckDBPyConnection) -> None:
    """Traces do not share a clock. More lines than the plot has space for are named below it."""
    query = binding.bind_query(opened, "unified.arrival_series", {}, for_chart=True)
    lines = pictures.render_text(opened, query, {}, 80).splitlines()
    axis = next(number for number, line in enumerate(lines) if "└┬" in line)
    ticks = [float(text) for text in lines[axis + 1].split()]
    assert ticks[0] == 0 and ticks[-1] < 1000
    assert "days since the first of each line" in lines[axis + 2]
    assert lines[axis + 3].startswith("● acme kalos   ■ acme seren")


def test_times_have_units(opened: DuckDBPyConnection) -> None:
    """Axes show dates if the clock has true dates, else days since its start; hours and weekdays by name."""
    assert spec(opened, "itp.load_by_day")["encoding"]["x"]["type"] == "temporal"
    by_hour = spec(opened, "unified.arrival_series", in_trace="pai")
    assert by_hour["encoding"]["x"]["title"] == "time (days)"
    times = sorted({row["hour_start_s"] for row in by_hour["rows"]})
    # Long hourly series are drawn by day.
    assert times[1] - times[0] == 1 and times[-1] < 1000
    # Helios's times count from 1970.
    on_dates = spec(opened, "unified.arrival_series", in_trace="helios")["encoding"]["x"]
    assert on_dates["title"] == "date" and "utcFormat" in on_dates["axis"]["labelExpr"]
    assert spec(opened, "unified.arrival_series")["encoding"]["x"]["title"] == "time (days) or date"
    heat = spec(opened, "pai.demand_by_week_hour")
    assert heat["marks"] == ["rect"]
    assert heat["encoding"]["y"]["sort"] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert "':00'" in heat["encoding"]["x"]["axis"]["labelExpr"]
    assert "':00'" in spec(opened, "unified.hour_profile")["encoding"]["x"]["axis"]["labelExpr"]


def test_cdf_is_a_step_line(opened: DuckDBPyConnection) -> None:
    for query in DRAWN:
        if query.name.endswith("_cdf"):
            drawn = spec(opened, query.full_name)
            assert drawn["layers"][0][0]["interpolate"] == "step-after"
            lines = Counter((row.get(query.chart.facet), row.get(query.chart.color)) for row in drawn["rows"])
            assert max(lines.values()) <= 501
    # These are shares of jobs of at least a size. Shares between the given sizes are unknown.
    for name in ("pai.gang_sizes", "pai.group_recurrence"):
        assert spec(opened, name)["layers"][0][0]["interpolate"] == "step-after"


def test_thinned_cdf_is_within_a_fifth_of_a_percent(opened: DuckDBPyConnection) -> None:
    runs = opened.execute(
        "select run_s from unified.jobs where trace = 'itp' and requested_gpus > 0 order by run_s"
    ).fetchall()
    steps = [row for row in spec(opened, "unified.run_cdf")["rows"] if row["trace"] == "itp"]
    assert len(runs) > len(steps) > 100
    place = -1
    for rank, (run_s,) in enumerate(runs, 1):
        while place + 1 < len(steps) and steps[place + 1]["run_s"] <= run_s:
            place += 1
        drawn_pct = steps[place]["percentile"] if place >= 0 else 0
        # Of equal run times, only the last one has the height of the step.
        if rank == len(runs) or runs[rank][0] != run_s:
            assert -1e-9 <= 100 * rank / len(runs) - drawn_pct <= 0.2 + 1e-9
    assert steps[-1]["percentile"] == 100


def test_lines_differ_without_colours(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "unified.run_cdf")
    (area, of_area), (line, of_line), (_, of_marks) = drawn["layers"]
    assert (area["type"], of_area["y"]["field"], of_area["y2"]["field"]) == ("area", "low_pct", "high_pct")
    dashes, shapes = of_line["strokeDash"]["scale"]["range"], of_marks["shape"]["scale"]["range"]
    assert line["type"] == "line" and len({*zip(map(tuple, dashes), shapes, strict=True)}) == len(dashes) >= 4
    domains = [
        found["scale"]["domain"] for found in (of_line["color"], of_line["strokeDash"], of_marks["shape"])
    ]
    assert domains[0] == domains[1] == domains[2] == sorted(domains[0])


def test_boxes_are_explained(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "pai.wait_by_gpu_type")
    assert drawn["subtitle"][-1].startswith("boxes from the 25th to the 75th percentile")
    assert sorted(drawn["marks"]) == ["bar", "rule", "tick", "tick", "tick"]


def test_capacity_is_drawn_unless_far_above(opened: DuckDBPyConnection, drawn) -> None:
    assert spec(opened, "pai.load_over_time")["subtitle"][-1] == "dashed line: capacity GPUs"
    line = "line x=n y=gpus rule=capacity_gpus"
    found = drawn("select unnest([1, 2]) as n, 5 as gpus, 1000 as capacity_gpus", line)
    assert found["subtitle"] == ["not shown because far above the data: capacity_gpus of 1000"]
    assert {row["capacity_gpus"] for row in found["rows"]} == {None}


def test_clusters_have_panels(opened: DuckDBPyConnection) -> None:
    # The last two of sixty days have all clusters.
    drawn = spec(opened, "unified.allocation_hourly", in_trace="itp", offered="true", from_hour="1392")
    assert drawn["facet"]["sort"] == [f"itp cluster{n:02}" for n in range(1, 11)]


def test_single_series_is_named_in_subtitle(drawn) -> None:
    rows = "(values (1, 2, 'kalos', null), (2, 3, 'kalos', null)) as t(n, jobs, cluster, part)"
    assert drawn(f"from {rows}", "line x=n y=jobs color=cluster")["subtitle"] == ["cluster: kalos"]
    assert drawn(f"from {rows}", "line x=n y=jobs facet=cluster")["subtitle"] == ["cluster: kalos"]
    assert drawn(f"from {rows}", "line x=n y=jobs color=part")["subtitle"] == []
    of_trace = "(values (1, 2, 'itp', null), (2, 3, 'itp', null)) as t(n, jobs, trace, cluster)"
    assert drawn(f"from {of_trace}", "line x=n y=jobs facet=cluster")["subtitle"] == []


def test_lorenz_curve_has_line_of_equality(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "unified.user_concentration")
    assert [row["heaviest_pct"] for row in drawn["rows"] if row["trace"] == "pai"] == [*range(101)]
    assert drawn["marks"] == ["line", "line", "point"]
    assert drawn["subtitle"] == ["synthetic data"]


def test_pareto_front_is_joined_and_labelled(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "zeus.pareto_front")
    assert drawn["marks"] == ["line", "point", "text"]
    assert drawn["subtitle"][-1] == "labels where they fit: batch size / power limit (W)"


@pytest.mark.parametrize("width_mm", [85, None])
def test_labels_of_front_do_not_overlap(width_mm: int | None, opened: DuckDBPyConnection) -> None:
    """The distance of the slanted labels, as placed by Vega, is at least the height of their text."""
    query = binding.bind_query(opened, "zeus.pareto_front", {})
    svg = pictures.render_svg(pictures.build_picture(opened, query, {}, pictures.parse_size(width_mm, None)))
    placed = re.findall(
        r'translate\(([\d.]+),([\d.]+)\) rotate\(315\)[^>]*?font-size="([\d.]+)px"[^>]*>(\d+ / \d+)<', svg
    )
    across = sorted((float(x) + float(y)) / 2**0.5 for x, y, _, _ in placed)
    assert len(across) >= 2
    assert min(after - before for before, after in pairwise(across)) >= float(placed[0][2])


@pytest.mark.parametrize(
    ("more", "order"),
    [("", ["a", "b", "c", "d"]), (", ('z', 'd'), ('z', 'a')", ["b", "d", "a", "c"])],
    ids=["one that suits all", "that of the answer where none does"],
)
def test_series_are_merged_into_one_order(drawn, more: str, order: list[str]) -> None:
    rows = f"('x', 'b'), ('x', 'd'), ('y', 'a'), ('y', 'b'), ('y', 'c'), ('y', 'd'){more}"
    found = drawn(f"select s, n, 1 as v from (values {rows}) as t(s, n)", "bar x=n y=v color=s")
    assert found["encoding"]["x"]["sort"] == order


def test_bars_keep_order_of_answer(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "openb.request_tiers")
    tiers = ["whole GPUs", "501 to 999 milli", "251 to 500 milli", "up to 250 milli"]
    assert drawn["encoding"]["x"]["sort"] == tiers
    assert drawn["marks"] == ["bar"]
    assert [row["gpu_tier"] for row in drawn["rows"]] == tiers


def test_axis_title_names_quantity(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "itp.gpu_hours")
    assert drawn["encoding"]["x"]["sort"] == [f"cluster{n:02}" for n in range(1, 11)]
    assert drawn["encoding"]["y"]["title"] == "GPU-hours"


def test_lines_have_scales_and_colours(opened: DuckDBPyConnection) -> None:
    encoding = spec(opened, "unified.run_cdf")["encoding"]
    assert encoding["x"]["type"] == encoding["y"]["type"] == "quantitative"
    assert encoding["x"]["scale"]["type"] == "log" and "scale" not in encoding["y"]
    assert set(encoding["x"]["axis"]["values"]) <= {10.0**power for power in range(9)}
    assert "'~s'" in encoding["x"]["axis"]["labelExpr"]
    traces = encoding["color"]["scale"]["domain"]
    assert traces == sorted(traces) and {"acme", "itp", "openb", "pai"} <= set(traces)


def test_subtitle_lists_given_parameters(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "openb.phases", in_variant="cpu100", gpu_only="false")
    assert drawn["subtitle"] == ["synthetic data", "in_variant = cpu100, gpu_only = false"]


def test_subtitle_lists_effective_defaults(opened: DuckDBPyConnection) -> None:
    assert "on_cluster = cluster04" in spec(opened, "itp.load_by_day")["subtitle"]
    # Parameters that the chart sets itself, and defaults that exclude nothing, are not listed.
    assert spec(opened, "unified.run_cdf")["subtitle"][1:] == ["without run_s of 0: its axis is logarithmic"]
    assert spec(opened, "unified.run_cdf", min_run_s="600")["subtitle"][1] == "min_run_s = 600"
    assert "every = day" in spec(opened, "pai.load_over_time")["subtitle"]


def test_footer_names_views_and_citations(opened: DuckDBPyConnection) -> None:
    assert spec(opened, "itp.gpu_hours")["footer"] == (
        "itp.gpu_hours · reads itp.job_v1 · itp: Gu et al., ASPLOS 2023 "
        "itp: Jobs shorter than 600 s are missing: medians are too high next to other traces."
    )
    # Only traces in the result are cited, not all traces that the view unites.
    assert [part.split(":")[0] for part in spec(opened, "unified.hour_profile")["footer"].split(" · ")] == [
        "unified.hour_profile",
        "reads unified.jobs_v2",
        "acme",
        "helios",
        "pai",
    ]


@pytest.mark.parametrize(
    ("citation", "short"),
    [
        (
            "Jie You, Jae-Won Chung, and Mosharaf Chowdhury. Zeus. In NSDI (NSDI 23), pages 1-2.",
            "You et al., NSDI 23",
        ),
        ("Lin et al.: Understanding Serving (SoCC 2025).", "Lin et al., SoCC 2025"),
        ("Alibaba Group: cluster-trace-gpu-v2025, https://github.com/x (2025).", "Alibaba Group, 2025"),
        ("Ada Lovelace. Notes.", "Ada Lovelace"),
    ],
)
def test_short_citations(citation: str, short: str) -> None:
    assert texts.short_citation(citation) == short


def test_measured_data_is_not_labelled_synthetic(real_warehouse: Path) -> None:
    with sandbox.connect(real_warehouse) as connection:
        assert spec(connection, "itp.gpu_hours")["subtitle"] == ["min_gpus = 1"]


def test_logarithmic_axis_reports_omitted_rows(drawn) -> None:
    found = drawn(
        "select unnest([0, 1, 100, null]) as wait_s, 5.5 as share_pct", "line x=wait_s:log y=share_pct"
    )
    assert [row["wait_s"] for row in found["rows"]] == [1, 100]
    assert found["subtitle"] == ["without wait_s of 0: its axis is logarithmic"]
    assert found["encoding"]["y"]["title"] == "share (%)"


def test_bars_are_grouped_or_stacked(drawn) -> None:
    rows = "('a', 'x', 1), ('a', 'y', 2), (null, 'x', 3), ('b', 'x', null)"
    sql = f"from (values {rows}) as t(name, part, jobs)"
    bars = drawn(sql, "bar x=name y=jobs color=part")
    assert bars["encoding"]["xOffset"]["field"] == "part"
    assert bars["encoding"]["x"]["sort"] == ["a", "NULL"]
    assert [row["jobs"] for row in bars["rows"]] == [1, 2, 3]
    stack = drawn(sql, "stack x=name y=jobs color=part")
    assert "xOffset" not in stack["encoding"] and stack["marks"] == ["bar"]


@pytest.mark.parametrize(("share", "domain"), [(100 / 3, [0, 100]), (30, None), (35, None)])
def test_stack_of_all_shares_ends_at_100(drawn, share: float, domain: list | None) -> None:
    rows = f"(values ('a', 'x', {share}), ('a', 'y', {share}), ('a', 'z', {share}), ('b', 'x', 50.0))"
    stack = drawn(f"from {rows} as t(name, part, jobs_pct)", "stack x=name y=jobs_pct color=part")
    assert stack["encoding"]["y"].get("scale", {}).get("domain") == domain


def test_headings_of_panels_are_no_wider_than_a_panel(drawn) -> None:
    rows = f"(values (1, 2, '{'a' * 32}'), (2, 3, '{'b' * 32}'))"
    found = drawn(f"from {rows} as t(n, jobs, switch)", "line x=n y=jobs facet=switch")
    assert 100 < found["facet"]["header"]["labelLimit"] <= found["width"] + 50


def test_any_number_type_is_drawn(drawn) -> None:
    days = "(date '2020-07-01', 1.5::decimal(4, 1)), (date '2020-07-02', 2)"
    found = drawn(f"from (values {days}) as t(day, gpu_h)", "line x=day y=gpu_h")
    assert found["rows"] == [
        {"day": "2020-07-01", "gpu_h": 1.5},
        {"day": "2020-07-02", "gpu_h": 2.0},
    ]


@pytest.mark.parametrize(
    ("column", "title"),
    [
        ("p90_wait_s", "p90 wait (s)"),
        ("gpu_h", "GPU-hours"),
        ("gpu_h_pct", "GPU-hours (%)"),
        ("failed_gpu_h", "failed GPU-hours"),
        ("requested_gpus_per_instance", "requested GPUs per instance"),
        ("memory_gb", "memory (GB)"),
        ("traffic_gibps", "traffic (GiB/s)"),
        ("hp_gpu_h", "HP GPU-hours"),
        ("gpu_type", "GPU type"),
        ("iterations_per_s", "iterations per s"),
        ("percentile", "percentile"),
    ],
)
def test_axis_titles(column: str, title: str) -> None:
    assert texts.axis_title(column) == title


def test_unknown_suffix_or_folder_is_refused(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    query = binding.bind_query(opened, "itp.gpu_hours", {})
    for name in ("hours.jpg", "hours"):
        with pytest.raises(UsageError, match=r"must end in \.png, \.svg or \.pdf"):
            draw(opened, query, tmp_path / name)
    (tmp_path / "hours.png").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        draw(opened, query, tmp_path / "hours.png")


def test_empty_answer_keeps_old_picture(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "phases.svg"
    path.write_text("old")
    query = binding.BoundQuery("from openb.phases('no_such')", {}, "openb.phases")
    with pytest.raises(UserError, match=r"openb\.phases: nothing to plot"):
        draw(opened, query, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_single_number_is_not_drawn(drawn, real_warehouse: Path) -> None:
    with pytest.raises(UserError, match=r"a\.b: cannot plot a single number \(jobs = 7\)"):
        drawn("select 'Philly' as cluster, 7 as jobs", "bar x=cluster y=jobs")
    with (
        sandbox.connect(real_warehouse) as connection,
        pytest.raises(UserError, match=r"single number \(failed_of_all_pct = 26\.45"),
    ):
        spec(connection, "unified.failure_share")


def test_heat_map_axes_are_in_numerical_order(drawn) -> None:
    """The colour encodes a number, so the rows need no order by series."""
    sql = "select * from (values (10, 2, 5), (9, 2, 7), (10, 1, 9), (2, 12, 5)) as t (gpus, nodes, jobs)"
    encoding = drawn(sql, "heat x=gpus y=nodes color=jobs")["encoding"]
    assert encoding["x"]["sort"] == ["2", "9", "10"]
    assert encoding["y"]["sort"] == ["1", "2", "12"]


def test_heat_map_of_zeros_is_not_drawn(drawn) -> None:
    with pytest.raises(UserError, match="every jobs is 0"):
        drawn(
            "select unnest([1, 2]) as weekday, 3 as hour_of_day, 0 as jobs",
            "heat x=hour_of_day y=weekday color=jobs",
        )


def test_query_without_chart_is_not_drawn(drawn) -> None:
    with pytest.raises(UserError, match=r"a\.b has no chart"):
        drawn("select 1 as n", "")


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_missing_extra_is_named(
    opened: DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    query = binding.bind_query(opened, "itp.gpu_hours", {})
    with pytest.raises(UserError, match=rf"need {module}, .*pip install '\.\[plot\]'"):
        draw(opened, query, tmp_path / "hours.png")


def test_missing_extra_is_named_in_terminal(
    opened: DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    with pytest.raises(UserError, match=r"need plotext, .*pip install '\.\[plot\]'"):
        pictures.render_text(opened, binding.bind_query(opened, "itp.gpu_hours", {}), {}, 80)


@pytest.mark.parametrize(
    ("chart", "complaint"),
    [
        ("bar x=cluster y=no_such", "its chart has the column no_such, which its answer lacks"),
        ("bar x=jobs y=cluster", "its chart has a scale of cluster, which is string and not a number"),
        ("line x=cluster:log y=jobs", "its chart has a scale of cluster, which is string and not a number"),
        ("heat x=jobs y=jobs color=cluster", "its chart has a scale of cluster, which is string"),
        ("box x=cluster y=jobs", "its chart has the column p5_jobs, which its answer lacks"),
    ],
)
def test_chart_of_unknown_columns_is_refused(
    drawn: Callable[[str, str], dict], chart: str, complaint: str
) -> None:
    with pytest.raises(DefinitionError, match=f"a.b: {complaint}"):
        drawn("select 'Philly' as cluster, 7 as jobs", chart)


# Queries whose title names several quantities and whose chart shows all of them.
DRAWS_ALL = {
    *("acme.failure_rate", "acme.published_against_cdf", "acme.utilization_by_hour_of_day"),
    *("helios.load_by_day", "philly.load_by_day", "spot.demand_by_day", "spot.gpu_time_by_type", "itp.load"),
    *("philly.gpu_utilization_by_size", "philly.machine_gpus", "philly.wait_by_attempt"),
    *("pai.request_percentiles", "pai.requested_against_assigned_type", "pai.status_counts", "pai.totals"),
    *("pai.wait_by_sharing", "unified.summary_against_published", "zeus.pareto_front"),
}


def test_null_is_named(drawn: Callable[[str, str], dict]) -> None:
    answer = "values ('a', 'x', 1), ('a', null, 2), (null, 'x', 3)"
    bars = drawn(f"from ({answer}) as rows (gpu_type, cluster, jobs)", "bar x=gpu_type y=jobs color=cluster")
    assert "'not stated'" in bars["encoding"]["x"]["axis"]["labelExpr"]
    assert "'not stated'" in bars["encoding"]["color"]["legend"]["labelExpr"]


def test_charts_show_all_quantities_of_their_titles() -> None:
    several = {
        query.full_name
        for query in query_files()
        if query.chart and not query.chart.title and re.search(r" and |, ", query.header.title)
    }
    assert {name for name in several if not name.startswith("asi.")} == DRAWS_ALL


@pytest.mark.parametrize("column", ["pct", "share_pct", "value", "dispersion", "cv_gap", "rows_over", "both"])
def test_axis_names_are_specific(column: str) -> None:
    vague = [
        query.full_name
        for query in query_files()
        if query.chart and column in (query.chart.x.name, query.chart.y.name)
    ]
    # In a stacked bar, share_pct is clear: parts are shares of the bar.
    assert vague == (["pai.status_counts"] if column == "share_pct" else [])


def test_chart_has_title_and_names_of_axes(drawn) -> None:
    line = "bar x=n y=jobs xname=at_least_gpus yname=tasks_pct title=Tasks by size (PAI tasks)"
    found = drawn("from (values (1, 2), (2, 3)) as t(n, jobs)", line)
    assert found["title"]["text"] == ["Tasks by size (PAI tasks)"]
    assert [found["encoding"][axis]["title"] for axis in "xy"] == ["at least GPUs", "tasks (%)"]


def test_marks_on_few_observations_are_named(drawn) -> None:
    rows = "(values (0, 5.0, 4000), (1, 9.0, 30), (2, 6.0, 3500)) as t(hour_of_day, ms, minutes)"
    found = drawn(f"from {rows}", "line x=hour_of_day y=ms count=minutes")
    assert found["subtitle"] == ["minutes behind a mark: 30 to 4,000; few at hour of day 1"]


def test_long_line_is_drawn_by_day(drawn) -> None:
    sql = "select 3600 * range as hour_start_s, range % 24 as jobs, range % 2 as limit_gpus from range(2400)"
    found = drawn(sql, "line x=hour_start_s y=jobs rule=limit_gpus")
    assert [row["hour_start_s"] for row in found["rows"]] == [day + 0.5 for day in range(100)]
    assert {(row["jobs"], row["limit_gpus"]) for row in found["rows"]} == {(11.5, 0.5)}
    assert "area" in found["marks"]
    assert found["subtitle"][0] == "line: mean of each day; band: its lowest and highest value"

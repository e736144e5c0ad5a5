"""Pictures of answers: what is drawn, in which order, with which titles, and what cannot be."""

import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from duckdb import DuckDBPyConnection

from tracehouse.engines.duckdb.read import answer
from tracehouse.engines.duckdb.read.answer import Question
from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.publish import output, plot
from tracehouse.sql.query_files import query_files
from tracehouse.views.view_files import DefinitionError

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[DuckDBPyConnection]:
    with answer.connect(sample_warehouse) as connection:
        yield connection


@pytest.fixture
def drawn() -> Callable[[str, str], dict]:
    """The Vega-Lite of a question of that SQL, as its chart line would have it drawn."""

    def vega_lite(sql: str, line: str) -> dict:
        with duckdb.connect() as connection:
            connection.execute("create schema catalog")
            connection.execute("create table catalog.queries (query_name text, title text, chart text)")
            connection.execute("create table catalog.caveats (caveat text, trace text, objects text[])")
            connection.execute("alter table catalog.caveats add what_goes_wrong text")
            connection.execute("alter table catalog.caveats add what_to_do text")
            connection.execute("create table catalog.tables (table_name text, trace text, synthetic boolean)")
            connection.execute("alter table catalog.tables add row_count bigint")
            connection.execute("alter table catalog.queries add reads text[]")
            connection.execute(
                "create table catalog.views (view_name text, versioned_name text, version int, reads text[])"
            )
            connection.execute(
                "insert into catalog.queries values ('a.b', 'How?', $line, [])", {"line": line}
            )
            return plot.picture_of(connection, Question(sql, {}, "a.b")).to_dict()

    return vega_lite


def draw(connection: DuckDBPyConnection, question: answer.Question, path: Path) -> None:
    plot.check_path(path)
    with output.spooled(path, path.parent) as spool:
        plot.draw(connection, question, path.suffix, spool.file)


def spec(connection: DuckDBPyConnection, name: str, **parameters: str) -> dict:
    return plot.picture_of(connection, answer.named_question(connection, name, parameters)).to_dict()


def test_png_and_svg(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    question = answer.named_question(opened, "unified.run_cdf", {})
    draw(opened, question, tmp_path / "new" / "cdf.png")
    head = (tmp_path / "new" / "cdf.png").read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:])
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert width > 2 * plot.WIDTH and height > 2 * plot.HEIGHT

    draw(opened, question, tmp_path / "cdf.svg")
    root = ET.parse(tmp_path / "cdf.svg").getroot()
    assert root.tag == f"{SVG}svg"
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"How long do the jobs of each trace run?", "synthetic data", "run (s)", "percentile"} <= texts
    assert {"acme", "itp", "openb", "pai"} <= texts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cdf.svg", "new"]


DRAWN = [query for query in query_files() if query.chart]


def test_nearly_every_query_has_a_chart() -> None:
    # A class for each model, or an outcome for each size and trace: more than two axes and a color.
    assert {query.full_name for query in query_files() if not query.chart} == {
        "openb.pending_fit",
        "unified.failure_cost",
    }


@pytest.mark.parametrize("query", DRAWN, ids=lambda query: query.full_name)
def test_every_chart_can_be_drawn(query, opened: DuckDBPyConnection) -> None:
    chart = query.chart
    drawn = spec(opened, query.full_name)
    encoding = drawn["encoding"]
    assert (encoding["x"]["field"], encoding["y"]["field"]) == (chart.x.column, chart.y.column)
    assert encoding.get("color", {}).get("field", "") == chart.color
    values = drawn["data"]["values"]
    assert values and all(row[chart.y.column] is not None for row in values)
    # Two marks in one place would hide each other, or be added up.
    places = [(row[chart.x.column], row.get(chart.color)) for row in values]
    if chart.kind != "point" and encoding["x"]["type"] == "ordinal":
        assert len(set(places)) == len(places)
    assert drawn["title"]["subtitle"][0] == "synthetic data"


def test_a_line_over_times_leaves_room_for_hours_without_a_row(opened: DuckDBPyConnection) -> None:
    for query in ("acme.fleet_hourly", "acme.utilization_by_day"):
        x = spec(opened, query)["encoding"]["x"]
        assert (x["type"], x["scale"]) == ("temporal", {"type": "utc"})


def test_bars_stand_in_the_order_of_the_answer(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "openb.request_tiers")
    tiers = ["whole GPUs", "501 to 999 milli", "251 to 500 milli", "up to 250 milli"]
    assert drawn["encoding"]["x"]["sort"] == tiers
    assert drawn["mark"] == {"type": "bar"}
    assert [row["gpu_tier"] for row in drawn["data"]["values"]] == tiers


def test_an_axis_names_its_quantity(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "itp.gpu_hours")
    assert drawn["encoding"]["x"]["sort"] == [f"cluster{n:02}" for n in range(1, 11)]
    assert drawn["encoding"]["y"]["title"] == "GPU-hours"


def test_lines_have_scales_and_a_color_each(opened: DuckDBPyConnection) -> None:
    encoding = spec(opened, "unified.run_cdf")["encoding"]
    assert encoding["x"]["type"] == encoding["y"]["type"] == "quantitative"
    assert encoding["x"]["scale"]["type"] == "log" and "scale" not in encoding["y"]
    assert set(encoding["x"]["axis"]["values"]) <= {10.0**power for power in range(9)}
    traces = encoding["color"]["sort"]
    assert traces == sorted(traces) and {"acme", "itp", "openb", "pai"} <= set(traces)


def test_the_subtitle_says_what_was_asked(opened: DuckDBPyConnection) -> None:
    drawn = spec(opened, "openb.phases", in_variant="cpu100", gpu_only="false")
    assert drawn["title"]["subtitle"] == ["synthetic data", "in_variant = cpu100, gpu_only = false"]


def test_measured_data_are_not_called_synthetic(real_warehouse: Path) -> None:
    with answer.connect(real_warehouse) as connection:
        assert spec(connection, "itp.gpu_hours")["title"]["subtitle"] == []


def test_a_logarithmic_axis_says_what_it_leaves_out(drawn) -> None:
    found = drawn(
        "select unnest([0, 1, 100, null]) as wait_s, 5.5 as share_pct", "line x=wait_s:log y=share_pct"
    )
    assert [row["wait_s"] for row in found["data"]["values"]] == [1, 100]
    assert found["title"]["subtitle"] == ["without wait_s of 0: its axis is logarithmic"]
    assert found["encoding"]["y"]["title"] == "share (%)"


def test_bars_of_colors_stand_side_by_side_and_parts_on_each_other(drawn) -> None:
    rows = "('a', 'x', 1), ('a', 'y', 2), (null, 'x', 3), ('b', 'x', null)"
    sql = f"from (values {rows}) as t(name, part, jobs)"
    bars = drawn(sql, "bar x=name y=jobs color=part")
    assert bars["encoding"]["xOffset"]["field"] == "part"
    assert bars["encoding"]["x"]["sort"] == ["a", "NULL"]
    assert [row["jobs"] for row in bars["data"]["values"]] == [1, 2, 3]
    stack = drawn(sql, "stack x=name y=jobs color=part")
    assert "xOffset" not in stack["encoding"] and stack["mark"] == {"type": "bar"}


def test_values_of_any_number_type_can_be_drawn(drawn) -> None:
    days = "(date '2020-07-01', 1.5::decimal(4, 1)), (date '2020-07-02', 2)"
    found = drawn(f"from (values {days}) as t(day, gpu_h)", "line x=day y=gpu_h")
    assert found["data"]["values"] == [
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
        ("gpu_type", "GPU type"),
        ("iterations_per_s", "iterations per s"),
        ("percentile", "percentile"),
    ],
)
def test_axis_titles(column: str, title: str) -> None:
    assert plot.axis_title(column) == title


def test_an_unknown_ending_or_a_folder_is_refused(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    question = answer.named_question(opened, "itp.gpu_hours", {})
    for name in ("hours.jpg", "hours"):
        with pytest.raises(UsageError, match=r"ends in \.png or \.svg"):
            draw(opened, question, tmp_path / name)
    (tmp_path / "hours.png").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        draw(opened, question, tmp_path / "hours.png")


def test_an_empty_answer_leaves_the_old_picture(opened: DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "phases.svg"
    path.write_text("old")
    question = answer.Question("from openb.phases('no_such')", {}, "openb.phases")
    with pytest.raises(UserError, match=r"openb\.phases: there is nothing to draw"):
        draw(opened, question, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_query_without_a_chart_is_not_drawn(drawn) -> None:
    with pytest.raises(UserError, match=r"a\.b has no chart"):
        drawn("select 1 as n", "")


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_without_the_extra_it_says_how_to_get_it(
    opened: DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    question = answer.named_question(opened, "itp.gpu_hours", {})
    with pytest.raises(UserError, match=rf"need {module}, .*pip install 'tracehouse\[plot\]'"):
        draw(opened, question, tmp_path / "hours.png")


@pytest.mark.parametrize(
    ("chart", "complaint"),
    [
        ("bar x=cluster y=no_such", "its chart shows no_such, which its answer does not have"),
        ("bar x=jobs y=cluster", "its chart has a scale of cluster, a string"),
        ("line x=cluster:log y=jobs", "its chart has a scale of cluster, a string"),
    ],
)
def test_a_chart_of_other_columns_is_refused(
    drawn: Callable[[str, str], dict], chart: str, complaint: str
) -> None:
    with pytest.raises(DefinitionError, match=f"a.b: {complaint}"):
        drawn("select 'Philly' as cluster, 7 as jobs", chart)

"""How Superset draws an answer: as its `-- chart:` line says, and as a table where Superset cannot."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracehouse.sql.query_files import Chart, read_chart
from tracehouse.views.view_files import DefinitionError

TYPES = {
    "bar": "echarts_timeseries_bar",
    "stack": "echarts_timeseries_bar",
    "line": "echarts_timeseries_line",
    "point": "echarts_timeseries_scatter",
}
"""Superset's chart for each kind that it can draw; of another, the rows are shown."""

MOST_ROWS = 10_000
MOST_MARKED = 200
# A dashboard is 12 columns wide, and a row of it 8 pixels high.
WIDE, HALF, HEIGHT = 12, 6, 50
CHARTS_IN_A_ROW = WIDE // HALF


@dataclass(frozen=True)
class Answer:
    """An answer that is to be drawn: what it is, its chart line, its columns with DuckDB's types.

    `measured` gives the value of an aggregate over its rows, written in SQL.
    """

    name: str
    title: str
    description: str
    line: str
    rows: int
    columns: Mapping[str, str]
    measured: Callable[[str], int]


def chart_of(answer: Answer) -> tuple[str, dict[str, Any]]:
    """Superset's kind of chart for an answer, and its settings."""
    chart = _readable(answer)
    if chart is None:
        return "table", _table(answer)
    is_time = answer.columns[chart.x.column].startswith(("TIMESTAMP", "DATE"))
    kind = chart.kind if chart.kind != "line" or _is_shared(answer, chart) else "point"
    settings: dict[str, Any] = {
        "x_axis": chart.x.column,
        "time_grain_sqla": None,
        # Rows are told apart by x and color: the greatest of each one's values is the one that it has.
        "metrics": [_metric(chart.y.column, answer.columns[chart.y.column])],
        "groupby": [chart.color] if chart.color else [],
        "adhoc_filters": [],
        "row_limit": MOST_ROWS,
        "order_desc": False,
        "truncate_metric": True,
        "show_empty_columns": True,
        "x_axis_title": chart.x.column,
        "x_axis_title_margin": 30,
        "y_axis_title": chart.y.column,
        "y_axis_title_margin": 50,
        "y_axis_title_position": "Left",
        "logAxis": chart.y.is_log,
        "y_axis_format": "SMART_NUMBER",
        "show_legend": bool(chart.color),
        "legendType": "scroll",
        "legendOrientation": "top",
        "rich_tooltip": True,
        "tooltipTimeFormat": "smart_date",
        "x_axis_time_format": "smart_date",
        # A number that names a bar has the place of its name.
        "xAxisForceCategorical": not is_time and (kind in ("bar", "stack") or chart.x.is_log),
        "x_axis_sort_asc": True,
        "x_axis_sort": chart.x.column,
    }
    if kind == "stack":
        settings["stack"] = "Stack"
    if kind in ("line", "point"):
        settings["markerEnabled"] = answer.rows <= MOST_MARKED or kind == "point"
        settings["markerSize"] = 6
    return TYPES[kind], settings


def position_of(title: str, markdown: str, charts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The layout of a dashboard: a text over its whole width, and charts two by two, each by id and title."""
    # A point of a list takes two lines or three.
    height = min(HEIGHT, 14 + 6 * markdown.count("\n- "))
    rows: list[dict[str, Any]] = [_row("caveats", ["MARKDOWN-caveats"])]
    blocks: list[dict[str, Any]] = [
        {
            "type": "MARKDOWN",
            "id": "MARKDOWN-caveats",
            "children": [],
            "parents": ["ROOT_ID", "GRID_ID", "ROW-caveats"],
            "meta": {"width": WIDE, "height": height, "code": markdown},
        }
    ]
    for place in range(0, len(charts), CHARTS_IN_A_ROW):
        inside = []
        for identifier, name in charts[place : place + CHARTS_IN_A_ROW]:
            block = f"CHART-{identifier}"
            inside.append(block)
            blocks.append(
                {
                    "type": "CHART",
                    "id": block,
                    "children": [],
                    "parents": ["ROOT_ID", "GRID_ID", f"ROW-{place}"],
                    "meta": {
                        "width": HALF,
                        "height": HEIGHT,
                        # Superset puts its own number here when it imports.
                        "chartId": uuid.UUID(identifier).int % 1_000_000_007,
                        "uuid": identifier,
                        "sliceName": name,
                    },
                }
            )
        rows.append(_row(str(place), inside))
    return {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {
            "type": "GRID",
            "id": "GRID_ID",
            "children": [row["id"] for row in rows],
            "parents": ["ROOT_ID"],
        },
        "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": title}},
        **{block["id"]: block for block in (*rows, *blocks)},
    }


def _row(name: str, children: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "ROW",
        "id": f"ROW-{name}",
        "children": list(children),
        "parents": ["ROOT_ID", "GRID_ID"],
        "meta": {"background": "BACKGROUND_TRANSPARENT"},
    }


def _readable(answer: Answer) -> Chart | None:
    """The chart of an answer, where Superset has such a chart and it would show what the rows hold."""
    # One row says more in words than as one bar or one point.
    if answer.line.split()[0] not in TYPES or answer.rows < 2:
        return None
    try:
        chart = read_chart(answer.line, answer.name)
    except DefinitionError:
        # Written for a newer version of this program.
        return None
    if not answer.columns.keys() >= set(chart.columns):
        return None
    apart = ", ".join(f'"{column}"' for column in (chart.x.column, chart.color) if column)
    is_told_apart = answer.measured(f"count(distinct ({apart}, 0))") == answer.rows
    return chart if is_told_apart and answer.measured(f'count("{chart.y.column}")') else None


def _is_shared(answer: Answer, chart: Chart) -> bool:
    """Whether most lines have a point at most x: Superset's break off where one has none."""
    if not chart.color:
        return True
    places, lines = (
        answer.measured(f'count(distinct ("{column}", 0))') for column in (chart.x.column, chart.color)
    )
    return 2 * answer.rows > places * lines


def _metric(column: str, kind: str) -> dict[str, Any]:
    return {
        "expressionType": "SIMPLE",
        "column": {"column_name": column, "type": kind},
        "aggregate": "MAX",
        "label": column,
        "hasCustomLabel": True,
        "optionName": f"metric_{column}",
    }


def _table(answer: Answer) -> dict[str, Any]:
    return {
        "query_mode": "raw",
        "all_columns": list(answer.columns),
        "order_by_cols": [],
        "adhoc_filters": [],
        "row_limit": 1_000,
        "server_pagination": False,
        "table_timestamp_format": "smart_date",
    }

"""Build Superset charts from `-- chart:` lines, or tables if Superset has no such chart."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracehouse.publish.plot.texts import axis_title
from tracehouse.sql.query_files import Chart, read_chart
from tracehouse.views.view_files import DefinitionError

TYPES = {
    "bar": "echarts_timeseries_bar",
    "stack": "echarts_timeseries_bar",
    "line": "echarts_timeseries_line",
    "point": "echarts_timeseries_scatter",
    "step": "echarts_timeseries_step",
}
"""Superset's chart type by kind of chart; other kinds are shown as tables."""

MOST_ROWS = 10_000
MOST_MARKED = 200
# Sizes on a dashboard, which is 12 columns wide. The unit of heights is 8 pixels.
WIDE, HALF, HEIGHT = 12, 6, 50
# A column with the names on the x axis, changed so that Superset sorts them in the order of the answer.
IN_ORDER = "names_in_order"
CHARTS_IN_A_ROW = WIDE // HALF


@dataclass(frozen=True)
class Answer:
    """An answer to draw: its name, texts, chart line, row count, and columns with DuckDB types.

    `aggregate` computes an SQL aggregate over its rows. `order` has the names on the x axis if they are not
    sorted as texts; the dataset then has the column IN_ORDER.
    """

    name: str
    title: str
    description: str
    line: str
    rows: int
    columns: Mapping[str, str]
    aggregate: Callable[[str], int]
    order: Sequence[str] = ()


def build_chart(answer: Answer) -> tuple[str, dict[str, Any]]:
    """Superset's chart type for an answer, and its settings."""
    chart = _supported_chart(answer)
    if chart is None:
        return "table", _table(answer)
    is_time = answer.columns[chart.x.column].startswith(("TIMESTAMP", "DATE"))
    x_axis = IN_ORDER if answer.order else chart.x.column
    kind = chart.kind if chart.kind not in ("line", "step") or _is_dense(answer, chart) else "point"
    settings: dict[str, Any] = {
        "x_axis": x_axis,
        "time_grain_sqla": None,
        # x and colour identify a row, so the maximum is the value of this row.
        "metrics": [_metric(chart.y.column, answer.columns[chart.y.column])],
        "groupby": [chart.color] if chart.color else [],
        "adhoc_filters": [],
        "row_limit": MOST_ROWS,
        "order_desc": False,
        "truncate_metric": True,
        "show_empty_columns": True,
        "x_axis_title": axis_title(chart.x.name),
        "x_axis_title_margin": 30,
        "y_axis_title": axis_title(chart.y.name),
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
        # Numbers that name bars are categories.
        "xAxisForceCategorical": not is_time and (kind in ("bar", "stack") or chart.x.is_log),
        "x_axis_sort_asc": True,
        "x_axis_sort": x_axis,
    }
    if kind == "stack":
        settings["stack"] = "Stack"
    if kind in ("line", "point", "step"):
        settings["markerEnabled"] = answer.rows <= MOST_MARKED or kind == "point"
        settings["markerSize"] = 6
    return TYPES[kind], settings


def build_layout(title: str, markdown: str, charts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The layout of a dashboard: a text in full width, then two charts (id and title) per row."""
    # A list item takes two or three lines.
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
    for index in range(0, len(charts), CHARTS_IN_A_ROW):
        block_ids = []
        for identifier, name in charts[index : index + CHARTS_IN_A_ROW]:
            block = f"CHART-{identifier}"
            block_ids.append(block)
            blocks.append(
                {
                    "type": "CHART",
                    "id": block,
                    "children": [],
                    "parents": ["ROOT_ID", "GRID_ID", f"ROW-{index}"],
                    "meta": {
                        "width": HALF,
                        "height": HEIGHT,
                        # Superset replaces this number on import.
                        "chartId": uuid.UUID(identifier).int % 1_000_000_007,
                        "uuid": identifier,
                        "sliceName": name,
                    },
                }
            )
        rows.append(_row(str(index), block_ids))
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


def _supported_chart(answer: Answer) -> Chart | None:
    """The chart of an answer if Superset supports it and it can show the rows, otherwise None."""
    # A single row is clearer as a table.
    if answer.line.split()[0] not in TYPES or answer.rows < 2:
        return None
    try:
        chart = read_chart(answer.line, answer.name)
    except DefinitionError:
        # The file was published by a newer version.
        return None
    if not answer.columns.keys() >= set(chart.columns):
        return None
    if chart.kind == "step" and not _is_dense(answer, chart):
        # The lines share y values, but not x values. With swapped axes, Superset can draw them as lines; its
        # y axis can be logarithmic.
        chart = replace(chart, kind="line", x=chart.y, y=chart.x)
    identifying = ", ".join(f'"{column}"' for column in (chart.x.column, chart.color) if column)
    is_unique = answer.aggregate(f"count(distinct ({identifying}, 0))") == answer.rows
    return chart if is_unique and answer.aggregate(f'count("{chart.y.column}")') else None


def _is_dense(answer: Answer, chart: Chart) -> bool:
    """Whether lines have points at more than half of the x values; Superset breaks lines at missing ones."""
    if not chart.color:
        return True
    x_values, lines = (
        answer.aggregate(f'count(distinct ("{column}", 0))') for column in (chart.x.column, chart.color)
    )
    return 2 * answer.rows > x_values * lines


def _metric(column: str, kind: str) -> dict[str, Any]:
    return {
        "expressionType": "SIMPLE",
        "column": {"column_name": column, "type": kind},
        "aggregate": "MAX",
        "label": axis_title(column),
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

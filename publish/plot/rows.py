"""Select the rows of an answer to draw, as plain values, with remarks on rows that cannot be drawn."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import types

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import read_rows
from tracehouse.publish.columns import exact
from tracehouse.sql.query_files import Chart, read_chart
from tracehouse.views.view_files import DefinitionError

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_S = 86_400
# Columns with times on a trace's own clock, and their units in seconds.
CLOCK_S = {"hour": 3_600, "day": DAY_S, "week": 7 * DAY_S}
# Suffixes of columns with seconds on a trace's own clock.
CLOCK_SUFFIXES = ("_at_s", "_start_s")

# A line with more points than this is drawn by day.
MOST_POINTS = 400
LOW, HIGH = "_low", "_high"
# A mark has few observations if it has less than this share of the observations of the largest mark.
FEW = 0.1
# The largest number of values that a remark lists.
MOST_LISTED = 4
# A capacity is drawn up to this many times the highest drawn value.
MOST_RULE_RATIO = 4

Row = dict[str, Any]


@dataclass(frozen=True)
class Drawable:
    """The rows of a chart.

    `times` are columns of dates or times; `on_clock` are columns of fractional days on a trace's own clock.
    `remarks` are printed in the picture. `traces` are the values of the answer's column `trace`.
    """

    name: str
    title: str
    chart: Chart
    rows: Sequence[Row]
    times: frozenset[str]
    on_clock: frozenset[str]
    remarks: Sequence[str]
    traces: Sequence[str]

    @property
    def series(self) -> list[str]:
        """The names of the lines, bars or groups of points, in the order of the answer; numbers sorted."""
        return _sorted_numbers(self, self.chart.color) or ordered_names(self, self.chart.color)

    @property
    def has_several_clocks(self) -> bool:
        """Whether the x axis is the time of each trace's own clock, which traces do not share."""
        column = self.chart.x.column
        by_trace = self.chart.facet in ("trace", "trace_cluster")
        return by_trace and column in self.on_clock and not self.is_category(column)

    def is_category(self, column: str) -> bool:
        """Whether a column is drawn as categories instead of numbers on a scale."""
        chart = self.chart
        if chart.kind == "heat":
            return column != chart.color
        if column in chart.heights or (chart.kind == "lorenz" and column == chart.x.column):
            return False
        if column in (chart.color, chart.facet) or chart.kind in ("bar", "stack", "box"):
            return True
        if column in self.times:
            return any(row[column] is None for row in self.rows)
        return any(isinstance(row[column], str | bool | None) for row in self.rows)


def select_drawable(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Drawable:
    """Run a named query and select the rows to draw.

    Raises UserError if there is nothing to draw, or only a single number.
    """
    sql = "select title, chart from catalog.queries where query_name = $name and chart != ''"
    for found in read_rows(connection, sql, name=query.name):
        chart = read_chart(found["chart"], query.name)
        return select_rows(read(connection, query).read_all(), chart, query.name, found["title"])
    # A view or base table has no chart either.
    raise UserError(f"{query.name} has no chart")


def select_rows(answer: pa.Table, chart: Chart, name: str, title: str) -> Drawable:
    """Select the rows of an answer to draw. Raises the same errors as `select_drawable`."""
    _check(chart, answer.schema, name)
    kinds = {column: answer.schema.field(column).type for column in chart.columns}
    times = frozenset(column for column, kind in kinds.items() if types.is_temporal(kind))
    # The zero of a trace's own clock has no calendar date.
    on_clock = frozenset(
        column for column in {*kinds} - times if column in CLOCK_S or column.endswith(CLOCK_SUFFIXES)
    )
    everything = answer.to_pylist()
    placed, remarks = _without_unplaced(everything, chart)
    rows = [{column: _plain(column, row[column], on_clock) for column in chart.columns} for row in placed]
    if not rows:
        raise UserError(f"{name}: nothing to plot, the answer has no {chart.heights[0]}")
    if len(rows) == 1 and chart.kind != "box":
        single = f"{chart.heights[0]} = {rows[0][chart.heights[0]]}"
        raise UserError(f"{name}: cannot plot a single number ({single})")
    if chart.kind == "heat" and not any(row[chart.color] for row in rows):
        raise UserError(f"{name}: nothing to plot, every {chart.color} is 0")
    if chart.count:
        remarks.append(_describe_counts(everything, chart))
    if chart.kind == "line" and chart.x.column in times | on_clock and (daily := _by_day(rows, chart)):
        rows, chart = daily, replace(chart, band=(LOW, HIGH))
        remarks.append("line: mean of each day; band: its lowest and highest value")
    if chart.rule:
        remarks += _drop_far_rules(rows, chart)
    traces = list(dict.fromkeys(row["trace"] for row in everything if row.get("trace")))
    return Drawable(name, chart.title or title, chart, rows, times, on_clock, remarks, traces)


def distinct_names(rows: Sequence[Row], column: str) -> list[str]:
    """The distinct values of a column as names, in the order of the answer."""
    return list(dict.fromkeys(exact(row[column]) for row in rows)) if column else []


def ordered_names(drawable: Drawable, column: str) -> list[str]:
    """The distinct values of a column as names, in the order in which the query returns them.

    If a series lacks some names, the order is merged from all series. Numbers on the axes of a heat map
    are in numerical order.
    """
    is_heat = drawable.chart.kind == "heat"
    if is_heat and (numbers := _sorted_numbers(drawable, column)):
        return numbers
    found = distinct_names(drawable.rows, column)
    # The colour of a heat map is a number, not a series.
    by = [drawable.chart.facet] if is_heat else [drawable.chart.facet, drawable.chart.color]
    series: dict[tuple, list[str]] = {}
    for row in drawable.rows if column else ():
        series.setdefault(tuple(row[key] for key in by if key and key != column), []).append(
            exact(row[column])
        )
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(found, ()))
    orders = [list(dict.fromkeys(order)) for order in series.values()]
    if all(order == [name for name in found if name in order] for order in orders):
        return found
    for before, after in (pair for order in orders for pair in pairwise(order)):
        sorter.add(after, before)
    try:
        return list(sorter.static_order())
    except CycleError:
        return found


def _sorted_numbers(drawable: Drawable, column: str) -> list[str]:
    """The names of a column's values in numerical order; empty if one of them is not a number."""
    values = {row[column] for row in drawable.rows} if column else set()
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return [exact(value) for value in sorted(values)] if are_numbers else []


def _check(chart: Chart, answer: pa.Schema, name: str) -> None:
    """Raise DefinitionError if the answer lacks a column of the chart, or if a scale has no numbers."""
    for column in [*chart.columns, *([chart.count] if chart.count else [])]:
        if column not in answer.names:
            raise DefinitionError(f"{name}: its chart has the column {column}, which its answer lacks")
    scales = [chart.color] if chart.kind == "heat" else chart.heights
    for column in [*scales, *([chart.x.column] if chart.x.is_log or chart.kind == "lorenz" else [])]:
        kind = answer.field(column).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            raise DefinitionError(
                f"{name}: its chart has a scale of {column}, which is {kind} and not a number"
            )


def _without_unplaced(answer: Sequence[Row], chart: Chart) -> tuple[list[Row], list[str]]:
    """The rows that can be drawn, and remarks on rows that a logarithmic axis cannot show."""
    needed = [chart.color] if chart.kind == "heat" else [c for c in chart.heights if c != chart.rule]
    rows = [row for row in answer if all(row[column] is not None for column in needed)]
    remarks = []
    # Boxes keep all rows, because their scale includes 0.
    for column in [axis.column for axis in (chart.x, chart.y) if axis.is_log and chart.kind != "box"]:
        placed = [row for row in rows if row[column] is not None and row[column] > 0]
        if len(placed) < len(rows):
            remarks.append(f"without {column} of 0: its axis is logarithmic")
        rows = placed
    return rows, remarks


def _drop_far_rules(rows: list[Row], chart: Chart) -> list[str]:
    """Remove rules far above the values of their panel, which would look like 0. Returns a remark."""
    panels: dict[Any, list[Row]] = {}
    for row in rows:
        panels.setdefault(row.get(chart.facet), []).append(row)
    far: set[float] = set()
    for panel in panels.values():
        highest = max(row[chart.y.column] for row in panel)
        rules = {row[chart.rule] for row in panel if row[chart.rule] is not None}
        if rules and min(rules) > MOST_RULE_RATIO * highest:
            far |= rules
            for row in panel:
                row[chart.rule] = None
    listed = [f"{value:g}" for value in sorted(far)]
    shown = ", ".join(listed) if len(listed) <= MOST_LISTED else f"{listed[0]} to {listed[-1]}"
    return [f"not shown because far above the data: {chart.rule} of {shown}"] if far else []


def _describe_counts(rows: Sequence[Row], chart: Chart) -> str:
    """A remark on the numbers of observations of the marks, and on marks with few observations."""
    counts = {exact(row[chart.x.column]): row[chart.count] for row in rows if row[chart.count]}
    most = max(counts.values(), default=0)
    few = [name for name, count in counts.items() if count < FEW * most]
    text = f"{chart.count.replace('_', ' ')} behind a mark: {min(counts.values(), default=0):,} to {most:,}"
    return f"{text}; few at {chart.x.column.replace('_', ' ')} {', '.join(few)}" if few else text


def _by_day(rows: list[Row], chart: Chart) -> list[Row]:
    """The means, lowest and highest values of each day, if lines have too many points; else no rows."""
    days: dict[tuple, list[Row]] = {}
    for row in rows:
        moment = row[chart.x.column]
        # The middle of a day of a trace's own clock.
        day = moment[:10] if isinstance(moment, str) else math.floor(moment) + 0.5
        days.setdefault((row.get(chart.facet), row.get(chart.color), day), []).append(row)
    lines = {(facet, color) for facet, color, _ in days}
    if len(rows) <= MOST_POINTS * len(lines) or len(days) * 2 > len(rows):
        return []
    joined = []
    for (*_, day), parts in days.items():
        heights = [row[chart.y.column] for row in parts]
        ends = {chart.x.column: day, LOW: min(heights), HIGH: max(heights)}
        joined.append(parts[0] | {column: _mean(parts, column) for column in chart.heights} | ends)
    return joined


def _mean(rows: Sequence[Row], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return sum(known) / len(known) if known else None


def _plain(column: str, value: Any, on_clock: frozenset[str]) -> Any:
    """Convert a value for JSON: times on a trace's clock to days, numbers of weekdays to names."""
    if isinstance(value, Decimal):
        value = float(value)
    if value is not None and column in on_clock:
        return value * CLOCK_S.get(column, 1) / DAY_S
    if column == "weekday" and value in range(1, 8):
        return WEEKDAYS[value - 1]
    return value.isoformat() if isinstance(value, dt.date) else value

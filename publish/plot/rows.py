"""Select the rows of an answer to draw, as plain values, with remarks on rows that cannot be drawn.

One SQL statement selects them from the relation `answer`: here for pictures, and in the browser for pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import types

from tracehouse.core.errors import UserError
from tracehouse.core.text import identifier
from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import read_rows
from tracehouse.publish.columns import exact
from tracehouse.publish.plot.options import DEFAULT, ChartOptions, choose_chart
from tracehouse.sql.query_files import Chart, read_chart
from tracehouse.views.view_files import DefinitionError

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_S = 86_400
# Columns with times on a trace's own clock, and their units in seconds.
CLOCK_S = {"hour": 3_600, "day": DAY_S, "week": 7 * DAY_S}
# Suffixes of columns with seconds on a trace's own clock.
CLOCK_SUFFIXES = ("_at_s", "_start_s")

# Units for times on a trace's own clock up to a number of seconds, in seconds and by name; others are days.
CLOCK_UNITS = ((60, "minutes", 3 * 3_600), (3_600, "hours", 3 * DAY_S))

# If lines have more points than this, those that span at least so many days are drawn by day.
MOST_POINTS, FEWEST_DAYS = 400, 8
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

    `times` are columns of dates or times; `on_clock` are columns of times on a trace's own clock, in the unit
    `clock_unit`. `remarks` are printed in the picture. `traces` are the values of the answer's column
    `trace`. `sql` selects the rows from the relation `answer`.
    """

    name: str
    title: str
    chart: Chart
    rows: Sequence[Row]
    times: frozenset[str]
    on_clock: frozenset[str]
    clock_unit: str
    remarks: Sequence[str]
    traces: Sequence[str]
    sql: str

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


def select_drawable(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, options: ChartOptions = DEFAULT
) -> Drawable:
    """Run a query and select the rows to draw.

    Raises UserError if there is nothing to draw, or only a single number, and UsageError if an option is not
    valid.
    """
    sql = "select title, chart from catalog.queries where query_name = $name"
    found = next(iter(read_rows(connection, sql, name=query.name)), {"title": "", "chart": ""})
    chart = read_chart(found["chart"], query.name) if found["chart"] else None
    if query.name and chart is None and not options.has_columns:
        # A view or base table has no chart either.
        raise UserError(f"{query.name} has no chart. Choose columns with --x and --y")
    answer = read(connection, query).read_all()
    chart = choose_chart(chart, answer, options)
    return select_rows(answer, chart, query.name, found["title"])


def select_rows(answer: pa.Table, chart: Chart, name: str, title: str) -> Drawable:
    """Select the rows of an answer to draw. Raises the same errors as `select_drawable`."""
    _check(chart, answer.schema, name)
    kinds = {column: answer.schema.field(column).type for column in chart.columns}
    times = frozenset(column for column, kind in kinds.items() if types.is_temporal(kind))
    # The zero of a trace's own clock has no calendar date.
    on_clock = frozenset(
        column for column in {*kinds} - times if column in CLOCK_S or column.endswith(CLOCK_SUFFIXES)
    )
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'; set threads = 1")
        connection.register("answer", answer)
        conditions, remarks = _place(connection, chart)
        unit_s, unit = _choose_unit(connection, on_clock)
        values = [
            f"{_plain(one, kind, on_clock, unit_s)} as {identifier(one)}" for one, kind in kinds.items()
        ]
        placed = f"""
            with placed as (
                select {", ".join(values)}, row_number() over () as _row
                from answer where {" and ".join(conditions)}
            )
        """
        if chart.count:
            remarks.append(_describe_counts(answer, chart))
        daily = ""
        has_days = chart.x.column in times or (chart.x.column in on_clock and unit_s == DAY_S)
        if chart.kind == "line" and has_days:
            daily, joined = _join_days(connection, placed, chart, is_text=chart.x.column in times)
            remarks += joined
        if daily:
            chart = replace(chart, band=(LOW, HIGH))
        sql = f"{placed}, drawn as ({daily or 'from placed'})"
        sql += " select * exclude (_row) from drawn order by _row"
        if chart.rule:
            sql, hidden = _hide_far_rules(connection, sql, chart)
            remarks += hidden
        result = connection.execute(sql)
        names = [column for column, *_ in result.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    if not rows:
        raise UserError(f"{name}: nothing to plot, the answer has no {chart.heights[0]}")
    if len(rows) == 1 and chart.kind != "box" and not daily:
        single = f"{chart.heights[0]} = {rows[0][chart.heights[0]]}"
        raise UserError(f"{name}: cannot plot a single number ({single})")
    if chart.kind == "heat" and not any(row[chart.color] for row in rows):
        raise UserError(f"{name}: nothing to plot, every {chart.color} is 0")
    found = answer["trace"].to_pylist() if "trace" in answer.column_names else []
    traces = list(dict.fromkeys(trace for trace in found if trace))
    return Drawable(name, chart.title or title, chart, rows, times, on_clock, unit, remarks, traces, sql)


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
            raise DefinitionError(name, f"its chart has the column {column}, which its answer lacks")
    scales = [chart.color] if chart.kind == "heat" else chart.heights
    for column in [*scales, *([chart.x.column] if chart.x.is_log or chart.kind == "lorenz" else [])]:
        kind = answer.field(column).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            raise DefinitionError(
                name, f"its chart has a scale of {column}, which is {kind} and not a number"
            )


def _place(connection: duckdb.DuckDBPyConnection, chart: Chart) -> tuple[list[str], list[str]]:
    """The conditions on rows that can be drawn, and remarks on rows that a logarithmic axis cannot show."""
    needed = [chart.color] if chart.kind == "heat" else [c for c in chart.heights if c != chart.rule]
    conditions = [f"{identifier(column)} is not null" for column in needed]
    remarks = []
    # Boxes keep all rows, because their scale includes 0.
    for column in [axis.column for axis in (chart.x, chart.y) if axis.is_log and chart.kind != "box"]:
        is_positive = f"coalesce({identifier(column)} > 0, false)"
        others = f"select count(*) from answer where {' and '.join(conditions)} and not {is_positive}"
        if connection.execute(others).fetchall() != [(0,)]:
            remarks.append(f"without {column} of 0: its axis is logarithmic")
        conditions.append(is_positive)
    return conditions, remarks


def _choose_unit(connection: duckdb.DuckDBPyConnection, on_clock: frozenset[str]) -> tuple[int, str]:
    """The unit for times on a trace's own clock, in seconds and as a name."""
    latest = [f"max({identifier(column)}) * {CLOCK_S.get(column, 1)}" for column in sorted(on_clock)]
    [found] = connection.execute(f"select {', '.join(['max(0)', *latest])} from answer").fetchall()
    last_s = max((seconds for seconds in found if seconds is not None), default=0)
    fitting = ((unit_s, unit) for unit_s, unit, most_s in CLOCK_UNITS if on_clock and last_s <= most_s)
    return next(fitting, (DAY_S, "days"))


def _plain(column: str, kind: pa.DataType, on_clock: frozenset[str], unit_s: int) -> str:
    """The SQL of a value for JSON: times on a trace's clock in a unit, numbers of weekdays as names."""
    value = identifier(column)
    if column in on_clock:
        return f"cast({value} as double) * {CLOCK_S.get(column, 1)} / {unit_s}"
    if column == "weekday" and types.is_integer(kind):
        return f"coalesce({list(WEEKDAYS)}[{value}], cast({value} as varchar))"
    if types.is_date(kind):
        return f"cast({value} as varchar)"
    if types.is_temporal(kind):
        # DuckDB writes instants in UTC, with or without the offset +00.
        return f"replace(replace(cast({value} as varchar), ' ', 'T'), '+00', '') || 'Z'"
    return f"cast({value} as double)" if types.is_decimal(kind) else value


def _join_days(
    connection: duckdb.DuckDBPyConnection, placed: str, chart: Chart, is_text: bool
) -> tuple[str, list[str]]:
    """The SQL of the means, lowest and highest values of each day, if lines have too many points; a remark.

    Lines of a few days keep their points.
    """
    x, y = identifier(chart.x.column), identifier(chart.y.column)
    # The middle of a day of a trace's own clock.
    day = f"left({x}, 10)" if is_text else f"floor({x}) + 0.5"
    number = f"try_cast({day} as date)" if is_text else day
    by = [identifier(column) for column in (chart.facet, chart.color) if column]
    line = ", ".join(["0", *by])
    span = f"max({number}) over (partition by {line}) - min({number}) over (partition by {line}) + 1"
    measured = f"measured as (select *, {span} >= {FEWEST_DAYS} as _is_long from placed)"
    counts = f"count(*), count(distinct row({line})), count(distinct row({line}, {day}))"
    [(points, lines, days, any_long, all_long)] = connection.execute(
        f"{placed}, {measured} select {counts}, bool_or(_is_long), bool_and(_is_long) from measured"
    ).fetchall()
    if points <= MOST_POINTS * lines or days * 2 > points or not any_long:
        return "", []
    shown = f"if(_is_long, {day}, {x}) as {x}"
    means = [f"avg({identifier(column)}) as {identifier(column)}" for column in chart.heights]
    ends = f"min({y}) as {LOW}, max({y}) as {HIGH}, min(_row) as _row"
    columns = ", ".join([shown, *by, *means, ends])
    drawn = "line" if all_long else "long lines"
    remark = f"{drawn}: mean of each day; band: its lowest and highest value"
    return f"with {measured} select {columns} from measured group by all", [remark]


def _hide_far_rules(connection: duckdb.DuckDBPyConnection, sql: str, chart: Chart) -> tuple[str, list[str]]:
    """Hide rules far above the values of their panel, which would look like 0. Returns SQL and a remark."""
    rule, y = identifier(chart.rule), identifier(chart.y.column)
    panel = f"over ({f'partition by {identifier(chart.facet)}' if chart.facet else ''})"
    is_far = f"coalesce(min({rule}) {panel} > {MOST_RULE_RATIO} * max({y}) {panel}, false)"
    far = f"select distinct {rule} from (select *, {is_far} as is_far from ({sql})) where is_far order by all"
    listed = [f"{value:g}" for (value,) in connection.execute(far).fetchall() if value is not None]
    shown = ", ".join(listed) if len(listed) <= MOST_LISTED else f"{listed[0]} to {listed[-1]}"
    remarks = [f"not shown because far above the data: {chart.rule} of {shown}"] if listed else []
    hidden = f"exclude (_row) replace (if({is_far}, null, {rule}) as {rule})"
    return sql.replace("exclude (_row)", hidden), remarks


def _describe_counts(answer: pa.Table, chart: Chart) -> str:
    """A remark on the numbers of observations of the marks, and on marks with few observations."""
    pairs = zip(answer[chart.x.column].to_pylist(), answer[chart.count].to_pylist(), strict=True)
    counts = {exact(value): count for value, count in pairs if count}
    most = max(counts.values(), default=0)
    few = [name for name, count in counts.items() if count < FEW * most]
    text = f"{chart.count.replace('_', ' ')} behind a mark: {min(counts.values(), default=0):,} to {most:,}"
    return f"{text}; few at {chart.x.column.replace('_', ' ')} {', '.join(few)}" if few else text

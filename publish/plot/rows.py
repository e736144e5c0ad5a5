"""Select the rows of an answer to draw, as plain values, with remarks on what a chart leaves out.

One SQL statement selects them from the relation `answer`: here for pictures, and in the browser for pages.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import types

from tracehouse.core.errors import Option, Part, UserError
from tracehouse.core.text import identifier, join_names, quoted
from tracehouse.definitions.query_files import Axis, Chart, read_chart
from tracehouse.definitions.view_files import DefinitionError
from tracehouse.engines.duckdb.read.answer import Answer, read, why_empty
from tracehouse.engines.duckdb.read.catalog import read_rows
from tracehouse.engines.duckdb.read.notes import NOT_COUNTED
from tracehouse.publish.columns import format_exact
from tracehouse.publish.plot.options import DEFAULT, ChartOptions, choose_chart, is_number
from tracehouse.publish.plot.units import axis_title, number, span, split_name

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_S = 86_400
# Columns with times on a trace's own clock, and their units in seconds.
CLOCK_S = {"hour": 3_600, "day": DAY_S, "week": 7 * DAY_S}
# Suffixes of columns with seconds on a trace's own clock.
CLOCK_SUFFIXES = ("_at_s", "_start_s")

# Units for times on a trace's own clock up to a number of seconds, in seconds and by name; others are days.
CLOCK_UNITS = ((60, "minutes", 3 * 3_600), (3_600, "hours", 3 * DAY_S))
# In place of the unit, if panels have different ones.
IN_HEADING = "unit in the heading"
# Days of a trace's own clock from this one on count from 1970: they are dates. No trace lasts 27 years.
FIRST_DAY_OF_DATES = 10_000
# A panel has hours up to this one if another panel lasts less than three days.
MOST_HOURS = 1_000

# If lines have more points than this, those that span at least so many days are drawn by day.
MOST_POINTS, FEWEST_DAYS = 400, 8
LOW, HIGH = "_low", "_high"
# A mark has few observations if it has less than this share of the observations of the largest mark.
FEW = 0.1
# Larger units of columns: from which highest value on, how much one is, and the suffix of its name.
LARGER_UNITS = {
    "s": ((10_000, 3_600, "h"),),
    "ms": ((10_000, 1_000, "s"),),
    "j": ((2e9, 1e9, "gj"), (2e6, 1e6, "mj"), (1e4, 1e3, "kj")),
    "gb": ((10_000, 1_000, "tb"),),
}
# An axis of points, curves or boxes whose values differ at least by this factor is logarithmic.
LOG_RATIO = 100
# A number or a band of numbers: 8, 1,024, below 1, 2 to 7, 2-4, 9+, 64 or more, 5 to 8 GPUs.
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
BAND = (
    rf"^(below |under |up to |<=? ?|≤ ?)?({NUMBER})(?: ?(?:to|-|–) ?{NUMBER}|\+| (?:or|and) more)?(?: \w+)?$"
)
# The band of jobs without a GPU, which comes first.
NO_GPU = "no GPU"
# The labels of values that are not texts, and of resources.
NAMES = {"NULL": "not stated", "true": "yes", "false": "no", "cpu": "CPU", "gpu": "GPU"}
# A capacity is drawn up to this many times the highest drawn value.
MOST_RULE_RATIO = 4
# Panels share an axis if the highest value of one is at most this many times that of another.
MOST_PANEL_RATIO = 3
# What the only value replaces in the reason why it has no chart.
VALUE = "{value}"

Row = dict[str, Any]


class NoChartError(UserError):
    """The rows of an answer cannot be drawn. `reason` and `cause` are clauses without a full stop."""

    def __init__(self, *reason: Part, cause: str = ""):
        super().__init__(*reason)
        self.reason, self.cause = "".join(map(str, reason)), cause

    @property
    def parts(self) -> Sequence[Part]:
        return "No chart, because ", *self.args, f": {self.cause}." if self.cause else "."


@dataclass(frozen=True)
class ChartData:
    """The rows of a chart.

    `times` are columns of dates or times; `on_clock` are columns of times on a trace's own clock, in the unit
    `clock_unit`. `remarks` are printed in the picture: what it leaves out, and at most one more. So is
    `daily`, if lines show the means of days. `traces` are the values of the answer's column `trace`. `sql`
    selects the rows from the relation `answer`. `reads` are the tables, views and queries that the answer was
    computed from directly.
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
    daily: str = ""
    reads: frozenset[str] = frozenset()

    @property
    def series(self) -> list[str]:
        """The names of the lines, bars or groups of points, in the order of `ordered_names`."""
        return ordered_names(self, self.chart.color)

    @property
    def has_several_clocks(self) -> bool:
        """Whether the x axis is the time of each trace's own clock, which traces do not share."""
        column = self.chart.x.column
        return (
            self.chart.facet.startswith("trace") and column in self.on_clock and not self.is_category(column)
        )

    @property
    def is_grouped(self) -> bool:
        """Whether any name on the x axis has bars or points of several colours."""
        chart = self.chart
        positions = [(row[chart.x.column], row.get(chart.facet)) for row in self.rows]
        has_groups = chart.kind in ("bar", "point") and self.is_category(chart.x.column)
        return has_groups and bool(chart.color) and len(set(positions)) < len(positions)

    @property
    def single_values(self) -> list[Row]:
        """The only row of each series of a panel that has no other."""
        series = [(row.get(self.chart.facet), row.get(self.chart.color)) for row in self.rows]
        lengths = Counter(series)
        return [row for row, one in zip(self.rows, series, strict=True) if lengths[one] == 1]

    @property
    def shares_y(self) -> bool:
        """Whether panels share the y axis: those of percentages, bars, heat maps and logarithmic axes.

        Panels of other values share it if their values are of similar size. Otherwise small clusters would be
        invisible next to large ones.
        """
        chart = self.chart
        is_share = all(column.endswith("_pct") for column in chart.heights)
        if is_share or chart.y.is_log or chart.kind in ("bar", "stack", "heat"):
            return True
        highest: dict[Any, float] = {}
        for row in self.rows:
            panel = row.get(chart.facet)
            highest[panel] = max(highest.get(panel, 0), *(row[column] or 0 for column in chart.heights))
        return max(highest.values()) <= MOST_PANEL_RATIO * min(highest.values())

    @property
    def has_percentages(self) -> bool:
        """Whether the y axis has the unit %."""
        return split_name(self.chart.y.name)[1] == "%"

    @property
    def adds_up_to_100(self) -> bool:
        """Whether the highest stack is 100 % up to rounding. A sum just above 100 would add a tick at 110."""
        chart = self.chart
        if chart.kind != "stack" or not self.has_percentages:
            return False
        heights: dict[tuple[Any, Any], float] = {}
        for row in self.rows:
            bar = row[chart.x.column], row.get(chart.facet)
            heights[bar] = heights.get(bar, 0) + row[chart.y.column]
        return math.isclose(max(heights.values()), 100)

    @property
    def exceeds_100_pct(self) -> bool:
        """Whether bars of percentages are on both sides of 100 %."""
        y = self.chart.y.column
        heights = [row[y] for row in self.rows] if self.chart.kind == "bar" and y.endswith("_pct") else [0]
        return not self.chart.rule and min(heights) < 100 < max(heights)

    @property
    def has_missing_bars(self) -> bool:
        """Whether groups of bars lack a colour."""
        names = distinct_names(self.rows, self.chart.x.column)
        is_complete = len(self.rows) == len(names) * len(self.series)
        return self.chart.kind == "bar" and self.is_grouped and not self.chart.facet and not is_complete

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


def select_chart_data(answer: Answer, options: ChartOptions = DEFAULT) -> ChartData:
    """Compute an answer and select the rows to draw.

    Raises UserError if there is nothing to draw, or only a single number, and UsageError if an option is not
    valid.
    """
    connection, query = answer.connection, answer.query
    sql = "select chart from catalog.queries where query_name = $name"
    lines = [row["chart"] for row in read_rows(connection, sql, name=query.name)]
    chart = read_chart(lines[0], query.name) if any(lines) else None
    if query.name and chart is None and not options.has_columns:
        # A view or base table, which may be large, has no chart either.
        rows = read(connection, query).read_all().num_rows if lines else None
        if rows in (0, 1):
            raise NoChartError("the answer is a single row" if rows else "there are no rows")
        raise UserError(f"{query.name} has no chart. Choose columns with ", Option("x"), " and ", Option("y"))
    table = read(connection, query).read_all()
    if not table.num_rows:
        left_out = [f"{note.label}: {note.text}" for note in answer.notes if note.name == NOT_COUNTED]
        causes = [*(note.text for note in why_empty(answer)), *left_out]
        raise NoChartError("there are no rows", cause=". ".join(causes))
    return select_rows(table, choose_chart(chart, table, options), query.name)


def select_rows(answer: pa.Table, chart: Chart, name: str) -> ChartData:
    """Select the rows of an answer to draw. Raises the same errors as `select_chart_data`."""
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
        scales = {column for column, kind in kinds.items() if is_number(kind)} - on_clock
        chart = _choose_logs(connection, chart, scales)
        chart, factors = _choose_units(connection, chart, scales)
        conditions, left_out = _filter_rows(connection, chart)
        unit_s, unit, unit_of_panel = _choose_unit(connection, on_clock, chart.facet)
        divisors = {column: repr(factor) for column, factor in factors.items()}
        divisors |= {column: f"({unit_s} / {CLOCK_S.get(column, 1)})" for column in on_clock}
        values = [
            f"{_plain(one, kind, divisors.get(one, ''))} as {identifier(one)}" for one, kind in kinds.items()
        ]
        values += [_join_names(name, unit_of_panel * (name == chart.facet)) for name in chart.joined]
        placed = f"""
            with placed as (
                select {", ".join(values)}, _row
                from (select *, row_number() over () as _row from answer) as answer
                where {" and ".join(conditions)}
            )
        """
        by_day, daily = "", ""
        has_days = chart.x.column in times or (chart.x.column in on_clock and unit == "days")
        if chart.kind == "line" and has_days:
            by_day, daily = _join_days(connection, placed, chart, is_text=chart.x.column in times)
        if by_day:
            chart = replace(chart, band=(LOW, HIGH))
        sql = f"{placed}, drawn as ({by_day or 'from placed'})"
        sql += " select * exclude (_row) from drawn order by _row"
        more = ""
        if chart.rule:
            sql, more = _hide_far_rules(connection, sql, chart)
        result = connection.execute(sql)
        names = [column for column, *_ in result.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    _check_rows(rows, chart, not answer.num_rows)
    # A missing line matters more than the number of observations.
    if not more and chart.count and chart.kind != "stack":
        more = _describe_counts(rows, chart)
    remarks = [text for text in (*left_out, _describe_missing(answer, rows, chart), more) if text]
    found = answer["trace"].to_pylist() if "trace" in answer.column_names else []
    traces = list(dict.fromkeys(trace for trace in found if trace))
    return ChartData(name, chart.title, chart, rows, times, on_clock, unit, remarks, traces, sql, daily)


def _join_names(name: str, unit: str) -> str:
    """The SQL of a name made of several columns, without those that are NULL, and the SQL of a unit."""
    parts = ", ".join(f"cast({identifier(column)} as varchar)" for column in name.split("+"))
    return f"concat_ws(', ', concat_ws(' ', {parts}), {unit or 'null'}) as {identifier(name)}"


def _panel_columns(facet: str) -> list[str]:
    """The columns of the answer that distinguish the panels of a chart, as SQL."""
    return [identifier(column) for column in facet.split("+") if column]


def explain_few_rows(chart: Chart) -> dict[str, Any]:
    """Why answers have no chart: without rows, without rows to draw, and, except for boxes, with one of them.

    VALUE is in place of the value that the row has in the column `height`.
    """
    height = chart.color if chart.kind == "heat" else chart.heights[0]
    title = axis_title(chart.color if chart.kind == "heat" else chart.y.name)
    refused = ["there are no rows", f"no row has a value of {title}"]
    if chart.kind != "box":
        refused.append(f"the answer is a single number: {title} is {VALUE}")
    return {"height": height, "refused": refused}


def _check_rows(rows: Sequence[Row], chart: Chart, is_empty: bool) -> None:
    """Raise NoChartError if there are no rows to draw, only one, or several at one place."""
    few = explain_few_rows(chart)
    height, refused = few["height"], few["refused"]
    place = 0 if is_empty else len(rows) + 1
    if place < len(refused):
        value = number(rows[0][height]) if rows else ""
        raise NoChartError(refused[place].replace(VALUE, value))
    if chart.kind == "heat" and not any(row[height] for row in rows):
        raise NoChartError(f"{axis_title(height)} is 0 in all rows")
    if chart.kind in ("bar", "line", "box"):
        places = [tuple(row.get(one) for one in (chart.x.column, chart.color, chart.facet)) for row in rows]
        if len(set(places)) < len(places):
            raise NoChartError(
                f"several rows have the same {axis_title(chart.x.name)}. "
                "Choose a column that distinguishes them with ",
                *(Option("color"), ", or ", Option("kind")),
                " point",
            )


def distinct_names(rows: Sequence[Row], column: str) -> list[str]:
    """The distinct values of a column as names, in the order of the answer."""
    return list(dict.fromkeys(format_exact(row[column]) for row in rows)) if column else []


def ordered_names(data: ChartData, column: str) -> list[str]:
    """The distinct values of a column as names, in the order in which the query returns them.

    If a series lacks some names, the order is merged from all series. Numbers and bands of numbers, such as
    `2 to 7`, are in numerical order. A value that is not stated is the last.
    """
    return sorted(_ordered_names(data, column), key=lambda name: name == "NULL")


def _ordered_names(data: ChartData, column: str) -> list[str]:
    is_heat = data.chart.kind == "heat"
    found = distinct_names(data.rows, column)
    if has_bands(found):
        bands = {name: re.match(BAND, name) for name in found if name not in ("NULL", NO_GPU)}
        return sorted(found, key=lambda name: (name != NO_GPU, _start_of_band(bands.get(name))))
    # The colour of a heat map is a number, not a series.
    by = [data.chart.facet] if is_heat else [data.chart.facet, data.chart.color]
    series: dict[tuple, list[str]] = {}
    for row in data.rows if column else ():
        series.setdefault(tuple(row[key] for key in by if key and key != column), []).append(
            format_exact(row[column])
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


def has_bands(names: Sequence[str]) -> bool:
    """Whether all names are numbers or bands of numbers."""
    return all(re.match(BAND, name) for name in names if name not in ("NULL", NO_GPU))


def _start_of_band(band: re.Match[str] | None) -> tuple[float, bool]:
    """What bands are ordered by: `below 1` comes before 1. NULL is not a band, and is the last."""
    return (float(band[2].replace(",", "")), not band[1]) if band else (math.inf, True)


def _check(chart: Chart, answer: pa.Schema, name: str) -> None:
    """Raise DefinitionError if the answer lacks a column of the chart, or if a scale has no numbers."""
    for column in [*chart.columns, *([chart.count] if chart.count else [])]:
        if column not in answer.names:
            raise DefinitionError(name, f"its chart has the column {column}, which its answer lacks")
    scales = [chart.color] if chart.kind == "heat" else chart.heights
    for column in [*scales, *([chart.x.column] if chart.x.is_log or chart.kind == "lorenz" else [])]:
        kind = answer.field(column).type
        if not is_number(kind):
            raise DefinitionError(
                name, f"its chart has a scale of {column}, which is {kind} and not a number"
            )


def _values(connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> tuple[float, float, float]:
    """The lowest, the lowest positive and the highest value of columns of the answer, 0 if there is none."""
    selected = [f"select cast({identifier(column)} as double) as v from answer" for column in columns]
    sql = "select min(v), min(v) filter (where v > 0), max(v) filter (where isfinite(v))"
    [found] = connection.execute(f"{sql} from ({' union all '.join(selected)})").fetchall()
    lowest, positive, highest = (value or 0 for value in found)
    return lowest, positive, highest


def _drawn(chart: Chart, axis: Axis) -> list[str]:
    return [*chart.heights, *chart.band] if axis is chart.y else [axis.column]


def _choose_logs(connection: duckdb.DuckDBPyConnection, chart: Chart, scales: Collection[str]) -> Chart:
    """The chart with logarithmic axes where values of points, curves or boxes differ by LOG_RATIO or more."""
    if chart.kind not in ("point", "box", "step"):
        return chart
    axes = []
    for axis in (chart.x, chart.y):
        columns = _drawn(chart, axis)
        is_wide = False
        if {*columns} <= {*scales} and not axis.column.endswith("_pct") and axis.column != "percentile":
            lowest, positive, highest = _values(connection, columns)
            # Boxes may start at 0; points at 0 would be lost.
            is_complete = lowest > 0 or (lowest == 0 and chart.kind == "box")
            is_wide = is_complete and positive > 0 and highest >= LOG_RATIO * positive
        axes.append(replace(axis, is_log=axis.is_log or is_wide))
    return replace(chart, x=axes[0], y=axes[1])


def _choose_units(
    connection: duckdb.DuckDBPyConnection, chart: Chart, scales: Collection[str]
) -> tuple[Chart, dict[str, float]]:
    """The chart with larger units, such as hours in place of 20,000 s, and what to divide each column by.

    Logarithmic axes of seconds keep them, because their ticks are seconds, minutes, hours and days.
    """
    factors: dict[str, float] = {}
    axes = []
    for axis in (chart.x, chart.y):
        suffix, columns = axis.column.rpartition("_")[2], _drawn(chart, axis)
        is_category = axis is chart.x and chart.kind in ("bar", "stack", "box", "heat")
        is_fixed = is_category or (suffix == "s" and axis.is_log) or not {*columns} <= {*scales}
        steps = () if is_fixed or not axis.name.endswith(suffix) else LARGER_UNITS.get(suffix, ())
        highest = _values(connection, columns)[2] if steps else 0
        for at_least, factor, larger in steps:
            if highest >= at_least:
                factors |= dict.fromkeys(columns, factor)
                axis = replace(axis, name=axis.name.removesuffix(suffix) + larger)
                break
        axes.append(axis)
    return replace(chart, x=axes[0], y=axes[1]), factors


def _filter_rows(connection: duckdb.DuckDBPyConnection, chart: Chart) -> tuple[list[str], list[str]]:
    """The conditions on rows that are drawn, and remarks on those that are not."""
    needed = [chart.color] if chart.kind == "heat" else [c for c in chart.heights if c != chart.rule]
    conditions = [f"{identifier(column)} is not null" for column in needed]
    remarks = []
    # Boxes keep all rows, because their scale includes 0.
    for axis in [axis for axis in (chart.x, chart.y) if axis.is_log and chart.kind != "box"]:
        if _values(connection, [axis.column])[0] <= 0:
            words, unit = split_name(axis.name)
            zero = f"{words} of 0 {unit}".strip()
            if chart.kind == "step" and axis is chart.x:
                remarks.append(f"{zero[0].upper()}{zero[1:]} counts, but is left of the log axis.")
            else:
                remarks.append(f"Without {zero}, which a log axis cannot show.")
        conditions.append(f"coalesce({identifier(axis.column)} > 0, false)")
    # The panels of traces end at different times.
    x = identifier(chart.x.column)
    panels = (f"other.{one} is not distinct from answer.{one}" for one in _panel_columns(chart.facet))
    others = " and ".join(("from answer as other where true", *panels))
    ends = {
        "first": f"{x} > (select min(other.{x}) {others})",
        "last": f"{x} < (select max(other.{x}) {others})",
    }
    conditions += [ends[end] for end in chart.partial]
    if chart.partial:
        end = "period, which is" if len(chart.partial) == 1 else "periods, which are"
        remarks.append(f"Without the {' and the '.join(chart.partial)} {end} incomplete.")
    return conditions, remarks


def _describe_missing(answer: pa.Table, rows: Sequence[Row], chart: Chart) -> str:
    """A remark on the traces or series of the answer that have no value to draw, or an empty text."""
    found = []
    for column in dict.fromkeys((chart.color, *chart.facet.split("+"), *chart.x.column.split("+"))):
        if column == "trace" or (column == chart.color and column and chart.kind != "heat"):
            drawn = {row[column] for row in rows}
            names = answer[column].to_pylist()
            # A series without a name has that of its trace.
            traces = answer["trace"].to_pylist() if "trace" in answer.column_names else names
            missing = {
                format_exact(trace if name is None else name): name
                for name, trace in zip(names, traces, strict=True)
            }
            found += [NAMES.get(shown, shown) for shown, name in missing.items() if name not in drawn]
    return f"Without a value: {join_names([*dict.fromkeys(found)])}." if found else ""


def _choose_unit(
    connection: duckdb.DuckDBPyConnection, on_clock: frozenset[str], facet: str
) -> tuple[str, str, str]:
    """The unit for times on a trace's own clock: seconds as SQL, and its name. It suits the shortest panel.

    Panels with names of several columns have their own units. The third text is SQL of their names then.
    """
    latest = [f"max({identifier(column)}) * {CLOCK_S.get(column, 1)}" for column in sorted(on_clock)]
    panel = ", ".join(_panel_columns(facet))
    sql = f"select greatest({', '.join(['0', *latest])}) from answer {f'group by {panel}' * bool(panel)}"
    found = connection.execute(sql).fetchall()
    ends = [seconds for (seconds,) in found if seconds is not None] or [0]
    units = [
        next((index for index, (_, _, most_s) in enumerate(CLOCK_UNITS) if on_clock and end <= most_s), 2)
        for end in (min(ends), max(ends))
    ]
    if "+" in facet and units[0] < units[1]:
        [column] = on_clock
        end = f"max({identifier(column)}) over (partition by {panel}) * {CLOCK_S.get(column, 1)}"
        seconds, names = ("case", "case")
        for unit_s, name, most_s in CLOCK_UNITS:
            seconds += f" when {end} <= {most_s} then {unit_s}"
            names += f" when {end} <= {most_s} then {quoted(name)}"
        return f"{seconds} else {DAY_S} end", IN_HEADING, f"{names} else 'days' end"
    # Minutes of a long panel would be large numbers, and so would hours of a longer one.
    chosen = units[1]
    if chosen == 2 and units[0] < 2 and max(ends) <= MOST_HOURS * 3_600:
        chosen = 1
    unit_s, name, _ = (*CLOCK_UNITS, (DAY_S, "days", 0))[chosen]
    return str(unit_s), name, ""


def _plain(column: str, kind: pa.DataType, divisor: str) -> str:
    """The SQL of a value for JSON: numbers divided by other SQL, numbers of weekdays as names."""
    value = identifier(column)
    if divisor:
        return f"cast({value} as double) / {divisor}"
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
) -> tuple[str, str]:
    """The SQL of the means, lowest and highest values of each day, if lines have too many points; a remark.

    Lines of a few days keep their points.
    """
    x, y = identifier(chart.x.column), identifier(chart.y.column)
    # The middle of a day of a trace's own clock.
    day = f"left({x}, 10)" if is_text else f"floor({x}) + 0.5"
    number = f"try_cast({day} as date)" if is_text else day
    series = dict.fromkeys((chart.facet, *chart.facet.split("+"), chart.color))
    by = [identifier(column) for column in series if column]
    line = ", ".join(["0", *by])
    span = f"max({number}) over (partition by {line}) - min({number}) over (partition by {line}) + 1"
    measured = f"measured as (select *, {span} >= {FEWEST_DAYS} as _is_long from placed)"
    counts = f"count(*), count(distinct row({line})), count(distinct row({line}, {day}))"
    [(points, lines, days, any_long, all_long)] = connection.execute(
        f"{placed}, {measured} select {counts}, bool_or(_is_long), bool_and(_is_long) from measured"
    ).fetchall()
    if points <= MOST_POINTS * lines or days * 2 > points or not any_long:
        return "", ""
    shown = f"if(_is_long, {day}, {x}) as {x}"
    # In one order, so that a page gets the same digits.
    means = [f"avg({identifier(column)} order by _row) as {identifier(column)}" for column in chart.heights]
    ends = f"min({y}) as {LOW}, max({y}) as {HIGH}, min(_row) as _row"
    columns = ", ".join([shown, *by, *means, ends])
    drawn = "Line" if all_long else "Long lines"
    return f"with {measured} select {columns} from measured group by all", f"{drawn}: mean of each day."


def _hide_far_rules(connection: duckdb.DuckDBPyConnection, sql: str, chart: Chart) -> tuple[str, str]:
    """Hide rules far above the values of their panel, which would look like 0. Returns SQL and a remark."""
    rule, y = identifier(chart.rule), identifier(chart.y.column)
    panel = f"over ({f'partition by {identifier(chart.facet)}' if chart.facet else ''})"
    is_far = f"coalesce(min({rule}) {panel} > {MOST_RULE_RATIO} * max({y}) {panel}, false)"
    far = f"select {rule} as far from ({sql}) qualify {rule} is not null and {is_far}"
    values = [value for (value,) in connection.execute(far).fetchall()]
    title = axis_title(chart.rule)
    hidden = f"exclude (_row) replace (if({is_far}, null, {rule}) as {rule})"
    remark = f"{title[0].upper()}{title[1:]} above the range: {span(values)}." if values else ""
    return sql.replace("exclude (_row)", hidden), remark


def _describe_counts(rows: Sequence[Row], chart: Chart) -> str:
    """A remark on the numbers of observations of the points."""
    counts = [row[chart.count] for row in rows if row[chart.count]]
    least, most = min(counts, default=0), max(counts, default=0)
    title = axis_title(chart.count)
    return f"{title[0].upper()}{title[1:]} per point: {span((least, most))}."

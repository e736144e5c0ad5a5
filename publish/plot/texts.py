"""The texts of a picture: axis titles, subtitle, footer and citations."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import duckdb

from tracehouse.core.text import join_names
from tracehouse.definitions.query_files import Axis, Chart
from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import base_tables, read_rows
from tracehouse.engines.duckdb.read.notes import WRONG_RESULT, Note
from tracehouse.publish.columns import format_exact
from tracehouse.publish.plot.rows import FEW, FIRST_DAY_OF_DATES, HIGH, LOW, ChartData, distinct_names
from tracehouse.publish.plot.units import axis_title, column_name, number, split_name

# Defaults that filter nothing and change nothing.
NEUTRAL = ("false", "any", "all", "")
# A parameter in a text of a chart line.
PARAMETER = re.compile(r"{(\w+)}")
# The parameter that affects only the bounds of a confidence interval by jackknife.
INTERVAL = "sampled_by"
JACKKNIFE = "jackknife:"
BOX = "Boxes: 25th to 75th percentile, with a line at the median. Whiskers: 5th to 95th."
MOST_CAVEATS, MOST_IF_NARROW = 4, 1
# A band is visible if it is somewhere at least this share of the highest value high.
LEAST_BAND = 0.02
# What is between the parts of a footer: the query, the views, and the citations.
SEPARATOR = " · "
# The end of the names of caveats on an incomplete first or last period.
PARTIAL = "_is_partial"


def clock_title(times: Iterable[float], unit: str) -> str:
    """The title of an axis with times on the clocks of traces, in a unit."""
    titles = {"date" if time >= FIRST_DAY_OF_DATES and unit == "days" else f"time ({unit})" for time in times}
    return " or ".join(sorted(titles, reverse=True))


def describe_parameters(connection: duckdb.DuckDBPyConnection, query: BoundQuery, chart: Chart) -> str:
    """The parameters that affect a chart, given ones and defaults: `on_cluster = seren`."""
    hidden = hidden_parameters(connection, query.name, chart)
    parameters = effective_parameters(connection, query, chart).items()
    return ", ".join(f"{key} = {value}" for key, value in parameters if key not in hidden)


def hidden_parameters(connection: duckdb.DuckDBPyConnection, name: str, chart: Chart) -> set[str]:
    """The parameters that do not affect a chart.

    These are the parameter that the chart sets and those that its meaning names, because it replaces them;
    and the units of a jackknife whose confidence interval the chart does not draw.
    """
    meaning = "select meaning from catalog.query_parameters where query_name = $name and parameter = $hidden"
    found = read_rows(connection, meaning, name=name, hidden=chart.parameter)
    unused = set() if chart.interval.startswith(JACKKNIFE) else {INTERVAL}
    return {chart.parameter, *unused, *(word for row in found for word in row["meaning"].split())}


def effective_parameters(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, chart: Chart
) -> dict[str, str]:
    """The given parameters, and the defaults that affect the answer, as texts.

    A default has no effect if it filters nothing: false, `any`, `all`, NULL, or an end of its range. One that
    the chart names has an effect.
    """
    sql = "from catalog.query_parameters where query_name = $name order by position"
    named = _named_parameters(chart.x.name, chart.y.name, chart.note, chart.interval)
    found = {}
    for parameter in read_rows(connection, sql, name=query.name):
        default = f"select cast({parameter['default_value']} as varchar)"
        [(value,)] = connection.execute(default).fetchall()
        neutral = (*NEUTRAL, parameter["at_least"], parameter["at_most"])
        if parameter["parameter"] in query.given:
            found[parameter["parameter"]] = query.given[parameter["parameter"]]
        elif value is not None and (value not in neutral or parameter["parameter"] in named):
            found[parameter["parameter"]] = value
    return found


def fill_parameters(connection: duckdb.DuckDBPyConnection, query: BoundQuery, chart: Chart) -> Chart:
    """A chart with the values of parameters in the names of its axes, in its note and in its interval.

    They are in place of `{parameter}`, which stays if there is no such parameter, or if it is NULL. The
    values in the names of axes are columns.
    """
    values = effective_parameters(connection, query, chart)

    def value(found: re.Match[str]) -> str:
        return values.get(found[1], found[0])

    def named(axis: Axis) -> Axis:
        return replace(axis, name=PARAMETER.sub(lambda found: column_name(value(found)), axis.name))

    note, interval = (PARAMETER.sub(value, text) for text in (chart.note, chart.interval))
    return replace(chart, x=named(chart.x), y=named(chart.y), note=note, interval=interval)


def _named_parameters(*named: str) -> set[str]:
    """The parameters that texts of a chart line name."""
    return {found[1] for found in PARAMETER.finditer(" ".join(named))}


def axis_names(connection: duckdb.DuckDBPyConnection, name: str, chart: Chart) -> dict[str, dict[str, str]]:
    """For each parameter that names an axis, the titles of its choices."""
    named = _named_parameters(chart.x.name, chart.y.name)
    sql = "select parameter, choices from catalog.query_parameters where query_name = $name"
    return {
        row["parameter"]: {choice: axis_title(column_name(choice)) for choice in row["choices"]}
        for row in read_rows(connection, sql, name=name)
        if row["parameter"] in named
    }


def write_subtitle(
    found: ChartData, about: Sequence[Note], parameters: str, explained: Sequence[str]
) -> list[str]:
    """The lines below the title: parameters, estimator, marks, and rows that are not drawn."""
    synthetic = "synthetic data" if any(note.name == "synthetic data" for note in about) else ""
    lines = (synthetic, parameters, found.chart.note, *explained, *found.remarks)
    return [line for line in lines if line]


def explain_marks(found: ChartData) -> list[str]:
    """Explain marks of a picture that have no legend."""
    chart = found.chart
    lines = [BOX] if chart.kind == "box" else []
    lines += [found.daily] if found.daily else []
    if chart.kind == "box" and chart.y.is_log and min(row[chart.heights[0]] for row in found.rows) <= 0:
        lines.append("The axis is linear below 1, and logarithmic above.")
    if len(distinct_names(found.rows, chart.facet)) > 1 and not found.shares_y:
        lines.append("Each panel has its own scale.")
    if chart.kind == "stack" and chart.count:
        lines.append(f"Numbers above bars: {axis_title(chart.count)}.")
    if chart.band and _has_visible_band(found):
        mark = "Vertical lines" if chart.kind == "bar" else "Band"
        lines.append(f"{mark}: {_name_band(chart)}.")
    if has_rule(found):
        line = "Black mark" if found.is_category(chart.x.column) else "Dashed line"
        is_diagonal = chart.rule == chart.x.column
        lines.append(f"{line}: {'both are equal' if is_diagonal else axis_title(chart.rule)}.")
    counts = [row[chart.count] or 0 for row in found.rows] if chart.count and chart.kind != "stack" else [0]
    if min(counts) < FEW * max(counts):
        lines.append(f"Hollow points: under {number(FEW * max(counts))} {axis_title(chart.count)}.")
    if found.exceeds_100_pct:
        lines.append("Grey line: 100 %.")
    if chart.kind == "lorenz":
        lines.append("Grey line: equal shares.")
    if found.has_missing_bars:
        lines.append("A missing bar has no value.")
    if chart.kind == "pareto" and chart.labels:
        lines.append(f"Labels where they fit: {' / '.join(map(axis_title, chart.labels))}.")
    return lines


def name_single_values(found: ChartData) -> list[str]:
    """Name a single series or panel, which has neither legend nor heading, and distributions of one value."""
    chart = found.chart
    columns = [chart.facet] if chart.kind == "heat" else [chart.color, chart.facet]
    lines = []
    has_panels = len(distinct_names(found.rows, chart.facet)) > 1
    for column in columns:
        alone = distinct_names(found.rows, column)
        is_on_axis = column in chart.x.column.split("+")
        if len(alone) == 1 and alone != ["NULL"] and not is_on_axis:
            lines.append(f"{axis_title(column.split('+')[0])}: {alone[0]}")
    if chart.kind == "step" and chart.color:
        series = [chart.color, *([chart.facet] if has_panels else [])]
        values = [
            f"{' of '.join(format_exact(row[name]) for name in series)} at {number(row[chart.x.column])}"
            for row in found.single_values
        ]
        lines += [f"A single value: {join_names(values)}."] if values else []
    return list(dict.fromkeys(lines))


def has_rule(found: ChartData) -> bool:
    """Whether any row has a reference value to draw."""
    return any(row.get(found.chart.rule) is not None for row in found.rows)


def _name_band(chart: Chart) -> str:
    low, high = chart.band
    if (low, high) == (LOW, HIGH):
        return "lowest and highest value of the day"
    if low.removeprefix("low_") == high.removeprefix("high_"):
        counted = split_name(chart.y.name)[0]
        if chart.interval.startswith(JACKKNIFE):
            return f"95 % confidence interval by jackknife over {chart.interval.removeprefix(JACKKNIFE)}s"
        by = f" by Greenwood, {counted} taken as independent" if chart.interval else ""
        return f"95 % confidence interval{by}"
    return f"{axis_title(low)} to {axis_title(high)}"


def _has_visible_band(found: ChartData) -> bool:
    low, high = found.chart.band
    bands = [(row[low], row[high]) for row in found.rows if row[low] is not None and row[high] is not None]
    most = max((abs(high) for _, high in bands), default=0)
    return any(high - low > LEAST_BAND * most for low, high in bands)


def title_of(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The title of a named query; empty for a table or view."""
    rows = read_rows(connection, "select title from catalog.queries where query_name = $name", name=name)
    return rows[0]["title"] if rows else ""


def list_caveats(about: Sequence[Note], chart: Chart) -> list[str]:
    """The summaries of the caveats with severity WRONG_RESULT.

    A chart without incomplete periods has no caveats on them.
    """
    serious = [note for note in about if note.severity == WRONG_RESULT]
    serious = [note for note in serious if not (chart.partial and note.name.endswith(PARTIAL))]
    return [f"{note.trace}: {note.summary}" for note in serious]


def shorten_caveats(caveats: Sequence[str], name: str, is_narrow: bool) -> list[str]:
    """The first of the caveats marked (!), and the number of the other ones."""
    most = MOST_IF_NARROW if is_narrow else MOST_CAVEATS
    more = len(caveats) - most
    where = f": traces describe {name}" * bool(name)
    others = f"{more} more caveat{'s' * (more > 1)} marked (!){where}"
    return [*caveats[:most], *([others] if more > 0 else [])]


def footer(connection: duckdb.DuckDBPyConnection, found: ChartData) -> str:
    """The query if it has a name, the versions of the views that it reads, and the citation of each trace."""
    sql = """
        select versioned_name as name from catalog.views
        where list_contains($reads, versioned_name) or (is_current and list_contains($reads, view_name))
        union
        select unnest(reads_versions) from catalog.queries where list_contains($reads, query_name)
        order by name
        """
    versions = [row["name"] for row in read_rows(connection, sql, reads=list(found.reads))]
    cited = read_rows(
        connection,
        "select trace, citation from catalog.traces where list_contains($traces, trace) order by trace",
        traces=list(found.traces),
    )
    parts = [found.name, f"reads {', '.join(versions)}" if versions else ""]
    parts += [f"{row['trace']}: {short_citation(row['citation'])}" for row in cited]
    return SEPARATOR.join(part for part in parts if part)


def traces_behind(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, answered: Sequence[str]
) -> list[str]:
    """The traces behind an answer, by name; `answered` are the names in its column `trace`.

    Of views and queries of several traces, these are the ones that the answer names, or that the statement
    selects. Of other tables, these are all with rows. A query of the user's own may read both.
    """
    sql = "select query_name, reads_versions from catalog.queries where list_contains($names, query_name)"
    behind = {row["query_name"]: row for row in read_rows(connection, sql, names=list(query.reads))}
    several, tables = set(), set()
    for name in query.reads:
        versions = behind[name]["reads_versions"] if name in behind else []
        found = {one for one in (name, *versions) if one.startswith(f"{SEVERAL_TRACES}.")}
        united_tables = base_tables(connection, found)
        tables |= base_tables(connection, [name]) - united_tables
        several |= united_tables
    united = _loaded_traces(connection, several)
    chosen = united.intersection(answered) or united.intersection(query.traces or united)
    # A query of published figures may read no rows of its trace.
    own = "select trace from catalog.traces where trace = $own"
    return sorted(chosen | _loaded_traces(connection, tables)) or [
        row["trace"] for row in read_rows(connection, own, own=query.name.partition(".")[0])
    ]


def _loaded_traces(connection: duckdb.DuckDBPyConnection, tables: Collection[str]) -> set[str]:
    """The traces with rows in base tables."""
    sql = "from catalog.tables where list_contains($tables, table_name) and row_count > 0"
    return {row["trace"] for row in read_rows(connection, sql, tables=list(tables))}


def short_citation(citation: str) -> str:
    """The first author, the venue and the year of a citation: `Hu et al., NSDI 24`."""
    authors = re.split(r"(?<!et al)\.|:", citation)[0]
    first, *others = re.split(r",|\band\b|\bet al\b", authors)
    author = f"{first.split()[-1]} et al." if others else authors.strip()
    venues = re.findall(r"\(([^()]*\d{2})\)", citation)
    return f"{author}, {venues[-1]}" if venues else author

"""Parse query files: `sql/<schema>/<name>.sql`, each one a table macro with typed parameters and defaults.

-- GPU-hours by cluster (ITP jobs)
-- chart: bar x=cluster y=gpu_h
-- column: jobs: Jobs of at least min_gpus GPUs
-- column: speedup [ratio]: Run time on one GPU over that on all
create or replace macro itp.gpu_hours(
    -- smallest number of GPUs of a job to include [0 to 64]
    min_gpus integer := 1,
    -- type of its nodes [all gpu cpu]
    node_type varchar := 'all'
) as table …;
comment on macro table itp.gpu_hours is '…';

The first line is the title: a noun phrase with the population in parentheses, at most 60 characters long.

`parameters.py` reads the comments above parameters.

The chart line is a kind of chart and columns of the result:

    bar     one bar per x, grouped by `color=`
    stack   one bar per x, made of one part per color
    line    one line over x per color
    step    one line per color that keeps its height up to the next x, for cumulative distributions
    point   one mark per x and color
    heat    one field per x and y, darker for larger values of the column of `color=`
    box     one box per x from the columns p5_…, p25_…, median_…, p75_… and p95_… of the quantity `y=`
    lorenz  one line per color over percentages from 0 to 100, with the line of equal shares
    pareto  one mark per x; marks for which `color=` is true are joined and labelled with `label=`

`x=wait_s:log` makes the axis of points, lines or boxes logarithmic. `x=trace+cluster` joins two columns into
one name. `facet=cluster` draws a small chart per cluster; `facet=trace+workload` gives each its own unit of
time. `rule=capacity_gpus` adds a second height at each x, as a dashed line or, over bars, as a mark.
`band=low_pct,high_pct` shades the area between two columns behind lines, or adds an error bar to bars;
`interval=greenwood` or `interval=jackknife:{per}` says how these bounds of a confidence interval are
estimated, and names the parameter that has the units of a jackknife.
`least=1` starts the y axis at the least possible value. `with=every_value` sets that boolean parameter to
true unless the user gives it. Columns are listed in the order of the result. `yname=tasks_pct` gives an axis
a clearer name than its column has; `xname={per}` names it as the value of that parameter. `count=minutes`
names the column with the number of observations per mark, if some marks have few; their sum is above each
bar of a stack of percentages. `partial=first,last` leaves out the first and the last period of the x axis,
which are incomplete.
The last two keys may contain spaces: `note=Kaplan-Meier: …` is a sentence below the title, on how values are
estimated or whom they count, with `{job_gpus}` in place of the value of that parameter;
`title=GPU-hours by cluster (ITP jobs)` is the title of a chart that shows only some columns of the result.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlglot import exp

from tracehouse.core.text import join_names
from tracehouse.definitions.parameters import NUMBER, Parameter, parse_parameters, split_macro
from tracehouse.definitions.released import QUERIES
from tracehouse.definitions.sql_text import first_statement, sql_hash
from tracehouse.definitions.units import Stated, split_unit
from tracehouse.definitions.view_files import (
    NOT_FOLLOWED,
    DefinitionError,
    Header,
    parsed,
    read_header,
    references,
)

QUERY_KEYS = {
    "answers": "the metrics that it computes, with commas between them; see `catalog.metrics`",
    "chart": "how to draw the result",
    "column": "a computed column: its name, `[unit]` if the name does not end in it, a colon, its meaning",
    "engine": "the engine that the query needs and why, if it does not run on Spark",
    "caveat": "a caveat that applies to the result in addition to those of the columns that it reads",
    "resolves_caveat": "a caveat of the columns that it reads that does not apply to the result",
}

CHART_KINDS = ("bar", "stack", "line", "step", "point", "heat", "box", "lorenz", "pareto")
CHART_KEYS = [
    "x",
    "y",
    "color",
    "facet",
    "rule",
    "band",
    "label",
    "with",
    "xname",
    "yname",
    "count",
    "partial",
    "interval",
    "least",
]
NEEDS_COLOR = {
    "stack": "a stack needs a color, for the parts of a bar",
    "heat": "a heat map needs a color, for the number that it shows",
    "pareto": "a Pareto front needs a color, for the points on it",
}
# The keys that each kind draws, besides those that all kinds use.
DRAWN_KEYS = {
    "bar": ("color", "rule", "band"),
    "stack": ("color", "rule"),
    "line": ("color", "rule", "band"),
    "step": ("color", "rule", "band"),
    "point": ("color", "rule"),
    "heat": ("color",),
    "box": (),
    "lorenz": ("color",),
    "pareto": ("color", "label"),
}
_INTERVAL = re.compile(r"greenwood|jackknife:{\w+}")
BOX_PARTS = ("p5", "p25", "median", "p75", "p95")


@dataclass(frozen=True)
class Axis:
    """The column on one axis of a chart, whether the axis is logarithmic, and its name."""

    column: str
    is_log: bool
    name: str


@dataclass(frozen=True)
class Chart:
    """How to draw a result. An attribute is empty if the chart line does not have its key.

    `labels` are the columns of `label=`, `band` the two columns of `band=`, and `parameter` the parameter of
    `with=`. `partial` has "first" and "last" if these periods on the x axis are incomplete. `interval` is
    "greenwood", or "jackknife:" and its units. `least` is the least possible value of y. `note` is a sentence
    to print below the title. `title` is empty if the chart has the title of the query.
    """

    kind: str
    x: Axis
    y: Axis
    color: str = ""
    facet: str = ""
    rule: str = ""
    band: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    parameter: str = ""
    count: str = ""
    partial: tuple[str, ...] = ()
    interval: str = ""
    least: str = ""
    note: str = ""
    title: str = ""

    @property
    def heights(self) -> list[str]:
        """The columns on the y axis: for a box, its five percentiles."""
        if self.kind == "box":
            return [f"{part}_{self.y.column}" for part in BOX_PARTS]
        return [self.y.column, self.rule] if self.rule else [self.y.column]

    @property
    def ignored_keys(self) -> list[str]:
        """The keys of the chart line that its kind does not draw."""
        given = {"color": self.color, "rule": self.rule, "band": self.band, "label": self.labels}
        return [key for key, value in given.items() if value and key not in DRAWN_KEYS[self.kind]]

    @property
    def columns(self) -> list[str]:
        """Every column that the chart needs, once."""
        named = [self.x.column, *self.heights, self.color, self.facet, *self.band, *self.labels, self.count]
        parts = [column for joined in named for column in joined.split("+")]
        return [column for column in dict.fromkeys(parts) if column]

    @property
    def joined(self) -> list[str]:
        """The names made of several columns, such as `trace+cluster`."""
        return [name for name in (self.x.column, self.facet) if "+" in name]


@dataclass(frozen=True, eq=False)
class QueryFile:
    """One named query.

    `references` are the schema-qualified names that its SQL reads. Its statement is the `signature`, which
    ends with `as table` and has the `full_name`, and the `body`, a query, with the syntax tree `tree`.
    `comments` are the statements after it. `column_docs` has the `column` lines, on columns of the result and
    on names of which it has statistics.
    """

    schema: str
    name: str
    path: Path
    text: str
    header: Header
    chart: Chart | None
    parameters: tuple[Parameter, ...]
    column_docs: Stated
    references: frozenset[str]
    sha256: str
    signature: str
    body: str
    tree: exp.Expr
    comments: str

    @property
    def full_name(self) -> str:
        """The name of the macro: `itp.gpu_hours`."""
        return f"{self.schema}.{self.name}"


def query_files(folder: Path = QUERIES, without: Collection[Path] = ()) -> list[QueryFile]:
    """Return every named query, except those in `without`, ordered by schema and name."""
    return [read_query_file(path) for path in sorted(folder.glob("*/*.sql")) if path not in without]


def is_query(name: str) -> bool:
    """Return whether a named query has this name."""
    schema, _, query = name.partition(".")
    return (QUERIES / schema / f"{query}.sql").is_file()


def read_query_file(path: Path) -> QueryFile:
    """Parse a query file of this package.

    Takes the meanings and limits of parameters that it does not have from parameters.csv. Raises
    DefinitionError if the file breaks the project's rules for queries.
    """
    return parse_query_file(path, path.read_text(encoding="utf-8"), is_ours=True)


@cache
def parse_query_file(path: Path, text: str, is_ours: bool = False) -> QueryFile:
    """Parse the text of one query file. Raises DefinitionError if it is not valid.

    The body of a user's own query is not parsed: it has no references, and the tree NOT_FOLLOWED.
    """
    header = read_header(text, QUERY_KEYS, path)
    statement = first_statement(text)
    macro, body_start = split_macro(statement, path)
    body = statement[body_start.end() :]
    tree = parsed(body, text, path) if is_ours else NOT_FOLLOWED
    created = macro["name"].lower()
    query = QueryFile(
        schema=path.parent.name,
        name=path.stem,
        path=path,
        text=text,
        header=header,
        chart=read_chart(header.one("chart"), path) if header.one("chart") else None,
        parameters=tuple(parse_parameters(statement, path, is_ours)),
        column_docs=_column_docs(header, path),
        references=references(tree, path) if is_ours else frozenset(),
        sha256=sql_hash(statement),
        # DuckDB keeps the spelling of a name, but the catalog and all lookups have it in lower case.
        signature=f"{statement[: macro.start('name')]}{created}"
        f"{statement[macro.end('name') : body_start.end()]}",
        body=body,
        tree=tree,
        comments=text.split(statement, 1)[1].lstrip().removeprefix(";"),
    )
    if query.chart and query.chart.parameter:
        known = {parameter.name: parameter.type for parameter in query.parameters}
        if known.get(query.chart.parameter) != "BOOLEAN":
            raise DefinitionError(
                path, f"{query.chart.parameter} is not a boolean parameter, so a chart cannot set it"
            )
    if query.chart:
        named = re.findall(r"{(\w*)}", query.chart.x.name + query.chart.y.name)
        if unknown := {*named} - {parameter.name for parameter in query.parameters if parameter.choices}:
            what = "not a parameter with choices, so it cannot name an axis"
            raise DefinitionError(path, f"{join_names(sorted(unknown))} is {what}")
    if created != query.full_name:
        raise DefinitionError(path, f"creates {created}; rename the macro to {query.full_name}")
    return query


def read_chart(line: str, place: Path | str) -> Chart:
    """Parse the chart line of a query. Raises DefinitionError if it is not valid."""
    line, *parts = re.split(r" (note|title)=", line)
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    kind, *pairs = line.split()
    values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if (
        kind not in CHART_KINDS
        or len(values) != len(pairs)
        or not {"x", "y"} <= values.keys() <= {*CHART_KEYS}
    ):
        keys = " ".join(f"{key}=…" for key in CHART_KEYS)
        raise DefinitionError(place, f"write a chart as `{' | '.join(CHART_KINDS)} {keys}`")
    chart = Chart(
        kind,
        _axis(values["x"], values.get("xname", "")),
        _axis(values["y"], values.get("yname", "")),
        color=values.get("color", ""),
        facet=values.get("facet", ""),
        rule=values.get("rule", ""),
        band=tuple(values["band"].split(",")) if "band" in values else (),
        labels=tuple(values["label"].split(",")) if "label" in values else (),
        parameter=values.get("with", ""),
        count=values.get("count", ""),
        partial=tuple(values["partial"].split(",")) if "partial" in values else (),
        interval=values.get("interval", ""),
        least=values.get("least", ""),
        note=texts.get("note", "").strip(),
        title=texts.get("title", "").strip(),
    )
    if error := find_chart_error(chart):
        raise DefinitionError(place, error)
    return chart


def find_chart_error(chart: Chart) -> str:
    """What is wrong with a chart; empty if nothing is."""
    if chart.kind in NEEDS_COLOR and not chart.color:
        return NEEDS_COLOR[chart.kind]
    if chart.band and (chart.kind not in ("bar", "line", "step") or len(chart.band) != 2):
        return "a band has two columns, in a bar, line or step chart"
    if chart.interval and (not chart.band or not _INTERVAL.fullmatch(chart.interval)):
        return "write the interval of a band as greenwood or jackknife:{parameter}"
    if chart.least and not re.fullmatch(NUMBER, chart.least):
        return "the least value of the y axis is a number"
    if not set(chart.partial) <= {"first", "last"}:
        return "write partial as first, last, or both: `partial=first,last`"
    if chart.kind in ("bar", "stack", "heat", "lorenz") and (chart.x.is_log or chart.y.is_log):
        return f"a {chart.kind} chart cannot have a logarithmic axis"
    return ""


def _axis(text: str, name: str) -> Axis:
    column = text.removesuffix(":log")
    return Axis(column, text.endswith(":log"), name or column)


def _column_docs(header: Header, path: Path) -> Stated:
    found: dict[str, tuple[str, str | None]] = {}
    for line in header.all("column"):
        name, _, meaning = (part.strip() for part in line.partition(":"))
        column, unit = split_unit(name)
        if column in found:
            raise DefinitionError(path, f"describes the column {column} twice")
        found[column] = (meaning, unit)
    return found

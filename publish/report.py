"""Write the report on a warehouse: self-contained HTML pages without JavaScript.

A report on one trace is a single page. A report on several traces has a page for each trace, and a page that
compares them.
"""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, BinaryIO

import duckdb

from tracehouse.core.errors import UserError, check_installed
from tracehouse.engines.duckdb.read import answer, binding, notes, verify
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import base_tables, check_traces, read_rows
from tracehouse.engines.duckdb.read.selected_traces import SEVERAL_TRACES
from tracehouse.engines.duckdb.read.verify import Result, Verdict
from tracehouse.publish import pages
from tracehouse.publish.plot import pictures

MOST_CHARTS = 4
"""Maximum number of charts per trace. The report lists the other queries with a chart."""

TEMPLATE = "report.html.j2"
COMPARISON = "unified.traces"
DIFFERENT = (Verdict.DIFFERS, Verdict.EXPLAINED)
SECOND_HAND = ("quoted", "recalled", "third party")
UNMEASURED = (Verdict.NO_DATA, Verdict.NOT_MEASURABLE)

Row = dict[str, Any]


@dataclass(frozen=True)
class ChartOf:
    """The chart of a named query as an HTML element, and the names of its caveats."""

    query: str
    title: str
    description: str
    svg: str
    caveats: Sequence[str]


@dataclass(frozen=True)
class Charts:
    """The charts of a schema, the queries whose charts are not drawn, and the errors of failed charts."""

    drawn: Sequence[ChartOf] = ()
    others: Sequence[str] = ()
    failed: Sequence[str] = ()


@dataclass(frozen=True)
class Figures:
    """The headline figures with their sources, and the number of figures by verdict.

    Headlines are the measured figures whose trust is not in SECOND_HAND, and all measured figures that
    differ. `others` is the number of the other measured figures.
    """

    headlines: Sequence[Result]
    others: int
    counts: Counter[str]


@dataclass(frozen=True)
class TraceSection:
    """The section on a trace that has data. Its rows come from the catalog tables."""

    facts: Row
    tables: Sequence[Row]
    sources: Sequence[Row]
    metrics: Sequence[Row]
    figures: Figures
    charts: Charts
    caveats: Sequence[Row]

    @property
    def name(self) -> str:
        """The name of the trace."""
        return str(self.facts["trace"])

    @property
    def row_count(self) -> int:
        """The number of rows in all tables."""
        return sum(table["row_count"] for table in self.tables)

    @property
    def synthetic(self) -> Sequence[str]:
        """The tables with synthetic data."""
        return [table["table_name"] for table in self.tables if table["synthetic"]]

    @property
    def empty(self) -> Sequence[str]:
        """The tables without rows."""
        return [table["table_name"] for table in self.tables if not table["row_count"]]


@dataclass(frozen=True)
class Comparison:
    """The answer of the query that compares traces. `columns` are its names and units."""

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Any]]
    description: str
    caveats: Sequence[str]


@dataclass(frozen=True)
class Report:
    """The content of a page. `pages` maps traces to the files of their own pages, if there are any."""

    made: dt.datetime
    versions: dict[str, str]
    sections: Sequence[TraceSection]
    without_data: Sequence[Row]
    coverage: dict[str, dict[str, Row]]
    comparison: Comparison | None
    charts: Charts
    definitions: Sequence[Row]
    pages: Mapping[str, str]

    @property
    def synthetic(self) -> Sequence[str]:
        """The traces with synthetic data in at least one table."""
        return [section.name for section in self.sections if section.synthetic]


def traces_with_data(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> list[str]:
    """The given traces that have data, by default all.

    Raises UsageError if a trace does not exist, and UserError if the extra `report` is not installed.
    """
    check_installed("HTML pages need", "report", "jinja2", "altair", "vl_convert")
    check_traces(connection, traces)
    loaded = _names(connection, "select distinct trace from catalog.tables where row_count > 0")
    return sorted(loaded & {*traces} if traces else loaded)


def write(
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[str],
    file: BinaryIO,
    own_pages: Mapping[str, str],
) -> None:
    """Write a page on the given traces, by default on all.

    `own_pages` maps each trace to the file of its own page. If there are any, this page only compares traces.
    """
    report = collect(connection, traces, own_pages)
    file.write(pages.render(TEMPLATE, report=report, verdicts=list(Verdict)).encode())


def collect(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[str], own_pages: Mapping[str, str]
) -> Report:
    """Collect the content of a page on the given traces, by default on all."""
    known = read_rows(
        connection,
        "from catalog.traces where len($traces) = 0 or list_contains($traces, trace) order by trace",
        traces=list(traces),
    )
    with_rows = _names(connection, "select distinct trace from catalog.tables where row_count > 0")
    sections = [
        _section(connection, facts, is_drawn=not own_pages) for facts in known if facts["trace"] in with_rows
    ]
    named = [section.name for section in sections]
    # Charts across traces always show all traces, so they are omitted from a report on some of them.
    shows_all = len(named) > 1 and set(named) == with_rows
    across = _charts(connection, SEVERAL_TRACES, named) if shows_all else Charts()
    comparison = _comparison(connection, named)
    used = [chart.query for charts in (*(s.charts for s in sections), across) for chart in charts.drawn]
    return Report(
        made=dt.datetime.now(dt.UTC),
        versions={"Tracehouse": version("tracehouse"), "DuckDB": duckdb.__version__},
        sections=sections,
        without_data=[facts for facts in known if facts["trace"] not in with_rows],
        coverage=_coverage(connection, [facts["trace"] for facts in known]),
        comparison=comparison,
        charts=across,
        definitions=_definitions(connection, [*used, *([COMPARISON] if comparison else [])]),
        pages=own_pages,
    )


def _section(connection: duckdb.DuckDBPyConnection, facts: Row, is_drawn: bool) -> TraceSection:
    trace = facts["trace"]

    def of_trace(table: str, order: str) -> list[Row]:
        return read_rows(
            connection, f"from catalog.{table} where trace = $trace order by {order}", trace=trace
        )

    return TraceSection(
        facts=facts,
        tables=of_trace("tables", "table_name"),
        sources=of_trace("sources", "all"),
        metrics=of_trace("metrics", "rowid"),
        figures=_figures(connection, trace),
        charts=_charts(connection, trace, [trace]) if is_drawn else Charts(),
        caveats=of_trace("caveats", "caveat"),
    )


def _figures(connection: duckdb.DuckDBPyConnection, trace: str) -> Figures:
    results = verify.figures(connection, [trace])
    measured = [result for result in results if result.verdict not in UNMEASURED]
    headlines = [r for r in measured if r.trust not in SECOND_HAND or r.verdict in DIFFERENT]
    return Figures(
        headlines=headlines,
        others=len(measured) - len(headlines),
        counts=Counter(result.verdict.value for result in results),
    )


def _coverage(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> dict[str, dict[str, Row]]:
    """The supported metrics, by metric and then by trace."""
    coverage: dict[str, dict[str, Row]] = {}
    for row in read_rows(connection, "from catalog.metrics order by rowid"):
        if row["trace"] in traces:
            coverage.setdefault(row["metric"], {})[row["trace"]] = row
    return coverage


def _comparison(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> Comparison | None:
    """Compare the traces. Returns None if none of them has jobs."""
    asked = binding.bind_query(connection, COMPARISON, {})
    chosen = BoundQuery(
        f"from ({asked.sql}) where list_contains($traces, trace)", {"traces": list(traces)}, COMPARISON
    )
    table = answer.read(connection, chosen).read_all()
    if not table.num_rows:
        return None
    units = dict(
        connection.execute(
            "select column_name, unit from catalog.columns where object_name = $name", {"name": COMPARISON}
        ).fetchall()
    )
    compared = sorted(set(table["trace"].to_pylist()))
    [facts] = read_rows(connection, "from catalog.queries where query_name = $name", name=COMPARISON)
    return Comparison(
        columns=[(name, units.get(name) or "") for name in table.column_names],
        rows=[list(row.values()) for row in table.to_pylist()],
        description=facts["description"],
        caveats=_caveats(connection, COMPARISON, compared),
    )


def _charts(connection: duckdb.DuckDBPyConnection, schema: str, traces: Sequence[str]) -> Charts:
    """Draw queries of a schema that have data. Prefers queries of views that no other chart shows yet."""
    candidates = _candidates(connection, schema, traces)
    charts = Charts()
    seen: set[str] = set()
    later = []
    for query in candidates:
        if len(charts.drawn) < MOST_CHARTS and not set(query["reads"]) <= seen:
            before = len(charts.drawn)
            charts = _drawn(connection, charts, query, traces)
            if len(charts.drawn) > before:
                seen |= set(query["reads"])
        else:
            later.append(query)
    while later and len(charts.drawn) < MOST_CHARTS:
        charts = _drawn(connection, charts, later.pop(0), traces)
    return replace(charts, others=sorted(query["query_name"] for query in later))


def _candidates(connection: duckdb.DuckDBPyConnection, schema: str, traces: Sequence[str]) -> list[Row]:
    """Select the queries with a chart and data: queries that answer a metric first, then distributions.

    Queries across traces must compare traces, not show a single one.
    """
    empty = _names(connection, "select table_name from catalog.tables where row_count = 0")
    found = read_rows(
        connection,
        r"""
        select
            query_name,
            title,
            description,
            reads,
            query_name in (select object_name from catalog.columns where column_name = 'trace')
            and query_name not in (
                select query_name from catalog.query_parameters where parameter in ('in_trace', 'of_trace')
            ) as compares_traces
        from catalog.queries
        where trace = $schema and chart <> ''
        order by
            query_name not in (select answered_by from catalog.metrics),
            query_name not like '%\_cdf' escape '\',
            query_name
        """,
        schema=schema,
    )
    if schema == SEVERAL_TRACES:
        return [query for query in found if query["compares_traces"]]
    return [query for query in found if not base_tables(connection, [query["query_name"]]) & empty]


def _drawn(
    connection: duckdb.DuckDBPyConnection, charts: Charts, query: Row, traces: Sequence[str]
) -> Charts:
    """Draw one more chart. On failure, add the error to the charts."""
    name = query["query_name"]
    try:
        picture = pictures.build_query_picture(connection, name, {})
    except UserError as error:
        return replace(charts, failed=[*charts.failed, str(error)])
    description = f"{query['description']} Data: traces query {name}"
    svg = pages.inline_svg(pictures.render_svg(picture), name.replace(".", "-"), query["title"], description)
    if query["compares_traces"]:
        # Only the caveats of traces with rows in the answer apply.
        traces = sorted(_names(connection, f"select distinct trace from {name}()"))
    chart = ChartOf(name, query["title"], query["description"], svg, _caveats(connection, name, traces))
    return replace(charts, drawn=[*charts.drawn, chart])


def _caveats(connection: duckdb.DuckDBPyConnection, name: str, traces: Sequence[str]) -> list[str]:
    """The names of a query's caveats on the given traces."""
    known = _names(connection, "select caveat from catalog.caveats")
    return [note.name for note in notes.of_object(connection, name, traces) if note.name in known]


def _definitions(connection: duckdb.DuckDBPyConnection, queries: Sequence[str]) -> list[Row]:
    """Select the versions and hashes of the queries and of all views that they depend on."""
    return read_rows(
        connection,
        """
        with recursive
        defined as (
            select query_name as name, 'query' as kind, sha256, reads_versions as reads from catalog.queries
            union all
            select versioned_name, 'view, ' || status, sha256, reads from catalog.views
        ),

        used as (
            select unnest($queries) as name
            union
            select unnest(defined.reads) from used inner join defined on used.name = defined.name
        )

        select defined.name, defined.kind, defined.sha256
        from defined
        inner join used on defined.name = used.name
        order by defined.kind, defined.name
        """,
        queries=list(queries),
    )


def _names(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    return {name for (name,) in connection.execute(sql).fetchall()}

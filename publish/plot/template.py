"""Chart templates: the specification of a picture without its rows, for pages that have the rows themselves.

A template is the picture that `pictures` builds from the answer with default parameters. It reads its rows
from the named data set `answer`. Transforms in Vega-Lite prepare the rows as `rows` does in Python, so that
the template also draws other answers of the query.
"""

from typing import Any

import duckdb

from tracehouse.engines.duckdb.read import binding
from tracehouse.publish.plot import pictures, rows, texts
from tracehouse.publish.plot.axes import Spec
from tracehouse.publish.plot.marks import LABEL
from tracehouse.publish.plot.rows import Drawable

DATA = "answer"
PARAMETERS = "{parameters}"


def build_template(connection: duckdb.DuckDBPyConnection, name: str) -> Spec:
    """The template of a query's chart, and the parameter that the chart sets.

    `spec` is the template and `with` the parameter. `lines` are the lines of the subtitle, with PARAMETERS in
    place of the parameters. `defaults` has the effective default parameters as texts by name. Raises
    UserError if the answer with default parameters cannot be drawn.
    """
    query = binding.bind_query(connection, name, {}, for_chart=True)
    found = rows.select_drawable(connection, query)
    about = texts.notes_on(connection, found)
    parameters = texts.describe_parameters(connection, name, {}, found.chart.parameter)
    spec = pictures.lay_out(connection, found, about, parameters, pictures.ANY_SIZE)
    labels = [row[LABEL] for row in spec["data"]["values"] if row.get(LABEL)]
    steps = [*_prepare(found), *spec.get("transform", []), *_label(found, labels)]
    return {
        "spec": spec | {"data": {"name": DATA}, "transform": steps},
        "with": found.chart.parameter,
        "lines": [*texts.write_subtitle(found, about, PARAMETERS), *texts.explain_marks(found)],
        "defaults": texts.effective_parameters(connection, name, {}),
    }


def _prepare(found: Drawable) -> list[Spec]:
    """The transforms that select and convert rows, as `rows.select_rows` does in Python."""
    chart = found.chart
    needed = [chart.color] if chart.kind == "heat" else [c for c in chart.heights if c != chart.rule]
    conditions = [f"isValid({_value(column)})" for column in needed]
    for axis in (chart.x, chart.y) if chart.kind != "box" else ():
        if axis.is_log and not found.is_category(axis.column):
            conditions.append(f"{_value(axis.column)} > 0")
    steps: list[Spec] = [{"filter": " && ".join(conditions)}]
    expressions = {column: _plain(found, column) for column in chart.columns}
    steps += [_calculate(column, expression) for column, expression in expressions.items() if expression]
    if chart.band == (rows.LOW, rows.HIGH):
        steps += _join_days(found)
    if chart.rule:
        far = f"datum._rule > {rows.MOST_RULE_RATIO} * datum._highest"
        ends = [_aggregate("min", chart.rule, "_rule"), _aggregate("max", chart.y.column, "_highest")]
        steps.append({"joinaggregate": ends, "groupby": [chart.facet] if chart.facet else []})
        steps.append(_calculate(chart.rule, f"{far} ? null : {_value(chart.rule)}"))
    return steps


def _join_days(found: Drawable) -> list[Spec]:
    """The transforms that compute the mean, lowest and highest value of each day, as `rows` does."""
    chart = found.chart
    x, moment = chart.x.column, _value(chart.x.column)
    day = f"utc(utcyear({moment}), utcmonth({moment}), utcdate({moment}))"
    ends = [_aggregate("min", chart.y.column, rows.LOW), _aggregate("max", chart.y.column, rows.HIGH)]
    means = {column: f"_mean_{column}" for column in chart.heights}
    return [
        _calculate(x, f"floor({moment}) + 0.5" if x in found.on_clock else day),
        {
            "aggregate": [*ends, *(_aggregate("mean", column, mean) for column, mean in means.items())],
            "groupby": [column for column in (x, chart.color, chart.facet) if column],
        },
        # Vega gives NaN as the mean of no values.
        *(
            _calculate(column, f"isValid({_value(mean)}) ? {_value(mean)} : null")
            for column, mean in means.items()
        ),
    ]


def _plain(found: Drawable, column: str) -> str:
    """The expression that converts a value for drawing; empty if the value is drawn unchanged."""
    value = _value(column)
    expression = ""
    if column in found.times:
        # DuckDB writes instants in UTC, with or without the offset +00.
        moment = f"toDate(replace(replace({value}, ' ', 'T'), '+00', '') + 'Z')"
        expression = f"isValid({value}) ? (length({value}) > 10 ? {moment} : toDate({value})) : null"
    elif column in found.on_clock:
        expression = f"isValid({value}) ? {value} * {rows.CLOCK_S.get(column, 1)} / {rows.DAY_S} : null"
    elif column == "weekday":
        expression = f"isValid({value}) ? {list(rows.WEEKDAYS)}[{value} - 1] : null"
    if found.is_category(column):
        text = f"toString({expression or value})"
        if any(isinstance(row[column], float) for row in found.rows):
            text = f"{value} % 1 ? {text} : {text} + '.0'"
        expression = f"isValid({value}) ? ({text}) : 'NULL'"
    return expression


def _label(found: Drawable, labels: list[str]) -> list[Spec]:
    """The transform that labels the rows of a Pareto front that are labelled in the default answer."""
    parts = [f"format({_value(column)}, '~r')" for column in found.chart.labels]
    text = " + ' / ' + ".join(parts)
    return [_calculate(LABEL, f"indexof({labels}, {text}) >= 0 ? {text} : ''")] if parts else []


def _calculate(column: str, expression: str) -> Spec:
    return {"calculate": expression, "as": column}


def _aggregate(operation: str, column: str, name: str) -> dict[str, Any]:
    return {"op": operation, "field": column, "as": name}


def _value(column: str) -> str:
    return f"datum[{column!r}]"

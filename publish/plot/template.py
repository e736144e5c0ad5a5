"""Chart templates: the specification of a picture without its rows, for pages that have the rows themselves.

A template is the picture that `pictures` builds from the answer with default parameters. It reads its rows
from the named data set `answer`. Transforms in Vega-Lite prepare the rows as `rows` and `marks` do in Python,
so that the template also draws other answers of the query.
"""

from typing import Any

import duckdb

from tracehouse.core.errors import check_installed
from tracehouse.engines.duckdb.read import binding
from tracehouse.publish.plot import axes, marks, pictures, rows, texts
from tracehouse.publish.plot.rows import Drawable

DATA = "answer"
PARAMETERS = "{parameters}"
_ALL_VALUES: dict[str, tuple] = {"color": axes.COLORS, "strokeDash": axes.DASHES, "shape": axes.SHAPES}


def build_template(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The template of a query's chart, and the parameter that the chart sets.

    `spec` is the template and `with` the parameter. `lines` are the lines of the subtitle, with PARAMETERS in
    place of the parameters. `defaults` has the effective default parameters as texts by name. Raises
    UserError if the answer with default parameters cannot be drawn.
    """
    check_installed("pictures need", "plot", "altair")
    from altair.utils.schemapi import debug_mode

    found = rows.select_drawable(connection, binding.bind_query(connection, name, {}, for_chart=True))
    # The schema is not validated, because validation would take most of the time.
    with debug_mode(False):
        spec = pictures.lay_out(connection, found, {}, pictures.ANY_SIZE).to_dict(validate=False)
    drawn = spec["data"]["values"]
    _complete_ranges(spec, found)
    return {
        "spec": {
            **spec,
            "data": {"name": DATA},
            "transform": [*_select_rows(found), *_prepare(found, drawn)],
        },
        "with": found.chart.parameter,
        "lines": pictures.write_subtitle(connection, found, PARAMETERS) + pictures.explain_marks(found),
        "defaults": dict(texts.effective_parameters(connection, name, {})),
    }


def _complete_ranges(spec: Any, found: Drawable) -> None:
    """Give each scale of a series all its colours, dashes or shapes, for answers with more series."""
    if found.chart.kind == "pareto":
        return
    for one in spec if isinstance(spec, list) else spec.values() if isinstance(spec, dict) else ():
        _complete_ranges(one, found)
    for channel, values in _ALL_VALUES.items() if isinstance(spec, dict) else ():
        scale = spec.get(channel, {}).get("scale", {}) if isinstance(spec.get(channel), dict) else {}
        if isinstance(scale, dict) and "range" in scale:
            scale["range"] = [list(value) if isinstance(value, tuple) else value for value in values]


def _select_rows(found: Drawable) -> list[dict[str, Any]]:
    """The transforms that select rows, as `rows.select_drawable` does in Python."""
    chart = found.chart
    needed = [chart.color] if chart.kind == "heat" else [c for c in chart.heights if c != chart.rule]
    conditions = [f"isValid({_value(column)})" for column in needed]
    if chart.kind != "box":
        conditions += [
            f"{_value(axis.column)} > 0"
            for axis in (chart.x, chart.y)
            if axis.is_log and not found.is_category(axis.column)
        ]
    return [{"filter": " && ".join(conditions)}]


def _prepare(found: Drawable, drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    chart = found.chart
    expressions = {column: _plain(found, column) for column in chart.columns}
    steps = [_calculate(column, expression) for column, expression in expressions.items() if expression]
    if chart.band == (rows.LOW, rows.HIGH):
        steps += _join_days(found)
    if chart.rule:
        by = [chart.facet] if chart.facet else []
        far = f"datum._rule > {rows.MOST_RULE_RATIO} * datum._highest"
        ends = [
            {"op": "min", "field": chart.rule, "as": "_rule"},
            {"op": "max", "field": chart.y.column, "as": "_highest"},
        ]
        steps += [
            {"joinaggregate": ends, "groupby": by},
            _calculate(chart.rule, f"{far} ? null : {_value(chart.rule)}"),
        ]
    if chart.kind in ("line", "step", "lorenz"):
        steps += _choose_marks(found)
    if chart.labels:
        label = " + ' / ' + ".join(f"format({_value(column)}, '~r')" for column in chart.labels)
        labelled = [row[marks.LABEL] for row in drawn if row[marks.LABEL]]
        steps.append(_calculate(marks.LABEL, f"indexof({labelled}, {label}) >= 0 ? {label} : ''"))
    return steps


def _join_days(found: Drawable) -> list[dict[str, Any]]:
    """The transforms that compute the mean, lowest and highest value of each day, as `rows` does."""
    chart = found.chart
    x, moment = chart.x.column, _value(chart.x.column)
    day = f"utc(utcyear({moment}), utcmonth({moment}), utcdate({moment}))"
    ends = [
        {"op": op, "field": chart.y.column, "as": name}
        for op, name in (("min", rows.LOW), ("max", rows.HIGH))
    ]
    means = [{"op": "mean", "field": column, "as": f"_mean_{column}"} for column in chart.heights]
    by = [column for column in (x, chart.color, chart.facet) if column]
    return [
        _calculate(x, f"floor({moment}) + 0.5" if x in found.on_clock else day),
        {"aggregate": [*ends, *means], "groupby": by},
        *(_calculate(column, _number_or_null(f"_mean_{column}")) for column in chart.heights),
    ]


def _number_or_null(column: str) -> str:
    """The expression of a column with NULL in place of NaN, which Vega gives as the mean of no values."""
    return f"isValid({_value(column)}) ? {_value(column)} : null"


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


def _choose_marks(found: Drawable) -> list[dict[str, Any]]:
    """The transforms that choose the rows with a mark, as `marks.build_values` does in Python."""
    by = [column for column in (found.chart.color, found.chart.facet) if column]
    alone = len(found.series) < 2
    most = marks.MOST_MARKED_ALONE if alone else marks.MOST_MARKED
    every = "datum._every"
    is_chosen = f"datum._index % {every} == floor(datum._line * {every} / datum._lines) % {every}"
    return [
        {"window": [{"op": "row_number", "as": "_row"}]},
        {"window": [{"op": "row_number", "as": "_number"}], "groupby": by},
        {
            "joinaggregate": [
                {"op": "count", "as": "_count"},
                {"op": "min", "field": "_row", "as": "_first"},
            ],
            "groupby": by,
        },
        {
            "window": [{"op": "dense_rank", "as": "_rank"}],
            "sort": [{"field": "_first", "order": "ascending"}],
        },
        {"joinaggregate": [{"op": "max", "field": "_rank", "as": "_lines"}]},
        _calculate("_index", "datum._number - 1"),
        _calculate("_line", "datum._rank - 1"),
        _calculate("_every", f"datum._count <= {most} ? 1 : floor(datum._count / {marks.MARKS})"),
        _calculate(marks.IS_MARKED, f"{is_chosen} && !({str(alone).lower()} && {every} > 1)"),
    ]


def _calculate(column: str, expression: str) -> dict[str, Any]:
    return {"calculate": expression, "as": column}


def _value(column: str) -> str:
    return f"datum[{column!r}]"

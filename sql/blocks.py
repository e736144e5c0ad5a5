"""Expand the building blocks of query files to plain SQL.

A building block looks like a function call. The expansion is text: every engine gets the same plain SQL, and
`traces describe` shows it.

    percentiles(wait_s) as wait_s

is one line of a select and gives the columns median_wait_s, p75_wait_s, p90_wait_s, p95_wait_s and
p99_wait_s. They are interpolated; the median is the 50th percentile.

    from curve_points(waits, gpu_type, waited_s, tasks)

gives the points of the cumulative distribution of `waited_s` per `gpu_type` in the CTE `waits`, whose rows
count `tasks` tasks each: the first value in each fifth of a percent, and the last value. The curve
through these points, at most 501 per group, is exact to a fifth of a percent.
"""

import re

_PERCENTILES = re.compile(r"^(?P<indent> *)percentiles\((?P<value>.+)\) as (?P<name>\w+)(?P<comma>,?)$", re.M)
_CURVE_POINTS = re.compile(
    r"^(?P<indent> *)from curve_points\((?P<rows>\w+), (?P<key>\w+), (?P<value>\w+), (?P<count>\w+)\)$", re.M
)
_PARTS = {"p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}

_CURVE = """\
from (
    select
        {key},
        min({value}) as {value}
    from (
        select
            {key},
            {value},
            100.0 * sum({count}) over (partition by {key} order by {value})
            / sum({count}) over (partition by {key}) as rank_pct
        from {rows}
        where {value} is not null
    ) as ranked
    group by {key}, floor(round(5 * rank_pct, 6))
) as curve_points"""


def expanded(text: str) -> str:
    """Return the text of a query file with its building blocks as plain SQL."""
    return _CURVE_POINTS.sub(_curve_points, _PERCENTILES.sub(_percentiles, text))


def _percentiles(call: re.Match[str]) -> str:
    indent, value, name, comma = call.groups()
    columns = [f"median({value}) as median_{name}"]
    columns += [f"quantile_cont({value}, {part}) as {prefix}_{name}" for prefix, part in _PARTS.items()]
    return ",\n".join(f"{indent}{column}" for column in columns) + comma


def _curve_points(call: re.Match[str]) -> str:
    lines = _CURVE.format_map(call.groupdict()).splitlines()
    return "\n".join(call["indent"] + line for line in lines)
